//! What servers answer, mapped to what hosts see: lists, contents and errors.
#![no_main]

use std::collections::HashSet;
use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use serde::de::IgnoredAny;
use serde_json::Value;
use toolnexus::json::{self, Kind, Raw};
use toolnexus::wire::mux::Reply;
use toolnexus::mcp::content::{read_result, tool_result};
use toolnexus::mcp::list::{ItemList, Items, ToolList};
use toolnexus::mcp::names::Names;
use toolnexus::mcp::rpc;

fuzz_target!(|bytes: &[u8]| {
    let text = &*String::from_utf8_lossy(bytes);
    let built;
    let text = if json::check(text.as_bytes()).is_ok() {
        text
    } else {
        built = build(bytes);
        assert_json(&built);
        &built
    };
    let raw = Raw::checked(text);
    // A tree of serde_json holds neither lone surrogates, nor 1e999, nor 128 levels.
    let value: Option<Value> = serde_json::from_str(text).ok();
    call(raw, value.as_ref());
    read(raw);
    tools(raw);
    for of in [Items::Resources, Items::Templates] {
        let mut list = ItemList::default();
        assert_eq!(list.add_page(raw, of).is_ok(), raw.kind() == Kind::Object);
        assert!(list.items.iter().all(|item| !item.uri.is_empty()));
    }
    let failure = rpc::server_error(raw);
    assert!(!failure.message.is_empty());
    assert_eq!(failure.data.map(|data| data.get().to_owned()).as_deref(), Some(raw.text()));
});

fn call(raw: Raw<'_>, value: Option<&Value>) {
    let Ok(result) = tool_result(raw) else {
        assert_ne!(raw.kind(), Kind::Object);
        return;
    };
    let length = result.content.map_or(0, |content| content.elements().count());
    check_parts(&result.parts, length);
    if let Some(structured) = result.structured.filter(|_| !result.is_error) {
        assert_json(&result.output);
        let parsed: Option<Value> = serde_json::from_str(structured.text()).ok();
        assert!(parsed.is_none_or(|parsed| serde_json::from_str(&result.output).ok() == Some(parsed)));
    }
    let Some(value) = value else { return };
    assert_eq!(result.is_error, value["isError"] == true || value["isError"] == "true");
    assert_eq!(result.structured.is_some(), !value["structuredContent"].is_null());
    let content = result.content.map(|content| serde_json::from_str::<Value>(content.text()).expect("JSON"));
    assert_eq!(content.as_ref(), value.get("content"));
    if result.is_error || result.structured.is_some() {
        return;
    }
    let expected = output(&value["content"]);
    assert!(expected.is_empty() || result.output == expected, "{:?}, expected {expected:?}", result.output);
}

/// The text of a success, the slow way.
fn output(content: &Value) -> String {
    let mut texts: Vec<&str> = content.as_str().into_iter().collect();
    let mut embedded = Vec::new();
    for block in content.as_array().into_iter().flatten() {
        let resource = &block["resource"]["text"];
        match (block, block["type"].as_str()) {
            (Value::String(text), _) => texts.push(text),
            (_, Some("text")) => texts.extend(block["text"].as_str()),
            (_, Some("resource")) => embedded.extend(resource.as_str()),
            _ => {}
        }
    }
    texts.append(&mut embedded);
    texts.join("\n")
}

fn read(raw: Raw<'_>) {
    let Ok(result) = read_result(raw) else {
        assert_ne!(raw.kind(), Kind::Object);
        return;
    };
    check_parts(&result.parts, result.contents.map_or(0, |contents| contents.elements().count()));
}

/// Parts are a JSON array, and each points at an element of its own.
fn check_parts(parts: &str, length: usize) {
    assert_json(parts);
    let mut last = None;
    for part in Raw::checked(parts).elements() {
        let index = part.get("content").and_then(Raw::as_u64).expect("a part says where its content is");
        assert!((index as usize) < length && last.is_none_or(|last| index > last), "{parts}");
        last = Some(index);
        assert!(part.get("type").is_some_and(|kind| matches!(kind.body(), Some("image" | "audio" | "file"))));
        assert!(part.get("mimeType").is_some_and(|mime| mime.kind() == Kind::String));
    }
}

