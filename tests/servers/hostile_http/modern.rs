//! Headers and errors of 2026-07-28.

use serde_json::{Value, json};

use super::http::{Answer, Exchange};
use super::plain::decoded;
use super::stdio::server::{self as messages, Turn as Said};
use super::{Behaviour, Turn, canned, hook};

const JSON: &str = "Content-Type: application/json\r\n";

/// From the second `tools/list` on, `odd` wants `region` in a header too.
const DRIFTS: &messages::Behaviour = &messages::Behaviour {
    at: "tools/list",
    on: |server, _| {
        server.count += 1;
        let mut tools = server.tools();
        tools.retain(|tool| tool["name"] != "odd");
        tools.push(if server.count == 1 { messages::tool("odd") } else { with_header(json!("Region")) });
        Said::Result(json!({"tools": tools}))
    },
    ..messages::PLAIN
};

/// Tools whose annotations are right and wrong.
const ANNOTATED: &messages::Behaviour = &messages::Behaviour {
    at: "tools/list",
    on: |server, _| {
        let mut tools = server.tools();
        tools.retain(|tool| tool["name"] != "odd");
        tools.push(with_header(json!("Region")));
        for (name, annotation) in [
            ("blank", json!("My Region")),
            ("empty", json!("")),
            ("number", json!(7)),
            ("break", json!("a\r\nX-Evil: 1")),
        ] {
            let mut tool = with_header(annotation);
            tool["name"] = json!(name);
            tools.push(tool);
        }
        Said::Result(json!({"tools": tools}))
    },
    ..messages::PLAIN
};

pub const TABLE: &[Behaviour] = &[
    hook("x-mcp-header-drifts", "odd wants Mcp-Param-Region, which only the second list says", wants_region).modern().with(DRIFTS),
    hook("x-mcp-header-tools", "odd wants Mcp-Param-Region; beside it tools with wrong annotations", wants_region).modern().with(ANNOTATED),
    canned("mismatch-always", "-32020 to every call of odd", "400 Bad Request", JSON, r#"{"jsonrpc":"2.0","id":{id},"error":{"code":-32020,"message":"Header mismatch: the moon is wrong"}}"#).modern(),
    canned("capability-missing", "-32021 to every call of odd", "400 Bad Request", JSON, r#"{"jsonrpc":"2.0","id":{id},"error":{"code":-32021,"message":"Missing required client capability","data":{"requiredCapabilities":{"sampling":{}}}}}"#).modern(),
    canned("version-unsupported", "-32022 to every call of odd, with 2026-07-28 in its list", "400 Bad Request", JSON, r#"{"jsonrpc":"2.0","id":{id},"error":{"code":-32022,"message":"Unsupported protocol version","data":{"supported":["2026-07-28"]}}}"#).modern(),
    canned("version-unsupported-unknown", "-32022 to every call of odd, with only unknown revisions", "400 Bad Request", JSON, r#"{"jsonrpc":"2.0","id":{id},"error":{"code":-32022,"message":"Unsupported protocol version","data":{"supported":["2099-01-01"]}}}"#).modern(),
    canned("error-200", "-32601 with 200 to a call of odd", "200 OK", JSON, r#"{"jsonrpc":"2.0","id":{id},"error":{"code":-32601,"message":"Method not found"}}"#).modern(),
    hook("session-id-modern", "a session id with every answer, which 2026-07-28 has none of", |exchange| {
        let mut answer = exchange.whole();
        answer.headers += "Mcp-Session-Id: nobody\r\n";
        exchange.answer(&answer)
    })
    .modern()
    .at(""),
];

fn with_header(annotation: Value) -> Value {
    let region = json!({"type": "string", "x-mcp-header": annotation});
    json!({"name": "odd", "inputSchema": {"type": "object", "properties": {"region": region, "n": {"type": "integer"}}}})
}

fn wants_region(exchange: &mut Exchange) -> std::io::Result<Turn> {
    let region = exchange.message["params"]["arguments"].get("region").and_then(Value::as_str);
    let header = exchange.request.header("mcp-param-region").map(decoded);
    if region == header.as_deref() {
        return Ok(Turn::Ordinary);
    }
    let message = format!("Header mismatch: Mcp-Param-Region is {header:?}, the body says {region:?}");
    let error = json!({"jsonrpc": "2.0", "id": exchange.id(), "error": {"code": -32020, "message": message}});
    exchange.answer(&Answer::json("400 Bad Request", &error))
}
