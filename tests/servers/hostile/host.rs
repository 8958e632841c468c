//! What a server does with its host beyond one question: withdrawals, many questions, announcements, subscriptions, tasks.

use serde_json::{Value, json};

use super::calls::{answered, ask, form, input_required};
use super::server::{Behaviour, Message, PLAIN, Server, Turn, crash, line, text};

pub const TABLE: &[Behaviour] = &[
    Behaviour {
        name: "asks-and-goes",
        about: "odd asks for a form; withdraw takes the question back, answer ends odd anyway, crash ends the server",
        at: "",
        tools: &["odd", "withdraw", "answer", "crash"],
        on: |server, message| match message.tool.as_str() {
            "crash" => crash(3),
            "withdraw" => {
                line(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "ask"}}));
                end_waiting(server, "withdrawn");
                Turn::Ordinary
            }
            "answer" => {
                end_waiting(server, "answered without waiting");
                Turn::Ordinary
            }
            _ => ask(server, message, "elicitation/create", form()["params"].clone()),
        },
        ..PLAIN
    },
    Behaviour {
        name: "asks-after-answer",
        about: "odd is answered, and then asks for a form",
        on: |server, message| {
            server.answer(message, Turn::Ordinary);
            line(&json!({"jsonrpc": "2.0", "id": "late", "method": "elicitation/create", "params": form()["params"]}));
            Turn::Handled
        },
        era: "legacy",
        ..PLAIN
    },
    Behaviour {
        name: "asks-many",
        about: "odd asks for --count (200) forms at once, and for nothing else; modern: in one map",
        at: "",
        on: |server, message| {
            let count = server.number("count", 200);
            match (message.method.as_str(), message.modern) {
                ("tools/call", true) => answered(message, |_| {
                    input_required(
                        (0..count).map(|n| (format!("q{n}"), form())).collect::<serde_json::Map<_, _>>().into(),
                    )
                }),
                ("tools/call", false) => {
                    server.waiting = message.id.clone();
                    for n in 0..count {
                        let params = &form()["params"];
                        line(&json!({"jsonrpc": "2.0", "id": n, "method": "elicitation/create", "params": params}));
                    }
                    Turn::Handled
                }
                // A response: those that were refused say how many there were.
                ("", _) => {
                    server.count += 1;
                    if server.count == count {
                        end_waiting(server, &message.line);
                    }
                    Turn::Handled
                }
                _ => Turn::Ordinary,
            }
        },
        ..PLAIN
    },
    Behaviour {
        name: "asks-twice-with-one-id",
        about: "odd asks for two forms under one id; its text is the first answer",
        at: "",
        era: "legacy",
        on: |server, message| {
            if message.method == "tools/call" {
                let params = &form()["params"];
                line(&json!({"jsonrpc": "2.0", "id": "ask", "method": "elicitation/create", "params": params}));
            }
            ask(server, message, "elicitation/create", form()["params"].clone())
        },
        ..PLAIN
    },
    Behaviour {
        name: "input-required-mixed",
        about: "odd wants two forms, sampling and roots at once, then gives the answers as text",
        era: "modern",
        on: |_, message| {
            answered(message, |_| {
                let sampling = json!({"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}});
                let roots = json!({"method": "roots/list", "params": {}});
                input_required(json!({"b": form(), "s": sampling, "a \"quoted\"": form(), "r": roots}))
            })
        },
        ..PLAIN
    },
    Behaviour {
        name: "input-required-then-silent",
        about: "odd wants input, and is never answered after it",
        era: "modern",
        on: |_, message| match message.params.get("inputResponses") {
            None => input_required(json!({"q": form()})),
            Some(_) => Turn::Handled,
        },
        ..PLAIN
    },
    Behaviour {
        name: "input-required-everywhere",
        about: "prompts/get and resources/read want input, which they may; completion/complete too, which it may not",
        era: "modern",
        at: "",
        capabilities: r#"{"tools":{},"prompts":{},"resources":{},"completions":{}}"#,
        on: |_, message| match message.method.as_str() {
            "prompts/get" | "resources/read" | "completion/complete" => {
                answered(message, |_| input_required(json!({"q": form()})))
            }
            _ => Turn::Ordinary,
        },
        ..PLAIN
    },
    Behaviour {
        name: "announcer",
        about: "tell {method, params} sends that notification, end-listen ends the subscription, crash the server",
        at: "",
        tools: &["tell", "end-listen", "crash"],
        capabilities: r#"{"tools":{"listChanged":true},"prompts":{"listChanged":true},"logging":{},
            "resources":{"listChanged":true,"subscribe":true}}"#,
        on: |server, message| match (message.method.as_str(), message.tool.as_str()) {
            (_, "crash") => crash(3),
            (_, "tell") => {
                let arguments = &message.params["arguments"];
                let method = arguments["method"].as_str().unwrap_or_default();
                server.notify(method, arguments["params"].clone());
                Turn::Ordinary
            }
            (_, "end-listen") => {
                let id = server.listen.take();
                server.send(json!({"jsonrpc": "2.0", "id": id, "result": {"resultType": "complete"}}));
                Turn::Ordinary
            }
            ("resources/subscribe" | "resources/unsubscribe", _) if !message.modern => Turn::Result(json!({})),
            _ => Turn::Ordinary,
        },
        ..PLAIN
    },
    Behaviour {
        name: "refuses-listen",
        about: "subscriptions/listen is an error for resources named refused, and works for the rest",
        era: "modern",
        at: "subscriptions/listen",
        capabilities: r#"{"tools":{"listChanged":true},"resources":{"subscribe":true}}"#,
        on: |_, message| {
            let uris = message.params["notifications"]["resourceSubscriptions"].to_string();
            if uris.contains("refused") {
                Turn::Error(json!({"code": -32602, "message": "no such resource"}))
            } else {
                Turn::Ordinary
            }
        },
        ..PLAIN
    },
    Behaviour {
        name: "breaks-while-subscribed",
        about: "odd is answered with a reply that cannot be read, not even whose it is",
        era: "modern",
        capabilities: r#"{"tools":{"listChanged":true}}"#,
        on: |_, _| Turn::Raw(br#"{"jsonrpc":"2.0","result":{"content":[}}"#.to_vec()),
        ..PLAIN
    },
    Behaviour {
        name: "tasks",
        about: "tools that are answered with tasks; tasks/get sees --count (2) times working; --interval (30) ms between",
        era: "modern",
        at: "",
        tools: &[
            "done",
            "tool-error",
            "fails",
            "asks",
            "asks-roots",
            "cancelled",
            "for-ever",
            "no-id",
            "no-result",
            "no-requests",
            "odd-status",
            "forgotten",
            "crash",
        ],
        capabilities: r#"{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}"#,
        on: task,
        ..PLAIN
    },
];

/// Ends the call that waits.
fn end_waiting(server: &mut Server, with: &str) {
    let id = server.waiting.take();
    if !id.is_null() {
        server.send(json!({"jsonrpc": "2.0", "id": id, "result": text(with)}));
    }
}

/// The task's id is the name of its tool.
fn task(server: &mut Server, message: &Message) -> Turn {
    let interval = server.number("interval", 30);
    let state = |status: &str| {
        json!({"taskId": message.params["taskId"], "status": status, "createdAt": "2026-01-01T00:00:00Z",
            "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttlMs": 60_000, "pollIntervalMs": interval})
    };
    let with = |status: &str, member: &str, value: Value| {
        let mut state = state(status);
        state[member] = value;
        Turn::Result(state)
    };
    match message.method.as_str() {
        "tools/call" => {
            server.count = 0;
            let mut created = state("working");
            created["resultType"] = json!("task");
            created["taskId"] = if message.tool == "no-id" { Value::Null } else { json!(message.tool) };
            Turn::Result(created)
        }
        "tasks/cancel" => Turn::Result(json!({})),
        "tasks/update" => {
            server.waiting = message.params["inputResponses"].clone();
            Turn::Result(json!({}))
        }
        "tasks/get" => {
            let id = message.params["taskId"].as_str().unwrap_or_default();
            server.count += 1;
            if server.count <= server.number("count", 2) {
                return Turn::Result(state("working"));
            }
            match id {
                "done" => with("completed", "result", text("the task is done")),
                "tool-error" => {
                    let mut result = text("the tool failed");
                    result["isError"] = json!(true);
                    result["resultType"] = json!("complete");
                    with("completed", "result", result)
                }
                "fails" => with("failed", "error", json!({"code": -32000, "message": "the disk is full"})),
                "asks" | "asks-roots" if server.waiting.is_null() => {
                    let roots = json!({"method": "roots/list", "params": {}});
                    let request = if id == "asks" { form() } else { roots };
                    with("input_required", "inputRequests", json!({"q": request}))
                }
                "asks" | "asks-roots" => {
                    let answers = server.waiting.take().to_string();
                    with("completed", "result", text(&answers))
                }
                "cancelled" => Turn::Result(state("cancelled")),
                "no-result" => Turn::Result(state("completed")),
                "no-requests" => Turn::Result(state("input_required")),
                "odd-status" => Turn::Result(state("pondering")),
                "forgotten" => Turn::Error(json!({"code": -32602, "message": "no such task"})),
                "crash" => crash(3),
                _ => Turn::Result(state("working")),
            }
        }
        _ => Turn::Ordinary,
    }
}
