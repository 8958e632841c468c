//! Processes that end and are started again, and what the host hears of it; what is written to a pipe for a subscription.

use serde_json::{Value, json};

use crate::live::{host, subscribed, tell};
use crate::support::{ERAS, Host, hostile};

#[test]
fn a_crash_and_the_new_start_are_announced() {
    for era in ERAS {
        let host = host(era, "announcer");
        host.call("crash", json!({})).failed("TN_E_TRANSPORT", "status 3");
        let gone = host.notice("server");
        assert_eq!(gone["status"], "failed");
        assert!(gone["reason"].as_str().unwrap().contains("status 3"), "{gone}");
        host.call("echo", json!({"text": "x"})).ok();
        assert_eq!(host.notice("server"), json!({"kind": "server", "server": "s", "status": "connected"}));
        // On purpose it is no failure.
        host.restart();
        assert_eq!(host.notice("server")["status"], "connected");
    }
}

#[test]
fn a_new_start_that_fails_is_announced() {
    let state = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-once", std::process::id()));
    let script = format!(
        "[ -e '{0}' ] && {{ echo no more >&2; exit 5; }}; touch '{0}'; exec '{1}' announcer",
        state.display(),
        crate::support::example("hostile-server").display()
    );
    let server = json!({"command": "/bin/sh", "args": ["-c", script], "restart": {"max": 1, "backoffMs": 1}});
    let host = Host::new(server, json!({}));
    host.call("crash", json!({})).failed("TN_E_TRANSPORT", "status 3");
    assert_eq!(host.notice("server")["status"], "failed");
    host.call("echo", json!({"text": "x"})).failed("TN_E_TRANSPORT", "status 5");
    let failed = host.notice("server");
    assert!(failed["status"] == "failed" && failed["reason"].as_str().unwrap().contains("status 5"), "{failed}");
    let _ = std::fs::remove_file(state);
}

#[test]
fn a_modern_subscription_joins_the_one_that_is_kept_and_survives_a_restart() {
    let host = host("modern", "announcer");
    let done = host.request("resources/subscribe", json!({"uri": "fixture://b"}));
    assert_eq!(done.doc["notifications"]["resourceSubscriptions"], json!(["fixture://b"]), "{done:?}");
    assert_eq!(done.doc["notifications"]["toolsListChanged"], true);
    let params = json!({"notifications": {"resourceSubscriptions": ["fixture://a", "fixture://b"]}});
    let done = host.request("subscriptions/listen", params);
    assert_eq!(done.doc["notifications"]["resourceSubscriptions"], json!(["fixture://a", "fixture://b"]));
    // Again: nothing new, so nothing is sent.
    assert!(!host.request("resources/subscribe", json!({"uri": "fixture://a"})).is_error);
    assert_eq!(subscribed(&host), [Value::Null, json!(["fixture://b"]), json!(["fixture://a", "fixture://b"])]);
    // Each old one is taken back, and only after the new one began.
    let messages = host.received();
    let place = |what: &dyn Fn(&Value) -> bool| messages.iter().position(what).expect("it was sent");
    let listens: Vec<&Value> = messages.iter().filter(|m| m["method"] == "subscriptions/listen").collect();
    for pair in listens.windows(2) {
        let begun = place(&|m| m["id"] == pair[1]["id"]);
        let ended = place(&|m| m["method"] == "notifications/cancelled" && m["params"]["requestId"] == pair[0]["id"]);
        assert!(begun < ended);
    }
    tell(&host, "notifications/resources/updated", json!({"uri": "fixture://a"}));
    assert_eq!(host.notice("resource_updated")["uri"], "fixture://a");

    host.restart();
    host.call("echo", json!({"text": "x"})).ok();
    assert_eq!(subscribed(&host), [json!(["fixture://a", "fixture://b"])]);
    assert!(!host.request("resources/unsubscribe", json!({"uri": "fixture://b"})).is_error);
    assert_eq!(subscribed(&host).last().unwrap(), &json!(["fixture://a"]));
}

#[test]
fn a_legacy_subscription_survives_a_crash() {
    let host = host("legacy", "announcer");
    for uri in ["fixture://a", "fixture://b"] {
        assert!(!host.request("resources/subscribe", json!({"uri": uri})).is_error);
    }
    assert!(!host.request("resources/unsubscribe", json!({"uri": "fixture://b"})).is_error);
    host.call("crash", json!({})).failed("TN_E_TRANSPORT", "status 3");
    host.call("echo", json!({"text": "x"})).ok();
    let again = host.received_of("resources/subscribe");
    assert_eq!(again.len(), 1);
    assert_eq!(again[0]["params"], json!({"uri": "fixture://a"}));
    tell(&host, "notifications/resources/updated", json!({"uri": "fixture://a"}));
    assert_eq!(host.notice("resource_updated")["uri"], "fixture://a");
}

#[test]
fn the_end_of_the_process_ends_a_task() {
    let host = Host::new(hostile("tasks", &[]), json!({}));
    host.call("crash", json!({})).failed("TN_E_TRANSPORT", "status 3");
}
