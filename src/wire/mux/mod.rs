//! The line mux: who gets which message. `incoming` has what a server sends, `outgoing` what waits to be written, `call` a
//! call's life and the clocks, `reply` what an answer says.
//!
//! A call is written under an id of our own and answered from the raw bytes of its reply; nothing is decoded and
//! encoded again. Progress restarts its call's clock. What servers ask or announce goes to the SDK's service. Every
//! call ends exactly once: by its reply, a broken reply, a time-out, its deadline, a cancel (the future is dropped),
//! or the end of the transport.
#![forbid(unsafe_code)]

mod call;
mod incoming;
mod outgoing;
mod reply;

pub use call::{Call, Frozen};
pub use incoming::{excerpt, own_id};
use outgoing::{Out, What};
pub use outgoing::{Post, Room, Turn};
pub use reply::Reply;

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use rmcp::model::ServerJsonRpcMessage;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::config::Secrets;
use crate::context::Deadline;
use crate::json::Raw;
use crate::outcome::Failure;

/// What tells a legacy server that the handshake is over.
pub const INITIALIZED: &[u8] = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// The revision of the era without a handshake.
pub const MODERN: &str = "2026-07-28";

/// Which generation of the protocol a server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Era {
    /// Not yet decided.
    Unknown,
    /// `initialize`, up to 2025-11-25.
    Legacy,
    /// No handshake, 2026-07-28 and later.
    Modern,
}

/// Gets the raw params of each progress notification of one call.
pub type Progress = Arc<dyn Fn(Raw<'_>) + Send + Sync>;

/// Sees what a server sends by itself before the SDK's service does.
pub trait Inbound: Send + Sync {
    /// A request of the server's. True: it is answered with [`Mux::respond`], by whoever took it.
    fn request(&self, id: Raw<'_>, method: &str, params: Option<Raw<'_>>) -> bool;
    /// A notification. True: nobody else needs to see it.
    fn notification(&self, method: &str, params: Option<Raw<'_>>) -> bool;
}

/// One request, before it has an id.
pub struct Request<'a> {
    pub method: &'a str,
    /// The members of `params` but `_meta`: `"name":"x","arguments":{}`. On one line.
    pub members: &'a str,
    /// Members of `_meta` that the host gave.
    pub meta: &'a str,
    /// Ask for progress, and tell it here.
    pub progress: Option<Progress>,
    pub wants_progress: bool,
    /// The longest silence.
    pub idle: Duration,
    pub deadline: Deadline,
    pub kind: RequestKind,
    /// The tool, if this is a call of one.
    pub tool: Option<Arc<str>>,
    /// Headers that this request has over HTTP.
    pub headers: Headers,
}

/// Names and values of headers.
pub type Headers = Vec<(String, String)>;

/// What a request means to the mux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKind {
    Normal,
    /// `server/discover` while the era is unknown: an error without an id answers it, and it is never cancelled.
    Probe,
    /// Never cancelled (MCP, lifecycle: a client must not cancel `initialize`).
    Initialize,
    /// Open as long as the session: a broken reply is never taken for its.
    Subscription,
    /// Asks how something goes. Answered at once, so never cancelled.
    Poll,
}

/// So many messages of a server may wait for the service, or answers for the server, before reading it pauses.
const BEHIND: usize = 1000;
/// So many requests, and bytes of them, are kept that came while it was open whether they may be answered.
const HELD: usize = 100;
const HELD_BYTES: usize = 1 << 20;

struct Pending {
    answer: oneshot::Sender<Result<Reply, Failure>>,
    progress: Option<Progress>,
    idle: Duration,
    /// The last sign of life.
    quiet_since: Instant,
    deadline: Deadline,
    written: bool,
    kind: RequestKind,
    tool: Option<Arc<str>>,
    /// Cancelled if the host gives the call up. Made for those who want to know.
    given_up: Option<CancellationToken>,
}

impl Pending {
    fn give_up(&self) {
        if let Some(given_up) = &self.given_up {
            given_up.cancel();
        }
    }
}

