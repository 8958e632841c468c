//! What an ordinary server does with a request. It is strict about what the specification says of the client's headers.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;

use base64::Engine as _;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::Turn;
use super::engine::{Engine, Piece};
use super::http::{Answer, Exchange};
use super::site::Session;
use super::stdio::server::MODERN;

/// Whom a message is for, and the headers of the answer.
struct Gate {
    engine: Arc<Engine>,
    headers: String,
    session: Option<Arc<Session>>,
    modern: bool,
}

/// What a line is to the request that waits.
enum Kind {
    Reply,
    Message,
    Other,
}

fn refusal(status: &str, id: &Value, code: i64, message: &str) -> Answer {
    Answer::json(status, &json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}))
}

impl Exchange<'_> {
    pub fn ordinary(&mut self) -> io::Result<Turn> {
        match self.request.verb.as_str() {
            "POST" => {}
            "GET" => return self.get(),
            "DELETE" => return self.answer(&self.delete()),
            _ => return self.answer(&Answer::new("405 Method Not Allowed", "Allow: POST, GET, DELETE\r\n", "")),
        }
        let gate = match self.gate() {
            Ok(gate) => gate,
            Err(answer) => return self.answer(&answer),
        };
        if !self.is_request() {
            gate.engine.tell(self.request.body.clone());
            return self.answer(&Answer::new("202 Accepted", &gate.headers, ""));
        }
        if self.tool == "received" {
            let mut result = json!({"content": [{"type": "text", "text": self.record()}]});
            if gate.modern {
                result["resultType"] = json!("complete");
            }
            return self.answer(&Answer::new("200 OK", &json_headers(&gate), "").with(self.reply(result)));
        }
        let pieces = gate.engine.request(self.id(), self.request.body.clone());
        let turn = self.pass_on(&gate, &pieces);
        drop(pieces);
        match turn {
            Err(error) if gate.modern => {
                gate.engine.cancelled(self.id());
                Err(error)
            }
            turn => {
                gate.engine.close(self.id());
                turn
            }
        }
    }

    /// The ordinary answer as a whole; for behaviours that send it in their own way.
    pub fn whole(&mut self) -> Answer {
        match self.request.verb.as_str() {
            "POST" => {}
            "DELETE" => return self.delete(),
            _ => return Answer::new("405 Method Not Allowed", "Allow: POST, DELETE\r\n", ""),
        }
        let gate = match self.gate() {
            Ok(gate) => gate,
            Err(answer) => return answer,
        };
        if !self.is_request() {
            gate.engine.tell(self.request.body.clone());
            return Answer::new("202 Accepted", &gate.headers, "");
        }
        let pieces = gate.engine.request(self.id(), self.request.body.clone());
        while let Ok(Some(piece)) = self.next(&pieces) {
            match piece {
                Piece::Line(line) if matches!(self.kind(&line), Kind::Reply) => {
                    remember_version(&gate, &line);
                    return self.as_answer(&gate, line);
                }
                Piece::Quiet => break,
                _ => {}
            }
        }
        Answer::new("202 Accepted", &gate.headers, "")
    }

    /// Writes what the server says to this request: one reply as JSON, unless events are wanted; else as events.
    fn pass_on(&mut self, gate: &Gate, pieces: &Receiver<Piece>) -> io::Result<Turn> {
        let wants_events = self.site.option("reply") == Some("sse");
        let mut held: Vec<Vec<u8>> = Vec::new();
        let mut streaming = false;
        while let Some(piece) = self.next(pieces)? {
            match piece {
                Piece::Line(line) => {
                    let kind = self.kind(&line);
                    let is_reply = matches!(kind, Kind::Reply);
                    if is_reply {
                        remember_version(gate, &line);
                    }
                    if is_reply && !streaming && held.is_empty() {
                        let answer = self.as_answer(gate, line.clone());
                        if !wants_events || !answer.status.starts_with("200") {
                            return self.answer(&answer);
                        }
                    }
                    held.push(line);
                    if streaming || wants_events || !matches!(kind, Kind::Other) {
                        self.stream_held(gate, &mut streaming, &mut held)?;
                    }
                    if is_reply {
                        return self.end_chunks();
                    }
                }
                Piece::Quiet if streaming => {}
                Piece::Quiet => match held.pop() {
                    Some(line) if held.is_empty() => return self.answer(&self.as_answer(gate, line)),
                    Some(line) => {
                        held.push(line);
                        self.stream_held(gate, &mut streaming, &mut held)?;
                    }
                    None if wants_events => self.stream_held(gate, &mut streaming, &mut held)?,
                    None => {}
                },
                Piece::Part(part) => {
                    if !streaming {
                        streaming = true;
                        if wants_events {
                            self.begin_events(&gate.headers)?;
                            self.chunk(b"data: ")?;
                        } else {
                            self.begin_chunks("application/json", &gate.headers)?;
                        }
                    }
                    self.chunk(&part)?;
                }
                Piece::EndOfParts => {
                    if wants_events {
                        self.chunk(b"\n\n")?;
                    } else {
                        return self.end_chunks();
                    }
                }
            }
        }
        // The server has crashed.
        Ok(Turn::Close)
    }

    fn stream_held(&self, gate: &Gate, streaming: &mut bool, held: &mut Vec<Vec<u8>>) -> io::Result<()> {
        if !*streaming {
            self.begin_events(&gate.headers)?;
            *streaming = true;
        }
        held.drain(..).try_for_each(|line| self.event(&line))
    }

    /// A line of the server as the body of an answer.
    fn as_answer(&self, gate: &Gate, line: Vec<u8>) -> Answer {
        let value: Value = serde_json::from_slice(&line).unwrap_or_default();
        let code = value["error"]["code"].as_i64();
        let status = match code {
            Some(-32601) if gate.modern && self.site.speaks("modern") => "404 Not Found",
            Some(-32022..=-32020) => "400 Bad Request",
            // What a legacy server says before there is a session.
            Some(_) if gate.modern && !self.site.speaks("modern") => "400 Bad Request",
            _ => "200 OK",
        };
        Answer::new(status, &json_headers(gate), "").with(line)
    }

    fn kind(&self, line: &[u8]) -> Kind {
        let is_ours = |value: &Value| {
            let id = &value["id"];
            id == self.id()
                || id.as_str() == Some(&self.id().to_string())
                || id.is_f64() && id.as_f64() == self.id().as_f64()
        };
        match serde_json::from_slice::<Value>(line) {
            Ok(Value::Array(batch)) if batch.iter().any(is_ours) => Kind::Reply,
            Ok(value) if value.get("method").is_some() => Kind::Message,
            Ok(value) if is_ours(&value) => Kind::Reply,
            Ok(_) => Kind::Other,
            // Not UTF-8, or nested too deep for this parser.
            Err(_) => {
                let head = format!(r#"{{"jsonrpc":"2.0","id":{},"#, self.id());
                if line.starts_with(head.as_bytes()) && line.ends_with(b"}") { Kind::Reply } else { Kind::Other }
            }
        }
    }

    fn delete(&self) -> Answer {
        match self.request.header("mcp-session-id").and_then(|id| self.site.sessions.lock().remove(id)) {
            Some(_) => Answer::new("204 No Content", "", ""),
            None => refusal("404 Not Found", &Value::Null, -32001, "Session not found"),
        }
    }

    fn get(&mut self) -> io::Result<Turn> {
        if !self.request.header("accept").is_some_and(|accept| accept.contains("text/event-stream")) {
            return self.answer(&Answer::new("406 Not Acceptable", "", ""));
        }
        if self.request.header("mcp-session-id").is_none() {
            return self.answer(&Answer::new("405 Method Not Allowed", "Allow: POST\r\n", ""));
        }
        match self.session() {
            Err(answer) => self.answer(&answer),
            Ok(session) => {
                self.begin_events("")?;
                let pieces = session.engine.standalone();
                while let Some(piece) = self.next(&pieces)? {
                    if let Piece::Line(line) = piece {
                        self.event(&line)?;
                    }
                }
                Ok(Turn::Close)
            }
        }
    }

    pub fn session(&self) -> Result<Arc<Session>, Answer> {
        let Some(id) = self.request.header("mcp-session-id") else {
            return Err(refusal(
                "400 Bad Request",
                self.id(),
                -32000,
                "Bad Request: Mcp-Session-Id header is required",
            ));
        };
        let session = self.site.sessions.lock().get(id).cloned();
        let session =
            session.filter(|session| session.path == self.request.path || self.request.path.starts_with("/moved"));
        let session = session.ok_or_else(|| refusal("404 Not Found", self.id(), -32001, "Session not found"))?;
        let agreed = session.version.lock().clone();
        match self.request.header("mcp-protocol-version") {
            Some(version) if version == agreed || agreed.is_empty() => Ok(session),
            // Before 2025-06-18 nobody knew the header.
            None if agreed.as_str() < "2025-06-18" => Ok(session),
            version => Err(refusal(
                "400 Bad Request",
                self.id(),
                -32000,
                &format!("Bad Request: MCP-Protocol-Version is {version:?}, and {agreed} was agreed on"),
            )),
        }
    }

    /// Who is to have the message of a POST.
    fn gate(&self) -> Result<Gate, Answer> {
        let accept = self.request.header("accept").unwrap_or_default();
        if !accept.contains("application/json") || !accept.contains("text/event-stream") {
            return Err(refusal("406 Not Acceptable", &Value::Null, -32000, "Not Acceptable"));
        }
        if !self.request.header("content-type").unwrap_or_default().starts_with("application/json") {
            return Err(refusal("415 Unsupported Media Type", &Value::Null, -32000, "Unsupported Media Type"));
        }
        if self.message.is_null() {
            return Err(refusal("400 Bad Request", &Value::Null, -32700, "Parse error"));
        }
        let stateless = |modern| Gate {
            engine: self.site.stateless(&self.request.path),
            headers: String::new(),
            session: None,
            modern,
        };
        let version = &self.message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"];
        if version == MODERN || self.request.header("mcp-protocol-version") == Some(MODERN) {
            self.check_headers()?;
            return Ok(stateless(true));
        }
        if self.site.option("sessions") == Some("no") || !self.site.speaks("legacy") {
            return Ok(stateless(false));
        }
        if self.place == "initialize" {
            let id = format!("session-{}", self.site.session_count.fetch_add(1, Ordering::Relaxed));
            let session = Arc::new(Session {
                path: self.request.path.clone(),
                version: Mutex::default(),
                engine: Engine::new(self.site.behaviour.inner, &self.site.options),
            });
            self.site.sessions.lock().insert(id.clone(), session.clone());
            let headers = format!("Mcp-Session-Id: {id}\r\n");
            return Ok(Gate { engine: session.engine.clone(), headers, session: Some(session), modern: false });
        }
        let session = self.session()?;
        Ok(Gate { engine: session.engine.clone(), headers: String::new(), session: Some(session), modern: false })
    }

    /// What 2026-07-28 wants to see in the headers of the message in the body.
    fn check_headers(&self) -> Result<(), Answer> {
        let params = &self.message["params"];
        let name = match self.place.as_str() {
            "tools/call" | "prompts/get" => &params["name"],
            "resources/read" => &params["uri"],
            place if place.starts_with("tasks/") => &params["taskId"],
            _ => &Value::Null,
        };
        let mismatch = |header: &str, body: &str| {
            let sent = self.request.header(header).map(decoded);
            let message = format!("Header mismatch: {header} is {sent:?}, the body says {body:?}");
            refusal("400 Bad Request", self.id(), -32020, &message)
        };
        let is = |header: &str, expected: &str| self.request.header(header).map(decoded).as_deref() == Some(expected);
        if let Some(version) = params["_meta"]["io.modelcontextprotocol/protocolVersion"].as_str()
            && !is("mcp-protocol-version", version)
        {
            return Err(mismatch("MCP-Protocol-Version", version));
        }
        if self.is_request() && !is("mcp-method", &self.place) {
            return Err(mismatch("Mcp-Method", &self.place));
        }
        match name.as_str() {
            Some(name) if !is("mcp-name", name) => Err(mismatch("Mcp-Name", name)),
            _ => Ok(()),
        }
    }
}

impl Answer {
    pub fn with(mut self, body: Vec<u8>) -> Answer {
        self.body = body;
        self
    }
}

/// What `initialize` agreed on.
fn remember_version(gate: &Gate, reply: &[u8]) {
    let reply: Value = serde_json::from_slice(reply).unwrap_or_default();
    if let (Some(session), Some(version)) = (&gate.session, reply["result"]["protocolVersion"].as_str()) {
        version.clone_into(&mut session.version.lock());
    }
}

fn json_headers(gate: &Gate) -> String {
    format!("Content-Type: application/json\r\n{}", gate.headers)
}

/// The text of a header that may be written as `=?base64?…?=`.
pub fn decoded(value: &str) -> String {
    let inner = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?="));
    let bytes = inner.and_then(|text| base64::engine::general_purpose::STANDARD.decode(text).ok());
    bytes.map_or_else(|| value.to_owned(), |bytes| String::from_utf8_lossy(&bytes).into_owned())
}
