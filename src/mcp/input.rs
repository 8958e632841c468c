//! Requests that the server answers with questions first: multi-round requests and tasks (MCP 2026-07-28).
//!
//! A result of type `input_required` lists what the server needs to know; the request is repeated with the answers and the
//! exact state that came with it. A `task` is polled to its end.
#![forbid(unsafe_code)]

use std::sync::Arc;
use std::time::Duration;

use crate::context::{Deadline, Limits};
use crate::json::{self, Kind, Raw};
use crate::mcp::cache::Slot;
use crate::mcp::host::{OPEN_AT_MOST, Refusal};
use crate::mcp::rpc;
use crate::mcp::server::{Server, Session, source_closed};
use crate::outcome::{Failure, Status};
use crate::wire::mux::{Era, Reply, Request, RequestKind};

/// How often a server may ask before it answers.
const ROUNDS: usize = 10;
/// The pause between two looks at a task if the server does not say, and the shortest.
const POLL: Duration = Duration::from_secs(1);
const POLL_AT_LEAST: Duration = Duration::from_millis(20);
/// The longest pause between two looks at a task, and the patience with its cancel.
const LONGEST: Duration = Duration::from_secs(60);

/// One request of the host's.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    pub method: &'a str,
    pub members: &'a str,
    pub meta: &'a str,
    /// The tool that is called, for what the host is asked.
    pub tool: Option<&'a Arc<str>>,
    /// More headers over HTTP.
    pub headers: &'a [(String, String)],
    /// May be answered from the session's cache.
    pub cached: bool,
}

impl<'a> Ask<'a> {
    /// A request that is no call.
    pub fn plain(method: &'a str, members: &'a str) -> Self {
        Ask { method, members, meta: "", tool: None, headers: &[], cached: true }
    }

    /// Only these may be answered with questions.
    fn may_ask(&self) -> bool {
        matches!(self.method, "tools/call" | "prompts/get" | "resources/read")
    }
}

/// Sends a request and gives its final reply.
pub async fn drive(
    server: &Arc<Server>,
    session: &Arc<Session>,
    ask: &Ask<'_>,
    limits: &Limits,
) -> Result<Reply, Failure> {
    let slot = session.changes.cache.slot(session.peer.era, ask);
    if let Some(kept) = slot.as_ref().and_then(Slot::get) {
        return Ok(kept);
    }
    let mut more = String::new();
    for round in 0.. {
        let reply = if more.is_empty() {
            session.request(server, ask, ask.members, limits).await?
        } else {
            let members = if ask.members.is_empty() { more } else { format!("{},{more}", ask.members) };
            session.request(server, ask, &members, limits).await?
        };
        // What was answered to a repeated request is for that one alone.
        if let Some(slot) = slot.as_ref().filter(|_| round == 0) {
            slot.keep(&reply);
        }
        if reply.is_error || session.peer.era != Era::Modern || !ask.may_ask() {
            return Ok(reply);
        }
        let is = |kind| reply.result_type().and_then(Raw::as_str).as_deref() == Some(kind);
        // In boxes: the plain call, of which there may be thousands, does without their room.
        if is("input_required") {
            if round == ROUNDS {
                return Err(Failure::new(
                    Status::Protocol,
                    format!("the server asked for input {ROUNDS} times and has not answered {}", ask.method),
                ));
            }
            more = Box::pin(within(session, limits, answers(server, session, *ask, reply.raw()))).await?;
        } else if is("task") && server.shared.tasks(session) {
            let idle = limits.idle.unwrap_or_else(|| server.call_timeout());
            return Box::pin(within(session, limits, task(server, session, *ask, reply, idle))).await;
        } else {
            return Ok(reply);
        }
    }
    unreachable!("the rounds are bounded inside the loop")
}

