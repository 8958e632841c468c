//! What servers ask of the host and tell it, driven through the C ABI.
#![expect(clippy::undocumented_unsafe_blocks, reason = "strings made here, references that are the library's own")]

mod announced;
mod answers;
mod clocks;
mod crashes;
mod endings;
mod live;
mod races;
mod real;
mod rounds;
mod support;
mod tasks;
