//! Faults in the middle of a session: results, input required, requests to the host, progress, changes.

use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use super::server::{Behaviour, Message, PLAIN, Server, Turn, line, pause, spawn, text};

type On = fn(&mut Server, &Message) -> Turn;

/// A `requestState` that an exact client gives back as it is.
const STATE: &str = "st.ate/with+special=chars \"quotes\"\n\t\u{0}é😀";

pub const TABLE: &[Behaviour] = &[
    Behaviour {
        name: "odd-content",
        about: "tools whose results are odd, each in its own way",
        tools: &[
            "type-unknown",
            "type-missing",
            "text-missing",
            "text-number",
            "text-null",
            "items-odd",
            "is-error-string",
            "is-error-false-string",
            "is-error-number",
            "is-error-no-text",
            "is-error-blank-text",
            "is-error-structured",
            "content-string",
            "content-object",
            "content-null",
            "content-missing",
            "content-empty",
            "result-null",
            "result-string",
            "result-array",
            "structured-array",
            "structured-string",
            "structured-false",
            "structured-null",
            "structured-with-text",
            "image",
            "image-bad-base64",
            "image-no-data",
            "image-no-mime",
            "audio",
            "link",
            "link-no-uri",
            "embedded-text",
            "embedded-blob",
            "embedded-empty",
            "mixed",
            "blank-texts",
            "meta-odd",
        ],
        on: |_, message| odd_content(&message.tool),
        ..PLAIN
    },
    Behaviour {
        name: "big-result",
        about: "odd {bytes} gives a text of so many bytes (--bytes, 16 MiB)",
        on: |server, message| {
            let default = server.number("bytes", 16 << 20);
            let size = message.params["arguments"]["bytes"].as_u64().unwrap_or(default) as usize;
            Turn::Result(text(&"a".repeat(size)))
        },
        ..PLAIN
    },
    call("never-answers", "odd is never answered; what else is asked is", |_, _| Turn::Handled),
    Behaviour {
        name: "answers-when-cancelled",
        about: "odd is answered only after it was cancelled",
        at: "",
        on: |server, message| match message.method.as_str() {
            "tools/call" => {
                server.waiting = message.id.clone();
                Turn::Handled
            }
            "notifications/cancelled" => {
                let id = server.waiting.take();
                server.send(json!({"jsonrpc": "2.0", "id": id, "result": text("too late")}));
                Turn::Handled
            }
            _ => Turn::Ordinary,
        },
        ..PLAIN
    },
    call("slow-call", "odd takes --delay (2000) ms, and nothing is read meanwhile", |server, _| {
        pause(server.number("delay", 2_000));
        Turn::Ordinary
    }),
    call("result-type-unknown", "odd's resultType is streaming", |_, _| {
        Turn::Result(json!({"resultType": "streaming", "content": [{"type": "text", "text": "?"}]}))
    }),
    call("result-type-number", "odd's resultType is a number", |_, _| {
        Turn::Result(json!({"resultType": 7, "content": [{"type": "text", "text": "?"}]}))
    }),
    call("task-without-extension", "odd's resultType is task, which nobody agreed on", |_, _| {
        Turn::Result(json!({"resultType": "task", "task": {"taskId": "t1", "status": "working", "ttlMs": 1000}}))
    }),
    modern("input-required-empty", "odd wants input, and says neither what nor why", |_, _| {
        Turn::Result(json!({"resultType": "input_required"}))
    }),
    modern("input-required-no-requests", "odd wants input: requests {} and no state", |_, _| {
        Turn::Result(json!({"resultType": "input_required", "inputRequests": {}}))
    }),
    modern("input-required-odd-requests", "odd wants input: requests is an array", |_, _| {
        Turn::Result(json!({"resultType": "input_required", "inputRequests": [1], "requestState": STATE}))
    }),
    modern("input-required-odd-state", "odd wants input: requestState is a number", |_, _| {
        Turn::Result(json!({"resultType": "input_required", "requestState": 7}))
    }),
    modern("input-required-unknown-method", "odd wants input by a method nobody knows", |_, _| {
        input_required(json!({"q": {"method": "no/such/method", "params": {}}}))
    }),
    modern("input-required-forever", "odd wants input by elicitation, again and again", |_, _| {
        input_required(json!({"q": form()}))
    }),
    modern("input-required-forever-state", "odd wants to be asked again with its state, for ever", |_, _| {
        Turn::Result(json!({"resultType": "input_required", "requestState": STATE}))
    }),
    modern(
        "input-required-forever-slow",
        "odd wants to be asked again with its state, after --delay (100) ms, for ever",
        |server, _| {
            pause(server.number("delay", 100));
            Turn::Result(json!({"resultType": "input_required", "requestState": STATE}))
        },
    ),
    modern(
        "input-required-once",
        "odd asks by elicitation, checks its state, and gives the answers as text",
        |_, message| answered(message, |_| input_required(json!({"q": form()}))),
    ),
    modern("input-required-state-once", "odd wants to be asked again with its state, once", |_, message| {
        answered(message, |_| Turn::Result(json!({"resultType": "input_required", "requestState": STATE})))
    }),
    modern("input-required-no-state", "odd asks without a state; the retry must have none", |_, message| match message
        .params
        .get("inputResponses")
    {
        None => Turn::Result(json!({"resultType": "input_required", "inputRequests": {"q": form()}})),
        Some(answers) if message.params.get("requestState").is_none() => Turn::Result(text(&answers.to_string())),
        Some(_) => Turn::Error(json!({"code": -32602, "message": "requestState came from nowhere"})),
    }),
    Behaviour {
        name: "input-required-on-list",
        at: "tools/list",
        ..modern("", "tools/list wants input", |_, _| input_required(json!({"q": form()})))
    },
    asks("asks-roots", "odd asks for roots", |server, message| ask(server, message, "roots/list", json!({}))),
    asks("asks-sampling", "odd asks for sampling", |server, message| {
        let messages = json!([{"role": "user", "content": {"type": "text", "text": "What is the capital of France?"}}]);
        ask(server, message, "sampling/createMessage", json!({"messages": messages, "maxTokens": 10}))
    }),
    asks("asks-elicitation", "odd asks for a form", |server, message| {
        ask(server, message, "elicitation/create", form()["params"].clone())
    }),
    asks("asks-elicitation-url", "odd asks for a URL to be opened (--url)", |server, message| {
        let url = server.option("url").unwrap_or("https://example.invalid/sign-in").to_owned();
        let params = json!({"mode": "url", "message": "Sign in", "url": url, "elicitationId": "e1"});
        ask(server, message, "elicitation/create", params)
    }),
    asks("unknown-request-method", "odd sends a request nobody knows, and gives the answer", |server, message| {
        ask(server, message, "no/such/method", json!({}))
    }),
    asks("asks-malformed", "odd asks for a form with no schema and no message", |server, message| {
        ask(server, message, "elicitation/create", json!([]))
    }),
    asks("asks-ping", "odd pings, and gives the answer", |server, message| ask(server, message, "ping", json!({}))),
    call("ping-flood", "odd makes it send pings for ever, and read nothing", |_, _| {
        let pings: String =
            (0..1000).map(|n| format!("{{\"jsonrpc\":\"2.0\",\"id\":{n},\"method\":\"ping\"}}\n")).collect();
        loop {
            super::server::raw(pings.as_bytes());
        }
    }),
    Behaviour {
        at: "",
        capabilities: r#"{"tools":{},"resources":{"subscribe":true},"prompts":{},"completions":{}}"#,
        ..call(
            "answers-requests",
            "answers prompts/get, completion/complete, odd/error and odd/silent, oddly",
            |_, message| {
                let id = &message.id;
                let raw = |rest: &str| Turn::Raw(format!(r#"{{"jsonrpc":"2.0","id":{id},{rest}}}"#).into_bytes());
                match message.method.as_str() {
                    "prompts/get" => raw(r#""result":{ "messages": [ {"role":"user"}, 1E400, 1.50 ] }"#),
                    "completion/complete" => Turn::Result(json!({"completion": {"values": ["one", "two"]}})),
                    "resources/subscribe" => Turn::Result(json!({})),
                    "odd/error" => {
                        raw(r#""error":{ "code": -32042.0, "message": "odd enough", "data": { "n": 1.50, "n": 2 } }"#)
                    }
                    "odd/silent" => Turn::Handled,
                    _ => Turn::Ordinary,
                }
            },
        )
    },
    call("server-request-modern", "odd sends requests, which 2026-07-28 has none of, and is answered", |_, _| {
        line(&json!({"jsonrpc": "2.0", "id": "q1", "method": "ping"}));
        line(&json!({"jsonrpc": "2.0", "id": "q2", "method": "roots/list"}));
        line(&json!({"jsonrpc": "2.0", "id": 1, "method": "elicitation/create", "params": form()["params"]}));
        line(&json!({"jsonrpc": "2.0", "id": 2, "method": "no/such/method"}));
        Turn::Ordinary
    }),
    call("unknown-notifications", "odd is answered after notifications nobody knows", |_, _| {
        for method in ["notifications/no/such", "no/such", "", "$/progress", "tools/list"] {
            line(&json!({"jsonrpc": "2.0", "method": method, "params": {"x": 1}}));
        }
        Turn::Ordinary
    }),
    call("malformed-notifications", "odd is answered after notifications with wrong parameters", |_, _| {
        for params in
            [Value::Null, json!(7), json!([1]), json!("x"), json!({}), json!({"progressToken": {}, "requestId": []})]
        {
            for method in [
                "progress",
                "cancelled",
                "message",
                "tools/list_changed",
                "resources/updated",
                "subscriptions/acknowledged",
            ] {
                line(&json!({"jsonrpc": "2.0", "method": format!("notifications/{method}"), "params": params}));
            }
        }
        line(&json!({"jsonrpc": "2.0", "method": 7}));
        line(&json!({"jsonrpc": "2.0", "method": null, "params": {}}));
        Turn::Ordinary
    }),
    call("cancels-our-call", "odd is answered after the server cancelled it, which is not its right", |_, message| {
        line(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": {"requestId": message.id, "reason": "no more"}}));
        Turn::Ordinary
    }),
    call(
        "progress-flood",
        "odd is answered after --count (5000) progress notifications that decrease",
        |server, message| {
            let count = server.number("count", 5_000);
            (0..count).rev().for_each(|n| progress(message, json!(n), json!(count)));
            Turn::Ordinary
        },
    ),
    call(
        "progress-odd-values",
        "odd is answered after progress that is no number, and progress of others",
        |_, message| {
            for value in [json!("half"), Value::Null, json!(-1), json!(1e300), json!([]), json!(0.5)] {
                progress(message, value, json!("all"));
            }
            foreign_progress();
            line(&json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progress": 1}}));
            Turn::Ordinary
        },
    ),
    call("progress-after-reply", "odd's progress comes after its answer", |server, message| {
        server.answer(message, Turn::Ordinary);
        progress(message, json!(1), json!(1));
        Turn::Handled
    }),
    Behaviour {
        name: "progress-foreign-token",
        about: "odd has progress of other tokens every --interval (50) ms, and an answer never",
        at: "",
        on: |server, message| until_cancelled(server, message, |_, _| foreign_progress()),
        ..PLAIN
    },
    Behaviour {
        name: "progress-forever",
        about: "odd has progress every --interval (50) ms, and an answer never",
        at: "",
        on: |server, message| {
            until_cancelled(server, message, |token, step| send_progress(token, json!(step), Value::Null))
        },
        ..PLAIN
    },
    Behaviour {
        capabilities: r#"{"tools":{"listChanged":true}}"#,
        ..call(
            "list-changed-flood",
            "odd is answered after --count (2000) notices that the tools changed",
            |server, _| {
                (0..server.number("count", 2_000))
                    .for_each(|_| server.notify("notifications/tools/list_changed", json!({})));
                Turn::Ordinary
            },
        )
    },
    Behaviour {
        at: "",
        capabilities: r#"{"tools":{"listChanged":true}}"#,
        ..call("changes-tools", "each call of odd adds a tool added-N and tells so", |server, message| {
            match message.method.as_str() {
                "tools/call" if message.tool == "odd" => {
                    server.count += 1;
                    server.notify("notifications/tools/list_changed", json!({}));
                    Turn::Ordinary
                }
                "tools/list" => {
                    let mut tools = server.tools();
                    tools.extend((1..=server.count).map(|n| super::server::tool(&format!("added-{n}"))));
                    Turn::Result(json!({"tools": tools}))
                }
                _ => Turn::Ordinary,
            }
        })
    },
    Behaviour {
        at: "tools/list",
        capabilities: r#"{"tools":{"listChanged":true}}"#,
        ..call("list-changed-always", "tells after each tools/list that the tools changed", |server, message| {
            server.answer(message, Turn::Ordinary);
            server.notify("notifications/tools/list_changed", json!({}));
            Turn::Handled
        })
    },
];

const fn call(name: &'static str, about: &'static str, on: On) -> Behaviour {
    Behaviour { name, about, on, ..PLAIN }
}

const fn modern(name: &'static str, about: &'static str, on: On) -> Behaviour {
    Behaviour { name, about, on, era: "modern", ..PLAIN }
}

/// Asks the host for something in the middle of a call of `odd`, whose text then is the answer, as it came.
const fn asks(name: &'static str, about: &'static str, on: On) -> Behaviour {
    Behaviour { name, about, on, at: "", ..PLAIN }
}

/// The argument `params` of the call, if it is there, is asked instead.
pub fn ask(server: &mut Server, message: &Message, method: &str, params: Value) -> Turn {
    let params = message.params["arguments"].get("params").cloned().unwrap_or(params);
    if message.method.is_empty() && message.id == "ask" {
        let id = server.waiting.take();
        server.send(json!({"jsonrpc": "2.0", "id": id, "result": text(&message.line)}));
        return Turn::Handled;
    }
    match (message.method.as_str(), message.modern) {
        ("tools/call", true) => {
            answered(message, |_| input_required(json!({"q": {"method": method, "params": params}})))
        }
        ("tools/call", false) => {
            server.waiting = message.id.clone();
            line(&json!({"jsonrpc": "2.0", "id": "ask", "method": method, "params": params}));
            Turn::Handled
        }
        _ => Turn::Ordinary,
    }
}

pub fn form() -> Value {
    json!({"method": "elicitation/create", "params": {"mode": "form", "message": "Go on?", "requestedSchema": {
        "type": "object",
        "properties": {"confirmed": {"type": "boolean", "default": true}}
    }}})
}

pub fn input_required(requests: Value) -> Turn {
    Turn::Result(json!({"resultType": "input_required", "inputRequests": requests, "requestState": STATE}))
}

/// A second round: the answers as text if the state came back as it was. `first` is what the first round gives.
pub fn answered(message: &Message, first: impl FnOnce(&Message) -> Turn) -> Turn {
    match message.params.get("requestState") {
        None => first(message),
        Some(state) if *state == STATE => {
            Turn::Result(text(&message.params.get("inputResponses").cloned().unwrap_or_default().to_string()))
        }
        Some(state) => Turn::Error(json!({"code": -32602, "message": format!("requestState was changed: {state}")})),
    }
}

fn progress(message: &Message, progress: Value, total: Value) {
    send_progress(&message.params["_meta"]["progressToken"], progress, total);
}

fn foreign_progress() {
    for token in [json!("nobody's"), json!(987_654_321), Value::Null] {
        send_progress(&token, json!(1), json!(2));
    }
}

fn send_progress(token: &Value, progress: Value, total: Value) {
    let mut params = json!({"progressToken": token, "progress": progress});
    if !total.is_null() {
        params["total"] = total;
    }
    line(&json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}));
}

/// Answers a call by `work` again and again, beside the session, until it is cancelled. `work` is told the call's token
/// and how often it was done.
fn until_cancelled(server: &mut Server, message: &Message, work: fn(&Value, u64)) -> Turn {
    match message.method.as_str() {
        "tools/call" => {
            let cancelled = server.cancelled.clone();
            cancelled.store(false, Ordering::Relaxed);
            let token = message.params["_meta"]["progressToken"].clone();
            let interval = server.number("interval", 50);
            spawn(move || {
                for step in 1.. {
                    if cancelled.load(Ordering::Relaxed) {
                        break;
                    }
                    work(&token, step);
                    pause(interval);
                }
            });
            Turn::Handled
        }
        "notifications/cancelled" => {
            server.cancelled.store(true, Ordering::Relaxed);
            Turn::Handled
        }
        _ => Turn::Ordinary,
    }
}

fn odd_content(tool: &str) -> Turn {
    let good = json!({"type": "text", "text": "good"});
    let image = json!({"type": "image", "data": "AAEC", "mimeType": "image/png"});
    let embedded = |resource: Value| json!({"type": "resource", "resource": resource});
    let content = match tool {
        "type-unknown" => json!([{"type": "hologram", "data": [1, 2]}, good]),
        "type-missing" => json!([{"text": "no type"}, good]),
        "text-missing" => json!([{"type": "text"}, good]),
        "text-number" => json!([{"type": "text", "text": 7}, good]),
        "text-null" => json!([{"type": "text", "text": null}, good]),
        "items-odd" => json!([null, 42, "text", [], {}, good]),
        "content-string" => json!("just text"),
        "content-object" => good,
        "content-null" => Value::Null,
        "content-empty" => json!([]),
        "image" => json!([image]),
        "image-bad-base64" => json!([{"type": "image", "data": "this is not base64!", "mimeType": "image/png"}]),
        "image-no-data" => json!([{"type": "image", "mimeType": "image/png"}, good]),
        "image-no-mime" => json!([{"type": "image", "data": "AAEC"}]),
        "audio" => json!([{"type": "audio", "data": "AAEC", "mimeType": "audio/wav"}]),
        "link" => {
            json!([{"type": "resource_link", "uri": "file:///a/b.txt", "name": "b.txt", "mimeType": "text/plain"}])
        }
        "link-no-uri" => json!([{"type": "resource_link", "name": "b.txt"}, good]),
        "embedded-text" => {
            json!([good, embedded(json!({"uri": "file:///a", "mimeType": "text/plain", "text": "embedded"}))])
        }
        "embedded-blob" => json!([embedded(json!({"uri": "file:///a", "blob": "AAEC"}))]),
        "embedded-empty" => json!([embedded(json!({"uri": "file:///a"})), {"type": "resource"}, good]),
        "mixed" => {
            json!([good, image, {"type": "text", "text": "second"}, {"type": "resource_link", "uri": "file:///a", "name": "a"}])
        }
        "blank-texts" => json!([{"type": "text", "text": ""}, {"type": "text", "text": " \n"}]),
        other => return odd_result(other),
    };
    Turn::Result(json!({"content": content}))
}

fn odd_result(tool: &str) -> Turn {
    let good = json!([{"type": "text", "text": "good"}]);
    Turn::Result(match tool {
        "is-error-string" => json!({"content": good, "isError": "true"}),
        "is-error-false-string" => json!({"content": good, "isError": "false"}),
        "is-error-number" => json!({"content": good, "isError": 1}),
        "is-error-no-text" => json!({"content": [], "isError": true}),
        "is-error-blank-text" => json!({"content": [{"type": "text", "text": " "}], "isError": true}),
        "is-error-structured" => json!({"structuredContent": {"why": "broken"}, "isError": true}),
        "content-missing" => json!({}),
        "result-null" => Value::Null,
        "result-string" => json!("just text"),
        "result-array" => good,
        "structured-array" => json!({"content": good, "structuredContent": [1, 2, 3]}),
        "structured-string" => json!({"content": good, "structuredContent": "text"}),
        "structured-false" => json!({"content": good, "structuredContent": false}),
        "structured-null" => json!({"content": good, "structuredContent": null}),
        "structured-with-text" => json!({"content": good, "structuredContent": {"a": [1, {"b": "c d"}]}}),
        "meta-odd" => json!({"content": good, "_meta": 7, "unknown": {"x": 1}}),
        _ => return Turn::Ordinary,
    })
}
