//! The same server over streamable HTTP: `tiny-server --http [PORT]`, for this machine only. It prints its URL as one line.
//!
//! A legacy client gets a session; one of 2026-07-28 needs none. A reply is JSON, or an event stream where something comes
//! before it. Two more tools: `greet {}`, which asks the person at the client for a name, and `received {}`, which names the
//! tools whose calls are under way. `/mcp/locked` is the same server for those who have the key: `Bearer sesame`.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::{answer, failure, lock, response, slow, text, tools, unsupported};

/// No request is longer: 16 MiB of body, 64 KiB before it.
const BODY: usize = 16 << 20;
const HEAD: u64 = 64 << 10;

/// Everything the connections share.
#[derive(Debug, Default)]
struct Host {
    sessions: Mutex<HashMap<String, Arc<Session>>>,
    last_session: AtomicU64,
    /// The tools whose calls are under way.
    running: Mutex<Vec<&'static str>>,
}

/// What is known of a legacy client.
#[derive(Debug)]
struct Session {
    has_forms: bool,
    /// The calls that wait, by id. A value is the answer to the question of the call, which has the call's own id; a dropped
    /// sender cancels.
    waiting: Mutex<HashMap<String, Sender<Value>>>,
}

/// One request of HTTP.
struct Request {
    method: String,
    path: String,
    /// By name in small letters.
    headers: HashMap<String, String>,
    body: Vec<u8>,
}

/// Serves until stdin ends.
pub fn serve(port: u16) -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    println!("http://{}/mcp", listener.local_addr()?);
    thread::spawn(move || {
        let host = Arc::new(Host::default());
        for stream in listener.incoming().flatten() {
            let host = Arc::clone(&host);
            // A connection that breaks is the client's affair.
            thread::spawn(move || host.connection(&stream));
        }
    });
    io::copy(&mut io::stdin().lock(), &mut io::sink()).map(drop)
}

impl Host {
    fn connection(&self, stream: &TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let mut reader = BufReader::new(stream);
        while let Some(request) = read_request(&mut reader)? {
            self.request(&request, stream)?;
        }
        Ok(())
    }

    fn request(&self, request: &Request, stream: &TcpStream) -> io::Result<()> {
        // Only browsers say where they come from, and they are led here by strangers (MCP, transports, security).
        if request.headers.contains_key("origin") {
            return reply(stream, "403 Forbidden", "", None);
        }
        match request.path.as_str() {
            "/mcp" => {}
            "/mcp/locked" if request.header("authorization") == "Bearer sesame" => {}
            "/mcp/locked" => {
                return reply(stream, "401 Unauthorized", "WWW-Authenticate: Bearer realm=\"tiny\"\r\n", None);
            }
            _ => return reply(stream, "404 Not Found", "", None),
        }
        let session = request.header("mcp-session-id");
        match request.method.as_str() {
            "POST" => self.message(request, stream),
            "DELETE" => match lock(&self.sessions).remove(session) {
                Some(session) => {
                    lock(&session.waiting).clear();
                    reply(stream, "204 No Content", "", None)
                }
                None => reply(stream, "404 Not Found", "", None),
            },
            // This server has nothing to say by itself.
            _ => reply(stream, "405 Method Not Allowed", "Allow: POST, DELETE\r\n", None),
        }
    }

    fn message(&self, request: &Request, stream: &TcpStream) -> io::Result<()> {
        let message: Value = match serde_json::from_slice(&request.body) {
            Ok(message) => message,
            Err(error) => {
                let answer = failure(-32700, &format!("Parse error: {error}"));
                return reply(stream, "400 Bad Request", "", Some(&response(&Value::Null, false, "", answer)));
            }
        };
        let (method, id, params) = (message["method"].as_str().unwrap_or_default(), &message["id"], &message["params"]);
        let version = &params["_meta"]["io.modelcontextprotocol/protocolVersion"];
        let bad = |answer| reply(stream, "400 Bad Request", "", Some(&response(id, true, method, answer)));
        if !version.is_null() {
            // The headers say the same as the message (MCP 2026-07-28, standard headers).
            if request.header("mcp-method") != method || request.header("mcp-protocol-version") != *version {
                return bad(failure(-32020, "Mcp-Method or MCP-Protocol-Version is not what the message says"));
            }
            return match unsupported(version) {
                Some(error) => bad(Err(error)),
                None => self.answer(id, method, params, None, stream),
            };
        }
        if method == "initialize" {
            return self.initialize(id, params, stream);
        }
        let session = match request.header("mcp-session-id") {
            "" => return bad(failure(-32600, "initialize comes first; then Mcp-Session-Id names the session")),
            name => lock(&self.sessions).get(name).map(Arc::clone),
        };
        let Some(session) = session else { return reply(stream, "404 Not Found", "", None) };
        match method {
            "" => {
                if let Some(call) = lock(&session.waiting).get(&id.to_string()) {
                    // A call that has been given up takes no answer.
                    let _ = call.send(message["result"].clone());
                }
            }
            "notifications/cancelled" => drop(lock(&session.waiting).remove(&params["requestId"].to_string())),
            _ if id.is_null() => {}
            _ => return self.answer(id, method, params, Some(&session), stream),
        }
        reply(stream, "202 Accepted", "", None)
    }

