//! Bytes from a server, in any pieces, while calls are under way.
//!
//! The input is a script. Its first byte sets the limit and the era; then all bytes are what the server writes, but for
//! 0xff, which UTF-8 does not have: it and the byte behind it are a step of the host or of the clock (see `step`).
//!
//! Each script is played twice: in its own pieces, and byte by byte. What becomes of the calls must not differ.
#![no_main]

use std::cell::RefCell;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use serde::de::IgnoredAny;
use serde_json::Value;
use tokio::runtime::Runtime;
use toolnexus::config::Secrets;
use toolnexus::context::Deadline;
use toolnexus::json::Raw;
use toolnexus::outcome::{Failure, Status};
use toolnexus::wire::mux::{Call, Era, Frozen, Inbound, Mux, Reply, Request, RequestKind};
use toolnexus::wire::stdio::Lines;

const MOST_CALLS: usize = 16;
const IDLE: Duration = Duration::from_millis(100);
const DEADLINE: Duration = Duration::from_millis(350);

thread_local! {
    static RUNTIME: RefCell<Option<Runtime>> = const { RefCell::new(None) };
}

/// Leaves everything that the server sends by itself to the SDK's service.
struct Deaf;

impl Inbound for Deaf {
    fn request(&self, _: Raw<'_>, _: &str, _: Option<Raw<'_>>) -> bool {
        false
    }
    fn notification(&self, _: &str, _: Option<Raw<'_>>) -> bool {
        false
    }
}

fuzz_target!(|script: &[u8]| {
    RUNTIME.with_borrow_mut(|runtime| {
        let runtime = runtime.get_or_insert_with(|| {
            toolnexus::log::set(0, None);
            let mut builder = tokio::runtime::Builder::new_current_thread();
            builder.enable_time().start_paused(true).build().expect("a runtime")
        });
        runtime.block_on(async {
            let whole = Game::play(script, false).await;
            let bytewise = Game::play(script, true).await;
            assert_eq!(whole, bytewise, "the pieces in which bytes arrive changed what became of the calls");
        });
    });
});

/// How a call ended.
#[derive(Debug, PartialEq)]
enum End {
    Reply {
        body: String,
        is_error: bool,
    },
    Failed(Status, String),
    /// The host let go of it.
    Dropped,
}

/// A call as the host sees it.
struct Seen {
    id: u64,
    kind: RequestKind,
    call: Option<Pin<Box<Call>>>,
    end: Option<End>,
    written: bool,
    /// How often the server was told that it is cancelled.
    told: usize,
    /// Whether that was due: it was written, and then dropped or timed out, while the mux was open.
    due: bool,
}

struct Game {
    mux: Arc<Mux>,
    service: tokio::sync::mpsc::UnboundedReceiver<rmcp::model::ServerJsonRpcMessage>,
    lines: Lines,
    calls: Vec<Seen>,
    frozen: Option<Frozen>,
    /// What the server has written so far.
    sent: Vec<u8>,
    closed: bool,
}

impl Game {
    async fn play(script: &[u8], bytewise: bool) -> Vec<Option<End>> {
        let (&first, script) = script.split_first().unwrap_or((&0, &[]));
        let limit = 256 + usize::from(first >> 2) * 16;
        let (mux, service) =
            Mux::new("fuzzed", Arc::new(Secrets::default()), limit, "\"version\":\"2026-07-28\"".to_owned(), |_| {
                Box::new(Deaf)
            });
        mux.set_era([Era::Unknown, Era::Legacy, Era::Modern, Era::Legacy][usize::from(first & 3)]);
        let mut game = Game {
            mux,
            service,
            lines: Lines::default(),
            calls: Vec::new(),
            frozen: None,
            sent: Vec::new(),
            closed: false,
        };
        let mut rest = script;
        while !rest.is_empty() {
            let piece = rest.iter().position(|byte| *byte == 0xff).unwrap_or(rest.len());
            game.feed(&rest[..piece], bytewise);
            rest = &rest[piece..];
            if let [_, step, behind @ ..] = rest {
                game.step(*step).await;
                rest = behind;
            } else {
                rest = &[];
            }
        }
        game.end(first & 4 == 0).await
    }

    async fn step(&mut self, step: u8) {
        match step {
            b'n' => self.ask(RequestKind::Normal),
            b'p' => self.ask(RequestKind::Probe),
            b'i' => self.ask(RequestKind::Initialize),
            b'w' => self.write(),
            b'0'..=b'9' => self.cancel(usize::from(step - b'0')),
            b't' => self.pass(Duration::from_millis(40)).await,
            b'T' => self.pass(Duration::from_millis(120)).await,
            b'f' => self.frozen = Some(self.mux.freeze()),
            b'g' => self.frozen = None,
            b'c' => self.close(),
            // Only the end of a piece.
            _ => {}
        }
    }

    fn feed(&mut self, bytes: &[u8], bytewise: bool) {
        self.sent.extend_from_slice(bytes);
        for piece in bytes.chunks(if bytewise { 1 } else { bytes.len().max(1) }) {
            self.lines.feed(piece, &self.mux);
            assert!(self.lines.held() <= self.mux.limit, "more is held than the limit");
            self.look();
        }
    }

    fn ask(&mut self, kind: RequestKind) {
        if self.calls.len() == MOST_CALLS {
            return;
        }
        let id = self.calls.len() as u64 + 1;
        let call = self.mux.request(Request {
            method: "tools/call",
            members: "\"name\":\"x\"",
            meta: "",
            progress: Some(Arc::new(|params| assert_json(params.text()))),
            wants_progress: id % 2 == 0,
            idle: IDLE,
            deadline: Deadline::within(DEADLINE),
            kind,
            tool: None,
            headers: Vec::new(),
        });
        self.calls.push(Seen { id, kind, call: Some(Box::pin(call)), end: None, written: false, told: 0, due: false });
        self.look();
    }

