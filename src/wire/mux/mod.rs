//! The line mux: who gets which message. `incoming` has what a server sends, `call` a call's life and the clocks.
//!
//! A call is written under an id of our own and answered from the raw bytes of its reply; nothing is decoded and
//! encoded again. Progress restarts its call's clock. What servers ask or announce goes to the SDK's service. Every
//! call ends exactly once: by its reply, a broken reply, a time-out, its deadline, a cancel (the future is dropped),
//! or the end of the transport.
#![forbid(unsafe_code)]

mod call;
mod incoming;

pub use call::{Call, Frozen};
pub use incoming::{excerpt, own_id};

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
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
use crate::json::{Marks, Raw};
use crate::outcome::Failure;

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

/// A reply, as it came.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The whole message.
    message: String,
    body: Range<usize>,
    /// The body is the `error` member, else the `result`.
    pub is_error: bool,
    marks: Marks,
}

impl Reply {
    /// What stands inside this reply as a reply of its own.
    #[must_use]
    pub fn inner(self, find: impl FnOnce(Raw<'_>) -> Option<Raw<'_>>, is_error: bool) -> Option<Reply> {
        let found = find(self.raw())?;
        let place = |name: &str| found.get(name).and_then(|value| value.range_in(&self.message));
        let marks = Marks { is_error: place("isError"), result_type: place("resultType") };
        let body = found.range_in(&self.message)?;
        Some(Reply { message: self.message, body, is_error, marks })
    }

    pub fn text(&self) -> &str {
        // The range falls on the edges of a JSON value.
        self.message.get(self.body.clone()).unwrap_or("null")
    }

    pub fn raw(&self) -> Raw<'_> {
        Raw::checked(self.text())
    }

    /// The `isError` of the result.
    pub fn says_error(&self) -> Option<Raw<'_>> {
        self.mark(self.marks.is_error.as_ref())
    }

    /// The `resultType` of the result.
    pub fn result_type(&self) -> Option<Raw<'_>> {
        self.mark(self.marks.result_type.as_ref())
    }

    fn mark(&self, range: Option<&Range<usize>>) -> Option<Raw<'_>> {
        self.message.get(range?.clone()).map(Raw::checked)
    }

    /// For a reply that stays: in memory of just its size. What it was read into is larger, and serves the next one.
    pub fn kept(self) -> Arc<Reply> {
        Arc::new(Reply { message: self.message.as_str().to_owned(), ..self })
    }
}

/// A checked JSON text as the result of a reply, for tests and fuzzers.
impl From<String> for Reply {
    fn from(message: String) -> Self {
        Reply { body: 0..message.len(), message, is_error: false, marks: Marks::default() }
    }
}

/// What waits to be written.
#[derive(Debug)]
struct Out {
    id: Option<u64>,
    bytes: Vec<u8>,
    /// Where the method stands in a request.
    method: Range<usize>,
    tool: Option<Arc<str>>,
    headers: Headers,
    what: What,
}

impl Out {
    /// What is no request.
    fn new(id: Option<u64>, bytes: Vec<u8>, what: What) -> Out {
        Out { id, bytes, method: 0..0, tool: None, headers: Headers::new(), what }
    }