    fn initialize(&self, id: &Value, params: &Value, stream: &TcpStream) -> io::Result<()> {
        let name = format!("session-{}", self.last_session.fetch_add(1, Ordering::Relaxed));
        let session =
            Session { has_forms: params["capabilities"]["elicitation"].is_object(), waiting: Mutex::default() };
        lock(&self.sessions).insert(name.clone(), Arc::new(session));
        let message = response(id, false, "initialize", answer("initialize", false, params));
        reply(stream, "200 OK", &format!("Mcp-Session-Id: {name}\r\n"), Some(&message))
    }

    /// Answers a request; without a session it is one of 2026-07-28.
    fn answer(
        &self,
        id: &Value,
        method: &str,
        params: &Value,
        session: Option<&Session>,
        stream: &TcpStream,
    ) -> io::Result<()> {
        let modern = session.is_none();
        let called = if method == "tools/call" { params["name"].as_str().unwrap_or_default() } else { "" };
        let answer = match (method, called, session) {
            (_, "slow", _) => {
                let _running = Running::new(self, "slow");
                return slowly(id, params, session, stream);
            }
            (_, "greet", Some(session)) if session.has_forms => {
                let _running = Running::new(self, "greet");
                return greet(id, session, stream);
            }
            (_, "greet", _) => Ok(greet_modern(params)),
            (_, "received", _) => Ok(text(&format!("{:?}", lock(&self.running)), false)),
            ("tools/list", ..) => Ok(json!({"tools": more_tools()})),
            _ => answer(method, modern, params),
        };
        let unknown = modern && matches!(answer, Err((-32601, ..)));
        let status = if unknown { "404 Not Found" } else { "200 OK" };
        reply(stream, status, "", Some(&response(id, modern, method, answer)))
    }
}

/// A call that is under way, until it is dropped.
struct Running<'a>(&'a Host, &'static str);

impl<'a> Running<'a> {
    fn new(host: &'a Host, tool: &'static str) -> Self {
        lock(&host.running).push(tool);
        Running(host, tool)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let mut running = lock(&self.0.running);
        if let Some(at) = running.iter().position(|tool| *tool == self.1) {
            running.remove(at);
        }
    }
}

// -- tools --------------------------------------------------------------------------------------------------------------

fn more_tools() -> Value {
    let mut tools = tools();
    if let Some(tools) = tools.as_array_mut() {
        for (name, description) in [
            ("greet", "Asks for a name, and greets who has it."),
            ("received", "Names the tools whose calls are under way."),
        ] {
            tools.push(json!({"name": name, "description": description,
                "inputSchema": {"type": "object", "properties": {}}}));
        }
    }
    tools
}

/// `slow`, with its progress and then its result as events.
fn slowly(id: &Value, params: &Value, session: Option<&Session>, stream: &TcpStream) -> io::Result<()> {
    let mut events = Events::open(stream)?;
    let result = match session {
        // A client of 2026-07-28 cancels by closing the connection.
        None => slow(params, |time| is_there(stream, time), |message| events.send(message))?,
        Some(session) => {
            let (sender, cancelled) = channel();
            lock(&session.waiting).insert(id.to_string(), sender);
            let pause = |time| cancelled.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
            slow(params, pause, |message| events.send(message))?
        }
    };
    if let Some(result) = result {
        if let Some(session) = session {
            lock(&session.waiting).remove(&id.to_string());
        }
        events.send(&response(id, session.is_none(), "tools/call", Ok(result)))?;
    }
    events.end()
}