/// Ends `work`, which may wait without a request of its own, with the session and by the deadline.
async fn within<T>(
    session: &Session,
    limits: &Limits,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    tokio::select! {
        biased;
        () = session.mux.ended().cancelled() => Err(session.mux.closed().unwrap_or_else(source_closed)),
        ended = tokio::time::timeout_at(limits.deadline.at, work) => ended.unwrap_or_else(|_| {
            let ms = limits.deadline.total.as_millis();
            Err(Failure::new(Status::Timeout, format!("no result within the deadline of {ms} ms")))
        }),
    }
}

/// The members to repeat the request with: the answers, and the state as it came.
async fn answers(
    server: &Arc<Server>,
    session: &Arc<Session>,
    ask: Ask<'_>,
    result: Raw<'_>,
) -> Result<String, Failure> {
    let requests = member(result, "inputRequests", Kind::Object)?;
    let state = member(result, "requestState", Kind::String)?;
    if requests.is_none_or(|requests| requests.members().next().is_none()) && state.is_none() {
        return Err(Failure::new(
            Status::Protocol,
            "the server asks for input and says neither which (inputRequests) nor its state (requestState)",
        ));
    }
    let mut more = String::new();
    if let Some(requests) = requests {
        more.push_str("\"inputResponses\":");
        more.push_str(&responses(server, session, ask.tool, requests, &[]).await?);
    }
    if let Some(state) = state {
        if !more.is_empty() {
            more.push(',');
        }
        more.push_str("\"requestState\":");
        more.push_str(&json::single_line(state));
    }
    Ok(more)
}

/// A member of a result that asks for input, if it is there. To ask again without it would be no answer.
fn member<'a>(result: Raw<'a>, name: &str, kind: Kind) -> Result<Option<Raw<'a>>, Failure> {
    match result.get(name).filter(|value| !value.is_null()) {
        Some(value) if value.kind() != kind => Err(Failure::new(
            Status::Protocol,
            format!("the server asks for input and its {name} is {}, expected {}", value.kind().name(), kind.name()),
        )),
        found => Ok(found),
    }
}

/// The host's answers to a map of requests, as a JSON object. All are asked at once. `known`: keys that were answered before.
async fn responses(
    server: &Arc<Server>,
    session: &Arc<Session>,
    tool: Option<&Arc<str>>,
    requests: Raw<'_>,
    known: &[String],
) -> Result<String, Failure> {
    if requests.kind() != Kind::Object {
        let what = requests.kind().name();
        return Err(Failure::new(
            Status::Protocol,
            format!("the server's inputRequests is {what}, expected an object"),
        ));
    }
    let method = |request: Raw<'_>| request.get("method").and_then(Raw::as_str).unwrap_or_default().into_owned();
    // Before the host is bothered with the others.
    for (_, request) in requests.members() {
        let method = method(request);
        if !server.shared.host.serves(&method) {
            return Err(Refusal::NotAnnounced.failure(&method));
        }
    }
    if requests.members().count() > OPEN_AT_MOST {
        let why = format!("the server asks for more than {OPEN_AT_MOST} things at once");
        return Err(Failure::new(Status::Limit, why));
    }
    let mut asking = tokio::task::JoinSet::new();
    for (place, (key, request)) in
        requests.members().filter(|(key, _)| !known.iter().any(|known| *known == **key)).enumerate()
    {
        let method = method(request);
        let params = request.get("params").map(|params| params.text().to_owned());
        let (server, session, tool) = (server.clone(), session.clone(), tool.cloned());
        let key = key.into_owned();
        asking.spawn(async move {
            let params = params.as_deref().map(Raw::checked);
            let host = &server.shared.host;
            let answer = host.fulfil(&server.name, &session.mux, &method, params, tool.as_deref()).await;
            (place, key, answer.map_err(|refusal| refusal.failure(&method)))
        });
    }
    let mut answers = Vec::new();
    while let Some(joined) = asking.join_next().await {
        let (place, key, answer) =
            joined.map_err(|_| Failure::new(Status::Internal, "a question to the host did not run to its end"))?;
        answers.push((place, key, answer?));
    }
    answers.sort_by_key(|(place, ..)| *place);
    let mut out = String::from("{");
    for (index, (_, key, answer)) in answers.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        json::quote(&key, &mut out);
        out.push(':');
        out.push_str(&answer);
    }
    out.push('}');
    Ok(out)
}

