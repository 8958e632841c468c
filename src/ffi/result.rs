//! What a call answers with.

use libc::size_t;
use std::ffi::c_char;
use std::sync::Arc;

use crate::ffi::types::{tn_mcp, tn_result, tn_status, tn_tool, tn_toolkit};
use crate::ffi::{guard, handle, text};
use crate::mcp::source::Source;
use crate::outcome::{Outcome, Status};
use crate::runtime;
use crate::tool::Tool;
use crate::toolkit::Toolkit;

const FORKED_TEXT: &std::ffi::CStr =
    c"this process was forked from one that had used toolnexus; use it in the parent, or exec first";
const FORKED_JSON: &std::ffi::CStr = c"{\"error\":{\"code\":\"forked\",\"message\":\"this process was forked from one \
that had used toolnexus; use it in the parent, or exec first\"}}";

fn get(result: *const tn_result) -> Result<Arc<Outcome>, Status> {
    if runtime::is_forked() {
        return Err(Status::Forked);
    }
    handle::get::<Outcome>(guard::handle_of(result), "result").map_err(|failure| failure.status)
}

/// The error flag: true if the call failed, or if the tool ran and reported failure (then the status is TN_OK).
///
/// @param result  a result; true for NULL and for a reference that is not good
///
/// Any thread. Never blocks.
#[unsafe(no_mangle)]
pub extern "C" fn tn_result_is_error(result: *const tn_result) -> bool {
    get(result).map_or(true, |result| result.is_error)
}

/// What kind of outcome it is. TN_OK with the error flag set means that the tool ran and reported failure.
///
/// @param result  a result; TN_E_ARGUMENT for NULL, TN_E_HANDLE for a reference that is not good
///
/// Any thread. Never blocks.
#[unsafe(no_mangle)]
pub extern "C" fn tn_result_status(result: *const tn_result) -> tn_status {
    get(result).map_or_else(|status| status, |result| result.status) as tn_status
}

/// The text for the model: what the tool said, or, if the call failed, the message of the failure. It can hold NUL
/// characters, so use `len`. It is made when first asked for: results that nobody reads cost nothing.
///
/// @param result  a result
/// @param len     gets the length in bytes without the NUL at the end; may be NULL
/// @return        UTF-8 that lives as long as this reference; never NULL: an empty string for NULL and for a reference
///                that is not good
///
/// Any thread. Never blocks.
///
/// # Safety
/// `len` is NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tn_result_output(result: *const tn_result, len: *mut size_t) -> *const c_char {
    // SAFETY: `len` is the caller's promise.
    unsafe { string(result, len, Outcome::output, FORKED_TEXT) }
}

/// The whole outcome as JSON, made when first asked for. A tool's:
///
///     {"output":"…","isError":false,"metadata":{"server":"…","tool":"…","ms":12},"structured":…,
///      "parts":[{"type":"image","mimeType":"image/png","content":1}],"content":[…]}
///
/// `content` and `structured` are the server's own, byte for byte; each of `parts` points at its element of `content`.
/// `warnings` in `metadata`, if there are any, say what was not understood, and where `structured` is not what the tool's
/// outputSchema says: that is checked now, on this thread.
/// A call that failed adds "error":{"code":"timeout","message":"…","phase":"call","server":"…","data":{…}}. Other calls
/// have the document that their function describes, or {"error":{…}}.
///
/// @param result  a result
/// @param len     gets the length in bytes without the NUL at the end; may be NULL
/// @return        as for tn_result_output; the JSON holds no NUL character
///
/// Any thread. Never blocks.
///
/// # Safety
/// `len` is NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tn_result_json(result: *const tn_result, len: *mut size_t) -> *const c_char {
    // SAFETY: `len` is the caller's promise.
    unsafe { string(result, len, Outcome::json, FORKED_JSON) }
}

/// # Safety
/// `len` is NULL or may be written.
unsafe fn string(
    result: *const tn_result,
    len: *mut size_t,
    which: fn(&Outcome) -> &crate::outcome::Text,
    forked: &'static std::ffi::CStr,
) -> *const c_char {
    let constant = |text: &'static std::ffi::CStr| {
        if !len.is_null() {
            // SAFETY: the caller's promise.
            unsafe { len.write(text.count_bytes()) };
        }
        text.as_ptr()
    };
    match get(result) {
        // A forked child gets the constant result, and nothing else answers there.
        Err(Status::Forked) => constant(if guard::handle_of(result) == handle::FORKED { forked } else { c"" }),
        Err(_) => constant(c""),
        Ok(object) => {
            // SAFETY: the caller's promise. The text lives in the object, which the host's reference keeps.
            runtime::catch(|| unsafe { text::out(Some(which(&object)), len) }).unwrap_or_else(|_| constant(c""))
        }
    }
}

/// Takes the source that a load made. It is given once; the result's other contents stay.
///
/// @param result  the result of tn_mcp_load
/// @return        a new reference: give it back with tn_free. NULL the second time, and if the result holds none
///
/// Any thread. Never blocks.
#[unsafe(no_mangle)]
pub extern "C" fn tn_result_take_mcp(result: *mut tn_result) -> *mut tn_mcp {
    guard::value(std::ptr::null_mut(), || Some(guard::pointer(handle::new(get(result).ok()?.take::<Source>()?))))
}

/// Takes the toolkit that a tn_toolkit_create made. It is given once; the result's other contents stay.
///
/// @param result  the result of tn_toolkit_create
/// @return        a new reference: give it back with tn_free. NULL the second time, and if the result holds none
///
/// Any thread. Never blocks.
#[unsafe(no_mangle)]
pub extern "C" fn tn_result_take_toolkit(result: *mut tn_result) -> *mut tn_toolkit {
    guard::value(std::ptr::null_mut(), || Some(guard::pointer(handle::new(get(result).ok()?.take::<Toolkit>()?))))
}

/// Takes the tool that a tn_tool_create made. It is given once; the result's other contents stay.
///
/// @param result  the result of tn_tool_create
/// @return        a new reference: give it back with tn_free. NULL the second time, and if the result holds none
///
/// Any thread. Never blocks.
#[unsafe(no_mangle)]
pub extern "C" fn tn_result_take_tool(result: *mut tn_result) -> *mut tn_tool {
    guard::value(std::ptr::null_mut(), || Some(guard::pointer(handle::new(get(result).ok()?.take::<Tool>()?))))
}
