//! The servers of a config.

use std::ffi::c_char;
use std::sync::Arc;

use crate::ffi::guard::Work;
use crate::ffi::tools::ToolsObject;
use crate::ffi::types::{tn_context, tn_mcp, tn_queue, tn_result, tn_status, tn_tools};
use crate::ffi::{config, context, guard, handle, queue, text};
use crate::mcp::request::HostRequest;
use crate::mcp::resources;
use crate::mcp::skills::SkillRead;
use crate::mcp::source::Source;
use crate::outcome::{Failure, Outcome};

fn get(mcp: *const tn_mcp) -> Result<Arc<Source>, Failure> {
    handle::get::<Source>(guard::handle_of(mcp), "mcp")
}

/// Connects to every server of a config, all at once, and returns when each is connected or has failed. BLOCKS.
///
/// One bad server never fails the load and never delays the others: it is in the document, with the phase and the reason:
///
///     {"servers":{"files":{"status":"connected","tools":3,"protocolVersion":"…","serverInfo":{…},"capabilities":{…},
///                          "instructions":"…","skipped":[{"tool":"x","reason":"…"}],"ms":41},
///                 "bad":{"status":"failed","phase":"initialize","reason":"…","stderr":"last lines"}},
///      "warnings":["…"],"guardian":true}
///
/// A status is `connected`, `disabled`, `failed` or `needs_auth` (a remote server that wants to know who asks; then there is the
/// `scheme` that it wants). Each phase (start, initialize, list) has the server's
/// `timeout` for itself. Take the source with tn_result_take_mcp; freeing a result that still holds it closes it.
///
/// Options, a JSON object, with their defaults (what a server's own entry says counts for it):
///
///     {"elicitation":true,"sampling":false,"roots":["file:///…"],"inputs":{"ID":"value"},"workspaceFolder":"…",
///      "clientInfo":{"name":"toolnexus","version":"…"},"inheritEnv":false,"parallel":0,
///      "restart":{"max":3,"backoffMs":200},"liveTools":true,"lifecycle":"auto","maxMessageBytes":67108864,
///      "requestTimeoutMs":300000}
///
/// @param config   JSON text or the path of a file, as for tn_config_parse
/// @param options  the options, or NULL for the defaults. An unknown key is TN_E_ARGUMENT
/// @param events   the queue in which the servers' requests and notices arrive, or NULL for a host that hears nothing
/// @param context  its deadline and its cancel end the whole load, with everything that it started; or NULL
/// @return         a result, yours to free: TN_E_CONFIG, TN_E_ARGUMENT, TN_E_UTF8, TN_E_JSON, TN_E_HANDLE, TN_E_CANCELLED,
///                 TN_E_TIMEOUT, TN_E_CLOSED (at a shutdown), TN_E_REENTRANT
///
/// Any thread, but no callback of the library.
///
/// # Safety
/// Strings are NULL or end with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tn_mcp_load(
    config: *const c_char,
    options: *const c_char,
    events: *mut tn_queue,
    context: *mut tn_context,
) -> *mut tn_result {
    // SAFETY: the caller's promise.
    guard::block(|| unsafe { load(config, options, events, context) })
}

/// tn_mcp_load without blocking: its result arrives in `queue` as TN_EVENT_DONE with `id`.
///
/// @return  TN_OK, or what is wrong with `queue`: TN_E_ARGUMENT, TN_E_HANDLE, TN_E_CLOSED, TN_E_FORKED
///
/// Any thread. Never blocks, but for reading the config.
///
/// # Safety
/// Strings are NULL or end with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tn_mcp_load_submit(
    config: *const c_char,
    options: *const c_char,
    events: *mut tn_queue,
    context: *mut tn_context,
    queue: *mut tn_queue,
    id: u64,
) -> tn_status {
    // SAFETY: the caller's promise.
    guard::submit(queue, id, || unsafe { load(config, options, events, context) })
}

/// # Safety
/// Strings are NULL or end with a NUL.
unsafe fn load(
    config: *const c_char,
    options: *const c_char,
    events: *mut tn_queue,
    context: *mut tn_context,
) -> Result<Work, Failure> {
    let events = queue::optional(events, "events")?;
    // SAFETY: the caller's promise.
    let (config, options) = unsafe { config::read(config, options, false) }?;
    let limits = context::limits(context)?;
    Ok(Box::pin(async move {
        let source = Source::load(config, options, events, limits).await?;
        Ok(Outcome::document(source.status()).making(source))
    }))
}

