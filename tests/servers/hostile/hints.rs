//! Answers that may be used again for a while, and what ends that.

use std::process::exit;

use serde_json::{Value, json};

use super::server::{Behaviour, Message, PLAIN, Server, Turn};

pub const TABLE: &[Behaviour] = &[
    Behaviour {
        name: "cached",
        about: "numbers its answers to discover, lists and reads, good for --interval (60000) ms; odd {do} announces a change, or exits",
        at: "",
        capabilities: r#"{"tools":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"prompts":{"listChanged":true}}"#,
        on: |server, message| {
            let good_for = server.number("interval", 60_000);
            on(server, message, json!(good_for), json!("private"))
        },
        ..PLAIN
    },
    Behaviour {
        name: "cached-odd",
        about: "numbers its answers too; the params of a request (ttl, scope) are their hints, as they are",
        at: "",
        capabilities: r#"{"tools":{},"resources":{},"prompts":{}}"#,
        on: |server, message| {
            let hint = |name: &str| message.params.get(name).cloned().unwrap_or_default();
            on(server, message, hint("ttl"), hint("scope"))
        },
        ..PLAIN
    },
];

fn on(server: &mut Server, message: &Message, good_for: Value, scope: Value) -> Turn {
    let mut result = match message.method.as_str() {
        "server/discover" => match server.answer_to_discover() {
            Some(result) => result,
            None => return Turn::Ordinary,
        },
        "tools/list" => json!({"tools": server.tools()}),
        "resources/list" => {
            json!({"resources": [{"uri": "fixture://a", "name": format!("listed {}", server.count + 1)}]})
        }
        "resources/templates/list" => json!({"resourceTemplates": []}),
        "prompts/list" => json!({"prompts": []}),
        "resources/read"
            if message.params["uri"] == "fixture://asks" && message.params.get("requestState").is_none() =>
        {
            return Turn::Result(json!({"resultType": "input_required", "requestState": "s"}));
        }
        "resources/read" if message.params["uri"] == "fixture://none" => {
            return Turn::Error(json!({"code": -32602, "message": "no such resource", "ttlMs": good_for}));
        }
        "resources/read" => {
            json!({"contents": [{"uri": message.params["uri"], "text": format!("read {}", server.count + 1)}]})
        }
        "tools/call" if message.tool == "odd" => {
            let arguments = &message.params["arguments"];
            match arguments["do"].as_str().unwrap_or_default() {
                "exit" => exit(0),
                "updated" => server.notify("notifications/resources/updated", json!({"uri": arguments["uri"]})),
                list => server.notify(&format!("notifications/{list}/list_changed"), json!({})),
            }
            return Turn::Ordinary;
        }
        _ => return Turn::Ordinary,
    };
    server.count += 1;
    result["n"] = json!(server.count);
    result["ttlMs"] = good_for;
    result["cacheScope"] = scope;
    Turn::Result(result)
}
