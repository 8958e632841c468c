//! What every export does first and last.
//!
//! First it looks whether this is a forked child, before any lock is taken: another thread of the parent may have held
//! it. Last it turns a panic into `TN_E_INTERNAL`: unwinding into C is undefined.

use std::sync::Arc;

use crate::ffi::handle;
use crate::ffi::types::{tn_queue, tn_result, tn_status};
use crate::outcome::{Failure, Outcome, Status};
use crate::queue::Queue;
use crate::runtime;
use crate::submit;
use crate::tool;

/// An export that answers with a result. Never NULL.
pub fn result(body: impl FnOnce() -> Result<Outcome, Failure>) -> *mut tn_result {
    if runtime::is_forked() {
        return pointer(handle::FORKED);
    }
    let outcome = match runtime::catch(body) {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(failure)) | Err(failure) => Outcome::from(failure),
    };
    pointer(handle::new(Arc::new(outcome)))
}

/// An export that answers with a status.
pub fn status(body: impl FnOnce() -> Result<(), Failure>) -> tn_status {
    if runtime::is_forked() {
        return Status::Forked as tn_status;
    }
    let status = match runtime::catch(body) {
        Ok(Ok(())) => Status::Ok,
        Ok(Err(failure)) | Err(failure) => failure.status,
    };
    status as tn_status
}

/// An export whose answer has a null value: what `body` has to say, or `null`.
pub fn value<T>(null: T, body: impl FnOnce() -> Option<T>) -> T {
    if runtime::is_forked() {
        return null;
    }
    runtime::catch(body).ok().flatten().unwrap_or(null)
}

pub use crate::submit::Work;

/// An export that blocks: prepares its work, runs it on the I/O thread and waits for the outcome.
pub fn block(prepare: impl FnOnce() -> Result<Work, Failure>) -> *mut tn_result {
    result(|| {
        // Refused before anything is prepared: a refused call has no effect.
        if runtime::in_callback() {
            return Err(runtime::reentrant());
        }
        runtime::wait(prepare()?)?
    })
}

/// The twin of such an export: the outcome arrives in `queue` under `id`. It fails only for its queue.
pub fn submit(queue: *mut tn_queue, id: u64, prepare: impl FnOnce() -> Result<Work, Failure>) -> tn_status {
    submit_or(Outcome::from, queue, id, prepare)
}

/// The same for a call of a tool: also one that is cancelled with its queue ends as a tool's result.
pub fn submit_tool(queue: *mut tn_queue, id: u64, prepare: impl FnOnce() -> Result<Work, Failure>) -> tn_status {
    submit_or(tool::refused, queue, id, prepare)
}

fn submit_or(
    failed: fn(Failure) -> Outcome,
    queue: *mut tn_queue,
    id: u64,
    prepare: impl FnOnce() -> Result<Work, Failure>,
) -> tn_status {
    status(|| {
        let ticket = handle::get::<Queue>(handle_of(queue), "queue")?.begin(id, failed)?;
        match runtime::catch(prepare).and_then(|work| work) {
            Ok(work) => submit::start(work, ticket),
            Err(failure) => ticket.complete(failure.into()),
        }
        Ok(())
    })
}

/// A handle as C sees it.
pub fn pointer<T>(handle: u64) -> *mut T {
    // The value is a name. Nobody dereferences it, so it needs no provenance.
    std::ptr::without_provenance_mut(usize::try_from(handle).unwrap_or_default())
}

/// The handle in a pointer that C gave.
pub fn handle_of<T>(pointer: *const T) -> u64 {
    pointer.addr() as u64
}
