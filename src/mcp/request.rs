//! Any request of the host's to one server, and its reply untouched.
#![forbid(unsafe_code)]

use std::sync::Arc;

use crate::context::Limits;
use crate::json::{self, Kind, Raw};
use crate::mcp::call;
use crate::mcp::input::Ask;
use crate::mcp::live;
use crate::mcp::rpc;
use crate::mcp::server::Server;
use crate::outcome::{Document, Failure, Outcome, Status};
use crate::wire::mux::{Era, Reply};

/// A checked request.
#[derive(Debug)]
pub struct HostRequest {
    method: String,
    /// The members of `params` but `_meta`, and those of `_meta`.
    members: String,
    meta: String,
    /// A host that sends a `_meta`, even an empty one, wants the server to see it.
    has_meta: bool,
}

impl HostRequest {
    /// `params`: a JSON object, or none.
    pub fn new(method: &str, params: Option<&str>) -> Result<Self, Failure> {
        if method.is_empty() || method.chars().any(|c| c.is_control() || c == '"' || c == '\\') {
            return Err(Failure::new(
                Status::Argument,
                format!("method is {method:?}, expected a name such as \"ping\""),
            ));
        }
        let mut request =
            HostRequest { method: method.to_owned(), members: String::new(), meta: String::new(), has_meta: false };
        let Some(params) = params else { return Ok(request) };
        json::check(params.as_bytes()).map_err(|error| {
            Failure::new(Status::Json, format!("params is not valid JSON: {} at byte {}", error.what, error.at))
        })?;
        let params = Raw::checked(params);
        if params.kind() != Kind::Object {
            let what = params.kind().name();
            return Err(Failure::new(Status::Json, format!("params must be a JSON object, not {what}")));
        }
        for (key, value) in params.members() {
            if key == "_meta" && value.kind() == Kind::Object {
                request.has_meta = true;
                for (key, value) in value.members() {
                    // The token is ours: it is how progress finds its call.
                    if key != "progressToken" {
                        push_member(&mut request.meta, &key, value);
                    }
                }
            } else {
                push_member(&mut request.members, &key, value);
            }
        }
        Ok(request)
    }

    /// True if asking twice is as good as asking once.
    fn only_reads(&self) -> bool {
        self.method.ends_with("/list") || self.method == "resources/read"
    }

    /// Sends it, and gives the reply as the outcome.
    pub async fn send(self, server: &Arc<Server>, limits: &Limits) -> Result<Outcome, Failure> {
        let subscribes =
            matches!(self.method.as_str(), "resources/subscribe" | "resources/unsubscribe" | "subscriptions/listen");
        if subscribes {
            let session = limits.bound("the start of the server", server.session()).await??;
            if session.peer.era == Era::Modern {
                let params = format!("{{{}}}", self.members);
                let work = live::subscribe_modern(server, &session, &self.method, Raw::checked(&params));
                let idle = limits.idle.unwrap_or_else(|| server.call_timeout());
                let silent = |_| Failure::new(Status::Timeout, format!("no answer for {} ms", idle.as_millis()));
                let work = async { tokio::time::timeout(idle, work).await.map_err(silent)? };
                return limits.bound("the subscription", work).await?.map(Outcome::document);
            }
        }
        let ask = Ask { meta: &self.meta, cached: !self.has_meta, ..Ask::plain(&self.method, &self.members) };
        let reply = match self.method.as_str() {
            "tools/call" => self.call(server, ask, limits).await?,
            _ if self.only_reads() => server.read(ask, limits).await?,
            _ => server.request(ask, limits).await?,
        };
        if reply.is_error {
            return Err(rpc::server_error(reply.raw()).of(&server.name));
        }
        if let Some(kind) = reply.result_type().filter(|kind| kind.as_str().as_deref() == Some("input_required")) {
            return Err(rpc::incomplete(&self.method, kind).of(&server.name));
        }
        if subscribes {
            // Made again when the server is started again.
            let params = format!("{{{}}}", self.members);
            if let Some(uri) = Raw::checked(&params).get("uri").and_then(Raw::as_str) {
                server.wanted.set(&uri, self.method == "resources/subscribe");
            }
        }
        Ok(Outcome::new(Status::Ok, false, Untouched(reply)))
    }
}

impl HostRequest {
    /// A call needs the headers that its tool asks for, however it is made.
    async fn call(&self, server: &Arc<Server>, ask: Ask<'_>, limits: &Limits) -> Result<Reply, Failure> {
        let params = format!("{{{}}}", self.members);
        let params = Raw::checked(&params);
        let Some(tool) = params.get("name").and_then(Raw::as_str) else { return server.request(ask, limits).await };
        let tool: Arc<str> = tool.into();
        let arguments = params.get("arguments").map_or("{}", Raw::text);
        let headers = server.headers_for(&tool, arguments);
        call::request(server, Ask { tool: Some(&tool), headers: &headers, ..ask }, arguments, limits).await
    }
}

fn push_member(out: &mut String, key: &str, value: Raw<'_>) {
    if !out.is_empty() {
        out.push(',');
    }
    json::quote(key, out);
    out.push(':');
    out.push_str(&json::single_line(value));
}

struct Untouched(Reply);

impl Document for Untouched {
    fn output(&self) -> String {
        String::new()
    }
    fn json(&self) -> String {
        self.0.text().to_owned()
    }
}
