//! A remote server: streamable HTTP (MCP, transports), in both eras.
//!
//! - `exchange`: one message, one POST, and what comes back; the streams of the legacy era and their resumption
//! - `answer`: what an answer means that is no message
//! - `body`: bodies, plain or packed, up to a limit
//! - `old`: the HTTP+SSE transport before it
//! - `connect`: connections, TLS, proxies; `tcp`: their sockets
//! - `url`: what of a URL is shown, where a redirect leads
//!
//! One task a server takes messages from the mux and gives each an exchange, which is a task of its own.
#![forbid(unsafe_code)]

mod answer;
mod body;
mod connect;
mod exchange;
mod old;
mod tcp;
mod url;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, Uri, header};
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio::task::{AbortHandle, JoinSet};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config::Secrets;
use crate::log;
use crate::outcome::{Failure, Status};
use crate::wire::auth::Challenge;
use crate::wire::mux::{self, Era, Mux, Post, RequestKind, Room, Turn};
use connect::{HttpClient, Route};

/// So many exchanges of calls are open at once; more calls wait. Each has a connection of its own.
const AT_ONCE: usize = 256;
/// So many answers and notifications are on their way at once, and each may take so long: a server that asks and asks, and
/// takes no answer, must not use up the host's descriptors.
const TOLD_AT_ONCE: usize = 64;
const TELLING: Duration = Duration::from_secs(60);
/// How long the server may take to hear that it is initialized, before it is asked for more.
const INITIALIZED: Duration = Duration::from_secs(5);
/// How long the server may take to hear that the session is over.
const GOODBYE: Duration = Duration::from_secs(1);

/// A session with a remote server.
#[derive(Debug)]
pub struct Remote {
    wire: Arc<Wire>,
    /// The session is to end without a word to the server.
    at_once: CancellationToken,
    gone: CancellationToken,
}

/// What all exchanges of a session have in common.
pub(super) struct Wire {
    mux: Arc<Mux>,
    server: String,
    secrets: Arc<Secrets>,
    client: HttpClient,
    route: Route,
    target: Uri,
    /// The URL as messages show it.
    url: String,
    /// What every request has.
    base: HeaderMap,
    /// What the legacy era adds to it.
    session: Mutex<Option<HeaderValue>>,
    /// Where messages go over the old transport.
    endpoint: Mutex<Option<Uri>>,
    version: Mutex<Option<HeaderValue>>,
    /// An answer came, whatever it was.
    reached: AtomicBool,
    /// The server does not know the session any more.
    lost: AtomicBool,
    /// The server refused what this transport begins with.
    refused: AtomicBool,
    challenge: Mutex<Option<Challenge>>,
    /// Ends every connection.
    stop: CancellationToken,
}

impl std::fmt::Debug for Wire {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wire").field("server", &self.server).field("url", &self.url).finish_non_exhaustive()
    }
}

/// Where a remote server is, and what its requests carry. Holds secrets.
pub struct Target<'a> {
    pub url: &'a str,
    pub headers: &'a [(String, String)],
    /// The URL as messages show it.
    pub shown: String,
    /// It speaks the old HTTP+SSE transport.
    pub old: bool,
}

impl Remote {
    /// Makes ready to talk to the server, and starts the task that serves it, which runs under `tracker`. Nothing is sent
    /// before the mux has something to send.
    pub async fn start(
        target: Target<'_>,
        mux: Arc<Mux>,
        server: &str,
        secrets: Arc<Secrets>,
        tracker: &TaskTracker,
    ) -> Result<Remote, Failure> {
        let failed = |why: String| Failure::new(Status::Transport, format!("{why} ({})", target.shown));
        let parsed = url::parse(target.url).map_err(failed)?;
        let base = base_headers(&parsed.uri, target.headers, parsed.authorization).map_err(failed)?;
        let stop = CancellationToken::new();
        let (client, route) = connect::client(&parsed.uri, tracker, &stop).await.map_err(failed)?;
        let old = target.old;
        mux.set_exchanges();
        let wire = Arc::new(Wire {
            mux,
            server: server.to_owned(),
            secrets,
            client,
            route,
            target: parsed.uri,
            url: target.shown,
            base,
            session: Mutex::default(),
            endpoint: Mutex::default(),
            version: Mutex::default(),
            reached: AtomicBool::new(false),
            lost: AtomicBool::new(false),
            refused: AtomicBool::new(false),
            challenge: Mutex::default(),
            stop,
        });
        let (at_once, gone) = (CancellationToken::new(), CancellationToken::new());
        tracker.spawn({
            let (wire, at_once) = (wire.clone(), at_once.clone());
            // Also where a shutdown drops the task, or a panic ends it: nobody then serves the calls.
            let closed = CloseOnDrop(wire.clone());
            let gone = gone.clone().drop_guard();
            async move {
                let _gone = gone;
                let closed = closed;
                serve(&wire, old).await;
                tokio::select! {
                    () = wire.goodbye() => {}
                    () = at_once.cancelled() => {}
                }
                drop(closed);
            }
        });
        Ok(Remote { wire, at_once, gone })
    }

