//! Texts, envelopes and error objects, however they travel.

use crate::common::{GENEROUS, hostile, load_with};
use crate::{ERAS, connected, echoes, odd};
use serde_json::{Value, json};

#[test]
fn row_02_invalid_utf8_becomes_replacement_characters() {
    for era in ERAS {
        assert_eq!(odd("invalid-utf8", era, &[]).well_under(GENEROUS).ok(), "caf\u{fffd} \u{fffd}\u{fffd}!");
    }
}

#[test]
fn row_02_byte_order_mark_crlf_and_small_writes() {
    for behaviour in ["bom-crlf", "seven-byte-writes"] {
        for era in ERAS {
            assert_eq!(odd(behaviour, era, &[]).well_under(GENEROUS).ok(), "called odd");
        }
    }
}

#[test]
fn row_03_a_missing_jsonrpc_is_accepted() {
    for era in ERAS {
        assert_eq!(odd("no-jsonrpc", era, &[]).well_under(GENEROUS).ok(), "called odd");
    }
}

/// So small a limit that the tests do not have to move megabytes.
const LIMIT: u64 = 100_000;

#[test]
fn row_04_an_endless_reply_ends_its_call_at_the_limit() {
    for era in ERAS {
        let entry = hostile("endless-reply", &["--era", era]);
        let loaded = load_with(json!({"s": entry}), &json!({"maxMessageBytes": LIMIT}));
        let done = loaded.call("s_odd", json!({}));
        done.failed("TN_E_LIMIT", &["100000 bytes", "maxMessageBytes"]).well_under(GENEROUS);
    }
}

#[test]
fn row_05_a_reply_over_the_limit_fails_its_call_and_names_the_limit() {
    for era in ERAS {
        let entry = hostile("reply-over-limit", &["--era", era, "--bytes", "100001"]);
        let loaded = load_with(json!({"s": entry}), &json!({"maxMessageBytes": LIMIT}));
        let done = loaded.call("s_odd", json!({}));
        done.failed("TN_E_LIMIT", &["limit of 100000 bytes", "maxMessageBytes", "tool odd of server s"]);
        done.well_under(GENEROUS);
        echoes(&loaded);
    }
}

#[test]
fn row_05_a_reply_below_the_limit_arrives_whole() {
    let entry = hostile("big-result", &["--bytes", "99000"]);
    let loaded = load_with(json!({"s": entry}), &json!({"maxMessageBytes": LIMIT}));
    assert_eq!(loaded.call("s_odd", json!({})).ok().len(), 99_000);
}

#[test]
fn row_05_the_default_limit_is_64_mib() {
    let loaded = connected("reply-over-limit", "legacy", &[]);
    loaded.call("s_odd", json!({})).failed("TN_E_LIMIT", &["67108864"]).well_under(GENEROUS);
    echoes(&loaded);
}

#[test]
fn row_05_a_notification_over_the_limit_is_noise() {
    for era in ERAS {
        let entry = hostile("notification-over-limit", &["--era", era, "--bytes", "100001"]);
        let loaded = load_with(json!({"s": entry}), &json!({"maxMessageBytes": LIMIT}));
        assert_eq!(loaded.call("s_odd", json!({})).well_under(GENEROUS).ok(), "called odd");
    }
}

#[test]
fn broken_replies_end_their_call_at_once() {
    for behaviour in ["broken-reply-cut", "broken-reply-no-id", "broken-reply-late-id", "unparsable-raw-control-char"] {
        for era in ERAS {
            let done = odd(behaviour, era, &[]);
            done.failed("TN_E_PROTOCOL", &["not valid JSON", "at byte"]).well_under(GENEROUS);
        }
    }
}

#[test]
fn broken_messages_that_are_no_replies_of_ours_disturb_nothing() {
    for behaviour in ["broken-reply-foreign-id", "broken-notification", "foreign-response-ids", "reply-twice"] {
        for era in ERAS {
            assert_eq!(odd(behaviour, era, &[]).well_under(GENEROUS).ok(), "called odd", "{behaviour}");
        }
    }
}

#[test]
fn our_ids_are_ours_as_strings_and_as_floats() {
    for behaviour in ["id-as-string", "id-as-float"] {
        for era in ERAS {
            assert_eq!(odd(behaviour, era, &[]).well_under(GENEROUS).ok(), "called odd");
        }
    }
}

