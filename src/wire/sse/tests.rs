use super::*;

const LIMIT: usize = 64;

/// Everything that a stream says when it is fed in pieces of these lengths.
fn events_in(bytes: &[u8], limit: usize, pieces: &mut dyn FnMut() -> usize) -> (Vec<Event>, Events) {
    let (mut parser, mut events, mut rest) = (Events::new(limit), Vec::new(), bytes);
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at(pieces().clamp(1, rest.len()));
        parser.feed(piece, &mut |event| events.push(event));
        assert!(parser.held() <= limit.max(LONGEST_VALUE) + LONGEST_VALUE, "{} bytes held", parser.held());
        rest = behind;
    }
    (events, parser)
}

/// The same, whole and byte by byte.
fn both(text: &str) -> (Vec<Event>, Events) {
    let (whole, parser) = events_in(text.as_bytes(), LIMIT, &mut || usize::MAX);
    let (single, single_parser) = events_in(text.as_bytes(), LIMIT, &mut || 1);
    assert_eq!(whole, single, "{text:?}");
    assert_eq!(state(&parser), state(&single_parser), "{text:?}");
    (whole, parser)
}

fn state(parser: &Events) -> (Option<&str>, Option<Duration>, bool) {
    (parser.last_id(), parser.retry(), parser.seen_any())
}

fn message(data: &str) -> Event {
    Event::Message { name: None, data: data.into() }
}

fn named(name: &str, data: &str) -> Event {
    Event::Message { name: Some(name.to_owned()), data: data.into() }
}

#[test]
fn events_end_at_a_blank_line_of_any_kind() {
    for end in ["\n", "\r", "\r\n"] {
        let text = "data: one\n\nevent: e\ndata: two\n\n".replace('\n', end);
        assert_eq!(both(&text).0, [message("one"), named("e", "two")], "{end:?}");
    }
    assert_eq!(both("data: a\r\n\n").0, [message("a")]);
    assert_eq!(both("data: a\n\r\ndata: b\r\r\n\r").0, [message("a"), message("b")]);
}

#[test]
fn an_event_comes_with_the_byte_that_ends_it() {
    // A server that waits after a carriage return has ended the event all the same.
    let mut parser = Events::new(LIMIT);
    let mut events = Vec::new();
    parser.feed(b"data: a\r\r", &mut |event| events.push(event));
    assert_eq!(events, [message("a")]);
    parser.feed(b"\n", &mut |event| events.push(event));
    parser.feed(b"", &mut |event| events.push(event));
    parser.feed(b"data: b\n\n", &mut |event| events.push(event));
    assert_eq!(events, [message("a"), message("b")]);
}

#[test]
fn the_examples_of_the_standard() {
    assert_eq!(both("data: YHOO\ndata: +2\ndata: 10\n\n").0, [message("YHOO\n+2\n10")]);
    let (events, parser) =
        both(": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event");
    assert_eq!(events, [message("first event"), message("second event")]);
    assert_eq!(parser.last_id(), None);
    // Of the three events the standard has here, the empty ones say nothing and are left out.
    assert_eq!(both("data\n\ndata\ndata\n\ndata:").0, [message("\n")]);
    assert_eq!(both("data:test\n\ndata: test\n\n").0, [message("test"), message("test")]);
}

#[test]
fn fields() {
    assert_eq!(both("\u{feff}data: a\n\n").0, [message("a")]);
    assert_eq!(both("\u{feff}\ndata: a\n\n").0, [message("a")]);
    assert_eq!(both("data: a\n\u{feff}data: b\n\n").0, [message("a")]);
    assert_eq!(both("\u{feff}\u{feff}data: a\n\n").0, []);
    // Unknown ones, comments, and names that only begin like known ones.
    assert_eq!(both("foo: 1\n:data: 2\nDATA: 3\ndata : 4\ndatabase: 5\n data: 6\ndata: 7\n\n").0, [message("7")]);
    assert_eq!(both(&format!("{}: x\n:{}\ndata: a\n\n", "f".repeat(200), " ".repeat(200))).0, [message("a")]);
    assert_eq!(both("data:  two blanks: one stays \n\n").0, [message(" two blanks: one stays ")]);
    assert_eq!(both("event: a\nevent: b\ndata: x\n\ndata: y\n\n").0, [named("b", "x"), message("y")]);
    assert_eq!(both("event: a\nevent\ndata: x\n\n").0, [message("x")]);
    assert_eq!(both("event: message\ndata: x\n\n").0, [named("message", "x")]);
    // A name is of its own event only, also where that has no data.
    assert_eq!(both("event: a\n\ndata: x\n\n").0, [message("x")]);
    assert_eq!(both("data: never ended\n").0, []);
    assert_eq!(both("").0, []);
}

