//! Calls that complete in a queue, on their way to the I/O thread and there.
//!
//! Waking the I/O thread costs a system call, so only the first of several calls does it: those that follow before it comes
//! go with the first. Since they also start together, what they write leaves together.
//!
//! On the I/O thread one task, the `Crew`, runs them all. A task for each would cost more than all else that is done for a
//! small call.
#![forbid(unsafe_code)]

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use parking_lot::Mutex;

use crate::outcome::{Failure, Outcome};
use crate::queue::{Stop, Ticket};
use crate::runtime::{self, Caught};

/// Work for the I/O thread, and how it ends.
pub type Work = Pin<Box<dyn Future<Output = Result<Outcome, Failure>> + Send>>;

/// So many calls are continued in one go, before others on the I/O thread have their turn.
const TURN: usize = 64;

/// What the crew is told.
static DESK: Mutex<Desk> = Mutex::new(Desk {
    manned: false,
    told: false,
    crew: None,
    new: Vec::new(),
    ready: Vec::new(),
    stopped: Vec::new(),
});

/// The number of the next call. A crew that ends takes no numbers along: what stops its calls stops nobody else's.
static NUMBERS: AtomicU64 = AtomicU64::new(0);

struct Desk {
    /// There is a crew, or one on its way.
    manned: bool,
    /// It was woken and has not come yet.
    told: bool,
    crew: Option<Waker>,
    /// Handed in, and not yet started.
    new: Vec<(Work, Ticket)>,
    /// The seats of calls that can go on.
    ready: Vec<usize>,
    /// The calls to be stopped: their seats and numbers.
    stopped: Vec<(usize, u64)>,
}

impl Desk {
    /// Whom to wake, if that is not done already.
    fn tell(&mut self) -> Option<Waker> {
        if std::mem::replace(&mut self.told, true) { None } else { self.crew.clone() }
    }
}

fn wake(crew: Option<Waker>) {
    if let Some(crew) = crew {
        crew.wake();
    }
}

/// Runs `work` on the I/O thread; its outcome completes `ticket`.
pub fn start(work: Work, ticket: Ticket) {
    let mut desk = DESK.lock();
    desk.new.push((work, ticket));
    if desk.manned {
        let crew = desk.tell();
        drop(desk);
        return wake(crew);
    }
    (desk.manned, desk.told) = (true, true);
    drop(desk);
    let crew = Crew::default();
    match runtime::get() {
        Ok(runtime) => {
            // A runtime that is shut down drops it at once.
            runtime.spawn(crew);
        }
        Err(failure) => crew.refuse(&failure),
    }
}

/// Stops a call, if it still has that seat. The call is dropped, and its ticket completes by that.
fn stop(seat: usize, number: u64) {
    let mut desk = DESK.lock();
    desk.stopped.push((seat, number));
    let crew = desk.tell();
    drop(desk);
    wake(crew);
}

/// Wakes the crew for the call in one seat.
struct Bell {
    seat: usize,
    rung: AtomicBool,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.rung.swap(true, Ordering::AcqRel) {
            let mut desk = DESK.lock();
            desk.ready.push(self.seat);
            let crew = desk.tell();
            drop(desk);
            wake(crew);
        }
    }
}

struct Seat {
    bell: Arc<Bell>,
    /// Made of the bell, once.
    waker: Waker,
    /// The number of the call is its own; seats are used again.
    call: Option<(Work, Ticket, u64)>,
}

/// The calls under way. It stays until the runtime is shut down, which drops it, and with it the tickets.
#[derive(Default)]
struct Crew {
    seats: Vec<Seat>,
    free: Vec<usize>,
    /// The seats whose turn it is.
    turn: Vec<usize>,
}

impl Crew {
    fn refuse(self, failure: &Failure) {
        let new = std::mem::take(&mut DESK.lock().new);
        for (work, ticket) in new {
            drop(work);
            ticket.fail(failure.clone());
        }
    }

    /// Gives a call a seat.
    fn admit(&mut self, work: Work, ticket: Ticket) -> usize {
        let seat = self.free.pop().unwrap_or(self.seats.len());
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        let track = ticket.track();
        let call = Some((work, ticket, number));
        match self.seats.get_mut(seat) {
            Some(free) => free.call = call,
            None => {
                let bell = Arc::new(Bell { seat, rung: AtomicBool::new(false) });
                self.seats.push(Seat { waker: bell.clone().into(), bell, call });
            }
        }
        track.stop_with(Stop { with: stop, seat, number });
        seat
    }

    /// Lets the call in a seat go on.
    fn go_on(&mut self, index: usize) {
        let Some(seat) = self.seats.get_mut(index) else { return };
        // Before it is polled: what wakes it from now on counts.
        seat.bell.rung.store(false, Ordering::Release);
        let Some((work, _, _)) = &mut seat.call else { return };
        let Poll::Ready(ended) = Pin::new(&mut Caught(work)).poll(&mut Context::from_waker(&seat.waker)) else {
            return;
        };
        let Some((work, ticket, _)) = seat.call.take() else { return };
        self.free.push(index);
        discard(work);
        match ended.and_then(|ended| ended) {
            Ok(outcome) => ticket.complete(outcome),
            Err(failure) => ticket.fail(failure),
        }
    }

