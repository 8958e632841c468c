//! The ordinary server that every behaviour starts from, and the hooks by which a behaviour departs from it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::{self, BufRead, Write};
use std::process::exit;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

pub const MODERN: &str = "2026-07-28";
pub const LEGACY: &str = "2025-11-25";
const OLD: [&str; 4] = [LEGACY, "2025-06-18", "2025-03-26", "2024-11-05"];
const COMMON_TOOLS: [&str; 3] = ["echo", "received", "process"];

pub const OPTIONS: &[&str] = &[
    "--era",
    "--at",
    "--delay",
    "--interval",
    "--count",
    "--bytes",
    "--url",
    "--variable",
    "--state",
    "--record",
    "--grandchild",
    "--inner",
];

/// One way to misbehave. What is not given is as in [`PLAIN`].
#[derive(Debug)]
pub struct Behaviour {
    pub name: &'static str,
    pub about: &'static str,
    /// `both`, `legacy` or `modern`.
    pub era: &'static str,
    /// Which messages `on` is asked about: those of a method, `handshake` for the first request of either era, or "" for
    /// all. Calls of the common tools are never among them.
    pub at: &'static str,
    /// Tools beside the common ones.
    pub tools: &'static [&'static str],
    pub capabilities: &'static str,
    /// A script to run under `/bin/sh` first; it runs the server itself as `"$0" "$@"`.
    pub shell: &'static str,
    /// Before anything is read.
    pub start: fn(&mut Server),
    /// Instead of the ordinary answer.
    pub on: fn(&mut Server, &Message) -> Turn,
    /// How an answer goes out.
    pub write: fn(&mut Server, Value),
    /// At the end of stdin, before the exit.
    pub end: fn(&mut Server),
}

pub const PLAIN: Behaviour = Behaviour {
    name: "ordinary",
    about: "does nothing wrong",
    era: "both",
    at: "tools/call",
    tools: &["odd"],
    capabilities: r#"{"tools":{}}"#,
    shell: "",
    start: |_| (),
    on: |_, _| Turn::Ordinary,
    write: |_, message| line(&message),
    end: |_| (),
};

/// What becomes of a message.
#[derive(Debug)]
pub enum Turn {
    /// The ordinary answer.
    Ordinary,
    /// Nothing more: it was answered, or will not be.
    Handled,
    /// This result; what 2026-07-28 wants in a result is added where it is missing.
    Result(Value),
    /// This as the error member.
    Error(Value),
    /// These bytes and a line break.
    Raw(Vec<u8>),
}

#[derive(Debug)]
pub struct Message {
    /// Empty for a response.
    pub method: String,
    /// Null for a notification.
    pub id: Value,
    pub params: Value,
    /// The tool that is called, or empty.
    pub tool: String,
    /// It names the revision in its `_meta`.
    pub modern: bool,
    pub line: String,
}

#[derive(Debug)]
pub struct Server {
    behaviour: &'static Behaviour,
    options: HashMap<String, String>,
    received: Vec<String>,
    /// Free for the behaviour: how often something happened.
    pub count: u64,
    /// Free for the behaviour: the id of a request that is answered later.
    pub waiting: Value,
    /// The id of the open `subscriptions/listen`.
    pub listen: Value,
    /// Set when the call in progress was cancelled.
    pub cancelled: Arc<AtomicBool>,
}

impl Server {
    pub fn new(behaviour: &'static Behaviour, options: HashMap<String, String>) -> Self {
        Server {
            behaviour,
            options,
            received: Vec::new(),
            count: 0,
            waiting: Value::Null,
            listen: Value::Null,
            cancelled: Arc::default(),
        }
    }

    pub fn start(&mut self) {
        (self.behaviour.start)(self);
    }

    pub fn run(mut self) {
        self.start();
        for line in io::stdin().lock().split(b'\n') {
            let Ok(line) = line else { break };
            self.receive(&String::from_utf8_lossy(&line));
        }
        (self.behaviour.end)(&mut self);
    }

