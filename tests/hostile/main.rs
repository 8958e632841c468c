//! What misbehaving servers cost: nothing but what they themselves would have given. Each row names a kind of fault; the
//! servers are `tests/servers/hostile`. What does not depend on how messages travel is tested over HTTP too, by
//! `tests/remote_json` and `tests/remote_sse`.
#![cfg(target_os = "linux")]

#[path = "../common/mod.rs"]
mod common;

mod calls;
mod envelopes;
mod framing;
mod input;
mod kit;
mod lifecycle;
mod lists;
mod measure;
mod odd_results;
mod process;
mod raw_requests;
mod requests;
mod restart;
mod skills;
mod soak;
mod talk;
mod verdicts;

use kit::*;
