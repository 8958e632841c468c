//! Tools that promise a shape of their output, and keep the promise or do not.

use serde_json::{Map, Value, json};

use super::server::{Behaviour, PLAIN, Server, Turn, tool};

const TOOLS: &[&str] = &[
    "fits",
    "differs",
    "fails",
    "no-schema",
    "no-structured",
    "array",
    "text",
    "remote-ref",
    "unknown-dialect",
    "draft-07",
    "not-a-schema",
    "huge",
    "deep",
    "endless",
    "pattern-bomb",
    "pattern-slow",
];

pub const TABLE: &[Behaviour] = &[Behaviour {
    name: "output-schemas",
    about: "tools with an outputSchema each, and structured content that fits it or does not (--url: what one refers to)",
    at: "",
    on: |server, message| match message.method.as_str() {
        "tools/list" => {
            let mut tools = server.tools();
            for name in TOOLS {
                let mut entry = tool(name);
                if *name != "no-schema" {
                    entry["outputSchema"] = schema(server, name);
                }
                tools.push(entry);
            }
            Turn::Result(json!({"tools": tools}))
        }
        "tools/call" => match message.tool.as_str() {
            "no-structured" => Turn::Result(json!({"content": []})),
            "fails" => Turn::Result(json!({"content": [], "structuredContent": content("fails"), "isError": true})),
            name => Turn::Result(
                json!({"content": [{"type": "text", "text": "as text"}], "structuredContent": content(name)}),
            ),
        },
        _ => Turn::Ordinary,
    },
    tools: &[],
    ..PLAIN
}];

fn schema(server: &Server, tool: &str) -> Value {
    let url = server.option("url").unwrap_or("http://127.0.0.1:9/schema.json");
    match tool {
        "remote-ref" => json!({"type": "object", "properties": {"n": {"$ref": url}}}),
        "unknown-dialect" => json!({"$schema": url, "type": "object"}),
        "draft-07" => json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
            "properties": {"n": {"items": [{"type": "string"}]}}}),
        "not-a-schema" => json!({"type": "object", "properties": 7}),
        "huge" => {
            let properties: Map<String, Value> =
                (0..20_000).map(|n| (format!("property-{n}"), json!({"type": "string"}))).collect();
            json!({"type": "object", "properties": properties})
        }
        "deep" => (0..200).fold(json!({"type": "object"}), |inner, _| json!({"not": inner})),
        "endless" => {
            let mut defs: Map<String, Value> = (0..60)
                .map(|n| {
                    let next = json!({"$ref": format!("#/$defs/{}", n + 1)});
                    (n.to_string(), json!({"allOf": [next, next]}))
                })
                .collect();
            defs.insert("60".to_owned(), json!({"type": "object"}));
            json!({"type": "object", "$ref": "#/$defs/0", "$defs": defs})
        }
        "pattern-bomb" => json!({"type": "object", "properties": {"s": {"pattern": "(a{1000}){1000}"}}}),
        "pattern-slow" => json!({"type": "object", "properties": {"s": {"pattern": "^(a|aa)+$"}}}),
        "array" => json!({"type": "array", "items": {"type": "integer"}}),
        "text" => json!({"type": "string", "maxLength": 3}),
        _ => json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}),
    }
}

fn content(tool: &str) -> Value {
    match tool {
        "differs" | "fails" => json!({"n": "one"}),
        "draft-07" => json!({"n": [1]}),
        "array" => json!([1, "two", 3]),
        "text" => json!("long"),
        "pattern-bomb" | "pattern-slow" => json!({"s": "a".repeat(50_000) + "!"}),
        _ => json!({"n": 1}),
    }
}
