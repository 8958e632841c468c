//! Bytes and messages: the raw, tolerant layer between the servers and what knows about them.
//!
//! - [`mux`]: who gets which message. Every call's reply is found by its id and kept as the bytes that came.
//! - [`stdio`]: lines over the pipes of a local server's process.
//! - [`broken`]: what a message that cannot be parsed still says.
//! - [`http`]: exchanges with a remote server.
//! - [`link`]: either of them, as what a session runs over.
//! - [`auth`]: what a remote server asks for before it serves a client.
//! - [`param_headers`]: arguments of a tool that are sent as headers too.
//! - [`gzip`]: bodies that a remote server sends packed.
//! - [`sse`]: the events of a remote server's stream.
//! - [`service`]: the seat of the SDK (`rmcp`), which answers what servers ask.
//!
//! Nothing here knows what a tool or a resource is.

pub mod auth;
pub mod broken;
pub mod gzip;
pub mod http;
pub mod link;
pub mod mux;
pub mod param_headers;
pub mod service;
pub mod sse;
pub mod stdio;
