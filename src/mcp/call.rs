//! One call of a server's tool, from its arguments to its outcome.
#![forbid(unsafe_code)]

use std::sync::{Arc, Weak};

use tokio::time::Instant;

use crate::context::Limits;
use crate::json::{self, Kind, Raw};
use crate::log;
use crate::mcp::content;
use crate::mcp::input::Ask;
use crate::mcp::rpc;
use crate::mcp::server::{Server, source_closed};
use crate::mcp::source::Source;
use crate::mcp::tool::ToolInfo;
use crate::outcome::{Document, Failure, Outcome, Phase, Status, ToolText, quoted};
use crate::tool::{Arguments, Run, Running};
use crate::wire::mux::Reply;

/// A server's tool. It knows its source, and does not keep it open.
#[derive(Debug)]
pub struct McpTool {
    source: Weak<Source>,
    server_index: usize,
    server: Arc<str>,
    info: Arc<ToolInfo>,
}

impl McpTool {
    pub fn new(source: &Weak<Source>, server: &Server, info: Arc<ToolInfo>) -> Self {
        McpTool { source: source.clone(), server_index: server.index, server: server.name.clone(), info }
    }
}

impl Run for McpTool {
    fn run(&self, arguments: Arguments, limits: Limits) -> Running {
        // The call keeps the source open until it ends.
        let source = self.source.upgrade();
        let started = limits.deadline.started();
        let subject = Subject { server: self.server.clone(), tool: self.info.clone(), started };
        // One future, and no second one around it: it is made for every call, and small ones cost less.
        let execute = execute(source, self.server_index, subject, arguments, limits);
        Box::pin(execute)
    }

    fn document(&self, name: &str) -> String {
        self.info.json(name, &self.server)
    }
}

/// What a call is about, for its metadata and its messages.
struct Subject {
    server: Arc<str>,
    tool: Arc<ToolInfo>,
    started: Instant,
}

impl Subject {
    fn ms(&self) -> u128 {
        self.started.elapsed().as_millis()
    }

    fn metadata(&self, ms: u128) -> String {
        format!("\"server\":{},\"tool\":{},\"ms\":{ms}", quoted(&self.server), self.tool.raw_name())
    }

    /// A failure as a result that a model can read. A server's own words stay as they are.
    fn failed(&self, failure: Failure) -> Outcome {
        let mut failure = failure.at(Phase::Call).of(&self.server);
        if matches!(
            failure.status,
            Status::Timeout | Status::Cancelled | Status::Protocol | Status::Limit | Status::Transport | Status::Auth
        ) {
            failure.message = format!("{} (tool {} of server {})", failure.message, self.tool.name, self.server);
        }
        let output = failure.message.clone();
        ToolText { output, is_error: true, metadata: self.metadata(self.ms()), failure: Some(failure) }.outcome()
    }
}

async fn execute(
    source: Option<Arc<Source>>,
    server: usize,
    subject: Subject,
    arguments: Arguments,
    limits: Limits,
) -> Result<Outcome, Failure> {
    let Some(source) = source else { return Ok(subject.failed(source_closed())) };
    if limits.is_cancelled() {
        return Ok(subject.failed(crate::context::cancelled("the call")));
    }
    let name = subject.tool.raw_name();
    let mut members = String::with_capacity(name.len() + arguments.as_str().len() + 24);
    for part in ["\"name\":", name, ",\"arguments\":", arguments.as_str()] {
        members.push_str(part);
    }
    let server = source.server(server);
    let headers = server.headers_for(&subject.tool.name, arguments.as_str());
    let ask =
        Ask { tool: Some(&subject.tool.name), headers: &headers, cached: false, ..Ask::plain("tools/call", &members) };
    let reply = match request(server, ask, arguments.as_str(), &limits).await {
        Ok(reply) => reply,
        Err(failure) => return Ok(subject.failed(failure)),
    };
    drop((members, arguments));
    Ok(match judge(&reply) {
        Ok(is_error) => {
            let ms = subject.ms();
            Outcome::new(Status::Ok, is_error, ToolReply { reply, subject, ms })
        }
        Err(failure) => subject.failed(failure),
    })
}

