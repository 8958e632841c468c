//! How a process ended.

use std::fmt;
use std::io;

/// How a server's leader ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It returned, with this exit status.
    Code(i32),
    /// This signal killed it.
    Signal(i32),
    /// It ended, but someone else took the status: the host ignores `SIGCHLD`, or waits for every child.
    Unknown,
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Exit::Code(code) => write!(f, "exit status {code}"),
            Exit::Signal(signal) => match signal_name(signal) {
                Some(name) => write!(f, "killed by signal {signal} ({name})"),
                None => write!(f, "killed by signal {signal}"),
            },
            Exit::Unknown => f.write_str("ended (status unknown)"),
        }
    }
}

fn signal_name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        libc::SIGHUP => "SIGHUP",
        libc::SIGINT => "SIGINT",
        libc::SIGQUIT => "SIGQUIT",
        libc::SIGILL => "SIGILL",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGKILL => "SIGKILL",
        libc::SIGUSR1 => "SIGUSR1",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGUSR2 => "SIGUSR2",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGALRM => "SIGALRM",
        libc::SIGTERM => "SIGTERM",
        libc::SIGXCPU => "SIGXCPU",
        libc::SIGXFSZ => "SIGXFSZ",
        libc::SIGSYS => "SIGSYS",
        _ => return None,
    })
}

/// How `pid`, a child of ours, ended; `None` while it runs. It stays a zombie, so its id stays ours.
pub(super) fn look(pid: i32) -> Option<Exit> {
    wait(pid, libc::WNOWAIT)
}

/// Takes the zombie away. From then on the id may be anyone's.
pub(super) fn reap(pid: i32) {
    wait(pid, 0);
}

fn wait(pid: i32, flags: libc::c_int) -> Option<Exit> {
    // SAFETY: `info` is a plain structure that the call fills; it is zeroed so that "nothing yet" reads as pid 0.
    let (result, info) = unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let id = libc::id_t::try_from(pid).ok()?;
        let result = libc::waitid(libc::P_PID, id, &mut info, libc::WEXITED | libc::WNOHANG | flags);
        (result, info)
    };
    if result != 0 {
        let interrupted = io::Error::last_os_error().raw_os_error() == Some(libc::EINTR);
        return if interrupted { None } else { Some(Exit::Unknown) };
    }
    // SAFETY: `waitid` filled the fields of a child's state change, or left them zero.
    let (seen, status) = unsafe { (info.si_pid(), info.si_status()) };
    match (seen, info.si_code) {
        (0, _) => None,
        (_, libc::CLD_EXITED) => Some(Exit::Code(status)),
        _ => Some(Exit::Signal(status)),
    }
}

#[cfg(test)]
mod tests {
    use super::Exit;

    #[test]
    fn reads_well_in_a_message() {
        assert_eq!(Exit::Code(1).to_string(), "exit status 1");
        assert_eq!(Exit::Signal(9).to_string(), "killed by signal 9 (SIGKILL)");
        assert_eq!(Exit::Signal(40).to_string(), "killed by signal 40");
        assert_eq!(Exit::Unknown.to_string(), "ended (status unknown)");
    }
}
