//! Where the library's own words go: a callback, or standard error for what is a warning or worse.
//!
//! Records are written by a thread of the log's own, in order, so that a slow callback delays nobody and the host is
//! never called from inside one of its own calls. The thread starts with the first record.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::runtime;

/// How loud a record is. The numbers are the C ABI's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Level {
    Error = 1,
    Warn = 2,
    Info = 3,
    Debug = 4,
    Trace = 5,
}

/// One record.
#[derive(Debug)]
pub struct Record {
    pub level: Level,
    pub target: &'static str,
    pub message: String,
}

/// Gets every record at or above the level it was set with. Its drop tells the host that no record comes any more.
pub trait Sink: Send + Sync {
    fn record(&self, record: &Record);
}

/// Records that nobody has taken yet; the oldest go first.
const KEPT: usize = 1024;

static LEVEL: AtomicU8 = AtomicU8::new(Level::Warn as u8);
static LOG: Log = Log { state: Mutex::new(State::new()), changed: Condvar::new() };

struct Log {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    items: VecDeque<Item>,
    lost: usize,
    sink: Option<Arc<dyn Sink>>,
    thread: Option<JoinHandle<()>>,
    stop: bool,
}

enum Item {
    Record(Record, Option<Arc<dyn Sink>>),
    /// A sink that is no longer in use: dropped after its last record, on the log's thread.
    Retired(#[expect(dead_code, reason = "held for its drop")] Arc<dyn Sink>),
}

impl State {
    const fn new() -> Self {
        State { items: VecDeque::new(), lost: 0, sink: None, thread: None, stop: false }
    }

    fn push(&mut self, item: Item) {
        self.items.push_back(item);
        if self.thread.is_none() {
            self.stop = false;
            self.thread = runtime::thread("toolnexus-log", drain).ok();
        }
        LOG.changed.notify_one();
    }
}

/// True if a record of this level would be kept. Cheap: ask before building a message.
#[inline]
pub fn enabled(level: Level) -> bool {
    level as u8 <= LEVEL.load(Ordering::Relaxed)
}

/// Sends all later records of `level` or louder (0: none) to `sink`, or to standard error.
pub fn set(level: u8, sink: Option<Arc<dyn Sink>>) {
    // Standard error belongs to the host: nothing below a warning goes there.
    let level = if sink.is_none() { level.min(Level::Warn as u8) } else { level };
    let mut state = LOG.state.lock();
    LEVEL.store(level, Ordering::Relaxed);
    if let Some(before) = std::mem::replace(&mut state.sink, sink) {
        state.push(Item::Retired(before));
    }
}

/// Drops `sink` as one that was in use and has been replaced: on the log's thread, behind the records before it.
pub fn retire(sink: Arc<dyn Sink>) {
    LOG.state.lock().push(Item::Retired(sink));
}

/// Writes one record.
pub fn write(level: Level, target: &'static str, message: String) {
    if !enabled(level) || runtime::is_forked() {
        return;
    }
    let mut state = LOG.state.lock();
    if state.items.len() >= KEPT
        && let Some(oldest) = state.items.iter().position(|item| matches!(item, Item::Record(..)))
    {
        state.items.remove(oldest);
        state.lost += 1;
    }
    let sink = state.sink.clone();
    state.push(Item::Record(Record { level, target, message }, sink));
}

/// Delivers what is there and ends the thread. The sink stays.
pub fn shutdown(timeout: Duration) {
    let thread = {
        let mut state = LOG.state.lock();
        state.stop = true;
        state.thread.take()
    };
    LOG.changed.notify_all();
    if let Some(thread) = thread {
        runtime::join(thread, timeout);
    }
}

fn drain() {
    runtime::enter_callbacks();
    loop {
        let (item, lost) = {
            let mut state = LOG.state.lock();
            loop {
                if let Some(item) = state.items.pop_front() {
                    break (item, std::mem::take(&mut state.lost));
                }
                if state.stop {
                    return;
                }
                LOG.changed.wait(&mut state);
            }
        };
        let Item::Record(record, sink) = item else { continue };
        if lost > 0 {
            let message = format!("{lost} earlier records were dropped");
            deliver(sink.as_ref(), &Record { level: Level::Warn, target: "log", message });
        }
        deliver(sink.as_ref(), &record);
    }
}

fn deliver(sink: Option<&Arc<dyn Sink>>, record: &Record) {
    match sink {
        Some(sink) => sink.record(record),
        None => {
            let mut line = String::with_capacity(record.message.len() + 32);
            let _ = writeln!(line, "toolnexus: {}: {}", record.target, record.message);
            // A host that closed its standard error loses the line, nothing else.
            let _ = std::io::stderr().write_all(line.as_bytes());
        }
    }
}

/// `warn!("target", "text {x}")` and its siblings: formats only if somebody listens.
#[macro_export]
#[doc(hidden)]
macro_rules! log_at {
    ($level:ident, $target:literal, $($text:tt)+) => {
        if $crate::log::enabled($crate::log::Level::$level) {
            $crate::log::write($crate::log::Level::$level, $target, format!($($text)+));
        }
    };
}
pub use crate::log_at as at;
