//! Servers that do nothing wrong, and something that the ordinary one does not: for the tests of what the protocol asks.

use std::process::exit;

use serde_json::json;

use super::server::{Behaviour, PLAIN, Turn, tool};

/// As a client must pass it on: decoding and encoding again would change it.
const SCHEMA: &str = concat!(
    r##"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","$defs":{"a":{"$anchor":"a","const":1.0}},"##,
    r##""properties":{"z":{"$ref":"#a"},"a":{"x-unknown":[1E2,"\u00e9"]}},"##,
    r##""allOf":[{"if":{"required":["z"]},"then":{},"else":false}],"additionalProperties":false}"##
);

pub const TABLE: &[Behaviour] = &[
    Behaviour {
        name: "no-result-type",
        about: "odd's result has no resultType",
        on: |_, message| {
            let id = &message.id;
            let result = r#"{"content":[{"type":"text","text":"no type"}]}"#;
            Turn::Raw(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#).into_bytes())
        },
        ..PLAIN
    },
    Behaviour {
        name: "schema-as-written",
        about: "one tool, whose schemas have keywords and spellings that decoding would lose",
        at: "tools/list",
        tools: &[],
        on: |_, message| {
            let id = &message.id;
            let tools = format!(r#"[{{"name":"t","inputSchema":{SCHEMA},"outputSchema":{SCHEMA}}}]"#);
            let result = format!(r#"{{"resultType":"complete","tools":{tools},"ttlMs":0,"cacheScope":"private"}}"#);
            Turn::Raw(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#).into_bytes())
        },
        ..PLAIN
    },
    Behaviour {
        name: "annotated",
        about: "tools that say they are harmless, or are not; crash, which ends the process, says so too",
        at: "",
        on: |server, message| match (message.method.as_str(), message.tool.as_str()) {
            ("tools/list", _) => {
                let mut tools = server.tools();
                let harmless = json!({"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true});
                let destructive = json!({"readOnlyHint": false, "destructiveHint": true, "openWorldHint": true});
                for (name, annotations) in
                    [("says-harmless", &harmless), ("crash", &harmless), ("says-destructive", &destructive)]
                {
                    let mut entry = tool(name);
                    entry["annotations"] = annotations.clone();
                    tools.push(entry);
                }
                Turn::Result(json!({"tools": tools}))
            }
            (_, "crash") => exit(3),
            _ => Turn::Ordinary,
        },
        ..PLAIN
    },
    Behaviour {
        name: "url-required",
        about: "odd is refused: a URL has to be opened first (-32042)",
        on: |_, _| {
            let elicitation = json!({"mode": "url", "url": "https://example.invalid/sign-in", "elicitationId": "e1", "message": "Sign in"});
            Turn::Error(json!({"code": -32042, "message": "sign in first", "data": {"elicitations": [elicitation]}}))
        },
        ..PLAIN
    },
];
