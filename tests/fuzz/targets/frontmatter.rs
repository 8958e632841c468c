//! What a SKILL.md begins with, against what a server says of it: YAML of any kind is compared or refused, within bounds.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use toolnexus::mcp::frontmatter::check;

fuzz_target!(|bytes: &[u8]| {
    let text = &*String::from_utf8_lossy(bytes);
    // YAML, and after a line of its own the JSON that it may be.
    let (yaml, expected) = text.split_once("\n===\n").unwrap_or((text, "{}"));
    let mut expected: Value = serde_json::from_str(expected).unwrap_or_default();
    let _ = check(yaml, &expected);
    let markdown = format!("---\n{yaml}\n---\nBody\n");
    let Err(reason) = check(&markdown, &expected) else {
        // It is that, so it is nothing else.
        let Value::Object(fields) = &mut expected else { panic!("{yaml:?} is a mapping, and equal to {expected}") };
        if let Some((key, value)) = fields.shift_remove_entry(&fields.keys().next().cloned().unwrap_or_default()) {
            assert!(check(&markdown, &Value::Object(fields.clone())).is_err(), "{key} is more than was expected");
            fields.insert(key, json!([value]));
        } else {
            fields.insert("more".to_owned(), Value::Null);
        }
        assert!(check(&markdown, &expected).is_err(), "{yaml:?} is equal to {expected} too");
        return;
    };
    assert!(!reason.is_empty() && reason.starts_with("frontmatter "), "{reason:?}");
    assert!(reason.len() < 4096, "{} bytes", reason.len());
});
