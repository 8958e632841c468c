//! The scanner against serde_json: the same texts are JSON, and they say the same.
#![no_main]

use std::collections::HashSet;

use libfuzzer_sys::fuzz_target;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};
use toolnexus::json::{self, Cursor, Envelope, Kind, Message, Raw};

fuzz_target!(|bytes: &[u8]| {
    let text = &*String::from_utf8_lossy(bytes);
    let checked = json::check(text.as_bytes());
    assert_eq!(checked.is_ok(), serde_json::from_str::<IgnoredAny>(text).is_ok(), "{checked:?}");
    assert_eq!(checked, json::envelope(text.as_bytes()).map(|_| ()), "check and envelope differ");
    if let Err(error) = checked {
        assert!(error.at <= text.len());
        // Neither may bytes that are no UTF-8 do harm, nor text that was never checked.
        let _ = json::envelope(bytes);
        nonsense(Raw::checked(text), 0);
        return;
    }
    let raw = Raw::checked(text);
    let mut compacted = String::new();
    json::compact(raw, &mut compacted);
    let line = json::single_line(raw);
    assert!(!line.contains(['\n', '\r']));
    // A tree of serde_json holds neither lone surrogates, nor 1e999, nor 128 levels.
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        nonsense(raw, 0);
        return;
    };
    assert_eq!(tree(&mut Cursor::new(raw)), value);
    assert_eq!(serde_json::from_str::<Value>(&compacted).ok().as_ref(), Some(&value));
    assert_eq!(serde_json::from_str::<Value>(&line).ok(), Some(value.clone()));
    let mut again = String::new();
    json::compact(Raw::checked(&compacted), &mut again);
    assert_eq!(again, compacted);
    small(raw, &value);
    match json::envelope(text.as_bytes()) {
        Ok(Envelope::Message(message)) => envelope(text, &message, &value),
        Ok(Envelope::Batch(range)) => {
            assert!(value.is_array());
            assert_eq!(text.get(range), Some(raw.text()));
        }
        _ => assert!(!value.is_array() && !value.is_object()),
    }
});

fn envelope(text: &str, message: &Message, value: &Value) {
    let Message { jsonrpc, id, method, params, result, error, marks: _ } = message;
    assert_eq!(*jsonrpc, value.get("jsonrpc").is_some());
    let members = [("id", id), ("method", method), ("params", params), ("result", result), ("error", error)];
    for (name, range) in members {
        let found = range.as_ref().map(|range| text.get(range.clone()).expect("a range of the text"));
        let found = found.map(|found| serde_json::from_str::<Value>(found).expect("a range that is a value"));
        assert_eq!(found.as_ref(), value.get(name), "{name}");
    }
}

/// The value at the cursor, as a tree.
fn tree(cursor: &mut Cursor<'_>) -> Value {
    match cursor.kind() {
        Kind::Array => {
            let mut elements = Vec::new();
            cursor.open();
            while cursor.element() {
                elements.push(tree(cursor));
            }
            Value::Array(elements)
        }
        Kind::Object => {
            let mut members = Map::new();
            cursor.open();
            while let Some(key) = cursor.key() {
                members.insert(key.into_owned(), tree(cursor));
            }
            Value::Object(members)
        }
        Kind::String => Value::String(cursor.value().as_str().expect("a string").into_owned()),
        Kind::Bool => Value::Bool(cursor.value().as_bool().expect("a boolean")),
        Kind::Null => {
            assert_eq!(cursor.value().text(), "null");
            Value::Null
        }
        Kind::Number => serde_json::from_str(cursor.value().text()).expect("a number"),
    }
}

/// The walkers of small values, one level deep, and what turns values into others.
fn small(raw: Raw<'_>, value: &Value) {
    assert_eq!(raw.is_null(), value.is_null());
    assert_eq!(raw.as_bool(), value.as_bool());
    if let Value::String(text) = value {
        assert_eq!(raw.as_str().as_deref(), Some(text.as_str()));
        let (mut pushed, mut quoted) = (String::new(), String::new());
        raw.push_str_to(&mut pushed);
        assert_eq!(&pushed, text);
        json::quote(text, &mut quoted);
        assert_eq!(serde_json::from_str::<String>(&quoted).ok().as_ref(), Some(text));
    }
    if let (Some(ours), Some(theirs)) = (raw.as_i64(), value.as_i64()) {
        assert_eq!(ours, theirs);
    }
    if let (Some(ours), Some(theirs)) = (raw.as_u64(), value.as_u64()) {
        assert_eq!(ours, theirs);
    }
    assert_eq!(raw.elements().count(), value.as_array().map_or(0, Vec::len));
    let keys: HashSet<String> = raw.members().map(|(key, _)| key.into_owned()).collect();
    assert_eq!(keys.len(), value.as_object().map_or(0, Map::len));
    for key in keys {
        let member = raw.get(&key).expect("a member that was just listed");
        assert_eq!(tree(&mut Cursor::new(member)), value[&key]);
    }
}

/// Walks whatever it is, to see that it comes to an end.
fn nonsense(raw: Raw<'_>, depth: usize) {
    let (mut out, mut longest) = (String::new(), String::new());
    json::compact(raw, &mut out);
    raw.push_str_to(&mut longest);
    assert!(longest.len() <= raw.text().len());
    let _ = (json::single_line(raw), raw.as_str(), raw.as_f64(), raw.as_i64(), raw.as_u64());
    if depth < 3 {
        raw.elements().for_each(|element| nonsense(element, depth + 1));
        raw.members().for_each(|(_, member)| nonsense(member, depth + 1));
    }
}