    fn cancel(&mut self, index: usize) {
        let Some(seen) = self.calls.get_mut(index) else { return };
        if seen.call.take().is_some() {
            seen.end = Some(End::Dropped);
            seen.due = seen.written && seen.kind == RequestKind::Normal && !self.closed;
        }
    }

    async fn pass(&mut self, time: Duration) {
        tokio::time::advance(time).await;
        let next = self.mux.expire();
        assert!(next.is_none_or(|next| next > tokio::time::Instant::now()), "the clock stands still");
        self.look();
    }

    fn close(&mut self) {
        self.mux.close(Failure::new(Status::Closed, "closed by the script"));
        self.closed = true;
        self.look();
        assert!(self.calls.iter().all(|seen| seen.end.is_some()), "a call outlived the close");
    }

    /// Looks which calls have ended.
    fn look(&mut self) {
        let mut context = Context::from_waker(Waker::noop());
        for index in 0..self.calls.len() {
            let seen = &mut self.calls[index];
            let Some(call) = &mut seen.call else { continue };
            let Poll::Ready(ended) = call.as_mut().poll(&mut context) else { continue };
            seen.call = None;
            let end = match ended {
                Ok(reply) => {
                    let (id, kind) = (seen.id, seen.kind);
                    self.check_reply(id, kind, &reply);
                    End::Reply { body: reply.text().to_owned(), is_error: reply.is_error }
                }
                Err(failure) => {
                    assert!(!failure.message.is_empty());
                    assert_eq!(failure.status == Status::Closed, self.closed, "{failure}");
                    seen.due = failure.status == Status::Timeout && seen.written && seen.kind == RequestKind::Normal;
                    End::Failed(failure.status, failure.message)
                }
            };
            let seen = &mut self.calls[index];
            assert!(seen.end.is_none(), "a call ended twice");
            seen.end = Some(end);
        }
        while self.service.try_recv().is_ok() {}
    }

    /// A reply is what a line of the server says about this very call.
    fn check_reply(&self, id: u64, kind: RequestKind, reply: &Reply) {
        assert_json(reply.text());
        let member = if reply.is_error { "error" } else { "result" };
        let answers = |message: &Value| {
            let its_id = message.get("id").unwrap_or(&Value::Null);
            let own = match its_id {
                Value::String(text) => text.parse() == Ok(id),
                Value::Number(number) => number.as_f64() == Some(id as f64),
                Value::Null => reply.is_error && kind == RequestKind::Probe,
                _ => false,
            };
            let body = serde_json::from_str::<Value>(reply.text());
            own && message.get("method").is_none() && body.is_ok_and(|body| message.get(member) == Some(&body))
        };
        let text = String::from_utf8_lossy(&self.sent);
        assert!(text.contains(reply.text()), "a reply that was not sent: {}", reply.text());
        let found = text.split('\n').any(|line| {
            let line = line.trim_start_matches('\u{feff}');
            match serde_json::from_str::<Value>(line) {
                Ok(Value::Array(batch)) => batch.iter().any(answers),
                Ok(message) => answers(&message),
                // serde_json's trees hold neither lone surrogates, nor 1e999, nor 128 levels; trims differ as well.
                Err(_) => line.contains(reply.text()),
            }
        });
        assert!(found, "no line answers call {id} with {}", reply.text());
    }

    /// Takes what is to be written, as the transport does.
    fn write(&mut self) {
        let mut buffer = Vec::new();
        let open = self.mux.take_lines(&mut buffer, 64 * 1024);
        assert_eq!(open, !self.closed);
        let text = std::str::from_utf8(&buffer).expect("what is written is UTF-8");
        assert!(text.is_empty() || text.ends_with('\n'));
        for line in text.lines() {
            let message: Value = serde_json::from_str(line).expect("what is written is JSON");
            if message.get("method").is_none() {
                // A request of the server's that makes no sense is refused; nothing else is answered here.
                assert!(message.get("error").is_some(), "an answer that nobody gave: {line}");
                continue;
            }
            if let Some(id) = message["id"].as_u64() {
                let seen = &mut self.calls[id as usize - 1];
                assert!(!seen.written && seen.end.is_none(), "call {id} was written twice, or after its end");
                seen.written = true;
            } else {
                assert_eq!(message["method"], "notifications/cancelled");
                let id = message["params"]["requestId"].as_u64().expect("a cancel says of what");
                self.calls[id as usize - 1].told += 1;
            }
        }
    }

    async fn end(mut self, by_close: bool) -> Vec<Option<End>> {
        self.lines.finish(&self.mux);
        self.look();
        if by_close {
            self.write();
            self.close();
        } else {
            self.frozen = None;
            self.pass(DEADLINE).await;
            assert_eq!(self.mux.expire(), None, "a call outlived its deadline");
        }
        self.ask(RequestKind::Normal);
        if self.closed {
            assert!(self.calls.len() == MOST_CALLS || self.calls.last().is_some_and(|seen| seen.end.is_some()));
        } else {
            self.write();
            self.close();
        }
        self.write();
        for seen in &self.calls {
            // A cancel that waited in the outbox when the mux was closed is not told any more.
            assert!(seen.told <= usize::from(seen.due), "the server was told that call {} is cancelled", seen.id);
        }
        self.calls.into_iter().map(|seen| seen.end).collect()
    }
}

fn assert_json(text: &str) {
    assert!(serde_json::from_str::<IgnoredAny>(text).is_ok(), "not JSON: {text}");
    assert!(toolnexus::json::check(text.as_bytes()).is_ok(), "not JSON: {text}");
}
