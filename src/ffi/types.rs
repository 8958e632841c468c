//! The types and constants of the header.

/// How a call ended. TN_OK, or one of the TN_E_ constants. A status that this header does not list is one that a newer
/// library added: treat it as TN_E_INTERNAL.
pub type tn_status = i32;

/// It worked. In a result whose error flag is set: the tool ran, and reported failure.
pub const TN_OK: tn_status = 0;
/// An argument is NULL where it may not be, or out of range, or names an unknown option.
pub const TN_E_ARGUMENT: tn_status = 1;
/// A string is not valid UTF-8.
pub const TN_E_UTF8: tn_status = 2;
/// A string is not the JSON that is wanted there.
pub const TN_E_JSON: tn_status = 3;
/// A reference was freed, is not the library's, or is of another kind.
pub const TN_E_HANDLE: tn_status = 4;
/// A function that blocks was called inside a callback.
pub const TN_E_REENTRANT: tn_status = 5;
/// The process was forked from one that had used the library.
pub const TN_E_FORKED: tn_status = 6;
/// The config as a whole cannot be read.
pub const TN_E_CONFIG: tn_status = 7;
/// There is no such tool, server, resource or request.
pub const TN_E_NOT_FOUND: tn_status = 8;
/// The host cancelled the call.
pub const TN_E_CANCELLED: tn_status = 20;
/// The call's time-out or deadline has passed.
pub const TN_E_TIMEOUT: tn_status = 21;
/// What the call needs was closed, before it or while it ran.
pub const TN_E_CLOSED: tn_status = 22;
/// A message is larger than the limit.
pub const TN_E_LIMIT: tn_status = 23;
/// A server's process could not be started.
pub const TN_E_SPAWN: tn_status = 40;
/// A server is not up, or its connection broke.
pub const TN_E_TRANSPORT: tn_status = 41;
/// A server broke the protocol.
pub const TN_E_PROTOCOL: tn_status = 42;
/// A server answered with a JSON-RPC error.
pub const TN_E_SERVER: tn_status = 43;
/// A server wants an authorization that it did not get.
pub const TN_E_AUTH: tn_status = 44;
/// A defect in the library. The message says more; please report it.
pub const TN_E_INTERNAL: tn_status = 90;

/// The version of the ABI that this header describes: major << 16 | minor. See tn_abi_version.
pub const TN_ABI_VERSION: u32 = 1;

/// The outcome of a call.
pub struct tn_result(());
/// Time-outs and cancellation for calls.
pub struct tn_context(());
/// Where completions and events arrive.
pub struct tn_queue(());
/// The connected servers of one config.
pub struct tn_mcp(());
/// A list of tools: a snapshot that never changes.
pub struct tn_tools(());
/// One tool.
pub struct tn_tool(());
/// Many sources of tools as one.
pub struct tn_toolkit(());

/// A submitted call is done. `id` is the one that was given to submit, `result` the outcome.
pub const TN_EVENT_DONE: i32 = 1;
/// A server asks the host something. Answer with tn_answer(id, …).
pub const TN_EVENT_REQUEST: i32 = 2;
/// A tool of the host is called. Answer with tn_answer(id, …).
pub const TN_EVENT_CALL: i32 = 3;
/// Something happened: progress (with the context's id), a log record, a changed list, a server's state (id 0).
pub const TN_EVENT_NOTICE: i32 = 4;
/// The request or call with this id is no longer wanted. It comes only if the request or call was taken from the queue before.
pub const TN_EVENT_CANCEL: i32 = 5;

/// One event. Its layout never changes.
#[repr(C)]
#[derive(Debug)]
pub struct tn_event {
    /// One of the TN_EVENT_ constants. Ignore those that you do not know.
    pub kind: i32,
    /// The status of the result.
    pub status: tn_status,
    /// What the event is about.
    pub id: u64,
    /// Its JSON says the rest. Yours to free.
    pub result: *mut tn_result,
}

/// Gets one event of a queue made with tn_queue_with_callback: the `user` value given with it, and the event, which is valid
/// during the call.
pub type tn_event_fn = Option<unsafe extern "C" fn(user: usize, event: *const tn_event)>;
