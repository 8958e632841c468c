//! Time-outs and cancellation.

use std::sync::Arc;

use crate::context::{Context, Limits, Progress};
use crate::ffi::types::{tn_context, tn_queue, tn_status};
use crate::ffi::{guard, handle, queue};
use crate::outcome::Failure;

/// The limits of a call that starts now with `context`, which may be NULL.
pub fn limits(context: *const tn_context) -> Result<Limits, Failure> {
    if context.is_null() { Ok(Limits::default()) } else { get(context).map(|context| context.limits()) }
}

fn get(context: *const tn_context) -> Result<Arc<Context>, Failure> {
    handle::get::<Context>(guard::handle_of(context), "context")
}

/// Makes a context: time-outs and a way to cancel, for any number of calls, one after the other or at once.
///
/// A call copies the times when it starts; a deadline counts from the start of each call. Cancelling reaches every call
/// that uses the context, and every later one. Freeing it cancels nothing.
///
///     tn_context *context = tn_context_new();
///     tn_context_set_timeout(context, 5000);
///     tn_result *result = tn_tool_execute(tool, "{}", context);
///
/// @return  a new reference: give it back with tn_free. NULL only in a forked child
///
/// Any thread. Never blocks.
#[unsafe(no_mangle)]
pub extern "C" fn tn_context_new() -> *mut tn_context {
    guard::value(std::ptr::null_mut(), || Some(guard::pointer(handle::new(Arc::new(Context::default())))))
}

/// Sets how long a call may be silent. Each progress notification of the call starts the time anew.
///
/// @param context  a context
/// @param idle_ms  milliseconds; 0 is the default: the server's `callTimeout`
/// @return         TN_OK, TN_E_ARGUMENT (NULL), TN_E_HANDLE or TN_E_FORKED
///
/// Any thread. Never blocks.
#[unsafe(no_mangle)]
pub extern "C" fn tn_context_set_timeout(context: *mut tn_context, idle_ms: u32) -> tn_status {
    guard::status(|| get(context).map(|context| context.set_idle(idle_ms)))
}

/// Sets how long a call may take in all, progress or not.
///
/// @param context   a context
/// @param total_ms  milliseconds; 0 is the default: one hour
/// @return          TN_OK, TN_E_ARGUMENT (NULL), TN_E_HANDLE or TN_E_FORKED
///
/// Any thread. Never blocks.
#[unsafe(no_mangle)]
pub extern "C" fn tn_context_set_deadline(context: *mut tn_context, total_ms: u32) -> tn_status {
    guard::status(|| get(context).map(|context| context.set_deadline(total_ms)))
}

/// Cancels every call that uses the context, now and later: each ends with TN_E_CANCELLED within milliseconds, and its
/// server is told. Calling it again has no effect. There is no way back: make a new context for new calls.
///
/// @param context  a context
/// @return         TN_OK, TN_E_ARGUMENT (NULL), TN_E_HANDLE or TN_E_FORKED
///
/// Any thread. Never blocks.
#[unsafe(no_mangle)]
pub extern "C" fn tn_context_cancel(context: *mut tn_context) -> tn_status {
    guard::status(|| get(context).map(|context| context.cancel()))
}

/// Has the progress of the calls that use the context arrive in a queue, as notices: {"kind":"progress","server":"…",
/// "progress":0.5,"total":1,"message":"…"}. The progress of a call comes before its completion, if both go to one queue.
///
/// @param context  a context
/// @param queue    the queue, or NULL for no progress
/// @param id       the id of the notices
/// @return         TN_OK, TN_E_ARGUMENT (context is NULL), TN_E_HANDLE or TN_E_FORKED
///
/// Any thread. Never blocks.
#[unsafe(no_mangle)]
pub extern "C" fn tn_context_set_progress(context: *mut tn_context, queue: *mut tn_queue, id: u64) -> tn_status {
    guard::status(|| {
        let queue = queue::optional(queue, "queue")?;
        get(context)?.set_progress(queue.map(|queue| Progress { queue, id }));
        Ok(())
    })
}
