//! Faults of sessions and of notifications.

use std::io;

use serde_json::json;

use super::http::{Answer, Exchange};
use super::{Behaviour, PLAIN, Turn, canned, hook};

const LOST: &str = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}"#;
const JSON: &str = "Content-Type: application/json\r\n";

pub const TABLE: &[Behaviour] = &[
    legacy(hook("session-lost", "the first call of odd finds its session gone, with 404", |exchange| {
        if exchange.hit == 0 {
            exchange.site.sessions.lock().clear();
        }
        Ok(Turn::Ordinary)
    })),
    legacy(hook(
        "session-lost-400",
        "the first call of odd finds its session gone, with a 400 that says so",
        |exchange| {
            if exchange.hit > 0 {
                return Ok(Turn::Ordinary);
            }
            exchange.site.sessions.lock().clear();
            let error = json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32000, "message": "Bad Request: No valid session ID provided"}});
            exchange.answer(&Answer::json("400 Bad Request", &error))
        },
    )),
    legacy(canned("session-lost-always", "no call of odd ever finds its session", "404 Not Found", JSON, LOST)),
    legacy(hook("session-lost-html", "the first call of odd gets 404 with a page", |exchange| match exchange.hit {
        0 => {
            exchange.site.sessions.lock().clear();
            exchange.answer(&Answer::new("404 Not Found", "Content-Type: text/html\r\n", "<html>404</html>"))
        }
        _ => Ok(Turn::Ordinary),
    })),
    session_id("session-id-blank", "a session id with a blank in it", "a b"),
    session_id("session-id-bytes", "a session id with bytes beyond ASCII", "caf\u{e9}"),
    session_id("session-id-empty", "an empty session id", ""),
    session_id(
        "session-id-odd",
        "a session id of all visible characters",
        "!\"#$%&'()*+,-./0123456789:;<=>?@[\\]^_`{|}~",
    ),
    legacy(hook("session-id-long", "a session id of 4000 characters", |exchange| {
        exchange.with_session_id(&"x".repeat(4_000))
    }))
    .at("initialize"),
    legacy(hook("session-id-changes", "another session id with every answer", |exchange| {
        let mut answer = exchange.whole();
        if exchange.place != "initialize" {
            answer.headers += &format!("Mcp-Session-Id: other-{}\r\n", exchange.hit);
        }
        exchange.answer(&answer)
    }))
    .at(""),
    // -- notifications --
    legacy(canned("initialized-500", "500 to notifications/initialized", "500 Internal Server Error", "", "oops"))
        .at("notifications/initialized"),
    legacy(canned("initialized-200", "200 and nothing to notifications/initialized", "200 OK", JSON, ""))
        .at("notifications/initialized"),
    legacy(canned("initialized-204", "204 to notifications/initialized", "204 No Content", "", ""))
        .at("notifications/initialized"),
    legacy(canned(
        "initialized-html",
        "200 and a page to notifications/initialized",
        "200 OK",
        "Content-Type: text/html\r\n",
        "<html>",
    ))
    .at("notifications/initialized"),
    legacy(canned(
        "initialized-error",
        "400 with a JSON-RPC error to notifications/initialized",
        "400 Bad Request",
        JSON,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"what is that?"}}"#,
    ))
    .at("notifications/initialized"),
    legacy(hook("initialized-stalls", "no answer to notifications/initialized", |exchange| exchange.hold()))
        .at("notifications/initialized"),
    legacy(hook("initialized-resets", "a reset to notifications/initialized", |_| Ok(Turn::Reset)))
        .at("notifications/initialized"),
    // -- the end --
    legacy(canned("delete-405", "405 to DELETE", "405 Method Not Allowed", "", "")).at("DELETE"),
    legacy(canned("delete-500", "500 to DELETE", "500 Internal Server Error", "", "")).at("DELETE"),
    legacy(hook("delete-stalls", "no answer to DELETE", |exchange| exchange.hold())).at("DELETE"),
];

const fn legacy(behaviour: Behaviour) -> Behaviour {
    behaviour.legacy()
}

const fn session_id(name: &'static str, about: &'static str, id: &'static str) -> Behaviour {
    let says = super::Canned { status: "", headers: "", body: id };
    Behaviour {
        name,
        about,
        era: "legacy",
        at: "initialize",
        on: |exchange| exchange.with_session_id(exchange.site.behaviour.says.body),
        says,
        ..PLAIN
    }
}

impl Exchange<'_> {
    /// The ordinary answer to `initialize`, with another id for its session.
    fn with_session_id(&mut self, id: &str) -> io::Result<Turn> {
        let mut answer = self.whole();
        let mut sessions = self.site.sessions.lock();
        let Some(own) = sessions.keys().find(|key| answer.headers.contains(key.as_str())).cloned() else {
            return self.answer(&answer);
        };
        if let Some(session) = sessions.remove(&own) {
            sessions.insert(id.to_owned(), session);
        }
        answer.headers = answer.headers.replace(&own, id);
        self.answer(&answer)
    }
}
