//! A host: its source, its queue of events, its queue of completions, with references that free themselves.

use std::ffi::{CStr, CString, c_char};
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};
use toolnexus::ffi::{context, library, mcp, queue, result, tools, types};

/// Nothing that comes takes longer. Generous, for a busy machine.
const BOUND_MS: i32 = 60_000;

pub const DONE: i32 = types::TN_EVENT_DONE;
pub const REQUEST: i32 = types::TN_EVENT_REQUEST;
pub const NOTICE: i32 = types::TN_EVENT_NOTICE;
pub const CANCEL: i32 = types::TN_EVENT_CANCEL;

struct Held<T>(*mut T);

unsafe impl<T> Send for Held<T> {}
unsafe impl<T> Sync for Held<T> {}

impl<T> Drop for Held<T> {
    fn drop(&mut self) {
        library::tn_free(self.0.cast());
    }
}

fn c(text: &str) -> CString {
    CString::new(text).expect("no NUL")
}

/// How something ended.
#[derive(Clone, Debug)]
pub struct Done {
    pub status: String,
    pub is_error: bool,
    pub output: String,
    pub doc: Value,
}

impl Done {
    fn of(held: &Held<types::tn_result>) -> Done {
        let text = |get: unsafe extern "C" fn(*const types::tn_result, *mut usize) -> *const c_char| {
            let mut len = 0;
            let start = unsafe { get(held.0, &mut len) };
            let bytes = unsafe { std::slice::from_raw_parts(start.cast::<u8>(), len) };
            String::from_utf8(bytes.to_vec()).expect("UTF-8")
        };
        let status = unsafe { CStr::from_ptr(library::tn_status_name(result::tn_result_status(held.0))) };
        let json = text(result::tn_result_json);
        Done {
            status: status.to_string_lossy().into_owned(),
            is_error: result::tn_result_is_error(held.0),
            output: text(result::tn_result_output),
            doc: serde_json::from_str(&json).unwrap_or_else(|error| panic!("{error}: {json}")),
        }
    }

    #[track_caller]
    pub fn ok(&self) -> &str {
        assert!(!self.is_error && self.status == "TN_OK", "{self:?}");
        &self.output
    }

    /// The output of what went well, as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        let text = self.ok();
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    #[track_caller]
    pub fn failed(&self, status: &str, says: &str) {
        let message = self.doc["error"]["message"].as_str().unwrap_or(&self.output);
        assert!(
            self.is_error && self.status == status && message.contains(says),
            "expected {status} {says:?}: {self:?}"
        );
    }
}

#[derive(Clone, Debug)]
pub struct Event {
    pub kind: i32,
    pub id: u64,
    pub done: Done,
}

pub struct Queue(Held<types::tn_queue>);

impl Queue {
    fn new() -> Queue {
        Queue(Held(queue::tn_queue_new()))
    }

    /// The next event, if one comes in time.
    pub fn next_within(&self, ms: i32) -> Option<Event> {
        let mut event = types::tn_event { kind: 0, status: 0, id: 0, result: ptr::null_mut() };
        let mut count = 0;
        let status = unsafe { queue::tn_queue_take(self.0.0, &mut event, 1, ms, &mut count) };
        assert_eq!(status, types::TN_OK);
        (count == 1).then(|| Event { kind: event.kind, id: event.id, done: Done::of(&Held(event.result)) })
    }

    #[track_caller]
    pub fn next(&self) -> Event {
        self.next_within(BOUND_MS).expect("an event")
    }

    pub fn close(&self) {
        assert_eq!(queue::tn_queue_close(self.0.0), types::TN_OK);
    }
}

pub struct Context(Held<types::tn_context>);

impl Context {
    pub fn new() -> Context {
        Context(Held(context::tn_context_new()))
    }

    pub fn idle(self, ms: u32) -> Context {
        assert_eq!(context::tn_context_set_timeout(self.0.0, ms), types::TN_OK);
        self
    }

    pub fn deadline(self, ms: u32) -> Context {
        assert_eq!(context::tn_context_set_deadline(self.0.0, ms), types::TN_OK);
        self
    }

    /// The progress of its calls arrives there, under this id: [`Host::progress`].
    #[allow(dead_code, reason = "for tests/real_remote")]
    pub fn progress(self, to: &Queue, id: u64) -> Context {
        assert_eq!(context::tn_context_set_progress(self.0.0, to.0.0, id), types::TN_OK);
        self
    }

