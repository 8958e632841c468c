//! A stream of server-sent events, in any pieces, against the standard's own algorithm.
//!
//! The first byte of the input is the limit of an event, the second sets the pieces; the rest is the stream.
#![no_main]

#[path = "../../../src/wire/sse/standard.rs"]
mod standard;

use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use toolnexus::wire::sse::{Event, Events, HEAD};

/// The parser cuts longer names and drops longer ids, which the standard does not.
const LONGEST: usize = 1024;

fuzz_target!(|input: &[u8]| {
    let [limit, pieces, stream @ ..] = input else { return };
    let limit = usize::from(*limit) * 4;
    let whole = Heard::of(stream.chunks(LONGEST * 4), limit);
    let bytewise = Heard::of(stream.chunks(1), limit);
    assert_eq!(whole, bytewise, "byte by byte the stream says something else");
    let (first, rest) = stream.split_at((usize::from(*pieces) / 8).min(stream.len()));
    let split = Heard::of([first, b""].into_iter().chain(rest.chunks(usize::from(*pieces) % 8 + 1)), limit);
    assert_eq!(whole, split, "in other pieces the stream says something else");
    if stream.len() > LONGEST {
        return;
    }
    let said = standard::read(stream);
    let expected: Vec<Event> = said.events.into_iter().map(|event| bounded(event, limit)).collect();
    assert!(whole.events.starts_with(&expected), "heard {:?}, expected {expected:?}", whole.events);
    // An event that has not ended is reported too, once it is too long.
    match &whole.events[expected.len()..] {
        [] | [Event::TooLong { .. }] => {}
        more => panic!("heard more than was said: {more:?}"),
    }
    assert_eq!(whole.last_id.unwrap_or_default(), said.last_id);
    assert_eq!(whole.retry, said.retry.map(Duration::from_millis));
});

fn bounded((name, data): (String, Vec<u8>), limit: usize) -> Event {
    if data.len() > limit {
        return Event::TooLong { head: data[..limit.min(HEAD)].to_vec() };
    }
    Event::Message { name: Some(name).filter(|name| !name.is_empty()), data }
}

#[derive(Debug, PartialEq)]
struct Heard {
    events: Vec<Event>,
    last_id: Option<String>,
    retry: Option<Duration>,
    seen_any: bool,
}

impl Heard {
    fn of<'a>(pieces: impl Iterator<Item = &'a [u8]>, limit: usize) -> Heard {
        let (mut parser, mut events) = (Events::new(limit), Vec::new());
        for piece in pieces {
            parser.feed(piece, &mut |event| events.push(event));
            assert!(parser.held() <= limit + LONGEST + 1, "{} bytes are held, the limit is {limit}", parser.held());
        }
        let last_id = parser.last_id().map(str::to_owned);
        Heard { events, last_id, retry: parser.retry(), seen_any: parser.seen_any() }
    }
}
