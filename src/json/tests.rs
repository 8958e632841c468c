use serde::de::IgnoredAny;
use serde_json::Value;

use super::*;

fn raw(text: &str) -> Raw<'_> {
    Raw::parse(text).unwrap()
}

fn compacted(text: &str) -> String {
    let mut out = String::new();
    compact(raw(text), &mut out);
    out
}

/// The same numbers on every run, so that a failure can be met again.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    fn pick<'a, T: ?Sized>(&mut self, items: &[&'a T]) -> &'a T {
        items[self.below(items.len())]
    }
}

fn value(random: &mut Random, depth: usize, out: &mut String) {
    const BLANKS: [&str; 6] = ["", "", "", " ", "\n", " \t\r\n"];
    const SCALARS: [&str; 12] =
        ["null", "true", "false", "0", "-0", "12", "-3.5e+10", "1E400", "0.0001", "\"\"", "[]", "{ }"];
    const PIECES: [&str; 12] = [
        "a",
        "\\\"",
        "\\\\",
        "\\n",
        "\\u0041",
        "\\ud83d\\ude00",
        "\\ud800",
        "é",
        "😀",
        "a long run of plain text that is more than sixty-four bytes long, so that the chunks are met as well",
        "{[,:]}",
        "\\/",
    ];
    out.push_str(random.pick(&BLANKS));
    match random.below(if depth == 0 { 4 } else { 8 }) {
        0 | 1 => out.push_str(random.pick(&SCALARS)),
        2 | 3 => {
            out.push('"');
            for _ in 0..random.below(6) {
                out.push_str(random.pick(&PIECES));
            }
            out.push('"');
        }
        4 | 5 => {
            out.push('[');
            for index in 0..random.below(5) {
                out.push_str(if index > 0 { "," } else { "" });
                value(random, depth - 1, out);
            }
            out.push(']');
        }
        _ => {
            out.push('{');
            for index in 0..random.below(5) {
                out.push_str(if index > 0 { "," } else { "" });
                out.push_str(random.pick(&BLANKS));
                out.push_str(random.pick(&["\"id\"", "\"result\"", "\"b\\u0062\"", "\"\""]));
                out.push_str(random.pick(&BLANKS));
                out.push(':');
                value(random, depth - 1, out);
            }
            out.push('}');
        }
    }
    out.push_str(random.pick(&BLANKS));
}

/// Builds a tree from what `Raw` says, lone surrogates as U+FFFD.
fn tree(raw: Raw<'_>) -> Value {
    match raw.kind() {
        Kind::Object => Value::Object(raw.members().map(|(key, value)| (key.into_owned(), tree(value))).collect()),
        Kind::Array => Value::Array(raw.elements().map(tree).collect()),
        Kind::String => Value::String(raw.as_str().unwrap().into_owned()),
        _ => serde_json::from_str(raw.text()).unwrap_or(Value::Null),
    }
}

#[test]
fn agrees_with_serde_json_on_random_documents() {
    let mut random = Random(1);
    for _ in 0..4_000 {
        let mut text = String::new();
        value(&mut random, 6, &mut text);
        assert_eq!(check(text.as_bytes()), Ok(()), "{text}");
        let found = raw(&text);
        // serde_json refuses lone surrogates and 1E400; stand-ins that both read alike.
        let plain = text.replace("1E400", "null").replace("\\ud800", "\\ufffd");
        let expected: Value = serde_json::from_str(&plain).unwrap();
        assert_eq!(tree(found), expected, "{text}");
        let compact = compacted(&text);
        assert_eq!(tree(raw(&compact)), expected, "{text}");
        assert!(compact.len() <= text.len());
        let line = single_line(found);
        assert!(!line.contains('\n') && !line.contains('\r'));
        assert_eq!(tree(raw(&line)), expected);
        let Value::Object(object) = &expected else { continue };
        for (key, value) in object {
            assert_eq!(&tree(found.get(key).unwrap()), value);
        }
        let Ok(Envelope::Message(message)) = envelope(text.as_bytes()) else { panic!("{text}") };
        assert_eq!(message.id.map(|range| &text[range]), found.get("id").map(Raw::text));
        assert_eq!(message.result.map(|range| &text[range]), found.get("result").map(Raw::text));
    }
}

