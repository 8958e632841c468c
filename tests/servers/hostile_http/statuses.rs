//! Answers that are whole, but wrong: status, type, body, challenges, redirects. All by default to a call of `odd`.

use super::http::Answer;
use super::{Behaviour, Turn, canned, hook};

const JSON: &str = "Content-Type: application/json\r\n";
const HTML: &str = "Content-Type: text/html; charset=utf-8\r\n";
const TEXT: &str = "Content-Type: text/plain\r\n";
const PAGE: &str =
    "<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body><h1>Welcome back</h1></body></html>\n";
const GOOD: &str =
    r#"{"jsonrpc":"2.0","id":{id},"result":{"resultType":"complete","content":[{"type":"text","text":"called odd"}]}}"#;

const ARRAY: &str = r#"[{"jsonrpc":"2.0","id":{id},"result":{"resultType":"complete","content":[{"type":"text","text":"called odd"}]}}]"#;
const EVENT: &str = concat!(
    "event: message\ndata: ",
    r#"{"jsonrpc":"2.0","id":{id},"result":{"resultType":"complete","content":[{"type":"text","text":"called odd"}]}}"#,
    "\n\n"
);
const NOISE: &str = "\u{1b}[31mthe database\u{0} is gone\u{1b}[0m\r\n\tat line 1\u{7}\u{9b}1m\u{202e}";

