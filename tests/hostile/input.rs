//! Servers that want something of the host, which has announced nothing but what its options say.

use serde_json::{Value, json};

use crate::common::{Context, GENEROUS, hostile, load_with};
use crate::{ERAS, connected, echoes, fails_at_once, odd, received};

fn rounds(lines: &[String]) -> usize {
    lines.iter().filter(|line| line.contains("\"name\":\"odd\"")).count()
}

#[test]
fn row_30_input_required_that_makes_no_sense() {
    for (behaviour, parts) in [
        ("input-required-empty", ["input", "neither"]),
        ("input-required-no-requests", ["input", "neither"]),
        ("input-required-odd-requests", ["inputRequests is an array", "expected an object"]),
        ("input-required-odd-state", ["requestState is a number", "expected a string"]),
        ("input-required-unknown-method", ["asks for", "no/such/method"]),
    ] {
        odd(behaviour, "modern", &[]).failed("TN_E_PROTOCOL", &parts).well_under(GENEROUS);
    }
    fails_at_once("input-required-on-list", &[], "list", &["tools/list", "input_required"]);
}

#[test]
fn row_31_input_required_for_ever_is_bounded() {
    let loaded = connected("input-required-forever-state", "modern", &[]);
    let done = loaded.call("s_odd", json!({}));
    done.failed("TN_E_PROTOCOL", &["input 10 times"]).well_under(GENEROUS);
    assert_eq!(rounds(&received(&loaded)), 11, "the call and ten rounds");
    let loaded = connected("input-required-forever", "modern", &[]);
    loaded.call("s_odd", json!({})).failed("TN_E_PROTOCOL", &["elicitation/create"]).well_under(GENEROUS);
    assert_eq!(rounds(&received(&loaded)), 1);
}

#[test]
fn row_31_the_deadline_covers_all_rounds() {
    let loaded = connected("input-required-forever-slow", "modern", &["--delay", "100"]);
    let done = loaded.call_with("s_odd", json!({}), &Context::deadline(350));
    done.failed("TN_E_TIMEOUT", &["deadline"]);
}

#[test]
fn a_state_alone_is_given_back_exactly() {
    let loaded = connected("input-required-state-once", "modern", &[]);
    // The server compares it, and has quotes, blanks, NUL and a four-byte character in it.
    assert_eq!(loaded.call("s_odd", json!({"x": 1})).ok(), "null");
    let calls: Vec<Value> = received(&loaded)
        .iter()
        .filter(|line| line.contains("\"name\":\"odd\""))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(calls.len(), 2);
    assert_ne!(calls[0]["id"], calls[1]["id"]);
    assert_eq!(calls[1]["params"]["arguments"], json!({"x": 1}));
    assert_eq!(calls[1]["params"].get("inputResponses"), None);
}

#[test]
fn row_32_what_was_not_announced_is_refused() {
    for (behaviour, method) in [
        ("asks-roots", "roots/list"),
        ("asks-sampling", "sampling/createMessage"),
        ("asks-elicitation", "elicitation/create"),
        ("asks-elicitation-url", "elicitation/create"),
    ] {
        // Legacy: on the wire.
        let done = odd(behaviour, "legacy", &[]);
        let answer: Value = serde_json::from_str(done.well_under(GENEROUS).ok()).unwrap();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!("ask"), &json!(-32601)), "{answer}");
        // Modern: the call fails, naming the method, and nothing is sent back.
        let loaded = connected(behaviour, "modern", &[]);
        let done = loaded.call("s_odd", json!({}));
        done.failed("TN_E_PROTOCOL", &[method]).well_under(GENEROUS);
        assert_eq!(rounds(&received(&loaded)), 1);
        echoes(&loaded);
    }
}

#[test]
fn roots_of_the_options_are_answered_by_the_library() {
    for era in ERAS {
        let options = json!({"roots": ["file:///a", "file:///b%20c"]});
        let loaded = load_with(json!({"s": hostile("asks-roots", &["--era", era])}), &options);
        let answer: Value = serde_json::from_str(loaded.call("s_odd", json!({})).ok()).unwrap();
        let roots = if era == "modern" { &answer["q"]["roots"] } else { &answer["result"]["roots"] };
        assert_eq!(roots, &json!([{"uri": "file:///a"}, {"uri": "file:///b%20c"}]), "{answer}");
    }
}
