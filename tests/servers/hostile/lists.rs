//! Faults of lists: odd items, names, pages, cache hints, and lists that are none.

use serde_json::{Map, Value, json};

use super::server::{Behaviour, Message, PLAIN, Server, Turn, hang, tool};

type On = fn(&mut Server, &Message) -> Turn;

pub const TABLE: &[Behaviour] = &[
    list("bad-tools", "one good tool among many kinds of bad ones", |server, _| with(server, bad_tools())),
    list("odd-names", "empty, long, non-ASCII, twin and duplicate names", |server, _| with(server, odd_names())),
    list("huge-schema", "a tool whose schema has --count (20000) properties, 5 MB in all", |server, _| {
        let properties: Map<String, Value> = (0..server.number("count", 20_000))
            .map(|n| (format!("property_{n}"), json!({"type": "string", "description": "x".repeat(200)})))
            .collect();
        with(server, json!([{"name": "huge", "inputSchema": {"type": "object", "properties": properties}}]))
    }),
    list("deep-schema", "a tool whose schema is nested --count (200) deep", |server, message| {
        let depth = server.number("count", 200) as usize;
        let schema = format!("{}true{}", r#"{"not":"#.repeat(depth), "}".repeat(depth));
        Turn::Raw(
            format!(
                r#"{{"jsonrpc":"2.0","id":{},"result":{{"tools":[{},{{"name":"deep","inputSchema":{schema}}}]}}}}"#,
                message.id,
                tool("odd"),
            )
            .into_bytes(),
        )
    }),
    list("network-ref", "tools with $ref and icons that point to --url", |server, _| {
        let url = server.option("url").unwrap_or("http://127.0.0.1:9/schema.json").to_owned();
        let schema = json!({"$ref": url, "type": "object", "properties": {"a": {"$ref": url}}});
        with(
            server,
            json!([{"name": "refers", "inputSchema": schema, "outputSchema": {"$ref": url}, "icons": [{"src": url}]}]),
        )
    }),
    list("many-tools", "--count (2000) tools in one list", |server, _| {
        let many = (0..server.number("count", 2_000)).map(|n| {
            let city = json!({"type": "string", "description": "the name of a city"});
            json!({"name": format!("tool_{n}"), "description": format!("The tool with the number {n}."),
                "inputSchema": {"type": "object", "properties": {"city": city}, "required": ["city"]}})
        });
        let many = Value::Array(many.collect());
        with(server, many)
    }),
    list("tools-null", "tools:null", |_, _| Turn::Result(json!({"tools": null}))),
    list("tools-missing", "a tools/list result without tools", |_, _| Turn::Result(json!({}))),
    list("tools-object", "tools is an object", |_, _| Turn::Result(json!({"tools": {"odd": tool("odd")}}))),
    list("tools-string", "tools is a string", |_, _| Turn::Result(json!({"tools": "odd"}))),
    list("tools-result-null", "result:null to tools/list", |_, _| Turn::Result(Value::Null)),
    list("tools-result-array", "tools/list answered with the bare array", |server, _| {
        Turn::Result(json!(server.tools()))
    }),
    list("tools-empty", "no tools at all", |_, _| Turn::Result(json!({"tools": []}))),
    list("tools-list-error", "an error to tools/list", |_, _| {
        Turn::Error(json!({"code": -32603, "message": "the back end is down"}))
    }),
    list("tools-list-silent", "no answer to tools/list", |_, _| Turn::Handled),
    list("cursor-loop", "the same cursor for ever", |server, _| {
        server.count += 1;
        page(server, json!("again"))
    }),
    list("cursor-ping-pong", "two cursors that point to each other for ever", |server, _| {
        server.count += 1;
        let next = json!(if server.count.is_multiple_of(2) { "ping" } else { "pong" });
        page(server, next)
    }),
    list("cursor-empty", "three pages whose cursors are empty, odd and null", |server, message| {
        match message.params.get("cursor").and_then(Value::as_str) {
            None => with_cursor(server, json!([tool("page-1")]), json!("")),
            Some("") => with_cursor(server, json!([tool("page-2")]), json!("\u{0}\"\\é😀 ")),
            Some("\u{0}\"\\é😀 ") => with_cursor(server, json!([tool("page-3")]), Value::Null),
            Some(other) => Turn::Error(json!({"code": -32602, "message": format!("Unknown cursor: {other:?}")})),
        }
    }),
    list("cursor-1001-pages", "--count (1001) pages of one tool each", |server, message| {
        let at = message.params["cursor"].as_str().and_then(|text| text.parse().ok()).unwrap_or(1_u64);
        let next = if at < server.number("count", 1_001) { json!((at + 1).to_string()) } else { Value::Null };
        with_cursor(server, json!([tool(&format!("tool_{at}"))]), next)
    }),
    list("cursor-endless", "a new cursor and a new tool, for ever", |server, _| {
        server.count += 1;
        let next = json!(server.count.to_string());
        page(server, next)
    }),
    list("cursor-number", "a cursor that is a number", |server, _| with_cursor(server, json!([]), json!(5))),
    list("second-page-fails", "the second page is an error", |server, message| match message.params.get("cursor") {
        None => with_cursor(server, json!([tool("page-1")]), json!("2")),
        Some(_) => Turn::Error(json!({"code": -32603, "message": "page 2 is lost"})),
    }),
    list("second-page-silent", "the second page never comes", |server, message| match message.params.get("cursor") {
        None => with_cursor(server, json!([tool("page-1")]), json!("2")),
        Some(_) => hang(),
    }),
    Behaviour {
        name: "odd-cache-hints",
        about: "ttlMs negative and as text, cacheScope unknown, on all lists; modern only",
        era: "modern",
        at: "",
        capabilities: r#"{"tools":{},"resources":{}}"#,
        on: |server, message| match message.method.as_str() {
            "tools/list" => Turn::Result(json!({"tools": server.tools(), "ttlMs": -5.5, "cacheScope": "weird"})),
            "resources/list" => Turn::Result(json!({
                "resources": [{"uri": "fixture://hello", "name": "hello"}], "ttlMs": "100", "cacheScope": 7
            })),
            "resources/templates/list" => {
                Turn::Result(json!({"resourceTemplates": [], "ttlMs": null, "cacheScope": null}))
            }
            _ => Turn::Ordinary,
        },
        ..PLAIN
    },
    Behaviour { name: "no-tools-capability", about: "has tools, announces nothing", capabilities: "{}", ..PLAIN },
    Behaviour {
        name: "nothing-at-all",
        about: "announces nothing, has nothing",
        capabilities: "{}",
        ..list("", "", |_, _| Turn::Error(json!({"code": -32601, "message": "Method not found: tools/list"})))
    },
    Behaviour {
        name: "resources-only",
        about: "announces resources alone; tools/list is an error",
        capabilities: r#"{"resources":{}}"#,
        ..list("", "", |_, _| Turn::Error(json!({"code": -32601, "message": "Method not found: tools/list"})))
    },
    resources("resources-fail", "an error to resources/list", "resources/list", |_, _| {
        Turn::Error(json!({"code": -32603, "message": "the disk is gone"}))
    }),
    resources("resources-silent", "no answer to resources/list", "resources/list", |_, _| Turn::Handled),
    resources("resources-null", "resources:null", "resources/list", |_, _| Turn::Result(json!({"resources": null}))),
    resources("resources-empty", "no resources, but the capability", "resources/list", |_, _| {
        Turn::Result(json!({"resources": []}))
    }),
    resources("resources-pages", "three pages of resources and three of templates", "", |_, message| {
        let at = message.params["cursor"].as_str().map_or(1, |cursor| cursor.len() + 1);
        let next = if at < 3 { json!("x".repeat(at)) } else { Value::Null };
        match message.method.as_str() {
            "resources/list" => {
                let item = json!({"uri": format!("fixture://page/{at}"), "name": format!("page {at}")});
                Turn::Result(json!({"resources": [item], "nextCursor": next}))
            }
            "resources/templates/list" => {
                let item =
                    json!({"uriTemplate": format!("fixture://page/{at}/{{x}}"), "name": format!("template {at}")});
                Turn::Result(json!({"resourceTemplates": [item], "nextCursor": next}))
            }
            _ => Turn::Ordinary,
        }
    }),
    resources("templates-fail", "an error to resources/templates/list", "resources/templates/list", |_, _| {
        Turn::Error(json!({"code": -32601, "message": "Method not found: resources/templates/list"}))
    }),
    resources(
        "resources-odd-items",
        "resources and templates without uri, name or sense among good ones",
        "",
        |_, message| match message.method.as_str() {
            "resources/list" => Turn::Result(json!({"resources": odd_resources()})),
            "resources/templates/list" => Turn::Result(json!({"resourceTemplates": odd_templates()})),
            _ => Turn::Ordinary,
        },
    ),
    resources(
        "resource-contents-odd",
        "fixture://NAME gives odd contents: NAME is a key of the table in the source",
        "",
        |_, message| match (message.method.as_str(), message.params["uri"].as_str()) {
            ("resources/read", Some(uri)) => odd_contents(uri),
            _ => Turn::Ordinary,
        },
    ),
];

const fn list(name: &'static str, about: &'static str, on: On) -> Behaviour {
    Behaviour { name, about, on, at: "tools/list", ..PLAIN }
}

const fn resources(name: &'static str, about: &'static str, at: &'static str, on: On) -> Behaviour {
    Behaviour { name, about, at, on, capabilities: r#"{"tools":{},"resources":{}}"#, ..PLAIN }
}

fn with(server: &Server, tools: Value) -> Turn {
    with_cursor(server, tools, Value::Null)
}

/// A page: the common tools and these, but the common ones on the first page only.
fn with_cursor(server: &Server, tools: Value, next: Value) -> Turn {
    let mut all = if server.count > 1 { Vec::new() } else { server.tools() };
    if let Value::Array(own) = tools {
        all.extend(own);
    }
    Turn::Result(json!({"tools": all, "nextCursor": next}))
}

fn page(server: &Server, next: Value) -> Turn {
    with_cursor(server, json!([tool(&format!("tool_{}", server.count))]), next)
}

fn bad_tools() -> Value {
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
    json!([
        {"name": "no-schema"},
        {"name": "null-schema", "inputSchema": null},
        {"name": "true-schema", "inputSchema": true},
        {"name": "string-schema", "inputSchema": "object"},
        {"name": "array-schema", "inputSchema": []},
        {"name": "empty-schema", "inputSchema": {}},
        {"name": "no-type", "inputSchema": {"properties": {"a": {"type": "integer"}}}},
        {"name": "no-properties", "inputSchema": {"type": "object", "additionalProperties": false}},
        {"name": "array-type", "inputSchema": {"type": "array", "items": {}}},
        {"name": "array-properties", "inputSchema": {"type": "object", "properties": []}},
        {"name": "wrong-hint", "inputSchema": schema,
            "annotations": {"readOnlyHint": "yes", "destructiveHint": 0, "idempotentHint": true, "openWorldHint": null}},
        {"name": "string-annotations", "inputSchema": schema, "annotations": "none"},
        {"name": "number-title", "inputSchema": schema, "title": 7, "annotations": {"title": [], "readOnlyHint": true}},
        {"name": "number-description", "inputSchema": schema, "description": 42},
        {"name": "null-description", "inputSchema": schema, "description": null},
        {"name": "string-output-schema", "inputSchema": schema, "outputSchema": "any"},
        {"name": "odd-extras", "inputSchema": schema, "icons": "none", "_meta": 3, "execution": true, "x": {"y": []}},
        {"description": "no name", "inputSchema": schema},
        {"name": "", "inputSchema": schema},
        {"name": null, "inputSchema": schema},
        {"name": 7, "inputSchema": schema},
        {"name": {"first": "x"}, "inputSchema": schema},
        null,
        42,
        "tool",
        [],
        {},
        {"name": "echo", "description": "a second echo", "inputSchema": schema},
        {"name": "last-good", "description": "comes after all the bad ones", "inputSchema": schema,
            "annotations": {"readOnlyHint": true}}
    ])
}

fn odd_names() -> Value {
    let (long, longer, sixty_four) = ("n".repeat(180), "m".repeat(181), "s".repeat(64));
    let names = [
        "",
        " ",
        "with blank",
        "with\nline\tbreak",
        "a.b",
        "a_b",
        "a/b",
        "naïve",
        "日本語",
        "😀",
        "nul\0byte",
        "twin",
        "Twin",
        "TWIN",
        "double",
        "double",
        "__proto__",
        "-dash",
        "../../etc/passwd",
        "\"quoted\"",
        &long,
        &longer,
        &sixty_four,
    ];
    Value::Array(names.iter().map(|name| tool(name)).collect())
}

fn odd_resources() -> Value {
    json!([
        {"uri": "fixture://hello", "name": "hello", "mimeType": "text/plain", "description": "A fixed text resource."},
        {"uri": "fixture://bare", "name": "bare"},
        {"uri": "fixture://no-name"},
        {"uri": "fixture://null-name", "name": null},
        {"uri": "fixture://number-name", "name": 7, "size": "big", "mimeType": 1, "description": {}},
        {"uri": "fixture://breaks", "name": "two\nlines", "description": "first\r\nsecond\n\nthird"},
        {"uri": "not a uri", "name": "free text"},
        {"uri": "", "name": "empty uri"},
        {"name": "no uri"},
        {"uri": null, "name": "null uri"},
        {"uri": 7, "name": "number uri"},
        null,
        42,
        "fixture://string",
        [],
        {"uri": "fixture://last", "name": "last", "size": -1, "annotations": "none", "icons": 3}
    ])
}

fn odd_templates() -> Value {
    json!([
        {"uriTemplate": "fixture://greet/{name}", "name": "greet", "mimeType": "text/plain", "description": "A greeting."},
        {"uriTemplate": "fixture://no-name/{x}"},
        {"uriTemplate": "fixture://{unclosed", "name": "unclosed"},
        {"name": "no template"},
        {"uriTemplate": 7, "name": "number"},
        null
    ])
}

fn odd_contents(uri: &str) -> Turn {
    let good = json!({"uri": uri, "mimeType": "text/plain", "text": "good"});
    let contents = match uri.trim_start_matches("fixture://") {
        "several" => json!([good, {"uri": "fixture://b", "text": "second"}]),
        "blob" => json!([{"uri": uri, "mimeType": "image/png", "blob": "AAEC"}, good]),
        "blob-no-mime" => json!([{"uri": uri, "blob": "AAEC"}]),
        "bad-base64" => json!([{"uri": uri, "mimeType": "image/png", "blob": "this is not base64!"}]),
        "no-text-no-blob" => json!([{"uri": uri}, good]),
        "number-text" => json!([{"uri": uri, "text": 7}, good]),
        "no-uri" => json!([{"text": "without uri"}]),
        "items" => json!([null, 42, "text", [], good]),
        "empty" => json!([]),
        "null" => Value::Null,
        "string" => json!("text"),
        "object" => good,
        "no-contents" => return Turn::Result(json!({})),
        "result-null" => return Turn::Result(Value::Null),
        "error-string" => return Turn::Error(json!("no such thing")),
        "silent" => return Turn::Handled,
        _ => return Turn::Ordinary,
    };
    Turn::Result(json!({"contents": contents}))
}