    fn post(self, request: Option<(u64, RequestKind)>) -> Turn {
        let Out { bytes, method, tool, headers, .. } = self;
        Turn::Post(Post { request, bytes, method, tool, headers })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Request(RequestKind),
    /// That a request is not wanted any more.
    Cancel,
    /// What the server started: an answer to it, as a rule.
    Answer,
    /// No message: the exchange of the request over HTTP is to be closed.
    Close,
}

/// What a transport that exchanges one message at a time has to do next.
#[derive(Debug)]
pub enum Turn {
    Post(Post),
    /// Nobody waits for the reply to this request any more.
    Close(u64),
}

/// One message for an exchange of its own.
#[derive(Debug)]
pub struct Post {
    /// The request that this is, and what it means.
    pub request: Option<(u64, RequestKind)>,
    pub bytes: Vec<u8>,
    /// Where the method of a request stands in it. An empty range: it has to be looked for.
    pub method: Range<usize>,
    /// The tool that is called.
    pub tool: Option<Arc<str>>,
    pub headers: Headers,
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
    fn encode(&self, id: u64, request: &Request<'_>) -> (Vec<u8>, Range<usize>) {
        let modern = self.era() == Era::Modern || request.kind == RequestKind::Probe;
        let modern_meta = modern.then(|| self.modern_meta.lock());
        let modern_meta: &str = modern_meta.as_ref().map_or("", |meta| meta);
        let mut out = Vec::with_capacity(
            128 + request.method.len() + request.members.len() + request.meta.len() + modern_meta.len(),
        );
        let mut digits = [0; 20];
        let digits = decimal(id, &mut digits);
        for part in [b"{\"jsonrpc\":\"2.0\",\"id\":", digits, b",\"method\":\"", request.method.as_bytes(), b"\""] {
            out.extend_from_slice(part);
        }
        let method = out.len() - 1 - request.method.len()..out.len() - 1;
        let has_meta = request.wants_progress || !(modern_meta.is_empty() && request.meta.is_empty());
        if has_meta || !request.members.is_empty() {
            out.extend_from_slice(b",\"params\":{");
            out.extend_from_slice(request.members.as_bytes());
            if has_meta {
                if !request.members.is_empty() {
                    out.push(b',');
                }
                out.extend_from_slice(b"\"_meta\":{");
                let mut first = !request.wants_progress;
                if request.wants_progress {
                    out.extend_from_slice(b"\"progressToken\":");
                    out.extend_from_slice(digits);
                }
                for part in [modern_meta, request.meta] {
                    if !part.is_empty() {
                        if !first {
                            out.push(b',');
                        }
                        first = false;
                        out.extend_from_slice(part.as_bytes());
                    }
                }
                out.push(b'}');
            }
            out.push(b'}');
        }
        out.push(b'}');
        (out, method)
    }

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

    // -- what the transport calls -----------------------------------------------------------------------------------

    /// Moves what is to be written into `buffer`, each message followed by a line break, until `buffer` holds about
    /// `enough` bytes. False: the mux is closed.
    pub fn take_lines(&self, buffer: &mut Vec<u8>, enough: usize) -> bool {
        let mut state = self.state.lock();
        while buffer.len() < enough {
            let Some(out) = state.outbox.pop_front() else { break };
            if let Some(pending) = out.id.and_then(|id| state.pending.get_mut(&id)) {
                pending.written = true;
            }
            if out.what == What::Answer {
                state.unwritten -= 1;
                self.room.notify_one();
            }
            if buffer.is_empty() {
                *buffer = out.bytes;
            } else {
                buffer.extend_from_slice(&out.bytes);
            }
            buffer.push(b'\n');
        }
        state.closed.is_none()
    }

    /// The next message, for a transport that gives each an exchange of its own. `may_ask`: also a request that may take
    /// long; without it these wait, and what the server needs to go on does not.
    pub fn take_turn(&self, may_ask: bool) -> Option<Turn> {
        let mut state = self.state.lock();
        let waits = |out: &Out| {
            !may_ask
                && matches!(out.what, What::Request(RequestKind::Normal | RequestKind::Probe | RequestKind::Initialize))
        };
        let at = state.outbox.iter().position(|out| !waits(out))?;
        let out = state.outbox.remove(at)?;
        match (out.what, out.id) {
            (What::Close, Some(id)) => Some(Turn::Close(id)),
            (What::Request(kind), Some(id)) => {
                if let Some(pending) = state.pending.get_mut(&id) {
                    pending.written = true;
                }
                Some(out.post(Some((id, kind))))
            }
            (what, _) => {
                if what == What::Answer {
                    state.unwritten -= 1;
                    self.room.notify_one();
                }
                Some(out.post(None))
            }
        }
    }

