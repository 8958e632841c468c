//! The exports in Rust, and what every test stands in.

use std::ffi::{CStr, CString, c_char};
use std::path::PathBuf;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use serde_json::{Value, json};
use toolnexus::ffi::library::{tn_free, tn_shutdown};
use toolnexus::ffi::queue::{tn_answer, tn_queue_close, tn_queue_take};
use toolnexus::ffi::result::{
    tn_result_is_error, tn_result_json, tn_result_output, tn_result_status, tn_result_take_mcp, tn_result_take_tool,
    tn_result_take_toolkit,
};
use toolnexus::ffi::toolkit::*;
use toolnexus::ffi::tools::*;
use toolnexus::ffi::types::*;

/// A reference that is given back.
pub struct Ref<T>(pub *mut T);

// SAFETY: references are names, good on any thread.
unsafe impl<T> Send for Ref<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Ref<T> {}

impl<T> Drop for Ref<T> {
    fn drop(&mut self) {
        tn_free(self.0.cast());
    }
}

pub type Res = Ref<tn_result>;

impl Res {
    pub fn status(&self) -> tn_status {
        tn_result_status(self.0)
    }
    pub fn is_error(&self) -> bool {
        tn_result_is_error(self.0)
    }
    fn text(&self, get: unsafe extern "C" fn(*const tn_result, *mut usize) -> *const c_char) -> &str {
        // SAFETY: the string lives as long as the reference.
        unsafe { CStr::from_ptr(get(self.0, null_mut())) }.to_str().unwrap()
    }
    pub fn output(&self) -> &str {
        self.text(tn_result_output)
    }
    pub fn raw(&self) -> &str {
        self.text(tn_result_json)
    }
    pub fn json(&self) -> Value {
        serde_json::from_str(self.raw()).unwrap()
    }
}

pub fn c(text: &str) -> CString {
    CString::new(text).unwrap()
}

pub fn create(options: &Value) -> (Ref<tn_toolkit>, Value) {
    let made = try_create(&options.to_string());
    assert_eq!(made.status(), TN_OK, "{}", made.output());
    let toolkit = Ref(tn_result_take_toolkit(made.0));
    assert!(!toolkit.0.is_null());
    assert!(tn_result_take_toolkit(made.0).is_null(), "it is given once");
    assert!(tn_result_take_mcp(made.0).is_null() && tn_result_take_tool(made.0).is_null());
    (toolkit, made.json())
}

pub fn try_create(options: &str) -> Res {
    // SAFETY: a string that ends with a NUL.
    Ref(unsafe { tn_toolkit_create(c(options).as_ptr(), null_mut(), null_mut()) })
}

pub fn tool(spec: &Value, calls: &Ref<tn_queue>) -> Ref<tn_tool> {
    // SAFETY: a string that ends with a NUL.
    let made: Res = Ref(unsafe { tn_tool_create(c(&spec.to_string()).as_ptr(), calls.0) });
    assert_eq!(made.status(), TN_OK, "{}", made.output());
    let tool = Ref(tn_result_take_tool(made.0));
    assert_eq!(made.raw(), document(&tool));
    tool
}

pub fn document(tool: &Ref<tn_tool>) -> &str {
    // SAFETY: the string lives as long as the reference.
    unsafe { CStr::from_ptr(tn_tool_json(tool.0, null_mut())) }.to_str().unwrap()
}

pub fn register(toolkit: &Ref<tn_toolkit>, tool: &Ref<tn_tool>) -> Value {
    let result: Res = Ref(tn_toolkit_register(toolkit.0, tool.0));
    assert_eq!(result.status(), TN_OK, "{}", result.output());
    result.json()
}

pub fn names(tools: *mut tn_tools) -> Vec<String> {
    let tools = Ref(tools);
    (0..tn_tools_len(tools.0))
        .map(|index| {
            let tool = Ref(tn_tools_get(tools.0, index));
            // SAFETY: the string lives as long as the reference.
            unsafe { CStr::from_ptr(tn_tool_name(tool.0)) }.to_str().unwrap().to_owned()
        })
        .collect()
}

