//! Lists of tools, and tools.

use libc::size_t;
use std::ffi::c_char;
use std::sync::{Arc, OnceLock};

use crate::ffi::guard::Work;
use crate::ffi::types::{tn_context, tn_queue, tn_result, tn_status, tn_tool, tn_tools};
use crate::ffi::{context, guard, handle, text};
use crate::outcome::{Failure, Outcome, Text, ToolText};
use crate::tool::{Arguments, Tool};

/// What a `tn_tools` names: a snapshot.
#[derive(Debug)]
pub struct ToolsObject {
    tools: Vec<Arc<Tool>>,
    json: OnceLock<Text>,
}

impl ToolsObject {
    pub fn new(tools: Vec<Arc<Tool>>) -> Self {
        ToolsObject { tools, json: OnceLock::new() }
    }

    fn json(&self) -> &Text {
        self.json.get_or_init(|| {
            let documents: Vec<&str> = self.tools.iter().map(|tool| tool.document().as_str()).collect();
            Text::new(format!("[{}]", documents.join(",")))
        })
    }
}

fn list(tools: *const tn_tools) -> Result<Arc<ToolsObject>, Failure> {
    handle::get::<ToolsObject>(guard::handle_of(tools), "tools")
}

fn get(tool: *const tn_tool) -> Result<Arc<Tool>, Failure> {
    handle::get::<Tool>(guard::handle_of(tool), "tool")
}

/// How many tools the list has.
///
/// @param tools  a list; 0 for NULL and for a reference that is not good (tn_check tells)
///
/// Any thread. Never blocks.
#[unsafe(no_mangle)]
pub extern "C" fn tn_tools_len(tools: *const tn_tools) -> size_t {
    guard::value(0, || Some(list(tools).ok()?.tools.len()))
}

/// The tool at a place of the list.
///
/// @param tools  a list
/// @param index  from 0
/// @return       a new reference: give it back with tn_free; it outlives the list. NULL past the end, and if tools is not
///               good
///
/// Any thread. Never blocks.
#[unsafe(no_mangle)]
pub extern "C" fn tn_tools_get(tools: *const tn_tools, index: size_t) -> *mut tn_tool {
    guard::value(std::ptr::null_mut(), || {
        Some(guard::pointer(handle::new(list(tools).ok()?.tools.get(index)?.clone())))
    })
}

/// The tool of a name.
///
/// @param tools  a list
/// @param name   an exposed name, such as files_read
/// @return       a new reference: give it back with tn_free; it outlives the list. NULL if there is none, and if an argument
///               is not good
///
/// Any thread. Never blocks.
///
/// # Safety
/// `name` is NULL or ends with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tn_tools_find(tools: *const tn_tools, name: *const c_char) -> *mut tn_tool {
    guard::value(std::ptr::null_mut(), || {
        let list = list(tools).ok()?;
        // SAFETY: the caller's promise.
        let name = unsafe { text::required(name, "name") }.ok()?;
        let tool = list.tools.iter().find(|tool| tool.name().as_str() == name)?;
        Some(guard::pointer(handle::new(tool.clone())))
    })
}

/// The documents of all tools (see tn_tool_json) as one JSON array, made when first asked for.
///
/// @param tools  a list
/// @param len    gets the length in bytes without the NUL at the end; may be NULL
/// @return       UTF-8 that lives as long as this reference; NULL, length 0, if tools is not good
///
/// Any thread. Never blocks.
///
/// # Safety
/// `len` is NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tn_tools_json(tools: *const tn_tools, len: *mut size_t) -> *const c_char {
    let list = guard::value(None, || Some(list(tools).ok()));
    // SAFETY: the caller's promise. The text lives in the list, which the host's reference keeps.
    unsafe { text::out(list.as_deref().map(ToolsObject::json), len) }
}

/// The name under which the tool is exposed: for servers' tools server_tool, at most 64 of A-Z a-z 0-9 _ and -.
///
/// @param tool  a tool
/// @return      UTF-8 that lives as long as this reference; NULL if tool is not good
///
/// Any thread. Never blocks.
#[unsafe(no_mangle)]
pub extern "C" fn tn_tool_name(tool: *const tn_tool) -> *const c_char {
    guard::value(std::ptr::null(), || Some(get(tool).ok()?.name().as_ptr().cast()))
}

