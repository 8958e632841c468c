//! Sources that change: lists that are read anew, subscriptions that are kept, and what the host hears of it.
#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use crate::context::Deadline;
use crate::json::{self, Kind, Raw};
use crate::log;
use crate::mcp::cache::Cache;
use crate::mcp::rpc;
use crate::mcp::server::{self, Server, Session};
use crate::outcome::{Failure, Status, quoted};
use crate::wire::mux::{self, Call, Era, Request, RequestKind};

/// How often a list is read anew at most, and how far that stretches while the server keeps announcing changes.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// A subscription lasts as long as its session.
const FOR_EVER: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// What a server said has changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct What {
    pub tools: bool,
    pub resources: bool,
    pub prompts: bool,
}

/// What changed in one session since somebody last looked.
#[derive(Debug)]
pub struct Changes {
    what: Mutex<What>,
    noted: Notify,
    subscription: watch::Sender<Subscription>,
    /// What has not changed.
    pub cache: Cache,
}

/// The subscription of a session, in the modern era.
#[derive(Clone, Debug, Default)]
struct Subscription {
    /// The id of its request; 0 before the first.
    id: u64,
    /// The params of its acknowledgement, or why there is none.
    answer: Option<Result<String, Failure>>,
}

impl Default for Changes {
    fn default() -> Self {
        Changes {
            what: Mutex::default(),
            noted: Notify::new(),
            subscription: watch::Sender::default(),
            cache: Cache::default(),
        }
    }
}

impl Changes {
    pub fn note(&self, note: impl FnOnce(&mut What)) {
        note(&mut self.what.lock());
        self.noted.notify_one();
    }

    /// The server acknowledged a subscription. Which one may be left out, since there is one at a time.
    pub fn acknowledged(&self, params: Raw<'_>) {
        let id = params.get("_meta").and_then(|meta| meta.get("io.modelcontextprotocol/subscriptionId"));
        self.subscription.send_if_modified(|kept| {
            let ours = id.and_then(mux::own_id).is_none_or(|id| id == kept.id);
            if ours {
                kept.answer = Some(Ok(params.text().to_owned()));
            }
            ours
        });
    }

    fn take(&self) -> What {
        std::mem::take(&mut self.what.lock())
    }
}

/// What the host asked to hear of from one server. Outlives its sessions.
#[derive(Debug, Default)]
pub struct Wanted {
    uris: Mutex<BTreeSet<String>>,
    changed: Notify,
    /// Between sessions that are begun for their sake.
    pace: Mutex<Pace>,
}

impl Wanted {
    fn uris(&self) -> Vec<String> {
        self.uris.lock().iter().cloned().collect()
    }

    /// Remembers, or forgets, a resource whose updates the host wants. False: it was so already.
    pub fn set(&self, uri: &str, wanted: bool) -> bool {
        let mut uris = self.uris.lock();
        if wanted { uris.insert(uri.to_owned()) } else { uris.remove(uri) }
    }
}

/// The pause between two times that something is done, while it has to be done again and again.
#[derive(Debug)]
struct Pace(Duration);

impl Default for Pace {
    fn default() -> Self {
        Pace::new()
    }
}

impl Pace {
    fn new() -> Self {
        Pace(PAUSE)
    }

    /// The pause is over. `more`: there is something to do already.
    fn step(&mut self, more: bool) {
        self.0 = if more { (self.0 * 2).min(LONGEST_PAUSE) } else { PAUSE };
    }
}

/// Serves a session until it ends: reads changed lists anew, keeps the subscriptions, tells the host.
pub fn serve(server: Arc<Server>, session: Arc<Session>) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    // Of a named type: it may begin the session after this one, which is served in turn.
    Box::pin(serve_and_follow_up(server, session))
}

