//! Servers that others wrote.

use serde_json::{Value, json};

use crate::support::{Context, Host, accept, answer, example, installed, refuse};

fn everything(options: Value) -> Option<Host> {
    let script = installed("npm/node_modules/@modelcontextprotocol/server-everything/dist/index.js")?;
    let server = json!({"command": "node", "args": [script, "stdio"], "timeout": 60_000});
    Some(Host::new(server, options))
}

fn python(lifecycle: &str) -> Option<Host> {
    let python = installed("py2/bin/python")?;
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/servers/python/asks.py");
    Some(Host::new(json!({"command": python, "args": [script], "timeout": 60_000}), json!({"lifecycle": lifecycle})))
}

#[test]
fn the_rust_sdk_asks_in_rounds() {
    let host = Host::new(json!({"command": example("rmcp-server")}), json!({}));
    for (reply, says) in [
        (accept(json!({"name": "Ann"})), "hello Ann"),
        (accept(json!({})), "hello nobody"),
        (refuse("declined"), "no name given"),
        (refuse("cancelled"), "no name given"),
    ] {
        let call = host.begin("confirm", json!({}), None);
        let (id, asked) = host.asked();
        assert_eq!((asked["prompt"].as_str(), asked["tool"].as_str()), (Some("What is your name?"), Some("confirm")));
        answer(id, accept(json!({"name": 7}))).failed("TN_E_ARGUMENT", "data.name");
        assert!(!answer(id, reply).is_error);
        let done = host.end(call);
        assert!(done.ok().starts_with(says), "{done:?}");
    }
}

#[test]
fn the_rust_sdk_works_in_tasks() {
    let host = Host::new(json!({"command": example("rmcp-server")}), json!({}));
    for (reply, says) in [(accept(json!({"name": "Ann"})), "hello Ann"), (refuse("declined"), "no name given")] {
        let call = host.begin("job", json!({"durationMs": 50}), None);
        let (id, asked) = host.asked();
        assert_eq!(asked["tool"], "job");
        assert!(!answer(id, reply).is_error);
        let done = host.end(call);
        assert!(done.ok().starts_with(says), "{done:?}");
    }
    let context = Context::new();
    let call = host.begin("job", json!({"durationMs": 0}), Some(&context));
    let (id, _) = host.asked();
    context.cancel();
    host.end(call).failed("TN_E_CANCELLED", "cancelled");
    host.taken_back(id);
    assert_eq!(host.call("echo", json!({"text": "alive"})).ok(), "alive");
}

#[test]
fn everything_asks_for_a_form() {
    let Some(host) = everything(json!({})) else { return };
    let name = host.tool_names().into_iter().find(|name| name.contains("elicitation")).expect("its tool");
    for (reply, says) in [
        (accept(json!({"name": "Ann", "check": true})), "Ann"),
        (refuse("declined"), "declin"),
        (refuse("cancelled"), "cancel"),
    ] {
        let call = host.begin(name.strip_prefix("s_").unwrap(), json!({}), None);
        let (id, asked) = host.asked();
        assert_eq!(asked["kind"], "input");
        assert!(asked["data"]["schema"]["properties"]["name"].is_object(), "{asked}");
        assert!(!answer(id, reply).is_error);
        let done = host.end(call);
        assert!(done.ok().contains(says), "{done:?}");
    }
}

#[test]
fn everything_asks_for_sampling_and_roots() {
    let Some(host) = everything(json!({"sampling": true, "roots": ["file:///work/here"]})) else { return };
    let names = host.tool_names();
    let find = |part: &str| {
        let name = names.iter().find(|name| name.contains(part)).unwrap_or_else(|| panic!("{part}: {names:?}"));
        name.strip_prefix("s_").unwrap().to_owned()
    };
    let call = host.begin(&find("sampling"), json!({"prompt": "capital of France", "maxTokens": 5}), None);
    let (id, asked) = host.asked();
    assert_eq!(asked["kind"], "sampling");
    assert!(asked["params"]["messages"].to_string().contains("capital of France"), "{asked}");
    let message = json!({"role": "assistant", "content": {"type": "text", "text": "It is Paris."}, "model": "m"});
    assert!(!answer(id, accept(message)).is_error);
    let done = host.end(call);
    assert!(done.ok().contains("It is Paris."), "{done:?}");
    let done = host.call(&find("roots"), json!({}));
    assert!(done.ok().contains("file:///work/here"), "{done:?}");
}

#[test]
fn everything_logs_and_updates_resources() {
    let Some(host) = everything(json!({})) else { return };
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
fn the_python_sdk_asks_in_both_eras() {
    for lifecycle in ["initialize", "discover"] {
        let Some(host) = python(lifecycle) else { return };
        for (reply, says) in [
            (accept(json!({"name": "Ann"})), "hello Ann"),
            (refuse("declined"), "no name: decline"),
            (refuse("cancelled"), "no name: cancel"),
        ] {
            let call = host.begin("confirm", json!({}), None);
            let (id, asked) = host.asked();
            assert_eq!(
                (asked["prompt"].as_str(), asked["tool"].as_str()),
                (Some("What is your name?"), Some("confirm"))
            );
            assert!(!answer(id, reply).is_error);
            assert_eq!(host.end(call).json()["result"], says);
        }
    }
}

#[test]
fn the_python_sdk_announces_what_changed() {
    let Some(host) = python("discover") else { return };
    let done = host.request("resources/subscribe", json!({"uri": "fixture://hello"}));
    assert!(!done.is_error, "{done:?}");
    host.call("grow", json!({})).ok();
    host.notice("tools_changed");
    assert!(host.tool_names().contains(&"s_grown".to_owned()), "{:?}", host.tool_names());
    host.call("touch", json!({})).ok();
    assert_eq!(host.notice("resource_updated")["uri"], "fixture://hello");
}
