use serde_json::{Value, json};

use super::*;

fn tool(text: &str) -> ToolResult<'_> {
    tool_result(Raw::parse(text).unwrap()).unwrap()
}

fn read(text: &str) -> ReadResult<'_> {
    read_result(Raw::parse(text).unwrap()).unwrap()
}

fn parts(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// The output of a result, and how many warnings there are.
fn said(text: &str) -> (String, usize) {
    let result = tool(text);
    parts(&result.parts);
    (result.output, result.warnings.items.len())
}

#[test]
fn texts_then_embedded_texts_by_line() {
    let result = tool(
        r#"{"content":[{"type":"resource","resource":{"uri":"x","text":"c"}},{"type":"text","text":"a\n"},
            {"text":"b","type":"text","annotations":{"text":"no"}},{"type":"image","data":"AAAA","mimeType":"image/png"}]}"#,
    );
    assert_eq!((result.output.as_str(), result.is_error), ("a\n\nb\nc", false));
    assert_eq!(parts(&result.parts), json!([{"type":"image","mimeType":"image/png","content":3}]));
    assert!(result.warnings.is_empty() && result.structured.is_none());
    assert!(result.content.unwrap().text().starts_with(r#"[{"type":"resource","#));
    assert_eq!(said(r#"{"content":[{"type":"text","text":""},{"type":"text","text":"x"}]}"#), ("\nx".into(), 0));
}

#[test]
fn structured_content_counts_before_text_and_null_is_none() {
    let both =
        r#"{"structuredContent": { "a b" : [ 1, "\ud800 x" ] , "n":1.0e5},"content":[{"type":"text","text":"t"}]}"#;
    assert_eq!(said(both), (r#"{"a b":[1,"\ud800 x"],"n":1.0e5}"#.into(), 0));
    assert_eq!(tool(both).structured.unwrap().text(), r#"{ "a b" : [ 1, "\ud800 x" ] , "n":1.0e5}"#);
    for (structured, output) in [("[ 1 ]", "[1]"), ("\"s\"", "\"s\""), ("false", "false"), ("null", "t")] {
        let text = format!(r#"{{"structuredContent":{structured},"content":[{{"type":"text","text":"t"}}]}}"#);
        assert_eq!(said(&text), (output.into(), 0));
    }
    assert_eq!(said(r#"{"structuredContent":{}}"#), ("{}".into(), 0));
}

#[test]
fn errors_are_their_spoken_texts() {
    let text = |flag: &str, content: &str| {
        tool(&format!(r#"{{"content":{content},"structuredContent":{{"x":1}},"isError":{flag}}}"#)).output
    };
    let content = r#"[{"type":"text","text":" "},{"type":"text","text":"one "},{"type":"text","text":"\n\t"},
        {"type":"text","text":"two"},{"type":"resource","resource":{"text":"no"}}]"#;
    assert_eq!(text("true", content), "one \n\ntwo");
    assert_eq!(text("\"true\"", content), "one \n\ntwo");
    assert_eq!(text("false", content), r#"{"x":1}"#);
    assert_eq!(text("null", content), r#"{"x":1}"#);
    for nothing in ["[]", "null", r#"[{"type":"text","text":"\u0020"}]"#, r#"[{"type":"image","data":""}]"#] {
        assert_eq!(text("true", nothing), "MCP tool returned an error");
    }
    let odd = tool(r#"{"isError":1}"#);
    assert!(!odd.is_error && odd.warnings.items[0].contains("isError is a number"));
    let quoted = tool(r#"{"isError":"true"}"#);
    assert!(quoted.is_error && quoted.warnings.items[0].contains("isError is a string"));
}

#[test]
fn parts_are_described_when_there_is_no_text() {
    let result = tool(
        r#"{"content":[{"type":"text","text":""},{"type":"image","data":"QUJD","mimeType":"image/png"},
        {"type":"audio","data":"QUI="},{"type":"resource_link","uri":"file:///a\u0062","name":"n","mimeType":7},
        {"type":"resource","resource":{"uri":"u:\ud800","blob":"QQ==","mimeType":"a/b\nc"}}]}"#,
    );
    assert_eq!(
        result.output,
        "image (image/png, 3 bytes)\naudio (application/octet-stream, 2 bytes)\n\
         file (application/octet-stream, 0 bytes)\nfile (a/b c, 1 bytes)"
    );
    // The lone surrogate stays as it was written; serde_json would refuse it.
    assert_eq!(
        parts(&result.parts.replace("\\ud800", "?")),
        json!([{"type":"image","mimeType":"image/png","content":1},
            {"type":"audio","mimeType":"application/octet-stream","content":2},
            {"type":"file","mimeType":"application/octet-stream","url":"file:///ab","name":"n","content":3},
            {"type":"file","mimeType":"a/b\nc","name":"u:?","content":4}])
    );
    assert!(result.warnings.is_empty());
}

#[test]
fn base64_is_measured_and_not_decoded() {
    for (body, size) in [
        ("", 0),
        ("QQ==", 1),
        ("QUI=", 2),
        ("QUJD", 3),
        ("QUI", 2),
        ("!!!!", 3),
        ("====", 0),
        (r"\/\/\/\/", 3),
        (r"QUJD\r\nQQ==", 4),
        (r"\u0051UI\u003d", 3),
        ("\\", 0),
    ] {
        assert_eq!(decoded_len(body), size, "{body}");
    }
}

#[test]
fn what_is_not_understood_costs_only_itself() {
    for odd in [
        r#"{"type":"hologram","text":"no"}"#,
        r#"{"type":"text"}"#,
        r#"{"type":"text","text":5}"#,
        r#"{"type":"image","mimeType":"image/png"}"#,
        r#"{"type":"resource_link"}"#,
        r#"{"type":"resource","resource":"x"}"#,
        r#"{"type":"resource","resource":{"uri":"x"}}"#,
        r#"{"text":"untyped"}"#,
        r#"{"type":null,"text":"x"}"#,
        "{}",
        "42",
        "null",
        "[[\"]\"]]",
    ] {
        let text = format!(r#"{{"content":[{{"type":"text","text":"a"}},{odd},{{"type":"text","text":"b"}}],"x":0}}"#);
        let result = tool(&text);
        assert_eq!((result.output.as_str(), &*result.parts), ("a\nb", "[]"), "{odd}");
        assert_eq!(result.warnings.items.len(), 1, "{odd}");
        assert!(result.warnings.items[0].starts_with("content[1] "), "{}", result.warnings.items[0]);
        assert!(result.content.unwrap().text().contains(odd));
    }
    assert_eq!(said(r#"{"content":["bare",{"type":"text","text":"b"}]}"#), ("bare\nb".into(), 1));
    assert_eq!(said(r#"{"content":"all of it"}"#), ("all of it".into(), 1));
    assert_eq!(said(r#"{"content":{"type":"text","text":"b"}}"#), (String::new(), 1));
    assert_eq!(said(r#"{"content":null}"#), (String::new(), 0));
    assert_eq!(said("{}"), (String::new(), 0));
}

#[test]
fn results_that_are_no_objects_fail() {
    for (text, kind) in [("null", "null"), ("[]", "an array"), ("\"x\"", "a string"), ("1", "a number")] {
        let reason = format!("the result is {kind}, expected an object");
        assert_eq!(tool_result(Raw::parse(text).unwrap()).unwrap_err(), reason);
        assert_eq!(read_result(Raw::parse(text).unwrap()).unwrap_err(), reason);
    }
}

#[test]
fn the_last_of_a_repeated_member_counts() {
    let text = r#"{"content":[{"type":"text","text":"old"},7],"isError":true,
        "content":[{"type":"text","text":"x","text":"new"}],"isError":false,"resultType":"complete"}"#;
    assert_eq!(said(text), ("new".into(), 0));
    assert_eq!(tool(text).result_type.unwrap().text(), "\"complete\"");
}

#[test]
fn surrogates_and_nul_reach_the_output() {
    assert_eq!(said(r#"{"content":[{"type":"text","text":"a\u0000\ud800\ud83d\ude00"}]}"#).0, "a\0\u{fffd}😀");
}

#[test]
fn a_big_text_is_copied_once() {
    let body = "line of text with a break\\n".repeat(40_000);
    let text = format!(r#"{{"content":[{{"type":"text","text":"{body}"}}]}}"#);
    let result = tool(&text);
    assert_eq!(result.output.len(), body.len() - 40_000);
    assert!(result.output.capacity() <= body.len() + 2);
}

#[test]
fn complaints_are_bounded() {
    let text = format!(r#"{{"content":[{}1]}}"#, "1,".repeat(5_000));
    let result = tool(&text);
    assert_eq!(result.warnings.items.len() + result.warnings.more, 5_001);
    assert!(result.warnings.items.len() <= 100);
}

#[test]
fn resource_contents_in_their_order() {
    let result = read(
        r#"{"contents":[{"uri":"a","text":"one"},{"uri":"b","blob":"QUJD","mimeType":"image/png"},5,{"uri":"c"},
        {"uri":"d","mimeType":"text/plain","text":"two"}],"ttlMs":-5.5}"#,
    );
    assert_eq!(result.output, "one\nfile (image/png, 3 bytes)\ntwo");
    assert_eq!(parts(&result.parts), json!([{"type":"file","mimeType":"image/png","name":"b","content":1}]));
    assert_eq!(result.warnings.items.len(), 2);
    assert!(result.contents.unwrap().text().ends_with("\"two\"}]"));
    assert_eq!(read(r#"{"contents":[{"text":""},{"text":"x"}]}"#).output, "\nx");
}

#[test]
fn empty_or_odd_contents_give_an_empty_text() {
    for (text, warnings) in [
        (r#"{"contents":[]}"#, 0),
        (r#"{"contents":[{"uri":"u","text":""}]}"#, 0),
        (r#"{"contents":null}"#, 1),
        (r#"{"contents":{"text":"x"}}"#, 1),
        ("{}", 1),
    ] {
        let result = read(text);
        assert_eq!((result.output.as_str(), &*result.parts), ("", "[]"));
        assert_eq!(result.warnings.items.len(), warnings, "{text}");
    }
}