    /// From now on the transport is one that closes the exchange of a request that is not wanted any more.
    pub fn set_exchanges(&self) {
        self.exchanges.store(true, Ordering::Relaxed);
    }

    /// Has the transport look again, as if there were something to write.
    pub fn wake(&self) {
        self.to_write.notify_one();
    }

    /// True while the request waits for its reply.
    pub fn is_open(&self, id: u64) -> bool {
        self.state.lock().pending.contains_key(&id)
    }

    /// Ends a request with what the transport has to say of it. Nothing happens if it has ended.
    pub fn fail(&self, id: u64, failure: Failure) {
        let call = self.state.lock().pending.remove(&id);
        if let Some(call) = call {
            call.give_up();
            let _ = call.answer.send(Err(failure));
        }
    }

    /// Ends a request with an error that the transport makes of something that was no JSON-RPC message.
    pub fn answer_error(&self, id: u64, code: i64, message: &str) {
        let text = format!("{{\"code\":{code},\"message\":{}}}", crate::outcome::quoted(message));
        let call = self.state.lock().take_asked(id);
        if let Some(call) = call {
            let _ = call.answer.send(Ok(Reply { is_error: true, ..Reply::from(text) }));
        }
    }

    /// The service has taken a message.
    pub fn served(&self) {
        self.state.lock().unserved -= 1;
        self.room.notify_one();
    }

    /// Waits while the server has sent more than is worth reading: too many of its messages wait for the service, or too
    /// many answers for the server to read them.
    pub async fn room(&self) {
        while {
            let state = self.state.lock();
            state.closed.is_none() && (state.unserved > BEHIND || state.unwritten > BEHIND)
        } {
            self.room.notified().await;
        }
    }

    /// Waits until there is something to write, or the mux is closed.
    pub async fn wants_to_write(&self) {
        self.to_write.notified().await;
    }

    /// Takes a call back: unsent it just vanishes, else the server is told.
    fn tell_cancelled(&self, state: &mut State, id: u64, call: &Pending, reason: &str) {
        if !call.written {
            state.outbox.retain(|out| out.id != Some(id));
            return;
        }
        if self.exchanges.load(Ordering::Relaxed) && state.closed.is_none() {
            state.outbox.push_back(Out::new(Some(id), Vec::new(), What::Close));
            self.to_write.notify_one();
            // MCP 2026-07-28, cancellation: closing the exchange is all there is to do.
            if self.era() == Era::Modern {
                return;
            }
        }
        let cancellable = matches!(call.kind, RequestKind::Normal | RequestKind::Subscription);
        if !cancellable || state.closed.is_some() {
            return;
        }
        let meta = match self.era() {
            Era::Modern => format!(",\"_meta\":{{{}}}", self.modern_meta.lock()),
            _ => String::new(),
        };
        let message = format!(
            "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{{\"requestId\":{id},\
             \"reason\":\"{reason}\"{meta}}}}}"
        );
        let bytes = message.into_bytes();
        state.outbox.push_back(Out::new(None, bytes, What::Cancel));
        self.to_write.notify_one();
    }

    fn abandon(&self, id: u64) {
        let mut state = self.state.lock();
        if let Some(call) = state.pending.remove(&id) {
            self.tell_cancelled(&mut state, id, &call, "cancelled by the host");
            call.give_up();
        }
    }
}

/// The digits of `number`. Written for every request, where formatting costs more than all else that is written.
fn decimal(mut number: u64, digits: &mut [u8; 20]) -> &[u8] {
    let mut start = digits.len();
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        start -= 1;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    &digits[start..]
}

impl State {
    /// Takes out a call that the server ends. It cannot answer what was not written to it: that is a guess at an id.
    fn take_asked(&mut self, id: u64) -> Option<Pending> {
        if self.pending.get(&id)?.written { self.pending.remove(&id) } else { None }
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