    pub fn cancel(&self) {
        assert_eq!(context::tn_context_cancel(self.0.0), types::TN_OK);
    }
}

fn raw(context: Option<&Context>) -> *mut types::tn_context {
    context.map_or(ptr::null_mut(), |context| context.0.0)
}

pub struct Host {
    mcp: Held<types::tn_mcp>,
    pub events: Queue,
    completions: Queue,
    next: AtomicU64,
}

impl Host {
    /// One server, `s`, and a queue for events.
    #[track_caller]
    pub fn new(server: Value, options: Value) -> Host {
        Host::load(server, options, true)
    }

    #[track_caller]
    pub fn deaf(server: Value, options: Value) -> Host {
        Host::load(server, options, false)
    }

    #[track_caller]
    fn load(server: Value, options: Value, hears: bool) -> Host {
        let (config, options) = (c(&json!({"mcpServers": {"s": server}}).to_string()), c(&options.to_string()));
        let (events, completions) = (Queue::new(), Queue::new());
        let to = if hears { events.0.0 } else { ptr::null_mut() };
        let loaded = Held(unsafe { mcp::tn_mcp_load(config.as_ptr(), options.as_ptr(), to, ptr::null_mut()) });
        let done = Done::of(&loaded);
        assert_eq!(done.doc["servers"]["s"]["status"], "connected", "{done:?}");
        let mcp = Held(result::tn_result_take_mcp(loaded.0));
        Host { mcp, events, completions, next: AtomicU64::new(1) }
    }

    // -- calls --

