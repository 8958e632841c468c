//! The line mux: who gets which message.
//!
//! A call is written under an id of our own and answered from the raw bytes of its reply; nothing is decoded and
//! encoded again. Progress restarts its call's clock. What servers ask or announce goes to the SDK's service. Every
//! call ends exactly once: by its reply, a broken reply, a time-out, its deadline, a cancel (the future is dropped),
//! or the end of the transport.
#![forbid(unsafe_code)]

use std::collections::{BTreeMap, VecDeque};
use std::io::Write as _;
use std::ops::Range;
use std::pin::Pin;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use parking_lot::Mutex;
use rmcp::model::ServerJsonRpcMessage;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::config::Secrets;
use crate::context::Deadline;
use crate::json::{self, Envelope, Kind, Marks, Message, Raw};
use crate::log;
use crate::outcome::{Failure, Status};
use crate::wire::broken;

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
}

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
#[derive(Debug)]
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

#[cfg(test)]
impl From<String> for Reply {
    fn from(message: String) -> Self {
        Reply { body: 0..message.len(), message, is_error: false, marks: Marks::default() }
    }
}

/// What waits to be written.
#[derive(Debug)]
pub struct Out {
    id: Option<u64>,
    bytes: Vec<u8>,
    /// What the server started: an answer to it, as a rule.
    is_answer: bool,
}

