//! Calls that a server answers with a task (the extension io.modelcontextprotocol/tasks).

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Context, Host, accept, answer, hostile, refuse};

fn host(options: &[&str]) -> Host {
    Host::new(hostile("tasks", options), json!({}))
}

fn of_task(host: &Host, method: &str) -> Vec<Value> {
    host.received_of(method).into_iter().map(|message| message["params"].clone()).collect()
}

/// The same, once there is one: over HTTP each message goes its own way.
fn awaited(host: &Host, method: &str) -> Vec<Value> {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let found = of_task(host, method);
        if !found.is_empty() {
            return found;
        }
        assert!(Instant::now() < until, "{method} never came");
        std::thread::yield_now();
    }
}

#[test]
fn a_task_is_polled_to_its_result() {
    let host = host(&["--count", "3", "--interval", "100"]);
    let began = Instant::now();
    let done = host.call("done", json!({"x": 1}));
    assert_eq!(done.ok(), "the task is done");
    assert!(began.elapsed() >= Duration::from_millis(400), "polled faster than asked for: {:?}", began.elapsed());
    assert_eq!(done.doc["metadata"]["tool"], "done");
    let polls = of_task(&host, "tasks/get");
    assert_eq!(polls.len(), 4);
    assert!(polls.iter().all(|params| params["taskId"] == "done"));
    assert!(of_task(&host, "tasks/cancel").is_empty());
    // The extension is among the capabilities of every request, once the server has announced it.
    let meta = &host.received_of("tools/call")[0]["params"]["_meta"];
    let extensions = &meta["io.modelcontextprotocol/clientCapabilities"]["extensions"];
    assert_eq!(extensions, &json!({"io.modelcontextprotocol/tasks": {}}));
}

#[test]
fn a_task_may_end_in_failure() {
    let host = host(&[]);
    let done = host.call("tool-error", json!({}));
    assert_eq!((done.status.as_str(), done.is_error, done.output.as_str()), ("TN_OK", true, "the tool failed"));
    let done = host.call("fails", json!({}));
    done.failed("TN_E_SERVER", "the disk is full");
    assert_eq!(done.doc["error"]["data"]["code"], -32000);
    host.call("cancelled", json!({})).failed("TN_E_SERVER", "cancelled the task");
    assert!(of_task(&host, "tasks/cancel").is_empty());
}

#[test]
fn a_task_may_ask() {
    for (reply, action) in [
        (accept(json!({"confirmed": true})), json!({"action": "accept", "content": {"confirmed": true}})),
        (refuse("declined"), json!({"action": "decline"})),
        (refuse("cancelled"), json!({"action": "cancel"})),
    ] {
        let host = host(&[]);
        let call = host.begin("asks", json!({}), None);
        let (id, asked) = host.asked();
        assert_eq!((asked["kind"].as_str(), asked["tool"].as_str()), (Some("input"), Some("asks")));
        assert!(!answer(id, reply).is_error);
        assert_eq!(host.end(call).json(), json!({"q": action}));
        let updates = of_task(&host, "tasks/update");
        assert_eq!(updates.len(), 1, "each question is answered once");
        assert_eq!((&updates[0]["taskId"], &updates[0]["inputResponses"]["q"]), (&json!("asks"), &action));
    }
}

#[test]
fn a_task_may_not_ask_for_what_was_not_announced() {
    let host = host(&[]);
    host.call("asks-roots", json!({})).failed("TN_E_PROTOCOL", "roots/list");
    assert!(of_task(&host, "tasks/update").is_empty());
    assert_eq!(awaited(&host, "tasks/cancel").len(), 1, "the server need not go on");
}

#[test]
fn cancelling_the_call_cancels_the_task_and_nothing_else() {
    let host = host(&["--interval", "20"]);
    let context = Context::new();
    let call = host.begin("for-ever", json!({}), Some(&context));
    while of_task(&host, "tasks/get").is_empty() {
        std::thread::yield_now();
    }
    context.cancel();
    host.end(call).failed("TN_E_CANCELLED", "cancelled");
    let cancelled = awaited(&host, "tasks/cancel");
    assert_eq!(cancelled.len(), 1);
    assert_eq!(cancelled[0]["taskId"], "for-ever");
    assert!(of_task(&host, "notifications/cancelled").is_empty());
    // And it is not asked for any more.
    let polls = of_task(&host, "tasks/get").len();
    assert_eq!(host.call("echo", json!({"text": "alive"})).ok(), "alive");
    assert_eq!(of_task(&host, "tasks/get").len(), polls);
}

#[test]
fn the_deadline_cancels_the_task() {
    let host = host(&[]);
    let call = host.begin("for-ever", json!({}), Some(&Context::new().deadline(200)));
    host.end(call).failed("TN_E_TIMEOUT", "deadline of 200 ms");
    assert_eq!(awaited(&host, "tasks/cancel").len(), 1);
    assert!(of_task(&host, "notifications/cancelled").is_empty());
}

#[test]
fn cancelling_a_task_that_asks_takes_the_question_back() {
    let host = host(&[]);
    let context = Context::new();
    let call = host.begin("asks", json!({}), Some(&context));
    let (id, _) = host.asked();
    context.cancel();
    host.end(call).failed("TN_E_CANCELLED", "cancelled");
    host.taken_back(id);
    assert_eq!(awaited(&host, "tasks/cancel").len(), 1);
}

#[test]
fn the_end_of_the_session_ends_the_call() {
    // The pause between two looks is long: the call must not wait for its end.
    let host = host(&["--interval", "60000"]);
    let call = host.begin("for-ever", json!({}), None);
    while of_task(&host, "tools/call").iter().all(|call| call["name"] != "for-ever") {
        std::thread::yield_now();
    }
    host.close();
    host.end(call).failed("TN_E_CLOSED", "closed");
}

#[test]
fn tasks_that_make_no_sense_end_the_call() {
    let host = host(&["--count", "0"]);
    for (tool, says) in [
        ("no-id", "no taskId"),
        ("no-result", "no result"),
        ("no-requests", "asks for input"),
        ("odd-status", "pondering"),
    ] {
        host.call(tool, json!({})).failed("TN_E_PROTOCOL", says);
    }
    host.call("forgotten", json!({})).failed("TN_E_SERVER", "no such task");
}

#[test]
fn a_task_of_a_server_that_did_not_announce_them_is_an_error() {
    for era in ["legacy", "modern"] {
        let host = Host::new(hostile("task-without-extension", &["--era", era]), json!({}));
        host.call("odd", json!({})).failed("TN_E_PROTOCOL", "task, which was not offered");
    }
}
