//! What the protocol asks of a client, duty by duty: the number in a test's name is the duty's. Each is held against a server
//! that speaks plain MCP, over stdio unless the name says otherwise. The README's table of features points here.
#![cfg(target_os = "linux")]
#![expect(clippy::undocumented_unsafe_blocks, reason = "strings made here, references that are the library's own")]

#[path = "../common/mod.rs"]
mod common;

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

use common::{Loaded, hostile, load};
use serde_json::{Value, json};

const ERAS: [&str; 2] = ["legacy", "modern"];

/// Loads one server, named `s`, that speaks this era alone.
#[track_caller]
fn connected(behaviour: &str, era: &str, options: &[&str]) -> Loaded {
    let loaded = load(json!({"s": hostile(behaviour, &[&["--era", era], options].concat())}));
    let server = loaded.server("s");
    assert_eq!(server["status"], "connected", "{server}");
    assert_eq!(server["protocolVersion"] == "2026-07-28", era == "modern", "{server}");
    loaded
}

/// What the server received so far.
fn received(loaded: &Loaded) -> Vec<Value> {
    let lines = loaded.call("s_received", json!({}));
    lines.ok().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn received_of(loaded: &Loaded, method: &str) -> Vec<Value> {
    received(loaded).into_iter().filter(|message| message["method"] == method).collect()
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