struct State {
    next_id: u64,
    pending: BTreeMap<u64, Pending>,
    outbox: VecDeque<Out>,
    /// Set once nothing can be sent any more: what every later call gets.
    closed: Option<Failure>,
    closed_at: Option<Instant>,
    service: Option<mpsc::UnboundedSender<ServerJsonRpcMessage>>,
    /// What the service has not taken yet, and what was written to the server by others than its calls.
    unserved: usize,
    unwritten: usize,
    /// The server's requests before anybody knows whether it is one that may be answered.
    held: Vec<Vec<u8>>,
    /// `initialize` went out: the server may be answered.
    offered: bool,
    /// No idle time runs while the host has a question of this server open.
    frozen: usize,
    frozen_since: Option<Instant>,
    frozen_total: Duration,
    /// The transport has no room for requests, and when it last had none: what waits for a place is not the server's silence.
    full: bool,
    full_at: Option<Instant>,
    /// When the clock must look again.
    wake: Option<Instant>,
    first_noise: Option<String>,
    stray_error: Option<String>,
}

/// The calls of one session with one server.
pub struct Mux {
    state: Mutex<State>,
    to_write: Notify,
    clock: Notify,
    room: Notify,
    era: AtomicU8,
    /// Each request has an exchange of its own, which can be closed.
    exchanges: AtomicBool,
    /// The `_meta` members that every request of the modern era carries.
    modern_meta: Mutex<String>,
    server: String,
    secrets: Arc<Secrets>,
    inbound: Box<dyn Inbound>,
    /// Cancelled when the session ends.
    ended: CancellationToken,
    pub limit: usize,
}

impl std::fmt::Debug for Mux {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mux").field("server", &self.server).finish_non_exhaustive()
    }
}

impl Mux {
    /// `modern_meta`: the members of `_meta` of a modern request. `inbound` makes what hears the server, from a way to reach
    /// the mux. Returns the mux and what the SDK's service reads.
    pub fn new(
        server: &str,
        secrets: Arc<Secrets>,
        limit: usize,
        modern_meta: String,
        inbound: impl FnOnce(Weak<Mux>) -> Box<dyn Inbound>,
    ) -> (Arc<Mux>, mpsc::UnboundedReceiver<ServerJsonRpcMessage>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let mux = Arc::new_cyclic(|mux| Mux {
            inbound: inbound(mux.clone()),
            ended: CancellationToken::new(),
            state: Mutex::new(State {
                next_id: 1,
                pending: BTreeMap::new(),
                outbox: VecDeque::new(),
                closed: None,
                closed_at: None,
                service: Some(sender),
                unserved: 0,
                unwritten: 0,
                held: Vec::new(),
                offered: false,
                frozen: 0,
                frozen_since: None,
                frozen_total: Duration::ZERO,
                full: false,
                full_at: None,
                wake: None,
                first_noise: None,
                stray_error: None,
            }),
            to_write: Notify::new(),
            clock: Notify::new(),
            room: Notify::new(),
            era: AtomicU8::new(Era::Unknown as u8),
            exchanges: AtomicBool::new(false),
            modern_meta: Mutex::new(modern_meta),
            server: server.to_owned(),
            secrets,
            limit,
        });
        (mux, receiver)
    }

    pub fn era(&self) -> Era {
        match self.era.load(Ordering::Relaxed) {
            1 => Era::Legacy,
            2 => Era::Modern,
            _ => Era::Unknown,
        }
    }

    pub fn set_era(&self, era: Era) {
        self.era.store(era as u8, Ordering::Relaxed);
    }

    /// Replaces what modern requests say of us: members of `_meta`.
    pub fn set_modern_meta(&self, members: String) {
        *self.modern_meta.lock() = members;
    }

    /// Queues a request. The future gives its reply; dropping the future cancels the call and tells the server.
    pub fn request(self: &Arc<Self>, request: Request<'_>) -> Call {
        let (answer, reply) = oneshot::channel();
        let now = Instant::now();
        let mut state = self.state.lock();
        let id = state.next_id;
        state.next_id += 1;
        if let Some(closed) = &state.closed {
            let _ = answer.send(Err(closed.clone()));
            return Call { mux: self.clone(), id, reply, ended: false };
        }
        let (bytes, method) = self.encode(id, &request);
        state.pending.insert(
            id,
            Pending {
                answer,
                progress: request.progress,
                idle: request.idle,
                quiet_since: now,
                deadline: request.deadline,
                written: false,
                kind: request.kind,
                tool: request.tool.clone(),
                given_up: None,
            },
        );
        state.outbox.push_back(Out {
            id: Some(id),
            bytes,
            method,
            tool: request.tool,
            headers: request.headers,
            what: What::Request(request.kind),
        });
        let held = match request.kind {
            RequestKind::Initialize => {
                state.offered = true;
                std::mem::take(&mut state.held)
            }
            _ => Vec::new(),
        };
        let due = request.deadline.at.min(now + request.idle);
        let sooner = state.wake.is_none_or(|wake| due < wake);
        if sooner {
            state.wake = Some(due);
        }
        drop(state);
        self.to_write.notify_one();
        if sooner {
            self.clock.notify_one();
        }
        for message in held {
            self.deliver(message);
        }
        Call { mux: self.clone(), id, reply, ended: false }
    }

