//! What servers ask of the host: elicitation, sampling, roots. Both eras come through here and look the same to the host.
//!
//! Roots and sampling are deprecated since 2026-07-28 and still in use: older servers have nothing else.
#![forbid(unsafe_code)]

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::ask::{Check, Question};
use crate::config::Options;
use crate::json::{Kind, Raw};
use crate::mcp::form;
use crate::outcome::{Failure, Status, quoted};
use crate::queue::{self, Queue};
use crate::wire::mux::Mux;

/// The JSON-RPC code of a request that the person turned down (MCP, sampling).
const REJECTED: i32 = -1;
/// How the check of an answer to sampling marks a no. No JSON begins like this.
const REJECTION: &str = "rejected:";
/// How many questions of one server the host has open at most.
pub const OPEN_AT_MOST: usize = 64;

/// What was announced to the servers of a source, and who answers.
#[derive(Debug)]
pub struct Host {
    pub elicitation: bool,
    pub sampling: bool,
    /// Empty: not announced.
    pub roots: Vec<String>,
    pub events: Option<Arc<Queue>>,
    pub expiry: Duration,
}

/// Why a request of a server has no result.
#[derive(Debug)]
pub enum Refusal {
    /// It was not announced, or nobody knows it.
    NotAnnounced,
    /// Its params make no sense.
    Invalid(String),
    /// The host said no, or nothing, where the protocol has no word for it.
    Rejected(Status, String),
}

impl Refusal {
    /// The `error` of a response.
    pub fn error(&self, method: &str) -> String {
        let (code, message) = match self {
            Refusal::NotAnnounced => (-32601, method),
            Refusal::Invalid(why) => (-32602, why.as_str()),
            Refusal::Rejected(_, why) => (REJECTED, why.as_str()),
        };
        json!({"code":code,"message":message}).to_string()
    }

    /// The failure of a call that needed the answer.
    pub fn failure(self, method: &str) -> Failure {
        match self {
            Refusal::NotAnnounced => {
                let method = if method.is_empty() { "something unnamed" } else { method };
                let why = format!("the server asks for {method}, which this host did not announce");
                Failure::new(Status::Protocol, why)
            }
            Refusal::Invalid(why) => {
                Failure::new(Status::Protocol, format!("the server's {method} is malformed: {why}"))
            }
            Refusal::Rejected(status, why) => Failure::new(status, format!("the server asked for {method}: {why}")),
        }
    }
}

impl Host {
    pub fn new(options: &Options, events: Option<Arc<Queue>>) -> Self {
        Host {
            elicitation: options.elicitation && events.is_some(),
            sampling: options.sampling && events.is_some(),
            roots: options.roots.clone(),
            events,
            expiry: options.request_timeout,
        }
    }

    /// The capabilities that servers are told of: members of an object.
    pub fn capabilities(&self) -> String {
        let all = [
            (self.elicitation, "\"elicitation\":{\"form\":{},\"url\":{}}"),
            (self.sampling, "\"sampling\":{}"),
            (!self.roots.is_empty(), "\"roots\":{}"),
        ];
        let announced: Vec<&str> = all.iter().filter(|(on, _)| *on).map(|(_, text)| *text).collect();
        announced.join(",")
    }

    /// True if a question to the host is what `method` needs, and may be asked.
    pub fn asks(&self, method: &str) -> bool {
        match method {
            "elicitation/create" => self.elicitation,
            "sampling/createMessage" => self.sampling,
            _ => false,
        }
    }

    /// True if a request of a server by this name gets a result.
    pub fn serves(&self, method: &str) -> bool {
        self.asks(method) || (method == "roots/list" && !self.roots.is_empty())
    }

    /// The result that a request of `server` gets. The clocks of its session stand still while the host thinks.
    /// `tool`: the tool whose call needs it, if that is known.
    pub async fn fulfil(
        &self,
        server: &str,
        mux: &Arc<Mux>,
        method: &str,
        params: Option<Raw<'_>>,
        tool: Option<&str>,
    ) -> Result<String, Refusal> {
        if method == "roots/list" && !self.roots.is_empty() {
            let roots: Vec<Value> = self.roots.iter().map(|uri| json!({"uri":uri})).collect();
            return Ok(json!({"roots":roots}).to_string());
        }
        let Some(events) = self.events.as_ref().filter(|_| self.asks(method)) else {
            return Err(Refusal::NotAnnounced);
        };
        let params = params.filter(|params| params.kind() == Kind::Object);
        let params = params.ok_or_else(|| Refusal::Invalid("it has no params".to_owned()))?;
        let (kind, check) = match method {
            "elicitation/create" => elicitation(params)?,
            _ => ("sampling", sampling_check()),
        };
        let members = request_members(server, kind, params, tool, self.expiry);
        let frozen = mux.freeze();
        let question = Question::put(events, queue::Kind::Request, check, |id| format!("{{\"id\":{id},{members}}}"));
        let Some(question) = question else { return unanswered(method, Status::Closed, "the host is gone".to_owned()) };
        let answer = tokio::time::timeout(self.expiry, question.answer()).await;
        drop(frozen);
        match answer {
            Ok(Some(answer)) => match answer.strip_prefix(REJECTION) {
                Some(reason) => Err(Refusal::Rejected(Status::Cancelled, format!("the host answered {reason}"))),
                None => Ok(answer),
            },
            Ok(None) => unanswered(method, Status::Closed, "the host is gone".to_owned()),
            Err(_) => {
                let ms = self.expiry.as_millis();
                unanswered(
                    method,
                    Status::Timeout,
                    format!("the host did not answer within {ms} ms (requestTimeoutMs)"),
                )
            }
        }
    }
}

