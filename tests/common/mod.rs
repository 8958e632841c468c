//! The library as a host sees it: through the C ABI, with references that free themselves.
#![allow(dead_code, reason = "each test crate uses its own part of it")]
#![expect(clippy::undocumented_unsafe_blocks, reason = "strings made here, references that are the library's own")]

pub mod real;

use std::ffi::{CStr, CString, c_char};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::ptr;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolnexus::ffi::{context, library, mcp, result, tools, types};

/// So long a phase or a call of a test may take in milliseconds where nothing should wait for it.
pub const GENEROUS: u64 = 30_000;

/// A reference, given back when dropped.
struct Held<T>(*mut T);

// The library's references may be used and freed on any thread.
unsafe impl<T> Send for Held<T> {}
unsafe impl<T> Sync for Held<T> {}

impl<T> Drop for Held<T> {
    fn drop(&mut self) {
        library::tn_free(self.0.cast());
    }
}

/// How a call ended.
#[derive(Debug, Clone)]
pub struct Done {
    /// The name of the status, such as `TN_E_TIMEOUT`.
    pub status: String,
    pub is_error: bool,
    pub output: String,
    /// The document, byte for byte.
    pub json: String,
    pub took: Duration,
}

impl Done {
    fn of(result: &Held<types::tn_result>, began: Instant) -> Done {
        let took = began.elapsed();
        let status = result::tn_result_status(result.0);
        Done {
            status: unsafe { text(library::tn_status_name(status)) },
            is_error: result::tn_result_is_error(result.0),
            output: unsafe { sized(|len| result::tn_result_output(result.0, len)) },
            json: unsafe { sized(|len| result::tn_result_json(result.0, len)) },
            took,
        }
    }

    pub fn doc(&self) -> Value {
        serde_json::from_str(&self.json).unwrap_or_else(|error| panic!("{error}: {}", self.json))
    }

    /// The text of a call that went well.
    #[track_caller]
    pub fn ok(&self) -> &str {
        assert!(!self.is_error && self.status == "TN_OK", "{self:?}");
        &self.output
    }

    /// Checks that the call failed with this status and a message that holds each of `parts`.
    #[track_caller]
    pub fn failed(&self, status: &str, parts: &[&str]) -> &Done {
        assert!(self.is_error && self.status == status, "expected {status}: {self:?}");
        for part in parts {
            assert!(self.output.contains(part), "expected {part:?} in {:?}", self.output);
        }
        self
    }

    /// Checks that it took far less than a time-out of `ms`: the cause was known at once.
    #[track_caller]
    pub fn well_under(&self, ms: u64) -> &Done {
        assert!(self.took < Duration::from_millis(ms) / 3, "it took {:?}: {}", self.took, self.output);
        self
    }
}

unsafe fn text(text: *const c_char) -> String {
    unsafe { CStr::from_ptr(text) }.to_str().expect("UTF-8").to_owned()
}

unsafe fn sized(get: impl FnOnce(*mut usize) -> *const c_char) -> String {
    let mut len = 0;
    let text = get(&raw mut len);
    assert!(!text.is_null());
    let bytes = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), len) };
    std::str::from_utf8(bytes).expect("UTF-8").to_owned()
}

fn c(text: impl Into<Vec<u8>>) -> CString {
    CString::new(text).expect("no NUL")
}

/// An address that refuses connections for as long as the socket lives: the port is taken, and nobody listens.
pub fn refusing() -> (socket2::Socket, SocketAddr) {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).expect("a socket");
    socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into()).expect("a port");
    let address = socket.local_addr().expect("its address").as_socket().expect("an address of IPv4");
    (socket, address)
}

/// Time-outs and cancellation.
pub struct Context(Held<types::tn_context>);

impl Context {
    pub fn new() -> Context {
        Context(Held(context::tn_context_new()))
    }

    pub fn idle(ms: u32) -> Context {
        let context = Context::new();
        assert_eq!(context::tn_context_set_timeout(context.0.0, ms), types::TN_OK);
        context
    }

    pub fn deadline(ms: u32) -> Context {
        let context = Context::new();
        assert_eq!(context::tn_context_set_deadline(context.0.0, ms), types::TN_OK);
        context
    }

    pub fn set_idle(&self, ms: u32) {
        assert_eq!(context::tn_context_set_timeout(self.0.0, ms), types::TN_OK);
    }

    pub fn cancel(&self) {
        assert_eq!(context::tn_context_cancel(self.0.0), types::TN_OK);
    }
}

fn raw(context: Option<&Context>) -> *mut types::tn_context {
    context.map_or(ptr::null_mut(), |context| context.0.0)
}

/// A loaded config, closed when dropped.
pub struct Loaded {
    mcp: Held<types::tn_mcp>,
    /// The document of the load.
    pub document: Value,
    pub took: Duration,
}

/// Loads a config of these servers: name and entry.
pub fn load(servers: Value) -> Loaded {
    load_with(servers, &json!({}))
}

pub fn load_with(servers: Value, options: &Value) -> Loaded {
    let (done, loaded) = try_load(servers, options, None);
    loaded.unwrap_or_else(|| panic!("{done:?}"))
}

pub fn try_load(servers: Value, options: &Value, context: Option<&Context>) -> (Done, Option<Loaded>) {
    let (config, options) = (c(json!({"mcpServers": servers}).to_string()), c(options.to_string()));
    let began = Instant::now();
    let result = Held(unsafe { mcp::tn_mcp_load(config.as_ptr(), options.as_ptr(), ptr::null_mut(), raw(context)) });
    let done = Done::of(&result, began);
    let mcp = Held(result::tn_result_take_mcp(result.0));
    let loaded = (!mcp.0.is_null()).then(|| Loaded { mcp, document: done.doc(), took: done.took });
    (done, loaded)
}