#[test]
fn accepts_what_serde_json_accepts_of_damaged_documents() {
    const DAMAGE: &[u8] = b"\"\\{}[],:0123456789.-+eEtrufalsn \n\x01\x1f\x7fx\xc3";
    let mut random = Random(2);
    let (mut good, mut bad) = (0, 0);
    for _ in 0..20_000 {
        let mut text = String::new();
        value(&mut random, 4, &mut text);
        let mut bytes = text.into_bytes();
        for _ in 0..1 + random.below(3) {
            let at = random.below(bytes.len() + 1);
            let byte = DAMAGE[random.below(DAMAGE.len())];
            match random.below(4) {
                0 => bytes.insert(at, byte),
                1 if at < bytes.len() => bytes[at] = byte,
                2 if at < bytes.len() => drop(bytes.remove(at)),
                3 => bytes.truncate(at),
                _ => {}
            }
        }
        let text = String::from_utf8_lossy(&bytes);
        let expected = serde_json::from_str::<IgnoredAny>(&text).is_ok();
        assert_eq!(check(text.as_bytes()).is_ok(), expected, "{text}");
        assert_eq!(envelope(text.as_bytes()).is_ok(), expected, "{text}");
        if expected {
            good += 1
        } else {
            bad += 1
        }
        // What was not checked may give nonsense, but neither panics nor goes on for ever.
        let unchecked = Raw::checked(&text);
        let count = unchecked.members().count() + unchecked.elements().count();
        assert!(count <= 2 * text.len());
        compact(unchecked, &mut String::new());
    }
    assert!(good > 1_000 && bad > 1_000, "{good} {bad}");
}

#[test]
fn nesting_has_no_limit() {
    for depth in [1, 63, 64, 65, 127, 128, 129, 200_000] {
        let mut text = "[{\"a\":".repeat(depth);
        text.push('1');
        assert!(check(text.as_bytes()).is_err());
        text.push_str(&"}]".repeat(depth));
        assert_eq!(check(text.as_bytes()), Ok(()));
        assert_eq!(raw(&text).elements().count(), 1);
        let swapped = format!("{}]}}{}", &text[..text.len() - 2 * depth], &text[text.len() - 2 * depth + 2..]);
        assert!(check(swapped.as_bytes()).is_err());
    }
}

#[test]
fn errors_say_where_and_what() {
    for (text, at, what) in [
        ("", 0, "the text ends where a value was expected"),
        (" x", 1, "expected a value"),
        ("[1 2]", 3, "expected ',' or ']' after an element"),
        ("{\"a\":1 2}", 7, "expected ',' or '}' after a member"),
        ("{\"a\":1,}", 7, "expected a key in double quotes"),
        ("{\"a\" 1}", 5, "expected ':' after a key"),
        ("\"a\nb\"", 2, "a control character inside a string"),
        ("\"a\\xb\"", 2, "a backslash that escapes nothing JSON knows"),
        ("\"\\u12\"", 1, "expected four hex digits after \\u"),
        ("\"abc", 4, "the text ends inside a string"),
        ("01", 1, "expected the end after the value"),
        ("1.", 2, "expected a digit"),
        ("nul", 0, "expected true, false or null"),
        ("[[1]", 4, "the text ends inside an object or array"),
        ("{\"a\":1", 6, "the text ends inside an object or array"),
    ] {
        assert_eq!(check(text.as_bytes()), Err(Error { at, what }), "{text}");
        assert_eq!(envelope(text.as_bytes()).map(|_| ()), check(text.as_bytes()).map(|_| ()));
    }
}

#[test]
fn strings_at_every_distance() {
    for length in 0..300 {
        for end in ["\\n", "\\\\", "\\\"", "é", "\\ud800"] {
            let text = format!("{}{}{end}{}", "{\"k\":\"", "x".repeat(length), "\", \"z\":1}");
            let found = raw(&text);
            let string = found.get("k").unwrap().as_str().unwrap();
            let tail = match end {
                "\\n" => "\n",
                "\\\\" => "\\",
                "\\\"" => "\"",
                "é" => "é",
                _ => "\u{fffd}",
            };
            assert_eq!(string, "x".repeat(length) + tail);
            assert_eq!(found.get("z").unwrap().as_u64(), Some(1));
            let control = text.replace(end, "\u{1f}");
            assert_eq!(check(control.as_bytes()).unwrap_err().at, 6 + length);
        }
    }
}