/// What the tool is, as JSON, made when first asked for:
///
///     {"name":"files_read","description":"…","inputSchema":{…},"source":"mcp","server":"files","originalName":"read",
///      "title":"…","outputSchema":{…},"hints":{"readOnly":true}}
///
/// `inputSchema` is the server's own, byte for byte, where it is usable. `hints` holds what the server's annotations say
/// (readOnly, destructive, idempotent, openWorld) and nothing else; they are claims, not facts.
///
/// @param tool  a tool
/// @param len   gets the length in bytes without the NUL at the end; may be NULL
/// @return      UTF-8 that lives as long as this reference; NULL, length 0, if tool is not good
///
/// Any thread. Never blocks.
///
/// # Safety
/// `len` is NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tn_tool_json(tool: *const tn_tool, len: *mut size_t) -> *const c_char {
    let tool = guard::value(None, || Some(get(tool).ok()));
    // SAFETY: the caller's promise. The text lives in the tool, which the host's reference keeps.
    unsafe { text::out(tool.as_ref().map(|tool| tool.document()), len) }
}

/// Calls a tool and waits for its result. BLOCKS. Every failure is a result whose output a model can read: hand
/// tn_result_output to it, whatever the status is.
///
///     tn_result *result = tn_tool_execute(tool, "{\"path\":\"a.txt\"}", NULL);
///     puts(tn_result_output(result, NULL));
///     tn_free(result);
///
/// @param tool       a tool
/// @param arguments  a JSON object, or NULL for {}; anything else is a result with TN_E_JSON
/// @param context    time-outs and cancellation, or NULL for the defaults: the server's `callTimeout` of silence (progress
///                   restarts it), one hour in all
/// @return           a result, yours to free. TN_OK: the tool ran, and the error flag says whether it failed. Else
///                   TN_E_ARGUMENT, TN_E_UTF8, TN_E_JSON, TN_E_HANDLE, TN_E_CANCELLED, TN_E_TIMEOUT, TN_E_CLOSED, TN_E_LIMIT,
///                   TN_E_SPAWN, TN_E_TRANSPORT, TN_E_PROTOCOL, TN_E_SERVER, TN_E_REENTRANT
///
/// Any thread, but no callback of the library.
///
/// # Safety
/// `arguments` is NULL or ends with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tn_tool_execute(
    tool: *const tn_tool,
    arguments: *const c_char,
    context: *mut tn_context,
) -> *mut tn_result {
    // SAFETY: the caller's promise.
    guard::block(|| unsafe { execute(tool, arguments, context) })
}

/// tn_tool_execute without blocking: its result arrives in `queue` as TN_EVENT_DONE with `id`.
///
/// @return  TN_OK, or what is wrong with `queue`: TN_E_ARGUMENT, TN_E_HANDLE, TN_E_CLOSED, TN_E_FORKED. Whatever else is
///          wrong arrives as the completion
///
/// Any thread. Never blocks.
///
/// # Safety
/// `arguments` is NULL or ends with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tn_tool_execute_submit(
    tool: *const tn_tool,
    arguments: *const c_char,
    context: *mut tn_context,
    queue: *mut tn_queue,
    id: u64,
) -> tn_status {
    // SAFETY: the caller's promise.
    guard::submit(queue, id, || unsafe { execute(tool, arguments, context) })
}

/// # Safety
/// `arguments` is NULL or ends with a NUL.
unsafe fn execute(tool: *const tn_tool, arguments: *const c_char, context: *mut tn_context) -> Result<Work, Failure> {
    let tool = get(tool)?;
    let limits = context::limits(context)?;
    // SAFETY: the caller's promise.
    match unsafe { text::optional(arguments, "arguments") }.and_then(Arguments::parse) {
        Ok(arguments) => Ok(tool.run(arguments, limits)),
        Err(failure) => Ok(Box::pin(std::future::ready(Ok(refused(failure))))),
    }
}

/// A call that did not reach its tool, as a tool's result.
fn refused(failure: Failure) -> Outcome {
    let output = failure.message.clone();
    ToolText { output, is_error: true, metadata: String::new(), failure: Some(failure) }.outcome()
}