fn tools(raw: Raw<'_>) {
    let page = Arc::new(Reply::from(raw.text().to_owned()));
    let mut list = ToolList::default();
    for _ in 0..2 {
        assert_eq!(list.add_page(&page).is_ok(), raw.kind() == Kind::Object);
    }
    let servers = ["a", "a_b", "a.b"];
    let names: Vec<&str> = list.tools.iter().map(|tool| &*tool.name).collect();
    let unique: HashSet<&str> = names.iter().copied().collect();
    assert_eq!(unique.len(), names.len());
    let mut taken = HashSet::new();
    for (server, name) in servers.iter().enumerate() {
        let exposed = Names::new(&servers).expose(server, &names);
        assert_eq!(exposed.len(), list.tools.len());
        for (tool, exposed) in list.tools.iter().zip(exposed) {
            assert!(
                exposed.len() <= 64
                    && exposed.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
            );
            let document = tool.json(&exposed, name);
            assert_json(&document);
            assert_json(&tool.inventory_json());
            assert_eq!(Raw::checked(tool.input_schema()).kind(), Kind::Object);
            assert!(server > 0 || taken.insert(exposed), "one name for two tools");
        }
    }
}

fn assert_json(text: &str) {
    assert!(serde_json::from_str::<IgnoredAny>(text).is_ok(), "not JSON: {text}");
}

/// What is no JSON becomes JSON: each byte is a choice.
fn build(mut choices: &[u8]) -> String {
    let mut out = String::new();
    // A result is an object.
    out.push('{');
    members(&mut choices, 0, &mut out);
    out
}

fn next(choices: &mut &[u8]) -> Option<u8> {
    let (first, rest) = choices.split_first()?;
    *choices = rest;
    Some(*first)
}

fn members(choices: &mut &[u8], depth: usize, out: &mut String) {
    const KEYS: [&str; 32] = [
        "content",
        "contents",
        "structuredContent",
        "isError",
        "resultType",
        "tools",
        "resources",
        "resourceTemplates",
        "nextCursor",
        "type",
        "text",
        "data",
        "blob",
        "mimeType",
        "uri",
        "uriTemplate",
        "name",
        "title",
        "description",
        "resource",
        "inputSchema",
        "outputSchema",
        "annotations",
        "readOnlyHint",
        "destructiveHint",
        "idempotentHint",
        "openWorldHint",
        "properties",
        "code",
        "message",
        "n\\u0061me",
        "x",
    ];
    let mut comma = "";
    while let Some(choice) = next(choices).filter(|choice| *choice < 0xf0) {
        out.push_str(comma);
        comma = ",";
        out.push('"');
        out.push_str(KEYS[usize::from(choice) % KEYS.len()]);
        out.push_str("\":");
        value(choices, depth + 1, out);
    }
    out.push('}');
}

fn value(choices: &mut &[u8], depth: usize, out: &mut String) {
    const SCALARS: [&str; 24] = [
        "null",
        "true",
        "false",
        "0",
        "-1.5e3",
        "1e999",
        "\"\"",
        "\" \\n\"",
        "\"true\"",
        "\"text\"",
        "\"image\"",
        "\"audio\"",
        "\"resource\"",
        "\"resource_link\"",
        "\"object\"",
        "\"a.b\"",
        "\"a_b\"",
        "\"QUJD\\/w==\"",
        "\"\\ud800\"",
        "\"\\ud83d\\ude00\"",
        "\"caf\u{e9}\"",
        "\"input_required\"",
        "\"complete\"",
        "\"a/b; c=\\\"d\\\"\"",
    ];
    let Some(choice) = next(choices) else { return out.push_str("null") };
    match choice {
        0x80.. if depth > 100 => out.push('7'),
        0xc0.. => {
            out.push('{');
            members(choices, depth, out);
        }
        0x80.. => {
            let mut comma = "[";
            while choices.first().is_some_and(|choice| *choice < 0xf0) {
                out.push_str(comma);
                comma = ",";
                value(choices, depth + 1, out);
            }
            next(choices);
            out.push_str(if comma == "[" { "[]" } else { "]" });
        }
        scalar => out.push_str(SCALARS[usize::from(scalar) % SCALARS.len()]),
    }
}
