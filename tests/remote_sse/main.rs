//! Everything that works over stdio works over HTTP: the tests of `tests/hostile` and `tests/host_side` that do not depend on
//! how messages travel, with servers that answer in events always.
#![cfg(target_os = "linux")]
#![allow(clippy::undocumented_unsafe_blocks, reason = "strings made here, references that are the library's own")]

/// How the servers answer.
const REPLY: &str = "sse";

include!("../remote/everything.rs");