async fn serve_and_follow_up(server: Arc<Server>, session: Arc<Session>) {
    let began = Instant::now();
    let ended = session.mux.ended().clone();
    tokio::select! {
        () = ended.cancelled() => {}
        () = async { tokio::join!(follow(&server, &session), subscribe(&server, &session)); } => {}
    }
    // A session that was closed on purpose is no news.
    if let Some(failure) = session.mux.closed().filter(|failure| failure.status == Status::Transport) {
        log::at!(Warn, "mcp", "server {:?} is gone: {}", server.name, failure.message);
        server.notice("server", &server::failed(&failure));
    }
    // The next use would begin a new session; what the host subscribed to does not wait for one.
    if session.is_lost() && !server.wanted.uris().is_empty() {
        let pause = {
            let mut pace = server.wanted.pace.lock();
            // A server that loses each session, perhaps by what is asked of it here, is not to be met with a storm of them.
            let pause = pace.0;
            pace.step(began.elapsed() < LONGEST_PAUSE);
            pause
        };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = server.shared.closing.cancelled() => return,
        }
        let _ = server.session().await;
    }
}

async fn follow(server: &Arc<Server>, session: &Session) {
    let mut pace = Pace::new();
    loop {
        session.changes.noted.notified().await;
        let what = session.changes.take();
        if what.tools && server.shared.options.live_tools {
            match server.list_again(session).await {
                Ok(()) => server.notice("tools_changed", ""),
                Err(failure) => {
                    log::at!(Warn, "mcp", "server {:?}: its changed tools cannot be listed: {failure}", server.name);
                }
            }
        }
        if what.resources {
            server.notice("resources_changed", "");
        }
        if what.prompts {
            server.notice("prompts_changed", "");
        }
        tokio::time::sleep(pace.0).await;
        pace.step(*session.changes.what.lock() != What::default());
    }
}

async fn subscribe(server: &Arc<Server>, session: &Arc<Session>) {
    match session.peer.era {
        Era::Modern => listen(server, session).await,
        _ => subscribe_again(server, session).await,
    }
}

/// Legacy: what the host had subscribed to in an earlier session.
async fn subscribe_again(server: &Arc<Server>, session: &Session) {
    for uri in server.wanted.uris() {
        let mut members = String::from("\"uri\":");
        json::quote(&uri, &mut members);
        let reply = begin(session, "resources/subscribe", &members, server.call_timeout(), RequestKind::Normal).await;
        if !reply.is_ok_and(|reply| !reply.is_error) {
            log::at!(Warn, "mcp", "server {:?}: the subscription of {uri} could not be made again", server.name);
        }
    }
}

/// Modern: one `subscriptions/listen` that asks for what the server announces and the host wants (MCP 2026-07-28).
async fn listen(server: &Arc<Server>, session: &Session) {
    let mut pace = Pace::new();
    let mut old: Option<Call> = None;
    loop {
        if session.is_lost() {
            // The session that follows it listens; this one only waits for its last calls.
            server.wanted.changed.notify_one();
            return;
        }
        let changed = server.wanted.changed.notified();
        let filter = filter(server, session);
        if filter.is_empty() {
            drop(old.take());
            changed.await;
            continue;
        }
        let members = format!("\"notifications\":{{{filter}}}");
        let mut call = begin(session, "subscriptions/listen", &members, FOR_EVER, RequestKind::Subscription);
        session.changes.subscription.send_replace(Subscription { id: call.id(), answer: None });
        // Dropping the old one takes it back. The new one has begun, so that nothing is missed between them.
        drop(old.take());
        let began = Instant::now();
        let ended = tokio::select! {
            () = changed => {
                old = Some(call);
                continue;
            }
            ended = &mut call => ended,
        };
        if let Ok(reply) = ended
            && reply.is_error
        {
            let failure = rpc::server_error(reply.raw());
            log::at!(Warn, "mcp", "server {:?} refuses the subscription: {failure}", server.name);
            session.changes.subscription.send_modify(|kept| kept.answer = Some(Err(failure)));
            server.wanted.changed.notified().await;
            continue;
        }
        // The server ended it; the session lives.
        pace.step(began.elapsed() < LONGEST_PAUSE);
        tokio::select! {
            () = tokio::time::sleep(pace.0) => {}
            () = server.wanted.changed.notified() => {}
        }
    }
}

