//! Duties 46 to 49: changes, subscriptions, progress, logs.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::ERAS;
use crate::support::{Host, of_era};

fn host(era: &str, behaviour: &str) -> Host {
    Host::new(of_era(era, behaviour), json!({}))
}

fn tell(host: &Host, method: &str, params: Value) {
    host.call("tell", json!({"method": method, "params": params})).ok();
}

#[test]
fn duty_46_one_subscription_asks_for_what_is_wanted_and_is_made_again() {
    let host = host("modern", "announcer");
    let changes = json!({"toolsListChanged": true, "resourcesListChanged": true, "promptsListChanged": true});
    assert_eq!(host.received_of("subscriptions/listen")[0]["params"]["notifications"], changes);
    // What the server acknowledged is what the host is told.
    let done = host.request("resources/subscribe", json!({"uri": "fixture://a"}));
    assert_eq!(done.doc["notifications"]["resourceSubscriptions"], json!(["fixture://a"]), "{done:?}");
    tell(&host, "notifications/resources/updated", json!({"uri": "fixture://a"}));
    assert_eq!(host.notice("resource_updated")["uri"], "fixture://a");
    host.restart();
    host.call("echo", json!({"text": "x"})).ok();
    let filter = &host.received_of("subscriptions/listen")[0]["params"]["notifications"];
    assert_eq!(filter["resourceSubscriptions"], json!(["fixture://a"]));
    // One that announces no changes is not asked for any.
    assert!(self::host("modern", "ordinary").received_of("subscriptions/listen").is_empty());
}

#[test]
fn duty_46_a_subscription_that_is_refused_is_an_error() {
    let host = host("modern", "refuses-listen");
    let done = host.request("resources/subscribe", json!({"uri": "fixture://refused"}));
    done.failed("TN_E_SERVER", "no such resource");
    assert!(!host.request("resources/subscribe", json!({"uri": "fixture://b"})).is_error);
}

#[test]
fn duty_47_legacy_servers_announce_unasked() {
    let host = host("legacy", "announcer");
    tell(&host, "notifications/tools/list_changed", json!({}));
    host.notice("tools_changed");
    assert_eq!(host.received_of("tools/list").len(), 2, "the list is read anew");
    tell(&host, "notifications/resources/list_changed", json!({}));
    host.notice("resources_changed");
    tell(&host, "notifications/prompts/list_changed", json!({}));
    host.notice("prompts_changed");
    assert!(!host.request("resources/subscribe", json!({"uri": "fixture://a"})).is_error);
    assert_eq!(host.received_of("resources/subscribe")[0]["params"]["uri"], "fixture://a");
    tell(&host, "notifications/resources/updated", json!({"uri": "fixture://a"}));
    assert_eq!(host.notice("resource_updated")["uri"], "fixture://a");
}

#[test]
fn duty_48_progress_tokens_are_unique_and_foreign_ones_nobodys() {
    for era in ERAS {
        let host = host(era, "progress-odd-values");
        for _ in 0..3 {
            assert_eq!(host.call("odd", json!({})).ok(), "called odd");
        }
        let calls = host.received_of("tools/call");
        let tokens: HashSet<String> =
            calls.iter().map(|call| call["params"]["_meta"]["progressToken"].to_string()).collect();
        assert_eq!((tokens.len(), tokens.contains("null")), (calls.len(), false));
        // Thousands are as good as few.
        let host = self::host(era, "progress-flood");
        assert_eq!(host.call("odd", json!({})).ok(), "called odd");
    }
}

#[test]
fn duty_49_logs_are_asked_for_by_the_host_alone() {
    for era in ERAS {
        let host = host(era, "announcer");
        host.call("echo", json!({"text": "x"})).ok();
        let level = "io.modelcontextprotocol/logLevel";
        let asks = |message: &Value| {
            message["method"] == "logging/setLevel" || message["params"]["_meta"].get(level).is_some()
        };
        assert!(!host.received().iter().any(asks));
        // By the means of its era, through a request of its own.
        host.request("logging/setLevel", json!({"level": "warning"}));
        host.request("prompts/list", json!({"_meta": {level: "warning"}}));
        assert_eq!(host.received().iter().filter(|message| asks(message)).count(), 2);
        tell(&host, "notifications/message", json!({"level": "warning", "data": "the disk is full"}));
        assert_eq!(host.notice("server_log")["data"], "the disk is full");
    }
}
