//! Where completions and events arrive: read by the host's own loop, or handed to a callback on a thread of the queue's.
//!
//! Every submitted call holds a [`Ticket`] and completes exactly once, whatever becomes of it. Nothing but notices is ever
//! dropped, and of those the host is told how many.
#![forbid(unsafe_code)]

use std::collections::{HashMap, VecDeque};
use std::fmt::Write as _;
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

use crate::outcome::{Failure, Outcome, Status};
use crate::runtime;

/// Unread notices that are kept; the oldest go first.
const NOTICES: usize = 1024;

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

struct Notice {
    id: u64,
    /// The members of the document.
    members: String,
    /// How many notices before this one were dropped.
    lost: u64,
}

struct State {
    /// In order of their number; notices apart, since only they are dropped.
    events: VecDeque<(u64, Event)>,
    notices: VecDeque<(u64, Notice)>,
    next: u64,
    /// The calls that are to complete here, and what stops them.
    open: HashMap<u64, Option<AbortHandle>>,
    next_call: u64,
    closed: bool,
    /// Nothing is kept or delivered any more.
    discarded: bool,
    waiting: usize,
    wake: Option<Arc<dyn Wake>>,
    thread: Option<JoinHandle<()>>,
}

/// A queue.
pub struct Queue {
    state: Mutex<State>,
    changed: Condvar,
    closed: CancellationToken,
}

/// Every queue, for the shutdown.
static LIVE: Mutex<Vec<Weak<Queue>>> = Mutex::new(Vec::new());

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Queue")
    }
}

/// What a taker got.
#[derive(Debug)]
pub enum Taken {
    Events(Vec<Event>),
    /// Nothing will come any more.
    Closed,
}

impl Queue {
    pub fn new() -> Arc<Queue> {
        let queue = Arc::new(Queue {
            state: Mutex::new(State {
                events: VecDeque::new(),
                notices: VecDeque::new(),
                next: 0,
                open: HashMap::new(),
                next_call: 0,
                closed: false,
                discarded: false,
                waiting: 0,
                wake: None,
                thread: None,
            }),
            changed: Condvar::new(),
            closed: CancellationToken::new(),
        });
        let mut live = LIVE.lock();
        live.retain(|queue| queue.strong_count() > 0);
        live.push(Arc::downgrade(&queue));
        queue
    }

