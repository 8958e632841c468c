//! A reply of a server, as the bytes that came.
#![forbid(unsafe_code)]

use std::ops::Range;
use std::sync::Arc;

use crate::json::{Marks, Raw};

/// A reply, as it came.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The whole message.
    pub(super) message: String,
    pub(super) body: Range<usize>,
    /// The body is the `error` member, else the `result`.
    pub is_error: bool,
    pub(super) marks: Marks,
}

impl Reply {
    /// What stands inside this reply as a reply of its own.
    #[must_use]
    pub fn inner(self, find: impl FnOnce(Raw<'_>) -> Option<Raw<'_>>, is_error: bool) -> Option<Reply> {
        let found = find(self.raw())?;
        let place = |name: &str| found.get(name).and_then(|value| value.range_in(&self.message));
        let marks = Marks { is_error: place("isError"), result_type: place("resultType") };
        let body = found.range_in(&self.message)?;
        Some(Reply { message: self.message, body, is_error, marks })
    }

    pub fn text(&self) -> &str {
        // The range falls on the edges of a JSON value.
        self.message.get(self.body.clone()).unwrap_or("null")
    }

    pub fn raw(&self) -> Raw<'_> {
        Raw::checked(self.text())
    }

    /// The `isError` of the result.
    pub fn says_error(&self) -> Option<Raw<'_>> {
        self.mark(self.marks.is_error.as_ref())
    }

    /// The `resultType` of the result.
    pub fn result_type(&self) -> Option<Raw<'_>> {
        self.mark(self.marks.result_type.as_ref())
    }

    fn mark(&self, range: Option<&Range<usize>>) -> Option<Raw<'_>> {
        self.message.get(range?.clone()).map(Raw::checked)
    }

    /// For a reply that stays: in memory of just its size. What it was read into is larger, and serves the next one.
    pub fn kept(self) -> Arc<Reply> {
        Arc::new(Reply { message: self.message.as_str().to_owned(), ..self })
    }
}

/// A checked JSON text as the result of a reply, for tests and fuzzers.
impl From<String> for Reply {
    fn from(message: String) -> Self {
        Reply { body: 0..message.len(), message, is_error: false, marks: Marks::default() }
    }
}
