//! The library as a whole.

use std::ffi::{CString, c_char, c_void};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::ffi::types::{TN_ABI_VERSION, tn_queue, tn_result, tn_status};
use crate::ffi::{guard, handle};
use crate::log::{self, Record, Sink};
use crate::mcp::source;
use crate::outcome::{Failure, Outcome, Status, quoted};
use crate::queue::Queue;
use crate::runtime;

/// The version of the ABI that the library has: major << 16 | minor. Before anything else compare it with TN_ABI_VERSION:
/// the majors must be equal, and the library's minor at least the header's.
///
/// Any thread. Never blocks.
#[unsafe(no_mangle)]
pub extern "C" fn tn_abi_version() -> u32 {
    TN_ABI_VERSION
}

/// The version of the library, such as "0.1.0". Static.
///
/// Any thread. Never blocks.
#[unsafe(no_mangle)]
pub extern "C" fn tn_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

/// The name of a status, such as "TN_E_TIMEOUT". Static, never NULL: "TN_E_INTERNAL" for a number that is none.
///
/// Any thread. Never blocks.
#[unsafe(no_mangle)]
pub extern "C" fn tn_status_name(status: tn_status) -> *const c_char {
    let all: [(Status, &std::ffi::CStr); 19] = [
        (Status::Ok, c"TN_OK"),
        (Status::Argument, c"TN_E_ARGUMENT"),
        (Status::Utf8, c"TN_E_UTF8"),
        (Status::Json, c"TN_E_JSON"),
        (Status::Handle, c"TN_E_HANDLE"),
        (Status::Reentrant, c"TN_E_REENTRANT"),
        (Status::Forked, c"TN_E_FORKED"),
        (Status::Config, c"TN_E_CONFIG"),
        (Status::NotFound, c"TN_E_NOT_FOUND"),
        (Status::Cancelled, c"TN_E_CANCELLED"),
        (Status::Timeout, c"TN_E_TIMEOUT"),
        (Status::Closed, c"TN_E_CLOSED"),
        (Status::Limit, c"TN_E_LIMIT"),
        (Status::Spawn, c"TN_E_SPAWN"),
        (Status::Transport, c"TN_E_TRANSPORT"),
        (Status::Protocol, c"TN_E_PROTOCOL"),
        (Status::Server, c"TN_E_SERVER"),
        (Status::Auth, c"TN_E_AUTH"),
        (Status::Internal, c"TN_E_INTERNAL"),
    ];
    let found = all.iter().find(|(known, _)| *known as tn_status == status);
    found.map_or(c"TN_E_INTERNAL", |(_, name)| name).as_ptr()
}

/// Whether a reference is good.
///
/// @param object  any reference of the library, or any other value: it is not dereferenced
/// @return        TN_OK; TN_E_ARGUMENT for NULL; TN_E_HANDLE if it was freed or is not the library's; TN_E_FORKED
///
/// Any thread. Never blocks.
#[unsafe(no_mangle)]
pub extern "C" fn tn_check(object: *const c_void) -> tn_status {
    guard::status(|| match handle::check(guard::handle_of(object)) {
        Status::Ok => Ok(()),
        bad => Err(Failure::new(bad, "")),
    })
}

/// Gives a reference back, whatever it names. Every pointer to a tn_ type that the library returns is a reference of its own
/// and is given back once. Strings that were asked of it end with it.
///
/// Freeing twice, or something that is not the library's, is found out and logged; it damages nothing. A source closes in
/// the background when its last reference goes.
///
/// @param object  a reference, or NULL
///
/// Any thread, also in finalizers and callbacks. Never blocks. Does nothing in a forked child.
#[unsafe(no_mangle)]
pub extern "C" fn tn_free(object: *mut c_void) {
    guard::value((), || {
        handle::free(guard::handle_of(object));
        Some(())
    });
}

/// Gets one record of the log: the `user` value given with it, the level (1 error, 2 warning, 3 info, 4 debug, 5 trace), the
/// part of the library, and the message. The strings end with the call.
pub type tn_log_fn =
    Option<unsafe extern "C" fn(user: usize, level: i32, target: *const c_char, message: *const c_char)>;
/// Told once that a `user` value is no longer in use.
pub type tn_drop_fn = Option<unsafe extern "C" fn(user: usize)>;