    /// A queue that is read by a thread of its own, which calls `callback` for one event after the other and drops it when
    /// nothing comes any more. Gives the callback back if no thread can be started.
    pub fn with_callback<C: Callback + 'static>(callback: C) -> Result<Arc<Queue>, C> {
        let queue = Queue::new();
        let reader = queue.clone();
        let (hand_over, handed) = std::sync::mpsc::channel::<C>();
        let started = runtime::thread("toolnexus-queue", move || {
            runtime::enter_callbacks();
            let Ok(mut callback) = handed.recv() else { return };
            while let Taken::Events(events) = reader.wait(1, None) {
                for event in events {
                    callback.event(event);
                }
            }
        });
        match started {
            Ok(thread) => queue.state.lock().thread = Some(thread),
            Err(_) => return Err(callback),
        }
        hand_over.send(callback).map_err(|unsent| unsent.0)?;
        Ok(queue)
    }

    // -- what comes in ----------------------------------------------------------------------------------------------

    /// Registers a call that will complete here under `id`.
    pub fn begin(self: &Arc<Self>, id: u64) -> Result<Ticket, Failure> {
        let mut state = self.state.lock();
        if state.closed {
            return Err(Failure::new(Status::Closed, "the queue is closed"));
        }
        let call = state.next_call;
        state.next_call += 1;
        state.open.insert(call, None);
        drop(state);
        Ok(Ticket { queue: self.clone(), call, id, open: true })
    }

    /// Puts an event of the library's own: a request, a call of a host tool, a cancel. False: the queue is closed.
    pub fn push(&self, kind: Kind, id: u64, outcome: Outcome) -> bool {
        let state = self.state.lock();
        if state.closed {
            return false;
        }
        self.put(state, Event { kind, id, outcome });
        true
    }

    /// Puts a notice, whose document has these members. It may be dropped if nobody reads.
    pub fn notice(&self, id: u64, members: String) {
        let mut state = self.state.lock();
        if state.closed {
            return;
        }
        let was_empty = state.is_empty();
        let mut lost = 0;
        if state.notices.len() >= NOTICES
            && let Some((_, oldest)) = state.notices.pop_front()
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

    fn put(&self, mut state: parking_lot::MutexGuard<'_, State>, event: Event) {
        if state.discarded {
            drop(state);
            // Outside the lock: what the event holds may be the last of a source.
            drop(event);
            return;
        }
        let was_empty = state.is_empty();
        let number = state.number();
        state.events.push_back((number, event));
        self.announce(state, was_empty);
    }

    fn announce(&self, state: parking_lot::MutexGuard<'_, State>, was_empty: bool) {
        let waiting = state.waiting > 0;
        let wake = if was_empty { state.wake.clone() } else { None };
        drop(state);
        if waiting {
            self.changed.notify_one();
        }
        if let Some(wake) = wake {
            wake.wake();
        }
    }

    fn complete(&self, call: u64, id: u64, outcome: Outcome) {
        let mut state = self.state.lock();
        state.open.remove(&call);
        let last = state.closed && state.open.is_empty();
        self.put(state, Event { kind: Kind::Done, id, outcome });
        if last {
            // Takers that wait learn that nothing comes after this.
            self.changed.notify_all();
        }
    }

    // -- what goes out ----------------------------------------------------------------------------------------------

    /// Takes up to `most` events, waiting up to `timeout` (None: for ever) for the first. No events: the time is over.
    pub fn wait(&self, most: usize, timeout: Option<Duration>) -> Taken {
        let until = timeout.map(|timeout| Instant::now() + timeout);
        let mut state = self.state.lock();
        loop {
            let events = state.take(most);
            if !events.is_empty() {
                return Taken::Events(events);
            }
            if state.discarded || (state.closed && state.open.is_empty()) {
                return Taken::Closed;
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
            if timed_out {
                return Taken::Events(state.take(most));
            }
        }
    }

    /// Has `wake` called whenever the queue goes from empty to not empty, in place of an earlier one.
    pub fn set_wake(&self, wake: Arc<dyn Wake>) {
        let mut state = self.state.lock();
        let gone = state.discarded || (state.closed && state.open.is_empty() && state.is_empty());
        if gone {
            return;
        }
        let ready = !state.is_empty();
        let before = state.wake.replace(wake.clone());
        drop(state);
        drop(before);
        if ready {
            wake.wake();
        }
    }

    // -- the end ----------------------------------------------------------------------------------------------------

    /// Cancelled once the queue is closed or freed.
    pub fn closed(&self) -> &CancellationToken {
        &self.closed
    }

    /// Refuses what comes from now on, and cancels the calls that are to complete here: they complete as cancelled.
    pub fn close(&self) {
        let calls = self.state.lock().close();
        self.after_close(calls);
    }

    /// Closes, and drops what is unread. Nothing is delivered any more.
    pub fn discard(&self) {
        let (calls, events, wake) = {
            let mut state = self.state.lock();
            state.discarded = true;
            state.notices.clear();
            (state.close(), std::mem::take(&mut state.events), state.wake.take())
        };
        self.after_close(calls);
        drop((events, wake));
    }

    fn after_close(&self, calls: Vec<AbortHandle>) {
        self.closed.cancel();
        for call in calls {
            call.abort();
        }
        self.changed.notify_all();
    }

    /// Ends every queue: what is in them can still be read, and what is pending completes. Waits for the threads of callback
    /// queues until `until`. False: one did not end in time.
    pub fn shut_down_all(until: Instant) -> bool {
        let queues: Vec<Arc<Queue>> = LIVE.lock().drain(..).filter_map(|queue| queue.upgrade()).collect();
        for queue in &queues {
            queue.close();
        }
        let mut ended = true;
        for queue in queues {
            let thread = queue.state.lock().thread.take();
            if let Some(thread) = thread {
                ended &= runtime::join(thread, until.saturating_duration_since(Instant::now()));
            }
        }
        ended
    }
}

impl State {
    fn is_empty(&self) -> bool {
        self.events.is_empty() && self.notices.is_empty()
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn close(&mut self) -> Vec<AbortHandle> {
        self.closed = true;
        self.open.values_mut().filter_map(Option::take).collect()
    }

    fn take(&mut self, most: usize) -> Vec<Event> {
        let count = most.min(self.events.len() + self.notices.len());
        let mut taken = Vec::with_capacity(count);
        while taken.len() < count {
            let notice_first = match (self.events.front(), self.notices.front()) {
                (Some((event, _)), Some((notice, _))) => notice < event,
                (event, _) => event.is_none(),
            };
            if notice_first {
                taken.extend(self.notices.pop_front().map(|(_, notice)| notice.event()));
            } else {
                taken.extend(self.events.pop_front().map(|(_, event)| event));
            }
        }
        taken
    }
}

impl Notice {
    fn event(self) -> Event {
        let mut json = self.members;
        json.insert(0, '{');
        if self.lost > 0 {
            let _ = write!(json, ",\"lost\":{}", self.lost);
        }
        json.push('}');
        Event { kind: Kind::Notice, id: self.id, outcome: Outcome::document(json) }
    }
}

/// A submitted call: completes in its queue exactly once.
#[derive(Debug)]
pub struct Ticket {
    queue: Arc<Queue>,
    call: u64,
    id: u64,
    open: bool,
}

impl Ticket {
    pub fn complete(mut self, outcome: Outcome) {
        self.open = false;
        self.queue.complete(self.call, self.id, outcome);
    }

    /// The call's number in its queue, for [`Queue::track`].
    pub fn call(&self) -> u64 {
        self.call
    }

    pub fn queue(&self) -> &Arc<Queue> {
        &self.queue
    }
}

impl Queue {
    /// Says what stops a call that was begun here.
    pub fn track(&self, call: u64, stop: AbortHandle) {
        let mut state = self.state.lock();
        let closed = state.closed;
        if let Some(slot) = state.open.get_mut(&call) {
            if closed {
                drop(state);
                stop.abort();
            } else {
                *slot = Some(stop);
            }
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if self.open {
            let failure = if self.queue.state.lock().closed {
                Failure::new(Status::Cancelled, "the call was cancelled: its queue was closed")
            } else {
                Failure::new(Status::Closed, "the library was shut down before the call ended")
            };
            self.queue.complete(self.call, self.id, failure.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(taken: Taken) -> Vec<u64> {
        match taken {
            Taken::Events(events) => events.iter().map(|event| event.id).collect(),
            Taken::Closed => vec![u64::MAX],
        }
    }

    #[test]
    fn keeps_the_order_of_events_and_notices() {
        let queue = Queue::new();
        queue.notice(1, String::new());
        queue.push(Kind::Request, 2, Outcome::document(String::new()));
        queue.notice(3, String::new());
        assert_eq!(ids(queue.wait(2, None)), [1, 2]);
        assert_eq!(ids(queue.wait(2, Some(Duration::ZERO))), [3]);
        assert_eq!(ids(queue.wait(2, Some(Duration::ZERO))), [0u64; 0]);
    }

    #[test]
    fn unread_notices_are_bounded_and_the_rest_is_counted() {
        let queue = Queue::new();
        for id in 0..NOTICES as u64 + 7 {
            queue.notice(id, "\"kind\":\"log\"".to_owned());
        }
        queue.push(Kind::Call, 9, Outcome::document(String::new()));
        let Taken::Events(events) = queue.wait(usize::MAX, None) else { panic!("closed") };
        assert_eq!(events.len(), NOTICES + 1);
        assert_eq!(events[0].id, 7);
        assert_eq!(events[0].outcome.json().as_str(), r#"{"kind":"log","lost":7}"#);
        assert_eq!(events[1].outcome.json().as_str(), r#"{"kind":"log"}"#);
    }

    #[test]
    fn a_ticket_completes_once_also_when_it_is_dropped() {
        let queue = Queue::new();
        queue.begin(1).unwrap().complete(Outcome::document(String::new()));
        let dropped = queue.begin(2).unwrap();
        let late = queue.begin(3).unwrap();
        drop(dropped);
        queue.close();
        assert_eq!(queue.begin(4).unwrap_err().status, Status::Closed);
        let Taken::Events(events) = queue.wait(9, None) else { panic!("closed") };
        let seen: Vec<_> = events.iter().map(|event| (event.id, event.outcome.status)).collect();
        assert_eq!(seen, [(1, Status::Ok), (2, Status::Closed)]);
        assert_eq!(ids(queue.wait(9, Some(Duration::ZERO))), [0u64; 0], "one call is still open");
        drop(late);
        let Taken::Events(events) = queue.wait(9, None) else { panic!("closed") };
        assert_eq!((events[0].id, events[0].outcome.status), (3, Status::Cancelled));
        assert!(matches!(queue.wait(9, None), Taken::Closed));
    }

    #[test]
    fn discarding_ends_waiting_takers() {
        let queue = Queue::new();
        let waiting = {
            let queue = queue.clone();
            std::thread::spawn(move || ids(queue.wait(1, None)))
        };
        while queue.state.lock().waiting == 0 {
            std::thread::yield_now();
        }
        let open = queue.begin(1).unwrap();
        queue.discard();
        assert_eq!(waiting.join().unwrap(), [u64::MAX]);
        drop(open);
        assert!(matches!(queue.wait(1, None), Taken::Closed));
    }
}
