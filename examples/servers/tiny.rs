//! The server of `progress.mjs` in Rust, for machines without Node: an MCP server in one small binary, on stdio, or with
//! `--http [PORT]` over streamable HTTP (`tiny_http.rs`).
//!
//! It speaks both eras of the protocol: `initialize` (2025-11-25 and older) and `server/discover` (2026-07-28).
//! Tools: `echo {text}`, `fail {}` and `slow {durationMs, intervalMs}`, which reports progress every intervalMs and stops
//! when the call is cancelled. One resource: `fixture://hello`. It exits when its stdin ends.

mod tiny_http;

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, BufWriter, Stdout, Write};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

const MODERN: &str = "2026-07-28";
const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
const URI: &str = "fixture://hello";

/// What a request is answered with: a result, or code, message and data of an error.
type Answer = Result<Value, (i32, String, Value)>;

/// Everything the threads share: stdout, and the `slow` calls under way. Dropping a call's sender cancels it.
#[derive(Debug)]
struct Server {
    out: Mutex<BufWriter<Stdout>>,
    running: Mutex<HashMap<String, Sender<()>>>,
}

fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    // Other arguments are none of its business: tests mark processes with them.
    if arguments.next().as_deref() != Some("--http") {
        return serve_stdio();
    }
    match arguments.next().as_deref().unwrap_or("0").parse() {
        Ok(port) => tiny_http::serve(port),
        Err(_) => Err(io::Error::other("--http: expected a port, or nothing for any that is free")),
    }
}

fn serve_stdio() -> io::Result<()> {
    let server = Arc::new(Server { out: Mutex::new(BufWriter::new(io::stdout())), running: Mutex::default() });
    let mut input = BufReader::with_capacity(64 * 1024, io::stdin().lock());
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line)? > 0 {
        match serde_json::from_slice::<Value>(&line) {
            Ok(message) => server.receive(message)?,
            Err(error) => server.reply(&Value::Null, false, "", failure(-32700, &format!("Parse error: {error}")))?,
        }
        line.clear();
        // Requests that came together are answered together.
        if !input.buffer().contains(&b'\n') {
            lock(&server.out).flush()?;
        }
    }
    // The end of stdin is the end of the session: calls still under way die with the process.
    lock(&server.out).flush()
}

impl Server {
    fn receive(self: &Arc<Self>, mut message: Value) -> io::Result<()> {
        let params = message.get_mut("params").map(Value::take).unwrap_or_default();
        let Some(method) = message["method"].as_str() else { return Ok(()) };
        let Some(id) = message.get("id") else {
            if method == "notifications/cancelled" {
                lock(&self.running).remove(&params["requestId"].to_string());
            }
            return Ok(());
        };
        let version = &params["_meta"]["io.modelcontextprotocol/protocolVersion"];
        let modern = !version.is_null();
        if let Some(error) = unsupported(version).filter(|_| modern) {
            return self.reply(id, modern, method, Err(error));
        }
        if method == "tools/call" && params["name"] == "slow" {
            let (cancel, cancelled) = mpsc::channel();
            lock(&self.running).insert(id.to_string(), cancel);
            let (server, id) = (Arc::clone(self), id.clone());
            std::thread::spawn(move || server.slow(&id, modern, &params, &cancelled));
            return Ok(());
        }
        self.reply(id, modern, method, answer(method, modern, &params))
    }

    fn slow(&self, id: &Value, modern: bool, params: &Value, cancelled: &Receiver<()>) -> io::Result<()> {
        let pause = |time| cancelled.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
        let send = |message: &Value| {
            self.write(message)?;
            lock(&self.out).flush()
        };
        if let Some(result) = slow(params, pause, send)? {
            lock(&self.running).remove(&id.to_string());
            self.reply(id, modern, "tools/call", Ok(result))?;
            lock(&self.out).flush()?;
        }
        // Nobody waits for the answer to a cancelled request.
        Ok(())
    }

    fn reply(&self, id: &Value, modern: bool, method: &str, answer: Answer) -> io::Result<()> {
        self.write(&response(id, modern, method, answer))
    }

    fn write(&self, message: &Value) -> io::Result<()> {
        let mut out = lock(&self.out);
        serde_json::to_writer(&mut *out, message)?;
        out.write_all(b"\n")
    }
}

/// The message that answers a request.
fn response(id: &Value, modern: bool, method: &str, answer: Answer) -> Value {
    match answer {
        Ok(result) if modern => json!({"jsonrpc": "2.0", "id": id, "result": as_modern(method, result)}),
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err((code, message, data)) => {
            let mut error = json!({"code": code, "message": message});
            if !data.is_null() {
                error["data"] = data;
            }
            json!({"jsonrpc": "2.0", "id": id, "error": error})
        }
    }
}

