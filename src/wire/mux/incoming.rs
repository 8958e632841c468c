//! Who gets what a server sent.
#![forbid(unsafe_code)]

use std::ops::Range;

use rmcp::model::ServerJsonRpcMessage;
use tokio::time::Instant;

use super::{Era, HELD, HELD_BYTES, Mux, Pending, Reply, RequestKind};
use crate::config::Secrets;
use crate::json::{self, Envelope, Kind, Marks, Message, Raw};
use crate::log;
use crate::outcome::{Failure, Status};
use crate::wire::broken;

impl Mux {
    /// One message from the server: a line, or the data of one event.
    pub fn deliver(&self, bytes: Vec<u8>) {
        self.deliver_to(bytes, None);
    }

    /// The same, from the exchange of one request: an error without an id, or a broken reply, is an answer to that one.
    pub fn deliver_to(&self, mut bytes: Vec<u8>, exchange: Option<u64>) {
        trim(&mut bytes);
        match bytes.first() {
            None => return,
            Some(b'{' | b'[') => {}
            Some(_) => return self.noise(&bytes),
        }
        // Text is checked once, here; what is no UTF-8 becomes U+FFFD.
        let text =
            String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        match json::envelope(text.as_bytes()) {
            Ok(Envelope::Message(message)) => self.message(text, message, exchange),
            Ok(Envelope::Batch(list)) => {
                // JSON-RPC batches: revision 2025-03-26 has them.
                let mut empty = true;
                for item in Raw::checked(text.get(list).unwrap_or("[]")).elements() {
                    empty = false;
                    self.deliver_item(item, exchange);
                }
                if empty {
                    self.noise(text.as_bytes());
                }
            }
            Ok(Envelope::Other) => self.noise(text.as_bytes()),
            Err(error) if broken::is_reply(text.as_bytes()) => {
                let why = format!("sent a reply that is not valid JSON: {} at byte {}", error.what, error.at);
                self.broken(text.as_bytes(), Status::Protocol, &why, exchange);
            }
            Err(_) => self.noise(text.as_bytes()),
        }
    }

    /// What came after the last line break, when nothing more will come. A whole message counts; one that was cut says
    /// nothing that the end of the server does not say better.
    pub fn deliver_rest(&self, bytes: Vec<u8>) {
        if json::check(&bytes).is_ok() {
            self.deliver(bytes);
        }
    }

    /// One message of a batch. A batch in a batch is noise.
    fn deliver_item(&self, item: Raw<'_>, exchange: Option<u64>) {
        let text = item.text();
        match json::envelope(text.as_bytes()) {
            Ok(Envelope::Message(message)) => self.message(text.to_owned(), message, exchange),
            _ => self.noise(text.as_bytes()),
        }
    }

    /// A message that grew past the limit; `head` is how it began.
    pub fn over_limit(&self, head: &[u8], exchange: Option<u64>) {
        let start = head.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(0);
        let head = &head[start..];
        if head.starts_with(b"{") && !broken::head(head).has_method {
            let why = format!("sent a reply larger than the limit of {} bytes (option maxMessageBytes)", self.limit);
            self.broken(head, Status::Limit, &why, exchange);
        } else {
            self.noise(head);
        }
    }

    fn message(&self, whole: String, message: Message, exchange: Option<u64>) {
        let text = |range: &Range<usize>| whole.get(range.clone()).unwrap_or("null");
        if let Some(method) = &message.method {
            let method = Raw::checked(text(method)).as_str();
            if method.as_deref() == Some("notifications/progress") {
                return self.progress(message.params.as_ref().map(|params| Raw::checked(text(params))));
            }
            if message.id.is_some() && self.holds(whole.as_bytes()) {
                return;
            }
            if message.id.is_some() && self.era() == Era::Modern {
                log::at!(
                    Warn,
                    "wire",
                    "{}: ignored the request {}: a server of 2026-07-28 may not send one",
                    self.server,
                    method.as_deref().unwrap_or("(unnamed)")
                );
                return;
            }
            let params = message.params.as_ref().map(|params| Raw::checked(text(params)));
            let name = method.as_deref().unwrap_or_default();
            let taken = match &message.id {
                Some(id) => self.inbound.request(Raw::checked(text(id)), name, params),
                None => self.inbound.notification(name, params),
            };
            if !taken {
                self.to_service(whole.as_bytes());
            }
            return;
        }
        let is_null = |range: &Range<usize>| text(range) == "null";
        // `error: null` beside a result is how some servers write a success.
        let error = message.error.clone().filter(|error| !(is_null(error) && message.result.is_some()));
        let result = message.result.clone().filter(|result| !(is_null(result) && error.is_some()));
        let id = message.id.as_ref().map(|id| Raw::checked(text(id)));
        let Some(number) = id.and_then(own_id) else {
            let nameless = id.is_none_or(|id| id.is_null());
            match error {
                // A line of a log may have an error too.
                Some(error)
                    if nameless
                        && !is_null(&error)
                        && (message.jsonrpc || Raw::checked(text(&error)).get("code").is_some()) =>
                {
                    self.stray_error(whole, error, exchange);
                }
                _ if nameless => self.noise(whole.as_bytes()),
                _ => log::at!(Debug, "wire", "{}: ignored a reply to a call that is not ours", self.server),
            }
            return;
        };
        let reply = match (result, error) {
            (Some(_), Some(_)) => Err(self.protocol("sent a reply with both a result and an error")),
            (None, None) => Err(self.protocol("sent a reply with neither a result nor an error")),
            (Some(body), None) => Ok(Reply { message: whole, body, is_error: false, marks: message.marks }),
            (None, Some(body)) => Ok(Reply { message: whole, body, is_error: true, marks: Marks::default() }),
        };
        self.answer(number, reply);
    }

