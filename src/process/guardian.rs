//! The process that takes the servers along when the host is killed.
//!
//! A small shell script reads from a socket which groups exist. When the host is gone, however it went, the script
//! meets end-of-file and kills what is left. The parent-death signal stands behind it, but reaches leaders only: until
//! the guardian's process is there, which another thread starts at the same time as the first server's, it is all there is.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::ptr::null;
use std::sync::Arc;
use std::time::Duration;

use libc::{c_char, c_int, c_void};
use parking_lot::Mutex;
use tokio::io::Interest;

use super::child::{self, Stack};
use super::fds::{self, PipeEnd};
use super::group;
use crate::runtime::{self, Runtime};

/// How long the guardian may take to end. It has nothing to do then.
const ENDS_WITHIN: Duration = Duration::from_secs(1);

const SHELL: &CStr = c"/bin/sh";
/// `$groups` is a list with a space around each id. Only built-in commands, so that it needs no `PATH`.
const SCRIPT: &CStr = c"groups=' '
while read -r line; do
  group=${line#?}
  case $line in
    +*) groups=\"$groups$group \" ;;
    -*) case $groups in *\" $group \"*) groups=\"${groups%% $group *} ${groups#* $group }\" ;; esac ;;
  esac
done
for group in $groups; do kill -s KILL -- \"-$group\"; done";

struct State {
    socket: Option<Arc<PipeEnd>>,
    servers: usize,
}

static STATE: Mutex<State> = Mutex::new(State { socket: None, servers: 0 });

/// True while the guardian stands ready. Without it, as where there is no `/bin/sh`, only the leaders of groups end
/// with a killed host.
pub fn guardian_running() -> bool {
    // In a forked child of the host the lock may be held for ever.
    !runtime::is_forked() && STATE.lock().socket.as_ref().is_some_and(|socket| is_alive(socket))
}

/// One server's share in the guardian, which ends with the last of them.
#[derive(Debug)]
pub(super) struct Lease {
    socket: Option<Arc<PipeEnd>>,
    held: bool,
}

impl Lease {
    /// Has the guardian started if it is not running: on the first thread that is free for it, so that the server, which is
    /// next in the line, need not wait for a shell. What the guardian is told until it is there waits in its socket.
    pub(super) fn take(runtime: &Runtime) -> Lease {
        let mut state = STATE.lock();
        state.servers += 1;
        if !state.socket.as_ref().is_some_and(|socket| is_alive(socket)) {
            state.socket = fds::sockets().ok().map(|(ours, theirs)| {
                // If that fails their end closes, and ours is at its end.
                runtime.on_fork_thread(move || drop(start(theirs)));
                Arc::new(ours)
            });
            // Someone may have killed one that knew of groups.
            if let Some(socket) = &state.socket {
                group::each_live(|id| child::tell(socket.as_raw_fd(), b'+', id));
            }
        }
        Lease { socket: state.socket.clone(), held: true }
    }

    /// The socket through which a child announces its group; -1 without a guardian.
    pub(super) fn socket(&self) -> RawFd {
        self.socket.as_ref().map_or(-1, |socket| socket.as_raw_fd())
    }

    /// Tells the guardian that a group ended. Must come before its leader is reaped, or the id may be another's.
    pub(super) fn forget(&self, group: i32) {
        if let Some(socket) = &STATE.lock().socket {
            child::tell(socket.as_raw_fd(), b'-', group);
        }
    }

    /// Gives the share back. After the last one, waits until the guardian has ended.
    pub(super) async fn end(mut self) {
        let Some(socket) = self.give_back() else { return };
        // Every other share was given up under the lock.
        let Some(socket) = Arc::into_inner(socket) else { return };
        let Ok(socket) = socket.awaitable(Interest::READABLE) else { return };
        let ended = async {
            while let Ok(mut ready) = socket.readable().await {
                if !is_alive(socket.get_ref()) {
                    break;
                }
                ready.clear_ready();
            }
        };
        let _ = tokio::time::timeout(ENDS_WITHIN, ended).await;
    }