/// Waits, and says whether the client is still connected.
fn is_there(stream: &TcpStream, time: Duration) -> bool {
    let peeked = stream.set_read_timeout(Some(time)).and_then(|()| stream.peek(&mut [0]));
    match peeked {
        Ok(0) => false,
        Ok(_) => {
            // It has sent its next request already.
            thread::sleep(time);
            true
        }
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
            stream.set_read_timeout(None).is_ok()
        }
        Err(_) => false,
    }
}

/// `greet` in the legacy era: the question goes out before the result, and its answer comes in by another POST.
fn greet(id: &Value, session: &Session, stream: &TcpStream) -> io::Result<()> {
    let (sender, answers) = channel();
    lock(&session.waiting).insert(id.to_string(), sender);
    let mut events = Events::open(stream)?;
    let (method, params) = question();
    events.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
    if let Ok(given) = answers.recv() {
        lock(&session.waiting).remove(&id.to_string());
        events.send(&response(id, false, "tools/call", Ok(greeting(&given))))?;
    }
    events.end()
}

/// `greet` in 2026-07-28: the question is a result, and the call comes again with its answer.
fn greet_modern(params: &Value) -> Value {
    let has_forms = params["_meta"]["io.modelcontextprotocol/clientCapabilities"]["elicitation"].is_object();
    match &params["inputResponses"]["who"] {
        Value::Null if has_forms => {
            let (method, params) = question();
            json!({"resultType": "input_required", "inputRequests": {"who": {"method": method, "params": params}}})
        }
        given => greeting(given),
    }
}

fn question() -> (&'static str, Value) {
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
    ("elicitation/create", json!({"message": "What is your name?", "requestedSchema": schema}))
}

fn greeting(given: &Value) -> Value {
    match (given["action"].as_str(), given["content"]["name"].as_str()) {
        (Some("accept"), Some(name)) => text(&format!("Hello, {name}!"), false),
        (Some(action), _) => text(&format!("No name: {action}"), false),
        (None, _) => text("there is nobody who could be asked for a name", true),
    }
}

// -- HTTP ---------------------------------------------------------------------------------------------------------------

impl Request {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }
}

/// Reads the next request of a connection; None: there is none.
fn read_request(reader: &mut BufReader<&TcpStream>) -> io::Result<Option<Request>> {
    let mut line = String::new();
    let mut head = reader.by_ref().take(HEAD);
    if head.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split(' ').map(str::to_owned);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        head.read_line(&mut line)?;
        match line.trim_end().split_once(':') {
            Some((name, value)) => headers.insert(name.to_ascii_lowercase(), value.trim().to_owned()),
            None if line.trim_end().is_empty() && !line.is_empty() => break,
            None => return Err(io::Error::other("this is not HTTP")),
        };
    }
    let length = headers.get("content-length").map_or(Ok(0), |length| length.parse());
    let length = length.ok().filter(|length| *length <= BODY && !headers.contains_key("transfer-encoding"));
    let mut body = vec![0; length.ok_or_else(|| io::Error::other("a body without a length, or too long"))?];
    reader.read_exact(&mut body)?;
    Ok(Some(Request { method, path, headers, body }))
}

/// One answer, in one write.
fn reply(mut stream: &TcpStream, status: &str, headers: &str, message: Option<&Value>) -> io::Result<()> {
    let (kind, body) = match message {
        Some(message) => ("Content-Type: application/json\r\n", message.to_string()),
        None => ("", String::new()),
    };
    // An answer 204 has no body, and says nothing of one.
    let length = if status.starts_with("204") { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
    stream.write_all(format!("HTTP/1.1 {status}\r\n{headers}{kind}{length}\r\n{body}").as_bytes())
}

/// An answer that is an event stream, in chunks.
struct Events<'a>(&'a TcpStream);

impl<'a> Events<'a> {
    fn open(mut stream: &'a TcpStream) -> io::Result<Self> {
        stream.write_all(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\nTransfer-Encoding: chunked\r\n\r\n",
        )?;
        Ok(Events(stream))
    }

    fn send(&mut self, message: &Value) -> io::Result<()> {
        let event = format!("event: message\ndata: {message}\n\n");
        self.0.write_all(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes())
    }

    fn end(self) -> io::Result<()> {
        let mut stream = self.0;
        stream.write_all(b"0\r\n\r\n")
    }
}
