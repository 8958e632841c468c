//! The library's threads, and what it owes the host about signals and `fork()`.
//!
//! One I/O thread runs every future on a `current_thread` tokio runtime; two permanent threads start processes (a
//! child's parent-death signal fires when the *thread* that forked it ends). All of them are started on first use,
//! block every asynchronous signal, and end with [`shutdown`]. No signal handler is ever installed.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Once};
use std::task::Poll;
use std::thread::{JoinHandle, Thread};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::outcome::{Failure, Status};

/// How many threads start processes. Two let one start while the other waits for an `exec`.
const FORKERS: usize = 2;

/// How many names are looked up at once. The system's look-up blocks its thread.
const LOOK_UPS: usize = 2;

type Job = Box<dyn FnOnce() + Send>;

/// The running library. Ended by [`shutdown`]; the next use starts a new one.
pub struct Runtime {
    io: tokio::runtime::Handle,
    stop: Arc<Notify>,
    /// Set by [`shutdown`]: jobs that wait are dropped.
    stopping: Arc<AtomicBool>,
    forkers: Mutex<Option<Sender<Job>>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl std::fmt::Debug for Runtime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Runtime")
    }
}

static CURRENT: Mutex<Option<Arc<Runtime>>> = Mutex::new(None);
static FORKED: AtomicBool = AtomicBool::new(false);
static AT_FORK: Once = Once::new();

/// True in a process that was forked from one that used the library. Takes no lock.
#[inline]
pub fn is_forked() -> bool {
    FORKED.load(Ordering::Relaxed)
}

/// The failure every function reports in a forked child.
pub fn forked() -> Failure {
    Failure::new(
        Status::Forked,
        "this process was forked after toolnexus was used; load it in the child after exec, or fork before first use",
    )
}

/// The running library, started if it is not running.
pub fn get() -> Result<Arc<Runtime>, Failure> {
    if is_forked() {
        return Err(forked());
    }
    let mut current = CURRENT.lock();
    if let Some(runtime) = current.as_ref() {
        return Ok(runtime.clone());
    }
    let runtime = Arc::new(Runtime::start().map_err(|error| {
        Failure::new(Status::Internal, format!("the library could not start its threads: {error}"))
    })?);
    *current = Some(runtime.clone());
    Ok(runtime)
}

/// The running library, if it is running.
pub fn running() -> Option<Arc<Runtime>> {
    if is_forked() { None } else { CURRENT.lock().clone() }
}

/// Stops and joins every thread. What still runs on the I/O thread is dropped. Returns false if the time ran out.
pub fn shutdown(timeout: Duration) -> bool {
    let Some(runtime) = CURRENT.lock().take() else { return true };
    let until = Instant::now() + timeout;
    runtime.stopping.store(true, Ordering::Relaxed);
    runtime.stop.notify_one();
    runtime.forkers.lock().take();
    let mut ended = true;
    for thread in runtime.threads.lock().drain(..) {
        ended &= join(thread, until.saturating_duration_since(Instant::now()));
    }
    ended
}

/// Joins a thread that has been told to end. Returns false, and leaves it alone, if it does not end in time.
pub fn join(thread: JoinHandle<()>, timeout: Duration) -> bool {
    // Joining has no time-out of its own.
    let until = Instant::now() + timeout;
    while !thread.is_finished() && Instant::now() < until {
        std::thread::sleep(Duration::from_micros(200));
    }
    thread.is_finished() && thread.join().is_ok()
}

thread_local! {
    static IN_CALLBACK: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
    static GUARDED: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
    static ON_IO: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// True on the thread that runs the futures.
pub fn on_io_thread() -> bool {
    ON_IO.get()
}

/// Marks this thread as one that calls the host: blocking functions refuse to run on it.
pub fn enter_callbacks() {
    IN_CALLBACK.set(true);
}

/// True on a thread that calls the host.
pub fn in_callback() -> bool {
    IN_CALLBACK.get()
}

/// The failure of a blocking function inside a callback.
pub fn reentrant() -> Failure {
    Failure::new(
        Status::Reentrant,
        "this function blocks and cannot be called inside a callback of the library; hand the work to another thread",
    )
}

/// Runs `body`; a panic in it becomes a failure with the panic's message, and prints nothing.
pub fn catch<T>(body: impl FnOnce() -> T) -> Result<T, Failure> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !GUARDED.get() {
                before(info);
            }
        }));
    });
    let outer = GUARDED.replace(true);
    // Whatever the panic left half done is behind a lock that does not poison, and every such section is written so
    // that it is consistent between statements.
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body));
    GUARDED.set(outer);
    ended.map_err(|panic| internal(panic.as_ref()))
}

fn internal(panic: &(dyn std::any::Any + Send)) -> Failure {
    let text = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "unknown panic".to_owned());
    crate::log::at!(Error, "runtime", "internal error: {text}");
    Failure::new(Status::Internal, format!("internal error in toolnexus, please report it: {text}"))
}

/// A future whose panics become failures.
pub struct Caught<F>(pub F);

impl<F: Future + Unpin> Future for Caught<F> {
    type Output = Result<F::Output, Failure>;

    fn poll(mut self: Pin<&mut Self>, context: &mut std::task::Context<'_>) -> Poll<Self::Output> {
        match catch(|| Pin::new(&mut self.0).poll(context)) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(value)) => Poll::Ready(Ok(value)),
            Err(failure) => Poll::Ready(Err(failure)),
        }
    }
}

/// Where a blocking caller waits for the I/O thread.
struct Slot<T> {
    value: Mutex<Option<Result<T, Failure>>>,
    waiter: Thread,
}

