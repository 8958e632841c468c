//! Many sources of tools as one.

use std::ffi::c_char;
use std::sync::Arc;

use crate::ffi::guard::Work;
use crate::ffi::tools::ToolsObject;
use crate::ffi::types::{tn_context, tn_mcp, tn_queue, tn_result, tn_status, tn_tool, tn_toolkit, tn_tools};
use crate::ffi::{config, context, guard, handle, queue, text, tools};
use crate::mcp::source::Source;
use crate::outcome::{Failure, Outcome, quoted};
use crate::tool;
use crate::toolkit::{Options, Toolkit};

fn get(toolkit: *const tn_toolkit) -> Result<Arc<Toolkit>, Failure> {
    handle::get::<Toolkit>(guard::handle_of(toolkit), "toolkit")
}

/// Makes a toolkit: the tools of an mcp.json, and beside them what is registered later. BLOCKS until every server is
/// connected or has failed; without a config it waits for nothing.
///
/// Options, a JSON object:
///
///     {"mcpConfig":{"mcpServers":{…}},"mcpOptions":{…},"builtins":false,"disableTools":["files_write"]}
///
/// `mcpConfig` is the config, as an object, as text or as a path; `mcpOptions` what tn_mcp_load takes as options. `disableTools`
/// names tools that the toolkit has not, whoever brings them. There are no built-in tools, so `builtins` can only be false.
///
/// The document is that of tn_mcp_load; without a config {"servers":{},"warnings":[]}. Take the toolkit with
/// tn_result_take_toolkit; freeing a result that still holds it closes its source.
///
///     tn_result *made = tn_toolkit_create("{\"mcpConfig\":\"mcp.json\"}", NULL, NULL);
///     tn_toolkit *toolkit = tn_result_take_toolkit(made);
///
/// @param options  the options, or NULL for a toolkit without servers. An unknown key is TN_E_ARGUMENT
/// @param events   as for tn_mcp_load
/// @param context  as for tn_mcp_load
/// @return         a result, yours to free; it fails as tn_mcp_load does
///
/// Any thread, but no callback of the library.
///
/// # Safety
/// `options` is NULL or ends with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tn_toolkit_create(
    options: *const c_char,
    events: *mut tn_queue,
    context: *mut tn_context,
) -> *mut tn_result {
    // SAFETY: the caller's promise.
    guard::block(|| unsafe { create(options, events, context) })
}

/// tn_toolkit_create without blocking: its result arrives in `queue` as TN_EVENT_DONE with `id`.
///
/// @return  TN_OK, or what is wrong with `queue`: TN_E_ARGUMENT, TN_E_HANDLE, TN_E_CLOSED, TN_E_FORKED
///
/// Any thread. Never blocks, but for reading the config.
///
/// # Safety
/// `options` is NULL or ends with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tn_toolkit_create_submit(
    options: *const c_char,
    events: *mut tn_queue,
    context: *mut tn_context,
    queue: *mut tn_queue,
    id: u64,
) -> tn_status {
    // SAFETY: the caller's promise.
    guard::submit(queue, id, || unsafe { create(options, events, context) })
}

/// # Safety
/// `options` is NULL or ends with a NUL.
unsafe fn create(options: *const c_char, events: *mut tn_queue, context: *mut tn_context) -> Result<Work, Failure> {
    let events = queue::optional(events, "events")?;
    // SAFETY: the caller's promise.
    let options = Options::parse(unsafe { text::optional(options, "options") }?)?;
    let config = options.config.as_deref().map(|config| config::parse(config, &options.load)).transpose()?;
    let limits = context::limits(context)?;
    Ok(Box::pin(async move {
        let source = match config {
            Some(config) => Some(Source::load(config, options.load, events, limits).await?),
            None => None,
        };
        let toolkit = Toolkit::new(source, options.disabled);
        Ok(Outcome::document(toolkit.status()).making(toolkit))
    }))
}

