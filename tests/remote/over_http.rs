//! The library as a host sees it, with the hostile servers at the other end of HTTP.

use serde_json::{Value, json};

pub use crate::host::*;
use crate::hostile_http::Server;

/// The entry of a hostile server, with a generous time-out.
pub fn hostile(behaviour: &str, options: &[&str]) -> Value {
    hostile_within(GENEROUS, behaviour, options)
}

pub fn hostile_within(timeout: u64, behaviour: &str, options: &[&str]) -> Value {
    json!({"url": serve(behaviour, options), "timeout": timeout})
}

/// Starts a server, which lives as long as the test.
pub fn serve(behaviour: &str, options: &[&str]) -> String {
    let server = Server::start(behaviour, &[options, &["--reply", crate::REPLY, "--received", "bodies"]].concat());
    let url = server.url();
    std::mem::forget(server);
    url
}