/// Says what the servers of a config offer, and keeps nothing open. BLOCKS.
///
/// The document: {"tools":{"files":[{"name":"…","description":"…","inputSchema":{…},…}]},
/// "status":{"files":"connected","off":"disabled"},"servers":{…},"warnings":[…]}; the tools have the servers' own names, and
/// no filter applies. `servers` is as for tn_mcp_load.
///
/// @param config   as for tn_mcp_load
/// @param options  as for tn_mcp_load
/// @param context  its deadline and its cancel end the whole call; or NULL
/// @return         a result, yours to free; it fails as tn_mcp_load does
///
/// Any thread, but no callback of the library.
///
/// # Safety
/// Strings are NULL or end with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tn_mcp_inventory(
    config: *const c_char,
    options: *const c_char,
    context: *mut tn_context,
) -> *mut tn_result {
    // SAFETY: the caller's promise.
    guard::block(|| unsafe { inventory(config, options, context) })
}

/// tn_mcp_inventory without blocking; as tn_mcp_load_submit.
///
/// # Safety
/// Strings are NULL or end with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tn_mcp_inventory_submit(
    config: *const c_char,
    options: *const c_char,
    context: *mut tn_context,
    queue: *mut tn_queue,
    id: u64,
) -> tn_status {
    // SAFETY: the caller's promise.
    guard::submit(queue, id, || unsafe { inventory(config, options, context) })
}

/// # Safety
/// Strings are NULL or end with a NUL.
unsafe fn inventory(config: *const c_char, options: *const c_char, context: *mut tn_context) -> Result<Work, Failure> {
    // SAFETY: the caller's promise.
    let (config, options) = unsafe { config::read(config, options, false) }?;
    let limits = context::limits(context)?;
    Ok(Box::pin(async move {
        let source = Source::load(config, options, None, limits).await?;
        let inventory = source.inventory();
        source.close().await;
        Ok(Outcome::document(inventory))
    }))
}

/// Every server's tools as of now: servers in the order of the config, tools as listed. After a crash, and after the
/// close, the last list.
///
/// @param mcp  a source
/// @return     a new reference: give it back with tn_free. It does not keep the source open. NULL if mcp is not good
///
/// Any thread. Never blocks.
#[unsafe(no_mangle)]
pub extern "C" fn tn_mcp_tools(mcp: *const tn_mcp) -> *mut tn_tools {
    guard::value(std::ptr::null_mut(), || {
        let tools = ToolsObject::new(get(mcp).ok()?.tools());
        Some(guard::pointer(handle::new(Arc::new(tools))))
    })
}

/// Two read-only tools over the servers that are connected when they are called: `list_mcp_resources {server?}`, one line
/// for each resource, and `read_mcp_resource {server, uri}`, its text. Nothing registers them anywhere but you.
///
/// @param mcp  a source
/// @return     a new reference to a list of the two, in this order: give it back with tn_free. It does not keep the source
///             open; after the close its tools answer `MCP source is closed`. NULL if mcp is not good
///
/// Any thread. Never blocks.
#[unsafe(no_mangle)]
pub extern "C" fn tn_resource_tools(mcp: *const tn_mcp) -> *mut tn_tools {
    guard::value(std::ptr::null_mut(), || {
        let tools = ToolsObject::new(resources::tools(&get(mcp).ok()?));
        Some(guard::pointer(handle::new(Arc::new(tools))))
    })
}

/// The state of every server as of now: the document of tn_mcp_load. A server that crashed and may be started again
/// counts as connected.
///
/// @param mcp  a source
/// @return     a result, yours to free: TN_E_ARGUMENT (NULL), TN_E_HANDLE
///
/// Any thread. Never blocks.
#[unsafe(no_mangle)]
pub extern "C" fn tn_mcp_status(mcp: *const tn_mcp) -> *mut tn_result {
    guard::result(|| Ok(Outcome::document(get(mcp)?.status())))
}

/// Sends any request to one server ("resources/read", "prompts/get", "completion/complete", …) and waits for its reply.
/// BLOCKS.
///
/// The document is the reply's `result`, byte for byte. If the server answers with an error the status is TN_E_SERVER and
/// `error.data` of the document is the server's error object, byte for byte.
///
/// A server of 2026-07-28 can say how long its answer to server/discover, to a list or to resources/read stays good (`ttlMs`).
/// Until then, until it announces a change, or until it is started again, the same request gets the same answer without the
/// server being asked. Params with a `_meta`, if only `{}`, are always sent.
///
/// @param mcp      a source
/// @param server   the server's name in the config; unknown: TN_E_NOT_FOUND
/// @param method   the method
/// @param params   a JSON object, or NULL for none
/// @param context  as for tn_tool_execute; or NULL
/// @return         a result, yours to free: TN_E_ARGUMENT, TN_E_UTF8, TN_E_JSON, TN_E_HANDLE, TN_E_NOT_FOUND, TN_E_CANCELLED,
///                 TN_E_TIMEOUT, TN_E_CLOSED, TN_E_LIMIT, TN_E_TRANSPORT, TN_E_PROTOCOL, TN_E_SERVER, TN_E_REENTRANT
///
/// Any thread, but no callback of the library.
///
/// # Safety
/// Strings are NULL or end with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tn_mcp_request(
    mcp: *mut tn_mcp,
    server: *const c_char,
    method: *const c_char,
    params: *const c_char,
    context: *mut tn_context,
) -> *mut tn_result {
    // SAFETY: the caller's promise.
    guard::block(|| unsafe { request(mcp, server, method, params, context) })
}

