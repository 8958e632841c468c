//! What happens below the answers: connections that end, answers that are cut or stall, compression, odd framing.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::http::{Answer, Exchange};
use super::{Behaviour, Turn, hook};

pub const TABLE: &[Behaviour] = &[
    // -- ends --
    hook("closes-before-head", "the connection is closed instead of an answer", |_| Ok(Turn::Close)),
    hook("resets-before-head", "the connection is reset instead of an answer", |_| Ok(Turn::Reset)),
    hook("closes-in-head", "the connection is closed in the middle of a header", |exchange| {
        exchange.send(b"HTTP/1.1 200 OK\r\nContent-Ty")?;
        Ok(Turn::Close)
    }),
    hook("resets-after-head", "the connection is reset after the head", |exchange| {
        let answer = exchange.whole();
        exchange.send(answer.head(&format!("Content-Length: {}\r\n", answer.body.len())).as_bytes())?;
        Ok(Turn::Reset)
    }),
    hook("cut-body-length", "half of the body, then the end", |exchange| {
        let bytes = exchange.whole().bytes();
        exchange.send(&bytes[..bytes.len() - 20])?;
        Ok(Turn::Close)
    }),
    hook("cut-body-chunked", "a chunk with half of the body, then the end", |exchange| {
        let body = exchange.whole().body;
        exchange.begin_chunks("application/json", "")?;
        exchange.chunk(&body[..body.len() / 2])?;
        Ok(Turn::Close)
    }),
    hook("cut-in-chunk", "half of a chunk, then the end", |exchange| {
        let body = exchange.whole().body;
        exchange.begin_chunks("application/json", "")?;
        exchange.send(format!("{:x}\r\n", body.len()).as_bytes())?;
        exchange.send(&body[..body.len() / 2])?;
        Ok(Turn::Close)
    }),
    // -- stalls --
    hook("stalled-head", "nothing comes", |exchange| exchange.hold()),
    hook("stalled-in-head", "half a head comes", |exchange| {
        exchange.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-")?;
        exchange.hold()
    }),
    hook("stalled-body", "half a body comes", |exchange| {
        let bytes = exchange.whole().bytes();
        exchange.send(&bytes[..bytes.len() - 20])?;
        exchange.hold()
    }),
    hook("trickled-body", "the body comes, a byte every --interval (20) ms", |exchange| {
        for byte in exchange.whole().bytes() {
            exchange.send(&[byte])?;
            exchange.hold_for(exchange.site.number("interval", 20))?;
        }
        Ok(Turn::Keep)
    }),
    hook("slow-answer", "everything takes --delay (500) ms", |exchange| {
        exchange.hold_for(exchange.site.number("delay", 500))?;
        Ok(Turn::Ordinary)
    })
    .at(""),
    // -- connections --
    hook("closes-idle", "the connection is closed after the answer to odd, and no header says so", |exchange| {
        let answer = exchange.whole();
        exchange.answer(&answer)?;
        Ok(Turn::Close)
    }),
    hook("closes-reused", "the second request of a connection is read, and the connection closed", |exchange| {
        match exchange.first {
            true => Ok(Turn::Ordinary),
            false => Ok(Turn::Close),
        }
    }),
    hook("connection-close", "Connection: close with every answer", |exchange| {
        let mut answer = exchange.whole();
        answer.headers += "Connection: close\r\n";
        exchange.answer(&answer)?;
        Ok(Turn::Close)
    })
    .at(""),
    hook("http-1.0", "HTTP/1.0, a body that ends with the connection", |exchange| {
        let answer = exchange.whole();
        exchange.send(answer.head("").replacen("HTTP/1.1", "HTTP/1.0", 1).as_bytes())?;
        exchange.send(&answer.body)?;
        Ok(Turn::Close)
    })
    .at(""),
    // -- odd, but right --
    hook(
        "two-segments",
        "head and body in two segments, the second held back until the first is acknowledged",
        |exchange| {
            let answer = exchange.whole();
            exchange.stream.set_nodelay(false)?;
            exchange.send(answer.head(&format!("Content-Length: {}\r\n", answer.body.len())).as_bytes())?;
            exchange.send(&answer.body)?;
            Ok(Turn::Keep)
        },
    )
    .at(""),
    hook("byte-by-byte", "every byte in a write of its own", |exchange| {
        exchange.whole().bytes().iter().try_for_each(|byte| exchange.send(&[*byte]))?;
        Ok(Turn::Keep)
    })
    .at(""),
    hook("interim-answers", "100 and 103 before every answer", |exchange| {
        exchange.send(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        exchange.send(b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n")?;
        Ok(Turn::Ordinary)
    })
    .at(""),
    hook("chunks-odd", "small chunks with extensions, upper case sizes, zeros in front, and a trailer", |exchange| {
        let answer = exchange.whole();
        if answer.body.is_empty() {
            return exchange.answer(&answer);
        }
        exchange.send(answer.head("Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n").as_bytes())?;
        for part in answer.body.chunks(13) {
            exchange.send(&[format!("000{:X};a=\"b\"\r\n", part.len()).as_bytes(), part, b"\r\n"].concat())?;
        }
        exchange.send(b"0\r\nX-Sum: 1\r\n\r\n")?;
        Ok(Turn::Keep)
    })
    .at(""),
    hook("many-headers", "80 headers with every answer, odd ones among them", |exchange| {
        let mut answer = exchange.whole();
        for n in 0..80 {
            answer.headers += &format!("X-Header-{n}: {}\r\nSet-Cookie: id={n}; Path=/\r\n", "v".repeat(40));
            if n == 8 {
                answer.headers += "X-Latin: caf\u{e9}\r\nX-Empty:\r\nx-lower:no blank\r\n";
                break;
            }
        }
        exchange.answer(&answer)
    })
    .at(""),
    // -- wrong --
    hook("garbage", "what is no HTTP at all", |exchange| {
        exchange.send(b"SSH-2.0-OpenSSH_9.6\r\n\x00\x01\x02{\"jsonrpc\":\"2.0\"}\r\n\r\n")?;
        Ok(Turn::Close)
    }),
    hook("garbage-forever", "what is no HTTP, without a line break, for ever", |exchange| {
        forever(exchange, &[b'x'; 65536])
    }),
    hook("header-flood", "a head of --bytes (1 MiB)", |exchange| {
        let mut answer = exchange.whole();
        let line = format!("X-Flood: {}\r\n", "f".repeat(1000));
        answer.headers += &line.repeat(exchange.site.number("bytes", 1 << 20) as usize / line.len());
        exchange.answer(&answer)
    }),
    hook("header-endless", "headers for ever", |exchange| {
        exchange.send(b"HTTP/1.1 200 OK\r\n")?;
        forever(exchange, "X-Endless: yes\r\n".repeat(1000).as_bytes())
    }),
    hook("chunk-size-bad", "a chunk whose size is no number", |exchange| {
        exchange.begin_chunks("application/json", "")?;
        exchange.send(b"zz\r\n{\"jsonrpc\"\r\n")?;
        Ok(Turn::Close)
    }),
    hook("chunk-size-huge", "a chunk of 2^64 bytes", |exchange| {
        exchange.begin_chunks("application/json", "")?;
        exchange.send(b"10000000000000000\r\n{\"jsonrpc\"\r\n")?;
        Ok(Turn::Close)
    }),
    hook("length-bad", "a Content-Length that is no number", |exchange| {
        exchange.send(exchange.canned_head("Content-Length: -5\r\n").as_bytes())?;
        Ok(Turn::Close)
    }),
    hook("length-twice", "two lengths that differ", |exchange| {
        exchange.send(exchange.canned_head("Content-Length: 5\r\nContent-Length: 50\r\n").as_bytes())?;
        Ok(Turn::Close)
    }),
    hook("length-huge", "a Content-Length of 8 EiB, and little of it", |exchange| {
        exchange.send(exchange.canned_head("Content-Length: 9223372036854775807\r\n").as_bytes())?;
        exchange.send(b"{\"jsonrpc\":\"2.0\"")?;
        exchange.hold()
    }),
    hook("body-endless", "blanks for ever", |exchange| {
        exchange.begin_chunks("application/json", "")?;
        loop {
            exchange.chunk(&[b' '; 65536])?;
        }
    }),
    // -- compression --
    hook("gzip", "every body in gzip, if the client takes that", |exchange| {
        let mut answer = exchange.whole();
        let takes = exchange.request.header("accept-encoding").is_some_and(|codings| codings.contains("gzip"));
        if takes && !answer.body.is_empty() {
            answer.body = gzip(&answer.body)?;
            answer.headers += "Content-Encoding: gzip\r\n";
        }
        exchange.answer(&answer)
    })
    .at(""),
    hook("gzip-events", "the reply as events in gzip, in two members", |exchange| {
        let body = exchange.whole().body;
        let half = body.len() / 2;
        exchange.begin_events("Content-Encoding: GZIP\r\n")?;
        exchange.chunk(&gzip(&[b": a comment\n\ndata: ", &body[..half]].concat())?)?;
        exchange.chunk(&gzip(&[&body[half..], b"\n\n"].concat())?)?;
        exchange.end_chunks()
    }),
    hook("gzip-broken", "what is called gzip, and is not", |exchange| {
        let mut answer = exchange.whole();
        answer.headers += "Content-Encoding: gzip\r\n";
        exchange.answer(&answer)
    }),
    hook("gzip-cut", "a body in gzip whose end is missing", |exchange| {
        let mut answer = exchange.whole();
        answer.body = gzip(&answer.body)?;
        answer.body.truncate(answer.body.len() - 12);
        answer.headers += "Content-Encoding: gzip\r\n";
        exchange.answer(&answer)
    }),
    hook("gzip-bomb", "--bytes (256 MiB) of blanks in a small body", |exchange| {
        let mut answer = Answer::new("200 OK", "Content-Type: application/json\r\nContent-Encoding: gzip\r\n", "");
        answer.body = gzip(&vec![b' '; exchange.site.number("bytes", 256 << 20) as usize])?;
        exchange.answer(&answer)
    }),
    hook("coding-unknown", "a coding that nobody asked for", |exchange| {
        let mut answer = exchange.whole();
        answer.headers += "Content-Encoding: br\r\n";
        exchange.answer(&answer)
    }),
];

impl Exchange<'_> {
    fn canned_head(&self, framing: &str) -> String {
        Answer::new("200 OK", "Content-Type: application/json\r\n", "").head(framing)
    }
}

fn forever(exchange: &Exchange, bytes: &[u8]) -> io::Result<Turn> {
    loop {
        exchange.send(bytes)?;
    }
}

fn gzip(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes)?;
    encoder.finish()
}