    /// The revision that was agreed on, which the legacy era names in every request.
    pub fn set_version(&self, version: &str) {
        *self.wire.version.lock() = HeaderValue::from_str(version).ok();
    }

    /// True once the server has answered anything at all.
    pub fn is_reached(&self) -> bool {
        self.wire.reached.load(Ordering::Relaxed)
    }

    /// True if the server does not know the session any more. What is under way may still end.
    pub fn is_lost(&self) -> bool {
        self.wire.lost.load(Ordering::Relaxed)
    }

    /// The session is not to be used for anything new.
    pub fn set_lost(&self) {
        self.wire.set_lost();
    }

    /// True if the server refused what this transport begins with, as one does that speaks the other: streamable HTTP, or the
    /// old HTTP+SSE (MCP, transports, backwards compatibility).
    pub fn may_speak_the_other(&self) -> bool {
        self.wire.refused.load(Ordering::Relaxed)
    }

    /// What the server asks for before it serves us.
    pub fn challenge(&self) -> Option<Challenge> {
        self.wire.challenge.lock().clone()
    }

    /// The URL as messages show it.
    pub fn url(&self) -> &str {
        &self.wire.url
    }

    /// Ends the session with `failure`, tells the server, and waits until nothing of it runs.
    pub async fn end(&self, failure: Failure) {
        self.wire.mux.close(failure);
        self.gone.cancelled().await;
    }

    /// Ends the session at once.
    pub fn kill(&self, failure: Failure) {
        self.at_once.cancel();
        self.wire.mux.close(failure);
    }

    /// Waits until nothing of the session runs.
    pub async fn gone(&self) {
        self.gone.cancelled().await;
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        self.wire.mux.close(Failure::new(Status::Closed, "the session was closed"));
    }
}

/// Ends the calls and the connections when it is dropped.
struct CloseOnDrop(Arc<Wire>);

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        self.0.mux.close(Failure::new(Status::Closed, "the library was shut down before the call ended"));
        self.0.stop.cancel();
    }
}

/// The headers of every request: the configured ones, but those that the protocol needs for itself.
fn base_headers(
    target: &Uri,
    configured: &[(String, String)],
    user_info: Option<HeaderValue>,
) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::with_capacity(configured.len() + 4);
    // The client below would make it anew for every request.
    if let Some(host) = url::host(target) {
        headers.insert(header::HOST, host);
    }
    headers.insert(header::USER_AGENT, HeaderValue::from_static(concat!("toolnexus/", env!("CARGO_PKG_VERSION"))));
    if let Some(user_info) = user_info {
        headers.insert(header::AUTHORIZATION, user_info);
    }
    for (name, value) in configured {
        let named =
            HeaderName::from_bytes(name.as_bytes()).map_err(|_| format!("the header name {name:?} is not valid"))?;
        if is_ours(&named) {
            log::at!(Warn, "wire", "the configured header {name} is left out: the library sets it");
            continue;
        }
        let value = HeaderValue::from_bytes(value.as_bytes())
            .map_err(|_| format!("the value of the header {name} holds characters that a header may not hold"))?;
        headers.insert(named, url::sensitive(value));
    }
    headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
    Ok(headers)
}

/// Headers that say how a message is sent, and what it is.
fn is_ours(name: &HeaderName) -> bool {
    const OURS: [HeaderName; 9] = [
        header::ACCEPT,
        header::ACCEPT_ENCODING,
        header::CONNECTION,
        header::CONTENT_ENCODING,
        header::CONTENT_LENGTH,
        header::CONTENT_TYPE,
        header::TE,
        header::TRANSFER_ENCODING,
        header::UPGRADE,
    ];
    OURS.contains(name) || name.as_str().starts_with("mcp-") || name.as_str() == "last-event-id"
}

/// Serves the session until the mux is closed.
async fn serve(wire: &Arc<Wire>, old: bool) {
    let telling = Arc::new(Semaphore::new(TOLD_AT_ONCE));
    let mut exchanges = Exchanges { wire, old, tasks: JoinSet::new(), open: HashMap::new(), telling };
    let driven = async {
        match if old { exchanges.open_old().await } else { Ok(()) } {
            Ok(()) => exchanges.drive().await,
            Err(failure) => wire.mux.close(failure),
        }
    };
    tokio::select! {
        () = driven => {}
        () = wire.mux.keep_time() => {}
    }
    exchanges.tasks.shutdown().await;
}

/// The exchanges that are under way.
struct Exchanges<'a> {
    wire: &'a Arc<Wire>,
    old: bool,
    /// Each gives the id of its request.
    tasks: JoinSet<Option<u64>>,
    open: HashMap<u64, Open>,
    /// Places for what is no request.
    telling: Arc<Semaphore>,
}

