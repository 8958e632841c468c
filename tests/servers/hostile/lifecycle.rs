//! Faults at the start: when a server answers, `server/discover`, `initialize`.

use serde_json::{Value, json};

use super::server::{
    Behaviour, LEGACY, MODERN, Message, PLAIN, Server, Turn, abort, crash, initialize_result, line, pause, unsupported,
};

pub const TABLE: &[Behaviour] = &[
    Behaviour { name: "exit-0", about: "ends at once, status 0", start: |_| crash(0), ..PLAIN },
    Behaviour {
        name: "exit-1-stderr",
        about: "ends at once, status 1, with reasons on stderr",
        start: |_| {
            eprintln!("starting up\nfatal: cannot open the database\n  at db.connect (db.js:12)");
            crash(1)
        },
        ..PLAIN
    },
    Behaviour {
        name: "abort",
        about: "ends at once by a signal",
        start: |_| {
            eprintln!("assertion failed");
            abort()
        },
        ..PLAIN
    },
    Behaviour {
        name: "env-names-a-missing-variable",
        about: "ends with the name of the variable it needs (--variable, API_TOKEN) on stderr, unless it has it",
        start: |server| {
            let name = server.option("variable").unwrap_or("API_TOKEN");
            if std::env::var_os(name).is_none() {
                eprintln!("Error: {name} environment variable is required");
                crash(1)
            }
        },
        ..PLAIN
    },
    Behaviour {
        name: "exit-on-probe",
        about: "ends when its first request is not initialize; else as always",
        era: "legacy",
        at: "server/discover",
        on: |_, _| {
            eprintln!("expected initialize");
            crash(1)
        },
        ..PLAIN
    },
    Behaviour {
        name: "exit-on-probe-late",
        about: "reads nothing for --delay (2000) ms, then ends when its first request is not initialize",
        era: "legacy",
        at: "server/discover",
        start: |server| pause(server.number("delay", 2_000)),
        on: |_, _| {
            eprintln!("expected initialize");
            crash(1)
        },
        ..PLAIN
    },
    Behaviour {
        name: "exit-on-first-message",
        about: "ends when it is spoken to, in either era",
        at: "handshake",
        on: |_, _| {
            eprintln!("I was not made for this");
            crash(4)
        },
        ..PLAIN
    },
    Behaviour {
        name: "silent-on-discover",
        about: "does not answer server/discover",
        era: "legacy",
        at: "server/discover",
        on: |_, _| Turn::Handled,
        ..PLAIN
    },
    Behaviour {
        name: "silent-then-init-error",
        about: "does not answer server/discover, and refuses initialize",
        era: "legacy",
        at: "handshake",
        on: |_, message| match message.method.as_str() {
            "initialize" => Turn::Error(json!({"code": -32603, "message": "no licence found"})),
            _ => Turn::Handled,
        },
        ..PLAIN
    },
    Behaviour {
        name: "never-replies",
        about: "reads everything, answers nothing",
        at: "",
        on: |_, _| Turn::Handled,
        ..PLAIN
    },
    Behaviour {
        name: "slow-start",
        about: "reads nothing for --delay (13000) ms, then answers all that came",
        start: |server| pause(server.number("delay", 13_000)),
        ..PLAIN
    },
    Behaviour {
        name: "slow-handshake",
        about: "takes --delay (2000) ms for each handshake request, and answers them in order",
        at: "handshake",
        on: |server, _| {
            pause(server.number("delay", 2_000));
            Turn::Ordinary
        },
        ..PLAIN
    },
    discover("discover-empty", "{} to server/discover", |_, _| Turn::Result(json!({}))),
    discover("discover-null", "result:null to server/discover", |_, _| Turn::Result(Value::Null)),
    discover("discover-legacy-only", "a DiscoverResult with only legacy revisions", |_, _| {
        Turn::Result(json!({"supportedVersions": [LEGACY, "2025-06-18"], "capabilities": {"tools": {}}}))
    }),
    discover("discover-unknown-only", "a DiscoverResult with only revisions nobody knows", |_, _| {
        Turn::Result(json!({"supportedVersions": ["2099-01-01"], "capabilities": {"tools": {}}}))
    }),
    discover("discover-versions-string", "a DiscoverResult whose supportedVersions is a string", |_, _| {
        Turn::Result(json!({"supportedVersions": MODERN, "capabilities": {"tools": {}}}))
    }),
    discover("discover-32022-legacy", "-32022 with legacy revisions", |_, _| Turn::Error(unsupported(&[LEGACY]))),
    discover("discover-32022-nodata", "-32022 without data", |_, _| {
        Turn::Error(json!({"code": -32022, "message": "Unsupported protocol version"}))
    }),
    discover("discover-32022-unknown", "-32022 with only revisions nobody knows", |_, _| {
        Turn::Error(unsupported(&["2099-01-01"]))
    }),
    discover("discover-error-foreign-id", "an error with a foreign id to server/discover, and no more", |_, _| {
        Turn::Raw(br#"{"jsonrpc":"2.0","id":987654321,"error":{"code":-32601,"message":"Method not found"}}"#.to_vec())
    }),
    discover("discover-error-null-id", "an error with id null to server/discover", |_, _| {
        Turn::Raw(br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request"}}"#.to_vec())
    }),
    discover("discover-error-no-id", "an error without an id to server/discover", |_, _| {
        Turn::Raw(br#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid request"}}"#.to_vec())
    }),
    discover("discover-error-32603", "-32603 to server/discover", |_, _| {
        Turn::Error(json!({"code": -32603, "message": "not initialized"}))
    }),
    discover("discover-error-string", "a string as the error to server/discover", |_, _| Turn::Error(json!("what?"))),
    Behaviour {
        name: "discover-32022-once",
        about: "-32022 with 2026-07-28 to the first server/discover, a DiscoverResult to the next; modern only",
        era: "modern",
        at: "server/discover",
        on: |server, _| {
            server.count += 1;
            if server.count == 1 { Turn::Error(unsupported(&[MODERN])) } else { Turn::Ordinary }
        },
        ..PLAIN
    },
    Behaviour {
        name: "discover-32022-always",
        about: "-32022 with 2026-07-28 to every server/discover, serves the rest; modern only",
        era: "modern",
        at: "server/discover",
        on: |_, _| Turn::Error(unsupported(&[MODERN])),
        ..PLAIN
    },
    Behaviour {
        name: "discover-32021",
        about: "-32021 to every server/discover, serves the rest; modern only",
        era: "modern",
        at: "server/discover",
        on: |_, _| {
            let data = json!({"requiredCapabilities": {"elicitation": {}}});
            Turn::Error(json!({"code": -32021, "message": "Missing required client capability", "data": data}))
        },
        ..PLAIN
    },
    Behaviour {
        name: "discover-modern-among-unknown",
        about: "a DiscoverResult with unknown revisions, things that are none, and 2026-07-28; modern only",
        era: "modern",
        at: "server/discover",
        on: |_, _| {
            let versions = json!(["2099-01-01", 7, null, MODERN]);
            Turn::Result(json!({"supportedVersions": versions, "capabilities": {"tools": {}}}))
        },
        ..PLAIN
    },
    Behaviour {
        name: "discover-no-capabilities",
        about: "a DiscoverResult without capabilities; modern only",
        era: "modern",
        at: "server/discover",
        on: |_, _| Turn::Result(json!({"supportedVersions": [MODERN]})),
        ..PLAIN
    },
    Behaviour {
        name: "init-answers-32022-then-probe",
        about: "answers server/discover only after initialize, which gets -32022; modern only",
        era: "modern",
        at: "handshake",
        on: |server, message| {
            if message.method == "server/discover" && server.waiting.is_null() {
                server.waiting = message.id.clone();
                return Turn::Handled;
            }
            if message.method == "initialize" && !server.waiting.is_null() {
                server.answer(message, Turn::Error(unsupported(&[MODERN])));
                let id = server.waiting.take();
                let result = json!({"resultType": "complete", "supportedVersions": [MODERN],
                    "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private"});
                server.send(json!({"jsonrpc": "2.0", "id": id, "result": result}));
                return Turn::Handled;
            }
            Turn::Ordinary
        },
        ..PLAIN
    },
    init("init-unknown-version", "initialize answers 2099-01-01", |_, _| initialized("2099-01-01")),
    init("init-modern-version", "initialize answers 2026-07-28, which has no initialize", |_, _| initialized(MODERN)),
    init("init-2024-11-05", "initialize answers 2024-11-05", |_, _| initialized("2024-11-05")),
    init("init-2025-03-26", "initialize answers 2025-03-26", |_, _| initialized("2025-03-26")),
    init("init-2025-06-18", "initialize answers 2025-06-18", |_, _| initialized("2025-06-18")),
    init("init-version-number", "initialize answers a number as the revision", |_, _| {
        changed("protocolVersion", json!(20_251_125))
    }),
    init("init-no-version", "initialize answers without a revision", |_, _| removed("protocolVersion")),
    init("init-no-serverinfo", "initialize answers without serverInfo", |_, _| removed("serverInfo")),
    init("init-serverinfo-null", "initialize answers serverInfo:null", |_, _| changed("serverInfo", Value::Null)),
    init("init-serverinfo-odd", "initialize answers a serverInfo without version", |_, _| {
        changed("serverInfo", json!({"name": 7}))
    }),
    init("init-no-capabilities", "initialize answers without capabilities", |_, _| removed("capabilities")),
    init("init-capabilities-null", "initialize answers capabilities:null", |_, _| changed("capabilities", Value::Null)),
    init("init-capabilities-odd", "initialize answers capabilities with true and numbers in it", |_, _| {
        changed("capabilities", json!({"tools": true, "resources": null, "prompts": 1, "logging": []}))
    }),
    init("init-instructions-number", "initialize answers a number as instructions", |_, _| {
        changed("instructions", json!(42))
    }),
    init("init-empty", "initialize answers {}", |_, _| Turn::Result(json!({}))),
    init("init-null", "initialize answers result:null", |_, _| Turn::Result(Value::Null)),
    init("init-error", "initialize answers an error", |_, _| {
        Turn::Error(json!({"code": -32603, "message": "no licence found"}))
    }),
    init("init-silent", "initialize is not answered", |_, _| Turn::Handled),
    Behaviour {
        name: "requests-before-init",
        about: "ping and other requests before the handshake is answered",
        at: "handshake",
        on: |_, _| {
            line(&json!({"jsonrpc": "2.0", "id": "early-ping", "method": "ping"}));
            line(&json!({"jsonrpc": "2.0", "id": 1, "method": "roots/list"}));
            line(&json!({"jsonrpc": "2.0", "id": 2, "method": "sampling/createMessage",
                "params": {"messages": [], "maxTokens": 1}}));
            line(&json!({"jsonrpc": "2.0", "id": 3, "method": "no/such/method", "params": {}}));
            Turn::Ordinary
        },
        ..PLAIN
    },
];

/// A legacy server with an answer of its own to `server/discover`.
const fn discover(name: &'static str, about: &'static str, on: fn(&mut Server, &Message) -> Turn) -> Behaviour {
    Behaviour { name, about, on, era: "legacy", at: "server/discover", ..PLAIN }
}

/// A legacy server with an answer of its own to `initialize`.
const fn init(name: &'static str, about: &'static str, on: fn(&mut Server, &Message) -> Turn) -> Behaviour {
    Behaviour { name, about, on, era: "legacy", at: "initialize", ..PLAIN }
}

fn initialized(version: &str) -> Turn {
    Turn::Result(initialize_result(version, json!({"tools": {}})))
}

fn changed(field: &str, value: Value) -> Turn {
    let mut result = initialize_result(LEGACY, json!({"tools": {}}));
    result[field] = value;
    Turn::Result(result)
}

fn removed(field: &str) -> Turn {
    let mut result = initialize_result(LEGACY, json!({"tools": {}}));
    if let Value::Object(fields) = &mut result {
        fields.shift_remove(field);
    }
    Turn::Result(result)
}