/// What a request gets to which there is no answer. Elicitation has a word for it.
pub fn unanswered(method: &str, status: Status, why: String) -> Result<String, Refusal> {
    match method {
        "elicitation/create" => Ok("{\"action\":\"cancel\"}".to_owned()),
        _ => Err(Refusal::Rejected(status, why)),
    }
}

/// The members of a request's document but its id.
fn request_members(server: &str, kind: &str, params: Raw<'_>, tool: Option<&str>, expiry: Duration) -> String {
    let text = |name: &str| params.get(name).filter(|value| value.kind() == Kind::String).map(Raw::text);
    let mut out = format!("\"server\":{},\"kind\":\"{kind}\"", quoted(server));
    for (member, value) in [("prompt", text("message")), ("url", text("url"))] {
        if let Some(value) = value {
            out.push_str(&format!(",\"{member}\":{value}"));
        }
    }
    if let Some(schema) = params.get("requestedSchema") {
        out.push_str(&format!(",\"data\":{{\"schema\":{}}}", schema.text()));
    }
    if let Some(tool) = tool {
        out.push_str(&format!(",\"tool\":{}", quoted(tool)));
    }
    let expires = chrono::DateTime::<chrono::Utc>::from(SystemTime::now() + expiry);
    let expires = expires.to_rfc3339_opts(chrono::SecondsFormat::Millis, true);
    out.push_str(&format!(",\"expiresAt\":\"{expires}\",\"params\":{}", params.text()));
    out
}

/// The kind of an elicitation, and what an answer to it has to be. No mode means a form.
fn elicitation(params: Raw<'_>) -> Result<(&'static str, Check), Refusal> {
    match params.get("mode").and_then(Raw::as_str).as_deref() {
        None | Some("form") => {
            let schema = params.get("requestedSchema").map_or("{}", Raw::text);
            // Deep nesting is refused here; a form is flat.
            let schema: Value = serde_json::from_str(schema).map_err(|error| Refusal::Invalid(error.to_string()))?;
            Ok(("input", form_check(schema)))
        }
        Some("url") => match params.get("url").and_then(Raw::as_str) {
            Some(_) => Ok(("url", url_check())),
            None => Err(Refusal::Invalid("it has the mode url and no url".to_owned())),
        },
        Some(mode) => Err(Refusal::Invalid(format!("the mode {mode:?} is unknown"))),
    }
}

/// A host's answer: `Ok(data)` for yes, `Err(action)` for no.
fn verdict(text: &str) -> Result<Result<Value, &'static str>, Failure> {
    let answer: Value = serde_json::from_str(text)
        .map_err(|error| Failure::new(Status::Json, format!("the answer is not valid JSON: {error}")))?;
    let wrong = |why: &str| {
        let form = "expected {\"ok\":true,\"data\":{…}} or {\"ok\":false,\"reason\":\"declined\"}";
        Failure::new(Status::Argument, format!("the answer {why}: {form}"))
    };
    let fields = answer.as_object().ok_or_else(|| wrong("is no object"))?;
    match fields.get("ok").and_then(Value::as_bool) {
        None => Err(wrong("has no \"ok\" that is true or false")),
        Some(true) => Ok(Ok(fields.get("data").cloned().unwrap_or_else(|| json!({})))),
        Some(false) if fields.get("reason").and_then(Value::as_str) == Some("declined") => Ok(Err("decline")),
        Some(false) => Ok(Err("cancel")),
    }
}

fn form_check(schema: Value) -> Check {
    Arc::new(move |text| match verdict(text)? {
        Err(action) => Ok(json!({"action":action}).to_string()),
        Ok(data) => {
            let wrong = |why: String| Failure::new(Status::Argument, format!("the answer does not fit: {why}"));
            let Value::Object(mut data) = data else { return Err(wrong("data is no object".to_owned())) };
            form::fill(&schema, &mut data).map_err(wrong)?;
            Ok(json!({"action":"accept","content":data}).to_string())
        }
    })
}

fn url_check() -> Check {
    Arc::new(|text| {
        let action = verdict(text)?.map_or_else(|action| action, |_| "accept");
        Ok(json!({"action":action}).to_string())
    })
}

fn sampling_check() -> Check {
    Arc::new(|text| match verdict(text)? {
        Err(action) => Ok(format!("{REJECTION}{action}")),
        Ok(data) => {
            for name in ["role", "content", "model"] {
                if data.get(name).is_none() {
                    let form = "data is a sampling result: {\"role\":\"assistant\",\"content\":{…},\"model\":\"…\"}";
                    return Err(Failure::new(Status::Argument, format!("the answer lacks data.{name}; {form}")));
                }
            }
            Ok(data.to_string())
        }
    })
}
