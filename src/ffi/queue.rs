//! Queues: where submitted calls complete and events arrive.

use std::ffi::c_char;
use std::os::fd::{AsRawFd, IntoRawFd};
use std::sync::Arc;
use std::time::Duration;

use libc::size_t;

use crate::ask;
use crate::ffi::library::tn_drop_fn;
use crate::ffi::types::{tn_event, tn_event_fn, tn_queue, tn_result, tn_status};
use crate::ffi::{guard, handle, text};
use crate::outcome::{Failure, Outcome, Status};
use crate::process::PipeEnd;
use crate::process::fds;
use crate::queue::{Callback, Event, Most, Queue, Taken, Wake};
use crate::runtime;

/// About how much one document of tn_queue_take_json holds.
const DOCUMENT: usize = 1024 * 1024;

fn get(queue: *const tn_queue) -> Result<Arc<Queue>, Failure> {
    handle::get::<Queue>(guard::handle_of(queue), "queue")
}

/// A queue argument that may be NULL.
pub fn optional(queue: *const tn_queue, what: &str) -> Result<Option<Arc<Queue>>, Failure> {
    if queue.is_null() { Ok(None) } else { handle::get::<Queue>(guard::handle_of(queue), what).map(Some) }
}

/// Makes a queue to read: with tn_queue_take or tn_queue_take_json, from any number of threads, or when its socket
/// (tn_queue_fd) says that there is something.
///
/// @return  a new reference: give it back with tn_free, which ends the queue: unread results are freed, calls that were to
///          complete in it are cancelled, takers that wait get TN_E_CLOSED. NULL only in a forked child
///
/// Any thread. Never blocks.
#[unsafe(no_mangle)]
pub extern "C" fn tn_queue_new() -> *mut tn_queue {
    guard::value(std::ptr::null_mut(), || Some(guard::pointer(handle::new(Queue::new()))))
}

/// Makes a queue that calls a function for each event, one after the other, in order, on a thread of its own. A function
/// that takes long delays its own queue and nothing else.
///
/// @param call  the function. The event is valid during the call; its result is yours to free
/// @param user  a value for it
/// @param drop  called once, on that thread, after the last call; may be NULL. It runs when the queue was freed, or was closed
///              and everything that was to complete in it has
/// @return      a new reference: give it back with tn_free. No new call of `call` starts after that; one that runs ends by
///              itself. NULL if `call` is NULL, if no thread can be started (then `drop` is not called), in a forked child
///
/// In `call` and `drop` every function that blocks gives TN_E_REENTRANT; submitting, answering and freeing work, also
/// freeing this queue. They must not throw and not longjmp.
///
/// Any thread. Never blocks.
///
/// # Safety
/// `call` and `drop` can be called on any thread until `drop` was called.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tn_queue_with_callback(call: tn_event_fn, user: usize, drop: tn_drop_fn) -> *mut tn_queue {
    guard::value(std::ptr::null_mut(), || {
        let call = call?;
        // A callback that was never used is not told of its end.
        let queue = Queue::with_callback(HostCallback { call, user, drop }).map_err(std::mem::forget).ok()?;
        Some(guard::pointer(handle::new(queue)))
    })
}

struct HostCallback {
    call: unsafe extern "C" fn(user: usize, event: *const tn_event),
    user: usize,
    drop: tn_drop_fn,
}

impl Callback for HostCallback {
    fn event(&mut self, event: Event) {
        let event = export(event);
        // SAFETY: the host promised that it can be called on any thread; the event lives until the call returns.
        unsafe { (self.call)(self.user, &event) }
    }
}

impl Drop for HostCallback {
    fn drop(&mut self) {
        if let Some(drop) = self.drop {
            // SAFETY: as above, and this is the last call.
            unsafe { drop(self.user) }
        }
    }
}

fn export(event: Event) -> tn_event {
    let status = event.outcome.status as tn_status;
    let result = guard::pointer(handle::new(Arc::new(event.outcome)));
    tn_event { kind: event.kind as i32, status, id: event.id, result }
}