    fn drop_call(&mut self, index: usize, number: u64) {
        let Some(seat) = self.seats.get_mut(index) else { return };
        if let Some((work, ticket, _)) = seat.call.take_if(|(_, _, has)| *has == number) {
            self.free.push(index);
            discard(work);
            drop(ticket);
        }
    }
}

/// Drops a call. If it panics in that, the others do not end with it.
fn discard(work: Work) {
    let _ = runtime::catch(|| drop(work));
}

impl Future for Crew {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let crew = &mut *self;
        let mut turn = std::mem::take(&mut crew.turn);
        let (new, stopped) = {
            let mut desk = DESK.lock();
            desk.told = false;
            if !desk.crew.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
                desk.crew = Some(context.waker().clone());
            }
            let count = desk.ready.len().min(TURN);
            turn.extend(desk.ready.drain(..count));
            if !desk.ready.is_empty() {
                wake(desk.tell());
            }
            (std::mem::take(&mut desk.new), std::mem::take(&mut desk.stopped))
        };
        for (seat, number) in stopped {
            crew.drop_call(seat, number);
        }
        for seat in turn.drain(..) {
            crew.go_on(seat);
        }
        for (work, ticket) in new {
            let seat = crew.admit(work, ticket);
            crew.go_on(seat);
        }
        crew.turn = turn;
        Poll::Pending
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        let new = {
            let mut desk = DESK.lock();
            (desk.manned, desk.crew) = (false, None);
            desk.ready.clear();
            desk.stopped.clear();
            std::mem::take(&mut desk.new)
        };
        // Outside the lock: what they hold may ring bells. Their tickets complete by being dropped.
        drop(new);
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::{oneshot, watch};

    use super::*;
    use crate::outcome::Status;
    use crate::queue::{Most, Queue, Taken};

    fn submit(
        queue: &Arc<Queue>,
        id: u64,
        work: impl Future<Output = Result<Outcome, Failure>> + Send + 'static,
    ) -> Result<(), Failure> {
        start(Box::pin(work), queue.begin(id, Outcome::from)?);
        Ok(())
    }

    /// So many completions, in the order of their ids.
    fn completed(queue: &Queue, count: usize) -> Vec<(u64, Status)> {
        let mut done = Vec::new();
        while done.len() < count
            && let Taken::Events(events) = queue.wait(Most::events(count), None)
        {
            done.extend(events.iter().map(|event| (event.id, event.outcome.status)));
        }
        done.sort_unstable_by_key(|(id, _)| *id);
        done
    }

    #[test]
    fn calls_that_can_all_go_on_at_once_all_do() {
        let (queue, (go, gone)) = (Queue::new(), watch::channel(()));
        let count = 20 * TURN as u64;
        for id in 0..count {
            let mut gone = gone.clone();
            let work = async move {
                let _ = gone.changed().await;
                Ok(Outcome::document(String::new()))
            };
            submit(&queue, id, work).unwrap();
        }
        go.send(()).unwrap();
        let expected: Vec<_> = (0..count).map(|id| (id, Status::Ok)).collect();
        assert_eq!(completed(&queue, expected.len()), expected);
    }

    #[test]
    fn a_call_that_panics_ends_alone() {
        let (queue, (go, gone)) = (Queue::new(), oneshot::channel::<()>());
        let other = async move {
            let _ = gone.await;
            Ok(Outcome::document(String::new()))
        };
        submit(&queue, 1, other).unwrap();
        submit(&queue, 2, async { panic!("on purpose") }).unwrap();
        assert_eq!(completed(&queue, 1), [(2, Status::Internal)]);
        go.send(()).unwrap();
        assert_eq!(completed(&queue, 1), [(1, Status::Ok)]);
    }

    #[test]
    fn the_calls_of_a_closed_queue_are_dropped_and_no_others() {
        let (closed, open) = (Queue::new(), Queue::new());
        let ((held, dropped), (go, gone)) = (oneshot::channel::<()>(), oneshot::channel::<()>());
        let waits = async move {
            let _held = held;
            std::future::pending().await
        };
        let other = async move {
            let _ = gone.await;
            Ok(Outcome::document(String::new()))
        };
        submit(&closed, 1, waits).unwrap();
        submit(&open, 2, other).unwrap();
        closed.close();
        assert_eq!(completed(&closed, 1), [(1, Status::Cancelled)]);
        dropped.blocking_recv().unwrap_err();
        go.send(()).unwrap();
        assert_eq!(completed(&open, 1), [(2, Status::Ok)]);
    }
}
