//! Sources that change, and what the host hears of it.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{ERAS, Host, NOTICE, hostile, of_era};

pub fn host(era: &str, behaviour: &str) -> Host {
    Host::new(of_era(era, behaviour), json!({}))
}

pub fn tell(host: &Host, method: &str, params: Value) {
    host.call("tell", json!({"method": method, "params": params})).ok();
}

#[test]
fn a_changed_tool_list_is_read_anew_and_announced() {
    for era in ERAS {
        let host = host(era, "changes-tools");
        assert_eq!(host.tool_names().len(), 4);
        host.call("odd", json!({})).ok();
        assert_eq!(host.notice("tools_changed"), json!({"kind": "tools_changed", "server": "s"}));
        assert!(host.tool_names().contains(&"s_added-1".to_owned()), "{:?}", host.tool_names());
        host.call("added-1", json!({})).ok();
    }
}

#[test]
fn a_source_that_is_not_live_keeps_its_list() {
    for era in ERAS {
        let host = Host::new(of_era(era, "changes-tools"), json!({"liveTools": false}));
        host.call("odd", json!({})).ok();
        // The notification was written before the answer of odd.
        assert_eq!(host.received_of("tools/list").len(), 1);
        assert_eq!(host.received_of("subscriptions/listen").len(), 0);
        assert!(host.events.next_within(0).is_none());
        assert_eq!(host.tool_names().len(), 4);
    }
}

#[test]
fn a_burst_of_changes_is_one_list_a_second() {
    for era in ERAS {
        let host = host(era, "list-changed-flood");
        let began = Instant::now();
        // 2,000 changes each, for a while.
        while began.elapsed() < Duration::from_millis(1500) {
            host.call("odd", json!({})).ok();
        }
        let lists = host.received_of("tools/list").len() - 1;
        let most = began.elapsed().as_secs() as usize + 1;
        assert!((1..=most).contains(&lists), "{era}: {lists} lists in {:?}", began.elapsed());
        host.notice("tools_changed");
    }
}

#[test]
fn a_server_that_always_announces_is_read_less_and_less() {
    // Before the first can come: what a busy machine tells late must not make the rest look early.
    let began = Instant::now();
    let host = host("legacy", "list-changed-always");
    host.notice("tools_changed");
    host.notice("tools_changed");
    assert!(began.elapsed() > Duration::from_millis(900), "a second after the first");
    host.notice("tools_changed");
    assert!(began.elapsed() > Duration::from_millis(2_700), "then two");
}

#[test]
fn other_lists_and_resources_are_announced() {
    for era in ERAS {
        let host = host(era, "announcer");
        tell(&host, "notifications/resources/list_changed", json!({}));
        host.notice("resources_changed");
        tell(&host, "notifications/prompts/list_changed", json!({}));
        host.notice("prompts_changed");
        tell(&host, "notifications/resources/updated", json!({"uri": "fixture://\"a\""}));
        let expected = json!({"kind": "resource_updated", "server": "s", "uri": "fixture://\"a\""});
        assert_eq!(host.notice("resource_updated"), expected);
    }
}

#[test]
fn logs_of_the_server_are_notices() {
    for era in ERAS {
        let host = host(era, "announcer");
        let params = json!({"level": "warning", "logger": "db", "data": {"disk": ["full", 1.50]}});
        tell(&host, "notifications/message", params);
        let mut expected = json!({"kind": "server_log", "server": "s"});
        expected["level"] = json!("warning");
        expected["logger"] = json!("db");
        expected["data"] = json!({"disk": ["full", 1.5]});
        assert_eq!(host.notice("server_log"), expected);
    }
}

#[test]
fn a_modern_server_is_asked_for_what_it_announces() {
    let host = host("modern", "announcer");
    let filter = json!({"toolsListChanged": true, "resourcesListChanged": true, "promptsListChanged": true});
    let listens = host.received_of("subscriptions/listen");
    assert_eq!(listens.len(), 1);
    assert_eq!(listens[0]["params"]["notifications"], filter);
    assert_eq!(listens[0]["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
    // One that announces no changes is not asked, and neither is a legacy one.
    for (era, behaviour) in [("modern", "ordinary"), ("legacy", "announcer")] {
        assert!(self::host(era, behaviour).received_of("subscriptions/listen").is_empty());
    }
}

/// The filters of all subscriptions so far, without what is the same in each.
pub fn subscribed(host: &Host) -> Vec<Value> {
    let listens = host.received_of("subscriptions/listen");
    listens.iter().map(|listen| listen["params"]["notifications"]["resourceSubscriptions"].clone()).collect()
}

#[test]
fn a_modern_subscription_that_the_server_ends_is_made_again() {
    let host = host("modern", "announcer");
    assert!(!host.request("resources/subscribe", json!({"uri": "fixture://a"})).is_error);
    host.call("end-listen", json!({})).ok();
    let until = Instant::now() + Duration::from_secs(60);
    while subscribed(&host).len() < 3 {
        assert!(Instant::now() < until, "it was not made again");
        std::thread::sleep(Duration::from_millis(20));
    }
    tell(&host, "notifications/resources/updated", json!({"uri": "fixture://a"}));
    assert_eq!(host.notice("resource_updated")["uri"], "fixture://a");
}

#[test]
fn a_subscription_that_is_refused_says_why_and_spoils_nothing() {
    let host = host("modern", "refuses-listen");
    assert!(!host.request("resources/subscribe", json!({"uri": "fixture://a"})).is_error);
    host.request("resources/subscribe", json!({"uri": "refused://x"})).failed("TN_E_SERVER", "no such resource");
    // The next one has to wait for its own answer, which shows that the rest was subscribed again without it.
    assert!(!host.request("resources/subscribe", json!({"uri": "fixture://c"})).is_error);
    // Over HTTP the two come over two connections.
    assert!(subscribed(&host)[3..].contains(&json!(["fixture://a", "fixture://c"])), "{:?}", subscribed(&host));
}

#[test]
fn a_kept_subscription_does_not_hide_whose_a_broken_reply_is() {
    // The reply has no id that can be read: it is taken for the only call that is open.
    let host = Host::new(hostile("breaks-while-subscribed", &[]), json!({}));
    host.call("odd", json!({})).failed("TN_E_PROTOCOL", "not valid JSON");
}

#[test]
fn unread_notices_are_bounded_and_the_rest_is_counted() {
    let host = host("legacy", "announcer");
    for _ in 0..1100 {
        tell(&host, "notifications/resources/updated", json!({"uri": "fixture://a"}));
    }
    let mut kept = 0;
    let mut lost = 0;
    while let Some(event) = host.events.next_within(0) {
        assert_eq!(event.kind, NOTICE);
        kept += 1;
        lost += event.done.doc["lost"].as_u64().unwrap_or(0);
    }
    assert_eq!((kept, lost), (1024, 1100 - 1024));
}
