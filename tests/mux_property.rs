//! Whatever order replies, notifications, cancels, time-outs and the end come in, and however the bytes are split: each
//! call ends exactly once, with exactly its own outcome, and the server is told of exactly the calls that it has to drop.
//!
//! Every case is made by a seed, and played on the mux and on a model of it side by side. A failure names its seed.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;
use toolnexus::config::Secrets;
use toolnexus::context::Deadline;
use toolnexus::json::Raw;
use toolnexus::outcome::{Failure, Status};

use toolnexus::wire::mux::{Call, Era, Frozen, Inbound, Mux, Request, RequestKind};
use toolnexus::wire::stdio::Lines;

const CASES: u64 = 4_000;
const STEPS: usize = 80;
const MOST_CALLS: usize = 12;
const LIMIT: usize = 2_048;

/// The same numbers on every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

#[derive(Clone, Debug, PartialEq)]
enum End {
    Result(String),
    Error(String),
    Failed(Status),
    TimedOut { by_deadline: bool },
}

/// A call in the model, and the real one for as long as the host holds it.
struct Seen {
    real: Option<Pin<Box<Call>>>,
    kind: RequestKind,
    idle: Duration,
    quiet_since: Instant,
    deadline: Instant,
    written: bool,
    open: bool,
    /// None once it is open no more: the host let go of it.
    end: Option<End>,
    heard: Arc<AtomicUsize>,
    to_hear: usize,
}

/// What the model expects the mux to write.
#[derive(Debug, PartialEq)]
enum Out {
    Request(u64),
    Cancelled(u64),
}

/// What a message of the server does once it has arrived.
enum Effect {
    Nothing,
    Answer(u64, End),
    /// A broken reply that says of no call: it ends the only one that there is.
    Broken,
    StrayError(String),
    Progress(u64),
    ForService,
    /// As that, once it is known that the server may be answered.
    Request,
}

struct Game {
    random: Random,
    mux: Arc<Mux>,
    service: tokio::sync::mpsc::UnboundedReceiver<rmcp::model::ServerJsonRpcMessage>,
    for_service: usize,
    /// Requests of the server that wait for its era.
    waiting: usize,
    offered: bool,
    lines: Lines,
    calls: Vec<Seen>,
    outbox: VecDeque<Out>,
    frozen: Vec<Frozen>,
    frozen_since: Instant,
    closed: bool,
    /// What the server has written and nobody has read, and what each message does at which place.
    pipe: VecDeque<u8>,
    effects: VecDeque<(usize, Effect)>,
    sent: usize,
    read: usize,
    nonce: usize,
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

#[test]
fn every_call_ends_once_with_its_own_outcome() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    toolnexus::log::set(0, None);
    let mut met = Vec::new();
    for seed in 0..CASES {
        let seed = SaidOnPanic(seed);
        runtime.block_on(Game::new(seed.0).play(&mut met));
    }
    // The cases are worth nothing if they do not meet what they are for.
    let count = |wanted: fn(&Option<End>) -> bool| met.iter().filter(|end| wanted(end)).count();
    for (what, times) in [
        ("results", count(|end| matches!(end, Some(End::Result(_))))),
        ("errors", count(|end| matches!(end, Some(End::Error(_))))),
        ("cancels", count(Option::is_none)),
        ("silences", count(|end| *end == Some(End::TimedOut { by_deadline: false }))),
        ("deadlines", count(|end| *end == Some(End::TimedOut { by_deadline: true }))),
        ("broken replies", count(|end| *end == Some(End::Failed(Status::Protocol)))),
        ("large replies", count(|end| *end == Some(End::Failed(Status::Limit)))),
        ("closes", count(|end| *end == Some(End::Failed(Status::Closed)))),
    ] {
        assert!(times > 200, "only {times} {what}");
    }
}

struct SaidOnPanic(u64);

impl Drop for SaidOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the seed was {}", self.0);
        }
    }
}

impl Game {
    fn new(seed: u64) -> Self {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let (mux, service) =
            Mux::new("s", Arc::new(Secrets::default()), LIMIT, "\"v\":\"2026-07-28\"".to_owned(), |_| Box::new(Deaf));
        mux.set_era([Era::Legacy, Era::Modern, Era::Unknown][random.below(3)]);
        Game {
            random,
            mux,
            service,
            for_service: 0,
            waiting: 0,
            offered: false,
            lines: Lines::default(),
            calls: Vec::new(),
            outbox: VecDeque::new(),
            frozen: Vec::new(),
            frozen_since: Instant::now(),
            closed: false,
            pipe: VecDeque::new(),
            effects: VecDeque::new(),
            sent: 0,
            read: 0,
            nonce: 0,
        }
    }

