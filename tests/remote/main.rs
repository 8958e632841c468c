//! What misbehaving remote servers cost: nothing but what they themselves would have given. Each row names a kind of fault;
//! the servers are `tests/servers/hostile_http`. Faults of messages are met over HTTP by `tests/remote_json` and
//! `tests/remote_sse`.
#![cfg(target_os = "linux")]

#[path = "../common/mod.rs"]
mod common;
#[allow(dead_code, reason = "the program of the same name uses the rest")]
#[path = "../servers/hostile_http/mod.rs"]
mod hostile_http;
#[allow(dead_code, clippy::undocumented_unsafe_blocks, reason = "tests over stdio use the rest; as in host_side")]
#[path = "../host_side/support.rs"]
mod support;

#[allow(dead_code, reason = "tests over stdio use the rest")]
#[path = "../hostile/measure.rs"]
mod measure;

mod bytes;
mod calls;
mod handshake;
mod live;
mod modern;
mod old;
mod redirects;
mod sessions;
mod soak;
mod statuses;
mod streams;

use common::{Done, GENEROUS, Loaded, load, load_with};
use hostile_http::Server;
use hostile_http::http::Received;
use serde_json::{Value, json};

const ERAS: [&str; 2] = ["legacy", "modern"];
/// The text of what `odd` gives where all is well.
const GOOD: &str = "called odd";

/// A remote server and the source with it, named `s`.
struct Remote {
    // Closed before its server ends.
    loaded: Loaded,
    server: Server,
}

fn entry(server: &Server) -> Value {
    entry_within(GENEROUS, server)
}

fn entry_within(timeout: u64, server: &Server) -> Value {
    json!({"url": server.url(), "timeout": timeout})
}

/// Loads a hostile server, which has to connect in that era.
#[track_caller]
fn connected(behaviour: &str, era: &str, options: &[&str]) -> Remote {
    connected_with(behaviour, era, options, &json!({}))
}

#[track_caller]
fn connected_with(behaviour: &str, era: &str, options: &[&str], settings: &Value) -> Remote {
    let server = Server::start(behaviour, &[&["--era", era], options].concat());
    let loaded = load_with(json!({"s": entry(&server)}), settings);
    let document = loaded.server("s");
    assert_eq!(document["status"], "connected", "{behaviour}: {document}");
    let version = document["protocolVersion"].as_str().unwrap_or_default();
    assert_eq!(version == "2026-07-28", era == "modern", "{behaviour}: {document}");
    Remote { loaded, server }
}

/// A server that connects, and whose common tools work as if it had no fault.
#[track_caller]
fn works(behaviour: &str, era: &str, options: &[&str]) -> Remote {
    let remote = connected(behaviour, era, options);
    remote.echoes();
    remote
}

/// Calls `odd` of one hostile server, and then `echo`: the fault costs one call at most, which the server has got once.
#[track_caller]
fn odd(behaviour: &str, era: &str, options: &[&str]) -> Done {
    let remote = connected(behaviour, era, options);
    let done = remote.odd();
    remote.echoes();
    assert_eq!(remote.calls_of_odd(), 1, "{behaviour}: no call is repeated");
    done
}

/// The same, for a fault that is known at once.
#[track_caller]
fn odd_fails(behaviour: &str, status: &str, parts: &[&str]) {
    for era in ERAS {
        let done = odd(behaviour, era, &[]);
        done.failed(status, &[&["tool odd of server s"], parts].concat()).well_under(GENEROUS);
    }
}

/// The same, for what is odd and does no harm.
#[track_caller]
fn odd_works(behaviour: &str) {
    for era in ERAS {
        let done = odd(behaviour, era, &[]);
        assert_eq!(done.well_under(GENEROUS).ok(), GOOD, "{behaviour}, {era}");
    }
}

/// A server that must not come up, and why is known at once. Its part of the document.
#[track_caller]
fn fails(behaviour: &str, options: &[&str], phase: &str, parts: &[&str]) -> (Server, Value) {
    let server = Server::start(behaviour, options);
    let loaded = load(json!({"s": entry(&server)}));
    let document = failed(&loaded, phase, parts);
    assert!(loaded.took.as_millis() < u128::from(GENEROUS) / 3, "it took {:?}: {document}", loaded.took);
    let reason = document["reason"].as_str().unwrap_or_default();
    assert!(reason.contains(&server.origin()), "the URL is named: {reason}");
    (server, document)
}

#[track_caller]
fn failed(loaded: &Loaded, phase: &str, parts: &[&str]) -> Value {
    let document = loaded.server("s").clone();
    assert_eq!((&document["status"], &document["phase"]), (&json!("failed"), &json!(phase)), "{document}");
    let reason = document["reason"].as_str().expect("a reason");
    for part in parts {
        assert!(reason.contains(part), "expected {part:?} in {document}");
    }
    assert!(loaded.tools().is_empty());
    document
}

impl Remote {
    fn odd(&self) -> Done {
        self.loaded.call("s_odd", json!({}))
    }

    #[track_caller]
    fn echoes(&self) {
        assert_eq!(self.loaded.call("s_echo", json!({"text": "still here é😀"})).ok(), "still here é😀");
    }

    /// The requests with this method, or verb.
    fn received(&self, method: &str) -> Vec<Received> {
        received(&self.server, method)
    }

    fn calls_of_odd(&self) -> usize {
        self.received("tools/call").iter().filter(|request| request.tool() == "odd").count()
    }
}

fn received(server: &Server, method: &str) -> Vec<Received> {
    server.received().into_iter().filter(|request| request.method() == method).collect()
}
