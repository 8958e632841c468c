//! The old HTTP+SSE transport (2024-11-05): one stream that brings every reply, and an endpoint that takes the messages.

use std::io::{BufReader, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::common::{Context, GENEROUS, Loaded, load, until};
use crate::hostile_http::http::{Received, read};

/// A server of that time. Its tool `slow` never replies, and its POST is never answered.
#[derive(Default)]
struct Old {
    stream: Mutex<Option<TcpStream>>,
    received: Mutex<Vec<Received>>,
    /// Calls of `slow` whose connection was closed.
    left: Mutex<usize>,
}

/// A URL, the server behind it, and the source with it, named `s`.
fn connected(kind: &Value) -> (Arc<Old>, Loaded) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp/sse", listener.local_addr().unwrap());
    let old = Arc::new(Old::default());
    let server = old.clone();
    thread::spawn(move || {
        for connection in listener.incoming() {
            let (server, connection) = (server.clone(), connection.unwrap());
            thread::spawn(move || server.serve(connection));
        }
    });
    let loaded = load(json!({"s": {"url": url, "type": kind, "timeout": GENEROUS}}));
    assert_eq!(loaded.server("s")["protocolVersion"], "2024-11-05", "{}", loaded.document);
    (old, loaded)
}

impl Old {
    fn serve(&self, connection: TcpStream) {
        let mut reader = BufReader::new(connection);
        let mut is_slow = false;
        while let Ok(Some(request)) = read(&mut reader, 0) {
            let mut answer = reader.get_ref();
            self.received.lock().push(request.clone());
            let said: &[u8] = match (request.verb.as_str(), request.path.as_str()) {
                ("GET", "/mcp/sse") => {
                    // The second endpoint counts for nothing.
                    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
                    let events = "event: endpoint\ndata: messages?id=1\n\nevent: endpoint\ndata: /elsewhere\n\n";
                    *self.stream.lock() = Some(answer.try_clone().unwrap());
                    answer.write_all(format!("{head}{events}").as_bytes()).unwrap();
                    continue;
                }
                ("POST", "/mcp/messages?id=1") if request.tool() == "slow" => {
                    is_slow = true;
                    continue;
                }
                ("POST", "/mcp/messages?id=1") => b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n",
                _ => b"HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n",
            };
            let accepted = said.starts_with(b"HTTP/1.1 202");
            answer.write_all(said).unwrap();
            if accepted {
                self.reply(&request.message());
            }
        }
        *self.left.lock() += usize::from(is_slow);
    }

    fn reply(&self, message: &Value) {
        let tool = |name| json!({"name": name, "inputSchema": {"type": "object", "properties": {}}});
        let result = match message["method"].as_str() {
            Some("initialize") => json!({"protocolVersion": "2024-11-05", "capabilities": {"tools": {}}}),
            Some("tools/list") => json!({"tools": [tool("echo"), tool("slow")]}),
            Some("tools/call") => json!({"content": [{"type": "text", "text": "here"}]}),
            _ => return,
        };
        let reply = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
        let mut stream = self.stream.lock();
        write!(stream.as_mut().unwrap(), "event: message\ndata: {reply}\n\n").unwrap();
    }

    fn count(&self, method: &str) -> usize {
        self.received.lock().iter().filter(|request| request.method() == method).count()
    }

    fn calls_of_slow(&self) -> usize {
        self.received.lock().iter().filter(|request| request.tool() == "slow").count()
    }
}

#[test]
fn it_is_recognised_and_served() {
    for kind in [json!("sse"), Value::Null] {
        let (old, loaded) = connected(&kind);
        assert_eq!(loaded.call("s_echo", json!({})).ok(), "here");
        assert_eq!(old.count("initialize"), if kind.is_null() { 2 } else { 1 }, "the first one is refused");
        loaded.close().well_under(GENEROUS);
    }
}

#[test]
fn a_call_that_is_given_up_lets_go_of_its_connection() {
    let (old, loaded) = connected(&json!("sse"));
    loaded.call_with("s_slow", json!({}), &Context::idle(300)).failed("TN_E_TIMEOUT", &[]).well_under(GENEROUS);
    until("the server is told", || old.count("notifications/cancelled") == 1);
    until("the connection is closed", || *old.left.lock() == 1);
    assert_eq!(loaded.call("s_echo", json!({})).ok(), "here");
}

#[test]
fn the_end_of_the_stream_ends_the_calls_and_the_next_one_begins_anew() {
    let (old, loaded) = connected(&json!("sse"));
    let loaded = Arc::new(loaded);
    let call = {
        let loaded = loaded.clone();
        thread::spawn(move || loaded.call("s_slow", json!({})))
    };
    until("the call is with the server", || old.calls_of_slow() == 1);
    old.stream.lock().as_ref().unwrap().shutdown(Shutdown::Both).unwrap();
    call.join().unwrap().failed("TN_E_TRANSPORT", &["stream ended"]).well_under(GENEROUS);
    assert_eq!(loaded.call("s_echo", json!({})).ok(), "here");
    assert_eq!((old.count("initialize"), old.calls_of_slow()), (2, 1));
}
