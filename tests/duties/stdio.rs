//! Duties 14 to 19: servers as processes.

use std::time::Duration;

use serde_json::json;

use crate::common::{hostile, hostile_within, load, scratch, until};
use crate::{ERAS, connected, echoes, received_of};

#[test]
fn duty_14_one_message_a_line_and_nothing_else() {
    for era in ERAS {
        let record = scratch("duty-14");
        let loaded = connected("noise-lines", era, &["--record", record.to_str().unwrap()]);
        let text = "one\ntwo\r\nthree\u{2028}";
        assert_eq!(loaded.call("s_echo", json!({"text": text})).ok(), text);
        loaded.request("s", "x", &serde_json::from_str("{\"a\":\n\n 1}").unwrap()).failed("TN_E_SERVER", &[]);
        drop(loaded);
        let lines = std::fs::read_to_string(record).unwrap();
        for line in lines.lines() {
            let message: serde_json::Value =
                serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
            assert!(message["method"].is_string(), "the noise was answered: {line}");
        }
    }
}

#[test]
fn duty_15_stderr_is_drained_and_no_error() {
    for era in ERAS {
        let loaded = connected("stderr-flood-in-call", era, &["--bytes", "1000000"]);
        assert_eq!(loaded.call("s_odd", json!({})).ok(), "called odd");
        echoes(&loaded);
    }
}

fn pid(loaded: &crate::common::Loaded) -> i64 {
    let process: serde_json::Value = serde_json::from_str(loaded.call("s_process", json!({})).ok()).unwrap();
    process["pid"].as_i64().unwrap()
}

/// A zombie does not run: whose child it became takes it away when it likes.
fn runs(pid: i64) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
}

#[test]
fn duty_16_the_end_of_stdin_then_sigterm_then_sigkill() {
    for (behaviour, at_least) in [("ordinary", 0), ("ignores-eof", 1_000), ("ignores-term", 3_000)] {
        let loaded = connected(behaviour, "modern", &[]);
        let pid = pid(&loaded);
        let closed = loaded.close();
        closed.ok();
        assert!(!runs(pid), "{behaviour}");
        assert!(closed.took >= Duration::from_millis(at_least), "{behaviour}: {:?}", closed.took);
    }
}

#[test]
fn duty_17_a_dead_server_is_started_again_with_what_it_was_asked_for() {
    for era in ERAS {
        let loaded = connected("announcer", era, &[]);
        let first = pid(&loaded);
        loaded.request("s", "resources/subscribe", &json!({"uri": "fixture://a"})).ok();
        assert!(loaded.call("s_crash", json!({})).is_error);
        assert_ne!(pid(&loaded), first);
        let (method, path) = match era {
            "legacy" => ("resources/subscribe", "/params/uri"),
            _ => ("subscriptions/listen", "/params/notifications/resourceSubscriptions/0"),
        };
        until("it is subscribed again", || {
            received_of(&loaded, method).iter().any(|asked| asked.pointer(path) == Some(&json!("fixture://a")))
        });
        // A read that was lost with the process is made once more; a call is not.
        let state = scratch("duty-17");
        let options = ["--at", "resources/read", "--state", state.to_str().unwrap()];
        let loaded = connected("crash-once-with-resources", era, &options);
        let read = loaded.resources("read_mcp_resource", json!({"server": "s", "uri": "fixture://hello"}));
        assert_eq!(read.ok(), "hello resource");
    }
}

#[test]
fn duty_18_whatever_is_no_modern_answer_to_the_probe_means_initialize() {
    for behaviour in
        ["discover-error-32603", "discover-error-null-id", "discover-empty", "discover-legacy-only", "exit-on-probe"]
    {
        let loaded = load(json!({"s": hostile(behaviour, &[])}));
        assert_eq!(loaded.server("s")["protocolVersion"], "2025-11-25", "{behaviour}: {}", loaded.document);
        echoes(&loaded);
    }
    // Silence too, after a window.
    let loaded = load(json!({"s": hostile_within(3_000, "silent-on-discover", &[])}));
    assert_eq!(loaded.server("s")["protocolVersion"], "2025-11-25");
    let lines = loaded.call("s_received", json!({}));
    assert!(lines.ok().lines().next().is_some_and(|first| first.contains("server/discover")), "{lines:?}");
}

#[test]
fn duty_19_the_whole_tree_ends() {
    let loaded = connected("leaves-grandchild", "modern", &[]);
    let process: serde_json::Value = serde_json::from_str(loaded.call("s_process", json!({})).ok()).unwrap();
    let grandchild: i64 = process["grandchild"].as_str().unwrap().parse().unwrap();
    assert!(runs(grandchild));
    loaded.close().ok();
    until("the grandchild is gone", || !runs(grandchild));
}
