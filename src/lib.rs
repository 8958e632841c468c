//! toolnexus: an MCP host behind a C ABI.
#![deny(rustdoc::broken_intra_doc_links)]

pub mod ask;
pub mod config;
pub mod context;
pub mod ffi;
pub mod hosted;
pub mod json;
pub mod log;
pub mod mcp;
pub mod outcome;
pub mod process;
pub mod queue;
pub mod runtime;
pub mod schema;
pub mod submit;
pub mod tool;
pub mod toolkit;
pub mod wire;