    /// A modern server must not be answered, a legacy one must: before `initialize` is sent or the era is known, a request
    /// waits. The requests of a server that turns out to be modern are never looked at again. What is too much to keep is
    /// ignored: a server may ask nothing but `ping` that early.
    fn holds(&self, bytes: &[u8]) -> bool {
        let mut state = self.state.lock();
        let open = self.era() == Era::Unknown && !state.offered;
        if !open {
            return false;
        }
        let held: usize = state.held.iter().map(Vec::len).sum();
        if state.held.len() < HELD && held + bytes.len() <= HELD_BYTES {
            state.held.push(bytes.to_vec());
        } else {
            log::at!(Debug, "wire", "{}: ignored a request before initialize: too many of them wait", self.server);
        }
        true
    }

    fn answer(&self, id: u64, reply: Result<Reply, Failure>) {
        let call = self.state.lock().take_asked(id);
        match call {
            Some(call) => {
                let _ = call.answer.send(reply);
            }
            // Late, after a time-out or a cancel, or never asked.
            None => log::at!(Debug, "wire", "{}: ignored a reply to no open call (id {id})", self.server),
        }
    }

    fn progress(&self, params: Option<Raw<'_>>) {
        let Some(params) = params else { return };
        let Some(id) = params.get("progressToken").and_then(own_id) else { return };
        let listener = {
            let mut state = self.state.lock();
            let Some(call) = state.pending.get_mut(&id).filter(|call| call.written) else { return };
            call.quiet_since = Instant::now();
            call.progress.clone()
        };
        if let Some(listener) = listener {
            listener(params);
        }
    }

    fn to_service(&self, bytes: &[u8]) {
        match serde_json::from_slice::<ServerJsonRpcMessage>(bytes) {
            Ok(message) => {
                let mut state = self.state.lock();
                if let Some(service) = &state.service
                    && service.send(message).is_ok()
                {
                    state.unserved += 1;
                }
            }
            Err(error) => {
                log::at!(Debug, "wire", "{}: ignored a message that is malformed: {error}", self.server);
                self.refuse(bytes);
            }
        }
    }

    /// A request that makes no sense still waits for its response.
    fn refuse(&self, bytes: &[u8]) {
        let message = Raw::checked(std::str::from_utf8(bytes).unwrap_or("{}"));
        if let Some(id) = message.get("id").filter(|id| matches!(id.kind(), Kind::String | Kind::Number)) {
            let error = r#""error":{"code":-32602,"message":"the request is malformed"}"#;
            self.send(format!("{{\"jsonrpc\":\"2.0\",\"id\":{},{error}}}", id.text()).into_bytes());
        }
    }

    fn stray_error(&self, message: String, body: Range<usize>, exchange: Option<u64>) {
        let mut state = self.state.lock();
        let probe = || state.pending.iter().find(|(_, call)| call.kind == RequestKind::Probe).map(|(id, _)| *id);
        let meant = exchange.or_else(probe);
        if let Some(call) = meant.and_then(|id| state.take_asked(id)) {
            let _ = call.answer.send(Ok(Reply { message, body, is_error: true, marks: Marks::default() }));
        } else {
            let said = message.get(body).unwrap_or("null");
            state.stray_error = Some(excerpt(said.as_bytes(), &self.secrets));
        }
    }

    fn broken(&self, bytes: &[u8], status: Status, why: &str, exchange: Option<u64>) {
        let head = broken::head(bytes);
        let mut state = self.state.lock();
        let id = head.id.or(exchange).or_else(|| {
            let asked = |call: &&Pending| call.written && call.kind != RequestKind::Subscription;
            let mut asked = state.pending.iter().filter(|(_, call)| asked(call)).map(|(id, _)| *id);
            asked.next().filter(|_| asked.next().is_none())
        });
        let call = id.and_then(|id| state.take_asked(id));
        drop(state);
        log::at!(Warn, "wire", "{}: {why}", self.server);
        if let Some(call) = call {
            let _ = call.answer.send(Err(Failure::new(status, format!("the server {why}"))));
        }
    }

    fn noise(&self, bytes: &[u8]) {
        let first = self.state.lock().first_noise.is_none();
        if !first && !log::enabled(log::Level::Debug) {
            return;
        }
        let line = excerpt(bytes, &self.secrets);
        log::at!(Debug, "wire", "{}: ignored a line that is no JSON-RPC message: {line}", self.server);
        self.state.lock().first_noise.get_or_insert(line);
    }