pub const TABLE: &[Behaviour] = &[
    // -- authorization --
    canned("401-bare", "401 without a challenge", "401 Unauthorized", "", ""),
    canned(
        "401-bearer",
        "401 with a Bearer challenge that names its metadata",
        "401 Unauthorized",
        "WWW-Authenticate: Bearer realm=\"mcp\", error=\"invalid_token\", resource_metadata=\"{origin}/.well-known/oauth-protected-resource/mcp\", scope=\"mcp:basic\"\r\n",
        r#"{"error":"invalid_token"}"#,
    ),
    canned(
        "401-basic",
        "401 with a Basic challenge",
        "401 Unauthorized",
        "WWW-Authenticate: Basic realm=\"staff\"\r\n",
        "",
    ),
    canned(
        "401-odd-challenge",
        "401 with a challenge that cannot be read",
        "401 Unauthorized",
        "WWW-Authenticate: =,\"Bear\\\r\nWWW-Authenticate: \r\n",
        PAGE,
    ),
    canned("403-plain", "403 with a reason as text", "403 Forbidden", TEXT, "your plan does not include this\n"),
    canned(
        "403-scope",
        "403 that wants another scope",
        "403 Forbidden",
        "WWW-Authenticate: Bearer error=\"insufficient_scope\", scope=\"mcp:write\"\r\n",
        "",
    ),
    canned(
        "407-proxy",
        "407, as a proxy says",
        "407 Proxy Authentication Required",
        "Proxy-Authenticate: Basic\r\n",
        "",
    ),
    // -- 2xx that are no answer --
    canned("html-200", "200 and a page to sign in", "200 OK", HTML, PAGE),
    canned("text-200", "200 and a text", "200 OK", TEXT, "pong\n"),
    canned("empty-200", "200 and nothing, as JSON", "200 OK", JSON, ""),
    canned("nothing-200", "200 and nothing, of no type", "200 OK", "", ""),
    canned("202-to-request", "202 to a request", "202 Accepted", "", ""),
    canned("204-to-request", "204 to a request", "204 No Content", "", ""),
    canned("206-partial", "206 with a good reply", "206 Partial Content", JSON, GOOD),
    canned(
        "wrong-id",
        "a reply to another id",
        "200 OK",
        JSON,
        r#"{"jsonrpc":"2.0","id":987654321,"result":{"content":[]}}"#,
    ),
    canned("no-id", "a result without an id", "200 OK", JSON, r#"{"jsonrpc":"2.0","result":{"content":[]}}"#),
    canned("json-scalar", "42", "200 OK", JSON, "42"),
    canned("json-empty-array", "[]", "200 OK", JSON, "[]"),
    canned("json-empty-object", "{}", "200 OK", JSON, "{}"),
    canned("json-array", "the reply in an array", "200 OK", JSON, ARRAY),
    canned(
        "json-cut",
        "half a reply",
        "200 OK",
        JSON,
        r#"{"jsonrpc":"2.0","id":{id},"result":{"content":[{"type":"te"#,
    ),
    canned(
        "json-request",
        "a request where a reply should be",
        "200 OK",
        JSON,
        r#"{"jsonrpc":"2.0","id":{id},"method":"ping"}"#,
    ),
    canned(
        "json-notification",
        "a notification where a reply should be",
        "200 OK",
        JSON,
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}"#,
    ),
    canned(
        "json-not-jsonrpc",
        "an error of a gateway's own kind",
        "200 OK",
        JSON,
        r#"{"message":"upstream request timeout","code":504}"#,
    ),
    // -- types --
    canned(
        "type-charset",
        "a type with a charset, in upper case",
        "200 OK",
        "CONTENT-TYPE: Application/JSON; Charset=UTF-8\r\n",
        GOOD,
    ),
    canned("type-missing", "a good reply of no type", "200 OK", "", GOOD),
    canned("type-text", "a good reply as text/plain", "200 OK", TEXT, GOOD),
    canned("type-html", "a good reply as text/html", "200 OK", HTML, GOOD),
    canned(
        "type-jsonrpc",
        "a good reply as application/json-rpc",
        "200 OK",
        "Content-Type: application/json-rpc\r\n",
        GOOD,
    ),
    canned(
        "type-octets",
        "a good reply as application/octet-stream",
        "200 OK",
        "Content-Type: application/octet-stream\r\n",
        GOOD,
    ),
    canned(
        "type-sse-charset",
        "a good reply as events, type in upper case",
        "200 OK",
        "Content-Type: Text/Event-Stream;charset=utf-8\r\n",
        EVENT,
    ),
    canned("type-json-holds-sse", "events that are called JSON", "200 OK", JSON, EVENT),
    canned("type-sse-holds-json", "JSON that is called events", "200 OK", "Content-Type: text/event-stream\r\n", GOOD),
    canned(
        "pretty-json",
        "a good reply over several lines, with a byte order mark",
        "200 OK",
        JSON,
        "\u{feff}{\r\n  \"jsonrpc\": \"2.0\",\n\n  \"id\": {id},\n\t\"result\": {\n \"resultType\": \"complete\", \"content\": [{\"type\": \"text\", \"text\": \"called odd\"}]\n}\n}\n\n",
    ),
    // -- errors --
    canned("400-text", "400 with a text", "400 Bad Request", TEXT, "I do not like this"),
    canned(
        "400-json-error",
        "400 with a JSON-RPC error",
        "400 Bad Request",
        JSON,
        r#"{"jsonrpc":"2.0","id":{id},"error":{"code":-32602,"message":"no such city","data":{"n":1.50}}}"#,
    ),
    canned(
        "400-json-error-null-id",
        "400 with a JSON-RPC error whose id is null",
        "400 Bad Request",
        JSON,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no such city"}}"#,
    ),
    canned("404-html", "404 with a page", "404 Not Found", HTML, "<html><body>404: nothing here</body></html>"),
    canned("404-empty", "404 with nothing", "404 Not Found", "", ""),
    canned(
        "404-method",
        "404 with -32601, as 2026-07-28 says of methods",
        "404 Not Found",
        JSON,
        r#"{"jsonrpc":"2.0","id":{id},"error":{"code":-32601,"message":"Method not found: odd"}}"#,
    ),
    canned(
        "405-html",
        "405 with a page",
        "405 Method Not Allowed",
        "Allow: GET\r\nContent-Type: text/html\r\n",
        "<html>405</html>",
    ),
    canned("406-empty", "406 with nothing", "406 Not Acceptable", "", ""),
    canned("413-empty", "413 with nothing", "413 Content Too Large", "", ""),
    hook("405-then-401", "405 to POST, 401 to GET: it speaks the old transport with those that it knows", |exchange| {
        match exchange.place.as_str() {
            "GET" => exchange.answer(&Answer::new("401 Unauthorized", "WWW-Authenticate: Bearer\r\n", "")),
            _ => exchange.answer(&Answer::new("405 Method Not Allowed", "Allow: GET\r\n", "")),
        }
    })
    .at(""),
    canned("429", "429 with a text", "429 Too Many Requests", TEXT, "slow down"),
    canned("429-retry-after", "429 with Retry-After: 1", "429 Too Many Requests", "Retry-After: 1\r\n", ""),
    canned(
        "429-retry-after-long",
        "429 with Retry-After: 86400",
        "429 Too Many Requests",
        "Retry-After: 86400\r\n",
        "",
    ),
    canned(
        "503-retry-after-date",
        "503 with a date in the past as Retry-After",
        "503 Service Unavailable",
        "Retry-After: Wed, 21 Oct 2015 07:28:00 GMT\r\n",
        "",
    ),
    canned(
        "503-retry-after-odd",
        "503 with nonsense as Retry-After",
        "503 Service Unavailable",
        "Retry-After: soon\r\n",
        "",
    ),
    canned("500", "500 with a text", "500 Internal Server Error", TEXT, "the database is gone"),
    canned(
        "500-json-error",
        "500 with a JSON-RPC error",
        "500 Internal Server Error",
        JSON,
        r#"{"jsonrpc":"2.0","id":{id},"error":{"code":-32603,"message":"the database is gone"}}"#,
    ),
    canned(
        "500-control-chars",
        "500 with control characters, bytes that are no UTF-8 and a long text",
        "500 Internal Server Error",
        TEXT,
        NOISE,
    ),
    canned(
        "502",
        "502 with a page",
        "502 Bad Gateway",
        HTML,
        "<html><head><title>502 Bad Gateway</title></head></html>",
    ),
    canned("503", "503 with nothing", "503 Service Unavailable", "", ""),
    canned("504", "504 with nothing", "504 Gateway Timeout", "", ""),
    canned("599-odd", "599 without a reason phrase", "599", "", ""),
    hook("500-long-page", "500 with a page of --bytes (1 MiB)", |exchange| {
        let bytes = exchange.site.number("bytes", 1 << 20) as usize;
        let mut answer = exchange.canned();
        (answer.status, answer.headers) = ("500 Internal Server Error".to_owned(), HTML.to_owned());
        answer.body = b"<html>the database is gone ".to_vec();
        answer.body.resize(bytes, b'x');
        // A client that has seen enough may go.
        exchange.answer(&answer)
    }),
    // -- redirects --
    canned(
        "redirect-307",
        "307 to the same origin, once",
        "307 Temporary Redirect",
        "Location: {origin}/moved\r\n",
        "",
    )
    .once_per_path(),
    canned(
        "redirect-308-relative",
        "308 to a relative path, once",
        "308 Permanent Redirect",
        "Location: /moved?x=1\r\n",
        "moved",
    )
    .once_per_path(),
    canned("redirect-cross-307", "307 to --to, another origin", "307 Temporary Redirect", "Location: {to}\r\n", ""),
    canned("redirect-cross-308", "308 to --to, another origin", "308 Permanent Redirect", "Location: {to}\r\n", ""),
    canned("redirect-301", "301 to the same origin", "301 Moved Permanently", "Location: {origin}/moved\r\n", ""),
    canned("redirect-302", "302 to a page to sign in", "302 Found", "Location: {origin}/login\r\n", ""),
    canned("redirect-303", "303 to the same origin", "303 See Other", "Location: {origin}/moved\r\n", ""),
    canned("redirect-loop", "307 to itself, for ever", "307 Temporary Redirect", "Location: /mcp\r\n", ""),
    canned("redirect-nowhere", "307 without a Location", "307 Temporary Redirect", "", ""),
    canned("redirect-odd", "307 to what is no URL", "307 Temporary Redirect", "Location: http://[oops\r\n", ""),
    canned("redirect-scheme", "307 to a file", "307 Temporary Redirect", "Location: file:///etc/passwd\r\n", ""),
];

impl Behaviour {
    /// What was moved is not moved again.
    const fn once_per_path(self) -> Behaviour {
        Behaviour {
            on: |exchange| match exchange.request.path.starts_with("/moved") {
                true => Ok(Turn::Ordinary),
                false => exchange.answer(&exchange.canned()),
            },
            ..self
        }
    }
}