    /// A setting, by its name without the dashes.
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options.get(&format!("--{name}")).map(String::as_str)
    }

    pub fn number(&self, name: &str, default: u64) -> u64 {
        self.option(name)
            .map_or(default, |text| text.parse().unwrap_or_else(|_| fail(&format!("--{name} {text}: not a number"))))
    }

    pub fn speaks(&self, era: &str) -> bool {
        let own = self.option("era").unwrap_or(self.behaviour.era);
        own == era || own == "both"
    }

    pub fn receive(&mut self, line: &str) {
        self.received.push(line.to_owned());
        if let Some(file) = self.option("record") {
            let written =
                OpenOptions::new().create(true).append(true).open(file).and_then(|mut f| writeln!(f, "{line}"));
            written.unwrap_or_else(|error| fail(&format!("--record {file}: {error}")));
        }
        let Ok(value) = serde_json::from_str::<Value>(line) else { return };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let params = value.get("params").cloned().unwrap_or_default();
        let message = Message {
            method: text(&value["method"]),
            id: value.get("id").cloned().unwrap_or_default(),
            tool: if value["method"] == "tools/call" { text(&params["name"]) } else { String::new() },
            modern: params["_meta"]["io.modelcontextprotocol/protocolVersion"] == MODERN,
            params,
            line: line.to_owned(),
        };
        let turn = if self.is_met_at(&message) { (self.behaviour.on)(self, &message) } else { Turn::Ordinary };
        self.answer(&message, turn);
    }

    fn is_met_at(&self, message: &Message) -> bool {
        let place = self.option("at").unwrap_or(self.behaviour.at);
        let method = message.method.as_str();
        let here = match place {
            "" => true,
            "handshake" => method == "initialize" || method == "server/discover",
            _ => place == method,
        };
        here && !COMMON_TOOLS.contains(&message.tool.as_str())
    }

    pub fn answer(&mut self, message: &Message, turn: Turn) {
        let turn = match turn {
            Turn::Ordinary if message.method.is_empty() || message.id.is_null() => Turn::Handled,
            Turn::Ordinary => self.ordinary(message),
            other => other,
        };
        match turn {
            Turn::Ordinary | Turn::Handled => {}
            Turn::Result(result) => {
                let result = if message.modern { as_modern(&message.method, result) } else { result };
                self.send(json!({"jsonrpc": "2.0", "id": message.id, "result": result}));
            }
            Turn::Error(error) => self.send(json!({"jsonrpc": "2.0", "id": message.id, "error": error})),
            Turn::Raw(mut bytes) => {
                bytes.push(b'\n');
                raw(&bytes);
            }
        }
    }

    /// Writes an answer the behaviour's way.
    pub fn send(&mut self, message: Value) {
        (self.behaviour.write)(self, message);
    }

    /// A notification; in 2026-07-28 it belongs to the subscription, if there is one.
    pub fn notify(&self, method: &str, mut params: Value) {
        if !self.listen.is_null() {
            params["_meta"] = json!({"io.modelcontextprotocol/subscriptionId": self.listen});
        }
        line(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    fn ordinary(&mut self, message: &Message) -> Turn {
        let params = &message.params;
        let capabilities: Value = serde_json::from_str(self.behaviour.capabilities).unwrap_or_default();
        let has_resources = capabilities.get("resources").is_some();
        match message.method.as_str() {
            "initialize" if !self.speaks("legacy") => Turn::Error(unsupported(&[MODERN])),
            "initialize" => {
                let asked = params["protocolVersion"].as_str().unwrap_or_default();
                let version = if OLD.contains(&asked) { asked } else { LEGACY };
                Turn::Result(initialize_result(version, capabilities))
            }
            "server/discover" => self.answer_to_discover().map_or_else(|| not_found("server/discover"), Turn::Result),
            "ping" => Turn::Result(json!({})),
            "subscriptions/listen" if self.speaks("modern") => {
                self.listen = message.id.clone();
                self.notify(
                    "notifications/subscriptions/acknowledged",
                    json!({"notifications": params["notifications"]}),
                );
                Turn::Handled
            }
            "tools/list" => Turn::Result(json!({"tools": self.tools()})),
            "tools/call" => Turn::Result(text(&self.call(message))),
            "resources/list" if has_resources => Turn::Result(json!({"resources": [{
                "uri": "fixture://hello", "name": "hello", "mimeType": "text/plain", "description": "A fixed text resource."
            }]})),
            "resources/templates/list" if has_resources => Turn::Result(json!({"resourceTemplates": []})),
            "resources/read" if params["uri"] == "fixture://hello" => Turn::Result(json!({"contents": [
                {"uri": "fixture://hello", "mimeType": "text/plain", "text": "hello resource"}
            ]})),
            "resources/read" => {
                let code = if message.modern { -32602 } else { -32002 };
                Turn::Error(
                    json!({"code": code, "message": format!("Resource not found: {}", params["uri"].as_str().unwrap_or_default())}),
                )
            }
            other => not_found(other),
        }
    }

    /// None: it does not speak 2026-07-28.
    pub fn answer_to_discover(&self) -> Option<Value> {
        let capabilities: Value = serde_json::from_str(self.behaviour.capabilities).unwrap_or_default();
        self.speaks("modern").then(|| json!({"supportedVersions": [MODERN], "capabilities": capabilities}))
    }

    /// The common tools, and the behaviour's own.
    pub fn tools(&self) -> Vec<Value> {
        let echo = json!({
            "name": "echo",
            "description": "Gives back the text.",
            "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
        });
        let others = COMMON_TOOLS[1..].iter().chain(self.behaviour.tools);
        std::iter::once(echo).chain(others.map(|name| tool(name))).collect()
    }

    fn call(&self, message: &Message) -> String {
        match message.tool.as_str() {
            "echo" => message.params["arguments"]["text"].as_str().unwrap_or_default().to_owned(),
            "received" => self.received.join("\n"),
            "process" => json!({
                "pid": std::process::id(),
                "grandchild": self.option("grandchild"),
                "args": std::env::args_os().map(|text| text.to_string_lossy().into_owned()).collect::<Vec<_>>(),
                "cwd": std::env::current_dir().unwrap_or_default(),
                "env": std::env::vars_os()
                    .map(|(name, value)| (name.to_string_lossy().into_owned(), json!(value.to_string_lossy())))
                    .collect::<serde_json::Map<_, _>>(),
            })
            .to_string(),
            other => format!("called {other}"),
        }
    }
}

pub fn tool(name: &str) -> Value {
    json!({"name": name, "inputSchema": {"type": "object", "properties": {}}})
}

fn not_found(method: &str) -> Turn {
    Turn::Error(json!({"code": -32601, "message": format!("Method not found: {method}")}))
}

pub fn text(value: &str) -> Value {
    json!({"content": [{"type": "text", "text": value}]})
}

pub fn initialize_result(version: &str, capabilities: Value) -> Value {
    json!({
        "protocolVersion": version,
        "capabilities": capabilities,
        "serverInfo": {"name": "hostile", "version": "1.0.0"}
    })
}

pub fn unsupported(versions: &[&str]) -> Value {
    json!({"code": -32022, "message": "Unsupported protocol version", "data": {"supported": versions}})
}

fn as_modern(method: &str, mut result: Value) -> Value {
    let cached = method == "server/discover" || method == "resources/read" || method.ends_with("/list");
    if let Value::Object(fields) = &mut result {
        fields.entry("resultType").or_insert_with(|| json!("complete"));
        if cached {
            fields.entry("ttlMs").or_insert_with(|| json!(0));
            fields.entry("cacheScope").or_insert_with(|| json!("private"));
        }
    }
    result
}

pub fn line(message: &Value) {
    raw(format!("{message}\n").as_bytes());
}

/// Where the server writes, if that is not stdout: over HTTP the same faults come in replies and events.
pub type Sink = Arc<dyn Fn(&[u8]) + Send + Sync>;

thread_local! {
    static SINK: RefCell<Option<Sink>> = const { RefCell::new(None) };
}

/// From now on, what this thread and those that it spawns write goes there.
#[allow(dead_code, reason = "a process has its stdout")]
pub fn write_to(sink: Sink) {
    SINK.set(Some(sink));
}

pub fn spawn(work: impl FnOnce() + Send + 'static) {
    let sink = SINK.with_borrow(Clone::clone);
    thread::spawn(move || {
        SINK.set(sink);
        work();
    });
}

/// Writes bytes as they are. A server whose client is gone has nothing left to do.
pub fn raw(bytes: &[u8]) {
    if let Some(sink) = SINK.with_borrow(Clone::clone) {
        return sink(bytes);
    }
    let mut out = io::stdout().lock();
    if out.write_all(bytes).and_then(|()| out.flush()).is_err() {
        exit(0);
    }
}

/// What [`crash`] unwinds with where the server is no process of its own.
pub struct Crash;

/// Ends the process, or what stands for it.
pub fn crash(status: i32) -> ! {
    crash_here();
    exit(status)
}

/// The same, by a signal.
pub fn abort() -> ! {
    crash_here();
    std::process::abort()
}

/// Ends what stands for the process, if it is none.
fn crash_here() {
    if SINK.with_borrow(Option::is_some) {
        std::panic::resume_unwind(Box::new(Crash));
    }
}

/// Does nothing more, until the end of the process.
pub fn hang() -> ! {
    loop {
        thread::sleep(Duration::from_secs(3600));
    }
}

pub fn pause(milliseconds: u64) {
    thread::sleep(Duration::from_millis(milliseconds));
}

pub fn fail(complaint: &str) -> ! {
    eprintln!("hostile-server: {complaint}");
    exit(2)
}
