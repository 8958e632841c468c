//! A host with queues, with the hostile servers at the other end of HTTP.

use serde_json::{Value, json};

pub use crate::host_with_queues::*;

pub fn hostile(behaviour: &str, options: &[&str]) -> Value {
    json!({"url": crate::common::serve(behaviour, options)})
}

/// A hostile server that speaks one era only.
pub fn of_era(era: &str, behaviour: &str) -> Value {
    hostile(behaviour, &["--era", era])
}
