//! Multi-round requests of 2026-07-28.

use serde_json::{Value, json};

use crate::support::{Host, accept, answer, hostile, refuse};

fn host(behaviour: &str) -> Host {
    let options = json!({"elicitation": true, "sampling": true, "roots": ["file:///work"]});
    Host::new(hostile(behaviour, &[]), options)
}

fn form(confirmed: bool) -> Value {
    json!({"action": "accept", "content": {"confirmed": confirmed}})
}

/// The calls of `odd` that the server got.
fn rounds(host: &Host) -> Vec<Value> {
    host.received_of("tools/call").into_iter().filter(|call| call["params"]["name"] == "odd").collect()
}

#[test]
fn the_request_is_repeated_with_the_answers_and_the_exact_state() {
    let host = host("input-required-once");
    let call = host.begin("odd", json!({"x": [1, {"y": "z"}]}), None);
    assert!(!answer(host.asked().0, accept(json!({"confirmed": false}))).is_error);
    assert_eq!(host.end(call).json(), json!({"q": form(false)}));
    let rounds = rounds(&host);
    assert_eq!(rounds.len(), 2);
    assert_ne!(rounds[0]["id"], rounds[1]["id"], "a new id");
    assert_eq!(rounds[0]["params"]["arguments"], rounds[1]["params"]["arguments"]);
    assert!(rounds[0]["params"].get("requestState").is_none());
    assert_eq!(rounds[1]["params"]["requestState"], "st.ate/with+special=chars \"quotes\"\n\t\u{0}é😀");
    let meta = &rounds[1]["params"]["_meta"];
    assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
    assert_eq!(meta["progressToken"], rounds[1]["id"]);
}

#[test]
fn a_state_that_was_not_given_is_not_sent() {
    let host = host("input-required-no-state");
    let call = host.begin("odd", json!({}), None);
    assert!(!answer(host.asked().0, accept(json!({}))).is_error);
    assert_eq!(host.end(call).json(), json!({"q": form(true)}));
}

#[test]
fn a_state_alone_is_given_back_and_nobody_is_asked() {
    let host = host("input-required-state-once");
    assert_eq!(host.call("odd", json!({})).ok(), "null");
    assert!(host.events.next_within(0).is_none());
    assert!(rounds(&host)[1]["params"].get("inputResponses").is_none());
}

#[test]
fn several_questions_are_open_at_once() {
    let host = host("input-required-mixed");
    let call = host.begin("odd", json!({}), None);
    let asked = [host.asked(), host.asked(), host.asked()];
    // The last first: the order of the answers does not matter.
    for (id, asked) in asked.iter().rev() {
        let message = json!({"role": "assistant", "content": {"type": "text", "text": "hi"}, "model": "m"});
        let reply = if asked["kind"] == "sampling" { accept(message) } else { refuse("declined") };
        assert!(!answer(*id, reply).is_error);
    }
    let got = host.end(call).json();
    assert_eq!(got["b"], json!({"action": "decline"}));
    assert_eq!(got["a \"quoted\""], json!({"action": "decline"}));
    assert_eq!(got["s"]["content"]["text"], "hi");
    assert_eq!(got["r"], json!({"roots": [{"uri": "file:///work"}]}));
    assert_eq!(got.as_object().unwrap().len(), 4);
}

#[test]
fn one_that_is_turned_down_takes_the_others_back() {
    let host = host("input-required-mixed");
    let call = host.begin("odd", json!({}), None);
    let asked = [host.asked(), host.asked(), host.asked()];
    let (sampling, forms): (Vec<_>, Vec<_>) = asked.into_iter().partition(|(_, asked)| asked["kind"] == "sampling");
    assert!(!answer(sampling[0].0, refuse("declined")).is_error);
    host.end(call).failed("TN_E_CANCELLED", "declin");
    let mut open: Vec<u64> = forms.iter().map(|(id, _)| *id).collect();
    let mut gone = [host.events.next().id, host.events.next().id];
    open.sort_unstable();
    gone.sort_unstable();
    assert_eq!(open, gone);
    assert_eq!(rounds(&host).len(), 1);
}

#[test]
fn rounds_are_bounded() {
    let host = host("input-required-forever");
    let call = host.begin("odd", json!({}), None);
    for _ in 0..10 {
        assert!(!answer(host.asked().0, accept(json!({}))).is_error);
    }
    host.end(call).failed("TN_E_PROTOCOL", "10 times");
    assert_eq!(rounds(&host).len(), 11);

    let host = self::host("input-required-forever-state");
    host.call("odd", json!({})).failed("TN_E_PROTOCOL", "10 times");
    assert_eq!(rounds(&host).len(), 11);
}

#[test]
fn input_that_is_not_said_is_an_error() {
    for (behaviour, says) in [
        ("input-required-empty", "inputRequests"),
        ("input-required-no-requests", "inputRequests"),
        ("input-required-odd-requests", "an array"),
    ] {
        let host = host(behaviour);
        host.call("odd", json!({})).failed("TN_E_PROTOCOL", says);
        assert_eq!(rounds(&host).len(), 1);
    }
}

#[test]
fn prompts_and_resources_may_ask_and_others_may_not() {
    let host = host("input-required-everywhere");
    for (method, params) in
        [("prompts/get", json!({"name": "p"})), ("resources/read", json!({"uri": "fixture://hello"}))]
    {
        let call = host.begin_request(method, params.clone());
        let (id, asked) = host.asked();
        assert!(asked.get("tool").is_none());
        assert!(!answer(id, accept(json!({}))).is_error);
        let done = host.end(call);
        assert!(!done.is_error, "{done:?}");
        assert_eq!(done.doc["content"][0]["text"], json!({"q": form(true)}).to_string());
        let got = host.received_of(method);
        assert_eq!(got.len(), 2);
        let key = params.as_object().unwrap().keys().next().unwrap();
        assert_eq!(got[1]["params"][key], params[key]);
    }
    host.request("completion/complete", json!({}))
        .failed("TN_E_PROTOCOL", "input_required, which is not allowed there");
    assert_eq!(host.received_of("completion/complete").len(), 1);
}

#[test]
fn a_list_may_not_ask() {
    let config = json!({"mcpServers": {"s": hostile("input-required-on-list", &[])}}).to_string();
    let doc = crate::support::load_document(&config);
    let server = &doc["servers"]["s"];
    assert_eq!((server["status"].as_str(), server["phase"].as_str()), (Some("failed"), Some("list")));
    assert!(server["reason"].as_str().unwrap().contains("input_required"), "{server}");
}

#[test]
fn a_legacy_server_cannot_ask_by_a_result() {
    // resultType means nothing before 2026-07-28.
    let host = Host::new(hostile("input-required-once", &["--era", "legacy"]), json!({}));
    host.call("odd", json!({})).failed("TN_E_PROTOCOL", "input_required");
    assert!(host.events.next_within(0).is_none());
}
