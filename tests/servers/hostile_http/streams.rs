//! Replies as events: their end, their silence, their resumption. The GET stream. Subscriptions.

use std::io;

use serde_json::json;

use super::http::{Answer, Exchange};
use super::stdio::server::{self as messages, text};
use super::{Behaviour, Turn, canned, hook};

const ANNOUNCES: &messages::Behaviour =
    &messages::Behaviour { capabilities: r#"{"tools":{"listChanged":true}}"#, ..messages::PLAIN };

pub const TABLE: &[Behaviour] = &[
    // -- silence --
    hook("sse-silent", "events begin, and none comes", |exchange| {
        exchange.begin_events("")?;
        exchange.hold()
    }),
    hook("sse-comments-forever", "a comment every --interval (20) ms, and no reply", |exchange| {
        exchange.begin_events("")?;
        loop {
            exchange.chunk(b": still here\n\n")?;
            exchange.hold_for(exchange.site.number("interval", 20))?;
        }
    }),
    hook("sse-comments-then-reply", "--count (20) comments and empty events, then the reply", |exchange| {
        exchange.begin_events("")?;
        for _ in 0..exchange.site.number("count", 20) {
            exchange.chunk(b": ping\n\nevent: ping\ndata:\n\ndata\n\n:\n\n")?;
        }
        exchange.event(&exchange.good())?;
        exchange.end_chunks()
    }),
    hook("sse-open-after-reply", "the stream stays open after the reply", |exchange| {
        exchange.begin_events("")?;
        exchange.event(&exchange.good())?;
        exchange.hold()
    }),
    hook("sse-talks-after-reply", "the stream goes on for ever after the reply", |exchange| {
        exchange.begin_events("")?;
        exchange.event(&exchange.good())?;
        loop {
            exchange
                .event(br#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}"#)?;
            exchange.hold_for(1)?;
        }
    }),
    // -- framing --
    hook(
        "sse-odd-framing",
        "a byte order mark, all line breaks, unknown fields and events, data over lines",
        |exchange| {
            let reply = String::from_utf8_lossy(&exchange.good())
                .replace("\"id\"", "\n\"id\"")
                .replace("\"result\"", "\n\"result\"");
            let data: String = reply.lines().map(|line| format!("data:{line}\r")).collect();
            exchange.begin_events("")?;
            exchange.chunk("\u{feff}: hello\r\n\r\nretry: soon\nid: 1\0\nunknown: field\nnonsense\n\n".as_bytes())?;
            exchange.chunk(b"event: endpoint\ndata: /messages?id=1\n\nevent: error\ndata: {\"jsonrpc\":\"2.0\"\n\n")?;
            exchange.chunk(format!("event:message\r{data}\r").as_bytes())?;
            exchange.end_chunks()
        },
    ),
    hook("sse-byte-by-byte", "every byte of the events in a chunk of its own", |exchange| {
        exchange.begin_events("")?;
        let event = [b"id: 7\r\ndata: ".as_slice(), &exchange.good(), b"\r\n\r\n"].concat();
        event.iter().try_for_each(|byte| exchange.chunk(&[*byte]))?;
        exchange.end_chunks()
    }),
    hook("sse-no-final-break", "the last event has no blank line after it, which makes it none", |exchange| {
        exchange.begin_events("")?;
        exchange.chunk(&[b"data: ".as_slice(), &exchange.good()].concat())?;
        exchange.end_chunks()
    }),
    hook("sse-endless-event", "one event for ever", |exchange| {
        exchange.begin_events("")?;
        exchange.chunk(
            format!(
                "data: {{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{{\"content\":[{{\"type\":\"text\",\"text\":\"",
                exchange.id()
            )
            .as_bytes(),
        )?;
        loop {
            exchange.chunk(&[b'x'; 65536])?;
        }
    }),
    hook("sse-endless-comment", "one comment for ever", |exchange| {
        exchange.begin_events("")?;
        exchange.chunk(b": ")?;
        loop {
            exchange.chunk(&[b'x'; 65536])?;
        }
    }),
    hook("sse-notifications-then-end", "notifications, and no reply", |exchange| {
        exchange.begin_events("")?;
        exchange.event(br#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}"#)?;
        exchange.end_chunks()
    }),
    // -- the end without a reply --
    hook("sse-ends", "the events end without a reply and without an id", |exchange| {
        exchange.begin_events("")?;
        exchange.end_chunks()
    }),
    hook("sse-cut", "the connection is closed amid the events", |exchange| {
        exchange.begin_events("")?;
        exchange.chunk(b": hello\n\n")?;
        Ok(Turn::Close)
    }),
    hook("sse-reset", "the connection is reset amid the events", |exchange| {
        exchange.begin_events("")?;
        exchange.chunk(b"data: {\"json")?;
        Ok(Turn::Reset)
    }),
    resumed("sse-resumes", "the events end after an id; the reply comes by GET", |exchange| exchange.resumed()),
    resumed(
        "sse-resumes-twice",
        "the events end after an id, and after another; the reply comes by the second GET",
        |exchange| match exchange.request.header("last-event-id") {
            Some("first") => exchange.end_after("second"),
            _ => exchange.resumed(),
        },
    ),
    resumed("sse-resumes-never", "the events end after an id, and so they do at each GET", |exchange| {
        exchange.end_after("more")
    }),
    resumed(
        "sse-works-in-parts",
        "the events end after an id, and so they do at --count (20) GETs, each after a message; then the reply",
        |exchange| {
            if exchange.hit >= exchange.site.number("count", 20) {
                return exchange.resumed();
            }
            let data = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}"#;
            exchange.begin_events("")?;
            exchange.chunk(format!("id: part\nretry: 10\ndata: {data}\n\n").as_bytes())?;
            exchange.end_chunks()
        },
    ),
    resumed("sse-resume-404", "the events end after an id; GET is answered 404", |exchange| {
        exchange.answer(&Answer::new("404 Not Found", "", ""))
    }),
    resumed("sse-resume-405", "the events end after an id; GET is answered 405", |exchange| {
        exchange.answer(&Answer::new("405 Method Not Allowed", "", ""))
    }),
    resumed(
        "sse-resume-503-once",
        "the events end after an id; the first GET is answered 503, the second with the reply",
        |exchange| match exchange.hit {
            0 => exchange.answer(&Answer::new("503 Service Unavailable", "", "")),
            _ => exchange.resumed(),
        },
    ),
    resumed("sse-resume-html", "the events end after an id; GET is answered with a page", |exchange| {
        exchange.answer(&Answer::new("200 OK", "Content-Type: text/html\r\n", "<html>Sign in</html>"))
    }),
    resumed("sse-resume-silent", "the events end after an id; GET is never answered", |exchange| exchange.hold()),
    Behaviour {
        on: |exchange| {
            exchange.begin_resumable("retry: 999999999999\n")?;
            exchange.end_chunks()
        },
        ..resumed("sse-retry-huge", "the events end after an id and a retry of 31 years", |exchange| exchange.resumed())
    },
    Behaviour {
        on: |exchange| {
            exchange.begin_resumable("")?;
            Ok(Turn::Close)
        },
        ..resumed("sse-cut-resumes", "the connection is closed after an id; the reply comes by GET", |exchange| {
            exchange.resumed()
        })
    },
    // -- the GET stream --
    canned("get-405", "405 to GET", "405 Method Not Allowed", "Allow: POST\r\n", "").legacy().at("GET"),
    canned("get-404", "404 to GET", "404 Not Found", "", "").legacy().at("GET"),
    canned("get-500", "500 to GET", "500 Internal Server Error", "", "").legacy().at("GET"),
    canned("get-html", "a page to GET", "200 OK", "Content-Type: text/html\r\n", "<html>").legacy().at("GET"),
    canned("get-401", "401 to GET", "401 Unauthorized", "", "").legacy().at("GET"),
    hook("get-stalls", "no answer to GET", |exchange| exchange.hold()).legacy().at("GET"),
    hook("get-resets", "a reset to GET", |_| Ok(Turn::Reset)).legacy().at("GET"),
    hook("get-ends", "the GET stream ends at once, each time", |exchange| {
        exchange.begin_events("")?;
        exchange.end_chunks()
    })
    .legacy()
    .at("GET"),
    hook("get-ends-retry-0", "the GET stream ends at once, and wants to be asked again without delay", |exchange| {
        exchange.begin_events("")?;
        exchange.chunk(b"retry: 0\nid: 1\ndata:\n\n")?;
        exchange.end_chunks()
    })
    .legacy()
    .at("GET"),
    hook("get-cut-once", "the first GET stream is cut after an id", |exchange| {
        if exchange.hit > 0 {
            return Ok(Turn::Ordinary);
        }
        exchange.begin_events("")?;
        exchange.chunk(b"id: get-1\nretry: 10\ndata:\n\n")?;
        Ok(Turn::Close)
    })
    .legacy()
    .at("GET"),
    hook("get-asks", "the GET stream brings --count (2000) pings, and no answer to them is ever taken", |exchange| {
        match exchange.place.as_str() {
            "GET" => {
                exchange.begin_events("")?;
                for number in 0..exchange.site.number("count", 2_000) {
                    exchange
                        .event(format!(r#"{{"jsonrpc":"2.0","id":"ping-{number}","method":"ping"}}"#).as_bytes())?;
                }
                exchange.hold()
            }
            _ if exchange.message.get("method").is_none() && exchange.message.get("id").is_some() => exchange.hold(),
            _ => Ok(Turn::Ordinary),
        }
    })
    .legacy()
    .at(""),
    hook("get-noise", "the GET stream brings noise, foreign replies and unknown notifications for ever", |exchange| {
        exchange.begin_events("")?;
        loop {
            for data in [
                "nonsense",
                "[]",
                "42",
                "{}",
                r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
                r#"{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":"x"}}"#,
                r#"{"jsonrpc":"2.0","method":"notifications/odd"}"#,
                r#"{"jsonrpc":"2.0","result":{"cut":"#,
            ] {
                exchange.event(data.as_bytes())?;
            }
            exchange.hold_for(5)?;
        }
    })
    .legacy()
    .at("GET"),
    // -- subscriptions --
    hook("listen-ends", "subscriptions/listen is acknowledged, and its stream ends", |exchange| {
        exchange.acknowledge()?;
        exchange.end_chunks()
    })
    .modern()
    .at("subscriptions/listen")
    .with(ANNOUNCES),
    hook("listen-cut-once", "the first stream of subscriptions/listen is cut", |exchange| {
        if exchange.hit > 0 {
            return Ok(Turn::Ordinary);
        }
        exchange.acknowledge()?;
        Ok(Turn::Close)
    })
    .modern()
    .at("subscriptions/listen")
    .with(ANNOUNCES),
    hook("listen-stalls", "no answer to subscriptions/listen", |exchange| exchange.hold())
        .modern()
        .at("subscriptions/listen")
        .with(ANNOUNCES),
    canned("listen-500", "500 to subscriptions/listen", "500 Internal Server Error", "", "")
        .modern()
        .at("subscriptions/listen")
        .with(ANNOUNCES),
    hook("listen-json", "subscriptions/listen is answered with a result in JSON", |exchange| {
        let reply = exchange.reply(json!({"resultType": "complete"}));
        exchange.answer(&Answer::new("200 OK", "Content-Type: application/json\r\n", "").with(reply))
    })
    .modern()
    .at("subscriptions/listen")
    .with(ANNOUNCES),
];

/// The events of a call of `odd` end after the id `first`; `then` is what a GET meets that wants to go on there.
const fn resumed(name: &'static str, about: &'static str, then: fn(&mut Exchange) -> io::Result<Turn>) -> Behaviour {
    let ends = |exchange: &mut Exchange| {
        exchange.begin_resumable(&format!("retry: {}\n", exchange.site.number("interval", 30)))?;
        exchange.end_chunks()
    };
    Behaviour { resume: Some(then), ..hook(name, about, ends) }.legacy()
}

impl Exchange<'_> {
    /// The reply that all is well.
    fn good(&self) -> Vec<u8> {
        let mut result = text("called odd");
        result["resultType"] = json!("complete");
        self.reply(result)
    }

    fn begin_resumable(&self, fields: &str) -> io::Result<()> {
        *self.site.waiting.lock() = self.id().clone();
        self.begin_events("")?;
        self.chunk(format!("id: first\n{fields}data:\n\n").as_bytes())
    }

    /// What the call of `odd` waits for.
    fn resumed(&self) -> io::Result<Turn> {
        let reply = json!({"jsonrpc": "2.0", "id": *self.site.waiting.lock(), "result": text("called odd")});
        self.begin_events("")?;
        self.chunk(format!("id: last\ndata: {reply}\n\n").as_bytes())?;
        self.end_chunks()
    }

    /// Events that end after that id, once more.
    fn end_after(&self, id: &str) -> io::Result<Turn> {
        self.begin_events("")?;
        self.chunk(format!("id: {id}\nretry: {}\ndata:\n\n", self.site.number("interval", 30)).as_bytes())?;
        self.end_chunks()
    }

    /// The start of a subscription.
    fn acknowledge(&self) -> io::Result<()> {
        let params = json!({"notifications": self.message["params"]["notifications"],
            "_meta": {"io.modelcontextprotocol/subscriptionId": self.id()}});
        let acknowledged =
            json!({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": params});
        self.begin_events("")?;
        self.event(acknowledged.to_string().as_bytes())
    }
}