/// tn_mcp_request without blocking: its result arrives in `queue` as TN_EVENT_DONE with `id`.
///
/// @return  TN_OK, or what is wrong with `queue`: TN_E_ARGUMENT, TN_E_HANDLE, TN_E_CLOSED, TN_E_FORKED
///
/// Any thread. Never blocks.
///
/// # Safety
/// Strings are NULL or end with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tn_mcp_request_submit(
    mcp: *mut tn_mcp,
    server: *const c_char,
    method: *const c_char,
    params: *const c_char,
    context: *mut tn_context,
    queue: *mut tn_queue,
    id: u64,
) -> tn_status {
    // SAFETY: the caller's promise.
    guard::submit(queue, id, || unsafe { request(mcp, server, method, params, context) })
}

/// # Safety
/// Strings are NULL or end with a NUL.
unsafe fn request(
    mcp: *mut tn_mcp,
    server: *const c_char,
    method: *const c_char,
    params: *const c_char,
    context: *mut tn_context,
) -> Result<Work, Failure> {
    let source = get(mcp)?;
    // SAFETY: the caller's promise.
    let (server, method, params) = unsafe {
        (text::required(server, "server")?, text::required(method, "method")?, text::optional(params, "params")?)
    };
    let request = HostRequest::new(method, params)?;
    let limits = context::limits(context)?;
    let server = source.find(server)?.clone();
    Ok(Box::pin(async move {
        // The call keeps its source open.
        let _source = source;
        request.send(&server, &limits).await
    }))
}

/// Reads one file of a skill, if it is what the skill's entry says it is. BLOCKS. For servers with the extension
/// io.modelcontextprotocol/skills; tn_mcp_request with "skills/list" says which skills they have, and reads nothing of them.
///
/// The file must be listed in the entry, have its size and its sha256 digest, and SKILL.md the entry's frontmatter, field by
/// field. Else the read is refused: TN_E_PROTOCOL, with a message that names the skill, the file, what was found and what was
/// expected; nothing of the file is handed out. A skill whose resources are "dynamic" cannot be verified, and is refused. That
/// a file is as listed does not make it safe: both come from the same server.
///
/// The document: {"output":"…","isError":false,"metadata":{"server":"…","skill":"…","uri":"…"},"parts":[…],"contents":[…],
/// "skill":{…}}. `contents` holds the file as the server sent it, `skill` the entry that it was checked against: while the
/// skill is in use, read its other files with this entry, and the server cannot exchange them.
///
///     tn_result *read = tn_mcp_skill_read(mcp, "docs", "skill://pdf-processing/SKILL.md", NULL, NULL);
///
/// @param mcp      a source
/// @param server   the server's name in the config; unknown: TN_E_NOT_FOUND
/// @param skill    the skill: its entry, as skills/list or skills/get gave it (first character `{`), or the uri of its SKILL.md,
///                 and then the server is asked for the entry
/// @param uri      the file, as the entry has it; or NULL for SKILL.md
/// @param context  as for tn_tool_execute; or NULL
/// @return         a result, yours to free; its status is one of those of tn_mcp_request. TN_E_NOT_FOUND too if the server has
///                 no skills, or not this one
///
/// Any thread, but no callback of the library.
///
/// # Safety
/// Strings are NULL or end with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tn_mcp_skill_read(
    mcp: *mut tn_mcp,
    server: *const c_char,
    skill: *const c_char,
    uri: *const c_char,
    context: *mut tn_context,
) -> *mut tn_result {
    // SAFETY: the caller's promise.
    guard::block(|| unsafe { skill_read(mcp, server, skill, uri, context) })
}

