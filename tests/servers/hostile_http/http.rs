//! HTTP/1.1 by hand: requests that are read, answers and streams that are written.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::mem::MaybeUninit;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::Turn;
use super::engine::Piece;
use super::site::Site;

/// A request, as it came.
#[derive(Clone, Debug)]
pub struct Received {
    /// `POST`, `GET`, `DELETE`.
    pub verb: String,
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: String,
    /// The number of the connection.
    pub connection: u64,
    /// The client closed the connection before it was answered in full.
    pub left: bool,
}

impl Received {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// The message in the body, or null.
    pub fn message(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    /// The method of the message, or the verb, or "" for a response.
    pub fn method(&self) -> String {
        match self.verb.as_str() {
            "POST" => self.message()["method"].as_str().unwrap_or_default().to_owned(),
            verb => verb.to_owned(),
        }
    }

    /// The tool that is called, or "".
    pub fn tool(&self) -> String {
        match self.message() {
            message if message["method"] == "tools/call" => {
                message["params"]["name"].as_str().unwrap_or_default().to_owned()
            }
            _ => String::new(),
        }
    }

    fn as_json(&self) -> Value {
        json!({"request": format!("{} {}", self.verb, self.path), "headers": self.headers, "body": self.body,
            "connection": self.connection, "left": self.left})
    }
}

/// The next request of a connection, or none at its end.
pub fn read(reader: &mut BufReader<TcpStream>, connection: u64) -> io::Result<Option<Received>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    let (verb, path) = (words.next().unwrap_or_default().to_owned(), words.next().unwrap_or_default().to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        match line.trim_end().split_once(':') {
            Some((name, value)) => headers.push((name.to_owned(), value.trim().to_owned())),
            None => break,
        }
    }
    let mut request = Received { verb, path, headers, body: String::new(), connection, left: false };
    let length = request.header("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    request.body = String::from_utf8_lossy(&body).into_owned();
    Ok(Some(request))
}

/// An answer with its body whole.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: String,
    /// Lines, each with its CR LF.
    pub headers: String,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn new(status: &str, headers: &str, body: &str) -> Answer {
        Answer { status: status.to_owned(), headers: headers.to_owned(), body: body.as_bytes().to_vec() }
    }

    pub fn json(status: &str, body: &Value) -> Answer {
        Answer::new(status, "Content-Type: application/json\r\n", &body.to_string())
    }

    /// The head, with these lines to say how the body is framed.
    pub fn head(&self, framing: &str) -> String {
        format!("HTTP/1.1 {}\r\n{}{framing}\r\n", self.status, self.headers)
    }

    pub fn bytes(&self) -> Vec<u8> {
        let framing = match self.status.as_str() {
            status if status.starts_with("204") => String::new(),
            _ => format!("Content-Length: {}\r\n", self.body.len()),
        };
        [self.head(&framing).as_bytes(), &self.body].concat()
    }
}

/// A request on its way to an answer.
pub struct Exchange<'a> {
    pub site: &'a Arc<Site>,
    pub stream: &'a TcpStream,
    pub request: Received,
    /// The message, or null.
    pub message: Value,
    /// The message's method, or the verb.
    pub place: String,
    /// The tool that is called, or "".
    pub tool: String,
    /// It is the first request of its connection.
    pub first: bool,
    /// How often the fault was met before.
    pub hit: u64,
}

impl<'a> Exchange<'a> {
    pub fn new(site: &'a Arc<Site>, stream: &'a TcpStream, request: Received, first: bool) -> Self {
        let (message, place, tool) = (request.message(), request.method(), request.tool());
        Exchange { site, stream, request, message, place, tool, first, hit: 0 }
    }

    pub fn handle(&mut self) -> io::Result<Turn> {
        if let Some(resume) = self.site.behaviour.resume
            && self.place == "GET"
            && self.request.header("last-event-id").is_some()
        {
            self.hit = self.site.resumptions.fetch_add(1, Ordering::Relaxed);
            return resume(self);
        }
        if self.is_met() {
            self.hit = self.site.hits.fetch_add(1, Ordering::Relaxed);
            if self.hit < self.site.number("times", u64::MAX) {
                match (self.site.behaviour.on)(self)? {
                    Turn::Ordinary => {}
                    turn => return Ok(turn),
                }
            }
        }
        self.ordinary()
    }

