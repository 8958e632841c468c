//! What waits to be written, and how a transport takes it: lines together, or one exchange each.
#![forbid(unsafe_code)]

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::time::Instant;

use super::{BEHIND, Era, Headers, Mux, Pending, Reply, Request, RequestKind, State};
use crate::outcome::Failure;

/// What waits to be written.
#[derive(Debug)]
pub(super) struct Out {
    pub(super) id: Option<u64>,
    pub(super) bytes: Vec<u8>,
    /// Where the method stands in a request.
    pub(super) method: Range<usize>,
    pub(super) tool: Option<Arc<str>>,
    pub(super) headers: Headers,
    pub(super) what: What,
}

impl Out {
    /// What is no request.
    pub(super) fn new(id: Option<u64>, bytes: Vec<u8>, what: What) -> Out {
        Out { id, bytes, method: 0..0, tool: None, headers: Headers::new(), what }
    }

    fn post(self, request: Option<(u64, RequestKind)>) -> Turn {
        let Out { bytes, method, tool, headers, .. } = self;
        Turn::Post(Post { request, bytes, method, tool, headers })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
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

/// What such a transport has room for.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// A request that may take long. Without it these wait, and what the server needs to go on does not.
    pub ask: bool,
    /// A message that is no request.
    pub tell: bool,
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

impl Post {
    /// It does no harm if the server gets it twice: only what a host asks for may do something.
    pub fn is_harmless(&self) -> bool {
        !matches!(self.request, Some((_, RequestKind::Normal)))
    }
}

impl Mux {
    pub(super) fn encode(&self, id: u64, request: &Request<'_>) -> (Vec<u8>, Range<usize>) {
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

    /// The next message that there is room for, for a transport that gives each an exchange of its own.
    pub fn take_turn(&self, room: Room) -> Option<Turn> {
        let mut state = self.state.lock();
        state.full = !room.ask;
        if state.full {
            state.full_at = Some(Instant::now());
        }
        let waits = |out: &Out| match out.what {
            What::Request(RequestKind::Normal | RequestKind::Probe | RequestKind::Initialize) => !room.ask,
            What::Answer | What::Cancel => !room.tell,
            What::Request(RequestKind::Subscription | RequestKind::Poll) | What::Close => false,
        };
        let at = state.outbox.iter().position(|out| !waits(out))?;
        let out = state.outbox.remove(at)?;
        match (out.what, out.id) {
            (What::Close, Some(id)) => Some(Turn::Close(id)),
            (What::Request(kind), Some(id)) => {
                state.give_place(id);
                if state.wake.is_some_and(|wake| wake <= Instant::now()) {
                    self.clock.notify_one();
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
    pub(super) fn tell_cancelled(&self, state: &mut State, id: u64, call: &Pending, reason: &str) {
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

    pub(super) fn abandon(&self, id: u64) {
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