pub fn execute(toolkit: &Ref<tn_toolkit>, name: &str, arguments: &str, context: *mut tn_context) -> Res {
    // SAFETY: strings that end with a NUL.
    Ref(unsafe { tn_toolkit_execute(toolkit.0, c(name).as_ptr(), c(arguments).as_ptr(), context) })
}

pub fn submit(toolkit: &Ref<tn_toolkit>, name: &str, arguments: &str, queue: &Ref<tn_queue>, id: u64) {
    // SAFETY: strings that end with a NUL.
    let status = unsafe {
        tn_toolkit_execute_submit(toolkit.0, c(name).as_ptr(), c(arguments).as_ptr(), null_mut(), queue.0, id)
    };
    assert_eq!(status, TN_OK);
}

pub fn answer(id: u64, text: &str) -> (tn_status, String) {
    // SAFETY: a string that ends with a NUL.
    let result: Res = Ref(unsafe { tn_answer(id, c(text).as_ptr()) });
    (result.status(), result.output().to_owned())
}

pub struct Event {
    pub kind: i32,
    pub id: u64,
    pub result: Res,
}

/// The next event. None: the queue is closed.
pub fn take(queue: *mut tn_queue) -> Option<Event> {
    let mut event = tn_event { kind: 0, status: 0, id: 0, result: null_mut() };
    let mut count = 0;
    // SAFETY: room for one event.
    match unsafe { tn_queue_take(queue, &mut event, 1, 30_000, &mut count) } {
        TN_OK => {
            assert_eq!(count, 1, "nothing came for 30 seconds");
            Some(Event { kind: event.kind, id: event.id, result: Ref(event.result) })
        }
        status => {
            assert_eq!(status, TN_E_CLOSED);
            None
        }
    }
}

pub fn next(queue: &Ref<tn_queue>) -> Event {
    take(queue.0).expect("the queue is closed")
}

/// A thread that answers the calls in a queue until the queue is closed.
pub fn serve(calls: &Ref<tn_queue>, mut run: impl FnMut(&Value) -> String + Send + 'static) -> JoinHandle<()> {
    let calls = AtomicPtr::new(calls.0);
    std::thread::spawn(move || {
        while let Some(event) = take(calls.load(Ordering::Relaxed)) {
            if event.kind == TN_EVENT_CALL {
                assert_eq!(answer(event.id, &run(&event.result.json())).0, TN_OK);
            }
        }
    })
}

pub fn end(calls: &Ref<tn_queue>, server: JoinHandle<()>) {
    assert_eq!(tn_queue_close(calls.0), TN_OK);
    server.join().unwrap();
}

// -- the surroundings -----------------------------------------------------------------------------------------------

/// One test at a time: each ends with a shutdown, which must find nothing alive.
pub struct Alone(#[expect(dead_code, reason = "held for its drop")] MutexGuard<'static, ()>);

pub fn alone() -> Alone {
    static ONE: Mutex<()> = Mutex::new(());
    Alone(ONE.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Drop for Alone {
    fn drop(&mut self) {
        let ended: Res = Ref(tn_shutdown(20_000));
        if !std::thread::panicking() {
            assert_eq!(ended.raw(), r#"{"live":{}}"#);
        }
    }
}

pub fn tiny() -> PathBuf {
    // target/debug/deps/toolkit-… -> target/debug/examples/tiny-server
    let tests = std::env::current_exe().unwrap();
    tests.ancestors().nth(2).unwrap().join("examples/tiny-server")
}

pub fn config() -> Value {
    json!({"mcpServers": {"progress": {"command": tiny()}}})
}

pub const MCP: [&str; 3] = ["progress_echo", "progress_slow", "progress_fail"];