/// The exchange of a request.
struct Open {
    exchange: AbortHandle,
    /// It ends with the session.
    lasts: bool,
}

impl Exchanges<'_> {
    /// Opens the stream of the old transport; its end is the end of the session.
    async fn open_old(&mut self) -> Result<(), Failure> {
        let stream = tokio::select! {
            opened = self.wire.open_old() => opened?,
            () = self.wire.mux.ended().cancelled() => return Ok(()),
        };
        let wire = self.wire.clone();
        self.tasks.spawn(async move {
            let failure = wire.clone().follow_old(stream).await;
            wire.mux.close(failure);
            None
        });
        Ok(())
    }

    async fn drive(&mut self) {
        loop {
            while let Some(turn) = self.wire.mux.take_turn(self.room()) {
                match turn {
                    Turn::Close(id) => {
                        if let Some(open) = self.open.remove(&id) {
                            open.exchange.abort();
                        }
                    }
                    Turn::Post(post) if is_initialized(&post) => self.initialized(post).await,
                    Turn::Post(post) => self.begin(post),
                }
            }
            if self.wire.mux.is_closed() {
                return;
            }
            if self.wire.lost.load(Ordering::Relaxed) && self.open.values().all(|open| open.lasts) {
                self.wire.mux.close(Failure::new(Status::Closed, "the server does not know the session any more"));
                return;
            }
            tokio::select! {
                () = self.wire.mux.wants_to_write() => {}
                Some(ended) = self.tasks.join_next() => {
                    if let Ok(Some(id)) = ended {
                        self.open.remove(&id);
                    }
                }
            }
        }
    }

    fn room(&mut self) -> Room {
        if self.open.len() >= AT_ONCE {
            // An answer that goes on behind its reply, or has not come though the reply has, makes room for a call.
            let mux = &self.wire.mux;
            self.open.retain(|id, open| {
                let stays = mux.is_open(*id);
                if !stays {
                    open.exchange.abort();
                }
                stays
            });
        }
        Room { ask: self.open.len() < AT_ONCE, tell: self.telling.available_permits() > 0 }
    }

    fn begin(&mut self, post: Post) {
        let Some((id, kind)) = post.request else { return self.tell(post) };
        let wire = self.wire.clone();
        let exchange = self.tasks.spawn(async move {
            // However it ends, nobody waits for it any longer.
            let mut ended = Ended { wire: &wire, id: Some(id) };
            let failed = wire.exchange(post).await.err();
            ended.id = None;
            if let Some(failure) = failed {
                wire.mux.fail(id, failure);
            }
            Some(id)
        });
        self.open.insert(id, Open { exchange, lasts: kind == RequestKind::Subscription });
    }

    /// Sends what is no request.
    fn tell(&mut self, post: Post) {
        let wire = self.wire.clone();
        let place = self.telling.clone().try_acquire_owned();
        self.tasks.spawn(async move {
            let _place = place;
            let failure = match tokio::time::timeout(TELLING, wire.exchange(post)).await {
                Ok(told) => told.err(),
                Err(_) => Some(wire.failure(Status::Timeout, "the server did not take it")),
            };
            if let Some(failure) = failure {
                log::at!(Info, "wire", "{}: a message was not delivered: {failure}", wire.server);
            }
            None
        });
    }

    /// What follows must find the server initialized, and goes over other connections: this one message is waited for.
    async fn initialized(&mut self, post: Post) {
        let told = tokio::time::timeout(INITIALIZED, self.wire.exchange(post));
        tokio::select! {
            told = told => {
                if let Ok(Err(failure)) = told {
                    log::at!(Info, "wire", "{}: notifications/initialized: {failure}", self.wire.server);
                }
            }
            () = self.wire.mux.ended().cancelled() => return,
        }
        if self.wire.mux.era() == Era::Legacy && !self.old {
            let wire = self.wire.clone();
            self.tasks.spawn(async move {
                wire.listen().await;
                None
            });
        }
    }
}

fn is_initialized(post: &Post) -> bool {
    post.request.is_none() && post.bytes == mux::INITIALIZED
}

/// Ends a request whose exchange was broken off.
struct Ended<'a> {
    wire: &'a Wire,
    id: Option<u64>,
}

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            self.wire.mux.fail(id, Failure::new(Status::Internal, "the exchange ended without a result"));
        }
    }
}

impl Wire {
    fn set_lost(&self) {
        if !self.lost.swap(true, Ordering::Relaxed) {
            log::at!(Info, "wire", "{}: the session is lost; the next use begins a new one", self.server);
            self.mux.wake();
        }
    }

    /// Tells a legacy server that its session is over.
    async fn goodbye(&self) {
        let session = self.session.lock().is_some() && !self.lost.load(Ordering::Relaxed);
        if session {
            let _ = tokio::time::timeout(GOODBYE, self.delete()).await;
        }
    }
}
