//! What servers ask of the host and tell it, over HTTP.

use std::path::Path;

use serde_json::{Value, json};

use crate::common::real::deps;
use crate::host::{Context, Host, accept, answer, refuse};
use crate::peers::{self, Peer};

fn host(peer: &Peer, lifecycle: &str, options: Value) -> Host {
    let mut entry = peer.entry();
    entry["lifecycle"] = json!(lifecycle);
    Host::new(entry, options)
}

fn asks(deps: &Path) -> Peer {
    peers::python(deps, "py2", "asks.py")
}

/// The tool `confirm` asks for a name. `texts`: what it says to a name, to a refusal, and when nobody answers.
fn confirms(host: &Host, texts: [&str; 3]) {
    for (reply, says) in
        [accept(json!({"name": "Ann"})), refuse("declined"), refuse("cancelled")].into_iter().zip(texts)
    {
        let call = host.begin("confirm", json!({}), None);
        let (id, asked) = host.asked();
        assert_eq!((asked["prompt"].as_str(), asked["tool"].as_str()), (Some("What is your name?"), Some("confirm")));
        assert!(!answer(id, reply).is_error);
        let done = host.end(call);
        assert!(done.ok().contains(says), "{done:?}");
    }
}

#[test]
fn servers_of_both_eras_ask_for_a_form() {
    let Some(deps) = deps() else { return };
    let (python, typescript, rust) = (asks(&deps), peers::typescript(&["--modern-only"]), peers::rust());
    let texts = ["hello Ann", "no name: decline", "no name: cancel"];
    confirms(&host(&python, "initialize", json!({})), texts);
    confirms(&host(&python, "auto", json!({})), texts);
    confirms(&host(&typescript, "auto", json!({})), texts);
    confirms(&host(&rust, "auto", json!({})), ["hello Ann", "no name given", "no name given"]);
}

#[test]
fn everything_asks_for_a_form_a_sample_and_roots() {
    let Some(deps) = deps() else { return };
    let peer = peers::everything(&deps, "streamableHttp");
    let host = host(&peer, "auto", json!({"sampling": true, "roots": ["file:///work/here"]}));
    for (reply, says) in [
        (accept(json!({"name": "Ann", "check": true})), "Ann"),
        (refuse("declined"), "declin"),
        (refuse("cancelled"), "cancel"),
    ] {
        let call = host.begin("trigger-elicitation-request", json!({}), None);
        let (id, asked) = host.asked();
        assert_eq!(asked["kind"], "input");
        assert!(!answer(id, reply).is_error);
        let done = host.end(call);
        assert!(done.ok().contains(says), "{done:?}");
    }
    let question = json!({"prompt": "capital of France", "maxTokens": 5});
    let call = host.begin("trigger-sampling-request", question, None);
    let (id, asked) = host.asked();
    assert_eq!(asked["kind"], "sampling");
    let message = json!({"role": "assistant", "content": {"type": "text", "text": "It is Paris."}, "model": "m"});
    assert!(!answer(id, accept(message)).is_error);
    let done = host.end(call);
    assert!(done.ok().contains("It is Paris."), "{done:?}");
    let done = host.call("get-roots-list", json!({}));
    assert!(done.ok().contains("file:///work/here"), "{done:?}");
}

#[test]
fn everything_logs_and_updates_resources() {
    let Some(deps) = deps() else { return };
    let peer = peers::everything(&deps, "streamableHttp");
    let host = host(&peer, "auto", json!({}));
    host.call("toggle-simulated-logging", json!({})).ok();
    let log = host.notice("server_log");
    assert!(log["level"].is_string() && !log["data"].is_null(), "{log}");
    let listed = host.request("resources/list", json!({}));
    let uri = listed.doc["resources"][0]["uri"].clone();
    assert!(!host.request("resources/subscribe", json!({"uri": uri})).is_error);
    host.call("toggle-subscriber-updates", json!({})).ok();
    assert_eq!(host.notice("resource_updated")["uri"], uri);
}