    async fn play(mut self, met: &mut Vec<Option<End>>) {
        for _ in 0..STEPS {
            match self.random.below(100) {
                0..14 => self.ask(),
                14..32 => {
                    let enough = 1 + self.random.below(500);
                    self.write(enough);
                }
                32..60 => self.say(),
                60..80 => {
                    let count = self.random.below(self.pipe.len() + 1);
                    self.read(count);
                }
                80..87 => self.cancel(),
                87..95 => {
                    let pause = self.random.below(40) as u64;
                    self.pass(Duration::from_millis(pause)).await;
                }
                95..97 => self.freeze(),
                97..99 => self.thaw(),
                _ if self.random.below(4) == 0 => self.close(),
                _ => {}
            }
            self.compare();
        }
        self.read(self.pipe.len());
        self.lines.finish(&self.mux);
        self.compare();
        if self.random.below(2) == 0 {
            self.close();
        } else {
            self.pass(Duration::from_secs(1)).await;
            assert!(self.closed || self.mux.expire().is_none());
        }
        self.compare();
        self.write(usize::MAX);
        assert!(self.outbox.is_empty(), "not written: {:?}", self.outbox);
        assert!(self.calls.iter().all(|call| !call.open && call.real.is_none()), "a call has no end");
        met.extend(self.calls.into_iter().map(|call| call.end));
    }

    // -- the host ---------------------------------------------------------------------------------------------------

    fn ask(&mut self) {
        if self.calls.len() == MOST_CALLS {
            return;
        }
        let probing = self.calls.iter().any(|call| call.open && call.kind == RequestKind::Probe);
        let kind = match self.random.below(12) {
            0 if !probing => RequestKind::Probe,
            1 => RequestKind::Initialize,
            _ => RequestKind::Normal,
        };
        let heard = Arc::new(AtomicUsize::new(0));
        let listener = heard.clone();
        let idle = Duration::from_millis(20 + self.random.below(100) as u64);
        let deadline = Duration::from_millis(40 + self.random.below(200) as u64);
        let real = self.mux.request(Request {
            method: "tools/call",
            members: "\"name\":\"x\"",
            meta: "",
            progress: Some(Arc::new(move |_| {
                listener.fetch_add(1, Ordering::Relaxed);
            })),
            wants_progress: self.random.below(2) == 0,
            idle,
            deadline: Deadline::within(deadline),
            kind,
            tool: None,
            headers: Vec::new(),
        });
        let now = Instant::now();
        let id = self.calls.len() as u64 + 1;
        if kind == RequestKind::Initialize && !self.closed {
            self.offered = true;
            self.for_service += std::mem::take(&mut self.waiting);
        }
        if !self.closed {
            self.outbox.push_back(Out::Request(id));
        }
        self.calls.push(Seen {
            real: Some(Box::pin(real)),
            kind,
            idle,
            quiet_since: now,
            deadline: now + deadline,
            written: false,
            open: !self.closed,
            end: self.closed.then_some(End::Failed(Status::Closed)),
            heard,
            to_hear: 0,
        });
    }

    fn cancel(&mut self) {
        let held: Vec<usize> = (0..self.calls.len()).filter(|index| self.calls[*index].real.is_some()).collect();
        if held.is_empty() {
            return;
        }
        let index = held[self.random.below(held.len())];
        // It may have ended in this very step; then nobody is told.
        self.calls[index].real = None;
        if self.calls[index].open {
            self.take_back(index, None);
        }
    }

    /// The model of a call that the host or the clock ends.
    fn take_back(&mut self, index: usize, end: Option<End>) {
        let id = index as u64 + 1;
        let call = &mut self.calls[index];
        call.open = false;
        call.end = end;
        if !call.written {
            self.outbox.retain(|out| *out != Out::Request(id));
        } else if call.kind == RequestKind::Normal {
            self.outbox.push_back(Out::Cancelled(id));
        }
    }

    async fn pass(&mut self, pause: Duration) {
        tokio::time::advance(pause).await;
        let now = Instant::now();
        self.mux.expire();
        for index in 0..self.calls.len() {
            let call = &self.calls[index];
            let silent = self.frozen.is_empty() && call.quiet_since + call.idle <= now;
            let by_deadline = call.deadline <= now;
            if call.open && (silent || by_deadline) {
                self.take_back(index, Some(End::TimedOut { by_deadline }));
            }
        }
    }

