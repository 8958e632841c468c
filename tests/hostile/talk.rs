//! What servers say in the middle of a call, however it travels.

use crate::common::{Context, GENEROUS, hostile, load, until};
use crate::{ERAS, connected, echoes, odd, received};
use serde_json::json;
use std::time::Duration;

#[test]
fn row_16_unknown_and_malformed_notifications_are_ignored() {
    for era in ERAS {
        for behaviour in ["unknown-notifications", "malformed-notifications", "cancels-our-call"] {
            assert_eq!(odd(behaviour, era, &[]).well_under(GENEROUS).ok(), "called odd", "{behaviour}");
        }
    }
}

#[test]
fn row_16_an_unknown_request_is_refused_and_ping_answered() {
    for behaviour in ["unknown-request-method", "asks-malformed"] {
        let done = odd(behaviour, "legacy", &[]);
        let answer: serde_json::Value = serde_json::from_str(done.well_under(GENEROUS).ok()).unwrap();
        let code = answer["error"]["code"].as_i64().unwrap();
        assert!(code == -32601 || code == -32602, "{behaviour}: {answer}");
    }
    let done = odd("asks-ping", "legacy", &[]);
    let answer: serde_json::Value = serde_json::from_str(done.ok()).unwrap();
    assert_eq!((&answer["id"], &answer["result"]), (&json!("ask"), &json!({})));
}

#[test]
fn row_33_requests_of_a_modern_server_are_never_answered() {
    let loaded = connected("server-request-modern", "modern", &[]);
    assert_eq!(loaded.call("s_odd", json!({})).well_under(GENEROUS).ok(), "called odd");
    echoes(&loaded);
    for line in received(&loaded) {
        assert!(line.contains("\"method\""), "a response was written: {line}");
    }
    // The same requests of a legacy server are answered, each of them.
    let loaded = connected("server-request-modern", "legacy", &[]);
    loaded.call("s_odd", json!({})).ok();
    until("four responses", || received(&loaded).iter().filter(|line| !line.contains("\"method\"")).count() == 4);
}

#[test]
fn row_35_the_servers_own_time_out_counts_where_the_call_has_none() {
    let mut entry = hostile("never-answers", &[]);
    entry["callTimeout"] = json!(1_000);
    let loaded = load(json!({"s": entry}));
    loaded.call("s_odd", json!({})).failed("TN_E_TIMEOUT", &["no answer for 1000 ms"]);
}

#[test]
fn row_35_a_deadline_is_absolute() {
    for behaviour in ["never-answers", "progress-forever"] {
        let loaded = connected(behaviour, "modern", &[]);
        let done = loaded.call_with("s_odd", json!({}), &Context::deadline(300));
        done.failed("TN_E_TIMEOUT", &["deadline of 300 ms"]);
        echoes(&loaded);
    }
}

#[test]
fn row_36_a_flood_of_progress_and_of_changes() {
    for era in ERAS {
        for behaviour in ["progress-flood", "progress-odd-values", "progress-after-reply", "list-changed-flood"] {
            assert_eq!(odd(behaviour, era, &[]).well_under(GENEROUS).ok(), "called odd", "{behaviour}");
        }
        let loaded = connected("list-changed-always", era, &[]);
        echoes(&loaded);
        let lists = received(&loaded).iter().filter(|line| line.contains("\"tools/list\"")).count();
        assert!(lists <= 2, "{lists} lists");
    }
}

#[test]
fn progress_of_others_does_not() {
    for era in ERAS {
        let loaded = connected("progress-foreign-token", era, &["--interval", "20"]);
        let done = loaded.call_with("s_odd", json!({}), &Context::idle(300));
        done.failed("TN_E_TIMEOUT", &["no answer for 300 ms"]);
        assert!(done.took < Duration::from_millis(300) * 20, "{:?}", done.took);
        echoes(&loaded);
    }
}

#[test]
fn arguments_that_are_no_object_are_a_result_that_a_model_can_read() {
    let loaded = connected("ordinary", "modern", &[]);
    for arguments in ["[]", "7", "{", "null", "\"x\""] {
        let done = loaded.tool("s_echo").call(arguments, None);
        done.failed("TN_E_JSON", &["JSON object"]);
    }
    assert!(!received(&loaded).iter().any(|line| line.contains("\"echo\"")));
}