#[test]
fn ids() {
    let id = |text: &str| both(text).1.last_id().map(str::to_owned);
    assert_eq!(id("id: 7\ndata: x\n\n").as_deref(), Some("7"));
    assert_eq!(id("id: 7\n\n").as_deref(), Some("7"));
    assert_eq!(id("id: 7\ndata:\n\n").as_deref(), Some("7"));
    assert_eq!(id("id: 7\n\ndata: x\n\n").as_deref(), Some("7"));
    // Only what has ended counts.
    assert_eq!(id("id: 7\n\nid: 8\ndata: x\n").as_deref(), Some("7"));
    assert_eq!(id("id: 7\n\nid: 8\0\n\n").as_deref(), Some("7"));
    assert_eq!(id("id: 7\n\nid:\n\n"), None);
    assert_eq!(id(&format!("id: {}\n\n", "i".repeat(LONGEST_VALUE))).map(|id| id.len()), Some(LONGEST_VALUE));
    assert_eq!(id(&format!("id: 7\n\nid: {}\n\n", "i".repeat(LONGEST_VALUE + 1))), None);
    assert_eq!(id("data: x\n\n"), None);
    // An event over the limit is not asked for again.
    assert_eq!(id(&format!("id: 7\n\nid: 8\ndata: {}\n\n", "x".repeat(LIMIT + 1))).as_deref(), Some("8"));
}

#[test]
fn retry() {
    let retry = |text: &str| both(text).1.retry();
    assert_eq!(retry("retry: 500\n"), Some(Duration::from_millis(500)));
    assert_eq!(retry("retry: 500\nretry: 0\n"), Some(Duration::ZERO));
    assert_eq!(retry("retry: 500"), None);
    for bad in ["", "+5", "-5", "5s", "5.0", " 5", "٥", "99999999999999999999999"] {
        assert_eq!(retry(&format!("retry: 1\nretry: {bad}\n")), Some(Duration::from_millis(1)), "{bad:?}");
    }
}

#[test]
fn what_is_no_event_stream_is_not_taken_for_one() {
    assert!(!both("<html>\n<body>data: x\n\n</body>\n").1.seen_any());
    assert!(!both(": keep-alive\n\n: keep-alive\n\n").1.seen_any());
    assert!(both("id: 1\n").1.seen_any());
    assert!(both("data").0.is_empty());
}

#[test]
fn an_event_over_the_limit_is_reported_once_and_skipped() {
    let fits = "x".repeat(LIMIT);
    assert_eq!(both(&format!("data: {fits}\n\n")).0, [message(&fits)]);
    let too_long = || Event::TooLong { head: fits.clone().into() };
    let text = format!("event: e\ndata: {fits}y\ndata: more\n\ndata: next\n\n");
    assert_eq!(both(&text).0, [too_long(), message("next")]);
    // At once, not at the end of the event.
    assert_eq!(both(&format!("data: {fits}y")).0, [too_long()]);
    // The line feeds between the lines count.
    let half = "x".repeat(LIMIT / 2);
    let head = format!("{half}\n{half}")[..LIMIT].to_owned();
    assert_eq!(both(&format!("data: {half}\ndata: {half}\n\n")).0, [Event::TooLong { head: head.into() }]);
    assert_eq!(both(&format!("data: {fits}\ndata\n\ndata: a\n\n")).0, [too_long(), message("a")]);
}

#[test]
fn the_head_of_a_large_event_is_bounded() {
    let text = format!("data: {}\n\ndata: a\n\n", "0123456789".repeat(2_000));
    for limit in [0, 1, HEAD - 1, HEAD, HEAD + 1, 19_999] {
        let mut sizes = [1_000, 1, 5_000].into_iter().cycle();
        let whole = events_in(text.as_bytes(), limit, &mut || usize::MAX).0;
        assert_eq!(whole, events_in(text.as_bytes(), limit, &mut || sizes.next().unwrap_or(1)).0, "{limit}");
        let head = text.as_bytes()[6..6 + limit.min(HEAD)].to_vec();
        assert_eq!(whole[0], Event::TooLong { head }, "{limit}");
    }
    assert_eq!(events_in(text.as_bytes(), 20_000, &mut || 7).0.len(), 2);
}

/// The same numbers on every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

impl From<(String, Vec<u8>)> for Event {
    fn from((name, data): (String, Vec<u8>)) -> Event {
        Event::Message { name: Some(name).filter(|name| !name.is_empty()), data }
    }
}

#[test]
fn any_split_says_what_the_standard_says() {
    const PARTS: [&str; 22] = [
        "\n",
        "\r",
        "\r\n",
        "\n\n",
        ":",
        " ",
        "data",
        "data:",
        "data: ",
        "event: ",
        "id: ",
        "id",
        "retry: ",
        "retry:12",
        "x",
        "\0",
        "\u{feff}",
        "é",
        "{\"a\":1}",
        "longer than any name of a field",
        "message",
        ": comment\n",
    ];
    let mut said = 0;
    for seed in 0..20_000 {
        let mut random = Random(seed);
        let count = random.below(30);
        let text: String = (0..count).map(|_| PARTS[random.below(PARTS.len())]).collect();
        let expected = standard::read(text.as_bytes());
        let messages: Vec<Event> = expected.events.into_iter().map(Event::from).collect();
        for most in [1, 3, 17, 4096] {
            let (events, parser) = events_in(text.as_bytes(), 4096, &mut || 1 + random.below(most));
            assert_eq!(events, messages, "seed {seed}: {text:?}");
            assert_eq!(parser.last_id().unwrap_or_default(), expected.last_id, "seed {seed}: {text:?}");
            assert_eq!(parser.retry(), expected.retry.map(Duration::from_millis), "seed {seed}: {text:?}");
        }
        said += messages.len();
    }
    assert!(said > 1_000, "the cases say too little: {said}");
}
