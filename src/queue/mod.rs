//! Where completions and events arrive: read by the host's own loop, or handed to a callback on a thread of the queue's.
//!
//! Every submitted call holds a [`Ticket`] and completes exactly once, whatever becomes of it. Nothing but notices is ever
//! dropped, and of those the host is told how many.
#![forbid(unsafe_code)]

mod calls;
mod state;

pub use calls::{Stop, Ticket, Track};
pub use state::Most;

use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::outcome::{Failure, Outcome, Status};
use crate::runtime;
use state::{NOTICE_BYTES, NOTICES, Notice, State};

/// What kind an event is of. The numbers are the C ABI's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Kind {
    Done = 1,
    Request = 2,
    Call = 3,
    Notice = 4,
    Cancel = 5,
}

/// One event, as the host takes it.
#[derive(Debug)]
pub struct Event {
    pub kind: Kind,
    pub id: u64,
    pub outcome: Outcome,
}

/// Tells a waiting host that the queue is no longer empty.
pub trait Wake: Send + Sync {
    fn wake(&self);
}

/// What a callback queue calls for each event.
pub trait Callback: Send {
    fn event(&mut self, event: Event);
}

/// A queue.
pub struct Queue {
    state: Mutex<State>,
    changed: Condvar,
    closed: CancellationToken,
    /// It is read by a thread of its own.
    has_callback: bool,
}

/// Every queue, and the threads of callback queues, for the shutdown.
static LIVE: Mutex<Live> = Mutex::new(Live { queues: Vec::new(), threads: Vec::new() });

struct Live {
    queues: Vec<Weak<Queue>>,
    threads: Vec<JoinHandle<()>>,
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Queue")
    }
}

/// What is left to do when a queue was closed: the calls to stop, and whom to tell that nothing comes any more.
type Closing = (Vec<Stop>, Option<Arc<dyn Wake>>);

/// What a taker got.
#[derive(Debug)]
pub enum Taken {
    Events(Vec<Event>),
    /// Nothing will come any more.
    Closed,
}

impl Queue {
    pub fn new() -> Arc<Queue> {
        Queue::make(false)
    }

    fn make(has_callback: bool) -> Arc<Queue> {
        let queue = Arc::new(Queue {
            state: Mutex::new(State::default()),
            changed: Condvar::new(),
            closed: CancellationToken::new(),
            has_callback,
        });
        let queues = &mut LIVE.lock().queues;
        // Only when the list would grow: many queues at once are not looked through for each new one.
        if queues.len() == queues.capacity() {
            queues.retain(|queue| queue.strong_count() > 0);
        }
        queues.push(Arc::downgrade(&queue));
        queue
    }

