//! The live process groups, and the only calls that signal them.

use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::Mutex;

use super::exit;
use super::guardian::Lease;
use super::slots::{Slot, Table};
use crate::log;
use crate::runtime;

static LIVE: Table = Table::new();

/// A server's process group. Its id is the pid of its leader, and is ours until the leader is reaped.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) id: i32,
    /// Emptied just before the reap. The lock keeps a signal from being sent after it.
    slot: Mutex<Option<Slot>>,
}

impl Group {
    pub(super) fn new(id: i32) -> Group {
        Group { id, slot: Mutex::new(Some(LIVE.insert(id))) }
    }

    /// Signals every process of the group, unless it was swept.
    pub(super) fn signal(&self, signal: libc::c_int) {
        // A forked child of the host must leave its parent's servers alone.
        if runtime::is_forked() {
            return;
        }
        let slot = self.slot.lock();
        if slot.is_some() {
            send(self.id, signal);
        }
    }

    /// Kills what is left of the group of a leader that ended, and then reaps the leader.
    pub(super) fn sweep(&self, lease: Option<&Lease>) {
        let mut slot = self.slot.lock();
        if slot.is_none() {
            return;
        }
        send(self.id, libc::SIGKILL);
        slot.take();
        if let Some(lease) = lease {
            lease.forget(self.id);
        }
        exit::reap(self.id);
    }

    /// True once no process of a swept group is left, not even a zombie. Signal 0 harms nobody, so that a reused id
    /// does not matter here.
    pub(super) fn is_gone(&self) -> bool {
        !send(self.id, 0)
    }
}

/// Shows the id of every live group.
pub(super) fn each_live(visit: impl FnMut(i32)) {
    LIVE.for_each(visit);
}

/// Kills every live group at once, for the host's exit. Takes no lock and allocates nothing.
pub fn kill_all() {
    if !runtime::is_forked() {
        LIVE.for_each(|id| {
            send(id, libc::SIGKILL);
        });
    }
}

fn send(group: i32, signal: libc::c_int) -> bool {
    // Groups 0 and 1 would mean "my own" and "everyone".
    if group <= 1 {
        return false;
    }
    // SAFETY: a plain call without pointers.
    let sent = unsafe { libc::kill(-group, signal) } == 0;
    sent || std::io::Error::last_os_error().raw_os_error() == Some(libc::EPERM)
}

/// Registers [`kill_all`] for the host's normal exit, once.
pub(super) fn kill_at_exit() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    /// Who registered it. A child made without `fork()` (a raw clone, `_Fork`) runs no handler that says so, and inherits
    /// this one: the groups are not its to kill.
    static OWNER: AtomicU32 = AtomicU32::new(0);
    extern "C" fn at_exit() {
        if OWNER.load(Ordering::Relaxed) == std::process::id() {
            log::mute();
            kill_all();
        }
    }
    ONCE.call_once(|| {
        OWNER.store(std::process::id(), Ordering::Relaxed);
        // SAFETY: the handler lives as long as the process: the library is never unloaded.
        unsafe {
            libc::atexit(at_exit);
        }
    });
}
