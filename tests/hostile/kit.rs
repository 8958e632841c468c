//! What all of these tests do with a server: load it, call it, look at what it got.

use serde_json::{Value, json};

use crate::common::{self, Done, Loaded, hostile, load};

pub const ERAS: [&str; 2] = ["legacy", "modern"];

/// Loads one hostile server, named `s`, which has to connect in that era.
#[track_caller]
pub fn connected(behaviour: &str, era: &str, options: &[&str]) -> Loaded {
    let all = [&["--era", era], options].concat();
    connects(hostile(behaviour, &all), era)
}

#[track_caller]
pub fn connects(entry: Value, era: &str) -> Loaded {
    let loaded = load(json!({"s": entry}));
    let server = loaded.server("s");
    assert_eq!(server["status"], "connected", "{server}");
    let version = server["protocolVersion"].as_str().unwrap_or_default();
    assert_eq!(version == "2026-07-28", era == "modern", "{server}");
    loaded
}

/// A server that connects, and whose common tools work as if it had no fault.
#[track_caller]
pub fn works(entry: Value, era: &str) -> Loaded {
    let loaded = connects(entry, era);
    echoes(&loaded);
    loaded
}

#[track_caller]
pub fn echoes(loaded: &Loaded) {
    assert_eq!(loaded.call("s_echo", json!({"text": "still here é😀"})).ok(), "still here é😀");
}

/// Calls `odd` of one hostile server, and then `echo`: the fault costs one call at most.
#[track_caller]
pub fn odd(behaviour: &str, era: &str, options: &[&str]) -> Done {
    let loaded = connected(behaviour, era, options);
    let done = loaded.call("s_odd", json!({}));
    echoes(&loaded);
    done
}

/// A server that must not come up: its part of the document.
#[track_caller]
pub fn fails(entry: Value, phase: &str, parts: &[&str]) -> Value {
    let loaded = load(json!({"s": entry}));
    let server = loaded.server("s").clone();
    assert_eq!(server["status"], "failed", "{server}");
    assert_eq!(server["phase"], phase, "{server}");
    let reason = server["reason"].as_str().expect("a reason");
    for part in parts {
        assert!(reason.contains(part), "expected {part:?} in {server}");
    }
    assert!(loaded.tools().is_empty());
    server
}

/// The same, with the cause known at once.
#[track_caller]
pub fn fails_at_once(behaviour: &str, options: &[&str], phase: &str, parts: &[&str]) -> Value {
    let began = std::time::Instant::now();
    let server = fails(hostile(behaviour, options), phase, parts);
    let took = began.elapsed();
    assert!(took < std::time::Duration::from_millis(common::GENEROUS) / 3, "it took {took:?}: {server}");
    server
}

/// What a server received so far, one message a line.
pub fn received(loaded: &Loaded) -> Vec<String> {
    loaded.call("s_received", json!({})).ok().lines().map(str::to_owned).collect()
}

/// Waits until the server has received a line that holds `part`.
#[track_caller]
pub fn receives(loaded: &Loaded, part: &str) {
    common::until(part, || received(loaded).iter().any(|line| line.contains(part)));
}

pub fn pid(loaded: &Loaded) -> i64 {
    let process: Value = serde_json::from_str(loaded.call("s_process", json!({})).ok()).expect("JSON");
    process["pid"].as_i64().expect("a pid")
}

/// A zombie does not run: whose child it became takes it away when it likes.
pub fn runs(pid: i64) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
}
