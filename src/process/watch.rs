//! Learns that a server's leader ended; then sweeps its group and reaps it.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::Interest;
use tokio::sync::watch;

use super::exit::{self, Exit};
use super::fds::PipeEnd;
use super::group::Group;
use super::guardian::Lease;
use crate::runtime;

/// How often a leader is looked at where there is no pidfd.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How long a swept group may take to vanish. Zombies that no init reaps stay for ever, so there is a bound.
const VANISH: Duration = Duration::from_millis(500);
/// How long a killed leader is waited for when the library is shut down under it.
const ABANDON: Duration = Duration::from_secs(1);

/// Where a process stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    Running,
    /// The leader was reaped and its group killed.
    Ended(Exit),
    /// And nothing of the group is left.
    Gone(Exit),
}

/// What a process and its watcher share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) group: Group,
    pub(super) life: watch::Sender<Life>,
}

/// Watches one leader. If it is dropped before the end, as at a shutdown, it kills the group and waits.
pub(super) struct Watcher {
    pub(super) shared: Arc<Shared>,
    pub(super) lease: Option<Lease>,
    pub(super) pidfd: Option<PipeEnd>,
}

impl Watcher {
    pub(super) async fn run(mut self) {
        let exit = self.ended().await;
        self.sweep(exit);
        self.vanished().await;
        if let Some(lease) = self.lease.take() {
            lease.end().await;
        }
        self.shared.life.send_replace(Life::Gone(exit));
    }

    /// Waits until the leader is a zombie, or is found to have been reaped by someone else.
    async fn ended(&mut self) -> Exit {
        let mut pidfd = self.pidfd.take().and_then(|fd| fd.awaitable(Interest::READABLE).ok());
        loop {
            // Looked at first: where someone else reaps our children, the pidfd may have come too late.
            if let Some(exit) = exit::look(self.shared.group.id) {
                return exit;
            }
            match pidfd.take() {
                Some(fd) => drop(fd.readable().await.map(|_| ())),
                None => tokio::time::sleep(LOOK_EVERY).await,
            }
        }
    }

    fn sweep(&self, exit: Exit) {
        self.shared.group.sweep(self.lease.as_ref());
        self.shared.life.send_replace(Life::Ended(exit));
    }

    async fn vanished(&self) {
        let until = Instant::now() + VANISH;
        let mut pause = Duration::from_millis(1);
        while !self.shared.group.is_gone() && Instant::now() < until {
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(50));
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        if runtime::is_forked() {
            return;
        }
        let life = *self.shared.life.borrow();
        let exit = match life {
            Life::Gone(_) => return,
            Life::Ended(exit) => exit,
            Life::Running => {
                self.shared.group.signal(libc::SIGKILL);
                let until = Instant::now() + ABANDON;
                let exit = loop {
                    match exit::look(self.shared.group.id) {
                        Some(exit) => break exit,
                        None if Instant::now() >= until => break Exit::Unknown,
                        None => std::thread::sleep(Duration::from_millis(1)),
                    }
                };
                self.sweep(exit);
                exit
            }
        };
        self.lease.take();
        self.shared.life.send_replace(Life::Gone(exit));
    }
}

/// A descriptor that is readable once `pid` ended. `None` on old kernels, under valgrind, and where descriptors ran
/// out: then the leader is looked at from time to time.
pub(super) fn pidfd(pid: i32) -> Option<PipeEnd> {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: a plain call without pointers. What it returns is a new descriptor, close-on-exec, or negative.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
        let fd = i32::try_from(fd).ok().filter(|fd| *fd >= 0)?;
        // SAFETY: the descriptor is new and nobody else knows it.
        let owned: io::Result<PipeEnd> = PipeEnd::new(unsafe { OwnedFd::from_raw_fd(fd) });
        owned.ok()
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = pid;
        None
    }
}