/// So many messages of a server may wait for the service, or answers for the server, before reading it pauses.
const BEHIND: usize = 1000;
/// So many requests are kept that came while it was open whether they may be answered.
const HELD: usize = 100;

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
    /// The `_meta` members that every request of the modern era carries.
    modern_meta: Mutex<Arc<str>>,
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
            modern_meta: Mutex::new(modern_meta.into()),
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
        *self.modern_meta.lock() = members.into();
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
        let bytes = self.encode(id, &request);
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
                tool: request.tool,
                given_up: None,
            },
        );
        state.outbox.push_back(Out { id: Some(id), bytes, is_answer: false });
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

    fn encode(&self, id: u64, request: &Request<'_>) -> Vec<u8> {
        let modern = self.era() == Era::Modern || request.kind == RequestKind::Probe;
        let modern_meta = modern.then(|| self.modern_meta.lock().clone());
        let modern_meta = modern_meta.as_deref().unwrap_or_default();
        let mut out = Vec::with_capacity(
            128 + request.method.len() + request.members.len() + request.meta.len() + modern_meta.len(),
        );
        // Writing into a Vec cannot fail.
        let _ = write!(out, "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{}\"", request.method);
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
                    let _ = write!(out, "\"progressToken\":{id}");
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
        out
    }

    /// Queues a message that expects no reply: one JSON object on one line.
    pub fn send(&self, message: Vec<u8>) {
        let mut state = self.state.lock();
        if state.closed.is_none() {
            state.outbox.push_back(Out { id: None, bytes: message, is_answer: true });
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
            if out.is_answer {
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

    /// One message from the server: a line, or the data of one event.
    pub fn deliver(&self, mut bytes: Vec<u8>) {
        trim(&mut bytes);
        match bytes.first() {
            None => return,
            Some(b'{' | b'[') => {}
            Some(_) => return self.noise(&bytes),
        }
        // Text is checked once, here; what is no UTF-8 becomes U+FFFD.
        let text =
            String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        match json::envelope(text.as_bytes()) {
            Ok(Envelope::Message(message)) => self.message(text, message),
            Ok(Envelope::Batch(list)) => {
                // JSON-RPC batches: revision 2025-03-26 has them.
                let mut empty = true;
                for item in Raw::checked(text.get(list).unwrap_or("[]")).elements() {
                    empty = false;
                    self.deliver_item(item);
                }
                if empty {
                    self.noise(text.as_bytes());
                }
            }
            Ok(Envelope::Other) => self.noise(text.as_bytes()),
            Err(error) if broken::is_reply(text.as_bytes()) => {
                let why = format!("sent a reply that is not valid JSON: {} at byte {}", error.what, error.at);
                self.broken(text.as_bytes(), Status::Protocol, &why);
            }
            Err(_) => self.noise(text.as_bytes()),
        }
    }

    /// What came after the last line break, when nothing more will come. A whole message counts; one that was cut says
    /// nothing that the end of the server does not say better.
    pub fn deliver_rest(&self, bytes: Vec<u8>) {
        if json::check(&bytes).is_ok() {
            self.deliver(bytes);
        }
    }

    /// One message of a batch. A batch in a batch is noise.
    fn deliver_item(&self, item: Raw<'_>) {
        let text = item.text();
        match json::envelope(text.as_bytes()) {
            Ok(Envelope::Message(message)) => self.message(text.to_owned(), message),
            _ => self.noise(text.as_bytes()),
        }
    }

    /// A message that grew past the limit; `head` is how it began.
    pub fn over_limit(&self, head: &[u8]) {
        let start = head.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(0);
        let head = &head[start..];
        if head.starts_with(b"{") && !broken::head(head).has_method {
            let why = format!("sent a reply larger than the limit of {} bytes (option maxMessageBytes)", self.limit);
            self.broken(head, Status::Limit, &why);
        } else {
            self.noise(head);
        }
    }

    /// Looks for calls whose time is over. Returns when to look again; waits for that with [`Mux::clock_moved`].
    pub fn expire(&self) -> Option<Instant> {
        let now = Instant::now();
        let mut over = Vec::new();
        let mut state = self.state.lock();
        let frozen = state.frozen > 0;
        let mut next: Option<Instant> = None;
        for (id, call) in &state.pending {
            let idle_end = call.quiet_since + call.idle;
            let due = if frozen { call.deadline.at } else { call.deadline.at.min(idle_end) };
            if due <= now {
                over.push((*id, call.deadline.at <= now));
            } else if next.is_none_or(|next| due < next) {
                next = Some(due);
            }
        }
        state.wake = next;
        let hint = if over.is_empty() { String::new() } else { state.hint() };
        for (id, by_deadline) in over {
            let Some(call) = state.pending.remove(&id) else { continue };
            self.tell_cancelled(&mut state, id, &call, "time-out");
            call.give_up();
            let why = if by_deadline {
                format!("no result within the deadline of {} ms", call.deadline.total.as_millis())
            } else {
                format!("no answer for {} ms", call.idle.as_millis())
            };
            let failure = Failure::new(Status::Timeout, format!("{why}{hint}"));
            let _ = call.answer.send(Err(failure));
        }
        drop(state);
        next
    }

    /// Waits until an earlier time-out than the last one told was set, or the mux is closed.
    pub async fn clock_moved(&self) {
        self.clock.notified().await;
    }

    // -- clocks that stand still ------------------------------------------------------------------------------------

    /// Stops the idle clocks until the guard is dropped. Deadlines run on.
    pub fn freeze(self: &Arc<Self>) -> Frozen {
        let mut state = self.state.lock();
        state.frozen += 1;
        if state.frozen == 1 {
            state.frozen_since = Some(Instant::now());
        }
        Frozen(self.clone())
    }

    /// How long the idle clocks have stood still so far.
    pub fn frozen_total(&self) -> Duration {
        let state = self.state.lock();
        state.frozen_total + state.frozen_since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    fn thaw(&self) {
        let now = Instant::now();
        let mut state = self.state.lock();
        state.frozen -= 1;
        if state.frozen > 0 {
            return;
        }
        let Some(since) = state.frozen_since.take() else { return };
        state.frozen_total += now - since;
        for call in state.pending.values_mut() {
            call.quiet_since += now - call.quiet_since.max(since);
        }
        state.wake = Some(now);
        drop(state);
        self.clock.notify_one();
    }

    // -- who gets it ------------------------------------------------------------------------------------------------

    fn message(&self, whole: String, message: Message) {
        let text = |range: &Range<usize>| whole.get(range.clone()).unwrap_or("null");
        if let Some(method) = &message.method {
            let method = Raw::checked(text(method)).as_str();
            if method.as_deref() == Some("notifications/progress") {
                return self.progress(message.params.as_ref().map(|params| Raw::checked(text(params))));
            }
            if message.id.is_some() && self.holds(whole.as_bytes()) {
                return;
            }
            if message.id.is_some() && self.era() == Era::Modern {
                log::at!(
                    Warn,
                    "wire",
                    "{}: ignored the request {}: a server of 2026-07-28 may not send one",
                    self.server,
                    method.as_deref().unwrap_or("(unnamed)")
                );
                return;
            }
            let params = message.params.as_ref().map(|params| Raw::checked(text(params)));
            let name = method.as_deref().unwrap_or_default();
            let taken = match &message.id {
                Some(id) => self.inbound.request(Raw::checked(text(id)), name, params),
                None => self.inbound.notification(name, params),
            };
            if !taken {
                self.to_service(whole.as_bytes());
            }
            return;
        }
        let is_null = |range: &Range<usize>| text(range) == "null";
        // `error: null` beside a result is how some servers write a success.
        let error = message.error.clone().filter(|error| !(is_null(error) && message.result.is_some()));
        let result = message.result.clone().filter(|result| !(is_null(result) && error.is_some()));
        let id = message.id.as_ref().map(|id| Raw::checked(text(id)));
        let Some(number) = id.and_then(own_id) else {
            let nameless = id.is_none_or(|id| id.is_null());
            match error {
                // A line of a log may have an error too.
                Some(error)
                    if nameless
                        && !is_null(&error)
                        && (message.jsonrpc || Raw::checked(text(&error)).get("code").is_some()) =>
                {
                    self.stray_error(whole, error);
                }
                _ if nameless => self.noise(whole.as_bytes()),
                _ => log::at!(Debug, "wire", "{}: ignored a reply to a call that is not ours", self.server),
            }
            return;
        };
        let reply = match (result, error) {
            (Some(_), Some(_)) => Err(self.protocol("sent a reply with both a result and an error")),
            (None, None) => Err(self.protocol("sent a reply with neither a result nor an error")),
            (Some(body), None) => Ok(Reply { message: whole, body, is_error: false, marks: message.marks }),
            (None, Some(body)) => Ok(Reply { message: whole, body, is_error: true, marks: Marks::default() }),
        };
        self.answer(number, reply);
    }

    /// A modern server must not be answered, a legacy one must: before `initialize` is sent or the era is known, a request
    /// waits. The requests of a server that turns out to be modern are never looked at again.
    fn holds(&self, bytes: &[u8]) -> bool {
        let mut state = self.state.lock();
        let open = self.era() == Era::Unknown && !state.offered;
        if open && state.held.len() < HELD {
            state.held.push(bytes.to_vec());
        }
        open
    }

    fn answer(&self, id: u64, reply: Result<Reply, Failure>) {
        let call = self.state.lock().take_asked(id);
        match call {
            Some(call) => {
                let _ = call.answer.send(reply);
            }
            // Late, after a time-out or a cancel, or never asked.
            None => log::at!(Debug, "wire", "{}: ignored a reply to no open call (id {id})", self.server),
        }
    }

    fn progress(&self, params: Option<Raw<'_>>) {
        let Some(params) = params else { return };
        let Some(id) = params.get("progressToken").and_then(own_id) else { return };
        let listener = {
            let mut state = self.state.lock();
            let Some(call) = state.pending.get_mut(&id).filter(|call| call.written) else { return };
            call.quiet_since = Instant::now();
            call.progress.clone()
        };
        if let Some(listener) = listener {
            listener(params);
        }
    }

    fn to_service(&self, bytes: &[u8]) {
        match serde_json::from_slice::<ServerJsonRpcMessage>(bytes) {
            Ok(message) => {
                let mut state = self.state.lock();
                if let Some(service) = &state.service
                    && service.send(message).is_ok()
                {
                    state.unserved += 1;
                }
            }
            Err(error) => {
                log::at!(Debug, "wire", "{}: ignored a message that is malformed: {error}", self.server);
                self.refuse(bytes);
            }
        }
    }

    /// A request that makes no sense still waits for its response.
    fn refuse(&self, bytes: &[u8]) {
        let message = Raw::checked(std::str::from_utf8(bytes).unwrap_or("{}"));
        if let Some(id) = message.get("id").filter(|id| matches!(id.kind(), Kind::String | Kind::Number)) {
            let error = r#""error":{"code":-32602,"message":"the request is malformed"}"#;
            self.send(format!("{{\"jsonrpc\":\"2.0\",\"id\":{},{error}}}", id.text()).into_bytes());
        }
    }

    fn stray_error(&self, message: String, body: Range<usize>) {
        let mut state = self.state.lock();
        let probe = state.pending.iter().find(|(_, call)| call.kind == RequestKind::Probe).map(|(id, _)| *id);
        if let Some(call) = probe.and_then(|id| state.take_asked(id)) {
            let _ = call.answer.send(Ok(Reply { message, body, is_error: true, marks: Marks::default() }));
        } else {
            let said = message.get(body).unwrap_or("null");
            state.stray_error = Some(excerpt(said.as_bytes(), &self.secrets));
        }
    }

    fn broken(&self, bytes: &[u8], status: Status, why: &str) {
        let head = broken::head(bytes);
        let mut state = self.state.lock();
        let id = head.id.or_else(|| {
            let asked = |call: &&Pending| call.written && call.kind != RequestKind::Subscription;
            let mut asked = state.pending.iter().filter(|(_, call)| asked(call)).map(|(id, _)| *id);
            asked.next().filter(|_| asked.next().is_none())
        });
        let call = id.and_then(|id| state.take_asked(id));
        drop(state);
        log::at!(Warn, "wire", "{}: {why}", self.server);
        if let Some(call) = call {
            let _ = call.answer.send(Err(Failure::new(status, format!("the server {why}"))));
        }
    }

    fn noise(&self, bytes: &[u8]) {
        let line = excerpt(bytes, &self.secrets);
        log::at!(Debug, "wire", "{}: ignored a line that is no JSON-RPC message: {line}", self.server);
        let mut state = self.state.lock();
        if state.first_noise.is_none() {
            state.first_noise = Some(line);
        }
    }

    fn protocol(&self, why: &str) -> Failure {
        log::at!(Warn, "wire", "{}: {why}", self.server);
        Failure::new(Status::Protocol, format!("the server {why}"))
    }

    /// Takes a call back: unsent it just vanishes, else the server is told.
    fn tell_cancelled(&self, state: &mut State, id: u64, call: &Pending, reason: &str) {
        if !call.written {
            state.outbox.retain(|out| out.id != Some(id));
            return;
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
        state.outbox.push_back(Out { id: None, bytes: message.into_bytes(), is_answer: false });
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

/// Keeps the idle clocks of a session still.
#[derive(Debug)]
pub struct Frozen(Arc<Mux>);

impl Drop for Frozen {
    fn drop(&mut self) {
        self.0.thaw();
    }
}

/// A call under way. Dropping it before it has ended cancels it.
#[derive(Debug)]
pub struct Call {
    mux: Arc<Mux>,
    id: u64,
    reply: oneshot::Receiver<Result<Reply, Failure>>,
    ended: bool,
}

impl Call {
    pub fn id(&self) -> u64 {
        self.id
    }
}

impl Future for Call {
    type Output = Result<Reply, Failure>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match Pin::new(&mut self.reply).poll(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(ended) => {
                self.ended = true;
                Poll::Ready(ended.unwrap_or_else(|_| Err(Failure::new(Status::Closed, "the session was closed"))))
            }
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if !self.ended {
            self.mux.abandon(self.id);
        }
    }
}

/// One of our ids: 7, 7.0 or "7".
pub fn own_id(raw: Raw<'_>) -> Option<u64> {
    if let Some(id) = raw.as_u64() {
        return Some(id);
    }
    if let Some(text) = raw.as_str() {
        return text.parse().ok();
    }
    let float = raw.as_f64()?;
    // Whole numbers below 2^53 only: beyond that a float does not name one integer.
    ((0.0..9_007_199_254_740_992.0).contains(&float) && float.fract() == 0.0).then_some(float as u64)
}

/// Removes a byte order mark and blanks around the message, without moving it if there are none.
fn trim(bytes: &mut Vec<u8>) {
    while bytes.last().is_some_and(u8::is_ascii_whitespace) {
        bytes.pop();
    }
    let mark = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let blanks = bytes[mark..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    if mark + blanks > 0 {
        bytes.drain(..mark + blanks);
    }
}

/// A short quotation of what a server wrote.
fn excerpt(bytes: &[u8], secrets: &Secrets) -> String {
    const LONGEST: usize = 120;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(LONGEST * 4)]);
    let masked = secrets.mask(&text);
    let mut short: String = masked.chars().take(LONGEST).collect();
    if short.len() < masked.len() || bytes.len() > LONGEST * 4 {
        short.push('…');
    }
    format!("{short:?}")
}