    fn is_met(&self) -> bool {
        match self.site.option("at").unwrap_or(self.site.behaviour.at) {
            "" => true,
            "handshake" => self.place == "initialize" || self.place == "server/discover",
            at => at == self.place && !["echo", "received", "process"].contains(&self.tool.as_str()),
        }
    }

    /// All requests so far, as JSON text; or their bodies, one a line.
    pub fn record(&self) -> String {
        if self.site.option("received") == Some("bodies") {
            let bodies = self.site.received().into_iter().map(|request| request.body).filter(|body| !body.is_empty());
            return bodies.collect::<Vec<_>>().join("\n");
        }
        Value::Array(self.site.received().iter().map(Received::as_json).collect()).to_string()
    }

    pub fn id(&self) -> &Value {
        &self.message["id"]
    }

    pub fn is_request(&self) -> bool {
        self.message.get("method").is_some() && self.message.get("id").is_some()
    }

    /// The behaviour's own words, filled in.
    pub fn canned(&self) -> Answer {
        let says = &self.site.behaviour.says;
        let fill = |text: &str| {
            text.replace("{id}", &self.id().to_string())
                .replace("{origin}", &format!("http://{}", self.site.address))
                .replace("{to}", self.site.option("to").unwrap_or_default())
        };
        Answer::new(says.status, &fill(says.headers), &fill(says.body))
    }

    pub fn send(&self, bytes: &[u8]) -> io::Result<()> {
        let mut stream = self.stream;
        stream.write_all(bytes)
    }

    pub fn answer(&self, answer: &Answer) -> io::Result<Turn> {
        self.send(&answer.bytes())?;
        Ok(Turn::Keep)
    }

    // -- streams --

    pub fn begin_events(&self, headers: &str) -> io::Result<()> {
        self.begin_chunks("text/event-stream", headers)
    }

    pub fn begin_chunks(&self, kind: &str, headers: &str) -> io::Result<()> {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n{headers}Transfer-Encoding: chunked\r\n\r\n");
        self.send(head.as_bytes())
    }

    pub fn chunk(&self, bytes: &[u8]) -> io::Result<()> {
        self.send(&[format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat())
    }

    pub fn event(&self, data: &[u8]) -> io::Result<()> {
        self.chunk(&[b"data: ", data, b"\n\n"].concat())
    }

    pub fn end_chunks(&self) -> io::Result<Turn> {
        self.send(b"0\r\n\r\n")?;
        Ok(Turn::Keep)
    }

    /// The reply to this request with that result.
    pub fn reply(&self, result: Value) -> Vec<u8> {
        json!({"jsonrpc": "2.0", "id": self.id(), "result": result}).to_string().into_bytes()
    }

    // -- the client's end --

    /// The next piece, unless the client has closed the connection.
    pub fn next(&self, pieces: &Receiver<Piece>) -> io::Result<Option<Piece>> {
        loop {
            match pieces.recv_timeout(Duration::from_millis(2)) {
                Ok(piece) => return Ok(Some(piece)),
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) if self.is_left() => return Err(io::ErrorKind::BrokenPipe.into()),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Does nothing until the client has closed the connection.
    pub fn hold(&self) -> io::Result<Turn> {
        self.hold_for(u64::MAX)?;
        Ok(Turn::Close)
    }

    /// Does nothing for so many milliseconds, or until the client has closed the connection, which is an error.
    pub fn hold_for(&self, milliseconds: u64) -> io::Result<()> {
        let mut left = milliseconds;
        while left > 0 {
            if self.is_left() {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            thread::sleep(Duration::from_millis(left.min(2)));
            left -= left.min(2);
        }
        Ok(())
    }

    fn is_left(&self) -> bool {
        let mut byte = [MaybeUninit::uninit()];
        let seen = socket2::SockRef::from(self.stream).recv_with_flags(&mut byte, libc::MSG_PEEK | libc::MSG_DONTWAIT);
        let left = match seen {
            Ok(count) => count == 0,
            Err(error) => error.kind() != io::ErrorKind::WouldBlock,
        };
        left || self.site.stopped.load(Ordering::Relaxed)
    }
}
