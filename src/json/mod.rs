//! Raw JSON: check it, find things in it, take strings out of it, without building a tree.
//!
//! Servers' answers are passed on byte for byte, so most of what arrives is only checked once and then cut into spans.
//!
//! - `check`: the one pass that validates a text; on the way it notes where a message has its `id`, `result` and so on.
//! - `raw`: walking in text that was checked. [`Cursor`] for one pass over nested data, [`Raw`] for everything small.
//! - `text`: strings and blanks: unescape, quote, compact.
#![forbid(unsafe_code)]

mod check;
mod raw;
#[cfg(test)]
mod tests;
mod text;

pub use check::{Envelope, Error, Marks, Message, check, envelope};
pub use raw::{Cursor, Kind, Raw};
pub use text::{compact, quote, single_line};