    fn freeze(&mut self) {
        if self.frozen.is_empty() {
            self.frozen_since = Instant::now();
        }
        self.frozen.push(self.mux.freeze());
    }

    fn thaw(&mut self) {
        if self.frozen.pop().is_some() && self.frozen.is_empty() {
            // No call may have used up silence meanwhile.
            for call in &mut self.calls {
                call.quiet_since += Instant::now() - call.quiet_since.max(self.frozen_since);
            }
        }
    }

    fn close(&mut self) {
        self.mux.close(Failure::new(Status::Closed, "closed by the test"));
        self.closed = true;
        self.outbox.clear();
        for call in self.calls.iter_mut().filter(|call| call.open) {
            call.open = false;
            call.end = Some(End::Failed(Status::Closed));
        }
    }

    /// Takes about `enough` bytes off the outbox; they have to be the next ones that the model expects.
    fn write(&mut self, enough: usize) {
        let mut buffer = Vec::new();
        assert_eq!(self.mux.take_lines(&mut buffer, enough), !self.closed);
        for line in std::str::from_utf8(&buffer).unwrap().lines() {
            let message: Value = serde_json::from_str(line).unwrap();
            let out = match message["id"].as_u64() {
                Some(id) => Out::Request(id),
                None => Out::Cancelled(message["params"]["requestId"].as_u64().unwrap()),
            };
            // Calls that time out together are told of in any order.
            let alike = |other: &Out| matches!((&out, other), (Out::Cancelled(_), Out::Cancelled(_)));
            let run = self.outbox.iter().take_while(|other| alike(other)).count().max(1);
            let place = self.outbox.iter().take(run).position(|other| *other == out);
            let place = place.unwrap_or_else(|| panic!("wrote {out:?}, expected {:?}", self.outbox.front()));
            self.outbox.remove(place);
            if let Out::Request(id) = out {
                self.calls[id as usize - 1].written = true;
            }
        }
        assert!(buffer.len() >= enough || self.outbox.is_empty(), "nothing was written of {:?}", self.outbox);
    }

    // -- the server -------------------------------------------------------------------------------------------------

    /// The server writes one line.
    fn say(&mut self) {
        let line = if self.random.below(5) == 0 {
            let count = 1 + self.random.below(5);
            let messages: Vec<String> = (0..count).map(|_| self.message()).collect();
            format!("[{}]", messages.join(" ,"))
        } else if self.random.below(6) == 0 {
            self.odd_line()
        } else {
            self.message()
        };
        // A line past the limit counts as soon as it is past.
        let place_of_effect = self.sent + (line.len() + 1).min(LIMIT + 1);
        self.sent += line.len() + 1;
        for (place, _) in self.effects.iter_mut().filter(|(place, _)| *place == usize::MAX) {
            *place = place_of_effect;
        }
        self.pipe.extend(line.as_bytes());
        self.pipe.push_back(b'\n');
    }

    fn then(&mut self, effect: Effect) {
        self.effects.push_back((usize::MAX, effect));
    }

    /// An id of a call: open, ended, unwritten, or of none.
    fn some_id(&mut self) -> u64 {
        1 + self.random.below(self.calls.len() + 1) as u64
    }