/// What is wrong with the revision that a request of the modern era names.
fn unsupported(version: &Value) -> Option<(i32, String, Value)> {
    let data = json!({"supported": [MODERN], "requested": version});
    (version != MODERN).then(|| (-32022, format!("Unsupported protocol version: {version}"), data))
}

fn answer(method: &str, modern: bool, params: &Value) -> Answer {
    let capabilities = json!({"tools": {}, "resources": {}});
    match method {
        "initialize" => {
            let asked = params["protocolVersion"].as_str();
            let version = LEGACY.into_iter().find(|known| Some(*known) == asked).unwrap_or(LEGACY[0]);
            Ok(json!({"protocolVersion": version, "capabilities": capabilities, "serverInfo": server_info()}))
        }
        "server/discover" => Ok(json!({"supportedVersions": [MODERN], "capabilities": capabilities})),
        "ping" => Ok(json!({})),
        "tools/list" => Ok(json!({"tools": tools()})),
        "tools/call" => call(&params["name"], &params["arguments"]),
        "resources/list" => Ok(json!({"resources": [{"uri": URI, "name": "hello", "mimeType": "text/plain",
            "description": "A fixed text resource."}]})),
        "resources/templates/list" => Ok(json!({"resourceTemplates": []})),
        "resources/read" if params["uri"] == URI => {
            Ok(json!({"contents": [{"uri": URI, "mimeType": "text/plain", "text": "hello resource"}]}))
        }
        "resources/read" => {
            let uri = params["uri"].as_str().unwrap_or_default();
            let code = if modern { -32602 } else { -32002 };
            Err((code, format!("Resource not found: {uri}"), json!({"uri": uri})))
        }
        _ => failure(-32601, &format!("Method not found: {method}")),
    }
}

fn call(name: &Value, arguments: &Value) -> Answer {
    match name.as_str().unwrap_or_default() {
        "echo" => match arguments["text"].as_str() {
            Some(value) => Ok(text(value, false)),
            None => failure(-32602, "echo: text must be a string"),
        },
        "fail" => Ok(text("this tool always fails", true)),
        other => failure(-32602, &format!("Unknown tool: {other}")),
    }
}

/// The tool `slow`. `pause` waits, and says whether the call is still wanted; without a result it is not.
fn slow(
    params: &Value,
    pause: impl Fn(Duration) -> bool,
    mut send: impl FnMut(&Value) -> io::Result<()>,
) -> io::Result<Option<Value>> {
    let number = |name: &str, default| params["arguments"][name].as_u64().unwrap_or(default);
    let (duration, token) = (number("durationMs", 1000), &params["_meta"]["progressToken"]);
    let interval = if token.is_null() { 0 } else { number("intervalMs", 100) };
    let mut elapsed = 0;
    while elapsed < duration {
        let step = if interval == 0 { duration } else { interval }.min(duration - elapsed);
        if !pause(Duration::from_millis(step)) {
            return Ok(None);
        }
        elapsed += step;
        if interval > 0 {
            send(&json!({"jsonrpc": "2.0", "method": "notifications/progress",
                "params": {"progressToken": token, "progress": elapsed, "total": duration}}))?;
        }
    }
    Ok(Some(text(&format!("slept {duration} ms"), false)))
}

fn tools() -> Value {
    let milliseconds = |description: &str| json!({"type": "integer", "minimum": 0, "description": description});
    json!([
        {
            "name": "echo",
            "description": "Gives back the text.",
            "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
            "annotations": {"readOnlyHint": true}
        },
        {
            "name": "slow",
            "description": "Takes a while, and reports progress.",
            "inputSchema": {"type": "object", "properties": {
                "durationMs": milliseconds("How long it takes; 1000 if not given."),
                "intervalMs": milliseconds("Time between two progress notifications; 0 for none; 100 if not given.")
            }},
            "annotations": {"readOnlyHint": true}
        },
        {"name": "fail", "description": "Always fails.", "inputSchema": {"type": "object", "properties": {}}}
    ])
}

/// In 2026-07-28 a result says what it is, who gives it, and how long it may be kept.
fn as_modern(method: &str, mut result: Value) -> Value {
    if result.get("resultType").is_none() {
        result["resultType"] = json!("complete");
    }
    result["_meta"] = json!({"io.modelcontextprotocol/serverInfo": server_info()});
    if method != "tools/call" {
        result["ttlMs"] = json!(0);
        result["cacheScope"] = json!("private");
    }
    result
}

fn server_info() -> Value {
    json!({"name": "progress", "version": "1.0.0"})
}

fn text(value: &str, is_error: bool) -> Value {
    let mut result = json!({"content": [{"type": "text", "text": value}]});
    if is_error {
        result["isError"] = json!(true);
    }
    result
}

fn failure(code: i32, message: &str) -> Answer {
    Err((code, message.to_owned(), Value::Null))
}

/// A thread that died holding the lock left nothing half done that matters here.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