    fn protocol(&self, why: &str) -> Failure {
        log::at!(Warn, "wire", "{}: {why}", self.server);
        Failure::new(Status::Protocol, format!("the server {why}"))
    }
}

/// One of our ids: 7, 7.0 or "7".
pub fn own_id(raw: Raw<'_>) -> Option<u64> {
    if let Some(id) = raw.as_u64() {
        return Some(id);
    }
    if let Some(text) = raw.as_str() {
        return text.parse().ok();
    }
    let float = raw.as_f64()?;
    // Whole numbers below 2^53 only: beyond that a float does not name one integer.
    ((0.0..9_007_199_254_740_992.0).contains(&float) && float.fract() == 0.0).then_some(float as u64)
}

/// Removes a byte order mark and blanks around the message, without moving it if there are none.
fn trim(bytes: &mut Vec<u8>) {
    while bytes.last().is_some_and(u8::is_ascii_whitespace) {
        bytes.pop();
    }
    let mark = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let blanks = bytes[mark..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    if mark + blanks > 0 {
        bytes.drain(..mark + blanks);
    }
}

/// A short quotation of what a server wrote.
pub fn excerpt(bytes: &[u8], secrets: &Secrets) -> String {
    const LONGEST: usize = 120;
    const WINDOW: usize = 64 * 1024;
    let cut = bytes.len() > WINDOW;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(WINDOW)]);
    // Hidden first and then cut: half a secret matches nothing. Where the window ends in one, its part is left out.
    let masked = secrets.mask(&text);
    let mut sure = masked.len() - if cut { secrets.longest().min(masked.len()) } else { 0 };
    while !masked.is_char_boundary(sure) {
        sure -= 1;
    }
    let mut short: String = masked[..sure].chars().take(LONGEST).collect();
    if short.len() < masked.len() || cut {
        short.push('…');
    }
    format!("{short:?}")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::super::{Inbound, Request};
    use super::*;
    use crate::config::{self, Options};
    use crate::context::Deadline;

    fn hiding(secret: &str) -> Secrets {
        let text = format!(r#"{{"mcpServers":{{"s":{{"command":"x","env":{{"TOKEN":"{secret}"}}}}}}}}"#);
        config::parse(&text, &Options::default(), &[]).unwrap().secrets
    }

    /// Takes every request and tells its id.
    struct Ear(std::sync::mpsc::Sender<u64>);

    impl Inbound for Ear {
        fn request(&self, id: Raw<'_>, _: &str, _: Option<Raw<'_>>) -> bool {
            self.0.send(id.as_u64().unwrap()).unwrap();
            true
        }

        fn notification(&self, _: &str, _: Option<Raw<'_>>) -> bool {
            true
        }
    }

    /// What the host gets of requests that all come before `initialize`.
    fn heard_early(count: u64, padding: usize) -> Vec<u64> {
        let (sender, heard) = std::sync::mpsc::channel();
        let (mux, _service) =
            Mux::new("s", Arc::new(hiding("x")), usize::MAX, String::new(), |_| Box::new(Ear(sender)));
        for id in 0..count {
            let text = "x".repeat(padding);
            mux.deliver(
                format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping","params":{{"x":"{text}"}}}}"#).into_bytes(),
            );
        }
        assert_eq!(heard.try_iter().count(), 0, "none before it is known who it is");
        drop(mux.request(Request {
            method: "initialize",
            members: "",
            meta: "",
            progress: None,
            wants_progress: false,
            idle: Duration::from_secs(1),
            deadline: Deadline::within(Duration::from_secs(1)),
            kind: RequestKind::Initialize,
            tool: None,
            headers: Vec::new(),
        }));
        heard.try_iter().collect()
    }

    #[test]
    fn early_requests_wait_within_bounds() {
        assert_eq!(heard_early(3, 10), [0, 1, 2]);
        assert_eq!(heard_early(300, 10).len(), HELD);
        assert_eq!(heard_early(5, 400_000), [0, 1]);
        // One that is too large does not keep out the next.
        assert!(heard_early(1, HELD_BYTES).is_empty());
    }

    #[test]
    fn a_quotation_shows_no_part_of_a_secret() {
        let secret = "0123456789abcdef".repeat(60);
        let secrets = hiding(&secret);
        assert_eq!(excerpt(format!("token {secret}").as_bytes(), &secrets), r#""token ***""#);
        // Wherever the window or the quotation ends.
        for before in [0, 100, 110, 470, 64 * 1024 - 500, 64 * 1024 - 1] {
            let line = format!("{}{secret} and more", ".".repeat(before));
            assert!(!excerpt(line.as_bytes(), &secrets).contains("0123"), "{before}");
        }
        let many = format!("{secret} ").repeat(100);
        assert!(!excerpt(many.as_bytes(), &secrets).contains("0123"));
    }
}
