//! What happens between `clone` and `exec`.
//!
//! Everything here that runs in a child shares the host's memory while the host's other threads go on: raw calls on
//! memory prepared beforehand, no allocation, no lock, no panic.

use std::io;
use std::os::fd::RawFd;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicBool, Ordering};

use libc::{c_char, c_int, c_void};

/// What could not be done in the child.
pub(super) const STEP_CHDIR: i32 = 1;
pub(super) const STEP_EXEC: i32 = 2;

/// What the child tells when it could not become the server: the step, the error, and the path it tried last.
pub(super) type Report = [i32; 3];

/// What a child needs. Every pointer must stay valid until the child has executed its program.
pub(super) struct Plan {
    pub(super) argv: *const *const c_char,
    pub(super) env: *const *const c_char,
    /// The files to try, in order; ends with null.
    pub(super) paths: *const *const c_char,
    /// Null: the host's directory.
    pub(super) cwd: *const c_char,
    pub(super) stdio: [RawFd; 3],
    /// Where the report goes. Closed by a successful exec.
    pub(super) report: RawFd,
    /// Where the guardian learns of the group; -1 without a guardian.
    pub(super) guardian: RawFd,
    pub(super) host: libc::pid_t,
    /// Set by the child. The parent sees it only where memory is shared, which valgrind and emulators do not do.
    pub(super) shared: AtomicBool,
}

/// A stack for a child, with a page below it that faults.
pub(super) struct Stack {
    base: *mut c_void,
}

impl Stack {
    const SIZE: usize = 128 * 1024;
    const GUARD: usize = 64 * 1024;

    pub(super) fn new() -> io::Result<Stack> {
        // SAFETY: a new private mapping, and a change of its lower part, which nobody uses.
        unsafe {
            let base = libc::mmap(
                null_mut(),
                Self::GUARD + Self::SIZE,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK,
                -1,
                0,
            );
            if base == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            libc::mprotect(base, Self::GUARD, libc::PROT_NONE);
            Ok(Stack { base })
        }
    }

    /// The address above the stack, which grows down. Page-aligned, as every architecture needs it or better.
    pub(super) fn top(&self) -> *mut c_void {
        self.base.wrapping_byte_add(Self::GUARD + Self::SIZE)
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and the child that ran on it has left it: `clone` returned.
        unsafe {
            libc::munmap(self.base, Self::GUARD + Self::SIZE);
        }
    }
}

/// Runs `main` in a new child on `stack` and returns its pid once it executed a program or ended.
///
/// The memory is shared meanwhile, so that the price does not grow with the host's memory, and the host's
/// `pthread_atfork` handlers do not run.
///
/// # Safety
/// `main` must keep the rules of this file and never return to Rust; `argument` must be what it expects.
pub(super) unsafe fn start(
    main: extern "C" fn(*mut c_void) -> c_int,
    argument: *mut c_void,
    stack: &Stack,
) -> io::Result<libc::pid_t> {
    // SAFETY: the masks are initialised before they are read. No signal may reach the child while it shares the
    // memory: a handler of the host would run in it.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        let pid = clone(main, stack.top(), argument);
        let error = io::Error::last_os_error();
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, null_mut());
        if pid < 0 { Err(error) } else { Ok(pid) }
    }
}

/// # Safety
/// As for [`start`].
#[cfg(target_os = "linux")]
pub(super) unsafe fn clone(
    main: extern "C" fn(*mut c_void) -> c_int,
    stack: *mut c_void,
    argument: *mut c_void,
) -> libc::pid_t {
    // SAFETY: by the caller's promise; the stack is unused and large enough for what runs on it.
    unsafe { libc::clone(main, stack, libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD, argument) }
}

/// # Safety
/// As for [`start`].
#[cfg(not(target_os = "linux"))]
pub(super) unsafe fn clone(
    main: extern "C" fn(*mut c_void) -> c_int,
    _stack: *mut c_void,
    argument: *mut c_void,
) -> libc::pid_t {
    // SAFETY: the child only runs `main`, by the caller's promise.
    unsafe {
        match libc::fork() {
            0 => {
                main(argument);
                libc::_exit(127)
            }
            pid => pid,
        }
    }
}

/// A server's child: becomes the server, or reports why not. `argument` is a [`Plan`].
pub(super) extern "C" fn server(argument: *mut c_void) -> c_int {
    // SAFETY: the parent passes a plan that outlives the child's use of it, and only this child writes to its flag.
    let plan = unsafe { &*argument.cast::<Plan>() };
    plan.shared.store(true, Ordering::Relaxed);
    set_dispositions(libc::SIG_DFL);
    // SAFETY: raw calls on the plan's descriptors and its null-terminated strings.
    unsafe {
        let group = libc::setsid();
        #[cfg(target_os = "linux")]
        {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            // The host may have ended before the line above.
            if libc::getppid() != plan.host {
                libc::_exit(127);
            }
        }
        // Told here, so that the guardian knows the group before anything can be started in it.
        if plan.guardian >= 0 {
            tell(plan.guardian, b'+', group);
        }
        // All of ours are above 2, so that no copy hits one that is still needed.
        for target in 0..3 {
            libc::dup2(*plan.stdio.as_ptr().add(target), target as c_int);
        }
        close_others_on_exec();
        if !plan.cwd.is_null() && libc::chdir(plan.cwd) != 0 {
            fail(plan.report, [STEP_CHDIR, errno(), 0]);
        }
        unblock_signals();
        let (error, tried) = exec(plan);
        fail(plan.report, [STEP_EXEC, error, tried])
    }
}