    pub fn tool_names(&self) -> Vec<String> {
        let list = Held(mcp::tn_mcp_tools(self.mcp.0));
        let tools: Value =
            serde_json::from_slice(unsafe { CStr::from_ptr(tools::tn_tools_json(list.0, ptr::null_mut())) }.to_bytes())
                .expect("JSON");
        tools.as_array().expect("an array").iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    #[track_caller]
    fn tool(&self, name: &str) -> Held<types::tn_tool> {
        let list = Held(mcp::tn_mcp_tools(self.mcp.0));
        let name = c(&format!("s_{name}"));
        let tool = unsafe { tools::tn_tools_find(list.0, name.as_ptr()) };
        assert!(!tool.is_null(), "no tool {name:?}");
        Held(tool)
    }

    #[track_caller]
    pub fn call(&self, tool: &str, arguments: Value) -> Done {
        let (tool, arguments) = (self.tool(tool), c(&arguments.to_string()));
        Done::of(&Held(unsafe { tools::tn_tool_execute(tool.0, arguments.as_ptr(), ptr::null_mut()) }))
    }

    /// Begins a call; its end is [`Host::end`].
    #[track_caller]
    pub fn begin(&self, tool: &str, arguments: Value, context: Option<&Context>) -> u64 {
        let (tool, arguments) = (self.tool(tool), c(&arguments.to_string()));
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (context, queue) = (raw(context), self.completions.0.0);
        assert_eq!(
            unsafe { tools::tn_tool_execute_submit(tool.0, arguments.as_ptr(), context, queue, id) },
            types::TN_OK
        );
        id
    }

    #[track_caller]
    pub fn begin_request(&self, method: &str, params: Value) -> u64 {
        let (server, method, params) = (c("s"), c(method), c(&params.to_string()));
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let status = unsafe {
            mcp::tn_mcp_request_submit(
                self.mcp.0,
                server.as_ptr(),
                method.as_ptr(),
                params.as_ptr(),
                ptr::null_mut(),
                self.completions.0.0,
                id,
            )
        };
        assert_eq!(status, types::TN_OK);
        id
    }

    #[track_caller]
    pub fn request(&self, method: &str, params: Value) -> Done {
        let id = self.begin_request(method, params);
        self.end(id)
    }

    /// How the call that was begun ended.
    #[track_caller]
    pub fn end(&self, id: u64) -> Done {
        let event = self.completions.next();
        assert_eq!((event.kind, event.id), (DONE, id));
        event.done
    }

    /// The next call that ended.
    #[track_caller]
    pub fn next_end(&self) -> (u64, Done) {
        let event = self.completions.next();
        assert_eq!(event.kind, DONE);
        (event.id, event.done)
    }

    pub fn restart(&self) {
        let server = c("s");
        let done = Done::of(&Held(unsafe { mcp::tn_mcp_restart(self.mcp.0, server.as_ptr(), ptr::null_mut()) }));
        assert!(!done.is_error, "{done:?}");
    }

    pub fn close(&self) {
        let done = Done::of(&Held(mcp::tn_mcp_close(self.mcp.0, ptr::null_mut())));
        assert!(!done.is_error, "{done:?}");
    }

    /// What the hostile server has got so far, message by message.
    pub fn received(&self) -> Vec<Value> {
        let lines = self.call("received", json!({}));
        lines.ok().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    pub fn received_of(&self, method: &str) -> Vec<Value> {
        self.received().into_iter().filter(|message| message["method"] == method).collect()
    }

    // -- events --

    #[track_caller]
    fn event(&self, kind: i32) -> Event {
        loop {
            let event = self.events.next();
            if event.kind == kind {
                return event;
            }
            assert_eq!(event.kind, NOTICE, "{event:?}");
        }
    }

    /// The next request: its id and its document.
    #[track_caller]
    pub fn asked(&self) -> (u64, Value) {
        let event = self.event(REQUEST);
        assert_eq!(event.done.doc["id"], event.id);
        (event.id, event.done.doc)
    }

    /// The next cancel must be of this request, which then cannot be answered.
    #[track_caller]
    pub fn taken_back(&self, id: u64) {
        let event = self.event(CANCEL);
        assert_eq!((event.id, event.done.doc), (id, json!({"id": id})));
        answer(id, accept(json!({}))).failed("TN_E_NOT_FOUND", &format!("{id}"));
    }

    /// The next progress of a call; other notices are passed over.
    #[track_caller]
    #[allow(dead_code, reason = "for tests/real_remote")]
    pub fn progress(&self, id: u64) -> Value {
        loop {
            let event = self.event(NOTICE);
            if event.done.doc["kind"] == "progress" {
                assert_eq!(event.id, id);
                return event.done.doc;
            }
        }
    }

    /// The next notice of that kind; others are passed over.
    #[track_caller]
    pub fn notice(&self, kind: &str) -> Value {
        loop {
            let event = self.events.next();
            assert_eq!((event.kind, event.id), (NOTICE, 0), "{event:?}");
            assert_eq!(event.done.doc["server"], "s");
            if event.done.doc["kind"] == kind {
                return event.done.doc;
            }
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        library::tn_free(mcp::tn_mcp_close(self.mcp.0, ptr::null_mut()).cast());
    }
}

pub fn answer_text(id: u64, text: &str) -> Done {
    let text = c(text);
    Done::of(&Held(unsafe { queue::tn_answer(id, text.as_ptr()) }))
}

pub fn answer(id: u64, answer: Value) -> Done {
    answer_text(id, &answer.to_string())
}

pub fn accept(data: Value) -> Value {
    json!({"ok": true, "data": data})
}

pub fn refuse(reason: &str) -> Value {
    json!({"ok": false, "reason": reason})
}

// -- servers --

/// A server that `cargo` builds as an example.
pub fn example(name: &str) -> PathBuf {
    let mut folder = std::env::current_exe().expect("the test's own path");
    folder.pop();
    folder.pop();
    let program = folder.join("examples").join(name);
    assert!(program.exists(), "{} is missing: run `cargo build --examples`", program.display());
    program
}

pub fn hostile(behaviour: &str, options: &[&str]) -> Value {
    let mut args = vec![behaviour];
    args.extend(options);
    json!({"command": example("hostile-server"), "args": args})
}

pub const ERAS: [&str; 2] = ["legacy", "modern"];

/// A hostile server that speaks one era only.
pub fn of_era(era: &str, behaviour: &str) -> Value {
    hostile(behaviour, &["--era", era])
}

/// A file that tools/install-test-servers puts under .deps. None: it is not installed, which only CI takes ill.
pub fn installed(path: &str) -> Option<PathBuf> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(".deps").join(path);
    if file.exists() {
        return Some(file);
    }
    assert!(std::env::var_os("CI").is_none(), "{} is missing", file.display());
    eprintln!("skipped: {} is not installed; run tools/install-test-servers", file.display());
    None
}

/// The document of a load, with an events queue.
pub fn load_document(config: &str) -> Value {
    let (config, events) = (c(config), Queue::new());
    let loaded = unsafe { mcp::tn_mcp_load(config.as_ptr(), ptr::null(), events.0.0, ptr::null_mut()) };
    Done::of(&Held(loaded)).doc
}