pub fn inventory(servers: Value) -> Done {
    let config = c(json!({"mcpServers": servers}).to_string());
    let began = Instant::now();
    let result = Held(unsafe { mcp::tn_mcp_inventory(config.as_ptr(), ptr::null(), ptr::null_mut()) });
    Done::of(&result, began)
}

impl Loaded {
    /// A server's part of the document of the load.
    pub fn server(&self, name: &str) -> &Value {
        &self.document["servers"][name]
    }

    /// The documents of the tools as of now.
    pub fn tools(&self) -> Vec<Value> {
        serde_json::from_str(&self.tools_json()).expect("an array")
    }

    /// The same, byte for byte.
    pub fn tools_json(&self) -> String {
        let list = Held(mcp::tn_mcp_tools(self.mcp.0));
        unsafe { sized(|len| tools::tn_tools_json(list.0, len)) }
    }

    /// The servers' own names of the tools.
    pub fn originals(&self) -> Vec<String> {
        self.tools().iter().map(|tool| tool["originalName"].as_str().expect("a name").to_owned()).collect()
    }

    pub fn tool(&self, name: &str) -> Tool {
        let list = Held(mcp::tn_mcp_tools(self.mcp.0));
        let tool = Held(unsafe { tools::tn_tools_find(list.0, c(name).as_ptr()) });
        assert!(!tool.0.is_null(), "no tool {name} among {:?}", self.originals());
        Tool(tool)
    }

    pub fn call(&self, name: &str, arguments: Value) -> Done {
        self.tool(name).call(&arguments.to_string(), None)
    }

    pub fn call_with(&self, name: &str, arguments: Value, context: &Context) -> Done {
        self.tool(name).call(&arguments.to_string(), Some(context))
    }

    /// One of the two resource tools.
    pub fn resources(&self, name: &str, arguments: Value) -> Done {
        let list = Held(mcp::tn_resource_tools(self.mcp.0));
        let tool = Tool(Held(unsafe { tools::tn_tools_find(list.0, c(name).as_ptr()) }));
        tool.call(&arguments.to_string(), None)
    }

    pub fn request(&self, server: &str, method: &str, params: &Value) -> Done {
        self.request_with(server, method, params, None)
    }

    pub fn request_with(&self, server: &str, method: &str, params: &Value, context: Option<&Context>) -> Done {
        let (server, method, params) = (c(server), c(method), c(params.to_string()));
        let began = Instant::now();
        let result = Held(unsafe {
            mcp::tn_mcp_request(self.mcp.0, server.as_ptr(), method.as_ptr(), params.as_ptr(), raw(context))
        });
        Done::of(&result, began)
    }

    /// A verified read. `skill`: its uri, or its entry as JSON.
    pub fn skill(&self, server: &str, skill: &str, uri: Option<&str>) -> Done {
        let (server, skill, uri) = (c(server), c(skill), uri.map(c));
        let uri = uri.as_ref().map_or(ptr::null(), |uri| uri.as_ptr());
        let began = Instant::now();
        let result =
            unsafe { mcp::tn_mcp_skill_read(self.mcp.0, server.as_ptr(), skill.as_ptr(), uri, ptr::null_mut()) };
        Done::of(&Held(result), began)
    }

    pub fn status(&self) -> Value {
        let began = Instant::now();
        Done::of(&Held(mcp::tn_mcp_status(self.mcp.0)), began).doc()
    }

    pub fn restart(&self, server: Option<&str>) -> Done {
        let server = server.map(c);
        let name = server.as_ref().map_or(ptr::null(), |name| name.as_ptr());
        let began = Instant::now();
        Done::of(&Held(unsafe { mcp::tn_mcp_restart(self.mcp.0, name, ptr::null_mut()) }), began)
    }

    pub fn close(&self) -> Done {
        let began = Instant::now();
        Done::of(&Held(mcp::tn_mcp_close(self.mcp.0, ptr::null_mut())), began)
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        mcp::tn_mcp_close(self.mcp.0, ptr::null_mut());
    }
}

pub struct Tool(Held<types::tn_tool>);

impl Tool {
    pub fn call(&self, arguments: &str, context: Option<&Context>) -> Done {
        let arguments = c(arguments);
        let began = Instant::now();
        Done::of(&Held(unsafe { tools::tn_tool_execute(self.0.0, arguments.as_ptr(), raw(context)) }), began)
    }
}

/// A server that `cargo` builds as an example.
pub fn example(name: &str) -> PathBuf {
    // target/debug/deps/this-test
    let mut folder = std::env::current_exe().expect("the test's own path");
    folder.pop();
    folder.pop();
    let program = folder.join("examples").join(name);
    assert!(program.exists(), "{} is missing: run `cargo build --examples`", program.display());
    program
}

/// The entry of a hostile server, with a generous time-out.
pub fn hostile(behaviour: &str, options: &[&str]) -> Value {
    hostile_within(GENEROUS, behaviour, options)
}

pub fn hostile_within(timeout: u64, behaviour: &str, options: &[&str]) -> Value {
    let mut args = vec![behaviour];
    args.extend(options);
    json!({"command": example("hostile-server"), "args": args, "timeout": timeout})
}

/// A path in a folder that is new for each call and removed by nobody but the system.
pub fn scratch(name: &str) -> PathBuf {
    use std::sync::atomic::{AtomicU32, Ordering};
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{number}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder under target/tmp");
    folder.join(name)
}

/// Waits until `what` holds. The bound is for tests that fail.
#[track_caller]
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_millis(GENEROUS);
    while !holds() {
        assert!(Instant::now() < end, "never came: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}
