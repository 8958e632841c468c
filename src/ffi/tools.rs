//! Lists of tools, and tools.

use libc::size_t;
use std::ffi::c_char;
use std::sync::{Arc, OnceLock};

use crate::ffi::guard::Work;
use crate::ffi::types::{tn_context, tn_queue, tn_result, tn_status, tn_tool, tn_tools};
use crate::ffi::{context, guard, handle, text};
use crate::hosted;
use crate::outcome::{Failure, Outcome, Text};
use crate::queue::Queue;
use crate::schema::{self, Provider};
use crate::tool::{self, Arguments, Tool};

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

/// The tool that a handle names.
pub fn get(tool: *const tn_tool) -> Result<Arc<Tool>, Failure> {
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
    // Made inside the guard: what is asked for below is there.
    let list = guard::value(None, || Some(list(tools).ok().inspect(|list| _ = list.json())));
    // SAFETY: the caller's promise. The text lives in the list, which the host's reference keeps.
    unsafe { text::out(list.as_deref().map(ToolsObject::json), len) }
}

/// The tools in the form of a provider of models:
///
///     openai      [{"type":"function","function":{"name":"…","description":"…","parameters":{…}}}]
///     anthropic   [{"name":"…","description":"…","input_schema":{…}}]
///     gemini      [{"functionDeclarations":[{"name":"…","description":"…","parameters":{…}}]}]
///
/// The schemas are those of tn_tool_json, byte for byte.
///
/// @param tools     a list
/// @param provider  "openai", "anthropic" or "gemini"
/// @return          a result, yours to free, whose document is the array: TN_E_ARGUMENT (NULL, or no such provider),
///                  TN_E_UTF8, TN_E_HANDLE
///
/// Any thread. Never blocks.
///
/// # Safety
/// `provider` is NULL or ends with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tn_tools_schema(tools: *const tn_tools, provider: *const c_char) -> *mut tn_result {
    guard::result(|| {
        let list = list(tools)?;
        // SAFETY: the caller's promise.
        let provider = Provider::named(unsafe { text::required(provider, "provider") }?)?;
        Ok(Outcome::document(schema::schema(&list.tools, provider)))
    })
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
    // Made inside the guard: what is asked for below is there.
    let tool = guard::value(None, || Some(get(tool).ok().inspect(|tool| _ = tool.document())));
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
    guard::submit_tool(queue, id, || unsafe { execute(tool, arguments, context) })
}

/// # Safety
/// `arguments` is NULL or ends with a NUL.
unsafe fn execute(tool: *const tn_tool, arguments: *const c_char, context: *mut tn_context) -> Result<Work, Failure> {
    let tool = get(tool)?;
    let limits = context::limits(context)?;
    // SAFETY: the caller's promise.
    match unsafe { text::optional(arguments, "arguments") }.and_then(Arguments::parse) {
        Ok(arguments) => Ok(tool.run(arguments, limits)),
        Err(failure) => Ok(Box::pin(std::future::ready(Ok(tool::refused(failure))))),
    }
}

/// Makes a tool that the host runs. Use it as any other: execute it, register it in a toolkit.
///
///     {"name":"add","description":"Adds two numbers.","inputSchema":{"type":"object","properties":{…}},
///      "hints":{"readOnly":true}}
///
/// `name` is 1 to 64 of A-Z a-z 0-9 _ and -; the rest may be left out. `hints` are readOnly, destructive, idempotent and openWorld,
/// true or false. In tn_tool_json the tool's `source` is `native`.
///
/// Each call arrives in `calls` as TN_EVENT_CALL with the document {"id":9,"tool":"add","arguments":{…}}, and waits for
/// tn_answer(9, …) with {"output":"3"}, and optionally `isError` (true or false), `metadata` (an object) and `parts` (a list of
/// objects with `data` or `url`). That is the call's result. An answer that does not fit is refused and leaves the call open.
///
/// A call that is not answered ends with TN_E_TIMEOUT when the context's time-out (300 s if it has none) or deadline has
/// passed, or with TN_E_CANCELLED; then TN_EVENT_CANCEL with its id says that it is no longer wanted, or, if nobody has taken
/// its event, that goes from `calls`. When `calls` is closed or freed its calls end with TN_E_CLOSED, and nothing more is
/// said. Serve `calls` from a thread that does not itself wait in such a call.
///
/// @param spec   what the tool is, a JSON object
/// @param calls  where its calls arrive; the reference stays yours to free, and freeing it ends the calls
/// @return       a result, yours to free, whose document is that of tn_tool_json; take the tool with tn_result_take_tool.
///               TN_E_ARGUMENT (NULL, or a key that is unknown, missing or wrong: the message names it), TN_E_UTF8, TN_E_JSON,
///               TN_E_HANDLE
///
/// Any thread. Never blocks.
///
/// # Safety
/// `spec` is NULL or ends with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tn_tool_create(spec: *const c_char, calls: *mut tn_queue) -> *mut tn_result {
    guard::result(|| {
        let calls = handle::get::<Queue>(guard::handle_of(calls), "calls")?;
        // SAFETY: the caller's promise.
        let tool = hosted::create(unsafe { text::required(spec, "spec") }?, calls)?;
        Ok(Outcome::document(tool.document().as_str().to_owned()).making(Arc::new(tool)))
    })
}
