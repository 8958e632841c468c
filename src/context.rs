//! Time-outs and cancellation of calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::outcome::{Failure, Status};
use crate::queue::Queue;

/// The longest a call may take if nobody says otherwise.
pub const DEADLINE: Duration = Duration::from_secs(3600);

/// What a host sets once and uses for many calls. Each call copies the times when it starts.
#[derive(Debug, Default)]
pub struct Context {
    idle_ms: AtomicU32,
    deadline_ms: AtomicU32,
    cancelled: CancellationToken,
    progress: Mutex<Option<Progress>>,
}

/// Where the progress of a call goes.
#[derive(Clone, Debug)]
pub struct Progress {
    pub queue: Arc<Queue>,
    pub id: u64,
}

impl Context {
    pub fn set_progress(&self, progress: Option<Progress>) {
        *self.progress.lock() = progress;
    }

    pub fn set_idle(&self, ms: u32) {
        self.idle_ms.store(ms, Ordering::Relaxed);
    }

    pub fn set_deadline(&self, ms: u32) {
        self.deadline_ms.store(ms, Ordering::Relaxed);
    }

    pub fn cancel(&self) {
        self.cancelled.cancel();
    }

    /// The limits of a call that starts now.
    pub fn limits(&self) -> Limits {
        let ms = |value: &AtomicU32| match value.load(Ordering::Relaxed) {
            0 => None,
            ms => Some(Duration::from_millis(ms.into())),
        };
        Limits {
            idle: ms(&self.idle_ms),
            deadline: Deadline::within(ms(&self.deadline_ms).unwrap_or(DEADLINE)),
            cancelled: Some(self.cancelled.clone()),
            progress: self.progress.lock().clone(),
        }
    }
}

/// When a call has to end, however many requests, rounds and restarts it needs.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    pub at: Instant,
    /// How long it was in all, for messages.
    pub total: Duration,
}

impl Deadline {
    /// One that counts from now. `total`: at most some years.
    pub fn within(total: Duration) -> Self {
        Deadline { at: Instant::now() + total, total }
    }

    /// When it began to count.
    pub fn started(&self) -> Instant {
        self.at - self.total
    }
}

/// How long one call may take, and what can end it early.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The longest silence; progress restarts it. None: the server's own.
    pub idle: Option<Duration>,
    pub deadline: Deadline,
    pub cancelled: Option<CancellationToken>,
    pub progress: Option<Progress>,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { idle: None, deadline: Deadline::within(DEADLINE), cancelled: None, progress: None }
    }
}

impl Limits {
    /// Runs `future` until it ends, the call is cancelled, or its deadline has passed, whichever is first.
    /// `what` names the work in the messages.
    pub async fn bound<T>(&self, what: &str, future: impl Future<Output = T>) -> Result<T, Failure> {
        let timed = tokio::time::timeout_at(self.deadline.at, future);
        let ended = match &self.cancelled {
            None => timed.await,
            Some(token) => tokio::select! {
                biased;
                () = token.cancelled() => return Err(cancelled(what)),
                ended = timed => ended,
            },
        };
        ended.map_err(|_| {
            Failure::new(
                Status::Timeout,
                format!("{what} took longer than its deadline of {} ms", self.deadline.total.as_millis()),
            )
        })
    }

    /// Runs `future` until it ends or the call is cancelled. For work that keeps its own time.
    pub async fn cancellable<T>(&self, what: &str, future: impl Future<Output = T>) -> Result<T, Failure> {
        match &self.cancelled {
            None => Ok(future.await),
            Some(token) => tokio::select! {
                biased;
                () = token.cancelled() => Err(cancelled(what)),
                ended = future => Ok(ended),
            },
        }
    }

    pub fn is_cancelled(&self) -> bool {
        self.cancelled.as_ref().is_some_and(CancellationToken::is_cancelled)
    }
}

/// The failure of work that the host cancelled.
pub fn cancelled(what: &str) -> Failure {
    Failure::new(Status::Cancelled, format!("{what} was cancelled"))
}
