//! A running server, and the steps of its end.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::exit::Exit;
use super::watch::{Life, Shared};

/// How long a server has to end by itself after its stdin was closed.
const AFTER_CLOSE: Duration = Duration::from_secs(1);
/// How long it has after `SIGTERM`.
const AFTER_TERM: Duration = Duration::from_secs(2);
/// How long the system has after `SIGKILL`. A process stuck in the kernel can take longer; it is not waited for.
const AFTER_KILL: Duration = Duration::from_secs(5);

/// A local server: a process that leads its own group. Dropping it kills the group.
#[derive(Debug)]
pub struct Process {
    shared: Arc<Shared>,
}

impl Process {
    pub(super) fn new(shared: Arc<Shared>) -> Process {
        Process { shared }
    }

    /// The id of the leader.
    pub fn pid(&self) -> i32 {
        self.shared.group.id
    }

    /// The id of the process group, which is the leader's.
    pub fn id_of_group(&self) -> i32 {
        self.shared.group.id
    }

    /// Waits for the end of the leader. By then it is reaped, and what it left of its group is killed. Any number of
    /// callers may wait, and stop waiting.
    pub async fn exited(&self) -> Exit {
        match self.reached(|life| *life != Life::Running).await {
            Life::Ended(exit) | Life::Gone(exit) => exit,
            Life::Running => Exit::Unknown,
        }
    }

    /// Ends the server step by step: wait 1 s, `SIGTERM` to the group, 2 s, `SIGKILL` to the group. The caller has
    /// closed the server's stdin before. Returns when nothing of the group is left.
    ///
    /// Must run on the library's I/O thread. If it is stopped half-way, dropping the process kills the group.
    pub async fn end(&self) {
        let gone = || self.reached(|life| matches!(life, Life::Gone(_)));
        if timeout(AFTER_CLOSE, self.exited()).await.is_err() {
            self.shared.group.signal(libc::SIGTERM);
            if timeout(AFTER_TERM, self.exited()).await.is_err() {
                self.kill();
            }
        }
        let _ = timeout(AFTER_KILL, gone()).await;
    }

    /// Kills the whole group now, without waiting.
    pub fn kill(&self) {
        self.shared.group.signal(libc::SIGKILL);
    }

    async fn reached(&self, stage: impl FnMut(&Life) -> bool) -> Life {
        // The sender lives in `shared`, so the channel cannot close under us.
        match self.shared.life.subscribe().wait_for(stage).await {
            Ok(life) => *life,
            Err(_) => Life::Gone(Exit::Unknown),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}