/// Calls a tool, whose headers are in `ask`.
pub async fn request(server: &Arc<Server>, ask: Ask<'_>, arguments: &str, limits: &Limits) -> Result<Reply, Failure> {
    match server.request(ask, limits).await {
        Ok(reply) if reply.is_error && rpc::code(reply.raw()) == Some(rpc::HEADER_MISMATCH) => {
            Box::pin(again_with_new_headers(server, ask, arguments, reply, limits)).await
        }
        ended => ended,
    }
}

/// The server wants other headers than its last list said: it is listed anew, and asked once more (MCP 2026-07-28, custom headers).
async fn again_with_new_headers(
    server: &Arc<Server>,
    ask: Ask<'_>,
    arguments: &str,
    refusal: Reply,
    limits: &Limits,
) -> Result<Reply, Failure> {
    let (Some(session), Some(tool)) = (server.live(), ask.tool) else { return Ok(refusal) };
    if !server.is_remote() {
        return Ok(refusal);
    }
    session.changes.cache.forget(&["tools/list"]);
    if let Err(failure) = limits.bound("the call", server.list_again(&session)).await? {
        log::at!(Warn, "mcp", "server {:?}: its tools cannot be listed anew: {failure}", server.name);
        return Ok(refusal);
    }
    let headers = server.headers_for(tool, arguments);
    server.request(Ask { headers: &headers, ..ask }, limits).await
}

/// Whether the tool reported failure. Fails if the reply is no complete result.
fn judge(reply: &Reply) -> Result<bool, Failure> {
    if reply.is_error {
        return Err(rpc::server_error(reply.raw()));
    }
    let result = reply.raw();
    if result.kind() != Kind::Object {
        let what = result.kind().name();
        return Err(Failure::new(
            Status::Protocol,
            format!("the server answered tools/call with {what} as result, expected an object"),
        ));
    }
    match reply.result_type() {
        Some(kind) if kind.as_str().as_deref() != Some("complete") => Err(rpc::incomplete("tools/call", kind)),
        _ => Ok(reply.says_error().is_some_and(content::says_error)),
    }
}

/// A tool's result as the server sent it.
struct ToolReply {
    reply: Reply,
    subject: Subject,
    ms: u128,
}

impl ToolReply {
    fn read(&self) -> Option<content::ToolResult<'_>> {
        // The kind was checked when the reply came.
        content::tool_result(self.reply.raw()).ok()
    }
}

impl Document for ToolReply {
    fn output(&self) -> String {
        self.read().map(|result| result.output).unwrap_or_default()
    }

    fn size(&self) -> usize {
        // The text stands in the document twice: as the output, and in the content.
        2 * self.reply.text().len()
    }

    fn json(&self) -> String {
        let Some(result) = self.read() else { return String::new() };
        let content = result.content.map_or("[]", Raw::text);
        let structured = result.structured.map_or("", Raw::text);
        let mut out = String::with_capacity(result.output.len() + content.len() + structured.len() + 256);
        out.push_str("{\"output\":");
        json::quote(&result.output, &mut out);
        out.push_str(if result.is_error { ",\"isError\":true" } else { ",\"isError\":false" });
        out.push_str(",\"metadata\":{");
        out.push_str(&self.subject.metadata(self.ms));
        let mut warnings = result.warnings.into_lines();
        if let Some(structured) = result.structured.filter(|_| !result.is_error) {
            warnings.extend(self.subject.tool.output_warnings(structured));
        }
        if !warnings.is_empty() {
            out.push_str(",\"warnings\":");
            out.push_str(&serde_json::Value::from(warnings).to_string());
        }
        out.push('}');
        if !structured.is_empty() {
            out.push_str(",\"structured\":");
            out.push_str(structured);
        }
        out.push_str(",\"parts\":");
        out.push_str(&result.parts);
        out.push_str(",\"content\":");
        out.push_str(content);
        out.push('}');
        out
    }
}
