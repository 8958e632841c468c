//! The C ABI: one file an object, in the header's order, over two rooms that do what is unsafe or easily forgotten.
//!
//! - `handle`: references as checked names instead of addresses.
//! - `guard`: what every export does first and last: fork, panic, the shape of the answer.
//! - `text`: strings in and out.
//! - [`library`], [`result`], [`context`], [`config`], [`mcp`], [`tools`], [`toolkit`], [`queue`]: the exports.
//!
//! An export checks and converts its arguments, calls one function of the core, and wraps the outcome.
#![allow(non_camel_case_types)]
#![allow(rustdoc::invalid_rust_codeblocks)]

#[cfg(not(target_pointer_width = "64"))]
compile_error!("toolnexus handles need 64-bit pointers");
#[cfg(panic = "abort")]
compile_error!("toolnexus catches panics at its boundary: build it with panic = \"unwind\"");

pub mod config;
pub mod context;
mod guard;
mod handle;
pub mod library;
pub mod mcp;
pub mod queue;
pub mod result;
mod text;
pub mod toolkit;
pub mod tools;
pub mod types;
