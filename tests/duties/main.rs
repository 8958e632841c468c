//! What the protocol asks of a client, duty by duty: the number in a test's name is the duty's. What does not depend on the
//! transport is tested over stdio and over HTTP; `tests/remote` has what is HTTP's own. The README's table of features points
//! here.
#![cfg(target_os = "linux")]
#![expect(clippy::undocumented_unsafe_blocks, reason = "strings made here, references that are the library's own")]

#[path = "../common/mod.rs"]
mod common;
#[allow(dead_code, reason = "the program of the same name uses the rest")]
#[path = "../servers/hostile_http/mod.rs"]
mod hostile_http;

#[allow(dead_code, reason = "the tests of what servers ask use the rest")]
#[path = "../host_side/support.rs"]
mod support;

mod asking;
mod base;
mod cache;
mod notices;
mod outputs;
mod stdio;
mod tools;

use std::ops::Deref;

use common::{GENEROUS, Loaded, hostile, load};
use hostile_http::Server;
use serde_json::{Value, json};

const ERAS: [&str; 2] = ["legacy", "modern"];
/// Each transport in each era.
const WAYS: [(&str, &str); 4] = [("stdio", "legacy"), ("stdio", "modern"), ("http", "legacy"), ("http", "modern")];
const MODERN: [(&str, &str); 2] = [WAYS[1], WAYS[3]];

/// A source with one server, named `s`.
struct Peer {
    // Closed before its server ends.
    loaded: Loaded,
    /// A remote one.
    server: Option<Server>,
}

impl Deref for Peer {
    type Target = Loaded;

    fn deref(&self) -> &Loaded {
        &self.loaded
    }
}

/// Loads a server that speaks this era alone, over stdio.
#[track_caller]
fn connected(behaviour: &str, era: &str, options: &[&str]) -> Peer {
    connected_over(("stdio", era), behaviour, options)
}

/// The same, by one of the [`WAYS`].
#[track_caller]
fn connected_over((transport, era): (&str, &str), behaviour: &str, options: &[&str]) -> Peer {
    let peer = loaded_over(transport, behaviour, &[&["--era", era], options].concat());
    let server = peer.server("s");
    assert_eq!(server["status"], "connected", "{transport}: {server}");
    assert_eq!(server["protocolVersion"] == "2026-07-28", era == "modern", "{transport}: {server}");
    peer
}

/// Loads a server that may come up or not.
fn loaded_over(transport: &str, behaviour: &str, options: &[&str]) -> Peer {
    if transport == "stdio" {
        return Peer { loaded: load(json!({"s": hostile(behaviour, options)})), server: None };
    }
    let server = Server::start(behaviour, options);
    let loaded = load(json!({"s": {"url": server.url(), "timeout": GENEROUS}}));
    Peer { loaded, server: Some(server) }
}

/// The messages that the server received so far.
fn received(peer: &Peer) -> Vec<Value> {
    if let Some(server) = &peer.server {
        let posts = server.received().into_iter().filter(|request| request.verb == "POST");
        return posts.map(|request| request.message()).collect();
    }
    let lines = peer.call("s_received", json!({}));
    lines.ok().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn received_of(peer: &Peer, method: &str) -> Vec<Value> {
    received(peer).into_iter().filter(|message| message["method"] == method).collect()
}

#[track_caller]
fn echoes(loaded: &Loaded) {
    assert_eq!(loaded.call("s_echo", json!({"text": "still here"})).ok(), "still here");
}

/// A server that must not come up: why.
#[track_caller]
fn reason(loaded: &Loaded) -> String {
    let server = loaded.server("s");
    assert_eq!(server["status"], "failed", "{server}");
    server["reason"].as_str().expect("a reason").to_owned()
}
