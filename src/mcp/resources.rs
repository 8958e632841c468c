//! The two resource tools: what the servers' resources are, and what one of them says.
#![forbid(unsafe_code)]

use std::sync::{Arc, Weak};

use crate::context::Limits;
use crate::json::{self, Kind, Raw};
use crate::log;
use crate::mcp::content;
use crate::mcp::input::Ask;
use crate::mcp::list::{Item, ItemList, Items};
use crate::mcp::rpc;
use crate::mcp::server::{Server, pages, source_closed};
use crate::mcp::source::Source;
use crate::outcome::{Document, Failure, Outcome, Status, ToolText, quoted};
use crate::tool::{Arguments, Run, Running, Tool};
use crate::wire::mux::Reply;

const LIST: &str = concat!(
    r#"{"name":"list_mcp_resources","description":"List the resources (files, records, documents) that the connected MCP "#,
    r#"servers offer, one line each: server, uri, name, type and description. Read one with read_mcp_resource.","#,
    r#""inputSchema":{"type":"object","properties":{"server":{"type":"string","description":"Only this server's resources"}},"#,
    r#""additionalProperties":false},"source":"mcp","hints":{"readOnly":true}}"#
);
const READ: &str = concat!(
    r#"{"name":"read_mcp_resource","description":"Read one resource of a connected MCP server. list_mcp_resources tells "#,
    r#"which there are.","inputSchema":{"type":"object","properties":{"server":{"type":"string","description":"The server's "#,
    r#"name"},"uri":{"type":"string","description":"The resource's uri"}},"required":["server","uri"],"#,
    r#""additionalProperties":false},"source":"mcp","hints":{"readOnly":true}}"#
);

/// `[list_mcp_resources, read_mcp_resource]` of a source. They do not keep it open.
pub fn tools(source: &Arc<Source>) -> Vec<Arc<Tool>> {
    vec![
        Arc::new(Tool::new("list_mcp_resources", ListTool(Arc::downgrade(source)))),
        Arc::new(Tool::new("read_mcp_resource", ReadTool(Arc::downgrade(source)))),
    ]
}

struct ListTool(Weak<Source>);
struct ReadTool(Weak<Source>);

impl Run for ListTool {
    fn run(&self, arguments: Arguments, limits: Limits) -> Running {
        let source = self.0.upgrade();
        Box::pin(async move {
            let ended = match source.filter(|source| !source.is_closed()) {
                Some(source) => list_resources(&source, &arguments, &limits).await,
                None => Err(source_closed()),
            };
            Ok(ended.unwrap_or_else(failed))
        })
    }
    fn document(&self, _: &str) -> String {
        LIST.to_owned()
    }
}

impl Run for ReadTool {
    fn run(&self, arguments: Arguments, limits: Limits) -> Running {
        let source = self.0.upgrade();
        Box::pin(async move {
            let ended = match source.filter(|source| !source.is_closed()) {
                Some(source) => read_resource(&source, &arguments, &limits).await,
                None => Err(source_closed()),
            };
            Ok(ended.unwrap_or_else(failed))
        })
    }
    fn document(&self, _: &str) -> String {
        READ.to_owned()
    }
}

fn failed(failure: Failure) -> Outcome {
    let output = failure.message.clone();
    // A missing argument is the model's mistake: the tool ran and says so.
    let failure = Some(failure).filter(|failure| failure.status != Status::Ok);
    ToolText { output, is_error: true, metadata: String::new(), failure }.outcome()
}

/// An argument that is a string. Required ones have a name in the message of their absence.
fn argument(arguments: &Arguments, name: &str) -> Result<Option<String>, Failure> {
    match arguments.raw().get(name) {
        None => Ok(None),
        Some(value) if value.is_null() => Ok(None),
        Some(value) => match value.as_str() {
            Some(text) => Ok(Some(text.into_owned())),
            None => Err(Failure::new(
                Status::Ok,
                format!("Argument \"{name}\" must be a string, not {}", value.kind().name()),
            )),
        },
    }
}

fn required(arguments: &Arguments, name: &str) -> Result<String, Failure> {
    argument(arguments, name)?.ok_or_else(|| Failure::new(Status::Ok, format!("Missing argument \"{name}\"")))
}

/// The server, if it is up.
fn connected<'a>(source: &'a Source, name: &str) -> Result<&'a Arc<Server>, Failure> {
    let server = source.find(name)?;
    if server.is_connected() {
        return Ok(server);
    }
    let mut failure = server.not_up();
    if failure.status == Status::Transport {
        failure.message = format!("{} ({})", failure.message, source.connected_names());
    }
    Err(failure)
}

// -- list_mcp_resources ---------------------------------------------------------------------------------------------

async fn list_resources(source: &Arc<Source>, arguments: &Arguments, limits: &Limits) -> Result<Outcome, Failure> {
    let servers: Vec<Arc<Server>> = match argument(arguments, "server")? {
        Some(name) => vec![connected(source, &name)?.clone()],
        None => source.servers().iter().filter(|server| server.is_connected()).cloned().collect(),
    };
    let asked = servers.len();
    // Side by side: one slow server delays the answer by its own time only.
    let mut running = tokio::task::JoinSet::new();
    for (place, server) in servers.into_iter().enumerate() {
        let limits = limits.clone();
        running.spawn(async move {
            let lines = lines_of(&server, &limits).await;
            (place, server, lines)
        });
    }
    let all = async {
        let mut ended = Vec::with_capacity(asked);
        while let Some(joined) = running.join_next().await {
            ended.extend(joined.ok());
        }
        ended
    };
    let mut ended = limits.bound("the list", all).await?;
    ended.sort_by_key(|(place, ..)| *place);
    if source.is_closed() {
        return Err(source_closed());
    }

    let mut output = Vec::new();
    let mut failures = Vec::new();
    for (_, server, lines) in ended {
        match lines {
            Ok(lines) => output.extend(lines),
            // Nobody reads a list that was cancelled.
            Err(failure) if failure.status == Status::Cancelled => return Err(failure),
            Err(failure) => {
                output.push(one_line(&format!("{}: {}", server.name, failure.message)));
                failures.push(failure);
            }
        }
    }
    let all_failed = asked > 0 && failures.len() == asked;
    let output = if output.is_empty() { "No resources.".to_owned() } else { output.join("\n") };
    let failure = if all_failed { failures.into_iter().next() } else { None };
    let failure = failure.map(|failure| Failure { message: output.clone(), ..failure });
    Ok(ToolText { output, is_error: all_failed, metadata: String::new(), failure }.outcome())
}