/// Sends the library's log to a function, in place of where it went before. Without it warnings and errors go to standard
/// error.
///
/// @param level  the least important level to send: 0 nothing, 1 errors, 2 warnings, 3 info, 4 debug, 5 trace; else
///               TN_E_ARGUMENT
/// @param log    the function, or NULL for standard error (warnings and worse at most)
/// @param user   a value for it
/// @param drop   called once when the library has made its last call with `user`; may be NULL. Not called if this fails
/// @return       TN_OK, TN_E_ARGUMENT or TN_E_FORKED
///
/// `log` and `drop` run on a thread of the library, one record at a time, in order, never inside another call. In them every
/// function that blocks gives TN_E_REENTRANT. They must not throw and not longjmp.
///
/// Any thread. Never blocks.
///
/// # Safety
/// `log` and `drop` can be called on any thread until `drop` was called.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tn_log_to_callback(level: i32, log: tn_log_fn, user: usize, drop: tn_drop_fn) -> tn_status {
    guard::status(|| {
        let level = level_of(level)?;
        let sink = Arc::new(Callback { log, user, drop });
        if log.is_some() {
            log::set(level, Some(sink));
        } else {
            log::set(level, None);
            // Without a function there is a user value all the same, and its end is told where every other is.
            log::retire(sink);
        }
        Ok(())
    })
}

struct Callback {
    log: tn_log_fn,
    user: usize,
    drop: tn_drop_fn,
}

impl Sink for Callback {
    fn record(&self, record: &Record) {
        let c_string = |text: &str| CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default();
        let (target, message) = (c_string(record.target), c_string(&record.message));
        if let Some(log) = self.log {
            // SAFETY: the host promised that it can be called on any thread until `drop`; the strings live until the call
            // returns.
            unsafe { log(self.user, record.level as i32, target.as_ptr(), message.as_ptr()) }
        }
    }
}

impl Drop for Callback {
    fn drop(&mut self) {
        if let Some(drop) = self.drop {
            // SAFETY: as above, and this is the last call.
            unsafe { drop(self.user) }
        }
    }
}

/// Sends the library's log to a queue, as notices: {"kind":"log","level":2,"target":"…","message":"…"}, with the id 0.
///
/// @param level  as for tn_log_to_callback
/// @param queue  the queue. While it is closed or freed the records are lost
/// @return       TN_OK, TN_E_ARGUMENT, TN_E_HANDLE or TN_E_FORKED
///
/// Any thread. Never blocks.
#[unsafe(no_mangle)]
pub extern "C" fn tn_log_to_queue(level: i32, queue: *mut tn_queue) -> tn_status {
    guard::status(|| {
        let queue = handle::get::<Queue>(guard::handle_of(queue), "queue")?;
        log::set(level_of(level)?, Some(Arc::new(ToQueue(queue))));
        Ok(())
    })
}

struct ToQueue(Arc<Queue>);

impl Sink for ToQueue {
    fn record(&self, record: &Record) {
        let (level, target) = (record.level as u8, record.target);
        let message = quoted(&record.message);
        self.0.notice(0, format!("\"kind\":\"log\",\"level\":{level},\"target\":\"{target}\",\"message\":{message}"));
    }
}

fn level_of(level: i32) -> Result<u8, Failure> {
    u8::try_from(level)
        .ok()
        .filter(|level| *level <= 5)
        .ok_or_else(|| Failure::new(Status::Argument, format!("level is {level}, expected 0 (off) to 5 (trace)")))
}

/// Ends everything, for tests and for the end of main: closes every source (calls under way end with TN_E_CLOSED) and stops
/// every thread. BLOCKS. References stay yours to free; a later call starts the library anew.
///
/// The document counts the references that were not given back: {"live":{"tool":3}}. It is {"live":{}} when nothing leaked.
///
/// @param timeout_ms  how long it may take. What has not ended by then goes on ending, and the result is TN_E_TIMEOUT
/// @return            a result, yours to free: TN_E_TIMEOUT, TN_E_REENTRANT
///
/// Any thread, but no callback of the library.
#[unsafe(no_mangle)]
pub extern "C" fn tn_shutdown(timeout_ms: u32) -> *mut tn_result {
    /// A second shutdown would stop the threads while the first one waits for the sources.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    guard::result(|| {
        let until = Instant::now() + Duration::from_millis(timeout_ms.into());
        let left = || until.saturating_duration_since(Instant::now());
        if runtime::in_callback() {
            return Err(runtime::reentrant());
        }
        let turn = ONE_AT_A_TIME.try_lock_until(until);
        let mut ended = turn.is_some();
        if ended {
            let _shut = source::shut();
            if runtime::running().is_some() {
                ended &= runtime::wait(Box::pin(source::close_all(left())))?;
            }
            // What was pending has completed; the queues hand it out and end.
            ended &= Queue::shut_down_all(until);
            ended &= runtime::shutdown(left());
            ended &= log::shutdown(until);
        }
        let counts: Vec<String> =
            handle::live().into_iter().map(|(kind, count)| format!("\"{kind}\":{count}")).collect();
        if !ended {
            return Err(Failure::new(
                Status::Timeout,
                format!("the shutdown took longer than {timeout_ms} ms; live: {{{}}}", counts.join(",")),
            ));
        }
        Ok(Outcome::document(format!("{{\"live\":{{{}}}}}", counts.join(","))))
    })
}