/// A socket to wait on (poll, epoll, kqueue, an event loop) beside the host's other descriptors. It gets a byte whenever the
/// queue goes from empty to not empty. When it is readable: read what it holds away, then take until fewer events come
/// than were asked for. End-of-file: nothing will come any more; the queue was freed, or was closed and is empty.
///
/// @param queue  a queue made with tn_queue_new
/// @return       a new stream socket, non-blocking and close-on-exec, yours to close; an earlier one of this queue gets
///               end-of-file. -1 if queue is not good, if it has a callback, if nothing will come any more, or if there are
///               no descriptors left
///
/// Any thread. Never blocks.
#[unsafe(no_mangle)]
pub extern "C" fn tn_queue_fd(queue: *mut tn_queue) -> i32 {
    guard::value(-1, || {
        let queue = get(queue).ok().filter(|queue| !queue.has_callback())?;
        let (ours, theirs) = fds::sockets().ok()?;
        theirs.set_nonblocking().ok()?;
        ours.set_nonblocking().ok()?;
        let theirs = theirs.into_owned().ok()?;
        queue.set_wake(Arc::new(Socket(ours))).then(|| theirs.into_raw_fd())
    })
}

/// The queue's end of the socket.
struct Socket(PipeEnd);

impl Wake for Socket {
    fn wake(&self) {
        // A full socket is readable already, and a host that closed its end wants no bytes.
        // SAFETY: one byte from a static; no signal is raised.
        unsafe {
            libc::send(self.0.as_raw_fd(), b"\x01".as_ptr().cast(), 1, libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT);
        }
    }
}

/// Takes events, waiting for the first one. BLOCKS, unless timeout_ms is 0.
///
///     tn_event events[16];
///     size_t count;
///     while (tn_queue_take(queue, events, 16, -1, &count) == TN_OK)
///       for (size_t i = 0; i < count; i++) { handle(&events[i]); tn_free(events[i].result); }
///
/// @param queue       a queue made with tn_queue_new
/// @param events      gets the events; each has a result that is yours to free
/// @param capacity    how many fit, at least 1
/// @param timeout_ms  how long to wait for the first: milliseconds, 0 not at all, -1 for ever; less is TN_E_ARGUMENT
/// @param count       gets how many came; 0 with TN_OK: the time is over
/// @return            TN_OK, TN_E_CLOSED (nothing will come any more), TN_E_ARGUMENT, TN_E_HANDLE, TN_E_REENTRANT, TN_E_FORKED
///
/// Any thread, several at once, but no callback of the library.
///
/// # Safety
/// `events` has room for `capacity` events; `count` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tn_queue_take(
    queue: *mut tn_queue,
    events: *mut tn_event,
    capacity: size_t,
    timeout_ms: i32,
    count: *mut size_t,
) -> tn_status {
    guard::status(|| {
        let bad = |what: &str| Failure::new(Status::Argument, what.to_owned());
        if count.is_null() {
            return Err(bad("count is NULL"));
        }
        // SAFETY: not NULL, and the caller promises that it may be written.
        unsafe { count.write(0) };
        if events.is_null() || capacity == 0 {
            return Err(bad("events is NULL or capacity is 0"));
        }
        let queue = get(queue)?;
        for (index, event) in taken(&queue, Most::events(capacity), timeout_ms)?.into_iter().enumerate() {
            // SAFETY: the queue gives at most `capacity` events, and the caller promises room for them.
            unsafe {
                events.add(index).write(export(event));
                count.write(index + 1);
            }
        }
        Ok(())
    })
}

fn taken(queue: &Queue, most: Most, timeout_ms: i32) -> Result<Vec<Event>, Failure> {
    if runtime::in_callback() {
        return Err(runtime::reentrant());
    }
    if queue.has_callback() {
        return Err(Failure::new(
            Status::Argument,
            "the queue hands its events to a callback: there is nothing to take",
        ));
    }
    let timeout = match timeout_ms {
        -1 => None,
        _ => Some(Duration::from_millis(u64::try_from(timeout_ms).map_err(|_| {
            let expected = "expected milliseconds, 0 (do not wait) or -1 (wait for ever)";
            Failure::new(Status::Argument, format!("timeout_ms is {timeout_ms}, {expected}"))
        })?)),
    };
    match queue.wait(most, timeout) {
        Taken::Events(events) => Ok(events),
        Taken::Closed => Err(Failure::new(Status::Closed, "the queue is closed: nothing will come any more")),
    }
}