/// One line for each resource of a server, then for each template.
async fn lines_of(server: &Arc<Server>, limits: &Limits) -> Result<Vec<String>, Failure> {
    let Some(session) = server.live() else {
        // A crashed server is started again by this call; what it announces then counts.
        let session = server.session().await?;
        return lines_of_session(server, session.peer.offers("resources"), limits).await;
    };
    lines_of_session(server, session.peer.offers("resources"), limits).await
}

async fn lines_of_session(server: &Arc<Server>, offers: bool, limits: &Limits) -> Result<Vec<String>, Failure> {
    if !offers {
        return Ok(Vec::new());
    }
    let mut lines = items(server, limits, Items::Resources).await?;
    // Few servers have templates; one that fails to list them has none.
    if let Ok(templates) = items(server, limits, Items::Templates).await {
        lines.extend(templates);
    }
    Ok(lines)
}

async fn items(server: &Arc<Server>, limits: &Limits, of: Items) -> Result<Vec<String>, Failure> {
    let (method, suffix) = match of {
        Items::Resources => ("resources/list", ""),
        Items::Templates => ("resources/templates/list", " [template]"),
    };
    let mut listed = ItemList::default();
    let mut warnings = Vec::new();
    let ask = |members: String| async move { server.read(Ask::plain(method, &members), limits).await };
    pages(method, "resources", &mut warnings, ask, |page| listed.add_page(page.raw(), of)).await?;
    warnings.extend(listed.warnings.into_lines());
    warnings.extend(listed.skipped.items.into_iter().map(|skipped| format!("{}: {}", skipped.item, skipped.reason)));
    for warning in warnings {
        log::at!(Warn, "mcp", "server {:?}: {method}: {warning}", server.name);
    }
    Ok(listed.items.iter().map(|item| line(&server.name, item) + suffix).collect())
}

/// `<server> <uri> — <name> (<mimeType>): <description>`; what is missing goes with its punctuation.
fn line(server: &str, item: &Item) -> String {
    let mut out = format!("{server} {}", item.uri);
    if let Some(name) = &item.name {
        out.push_str(" — ");
        out.push_str(name);
    }
    if let Some(mime) = &item.mime_type {
        out.push_str(&format!(" ({mime})"));
    }
    if let Some(description) = &item.description {
        out.push_str(": ");
        out.push_str(description);
    }
    one_line(&out)
}

fn one_line(text: &str) -> String {
    text.replace("\r\n", " ").replace(['\n', '\r'], " ")
}

// -- read_mcp_resource ----------------------------------------------------------------------------------------------

async fn read_resource(source: &Arc<Source>, arguments: &Arguments, limits: &Limits) -> Result<Outcome, Failure> {
    let name = required(arguments, "server")?;
    let uri = required(arguments, "uri")?;
    let server = connected(source, &name)?;
    let session = limits.bound("the start of the server", server.session()).await??;
    if !session.peer.offers("resources") {
        let why = format!("MCP server {:?} does not offer resources", server.name);
        return Err(Failure::new(Status::NotFound, why).of(&server.name));
    }
    let mut members = String::from("\"uri\":");
    json::quote(&uri, &mut members);
    let reply = limits.bound("the read", server.read(Ask::plain("resources/read", &members), limits)).await??;
    let result = rpc::complete("resources/read", &reply).map_err(|failure| failure.of(&server.name))?;
    debug_assert_eq!(result.kind(), Kind::Object);
    let metadata = format!("\"server\":{}", quoted(&server.name));
    Ok(ReadReply { reply, metadata, more: String::new() }.outcome())
}

/// What a server answered to `resources/read`.
pub struct ReadReply {
    pub reply: Reply,
    /// The members of `metadata`.
    pub metadata: String,
    /// More members of the document, each after a comma.
    pub more: String,
}

impl ReadReply {
    pub fn outcome(self) -> Outcome {
        Outcome::new(Status::Ok, false, self)
    }
}

impl Document for ReadReply {
    fn output(&self) -> String {
        content::read_result(self.reply.raw()).map(|read| read.output).unwrap_or_default()
    }

    fn json(&self) -> String {
        let Ok(read) = content::read_result(self.reply.raw()) else { return String::new() };
        let contents = read.contents.filter(|raw| raw.kind() == Kind::Array).map_or("[]", Raw::text);
        let mut out = String::with_capacity(read.output.len() + contents.len() + self.more.len() + 128);
        out.push_str("{\"output\":");
        json::quote(&read.output, &mut out);
        out.push_str(&format!(",\"isError\":false,\"metadata\":{{{}", self.metadata));
        let warnings = read.warnings.into_lines();
        if !warnings.is_empty() {
            out.push_str(&format!(",\"warnings\":{}", serde_json::Value::from(warnings)));
        }
        out.push_str(&format!("}},\"parts\":{},\"contents\":{contents}{}}}", read.parts, self.more));
        out
    }
}
