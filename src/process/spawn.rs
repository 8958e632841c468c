//! Starts a server and hands out its pipes.

use std::ffi::{CString, c_char};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::ptr::null;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{oneshot, watch};

use super::child::{self, Plan, Report, Stack};
use super::end::Process;
use super::exit;
use super::fds::{self, PipeEnd};
use super::group::{self, Group};
use super::guardian::Lease;
use super::lookup;
use super::watch::{Life, Shared, Watcher, pidfd};
use crate::outcome::{Failure, Status};
use crate::runtime::{self, Runtime};

/// What to start.
#[derive(Clone, Debug, Default)]
pub struct Spec {
    /// The command, then its arguments. A command without a slash is looked for in the `PATH` of `env`.
    pub argv: Vec<String>,
    /// The whole environment; nothing is added.
    pub env: Vec<(String, String)>,
    /// Where it starts, and what a relative command is relative to. Otherwise the host's directory.
    pub cwd: Option<PathBuf>,
}

/// A started server. The pipe ends are non-blocking and close-on-exec.
#[derive(Debug)]
pub struct Spawned {
    pub stdin: PipeEnd,
    pub stdout: PipeEnd,
    pub stderr: PipeEnd,
    pub process: Arc<Process>,
}

/// Starts a server in its own session, so that it leads its own process group, with three pipes.
///
/// It has default signal dispositions, an empty signal mask, and no descriptor but its three. If the future is
/// dropped before it is ready, what it started is killed.
pub async fn spawn(spec: Spec) -> Result<Spawned, Failure> {
    let runtime = runtime::get()?;
    group::kill_at_exit();
    let (sender, receiver) = oneshot::channel();
    let starter = runtime.clone();
    let lease = Lease::take(&runtime);
    // The parent-death signal of a child fires when the thread that started it ends, so only these threads do.
    runtime.on_fork_thread(move || {
        // Nobody may want it any more when its turn comes, or when it has failed: then nobody waits for the lease either.
        let unwanted = if sender.is_closed() {
            Some(lease)
        } else {
            sender.send(start(&spec, &starter, lease)).err().and_then(|unsent| unsent.err()).map(|(_, lease)| lease)
        };
        if let Some(lease) = unwanted {
            starter.spawn(lease.end());
        }
    });
    match receiver.await {
        Ok(Ok(spawned)) => Ok(spawned),
        Ok(Err((failure, lease))) => {
            lease.end().await;
            Err(failure)
        }
        Err(_) => Err(Failure::new(Status::Closed, "the library is shutting down; no server is started any more")),
    }
}

/// With a failure comes the lease, whose end only the caller can await.
fn start(spec: &Spec, runtime: &Runtime, lease: Lease) -> Result<Spawned, (Failure, Lease)> {
    let started = Command::new(spec).and_then(|command| execute(spec, &command, &lease));
    let (pid, [stdin, stdout, stderr]) = match started {
        Ok(started) => started,
        Err(failure) => return Err((failure, lease)),
    };
    let shared = Arc::new(Shared { group: Group::new(pid), life: watch::Sender::new(Life::Running) });
    let watcher = Watcher { shared: shared.clone(), lease: Some(lease), pidfd: pidfd(pid) };
    runtime.spawn(watcher.run());
    Ok(Spawned { stdin, stdout, stderr, process: Arc::new(Process::new(shared)) })
}

/// Everything the child reads, made before there is a child.
struct Command {
    argv: Vec<CString>,
    env: Vec<CString>,
    paths: Vec<CString>,
    shown: Vec<String>,
    cwd: Option<CString>,
}