    /// A queue that is read by a thread of its own, which calls `callback` for one event after the other and drops it when
    /// nothing comes any more. Gives the callback back if no thread can be started.
    pub fn with_callback<C: Callback + 'static>(callback: C) -> Result<Arc<Queue>, C> {
        let queue = Queue::make(true);
        let reader = queue.clone();
        let (hand_over, handed) = std::sync::mpsc::channel::<C>();
        let started = runtime::thread("toolnexus-queue", move || {
            runtime::enter_callbacks();
            let Ok(mut callback) = handed.recv() else { return };
            while let Taken::Events(events) = reader.wait(Most::events(1), None) {
                for event in events {
                    callback.event(event);
                }
            }
        });
        match started {
            Ok(thread) => {
                let threads = &mut LIVE.lock().threads;
                threads.retain(|thread| !thread.is_finished());
                threads.push(thread);
            }
            Err(_) => return Err(callback),
        }
        hand_over.send(callback).map_err(|unsent| unsent.0)?;
        Ok(queue)
    }

    /// True if a callback gets what comes: nobody else may take it.
    pub fn has_callback(&self) -> bool {
        self.has_callback
    }

    // -- what comes in ----------------------------------------------------------------------------------------------

    /// Registers a call that will complete here under `id`. `failed` makes the outcome where it does not come to its end.
    pub fn begin(self: &Arc<Self>, id: u64, failed: fn(Failure) -> Outcome) -> Result<Ticket, Failure> {
        let mut state = self.state.lock();
        if state.closed {
            return Err(Failure::new(Status::Closed, "the queue is closed"));
        }
        let (place, call) = state.open.add();
        drop(state);
        Ok(Ticket { queue: self.clone(), place, call, id, failed, open: true })
    }

    /// Puts a question to the host: a request, or a call of a host tool. Gives the event's number; None: the queue is closed.
    pub fn push(self: &Arc<Self>, kind: Kind, id: u64, outcome: Outcome) -> Option<u64> {
        let state = self.state.lock();
        if state.closed {
            return None;
        }
        Some(self.put(state, Event { kind, id, outcome }))
    }

    /// Takes the question `id`, whose event has this number, back: out of the queue if nobody has read it, so that what is
    /// asked and taken back for ever fills no queue, and else with a cancel. A closed queue stays as it is.
    pub fn take_back(self: &Arc<Self>, number: u64, id: u64) {
        let mut state = self.state.lock();
        if state.closed {
            return;
        }
        match state.events.binary_search_by_key(&number, |(number, _)| *number) {
            Ok(unread) => {
                let event = state.events.remove(unread);
                drop(state);
                drop(event);
            }
            Err(_) => {
                let outcome = Outcome::document(format!("{{\"id\":{id}}}"));
                self.put(state, Event { kind: Kind::Cancel, id, outcome });
            }
        }
    }

    /// Puts a notice, whose document has these members. It may be dropped if nobody reads.
    pub fn notice(self: &Arc<Self>, id: u64, members: String) {
        let mut state = self.state.lock();
        if state.closed {
            return;
        }
        let was_empty = state.is_empty();
        let mut lost = 0;
        state.notice_bytes += members.len();
        while (state.notices.len() >= NOTICES || state.notice_bytes > NOTICE_BYTES)
            && let Some(oldest) = state.pop_notice()
        {
            match state.notices.front_mut() {
                Some((_, next)) => next.lost += oldest.lost + 1,
                None => lost = oldest.lost + 1,
            }
        }
        let number = state.number();
        state.notices.push_back((number, Notice { id, members, lost }));
        self.announce(state, was_empty);
    }

    fn put(self: &Arc<Self>, mut state: MutexGuard<'_, State>, event: Event) -> u64 {
        let number = state.number();
        if state.discarded {
            drop(state);
            // Outside the lock: what the event holds may be the last of a source.
            drop(event);
            return number;
        }
        let was_empty = state.is_empty();
        state.events.push_back((number, event));
        self.announce(state, was_empty);
        number
    }

    /// Says that something came, if the queue was empty. On the I/O thread that is put off until the tasks that are ready
    /// now have run: what they complete is told together, at the price of one wake-up.
    fn announce(self: &Arc<Self>, mut state: MutexGuard<'_, State>, was_empty: bool) {
        if !was_empty || state.announcing || (state.waiting == 0 && state.wake.is_none()) {
            return;
        }
        state.announcing = true;
        drop(state);
        let announce = Announce(self.clone());
        if runtime::on_io_thread()
            && let Ok(runtime) = Handle::try_current()
        {
            // A runtime that is shut down drops it at once, which does the same.
            runtime.spawn(async move { drop(announce) });
        }
    }

    fn complete(self: &Arc<Self>, ticket: &Ticket, outcome: Outcome) {
        let mut state = self.state.lock();
        state.open.remove(ticket.place, ticket.call);
        self.put(state, Event { kind: Kind::Done, id: ticket.id, outcome });
    }

    // -- what goes out ----------------------------------------------------------------------------------------------

    /// Takes up to `most`, waiting up to `timeout` (None: for ever) for the first. No events: the time is over.
    pub fn wait(&self, most: Most, timeout: Option<Duration>) -> Taken {
        let until = timeout.map(|timeout| Instant::now() + timeout);
        let mut state = self.state.lock();
        loop {
            if !state.is_empty() {
                return self.take(state, most);
            }
            if state.is_over() {
                return Taken::Closed;
            }
            if timeout == Some(Duration::ZERO) {
                return Taken::Events(Vec::new());
            }
            state.waiting += 1;
            let timed_out = match until {
                None => {
                    self.changed.wait(&mut state);
                    false
                }
                Some(until) => self.changed.wait_until(&mut state, until).timed_out(),
            };
            state.waiting -= 1;
            if timed_out && state.is_empty() {
                return Taken::Events(Vec::new());
            }
        }
    }

    /// Only the first of several events wakes a taker; each taker passes on what it leaves.
    fn take(&self, mut state: MutexGuard<'_, State>, most: Most) -> Taken {
        let events = state.take(most);
        let others_wait = state.waiting > 0;
        let more = !state.is_empty();
        let ended = !more && state.is_over();
        let wake = if ended { state.wake.take() } else { None };
        drop(state);
        if others_wait && more {
            self.changed.notify_one();
        } else if others_wait && ended {
            self.changed.notify_all();
        }
        drop(wake);
        Taken::Events(events)
    }

    /// Has `wake` called whenever the queue goes from empty to not empty, in place of an earlier one; it is dropped when
    /// nothing comes any more. False: that is so already.
    pub fn set_wake(&self, wake: Arc<dyn Wake>) -> bool {
        let mut state = self.state.lock();
        if state.is_empty() && state.is_over() {
            return false;
        }
        let ready = !state.is_empty();
        let before = state.wake.replace(wake.clone());
        drop(state);
        drop(before);
        if ready {
            wake.wake();
        }
        true
    }

    // -- the end ----------------------------------------------------------------------------------------------------

    /// Cancelled once the queue is closed or freed.
    pub fn closed(&self) -> &CancellationToken {
        &self.closed
    }

    /// Refuses what comes from now on, and cancels the calls that are to complete here: they complete as cancelled.
    pub fn close(&self) {
        let closing = self.begin_close(false);
        self.after_close(closing);
    }

    fn begin_close(&self, shut_down: bool) -> Closing {
        let mut state = self.state.lock();
        state.shut_down |= shut_down && !state.closed;
        let calls = state.close();
        let ended = state.is_empty() && state.is_over();
        (calls, if ended { state.wake.take() } else { None })
    }

    /// Closes, and drops what is unread. Nothing is delivered any more.
    pub fn discard(&self) {
        let (calls, events, wake) = {
            let mut state = self.state.lock();
            state.discarded = true;
            state.notices.clear();
            state.notice_bytes = 0;
            (state.close(), std::mem::take(&mut state.events), state.wake.take())
        };
        self.after_close((calls, wake));
        drop(events);
    }

    fn after_close(&self, (calls, wake): Closing) {
        self.closed.cancel();
        for call in calls {
            call.stop();
        }
        self.changed.notify_all();
        drop(wake);
    }

    /// Ends every queue: what is in them can still be read, and what is pending completes as closed. Waits for the threads of callback
    /// queues until `until`. False: one did not end in time.
    pub fn shut_down_all(until: Instant) -> bool {
        let (queues, threads) = {
            let mut live = LIVE.lock();
            (std::mem::take(&mut live.queues), std::mem::take(&mut live.threads))
        };
        // All are closed before the first call is stopped: what ends with it, such as a question, has no effect on another.
        let queues = queues.iter().filter_map(Weak::upgrade);
        let closing: Vec<_> = queues.map(|queue| (queue.begin_close(true), queue)).collect();
        for (closing, queue) in closing {
            queue.after_close(closing);
        }
        for thread in &threads {
            while !thread.is_finished() && Instant::now() < until {
                std::thread::sleep(Duration::from_micros(200));
            }
        }
        let (ended, running): (Vec<_>, Vec<_>) = threads.into_iter().partition(JoinHandle::is_finished);
        for thread in ended {
            // A callback that panicked is the host's, and the thread is gone either way.
            let _ = thread.join();
        }
        let all = running.is_empty();
        // The next shutdown waits for them again.
        LIVE.lock().threads.extend(running);
        all
    }
}

/// Wakes who waits for a queue when it is dropped.
struct Announce(Arc<Queue>);

impl Drop for Announce {
    fn drop(&mut self) {
        let queue = &self.0;
        let mut state = queue.state.lock();
        state.announcing = false;
        if state.is_empty() {
            // Somebody came by and took it.
            return;
        }
        let waiting = state.waiting > 0;
        let wake = state.wake.clone();
        drop(state);
        if waiting {
            queue.changed.notify_one();
        }
        if let Some(wake) = wake {
            wake.wake();
        }
    }
}

#[cfg(test)]
mod tests;
