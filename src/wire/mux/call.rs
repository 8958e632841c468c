//! A call under way, and the clocks of all of them.
#![forbid(unsafe_code)]

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::{Mux, Reply, RequestKind};
use crate::outcome::{Failure, Status};

impl Mux {
    /// Looks for calls whose time is over. Returns when to look again; waits for that with [`Mux::clock_moved`].
    pub fn expire(&self) -> Option<Instant> {
        let now = Instant::now();
        let mut over = Vec::new();
        let mut state = self.state.lock();
        let frozen = state.frozen > 0;
        let mut next: Option<Instant> = None;
        for (id, call) in &state.pending {
            let idle_end = call.quiet_since + call.idle;
            let waits = state.full && !call.written && call.kind == RequestKind::Normal;
            let due = if frozen || waits { call.deadline.at } else { call.deadline.at.min(idle_end) };
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

    /// Ends overdue calls until the mux is closed.
    pub async fn keep_time(&self) {
        while !self.is_closed() {
            match self.expire() {
                None => self.clock_moved().await,
                Some(next) => tokio::select! {
                    () = tokio::time::sleep_until(next) => {}
                    () = self.clock_moved() => {}
                },
            }
        }
    }

    /// Waits until an earlier time-out than the last one told was set, or the mux is closed.
    pub async fn clock_moved(&self) {
        self.clock.notified().await;
    }

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
    pub(super) mux: Arc<Mux>,
    pub(super) id: u64,
    pub(super) reply: oneshot::Receiver<Result<Reply, Failure>>,
    pub(super) ended: bool,
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

#[cfg(test)]
mod tests {
    use super::super::{Inbound, Request, Room, Turn};
    use super::*;
    use crate::config::Secrets;
    use crate::context::Deadline;
    use crate::json::Raw;

    struct Deaf;

    impl Inbound for Deaf {
        fn request(&self, _: Raw<'_>, _: &str, _: Option<Raw<'_>>) -> bool {
            true
        }

        fn notification(&self, _: &str, _: Option<Raw<'_>>) -> bool {
            true
        }
    }

    const ALL: Room = Room { ask: true, tell: true };

    #[tokio::test(start_paused = true)]
    async fn waiting_for_a_place_is_not_the_servers_silence() {
        let secrets = Arc::new(Secrets::default());
        let (mux, _service) = Mux::new("s", secrets, usize::MAX, String::new(), |_| Box::new(Deaf));
        let ask = || {
            mux.request(Request {
                method: "tools/call",
                members: "",
                meta: "",
                progress: None,
                wants_progress: false,
                idle: Duration::from_secs(10),
                deadline: Deadline::within(Duration::from_secs(60)),
                kind: RequestKind::Normal,
                tool: None,
                headers: Vec::new(),
            })
        };
        let (first, second, third) = (ask(), ask(), ask());
        assert!(matches!(mux.take_turn(ALL), Some(Turn::Post(_))));
        assert!(mux.take_turn(Room { ask: false, ..ALL }).is_none());
        tokio::time::advance(Duration::from_secs(11)).await;
        mux.expire();
        assert_eq!([&first, &second, &third].map(|call| mux.is_open(call.id())), [false, true, true]);
        // Its clock begins with its place, and is looked at.
        assert!(mux.take_turn(Room { ask: false, ..ALL }).is_none());
        assert!(matches!(mux.take_turn(ALL), Some(Turn::Post(_))));
        mux.clock_moved().await;
        assert!(mux.take_turn(Room { ask: false, ..ALL }).is_none());
        tokio::time::advance(Duration::from_secs(9)).await;
        mux.expire();
        assert!(mux.is_open(second.id()));
        tokio::time::advance(Duration::from_secs(2)).await;
        mux.expire();
        assert_eq!([&second, &third].map(|call| mux.is_open(call.id())), [false, true]);
        // No wait is longer than the deadline.
        tokio::time::advance(Duration::from_secs(60)).await;
        mux.expire();
        assert!(!mux.is_open(third.id()));
    }

    #[tokio::test]
    async fn answers_wait_for_room() {
        let secrets = Arc::new(Secrets::default());
        let (mux, _service) = Mux::new("s", secrets, usize::MAX, String::new(), |_| Box::new(Deaf));
        mux.send(b"{}".to_vec());
        let none = Room { ask: false, tell: false };
        assert!(mux.take_turn(none).is_none());
        assert!(matches!(mux.take_turn(Room { tell: true, ..none }), Some(Turn::Post(_))));
        assert!(mux.take_turn(ALL).is_none());
    }
}