    /// Returns the guardian's socket, at its end-of-file, if this was the last share.
    fn give_back(&mut self) -> Option<Arc<PipeEnd>> {
        // A forked child of the host has no share in its guardian.
        if !std::mem::take(&mut self.held) || runtime::is_forked() {
            return None;
        }
        let mut state = STATE.lock();
        self.socket = None;
        state.servers = state.servers.saturating_sub(1);
        if state.servers > 0 {
            return None;
        }
        let socket = state.socket.take()?;
        // SAFETY: a plain call on a descriptor we own.
        unsafe {
            libc::shutdown(socket.as_raw_fd(), libc::SHUT_WR);
        }
        Some(socket)
    }
}

impl Drop for Lease {
    /// Only where the library is shut down under its servers; then it is the I/O thread that may wait.
    fn drop(&mut self) {
        if let Some(socket) = self.give_back() {
            let mut poll = libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            // SAFETY: one entry, as announced.
            unsafe {
                libc::poll(&mut poll, 1, ENDS_WITHIN.as_millis() as c_int);
            }
        }
    }
}

/// The guardian never writes, so that its socket has something to say only when it ended.
fn is_alive(socket: &PipeEnd) -> bool {
    let mut byte = 0_u8;
    // SAFETY: the call writes at most one byte.
    let read =
        unsafe { libc::recv(socket.as_raw_fd(), (&raw mut byte).cast(), 1, libc::MSG_PEEK | libc::MSG_DONTWAIT) };
    read < 0 && io::Error::last_os_error().kind() == io::ErrorKind::WouldBlock
}

/// What the two children need on the way to the guardian.
struct Orders {
    socket: RawFd,
    stack: *mut c_void,
    argv: *const *const c_char,
    env: *const *const c_char,
}

/// Starts the guardian, which reads from `theirs`. Blocks for as long as an exec takes.
fn start(theirs: PipeEnd) -> io::Result<()> {
    let (outer, inner) = (Stack::new()?, Stack::new()?);
    let host = CString::new(std::process::id().to_string())?;
    // The name and the host's pid are for whoever meets the process in a list.
    let argv = [c"sh".as_ptr(), c"-c".as_ptr(), SCRIPT.as_ptr(), c"toolnexus-guardian".as_ptr(), host.as_ptr(), null()];
    let env = [null()];
    let mut orders = Orders { socket: theirs.as_raw_fd(), stack: inner.top(), argv: argv.as_ptr(), env: env.as_ptr() };
    // SAFETY: `between` keeps the rules of a child, and the orders outlive both children's use of them.
    let pid = unsafe { child::start(between, (&raw mut orders).cast(), &outer)? };
    // It ended already, and the guardian is nobody's child that the host could meet in a `wait`.
    // SAFETY: a plain call; a host that ignores SIGCHLD makes it fail, which is as good.
    while unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) } < 0 && child::errno() == libc::EINTR {}
    Ok(())
}

/// The child that ends at once, so that the guardian is handed to init.
extern "C" fn between(argument: *mut c_void) -> c_int {
    // SAFETY: the orders are valid until the guardian has executed its shell, and its stack is a second one.
    unsafe {
        let orders = &*argument.cast::<Orders>();
        child::clone(guardian, orders.stack, argument);
        libc::_exit(0)
    }
}

/// Nobody waits for the guardian: what it is told meanwhile stays in its socket. So its shell does not start before the
/// host's own work, nor at a real-time priority of the host's.
fn yield_to_others() {
    #[cfg(target_os = "linux")]
    // SAFETY: the parameters are plain numbers, all zero, as this policy wants them.
    unsafe {
        let none: libc::sched_param = std::mem::zeroed();
        libc::sched_setscheduler(0, libc::SCHED_BATCH, &none);
    }
}

extern "C" fn guardian(argument: *mut c_void) -> c_int {
    // What ends the host's terminal or service must not end the guardian before the host.
    child::set_dispositions(libc::SIG_IGN);
    yield_to_others();
    // SAFETY: raw calls on the orders' descriptor and null-terminated strings.
    unsafe {
        let orders = &*argument.cast::<Orders>();
        libc::setsid();
        libc::chdir(c"/".as_ptr());
        libc::dup2(orders.socket, 0);
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_NOCTTY);
        if null >= 0 {
            libc::dup2(null, 1);
            libc::dup2(null, 2);
        } else {
            libc::close(1);
            libc::close(2);
        }
        child::close_others_on_exec();
        child::unblock_signals();
        libc::execve(SHELL.as_ptr(), orders.argv, orders.env);
        libc::_exit(127)
    }
}
