//! Faults of bytes, lines, envelopes and error objects.

use serde_json::{Value, json};

use super::server::{Behaviour, Message, PLAIN, Turn, crash, line, raw, text};

/// Lines that are no messages. None of them may be answered, and none may disturb what is under way.
const NOISE: &[u8] = b"\n   \n[]\n[1,2]\n42\nnull\ntrue\n{}\n\"text\"\n\x1b[32mready\x1b[0m\nINFO: listening\n\
    {not json\n{\"level\":\"info\",\"error\":null}\n\x00\n";

pub const TABLE: &[Behaviour] = &[
    Behaviour { ..PLAIN },
    Behaviour {
        name: "noise-lines",
        about: "blank lines, log lines, colours, scalars, [], {} before everything it says",
        start: |_| raw(NOISE),
        write: |_, message| {
            raw(NOISE);
            line(&message);
        },
        ..PLAIN
    },
    Behaviour {
        name: "prefixed-lines",
        about: "a log prefix on the very line of each reply, which makes noise of it",
        write: |_, message| raw(format!("[server] {message}\n").as_bytes()),
        ..PLAIN
    },
    Behaviour {
        name: "invalid-utf8",
        about: "odd gives a text with bytes that are no UTF-8",
        on: |_, message| {
            let mut reply = reply_head(message, r#""result":{"content":[{"type":"text","text":"caf"#);
            reply.extend_from_slice(b"\xe9 \xff\xfe!\"}]}}");
            Turn::Raw(reply)
        },
        ..PLAIN
    },
    Behaviour {
        name: "bom-crlf",
        about: "a byte order mark first, and every line ends with CR LF",
        start: |_| raw(b"\xef\xbb\xbf"),
        write: |_, message| raw(format!("{message}\r\n").as_bytes()),
        ..PLAIN
    },
    Behaviour {
        name: "seven-byte-writes",
        about: "writes seven bytes at a time",
        write: |_, message| format!("{message}\n").as_bytes().chunks(7).for_each(raw),
        ..PLAIN
    },
    Behaviour {
        name: "environment-in-stdout",
        about: "writes the value of --variable (API_TOKEN) to stdout, and answers nothing: a secret that must be masked",
        at: "",
        start: |server| {
            let value = std::env::var(server.option("variable").unwrap_or("API_TOKEN")).unwrap_or_default();
            raw(format!("signed in with {value}\n").as_bytes());
        },
        on: |_, _| Turn::Handled,
        ..PLAIN
    },
    Behaviour {
        name: "pretty-printed",
        about: "every reply over several lines",
        write: |_, message| raw(format!("{message:#}\n").as_bytes()),
        ..PLAIN
    },
    Behaviour {
        name: "no-jsonrpc",
        about: "no jsonrpc member in any reply",
        write: |_, message| line(&without(message, "jsonrpc")),
        ..PLAIN
    },
    Behaviour {
        name: "no-final-newline",
        about: "odd answers without a line break and exits",
        on: |_, message| {
            raw(&[reply_head(message, r#""result":"#), text("last words").to_string().into_bytes(), b"}".to_vec()]
                .concat());
            crash(0)
        },
        ..PLAIN
    },
    Behaviour {
        name: "endless-line",
        about: "one line of x for ever instead of the first reply",
        at: "handshake",
        on: |_, _| endless(b""),
        ..PLAIN
    },
    Behaviour {
        name: "endless-reply",
        about: "odd is answered by a reply that never ends",
        on: |_, message| endless(&reply_head(message, r#""result":{"content":[{"type":"text","text":""#)),
        ..PLAIN
    },
    Behaviour {
        name: "reply-over-limit",
        about: "odd gives a text of --bytes (65 MiB)",
        on: |server, message| {
            let size = server.number("bytes", 65 << 20) as usize;
            let mut reply = reply_head(message, r#""result":{"content":[{"type":"text","text":""#);
            reply.resize(reply.len() + size, b'a');
            reply.extend_from_slice(b"\"}]}}");
            Turn::Raw(reply)
        },
        ..PLAIN
    },
    Behaviour {
        name: "notification-over-limit",
        about: "odd is answered after a notification of --bytes (65 MiB)",
        on: |server, _| {
            raw(br#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":""#);
            raw(&vec![b'a'; server.number("bytes", 65 << 20) as usize]);
            raw(b"\"}}\n");
            Turn::Ordinary
        },
        ..PLAIN
    },
    Behaviour {
        name: "broken-reply-cut",
        about: "odd is answered by half a reply, its id at the start",
        on: |_, message| Turn::Raw(reply_head(message, r#""result":{"content":[{"type":"text","text":"hal"#)),
        ..PLAIN
    },
    Behaviour {
        name: "broken-reply-no-id",
        about: "odd is answered by half a reply that has no id",
        on: |_, _| Turn::Raw(br#"{"jsonrpc":"2.0","result":{"content":[{"type":"text","text":"hal"#.to_vec()),
        ..PLAIN
    },
    Behaviour {
        name: "broken-reply-late-id",
        about: "odd is answered by a broken reply whose id stands after 300 bytes",
        on: |_, message| {
            let filler = "a".repeat(300);
            Turn::Raw(
                format!(r#"{{"jsonrpc":"2.0","result":{{"filler":"{filler}"],"id":{}}}"#, message.id).into_bytes(),
            )
        },
        ..PLAIN
    },
    Behaviour {
        name: "broken-reply-foreign-id",
        about: "odd is answered by half a reply to an id nobody used, and then properly",
        on: |_, _| {
            raw(b"{\"jsonrpc\":\"2.0\",\"id\":987654321,\"result\":{\"content\":[\n");
            Turn::Ordinary
        },
        ..PLAIN
    },
    Behaviour {
        name: "broken-notification",
        about: "odd is answered properly after half a notification, which is noise",
        on: |_, _| {
            raw(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"result\":\n");
            Turn::Ordinary
        },
        ..PLAIN
    },
    Behaviour {
        name: "unparsable-raw-control-char",
        about: "odd gives a text with a raw control character in its JSON",
        on: |_, message| {
            Turn::Raw(reply_head(message, "\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"a\u{1}b\"}]}}"))
        },
        ..PLAIN
    },
    Behaviour {
        name: "deep-nesting-reply",
        about: "odd gives structuredContent nested --count (10000) deep",
        on: |server, message| {
            let depth = server.number("count", 10_000) as usize;
            let nested = format!(r#"{{"a":{}{}}}"#, "[".repeat(depth), "]".repeat(depth));
            Turn::Raw(reply_head(message, &format!(r#""result":{{"content":[],"structuredContent":{nested}}}}}"#)))
        },
        ..PLAIN
    },
    Behaviour {
        name: "lone-surrogate",
        about: "odd gives a text with half a surrogate pair",
        on: |_, message| Turn::Raw(reply_head(message, r#""result":{"content":[{"type":"text","text":"a\ud800b"}]}}"#)),
        ..PLAIN
    },
    Behaviour {
        name: "nul-and-4byte",
        about: "odd gives a text with NUL and with four-byte characters, escaped and raw",
        on: |_, message| {
            let text = r#""result":{"content":[{"type":"text","text":"a\u0000b \ud83d\ude00 😀"}]}}"#;
            Turn::Raw(reply_head(message, text))
        },
        ..PLAIN
    },
    Behaviour {
        name: "untouched",
        about: "odd gives structuredContent that re-encoding would change: numbers, keys twice, escapes, blanks",
        on: |_, message| {
            let odd = r#"{ "big": 123456789012345678901234567890, "exp": 1E400, "zero": 1.50, "neg": -0, "a": 1, "a": 2, "\u0041": "\/" }"#;
            let reply = format!(r#""result":{{"structuredContent":{odd},"content":[],"isError":false}}}}"#);
            Turn::Raw(reply_head(message, &reply))
        },
        ..PLAIN
    },
    Behaviour {
        name: "foreign-response-ids",
        about: "replies to ids nobody used before each reply",
        write: |_, message| {
            for id in [json!(987_654_321), json!(-1), json!("x"), json!(null), json!([1]), json!({})] {
                line(&json!({"jsonrpc": "2.0", "id": id, "result": text("not yours")}));
            }
            line(&message);
        },
        ..PLAIN
    },
    Behaviour {
        name: "reply-twice",
        about: "says every reply twice",
        write: |_, message| {
            line(&message);
            line(&message);
        },
        ..PLAIN
    },
    Behaviour {
        name: "id-as-string",
        about: "gives ids back as strings",
        write: |_, message| line(&with_id(message, |id| json!(id.to_string()))),
        ..PLAIN
    },
    Behaviour {
        name: "id-as-float",
        about: "gives ids back as floats",
        write: |_, message| line(&with_id(message, |id| id.as_f64().map_or(id, |id| json!(id)))),
        ..PLAIN
    },
    Behaviour {
        name: "result-and-error-null",
        about: "error:null beside every result",
        write: |_, mut message| {
            if message.get("result").is_some() {
                message["error"] = Value::Null;
            }
            line(&message);
        },
        ..PLAIN
    },
    Behaviour {
        name: "result-and-error-both",
        about: "odd is answered by a result and an error in one",
        on: |_, message| {
            Turn::Raw(reply_head(message, r#""result":{"content":[]},"error":{"code":-32603,"message":"both"}}"#))
        },
        ..PLAIN
    },
    Behaviour {
        name: "result-null-error-null",
        about: "odd is answered by result:null and error:null",
        on: |_, message| Turn::Raw(reply_head(message, r#""result":null,"error":null}"#)),
        ..PLAIN
    },
    Behaviour {
        name: "no-result-no-error",
        about: "odd is answered by an id alone",
        on: |_, message| Turn::Raw(format!(r#"{{"jsonrpc":"2.0","id":{}}}"#, message.id).into_bytes()),
        ..PLAIN
    },
    Behaviour {
        name: "batch-array",
        about: "every reply in an array of its own",
        write: |_, message| line(&json!([message])),
        ..PLAIN
    },
    Behaviour {
        name: "batch-mixed",
        about: "every reply in an array with a notification, a foreign reply and what is no message",
        write: |_, message| {
            let notification =
                json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}});
            line(&json!([notification, {"jsonrpc": "2.0", "id": 987_654_321, "result": {}}, 42, null, [], message]));
        },
        ..PLAIN
    },
    error("error-no-message", "odd's error has no message", |_, _| Turn::Error(json!({"code": -32000}))),
    error("error-no-code", "odd's error has no code", |_, _| Turn::Error(json!({"message": "broken"}))),
    error("error-string", "odd's error is a string", |_, _| Turn::Error(json!("broken"))),
    error("error-number", "odd's error is a number", |_, _| Turn::Error(json!(-32000))),
    error("error-array", "odd's error is an array", |_, _| Turn::Error(json!(["broken", 1]))),
    error("error-empty", "odd's error is {}", |_, _| Turn::Error(json!({}))),
    error("error-null", "odd's error is null and there is no result", |_, _| Turn::Error(Value::Null)),
    error("error-float-code", "odd's error has the code -32000.5", |_, _| {
        Turn::Error(json!({"code": -32000.5, "message": "broken"}))
    }),
    error("error-string-code", "odd's error has a string as its code", |_, _| {
        Turn::Error(json!({"code": "E_BROKEN", "message": "broken"}))
    }),
    error("error-huge-code", "odd's error has a code of 20 digits", |_, _| {
        Turn::Error(json!({"code": 9_999_999_999_999_999_999_u64, "message": "broken"}))
    }),
    error("error-message-object", "odd's error has an object as its message", |_, _| {
        Turn::Error(json!({"code": -32000, "message": {"text": "broken"}}))
    }),
    error("error-with-data", "odd's error is well formed, with data", |_, _| {
        Turn::Error(json!({"code": -32042, "message": "broken", "data": {"elicitations": [], "why": "a test"}}))
    }),
    error("error-id-null-later", "odd is answered by an error whose id is null", |_, _| {
        Turn::Raw(br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"could not read that"}}"#.to_vec())
    }),
];

const fn error(
    name: &'static str,
    about: &'static str,
    on: fn(&mut super::server::Server, &Message) -> Turn,
) -> Behaviour {
    Behaviour { name, about, on, ..PLAIN }
}

/// The start of a reply, with the id early in it; the rest is the caller's.
fn reply_head(message: &Message, rest: &str) -> Vec<u8> {
    format!(r#"{{"jsonrpc":"2.0","id":{},{rest}"#, message.id).into_bytes()
}

fn endless(head: &[u8]) -> ! {
    raw(head);
    loop {
        raw(&[b'x'; 64 * 1024]);
    }
}

fn without(mut message: Value, key: &str) -> Value {
    if let Value::Object(fields) = &mut message {
        fields.shift_remove(key);
    }
    message
}

fn with_id(mut message: Value, change: fn(Value) -> Value) -> Value {
    message["id"] = change(message["id"].take());
    message
}
