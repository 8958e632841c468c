//! Sources that change: lists that are read anew, subscriptions that are kept, and what the host hears of it.
#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, watch};

use crate::context::Deadline;
use crate::json::{self, Kind, Raw};
use crate::log;
use crate::mcp::server::{Server, Session};
use crate::outcome::{Failure, Status, quoted};
use crate::wire::mux::{Call, Era, Request, RequestKind};

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
    /// The params of the last acknowledgement of a subscription.
    acknowledged: watch::Sender<Option<String>>,
}

impl Default for Changes {
    fn default() -> Self {
        Changes { what: Mutex::default(), noted: Notify::new(), acknowledged: watch::Sender::new(None) }
    }
}

impl Changes {
    pub fn note(&self, note: impl FnOnce(&mut What)) {
        note(&mut self.what.lock());
        self.noted.notify_one();
    }

    pub fn acknowledged(&self, params: Raw<'_>) {
        self.acknowledged.send_replace(Some(params.text().to_owned()));
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
}

impl Wanted {
    fn uris(&self) -> Vec<String> {
        self.uris.lock().iter().cloned().collect()
    }

    /// Remembers, or forgets, a resource whose updates the host wants.
    pub fn set(&self, uri: &str, wanted: bool) {
        let mut uris = self.uris.lock();
        let changed = if wanted { uris.insert(uri.to_owned()) } else { uris.remove(uri) };
        drop(uris);
        if changed {
            self.changed.notify_one();
        }
    }
}

/// Serves a session until it ends: reads changed lists anew, keeps the subscriptions, tells the host.
pub async fn serve(server: Arc<Server>, session: Arc<Session>) {
    let ended = session.mux.ended().clone();
    tokio::select! {
        () = ended.cancelled() => {}
        () = async { tokio::join!(follow(&server, &session), subscribe(&server, &session)); } => {}
    }
    // A session that was closed on purpose is no news.
    if let Some(failure) = session.mux.closed().filter(|failure| failure.status == Status::Transport) {
        log::at!(Warn, "mcp", "server {:?} is gone: {}", server.name, failure.message);
        server.notice("server", &format!(",\"status\":\"failed\",\"reason\":{}", quoted(&failure.message)));
    }
}

async fn follow(server: &Arc<Server>, session: &Session) {
    let mut pause = PAUSE;
    loop {
        session.changes.noted.notified().await;
        let what = session.changes.take();
        if what.tools {
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
        tokio::time::sleep(pause).await;
        let more = *session.changes.what.lock() != What::default();
        pause = if more { (pause * 2).min(LONGEST_PAUSE) } else { PAUSE };
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
        let reply = begin(session, "resources/subscribe", &members, server.call_timeout()).await;
        if !reply.is_ok_and(|reply| !reply.is_error) {
            log::at!(Warn, "mcp", "server {:?}: the subscription of {uri} could not be made again", server.name);
        }
    }
}

/// Modern: one `subscriptions/listen` that asks for what the server announces and the host wants (MCP 2026-07-28).
async fn listen(server: &Arc<Server>, session: &Session) {
    let mut pause = PAUSE;
    loop {
        let filter = filter(server, session);
        let changed = server.wanted.changed.notified();
        if filter.is_empty() {
            changed.await;
            continue;
        }
        let members = format!("\"notifications\":{{{filter}}}");
        tokio::select! {
            // Dropping the call takes the old subscription back.
            () = changed => continue,
            reply = begin(session, "subscriptions/listen", &members, FOR_EVER) => {
                if reply.is_ok_and(|reply| reply.is_error) {
                    log::at!(Debug, "mcp", "server {:?} does not offer subscriptions", server.name);
                    server.wanted.changed.notified().await;
                }
            }
        }
        // The server ended it; the session lives.
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
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

fn begin(session: &Session, method: &str, members: &str, idle: Duration) -> Call {
    session.mux.request(Request {
        method,
        members,
        meta: "",
        progress: None,
        wants_progress: false,
        idle,
        deadline: Deadline::within(idle),
        kind: RequestKind::Normal,
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
    let mut acknowledged = session.changes.acknowledged.subscribe();
    acknowledged.mark_unchanged();
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
    for uri in &uris {
        server.wanted.set(uri, wanted);
    }
    server.wanted.changed.notify_one();
    if filter(server, session).is_empty() {
        return Ok("{}".to_owned());
    }
    // The mux ends the session's calls when it ends; a server that never acknowledges is bounded by the caller's limits.
    tokio::select! {
        changed = acknowledged.changed() => {
            let params = acknowledged.borrow_and_update().clone();
            Ok(params.filter(|_| changed.is_ok()).unwrap_or_else(|| "{}".to_owned()))
        }
        () = session.mux.ended().cancelled() => {
            Err(session.mux.closed().unwrap_or_else(crate::mcp::server::source_closed))
        }
    }
}