/// Fills its slot, at the latest when it is dropped: nobody waits for work that is gone.
struct Filler<T>(Arc<Slot<T>>);

impl<T> Filler<T> {
    fn fill(&self, value: Result<T, Failure>) {
        let mut slot = self.0.value.lock();
        if slot.is_none() {
            *slot = Some(value);
            drop(slot);
            self.0.waiter.unpark();
        }
    }
}

impl<T> Drop for Filler<T> {
    fn drop(&mut self) {
        self.fill(Err(Failure::new(Status::Closed, "the library was shut down before the call ended")));
    }
}

/// Runs `future` on the I/O thread and waits for it on this one. Fails only where the work could not run to its end:
/// after a fork, inside a callback, at a shutdown, or by a panic.
pub fn wait<T: Send + 'static>(future: impl Future<Output = T> + Send + Unpin + 'static) -> Result<T, Failure> {
    if in_callback() {
        return Err(reentrant());
    }
    let runtime = get()?;
    let slot = Arc::new(Slot { value: Mutex::new(None), waiter: std::thread::current() });
    let filler = Filler(slot.clone());
    runtime.spawn(async move {
        let ended = Caught(future).await;
        filler.fill(ended);
    });
    drop(runtime);
    loop {
        if let Some(ended) = slot.value.lock().take() {
            return ended;
        }
        std::thread::park();
    }
}

impl Runtime {
    fn start() -> std::io::Result<Runtime> {
        let io = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            // Names of remote servers are looked up on these: they are started by the I/O thread, with its signal mask.
            .max_blocking_threads(LOOK_UPS)
            .thread_name("toolnexus-names")
            .build()?;
        let handle = io.handle().clone();
        let stop = Arc::new(Notify::new());
        let stopped = stop.clone();
        let mut threads = vec![thread("toolnexus-io", move || {
            ON_IO.set(true);
            io.block_on(stopped.notified());
            io.shutdown_background();
        })?];
        let (sender, receiver) = channel::<Job>();
        let receiver = Arc::new(Mutex::new(receiver));
        let stopping = Arc::new(AtomicBool::new(false));
        for index in 0..FORKERS {
            let receiver: Arc<Mutex<Receiver<Job>>> = receiver.clone();
            let stopping = stopping.clone();
            let started = thread(&format!("toolnexus-fork{index}"), move || {
                loop {
                    let job = receiver.lock().recv();
                    match job {
                        Ok(job) if !stopping.load(Ordering::Relaxed) => job(),
                        _ => break,
                    }
                }
            });
            // The threads that did start are not left behind.
            threads.push(started.inspect_err(|_| stop.notify_one())?);
        }
        Ok(Runtime { io: handle, stop, stopping, forkers: Mutex::new(Some(sender)), threads: Mutex::new(threads) })
    }

    /// Runs a future on the I/O thread.
    pub fn spawn<F>(&self, future: F) -> tokio::task::JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.io.spawn(future)
    }

    /// Runs `job` on a thread that lives as long as the library. It may block for as long as an `exec` takes.
    /// After [`shutdown`] the job is dropped unrun.
    pub fn on_fork_thread(&self, job: impl FnOnce() + Send + 'static) {
        if let Some(forkers) = self.forkers.lock().as_ref() {
            let _ = forkers.send(Box::new(job));
        }
    }
}

/// Starts a named thread that never gets one of the host's signals.
pub fn thread(name: &str, body: impl FnOnce() + Send + 'static) -> std::io::Result<JoinHandle<()>> {
    watch_forks();
    // The mask is inherited, so the new thread has it from its first instruction on.
    let before = block_signals();
    let started = std::thread::Builder::new().name(name.to_owned()).spawn(body);
    restore_signals(&before);
    started
}

/// From now on a forked child knows that it is one. Called wherever the library begins to hold something: a reference, a
/// thread, a descriptor.
pub fn watch_forks() {
    AT_FORK.call_once(install_fork_flag);
}

/// Called by the layers below the ABI that hold descriptors a forked child must not keep open. It runs in the child,
/// between `fork` and the child's own code: async-signal-safe calls only.
pub fn set_fork_hook(hook: fn()) {
    HOOK.store(hook as *mut (), Ordering::Release);
}

static HOOK: std::sync::atomic::AtomicPtr<()> = std::sync::atomic::AtomicPtr::new(std::ptr::null_mut());

fn install_fork_flag() {
    // SAFETY: the handler only stores to atomics and calls a hook that is bound to the same rule.
    unsafe {
        libc::pthread_atfork(None, None, Some(in_child));
    }
}

extern "C" fn in_child() {
    FORKED.store(true, Ordering::Relaxed);
    let hook = HOOK.load(Ordering::Acquire);
    if !hook.is_null() {
        // SAFETY: the pointer was stored from a `fn()` in `set_fork_hook` and nowhere else.
        let hook: fn() = unsafe { std::mem::transmute(hook) };
        hook();
    }
}

/// Blocks every asynchronous signal in this thread and returns the mask it had.
fn block_signals() -> libc::sigset_t {
    // SAFETY: both sets are initialised before they are read. The synchronous signals stay deliverable, since a
    // fault must end the process (or reach the host's crash handler) instead of hanging the thread.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        for signal in
            [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGABRT, libc::SIGSYS]
        {
            libc::sigdelset(&mut all, signal);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        before
    }
}

fn restore_signals(mask: &libc::sigset_t) {
    // SAFETY: `mask` came from `block_signals`.
    unsafe {
        libc::pthread_sigmask(libc::SIG_SETMASK, mask, std::ptr::null_mut());
    }
}