fn filter(server: &Server, session: &Session) -> String {
    let capabilities = Raw::checked(&session.peer.capabilities);
    let announces = |name: &str| {
        capabilities.get(name).and_then(|capability| capability.get("listChanged")).and_then(Raw::as_bool) == Some(true)
    };
    let mut members = Vec::new();
    if server.shared.options.live_tools {
        for (capability, name) in
            [("tools", "toolsListChanged"), ("resources", "resourcesListChanged"), ("prompts", "promptsListChanged")]
        {
            if announces(capability) {
                members.push(format!("\"{name}\":true"));
            }
        }
    }
    let uris = server.wanted.uris();
    if !uris.is_empty() {
        let uris: Vec<String> = uris.iter().map(|uri| quoted(uri)).collect();
        members.push(format!("\"resourceSubscriptions\":[{}]", uris.join(",")));
    }
    members.join(",")
}

fn begin(session: &Session, method: &str, members: &str, idle: Duration, kind: RequestKind) -> Call {
    session.mux.request(Request {
        method,
        members,
        meta: "",
        progress: None,
        wants_progress: false,
        idle,
        deadline: Deadline::within(idle),
        kind,
        tool: None,
        headers: Vec::new(),
    })
}

/// A host's own `resources/subscribe`, `resources/unsubscribe` or `subscriptions/listen` to a modern server: becomes part of
/// the one subscription that is kept. Gives what the server acknowledged.
pub async fn subscribe_modern(
    server: &Arc<Server>,
    session: &Session,
    method: &str,
    params: Raw<'_>,
) -> Result<String, Failure> {
    let uris: Vec<String> = match method {
        "subscriptions/listen" => params
            .get("notifications")
            .and_then(|filter| filter.get("resourceSubscriptions"))
            .filter(|uris| uris.kind() == Kind::Array)
            .map(|uris| uris.elements().filter_map(|uri| uri.as_str().map(|uri| uri.into_owned())).collect())
            .unwrap_or_default(),
        _ => params.get("uri").and_then(Raw::as_str).map(|uri| uri.into_owned()).into_iter().collect(),
    };
    let wanted = method != "resources/unsubscribe";
    let mut subscription = session.changes.subscription.subscribe();
    let before = subscription.borrow_and_update().id;
    let new: Vec<&String> = uris.iter().filter(|uri| server.wanted.set(uri, wanted)).collect();
    if !new.is_empty() {
        server.wanted.changed.notify_one();
    }
    if filter(server, session).is_empty() {
        return Ok("{}".to_owned());
    }
    // A server that never acknowledges is bounded by the caller's limits.
    let answered = subscription.wait_for(|kept| (new.is_empty() || kept.id != before) && kept.answer.is_some());
    let answer = tokio::select! {
        kept = answered => kept.ok().and_then(|kept| kept.answer.clone()),
        () = session.mux.ended().cancelled() => None,
    };
    let answer = answer.unwrap_or_else(|| Err(session.mux.closed().unwrap_or_else(server::source_closed)));
    if answer.as_ref().is_err_and(|failure| failure.status == Status::Server) && wanted && !new.is_empty() {
        // The rest of the subscription lives on without what was refused.
        for uri in new {
            server.wanted.set(uri, false);
        }
        server.wanted.changed.notify_one();
    }
    answer.map_err(|failure| failure.of(&server.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_doubles_to_a_minute_while_there_is_more_and_begins_anew_after_quiet() {
        let mut pace = Pace::new();
        let mut seconds = Vec::new();
        for more in [true, true, true, true, true, true, true, false, true] {
            seconds.push(pace.0.as_secs());
            pace.step(more);
        }
        assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 60, 60, 1]);
    }
}