/// Adds a tool: one of the host's (tn_tool_create), a resource tool, or one of another source.
///
/// A name that is taken stays with the tool that has it. That is no failure: the document says what became of it.
///
///     {"registered":true,"warnings":[]}
///     {"registered":false,"warnings":["tool \"add\" is not registered: a tool of this name was registered before"]}
///
/// A server that later lists a tool under the name of a registered one does not get it: its tool is hidden, which the log
/// says once, as a warning.
///
/// @param toolkit  a toolkit
/// @param tool     a tool; its reference stays yours to free
/// @return         a result, yours to free: TN_E_ARGUMENT (NULL), TN_E_HANDLE, TN_E_CLOSED
///
/// Any thread. Never blocks.
#[unsafe(no_mangle)]
pub extern "C" fn tn_toolkit_register(toolkit: *mut tn_toolkit, tool: *const tn_tool) -> *mut tn_result {
    guard::result(|| {
        let warning = get(toolkit)?.register(&tools::get(tool)?)?;
        let registered = warning.is_none();
        let warnings = warning.map(|warning| quoted(&warning)).unwrap_or_default();
        Ok(Outcome::document(format!("{{\"registered\":{registered},\"warnings\":[{warnings}]}}")))
    })
}

/// The tools as of now: those of the servers, in the order of the config and as listed, then the registered ones in the order
/// of their registration. After the close, the last list.
///
/// @param toolkit  a toolkit
/// @return         a new reference: give it back with tn_free. It does not keep the toolkit's source open. NULL if toolkit is
///                 not good
///
/// Any thread. Never blocks.
#[unsafe(no_mangle)]
pub extern "C" fn tn_toolkit_tools(toolkit: *const tn_toolkit) -> *mut tn_tools {
    guard::value(std::ptr::null_mut(), || {
        let tools = ToolsObject::new(get(toolkit).ok()?.tools());
        Some(guard::pointer(handle::new(Arc::new(tools))))
    })
}

/// The tool of a name, as of now.
///
/// @param toolkit  a toolkit
/// @param name     an exposed name
/// @return         a new reference: give it back with tn_free. NULL if there is none, and if an argument is not good
///
/// Any thread. Never blocks.
///
/// # Safety
/// `name` is NULL or ends with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tn_toolkit_get(toolkit: *const tn_toolkit, name: *const c_char) -> *mut tn_tool {
    guard::value(std::ptr::null_mut(), || {
        let toolkit = get(toolkit).ok()?;
        // SAFETY: the caller's promise.
        let name = unsafe { text::required(name, "name") }.ok()?;
        Some(guard::pointer(handle::new(toolkit.get(name)?)))
    })
}

/// The source that the toolkit was created with, for tn_mcp_status, tn_resource_tools and the like.
///
/// @param toolkit  a toolkit
/// @return         a new reference: give it back with tn_free. While you have it the source stays open, also when the toolkit
///                 was freed. NULL if the toolkit has no config, and if toolkit is not good
///
/// Any thread. Never blocks.
#[unsafe(no_mangle)]
pub extern "C" fn tn_toolkit_mcp(toolkit: *const tn_toolkit) -> *mut tn_mcp {
    guard::value(std::ptr::null_mut(), || Some(guard::pointer(handle::new(get(toolkit).ok()?.source()?.clone()))))
}

/// Calls the tool of a name, as tn_tool_execute does. BLOCKS. What a model made up, a name or arguments, is a result that it
/// can read.
///
/// @param toolkit    a toolkit
/// @param name       an exposed name; there is none: TN_E_NOT_FOUND, and the output is `Unknown tool: <name>`
/// @param arguments  as for tn_tool_execute
/// @param context    as for tn_tool_execute
/// @return           a result, yours to free; as for tn_tool_execute, and TN_E_NOT_FOUND; after the close TN_E_CLOSED
///
/// Any thread, but no callback of the library.
///
/// # Safety
/// Strings are NULL or end with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tn_toolkit_execute(
    toolkit: *mut tn_toolkit,
    name: *const c_char,
    arguments: *const c_char,
    context: *mut tn_context,
) -> *mut tn_result {
    // SAFETY: the caller's promise.
    guard::block(|| unsafe { execute(toolkit, name, arguments, context) })
}

