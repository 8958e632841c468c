//! Calls that complete in a queue, on their way to the I/O thread.
//!
//! Waking the I/O thread costs a system call, so only the first of several calls does it: those that follow before it comes
//! go with the first. Since they also start together, what they write leaves together.
#![forbid(unsafe_code)]

use std::pin::Pin;

use parking_lot::Mutex;

use crate::outcome::{Failure, Outcome};
use crate::queue::Ticket;
use crate::runtime;

/// Work for the I/O thread, and how it ends.
pub type Work = Pin<Box<dyn Future<Output = Result<Outcome, Failure>> + Send>>;

/// Handed in, and not yet started.
static WAITING: Mutex<Vec<(Work, Ticket)>> = Mutex::new(Vec::new());

/// Runs `work` on the I/O thread; its outcome completes `ticket`.
pub fn start(work: Work, ticket: Ticket) {
    let mut waiting = WAITING.lock();
    waiting.push((work, ticket));
    if waiting.len() > 1 {
        return;
    }
    drop(waiting);
    let intake = Intake { used: false };
    match runtime::get() {
        Ok(runtime) => {
            runtime.spawn(async move { intake.start() });
        }
        Err(failure) => intake.refuse(&failure),
    }
}

/// Takes what waits. One that is dropped unused, by a runtime that is shut down, leaves nothing waiting.
struct Intake {
    used: bool,
}

impl Intake {
    fn start(mut self) {
        self.used = true;
        for (work, ticket) in take() {
            let track = ticket.track();
            let task = tokio::spawn(async move {
                let ended = runtime::Caught(work).await.and_then(|ended| ended);
                match ended {
                    Ok(outcome) => ticket.complete(outcome),
                    Err(failure) => ticket.fail(failure),
                }
            });
            track.stop_with(task.abort_handle());
        }
    }

    fn refuse(mut self, failure: &Failure) {
        self.used = true;
        for (work, ticket) in take() {
            drop(work);
            ticket.fail(failure.clone());
        }
    }
}

impl Drop for Intake {
    fn drop(&mut self) {
        if !self.used {
            // The tickets complete by being dropped.
            drop(take());
        }
    }
}

fn take() -> Vec<(Work, Ticket)> {
    std::mem::take(&mut *WAITING.lock())
}