#[test]
fn surrogates() {
    for (text, expected) in [
        (r#""\ud83d\ude00""#, "😀"),
        (r#""\ud83dx""#, "\u{fffd}x"),
        (r#""\ud83d\n""#, "\u{fffd}\n"),
        (r#""\ud83d\ud83d\ude00""#, "\u{fffd}😀"),
        (r#""\ude00\ud83d""#, "\u{fffd}\u{fffd}"),
        (r#""\ud83d\u0041\/\b\f""#, "\u{fffd}A/\u{8}\u{c}"),
        (r#""\u0000""#, "\0"),
    ] {
        assert_eq!(raw(text).as_str().unwrap(), expected);
    }
}

#[test]
fn quoting_is_read_back_by_serde_json() {
    let text: String = (0..0x250).filter_map(char::from_u32).chain("\"\\😀\u{2028}".chars()).collect();
    let mut quoted = String::new();
    quote(&text, &mut quoted);
    assert_eq!(serde_json::from_str::<String>(&quoted).unwrap(), text);
    assert_eq!(raw(&quoted).as_str().unwrap(), text);
}

#[test]
fn the_last_of_a_repeated_key_counts_however_it_is_written() {
    let found = raw(r#" {"id":1, "\u0069d" : 2 } "#);
    assert_eq!(found.get("id").unwrap().as_i64(), Some(2));
    let Ok(Envelope::Message(message)) = envelope(found.text().as_bytes()) else { panic!() };
    assert_eq!(message.id.map(|range| &found.text()[range]), Some("2"));
}

#[test]
fn envelopes() {
    let text = " {\"jsonrpc\":\"2.0\", \"id\" : 7 ,\"method\":\"m\",\"params\":{},\"error\":null,\"x\":[1]}\r";
    let Ok(Envelope::Message(message)) = envelope(text.as_bytes()) else { panic!() };
    assert!(message.jsonrpc);
    assert_eq!(&text[message.id.unwrap()], "7");
    assert_eq!(&text[message.method.unwrap()], "\"m\"");
    assert_eq!(&text[message.params.unwrap()], "{}");
    assert_eq!(&text[message.error.unwrap()], "null");
    assert_eq!(message.result, None);
    assert_eq!(envelope(b" [1,{}] "), Ok(Envelope::Batch(1..7)));
    assert_eq!(envelope(b"{ }"), Ok(Envelope::Message(Message::default())));
    assert_eq!(envelope(b"42"), Ok(Envelope::Other));
}

#[test]
fn marks_are_of_the_last_result_and_its_own_members() {
    for (text, is_error, result_type) in [
        (r#"{"result":{"isError":true,"content":[{"isError":0}],"result\u0054ype":"x"}}"#, Some("true"), Some("\"x\"")),
        (r#"{"result":{"x":{"isError":true}},"isError":1,"resultType":2}"#, None, None),
        (r#"{"result":{"isError":true},"result":{"resultType":"a","resultType": "b" }}"#, None, Some("\"b\"")),
        (r#"{"result":{"isError":true},"result":[]}"#, None, None),
        (r#"{"result":{ },"error":{"isError":true}}"#, None, None),
    ] {
        let Ok(Envelope::Message(message)) = envelope(text.as_bytes()) else { panic!("{text}") };
        let said = |range: Option<std::ops::Range<usize>>| range.map(|range| &text[range]);
        assert_eq!((said(message.marks.is_error), said(message.marks.result_type)), (is_error, result_type), "{text}");
    }
    for bad in [r#"{"result":{"isError"}}"#, r#"{"result":{"a":1,}}"#, r#"{"result":{"a":1"#, r#"{"result":{,}}"#] {
        assert!(envelope(bad.as_bytes()).is_err(), "{bad}");
    }
}

#[test]
fn scalars_and_ranges() {
    let text = r#"[-5, 7.0, "7", true, null]"#;
    let all: Vec<_> = raw(text).elements().collect();
    assert_eq!((all[0].as_i64(), all[0].as_u64(), all[0].as_f64()), (Some(-5), None, Some(-5.0)));
    assert_eq!((all[1].as_i64(), all[1].as_f64()), (None, Some(7.0)));
    assert_eq!((all[2].as_i64(), all[2].as_f64(), all[2].body()), (None, None, Some("7")));
    assert_eq!((all[3].as_bool(), all[3].is_null(), all[4].is_null()), (Some(true), false, true));
    assert_eq!(all[1].range_in(text), Some(5..8));
    assert_eq!(all[1].range_in(&text[6..]), None);
    assert_eq!(raw("[1]").members().count() + raw("{\"a\":1}").elements().count() + raw("1").elements().count(), 0);
}