/// tn_toolkit_execute without blocking: its result arrives in `queue` as TN_EVENT_DONE with `id`.
///
/// @return  TN_OK, or what is wrong with `queue`: TN_E_ARGUMENT, TN_E_HANDLE, TN_E_CLOSED, TN_E_FORKED
///
/// Any thread. Never blocks.
///
/// # Safety
/// Strings are NULL or end with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tn_toolkit_execute_submit(
    toolkit: *mut tn_toolkit,
    name: *const c_char,
    arguments: *const c_char,
    context: *mut tn_context,
    queue: *mut tn_queue,
    id: u64,
) -> tn_status {
    // SAFETY: the caller's promise.
    guard::submit_tool(queue, id, || unsafe { execute(toolkit, name, arguments, context) })
}

/// # Safety
/// Strings are NULL or end with a NUL.
unsafe fn execute(
    toolkit: *mut tn_toolkit,
    name: *const c_char,
    arguments: *const c_char,
    context: *mut tn_context,
) -> Result<Work, Failure> {
    let toolkit = get(toolkit)?;
    // SAFETY: the caller's promise.
    let name = unsafe { text::required(name, "name") }?;
    let limits = context::limits(context)?;
    // SAFETY: the caller's promise.
    match unsafe { text::optional(arguments, "arguments") } {
        Ok(arguments) => Ok(toolkit.execute(name, arguments, limits)),
        Err(failure) => Ok(Box::pin(std::future::ready(Ok(tool::refused(failure))))),
    }
}

/// Closes a toolkit and its source, as tn_mcp_close does. Calls under way end with TN_E_CLOSED, also those of host tools;
/// later ones are results with that status. Tools that the host has registered stay good where they come from. BLOCKS until
/// nothing of the source runs. Closing again waits for the same end.
///
/// @param toolkit  a toolkit; its reference stays yours to free
/// @param context  its deadline and its cancel end the waiting, not the closing; or NULL
/// @return         a result, yours to free: TN_E_ARGUMENT (NULL), TN_E_HANDLE, TN_E_CANCELLED, TN_E_TIMEOUT, TN_E_REENTRANT
///
/// Any thread, but no callback of the library.
#[unsafe(no_mangle)]
pub extern "C" fn tn_toolkit_close(toolkit: *mut tn_toolkit, context: *mut tn_context) -> *mut tn_result {
    guard::block(|| close(toolkit, context))
}

/// tn_toolkit_close without blocking: its result arrives in `queue` as TN_EVENT_DONE with `id`.
///
/// @return  TN_OK, or what is wrong with `queue`: TN_E_ARGUMENT, TN_E_HANDLE, TN_E_CLOSED, TN_E_FORKED
///
/// Any thread. Never blocks.
#[unsafe(no_mangle)]
pub extern "C" fn tn_toolkit_close_submit(
    toolkit: *mut tn_toolkit,
    context: *mut tn_context,
    queue: *mut tn_queue,
    id: u64,
) -> tn_status {
    guard::submit(queue, id, || close(toolkit, context))
}

fn close(toolkit: *mut tn_toolkit, context: *mut tn_context) -> Result<Work, Failure> {
    let toolkit = get(toolkit)?;
    let limits = context::limits(context)?;
    // The context bounds the waiting only: a cancelled one still closes.
    toolkit.begin_close();
    Ok(Box::pin(async move {
        limits.bound("the close", toolkit.close()).await?;
        Ok(Outcome::document("{}".to_owned()))
    }))
}