impl Command {
    fn new(spec: &Spec) -> Result<Command, Failure> {
        let name = spec.argv.first().map_or("", String::as_str);
        if name.is_empty() {
            return Err(lookup::failure("there is no command to start; give \"command\" a program".to_owned()));
        }
        let shown = lookup::paths(name, &spec.env);
        let mut argv = Vec::with_capacity(spec.argv.len());
        for (index, argument) in spec.argv.iter().enumerate() {
            let what = if index == 0 { "the command".to_owned() } else { format!("argument {index} of {name}") };
            argv.push(lookup::c_string(argument.clone(), &what)?);
        }
        let mut env = Vec::with_capacity(spec.env.len());
        for (key, value) in &spec.env {
            let what = format!("the environment variable {}", key.escape_debug());
            env.push(lookup::c_string(format!("{key}={value}"), &what)?);
        }
        let mut paths = Vec::with_capacity(shown.len());
        for path in &shown {
            paths.push(lookup::c_string(path.clone(), "PATH")?);
        }
        let cwd = match &spec.cwd {
            Some(cwd) => Some(
                CString::new(cwd.as_os_str().as_bytes())
                    .map_err(|_| lookup::failure("\"cwd\" has a NUL character in it; remove it".to_owned()))?,
            ),
            None => None,
        };
        Ok(Command { argv, env, paths, shown, cwd })
    }
}

/// The pointers to `texts`, ended by null.
fn pointers(texts: &[CString]) -> Vec<*const c_char> {
    texts.iter().map(|text| text.as_ptr()).chain([null()]).collect()
}

/// Runs the command in a new child. Returns its pid and our ends of its pipes.
fn execute(spec: &Spec, command: &Command, lease: &Lease) -> Result<(i32, [PipeEnd; 3]), Failure> {
    let no_pipe = |error: io::Error| lookup::no_room("a pipe to the server", &error);
    let (their_stdin, stdin) = fds::pipe().map_err(no_pipe)?;
    let (stdout, their_stdout) = fds::pipe().map_err(no_pipe)?;
    let (stderr, their_stderr) = fds::pipe().map_err(no_pipe)?;
    let (outcome, report) = fds::pipe().map_err(no_pipe)?;
    for end in [&stdin, &stdout, &stderr] {
        end.set_nonblocking().map_err(no_pipe)?;
    }
    let no_process = |error: io::Error| lookup::no_room("a process for the server", &error);
    let stack = Stack::new().map_err(no_process)?;
    let (argv, env, paths) = (pointers(&command.argv), pointers(&command.env), pointers(&command.paths));
    let mut plan = Plan {
        argv: argv.as_ptr(),
        env: env.as_ptr(),
        paths: paths.as_ptr(),
        cwd: command.cwd.as_ref().map_or(null(), |cwd| cwd.as_ptr()),
        stdio: [their_stdin.as_raw_fd(), their_stdout.as_raw_fd(), their_stderr.as_raw_fd()],
        report: report.as_raw_fd(),
        guardian: lease.socket(),
        // SAFETY: a plain call.
        host: unsafe { libc::getpid() },
        shared: AtomicBool::new(false),
    };
    // SAFETY: `server` keeps the rules of a child, and the plan and all it points to outlive the child's use of it.
    let pid = unsafe { child::start(child::server, (&raw mut plan).cast(), &stack).map_err(no_process)? };
    drop((their_stdin, their_stdout, their_stderr, report));
    // Where the memory was shared, the child has executed or ended, and all it had to say is in the pipe. Only
    // elsewhere must the pipe's end be waited for: a child the host forked at the wrong moment may hold it open.
    if plan.shared.load(Ordering::Relaxed) {
        outcome.set_nonblocking().map_err(no_process)?;
    }
    match read_report(&outcome) {
        None => Ok((pid, [stdin, stdout, stderr])),
        Some(report) => {
            lease.forget(pid);
            // It has nothing left to do but to end.
            while exit::look(pid).is_none() {
                std::thread::yield_now();
            }
            exit::reap(pid);
            Err(lookup::explain(spec, &command.shown, report))
        }
    }
}

fn read_report(from: &PipeEnd) -> Option<Report> {
    let mut report: Report = [0; 3];
    loop {
        // SAFETY: the buffer has room for as many bytes as are asked for.
        let read = unsafe { libc::read(from.as_raw_fd(), report.as_mut_ptr().cast(), size_of::<Report>()) };
        if read < 0 && child::errno() == libc::EINTR {
            continue;
        }
        return if usize::try_from(read) == Ok(size_of::<Report>()) { Some(report) } else { None };
    }
}
