//! What servers ask of the host and tell it by streams of their own, and subscriptions.

use serde_json::{Value, json};

use crate::common::until;
use crate::hostile_http::Server;
use crate::hostile_http::http::Received;
use crate::received;
use crate::support::{Host, accept, answer};

/// A server, and a host with queues.
fn host(behaviour: &str, era: &str, options: &[&str], settings: Value) -> (Server, Host) {
    let server = Server::start(behaviour, &[&["--era", era], options].concat());
    let host = Host::new(json!({"url": server.url()}), settings);
    if era == "legacy" {
        until("the GET stream", || !received(&server, "GET").is_empty());
    }
    (server, host)
}

fn tell(host: &Host, method: &str, params: Value) {
    host.call("tell", json!({"method": method, "params": params})).ok();
}

/// The filters of all subscriptions so far.
fn subscribed(server: &Server) -> Vec<Value> {
    let filter = |listen: &Received| listen.message()["params"]["notifications"]["resourceSubscriptions"].clone();
    received(server, "subscriptions/listen").iter().map(filter).collect()
}

#[test]
fn a_question_on_either_stream_is_answered_by_a_post_of_the_session() {
    for aside in ["post", "get"] {
        let (server, host) = host("asks-elicitation", "legacy", &["--aside", aside], json!({"elicitation": true}));
        let call = host.begin("odd", json!({}), None);
        let (id, asked) = host.asked();
        assert_eq!((&asked["server"], &asked["kind"]), (&json!("s"), &json!("input")));
        answer(id, accept(json!({"confirmed": false}))).ok();
        let said = host.end(call).json();
        assert_eq!(said["result"], json!({"action": "accept", "content": {"confirmed": false}}));
        let answers = received(&server, "");
        assert_eq!(answers.len(), 1);
        assert_eq!(answers[0].header("mcp-session-id"), Some("session-0"));
        assert_eq!(answers[0].header("mcp-protocol-version"), Some("2025-11-25"));
    }
}

#[test]
fn a_changed_list_is_heard_on_the_get_stream() {
    let (server, host) = host("changes-tools", "legacy", &["--aside", "get"], json!({}));
    host.call("odd", json!({})).ok();
    assert_eq!(host.notice("tools_changed"), json!({"kind": "tools_changed", "server": "s"}));
    assert!(host.tool_names().contains(&"s_added-1".to_owned()), "{:?}", host.tool_names());
    assert_eq!(received(&server, "tools/list").len(), 2);
}

#[test]
fn a_get_stream_that_was_cut_is_opened_again_and_heard() {
    let (server, host) = host("announcer", "legacy", &["--aside", "get"], json!({}));
    server.hang_up();
    until("a second GET", || received(&server, "GET").len() >= 2);
    tell(&host, "notifications/resources/updated", json!({"uri": "fixture://a"}));
    assert_eq!(host.notice("resource_updated")["uri"], "fixture://a");
}

#[test]
fn a_legacy_subscription_survives_a_lost_session() {
    let (server, host) = host("announcer", "legacy", &["--aside", "get"], json!({}));
    for uri in ["fixture://a", "fixture://b"] {
        assert!(!host.request("resources/subscribe", json!({"uri": uri})).is_error);
    }
    assert!(!host.request("resources/unsubscribe", json!({"uri": "fixture://b"})).is_error);
    server.lose_sessions();
    host.call("echo", json!({"text": "x"})).ok();
    until("it is subscribed again", || received(&server, "resources/subscribe").len() == 3);
    let again = received(&server, "resources/subscribe").pop().unwrap();
    assert_eq!(again.header("mcp-session-id"), Some("session-1"));
    assert_eq!(again.message()["params"], json!({"uri": "fixture://a"}));
    until("the GET stream of the new session", || {
        received(&server, "GET").iter().any(|get| get.header("mcp-session-id") == Some("session-1"))
    });
    tell(&host, "notifications/resources/updated", json!({"uri": "fixture://a"}));
    assert_eq!(host.notice("resource_updated")["uri"], "fixture://a");
}

#[test]
fn a_modern_subscription_joins_the_one_that_is_kept_and_survives_a_restart() {
    let (server, host) = host("announcer", "modern", &[], json!({}));
    assert!(!host.request("resources/subscribe", json!({"uri": "fixture://b"})).is_error);
    let params = json!({"notifications": {"resourceSubscriptions": ["fixture://a", "fixture://b"]}});
    assert!(!host.request("subscriptions/listen", params).is_error);
    assert_eq!(subscribed(&server), [Value::Null, json!(["fixture://b"]), json!(["fixture://a", "fixture://b"])]);
    // The old ones are taken back by the end of their streams.
    until("the old streams are closed", || {
        let left: Vec<bool> = received(&server, "subscriptions/listen").iter().map(|listen| listen.left).collect();
        left == [true, true, false]
    });
    tell(&host, "notifications/resources/updated", json!({"uri": "fixture://a"}));
    assert_eq!(host.notice("resource_updated")["uri"], "fixture://a");
    host.restart();
    host.call("echo", json!({"text": "x"})).ok();
    until("it is subscribed again", || subscribed(&server).len() == 4);
    assert_eq!(subscribed(&server)[3], json!(["fixture://a", "fixture://b"]));
    host.close();
    until("all streams are closed", || server.open() == 0);
}

#[test]
fn a_modern_subscription_that_was_cut_is_made_again() {
    let (server, host) = host("announcer", "modern", &[], json!({}));
    assert!(!host.request("resources/subscribe", json!({"uri": "fixture://a"})).is_error);
    server.hang_up();
    until("it is made again", || subscribed(&server).len() >= 3);
    assert_eq!(subscribed(&server).last(), Some(&json!(["fixture://a"])));
    tell(&host, "notifications/resources/updated", json!({"uri": "fixture://a"}));
    assert_eq!(host.notice("resource_updated")["uri"], "fixture://a");
}

#[test]
fn a_server_that_crashes_in_a_call_ends_it_and_nothing_else() {
    for era in crate::ERAS {
        let (_server, host) = host("announcer", era, &[], json!({}));
        host.call("crash", json!({})).failed("TN_E_TRANSPORT", "closed");
        host.call("echo", json!({"text": "x"})).ok();
    }
}
