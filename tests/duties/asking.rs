//! Duties 39 to 45: what servers ask of the host.

use std::io::ErrorKind;
use std::net::TcpListener;

use serde_json::{Value, json};

use crate::ERAS;
use crate::support::{Host, accept, answer, hostile, of_era, refuse};

fn all() -> Value {
    json!({"elicitation": true, "sampling": true, "roots": ["file:///work"]})
}

/// The calls of `odd` that the server got.
fn rounds(host: &Host) -> Vec<Value> {
    host.received_of("tools/call").into_iter().filter(|call| call["params"]["name"] == "odd").collect()
}

/// What the server was answered: a response, or the answer in the map of a round.
fn told(era: &str, said: &Value) -> Value {
    if era == "legacy" { said["result"].clone() } else { said["q"].clone() }
}

#[test]
fn duty_39_input_is_given_with_the_exact_state_under_a_new_id() {
    let host = Host::new(hostile("input-required-once", &[]), all());
    let call = host.begin("odd", json!({"x": 1}), None);
    assert!(!answer(host.asked().0, accept(json!({"confirmed": true}))).is_error);
    assert_eq!(host.end(call).json()["q"]["action"], "accept");
    let rounds = rounds(&host);
    assert_eq!(rounds.len(), 2);
    assert_ne!(rounds[0]["id"], rounds[1]["id"]);
    assert_eq!(rounds[0]["params"]["arguments"], rounds[1]["params"]["arguments"]);
    assert_eq!(rounds[1]["params"]["requestState"], "st.ate/with+special=chars \"quotes\"\n\t\u{0}é😀");
    // The state is for that request alone.
    assert!(host.received().iter().filter(|message| message["params"].get("requestState").is_some()).count() == 1);
    let host = Host::new(hostile("input-required-no-state", &[]), all());
    let call = host.begin("odd", json!({}), None);
    assert!(!answer(host.asked().0, accept(json!({"confirmed": true}))).is_error);
    host.end(call).ok();
    assert!(host.received().iter().all(|message| message["params"].get("requestState").is_none()));
    // The rounds are bounded, and nothing but these three may ask.
    let host = Host::new(hostile("input-required-forever-state", &[]), all());
    host.call("odd", json!({})).failed("TN_E_PROTOCOL", "10 times");
    let host = Host::new(hostile("input-required-everywhere", &[]), all());
    host.request("completion/complete", json!({})).failed("TN_E_PROTOCOL", "not allowed");
}

#[test]
fn duty_40_what_was_not_announced_is_refused() {
    for (behaviour, method) in [
        ("asks-elicitation", "elicitation/create"),
        ("asks-elicitation-url", "elicitation/create"),
        ("asks-sampling", "sampling/createMessage"),
        ("asks-roots", "roots/list"),
    ] {
        let host = Host::deaf(of_era("legacy", behaviour), json!({}));
        assert_eq!(host.call("odd", json!({})).json()["error"]["code"], -32601, "{behaviour}");
        let host = Host::deaf(of_era("modern", behaviour), json!({}));
        host.call("odd", json!({})).failed("TN_E_PROTOCOL", method);
        assert_eq!(rounds(&host).len(), 1, "{behaviour}: nothing was sent back");
    }
}

#[test]
fn duty_41_forms_are_accepted_declined_and_cancelled() {
    for era in ERAS {
        let host =
            Host::new(of_era(era, if era == "legacy" { "asks-elicitation" } else { "input-required-once" }), all());
        for (reply, action) in [
            (accept(json!({"confirmed": true})), "accept"),
            (refuse("declined"), "decline"),
            (refuse("cancelled"), "cancel"),
        ] {
            let call = host.begin("odd", json!({}), None);
            let (id, asked) = host.asked();
            assert_eq!(asked["kind"], "input");
            // What does not fit the schema is the host's mistake, and the question stays open.
            assert!(answer(id, accept(json!({"confirmed": "yes"}))).is_error);
            assert!(!answer(id, reply).is_error);
            assert_eq!(told(era, &host.end(call).json())["action"], action, "{era}");
        }
        // A default fills what is missing.
        let call = host.begin("odd", json!({}), None);
        assert!(!answer(host.asked().0, accept(json!({}))).is_error);
        assert_eq!(told(era, &host.end(call).json())["content"], json!({"confirmed": true}), "{era}");
    }
}

#[test]
fn duty_42_the_host_gets_the_whole_url_and_nobody_opens_it() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    silent.set_nonblocking(true).unwrap();
    let url = format!("http://{}/a?b=c#d", silent.local_addr().unwrap());
    for era in ERAS {
        let host = Host::new(hostile("asks-elicitation-url", &["--era", era, "--url", &url]), all());
        let call = host.begin("odd", json!({}), None);
        let (id, asked) = host.asked();
        assert_eq!((&asked["kind"], &asked["url"]), (&json!("url"), &json!(url)));
        assert!(!answer(id, refuse("declined")).is_error);
        host.end(call);
    }
    assert_eq!(silent.accept().map(|_| ()).unwrap_err().kind(), ErrorKind::WouldBlock);
}

#[test]
fn duty_43_the_host_is_told_who_asks_and_for_which_tool() {
    for (era, behaviour) in [("legacy", "asks-elicitation"), ("modern", "input-required-once")] {
        let host = Host::new(of_era(era, behaviour), all());
        let call = host.begin("odd", json!({}), None);
        let (id, asked) = host.asked();
        assert_eq!((&asked["server"], &asked["tool"]), (&json!("s"), &json!("odd")));
        assert!(!answer(id, refuse("declined")).is_error);
        host.end(call).ok();
    }
}

#[test]
fn duty_44_legacy_servers_ask_by_requests() {
    let host = Host::new(of_era("legacy", "asks-roots"), all());
    assert_eq!(host.call("odd", json!({})).json()["result"]["roots"], json!([{"uri": "file:///work"}]));
    let host = Host::new(of_era("legacy", "asks-sampling"), all());
    let call = host.begin("odd", json!({}), None);
    let (id, asked) = host.asked();
    assert_eq!(asked["kind"], "sampling");
    let message = json!({"role": "assistant", "content": {"type": "text", "text": "Paris"}, "model": "m"});
    assert!(!answer(id, accept(message.clone())).is_error);
    assert_eq!(host.end(call).json()["result"], message);
}

#[test]
fn duty_45_a_url_that_must_be_opened_first_is_in_the_error() {
    for era in ERAS {
        let host = Host::new(of_era(era, "url-required"), all());
        let done = host.call("odd", json!({}));
        done.failed("TN_E_SERVER", "sign in first");
        let data = &done.doc["error"]["data"];
        assert_eq!(data["code"], -32042);
        assert_eq!(data["data"]["elicitations"][0]["url"], "https://example.invalid/sign-in");
    }
}