    fn message(&mut self) -> String {
        let id = self.some_id();
        self.nonce += 1;
        let body = format!("{{\"nonce\": {}, \"text\":\"\\u00e9 é\"}}", self.nonce);
        let written = match self.random.below(4) {
            0 => format!("\"{id}\""),
            1 => format!("{id}.0"),
            _ => id.to_string(),
        };
        let (effect, text) = match self.random.below(12) {
            0..5 => (
                Effect::Answer(id, End::Result(body.clone())),
                format!(r#"{{"jsonrpc":"2.0","id":{written},"result":{body}}}"#),
            ),
            5 => (
                Effect::Answer(id, End::Error(body.clone())),
                format!(r#"{{ "error":{body}, "id":{written} ,"jsonrpc":"2.0"}}"#),
            ),
            6 => (
                Effect::Answer(id, End::Result(body.clone())),
                format!(r#"{{"id":{written},"error":null,"result":{body}}}"#),
            ),
            7 => (
                Effect::Answer(id, End::Failed(Status::Protocol)),
                match self.random.below(2) {
                    0 => format!(r#"{{"id":{written},"error":{{}},"result":{body}}}"#),
                    _ => format!(r#"{{"jsonrpc":"2.0","id":{written}}}"#),
                },
            ),
            8 => (
                Effect::Progress(id),
                format!(
                    r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{written},"progress":1}}}}"#
                ),
            ),
            9 => (Effect::ForService, r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#.to_owned()),
            10 => (
                // A request of the server's: its ids are not ours. The modern era has none.
                if self.mux.era() == Era::Modern { Effect::Nothing } else { Effect::Request },
                format!(r#"{{"jsonrpc":"2.0","id":{written},"method":"ping"}}"#),
            ),
            _ => (Effect::StrayError(body.clone()), format!(r#"{{"jsonrpc":"2.0","id":null,"error":{body}}}"#)),
        };
        self.then(effect);
        text
    }

    fn odd_line(&mut self) -> String {
        let id = self.some_id();
        let (effect, line) = match self.random.below(6) {
            0 => (Effect::Nothing, "Listening on port 3000".to_owned()),
            1 => (Effect::Nothing, " \t\r".to_owned()),
            2 => (
                Effect::Answer(id, End::Failed(Status::Protocol)),
                format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"x":}}}}"#),
            ),
            3 => (Effect::Broken, r#"{"jsonrpc":"2.0","result":{"x":}}"#.to_owned()),
            4 => (
                Effect::Answer(id, End::Failed(Status::Limit)),
                format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"{}"}}"#, "x".repeat(LIMIT)),
            ),
            _ => (Effect::Nothing, r#"{"jsonrpc":"2.0","id":"not-ours","result":{}}"#.to_owned()),
        };
        self.then(effect);
        line
    }

    /// The host reads `count` bytes of what the server wrote.
    fn read(&mut self, count: usize) {
        let bytes: Vec<u8> = self.pipe.drain(..count).collect();
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at(1 + self.random.below(rest.len()));
            self.lines.feed(piece, &self.mux);
            assert!(self.lines.held() <= LIMIT);
            rest = behind;
        }
        self.read += count;
        while let Some((place, _)) = self.effects.front()
            && *place <= self.read
        {
            let (_, effect) = self.effects.pop_front().unwrap();
            self.happen(effect);
        }
    }

    fn happen(&mut self, effect: Effect) {
        let open = |call: &&mut Seen| call.open && call.written;
        match effect {
            Effect::Nothing => {}
            Effect::Answer(id, end) => {
                if let Some(call) = self.calls.get_mut(id as usize - 1).filter(open) {
                    call.open = false;
                    call.end = Some(end);
                }
            }
            Effect::Broken => {
                let mut calls = self.calls.iter_mut().filter(open);
                if let (Some(call), None) = (calls.next(), calls.next()) {
                    call.open = false;
                    call.end = Some(End::Failed(Status::Protocol));
                }
            }
            Effect::StrayError(body) => {
                let probe = self.calls.iter_mut().filter(|call| call.kind == RequestKind::Probe).find(open);
                if let Some(call) = probe {
                    call.open = false;
                    call.end = Some(End::Error(body));
                }
            }
            Effect::Progress(id) => {
                if let Some(call) = self.calls.get_mut(id as usize - 1).filter(open) {
                    call.quiet_since = Instant::now();
                    call.to_hear += 1;
                }
            }
            Effect::ForService => self.for_service += usize::from(!self.closed),
            Effect::Request if self.mux.era() == Era::Unknown && !self.offered => self.waiting += 1,
            Effect::Request => self.for_service += usize::from(!self.closed),
        }
    }

    // -- what both say ----------------------------------------------------------------------------------------------

    fn compare(&mut self) {
        for (index, call) in self.calls.iter_mut().enumerate() {
            let id = index + 1;
            assert_eq!(call.heard.load(Ordering::Relaxed), call.to_hear, "progress of call {id}");
            let Some(real) = &mut call.real else { continue };
            let end = match real.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Pending => {
                    assert!(call.open, "call {id} is still open, expected {:?}", call.end);
                    continue;
                }
                Poll::Ready(Ok(reply)) if reply.is_error => End::Error(reply.text().to_owned()),
                Poll::Ready(Ok(reply)) => End::Result(reply.text().to_owned()),
                Poll::Ready(Err(failure)) if failure.status == Status::Timeout => {
                    End::TimedOut { by_deadline: failure.message.contains("deadline") }
                }
                Poll::Ready(Err(failure)) => End::Failed(failure.status),
            };
            assert_eq!(Some(&end), call.end.as_ref(), "the end of call {id}");
            call.real = None;
        }
        let mut served = 0;
        while self.service.try_recv().is_ok() {
            served += 1;
        }
        assert_eq!(served, std::mem::take(&mut self.for_service), "messages for the SDK");
    }
}
