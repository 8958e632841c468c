//! toolnexus: an MCP host behind a C ABI.
#![deny(rustdoc::broken_intra_doc_links)]

pub mod outcome;
pub mod runtime;