/// tn_mcp_skill_read without blocking; as tn_mcp_request_submit.
///
/// # Safety
/// Strings are NULL or end with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tn_mcp_skill_read_submit(
    mcp: *mut tn_mcp,
    server: *const c_char,
    skill: *const c_char,
    uri: *const c_char,
    context: *mut tn_context,
    queue: *mut tn_queue,
    id: u64,
) -> tn_status {
    // SAFETY: the caller's promise.
    guard::submit(queue, id, || unsafe { skill_read(mcp, server, skill, uri, context) })
}

/// # Safety
/// Strings are NULL or end with a NUL.
unsafe fn skill_read(
    mcp: *mut tn_mcp,
    server: *const c_char,
    skill: *const c_char,
    uri: *const c_char,
    context: *mut tn_context,
) -> Result<Work, Failure> {
    let source = get(mcp)?;
    // SAFETY: the caller's promise.
    let (server, skill, uri) =
        unsafe { (text::required(server, "server")?, text::required(skill, "skill")?, text::optional(uri, "uri")?) };
    let read = SkillRead::new(skill, uri)?;
    let limits = context::limits(context)?;
    let server = source.find(server)?.clone();
    Ok(Box::pin(async move {
        // The call keeps its source open.
        let _source = source;
        read.send(&server, &limits).await
    }))
}

/// Ends a server and starts it again, with a new count of failures; tools are listed anew. BLOCKS.
///
/// @param mcp      a source
/// @param server   the server's name in the config, or NULL for all of them
/// @param context  its deadline and its cancel end the whole restart; a server that is down then is started again by the
///                 next call to it; or NULL
/// @return         a result with the document of tn_mcp_status, yours to free. With one server named: what it failed with;
///                 TN_E_NOT_FOUND if there is none of that name
///
/// Any thread, but no callback of the library.
///
/// # Safety
/// Strings are NULL or end with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tn_mcp_restart(
    mcp: *mut tn_mcp,
    server: *const c_char,
    context: *mut tn_context,
) -> *mut tn_result {
    // SAFETY: the caller's promise.
    guard::block(|| unsafe { restart(mcp, server, context) })
}

/// tn_mcp_restart without blocking; as tn_mcp_request_submit.
///
/// # Safety
/// Strings are NULL or end with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tn_mcp_restart_submit(
    mcp: *mut tn_mcp,
    server: *const c_char,
    context: *mut tn_context,
    queue: *mut tn_queue,
    id: u64,
) -> tn_status {
    // SAFETY: the caller's promise.
    guard::submit(queue, id, || unsafe { restart(mcp, server, context) })
}

/// # Safety
/// Strings are NULL or end with a NUL.
unsafe fn restart(mcp: *mut tn_mcp, server: *const c_char, context: *mut tn_context) -> Result<Work, Failure> {
    let source = get(mcp)?;
    // SAFETY: the caller's promise.
    let server = unsafe { text::optional(server, "server") }?.map(str::to_owned);
    let limits = context::limits(context)?;
    Ok(Box::pin(async move {
        limits.bound("the restart", source.restart(server.as_deref())).await??;
        Ok(Outcome::document(source.status()))
    }))
}

/// Closes a source. Calls under way end with TN_E_CLOSED; every server is ended: its input is closed, after 1 s it gets
/// SIGTERM, after 2 s more SIGKILL, all servers side by side. BLOCKS until nothing of the source runs. Closing again waits for
/// the same end.
///
/// @param mcp      a source; its reference stays yours to free
/// @param context  its deadline and its cancel end the waiting, not the closing; or NULL
/// @return         a result, yours to free: TN_E_ARGUMENT (NULL), TN_E_HANDLE, TN_E_CANCELLED, TN_E_TIMEOUT, TN_E_REENTRANT
///
/// Any thread, but no callback of the library.
#[unsafe(no_mangle)]
pub extern "C" fn tn_mcp_close(mcp: *mut tn_mcp, context: *mut tn_context) -> *mut tn_result {
    guard::block(|| close(mcp, context))
}

/// tn_mcp_close without blocking; as tn_mcp_request_submit.
#[unsafe(no_mangle)]
pub extern "C" fn tn_mcp_close_submit(
    mcp: *mut tn_mcp,
    context: *mut tn_context,
    queue: *mut tn_queue,
    id: u64,
) -> tn_status {
    guard::submit(queue, id, || close(mcp, context))
}

fn close(mcp: *mut tn_mcp, context: *mut tn_context) -> Result<Work, Failure> {
    let source = get(mcp)?;
    let limits = context::limits(context)?;
    // The context bounds the waiting only: a cancelled one still closes.
    source.begin_close();
    Ok(Box::pin(async move {
        limits.bound("the close", source.close()).await?;
        Ok(Outcome::document("{}".to_owned()))
    }))
}
