//! The time that one phase of loading may take. It stands still while a question of the server is open at the host.
#![forbid(unsafe_code)]

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::context::{DEADLINE, Deadline};
use crate::outcome::{Failure, Phase, Status};
use crate::wire::mux::{Mux, Reply, Request, RequestKind};

#[derive(Debug)]
pub struct Clock {
    pub phase: Phase,
    pub budget: Duration,
    started: Instant,
    frozen_before: Duration,
    mux: Arc<Mux>,
}

impl Clock {
    pub fn start(phase: Phase, budget: Duration, mux: &Arc<Mux>) -> Self {
        Clock { phase, budget, started: Instant::now(), frozen_before: mux.frozen_total(), mux: mux.clone() }
    }

    /// What is left of the budget, at least a millisecond.
    pub fn left(&self) -> Duration {
        let frozen = self.mux.frozen_total().saturating_sub(self.frozen_before);
        self.budget.saturating_sub(self.started.elapsed().saturating_sub(frozen)).max(Duration::from_millis(1))
    }

    /// Waits so long, or until the session ends.
    pub async fn pause(&self, pause: Duration) {
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = self.mux.ended().cancelled() => {}
        }
    }

    /// One request within the phase. `members`: of its params.
    pub async fn request(&self, method: &str, members: &str, kind: RequestKind) -> Result<Reply, Failure> {
        self.begin(method, members, kind).await.map_err(|failure| self.explain(method, failure))
    }

    /// The same, as a call that can be waited for beside others. Its failure still has to be explained.
    pub fn begin(&self, method: &str, members: &str, kind: RequestKind) -> crate::wire::mux::Call {
        self.mux.request(Request {
            method,
            members,
            meta: "",
            progress: None,
            wants_progress: false,
            idle: self.left(),
            deadline: Deadline::within(DEADLINE),
            kind,
            tool: None,
            headers: Vec::new(),
        })
    }

    /// Says in terms of the phase what happened to one of its requests.
    pub fn explain(&self, method: &str, failure: Failure) -> Failure {
        let failure = match failure.status {
            Status::Timeout => Failure::new(
                Status::Timeout,
                format!(
                    "no answer to {method} within the time-out of {} ms{}",
                    self.budget.as_millis(),
                    self.mux.hint()
                ),
            ),
            _ => failure,
        };
        failure.at(self.phase)
    }
}