    /// The message, and where its method stands.
    /// Queues a message that expects no reply: one JSON object on one line.
    pub fn send(&self, message: Vec<u8>) {
        let mut state = self.state.lock();
        if state.closed.is_none() {
            state.outbox.push_back(Out::new(None, message, What::Answer));
            state.unwritten += 1;
            drop(state);
            self.to_write.notify_one();
        }
    }

    /// Ends every call, now and later, with `failure`. The first reason counts.
    pub fn close(&self, failure: Failure) {
        let pending = {
            let mut state = self.state.lock();
            if state.closed.is_some() {
                return;
            }
            state.closed = Some(failure.clone());
            state.closed_at = Some(Instant::now());
            state.outbox.clear();
            state.unwritten = 0;
            state.held = Vec::new();
            state.service = None;
            std::mem::take(&mut state.pending)
        };
        for call in pending.into_values() {
            let _ = call.answer.send(Err(failure.clone()));
        }
        self.ended.cancel();
        self.to_write.notify_one();
        self.clock.notify_one();
        self.room.notify_one();
    }

    /// Answers a request of the server's. `member`: `"result":…` or `"error":…`. A modern server gets none: MCP 2026-07-28
    /// forbids clients to write responses.
    pub fn respond(&self, id: &str, member: &str) {
        if self.era() != Era::Modern {
            self.send(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{member}}}").into_bytes());
        }
    }

    /// The tool call that a request of the server's belongs to, if only one is open: its tool, and what is cancelled when the
    /// host gives it up.
    pub fn caller(&self) -> Option<(Arc<str>, CancellationToken)> {
        let mut state = self.state.lock();
        let mut calls = state.pending.values_mut().filter(|call| call.tool.is_some());
        let call = calls.next().filter(|_| calls.next().is_none())?;
        let tool = call.tool.clone()?;
        Some((tool, call.given_up.get_or_insert_default().clone()))
    }

    /// Cancelled when the session ends.
    pub fn ended(&self) -> &CancellationToken {
        &self.ended
    }

    pub fn is_closed(&self) -> bool {
        self.state.lock().closed.is_some()
    }

    /// Why the session ended, if it did.
    pub fn closed(&self) -> Option<Failure> {
        self.state.lock().closed.clone()
    }

    /// What a message about a silent server should add: stray errors, and the first line that was no JSON-RPC.
    pub fn hint(&self) -> String {
        self.state.lock().hint()
    }

    /// When the session ended.
    pub fn closed_at(&self) -> Option<Instant> {
        self.state.lock().closed_at
    }
}

impl State {
    /// Takes out a call that the server ends. It cannot answer what was not written to it: that is a guess at an id.
    fn take_asked(&mut self, id: u64) -> Option<Pending> {
        if self.pending.get(&id)?.written { self.pending.remove(&id) } else { None }
    }

    /// The request goes out. If it had to wait for that, its clock begins now.
    fn give_place(&mut self, id: u64) {
        let State { pending, full_at, wake, .. } = self;
        let Some(call) = pending.get_mut(&id) else { return };
        call.written = true;
        if full_at.is_some_and(|at| at >= call.quiet_since) {
            call.quiet_since = Instant::now();
            // The clock did not look at it so far.
            *wake = Some(call.quiet_since);
        }
    }

    /// What else a message about silence should say.
    fn hint(&self) -> String {
        let mut hint = String::new();
        if let Some(error) = &self.stray_error {
            hint.push_str("; the server sent an error without an id: ");
            hint.push_str(error);
        }
        if let Some(noise) = &self.first_noise {
            hint.push_str("; the first line it wrote that is no JSON-RPC message: ");
            hint.push_str(noise);
        }
        hint
    }
}