#[test]
fn texts_keep_what_they_hold() {
    for era in ERAS {
        let done = odd("nul-and-4byte", era, &[]);
        assert_eq!(done.ok(), "a\0b \u{1f600} \u{1f600}");
        // The document has the server's own bytes.
        assert!(done.json.contains(r"a\u0000b \ud83d\ude00 😀"), "{}", done.json);
        let done = odd("lone-surrogate", era, &[]);
        assert_eq!(done.ok(), "a\u{fffd}b");
        assert!(done.json.contains(r#""text":"a\ud800b""#), "{}", done.json);
    }
}

#[test]
fn a_result_nested_deep_is_passed_on() {
    for era in ERAS {
        let done = odd("deep-nesting-reply", era, &[]);
        let nested = format!(r#"{{"a":{}{}}}"#, "[".repeat(10_000), "]".repeat(10_000));
        assert_eq!(done.ok(), nested);
        assert!(done.json.contains(&format!("\"structured\":{nested}")));
    }
}

#[test]
fn what_is_untouched_is_so_byte_for_byte() {
    let own = r#"{ "big": 123456789012345678901234567890, "exp": 1E400, "zero": 1.50, "neg": -0, "a": 1, "a": 2, "\u0041": "\/" }"#;
    for era in ERAS {
        let loaded = connected("untouched", era, &[]);
        let done = loaded.call("s_odd", json!({}));
        assert!(done.json.contains(&format!("\"structured\":{own}")), "{}", done.json);
        let compact =
            r#"{"big":123456789012345678901234567890,"exp":1E400,"zero":1.50,"neg":-0,"a":1,"a":2,"\u0041":"\/"}"#;
        assert_eq!(done.ok(), compact);
        let reply = loaded.request("s", "tools/call", &json!({"name": "odd", "arguments": {}}));
        assert_eq!(reply.json, format!(r#"{{"structuredContent":{own},"content":[],"isError":false}}"#));
    }
}

#[test]
fn row_17_error_null_beside_a_result_is_a_result() {
    for era in ERAS {
        assert_eq!(odd("result-and-error-null", era, &[]).well_under(GENEROUS).ok(), "called odd");
    }
}

#[test]
fn row_17_result_and_error_both() {
    for era in ERAS {
        odd("result-and-error-both", era, &[])
            .failed("TN_E_PROTOCOL", &["both a result and an error"])
            .well_under(GENEROUS);
    }
}

#[test]
fn row_17_neither_result_nor_error() {
    for era in ERAS {
        odd("no-result-no-error", era, &[])
            .failed("TN_E_PROTOCOL", &["neither a result nor an error"])
            .well_under(GENEROUS);
        odd("result-null-error-null", era, &[])
            .failed("TN_E_PROTOCOL", &["null as result", "expected an object"])
            .well_under(GENEROUS);
    }
}

#[test]
fn row_18_batches_are_unpacked() {
    for behaviour in ["batch-array", "batch-mixed"] {
        for era in ERAS {
            assert_eq!(odd(behaviour, era, &[]).well_under(GENEROUS).ok(), "called odd");
        }
    }
}

#[test]
fn row_19_malformed_error_objects_are_their_calls_error() {
    let rows: &[(&str, &str, Value)] = &[
        ("error-no-message", "-32000", json!({"code": -32000})),
        ("error-no-code", "broken", json!({"message": "broken"})),
        ("error-string", "broken", json!("broken")),
        ("error-number", "-32000", json!(-32000)),
        ("error-array", "[\"broken\",1]", json!(["broken", 1])),
        ("error-empty", "{}", json!({})),
        ("error-null", "null", json!(null)),
        ("error-float-code", "broken", json!({"code": -32000.5, "message": "broken"})),
        ("error-string-code", "broken", json!({"code": "E_BROKEN", "message": "broken"})),
        ("error-huge-code", "broken", json!({"code": 9_999_999_999_999_999_999_u64, "message": "broken"})),
        ("error-message-object", "broken", json!({"code": -32000, "message": {"text": "broken"}})),
        (
            "error-with-data",
            "broken",
            json!({"code": -32042, "message": "broken",
            "data": {"elicitations": [], "why": "a test"}}),
        ),
    ];
    for (behaviour, said, data) in rows {
        for era in ERAS {
            let done = odd(behaviour, era, &[]);
            done.failed("TN_E_SERVER", &[said]).well_under(GENEROUS);
            let error = &done.doc()["error"];
            assert_eq!((&error["code"], &error["data"]), (&json!("server"), data), "{behaviour}: {error}");
            assert_eq!((&error["phase"], &error["server"]), (&json!("call"), &json!("s")), "{error}");
        }
    }
}