#[test]
fn changes_are_announced() {
    let Some(deps) = deps() else { return };
    for (peer, lifecycle) in [(asks(&deps), "auto"), (peers::typescript(&["--modern-only"]), "auto")] {
        let host = host(&peer, lifecycle, json!({}));
        let done = host.request("resources/subscribe", json!({"uri": "fixture://hello"}));
        assert!(!done.is_error, "{done:?}");
        host.call("touch", json!({})).ok();
        assert_eq!(host.notice("resource_updated")["uri"], "fixture://hello");
        host.call("grow", json!({})).ok();
        host.notice("tools_changed");
        assert!(host.tool_names().contains(&"s_grown".to_owned()), "{:?}", host.tool_names());
        assert!(host.call("grown", json!({})).ok().contains("grown"));
    }
    let rust = peers::rust();
    let host = host(&rust, "auto", json!({}));
    let done = host.request("resources/subscribe", json!({"uri": "fixture://hello"}));
    assert!(!done.is_error, "{done:?}");
    host.call("touch", json!({})).ok();
    assert_eq!(host.notice("resource_updated")["uri"], "fixture://hello");
}

#[test]
fn a_subscription_outlives_the_server() {
    if deps().is_none() {
        return;
    }
    let mut peer = peers::typescript(&["--modern-only"]);
    let host = host(&peer, "auto", json!({}));
    assert!(!host.request("resources/subscribe", json!({"uri": "fixture://hello"})).is_error);
    peer.start_again();
    // The subscription is made anew once the server is back: until then nobody hears of the change.
    let told = || {
        host.call("touch", json!({})).ok();
        host.events.next_within(200).is_some_and(|event| event.done.doc["kind"] == "resource_updated")
    };
    crate::common::until("the news of the resource", told);
}

#[test]
fn progress_of_a_call_reaches_the_host() {
    let Some(deps) = deps() else { return };
    let (python, rust) = (asks(&deps), peers::rust());
    let snake = json!({"duration_ms": 60, "interval_ms": 20});
    let camel = json!({"durationMs": 60, "intervalMs": 20});
    for (peer, lifecycle, tool, arguments, total) in [
        (&python, "initialize", "slow", snake.clone(), 60.0),
        (&python, "auto", "slow", snake, 60.0),
        (&rust, "initialize", "slow", camel.clone(), 60.0),
        (&rust, "auto", "slow", camel.clone(), 60.0),
        (&peers::typescript(&["--modern-only"]), "auto", "slow", camel, 60.0),
        (
            &peers::everything(&deps, "streamableHttp"),
            "auto",
            "trigger-long-running-operation",
            json!({"duration": 0.3, "steps": 3}),
            3.0,
        ),
    ] {
        let host = host(peer, lifecycle, json!({}));
        let context = Context::new().progress(&host.events, 7);
        let call = host.begin(tool, arguments, Some(&context));
        let mut last = 0.0;
        for _ in 0..3 {
            let progress = host.progress(7);
            let now = progress["progress"].as_f64().expect("a number");
            assert!(now > last && progress["total"].as_f64() == Some(total), "{progress}");
            last = now;
        }
        host.end(call).ok();
    }
}

#[test]
fn a_task_of_the_rust_sdk() {
    let peer = peers::rust();
    let host = host(&peer, "auto", json!({}));
    let call = host.begin("job", json!({"durationMs": 50}), None);
    let (id, asked) = host.asked();
    assert_eq!(asked["tool"], "job");
    assert!(!answer(id, accept(json!({"name": "Ann"}))).is_error);
    assert_eq!(host.end(call).ok(), "hello Ann");
}

#[test]
fn a_cancelled_call_costs_only_itself() {
    let Some(deps) = deps() else { return };
    let (python, rust) = (asks(&deps), peers::rust());
    let snake = json!({"duration_ms": 600_000, "interval_ms": 20});
    let camel = json!({"durationMs": 600_000, "intervalMs": 20});
    for (peer, lifecycle, arguments) in [
        (&python, "initialize", &snake),
        (&python, "auto", &snake),
        (&rust, "initialize", &camel),
        (&rust, "auto", &camel),
        (&peers::typescript(&["--modern-only"]), "auto", &camel),
    ] {
        let host = host(peer, lifecycle, json!({}));
        let context = Context::new().progress(&host.events, 7);
        let call = host.begin("slow", arguments.clone(), Some(&context));
        host.progress(7);
        context.cancel();
        host.end(call).failed("TN_E_CANCELLED", "cancelled");
        let quick = arguments.as_object().expect("arguments").keys().map(|key| (key.clone(), json!(1))).collect();
        host.call("slow", Value::Object(quick)).ok();
    }
}