/// The same as one JSON array, for languages in which a call costs more than reading text:
///
///     [{"kind":1,"id":7,"status":"TN_OK","isError":false,"json":{…the result's document…},"result":"4683743612465315840"}]
///
/// `result` is there only where the result holds an object to take; it is the tn_result as a decimal number, and yours to
/// free. An array holds about 1 MiB at most, but always at least one event.
///
/// @param queue       a queue made with tn_queue_new
/// @param timeout_ms  as for tn_queue_take
/// @return            a result, yours to free, whose document is the array: [] when the time is over. TN_E_CLOSED,
///                    TN_E_ARGUMENT, TN_E_HANDLE, TN_E_REENTRANT
///
/// Any thread, several at once, but no callback of the library.
#[unsafe(no_mangle)]
pub extern "C" fn tn_queue_take_json(queue: *mut tn_queue, timeout_ms: i32) -> *mut tn_result {
    guard::result(|| {
        let queue = get(queue)?;
        let events = taken(&queue, Most { events: usize::MAX, bytes: DOCUMENT }, timeout_ms)?;
        let mut json = String::from("[");
        for event in events {
            if json.len() > 1 {
                json.push(',');
            }
            write_event(event, &mut json);
        }
        json.push(']');
        Ok(Outcome::document(json))
    })
}

fn write_event(event: Event, json: &mut String) {
    let (kind, id, outcome) = (event.kind as i32, event.id, event.outcome);
    json.push_str(&format!(
        "{{\"kind\":{kind},\"id\":{id},\"status\":\"{}\",\"isError\":{},\"json\":",
        outcome.status.name(),
        outcome.is_error
    ));
    json.push_str(outcome.json().as_str());
    if outcome.has_made() {
        json.push_str(&format!(",\"result\":\"{}\"", handle::new(Arc::new(outcome))));
    }
    json.push('}');
}

/// Closes a queue: nothing can be submitted to it any more, and what is pending completes in it as TN_E_CANCELLED. What it
/// holds can still be taken; after the last event takers get TN_E_CLOSED. Closing again has no effect.
///
/// @param queue  a queue; its reference stays yours to free
/// @return       TN_OK, TN_E_ARGUMENT (NULL), TN_E_HANDLE or TN_E_FORKED
///
/// Any thread. Never blocks.
#[unsafe(no_mangle)]
pub extern "C" fn tn_queue_close(queue: *mut tn_queue) -> tn_status {
    guard::status(|| get(queue).map(|queue| queue.close()))
}

/// Answers a TN_EVENT_REQUEST or a TN_EVENT_CALL.
///
/// To a request of a server: {"ok":true,"data":{…}} accepts, with what was asked for; {"ok":false,"reason":"declined"} declines;
/// any other reason (`cancelled`, `expired`) cancels. `data` of a form is checked against the schema that came with it, and
/// what it lacks gets the schema's defaults. To a call of a host tool: {"output":"…"}, optionally with `isError`, `metadata` and
/// `parts`.
///
/// @param id      the id of the event
/// @param answer  the answer, a JSON object
/// @return        a result, yours to free. TN_E_NOT_FOUND: there is no such question, or it was answered or has ended.
///                TN_E_JSON, TN_E_ARGUMENT: the answer does not fit; the message says why, and the question stays open.
///                TN_E_UTF8
///
/// Any thread, also in callbacks. Never blocks.
///
/// # Safety
/// `answer` is NULL or ends with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tn_answer(id: u64, answer: *const c_char) -> *mut tn_result {
    guard::result(|| {
        // SAFETY: the caller's promise.
        ask::answer(id, unsafe { text::required(answer, "answer") }?)?;
        Ok(Outcome::document("{}".to_owned()))
    })
}
