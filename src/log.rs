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
use std::time::Instant;

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

/// Records that nobody has taken yet, and the bytes of their messages; the oldest go first.
const KEPT: usize = 1024;
const KEPT_BYTES: usize = 4 * 1024 * 1024;

static LEVEL: AtomicU8 = AtomicU8::new(Level::Warn as u8);
static LOG: Log = Log { state: Mutex::new(State::new()), changed: Condvar::new() };

struct Log {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    items: VecDeque<Item>,
    records: usize,
    bytes: usize,
    lost: usize,
    sink: Option<Arc<dyn Sink>>,
    thread: Option<JoinHandle<()>>,
    /// The thread may call a sink. Until it has said that it does so no more, there is no other one.
    running: bool,
    /// The thread has been told to end when it has delivered what is there, and has not done so yet.
    ending: bool,
}

enum Item {
    Record(Record, Option<Arc<dyn Sink>>),
    /// A sink that is no longer in use: dropped after its last record, on the log's thread.
    Retired(#[expect(dead_code, reason = "held for its drop")] Arc<dyn Sink>),
}

impl State {
    const fn new() -> Self {
        State {
            items: VecDeque::new(),
            records: 0,
            bytes: 0,
            lost: 0,
            sink: None,
            thread: None,
            running: false,
            ending: false,
        }
    }

    fn push(&mut self, item: Item) {
        self.items.push_back(item);
        if !self.running {
            self.thread = runtime::thread("toolnexus-log", drain).ok();
            self.running = self.thread.is_some();
        }
        LOG.changed.notify_all();
    }

    /// Adds a record, in place of the oldest ones where there are too many.
    fn push_record(&mut self, record: Record) {
        self.records += 1;
        self.bytes += record.message.len();
        while (self.records > KEPT || self.bytes > KEPT_BYTES)
            && let Some(oldest) = self.items.iter().position(|item| matches!(item, Item::Record(..)))
        {
            let oldest = self.items.remove(oldest);
            self.count_out(oldest.as_ref());
            self.lost += 1;
        }
        let sink = self.sink.clone();
        self.push(Item::Record(record, sink));
    }

    fn pop(&mut self) -> Option<Item> {
        let item = self.items.pop_front();
        self.count_out(item.as_ref());
        item
    }

    fn count_out(&mut self, item: Option<&Item>) {
        if let Some(Item::Record(record, _)) = item {
            self.records -= 1;
            self.bytes -= record.message.len();
        }
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

/// Keeps every later record to itself: the process is exiting, and what ends with it is no news. Takes no lock.
pub fn mute() {
    LEVEL.store(0, Ordering::Relaxed);
}

/// Writes one record.
pub fn write(level: Level, target: &'static str, message: String) {
    if !enabled(level) || runtime::is_forked() {
        return;
    }
    LOG.state.lock().push_record(Record { level, target, message });
}

/// Delivers what is there and ends the thread. The sink stays. False: a sink was still at work at `until`; the thread goes on
/// ending, and the next shutdown waits for it again.
pub fn shutdown(until: Instant) -> bool {
    let mut state = LOG.state.lock();
    let Some(thread) = state.thread.take() else { return true };
    state.ending = state.running;
    LOG.changed.notify_all();
    // Not while one is running: a record that comes after the end starts the next one.
    while state.ending {
        if LOG.changed.wait_until(&mut state, until).timed_out() && state.ending {
            state.thread = Some(thread);
            return false;
        }
    }
    drop(state);
    // It is past its last call of a sink.
    thread.join().is_ok()
}

fn drain() {
    runtime::enter_callbacks();
    loop {
        let (item, lost) = {
            let mut state = LOG.state.lock();
            loop {
                if let Some(item) = state.pop() {
                    break (item, std::mem::take(&mut state.lost));
                }
                if state.ending {
                    state.ending = false;
                    state.running = false;
                    LOG.changed.notify_all();
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A log of its own, with a thread that never takes anything.
    fn unread() -> State {
        State { running: true, ..State::new() }
    }

    fn push(state: &mut State, bytes: usize) {
        state.push_record(Record { level: Level::Info, target: "test", message: "x".repeat(bytes) });
    }

    #[test]
    fn unread_records_are_bounded_in_number_and_in_size() {
        let mut many = unread();
        for _ in 0..KEPT + 7 {
            push(&mut many, 1);
        }
        assert_eq!((many.items.len(), many.bytes, many.lost), (KEPT, KEPT, 7));

        let mut large = unread();
        for _ in 0..10 {
            push(&mut large, KEPT_BYTES / 4);
        }
        assert_eq!((large.items.len(), large.bytes, large.lost), (4, KEPT_BYTES, 6));
        // What is too large by itself is kept by itself.
        push(&mut large, KEPT_BYTES * 2);
        assert_eq!((large.items.len(), large.bytes, large.lost), (1, KEPT_BYTES * 2, 10));
        push(&mut large, 5);
        assert_eq!((large.items.len(), large.bytes, large.lost), (1, 5, 11));
        large.pop();
        assert_eq!((large.records, large.bytes), (0, 0));
    }
}