/// Tells the server that a task is no longer wanted, unless it has ended.
struct Unwanted<'a> {
    session: &'a Session,
    members: &'a str,
    ended: bool,
}

impl Drop for Unwanted<'_> {
    fn drop(&mut self) {
        if !self.ended && !self.session.mux.is_closed() {
            // A task is cancelled by a request of its own, never by a cancelled notification (SEP-2663).
            let cancel = self.session.mux.request(request("tasks/cancel", self.members, LONGEST));
            // On a thread without a runtime the server finds out by the end of the session.
            if let Ok(runtime) = tokio::runtime::Handle::try_current() {
                runtime.spawn(cancel);
            }
        }
    }
}

fn request<'a>(method: &'a str, members: &'a str, idle: Duration) -> Request<'a> {
    Request {
        method,
        members,
        meta: "",
        progress: None,
        wants_progress: false,
        idle,
        deadline: Deadline::within(idle),
        // What a task is told is no call: cancelling one of them would cancel nothing.
        kind: RequestKind::Poll,
        tool: None,
        headers: Vec::new(),
    }
}

/// Polls a task to its end, and gives the reply that the call would have had.
async fn task(
    server: &Arc<Server>,
    session: &Arc<Session>,
    ask: Ask<'_>,
    created: Reply,
    idle: Duration,
) -> Result<Reply, Failure> {
    let broken = |why: &str| Failure::new(Status::Protocol, format!("the server's task {why}"));
    let id = created.raw().get("taskId").filter(|id| id.kind() == Kind::String).map(|id| id.text().to_owned());
    let members = format!("\"taskId\":{}", id.ok_or_else(|| broken("has no taskId"))?);
    let mut unwanted = Unwanted { session, members: &members, ended: false };
    let mut pause = poll_pause(created.raw());
    let mut answered: Vec<String> = Vec::new();
    loop {
        tokio::time::sleep(pause).await;
        let reply = session.mux.request(request("tasks/get", &members, idle)).await?;
        let state = rpc::complete("tasks/get", &reply)?;
        pause = poll_pause(state);
        match state.get("status").and_then(Raw::as_str).as_deref() {
            Some("working") => {}
            Some("input_required") => {
                let Some(requests) = state.get("inputRequests") else {
                    return Err(broken("asks for input and does not say which"));
                };
                let new: Vec<String> =
                    requests.members().map(|(key, _)| key.into_owned()).filter(|key| !answered.contains(key)).collect();
                if new.is_empty() {
                    continue;
                }
                let responses = responses(server, session, ask.tool, requests, &answered).await?;
                let update = format!("{members},\"inputResponses\":{responses}");
                let reply = session.mux.request(request("tasks/update", &update, idle)).await?;
                rpc::complete("tasks/update", &reply)?;
                answered.extend(new);
            }
            Some("completed") => {
                unwanted.ended = true;
                return reply
                    .inner(|state| state.get("result"), false)
                    .ok_or_else(|| broken("is completed and has no result"));
            }
            Some("failed") => {
                unwanted.ended = true;
                return reply
                    .inner(|state| state.get("error"), true)
                    .ok_or_else(|| broken("has failed and has no error"));
            }
            Some("cancelled") => {
                unwanted.ended = true;
                return Err(Failure::new(Status::Server, "the server cancelled the task"));
            }
            other => return Err(broken(&format!("has the unknown status {:?}", other.unwrap_or("(none)")))),
        }
    }
}

fn poll_pause(task: Raw<'_>) -> Duration {
    let said = task.get("pollIntervalMs").and_then(Raw::as_u64).map(Duration::from_millis);
    said.unwrap_or(POLL).clamp(POLL_AT_LEAST, LONGEST)
}
