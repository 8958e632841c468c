//! The descriptors that a forked child of the host must not keep.
//!
//! A copy that stays open in such a child hides the end-of-file from a server, or from the guardian. So the library
//! registers what it opens, and the fork hook closes the child's copies.

use std::io;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::slots::{Slot, Table};
use crate::runtime;

static OPEN: Table = Table::new();

/// Keeps a descriptor registered. Drop it *before* the descriptor is closed: its number may be the host's afterwards.
#[derive(Debug)]
pub struct FdGuard(#[expect(dead_code, reason = "held for its drop")] Slot);

/// Has `fd` closed in children that the host forks, for as long as the guard lives.
pub fn register(fd: RawFd) -> FdGuard {
    runtime::set_fork_hook(close_all);
    runtime::watch_forks();
    FdGuard(OPEN.insert(fd))
}

/// Runs in the forked child: async-signal-safe calls only.
fn close_all() {
    OPEN.for_each(|fd| {
        // SAFETY: the descriptor is ours, and nothing in a forked child uses it: every entry checks for the fork.
        unsafe {
            libc::close(fd);
        }
    });
}

/// A registered descriptor. It is above 2, close-on-exec, and closed on drop.
#[derive(Debug)]
pub struct PipeEnd {
    guard: Option<FdGuard>,
    fd: ManuallyDrop<OwnedFd>,
}

impl PipeEnd {
    /// Takes over `fd`. Where the host closed its standard streams, the system hands out 0, 1 and 2, which the host's
    /// own output, and a child's, would then be mixed up with; such a number is given back for a higher one.
    pub(super) fn new(fd: OwnedFd) -> io::Result<PipeEnd> {
        let fd = if fd.as_raw_fd() > 2 {
            fd
        } else {
            // SAFETY: plain call on a descriptor we own.
            let higher = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 3) };
            if higher < 0 {
                return Err(io::Error::last_os_error());
            }
            // SAFETY: the call made this descriptor, and nobody else knows it.
            unsafe { OwnedFd::from_raw_fd(higher) }
        };
        Ok(PipeEnd { guard: Some(register(fd.as_raw_fd())), fd: ManuallyDrop::new(fd) })
    }

    /// Makes it awaitable. Must be called on the library's I/O thread.
    pub fn awaitable(self, interest: Interest) -> io::Result<AsyncFd<PipeEnd>> {
        // Tokio panics where there is no runtime.
        tokio::runtime::Handle::try_current().map_err(io::Error::other)?;
        // SAFETY: a `PipeEnd` names the same descriptor, and keeps it open, until it is dropped.
        Ok(unsafe { AsyncFd::register_with_interest(self, interest)? })
    }

    /// A duplicate that is the caller's alone: above 2, close-on-exec, not registered.
    pub fn into_owned(self) -> io::Result<OwnedFd> {
        self.try_clone()
    }

    /// Reads once, behind what `buffer` holds, at most `most` bytes. The descriptor must not block.
    pub fn read_behind(&self, buffer: &mut Vec<u8>, most: usize) -> io::Result<usize> {
        buffer.reserve(most);
        // SAFETY: the call writes at most `most` bytes into spare capacity of at least that size, and the length grows
        // by no more than what it says it wrote.
        unsafe {
            let spare = buffer.spare_capacity_mut();
            let count = libc::read(self.as_raw_fd(), spare.as_mut_ptr().cast(), most);
            if count < 0 {
                return Err(io::Error::last_os_error());
            }
            buffer.set_len(buffer.len() + count.cast_unsigned());
            Ok(count.cast_unsigned())
        }
    }

    /// Asks for a pipe that holds so many bytes. The system may refuse, as a user has a budget for these.
    pub fn widen(&self, bytes: usize) {
        #[cfg(target_os = "linux")]
        // SAFETY: plain call on a descriptor we own.
        unsafe {
            libc::fcntl(self.as_raw_fd(), libc::F_SETPIPE_SZ, libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX));
        }
        #[cfg(not(target_os = "linux"))]
        let _ = bytes;
    }

    /// Writes once, as much as fits. Must be called where `SIGPIPE` is blocked: on a thread of the library.
    pub fn write_some(&self, bytes: &[u8]) -> io::Result<usize> {
        // SAFETY: plain call on a descriptor we own, with a slice's pointer and length.
        let count = unsafe { libc::write(self.as_raw_fd(), bytes.as_ptr().cast(), bytes.len()) };
        if count < 0 { Err(io::Error::last_os_error()) } else { Ok(count.cast_unsigned()) }
    }

    pub fn set_nonblocking(&self) -> io::Result<()> {
        // SAFETY: plain calls on a descriptor we own.
        let set = unsafe {
            let flags = libc::fcntl(self.as_raw_fd(), libc::F_GETFL);
            flags >= 0 && libc::fcntl(self.as_raw_fd(), libc::F_SETFL, flags | libc::O_NONBLOCK) == 0
        };
        if set { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

impl Drop for PipeEnd {
    fn drop(&mut self) {
        drop(self.guard.take());
        // In a forked child the hook has closed it already, and the number may be in use again.
        if !runtime::is_forked() {
            // SAFETY: dropped once, here; nothing uses the field afterwards.
            unsafe { ManuallyDrop::drop(&mut self.fd) }
        }
    }
}

impl Deref for PipeEnd {
    type Target = OwnedFd;
    fn deref(&self) -> &OwnedFd {
        &self.fd
    }
}

impl AsRawFd for PipeEnd {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

impl AsFd for PipeEnd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// A new pipe: the end to read from, the end to write to.
pub(super) fn pipe() -> io::Result<(PipeEnd, PipeEnd)> {
    // SAFETY: the array has room for the two descriptors the call makes.
    pair(|fds| unsafe { libc::pipe2(fds.as_mut_ptr(), libc::O_CLOEXEC) })
}

/// A new pair of connected stream sockets.
pub fn sockets() -> io::Result<(PipeEnd, PipeEnd)> {
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
    // SAFETY: the array has room for the two descriptors the call makes.
    pair(|fds| unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, fds.as_mut_ptr()) })
}

fn pair(make: impl FnOnce(&mut [RawFd; 2]) -> libc::c_int) -> io::Result<(PipeEnd, PipeEnd)> {
    let mut fds = [-1; 2];
    if make(&mut fds) != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call succeeded, so both descriptors are new and nobody else knows them.
    let [first, second] = unsafe { [OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1])] };
    Ok((PipeEnd::new(first)?, PipeEnd::new(second)?))
}