/// Tries the paths as `execvp` does, but never runs a script without a first line through a shell.
///
/// # Safety
/// Only in a child, with a valid plan.
unsafe fn exec(plan: &Plan) -> (i32, i32) {
    let mut refused = None;
    let mut result = (libc::ENOENT, 0);
    let mut index = 0;
    // SAFETY: the arrays end with null, and the index stops there.
    unsafe {
        while !(*plan.paths.add(index)).is_null() {
            libc::execve(*plan.paths.add(index), plan.argv, plan.env);
            result = (errno(), index as i32);
            match result.0 {
                libc::EACCES => refused = refused.or(Some(result)),
                libc::ENOENT | libc::ENOTDIR | libc::ESTALE | libc::ENODEV | libc::ETIMEDOUT => {}
                _ => return result,
            }
            index = index.wrapping_add(1);
        }
    }
    match refused {
        Some(refused) => refused,
        None => result,
    }
}

/// # Safety
/// Only in a child.
unsafe fn fail(to: RawFd, report: Report) -> ! {
    // SAFETY: the report is twelve readable bytes. A pipe takes so few in one piece.
    unsafe {
        libc::write(to, report.as_ptr().cast(), size_of::<Report>());
        libc::_exit(127)
    }
}

/// Gives every signal the disposition `to`. Those that are so already are left alone. Where it is to ignore, what
/// reports a fault, and the end of a child, keeps its default.
pub(super) fn set_dispositions(to: libc::sighandler_t) {
    for signal in 1..=64 {
        let wanted = match signal {
            libc::SIGKILL | libc::SIGSTOP | libc::SIGCHLD => libc::SIG_DFL,
            libc::SIGSEGV | libc::SIGBUS | libc::SIGFPE | libc::SIGILL => libc::SIG_DFL,
            libc::SIGTRAP | libc::SIGABRT | libc::SIGSYS => libc::SIG_DFL,
            _ => to,
        };
        // SAFETY: plain structures, zeroed; an unknown or fixed signal makes the call fail without an effect.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            if libc::sigaction(signal, null(), &mut action) != 0 {
                reset_reserved(signal);
            } else if action.sa_sigaction != wanted {
                action = std::mem::zeroed();
                action.sa_sigaction = wanted;
                libc::sigaction(signal, &action, null_mut());
            }
        }
    }
}

/// Gives a signal that the C library keeps for itself its default disposition. It can be ignored all the same: by
/// whoever started the host.
fn reset_reserved(signal: c_int) {
    #[cfg(target_os = "linux")]
    // SAFETY: all zero is the default disposition, and the block is larger than the kernel's structure and its mask.
    unsafe {
        let default = [0_u64; 8];
        libc::syscall(libc::SYS_rt_sigaction, signal, default.as_ptr(), null::<c_void>(), size_of::<u64>());
    }
    #[cfg(not(target_os = "linux"))]
    let _ = signal;
}

/// Empties the signal mask.
pub(super) fn unblock_signals() {
    // SAFETY: the set is initialised before it is read.
    unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &none, null_mut());
    }
}

/// Marks every descriptor above the standard streams, the host's too, to be closed by the exec.
pub(super) fn close_others_on_exec() {
    // SAFETY: calls without effect on memory, but for the limit they fill.
    unsafe {
        #[cfg(target_os = "linux")]
        if libc::syscall(libc::SYS_close_range, 3, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) == 0 {
            return;
        }
        // Kernels before 5.11. A limit of a million would take too long, and so high few hosts ever count.
        let mut limit: libc::rlimit = std::mem::zeroed();
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
        let mut fd = 3;
        while fd < 65_536 && (fd as libc::rlim_t) < limit.rlim_cur {
            libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC);
            fd += 1;
        }
    }
}

/// Sends the guardian one line. It does not wait, and a guardian that is gone raises no `SIGPIPE`.
pub(super) fn tell(guardian: RawFd, sign: u8, group: i32) {
    let mut line = [0_u8; 16];
    let mut at = line.len();
    let mut rest = group.unsigned_abs();
    // Written from the end: at most ten digits, a sign and a line feed.
    let mut put = |byte: u8| {
        at = at.wrapping_sub(1);
        if let Some(place) = line.get_mut(at) {
            *place = byte;
        }
    };
    put(b'\n');
    loop {
        put(b'0' | (rest % 10) as u8);
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    put(sign);
    if let Some(text) = line.get(at..) {
        // SAFETY: the text is readable for its length.
        unsafe {
            libc::send(guardian, text.as_ptr().cast(), text.len(), libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT);
        }
    }
}

pub(super) fn errno() -> i32 {
    // Reads a number; allocates nothing.
    io::Error::last_os_error().raw_os_error().unwrap_or(0)
}
