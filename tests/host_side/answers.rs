//! Each kind of request in both eras, and every way to answer it.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Done, ERAS, Host, accept, answer, answer_text, hostile, of_era, refuse};

fn ask_all() -> Value {
    json!({"elicitation": true, "sampling": true, "roots": ["file:///work", "file:///home/me"]})
}

/// What the server got for its question. Its tool gives that as text: all answers in the modern era, the response in the legacy one.
#[track_caller]
fn got(era: &str, done: &Done) -> Value {
    let said = done.json();
    if era == "modern" { said["q"].clone() } else { said["result"].clone() }
}

/// The question of `behaviour` answered with `text`, and what the server got.
#[track_caller]
fn exchange(era: &str, behaviour: &str, params: Value, reply: Value) -> (Value, Value) {
    let host = Host::new(of_era(era, behaviour), ask_all());
    let arguments = if params.is_null() { json!({}) } else { json!({"params": params}) };
    let call = host.begin("odd", arguments, None);
    let (id, asked) = host.asked();
    let answered = answer(id, reply);
    assert_eq!((answered.ok(), &answered.doc), ("", &json!({})));
    (asked, got(era, &host.end(call)))
}

#[test]
fn a_form_is_accepted_declined_and_cancelled() {
    for era in ERAS {
        for (reply, result) in [
            (accept(json!({"confirmed": false})), json!({"action": "accept", "content": {"confirmed": false}})),
            (accept(json!({})), json!({"action": "accept", "content": {"confirmed": true}})),
            (json!({"ok": true}), json!({"action": "accept", "content": {"confirmed": true}})),
            (refuse("declined"), json!({"action": "decline"})),
            (refuse("cancelled"), json!({"action": "cancel"})),
            (refuse("expired"), json!({"action": "cancel"})),
            (json!({"ok": false}), json!({"action": "cancel"})),
        ] {
            let (asked, got) = exchange(era, "asks-elicitation", Value::Null, reply.clone());
            assert_eq!(got, result, "{era}: {reply}");
            assert_eq!(
                (&asked["server"], &asked["kind"], &asked["prompt"]),
                (&json!("s"), &json!("input"), &json!("Go on?"))
            );
            assert_eq!(asked["tool"], "odd", "{era}");
            assert_eq!(asked["data"]["schema"]["properties"]["confirmed"]["type"], "boolean");
            assert_eq!(asked["params"]["message"], "Go on?");
            assert!(asked["expiresAt"].as_str().is_some_and(|at| at.ends_with('Z')), "{asked}");
        }
    }
}

#[test]
fn a_form_without_a_mode_or_a_schema_is_a_form() {
    for era in ERAS {
        let (asked, got) = exchange(era, "asks-elicitation", json!({"message": "Name?"}), accept(json!({"x": 1})));
        assert_eq!(asked["kind"], "input");
        assert_eq!(got, json!({"action": "accept", "content": {"x": 1}}));
    }
}

#[test]
fn a_url_is_accepted_declined_and_cancelled_and_never_fetched() {
    // A fetch would meet a listener that counts.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}/sign-in?x=1", listener.local_addr().unwrap());
    for era in ERAS {
        for (reply, action) in
            [(json!({"ok": true}), "accept"), (refuse("declined"), "decline"), (refuse("cancelled"), "cancel")]
        {
            let params = json!({"mode": "url", "message": "Sign in", "url": url, "elicitationId": "e1"});
            let (asked, got) = exchange(era, "asks-elicitation-url", params, reply);
            assert_eq!(got, json!({"action": action}));
            assert_eq!((asked["kind"].as_str(), asked["url"].as_str()), (Some("url"), Some(url.as_str())));
            assert_eq!(asked["prompt"], "Sign in");
        }
    }
    assert!(listener.accept().is_err(), "somebody opened the URL");
}

#[test]
fn sampling_is_answered_with_a_message() {
    let message = json!({"role": "assistant", "content": {"type": "text", "text": "Paris"}, "model": "m",
        "stopReason": "endTurn"});
    for era in ERAS {
        let (asked, got) = exchange(era, "asks-sampling", Value::Null, accept(message.clone()));
        assert_eq!(got, message, "{era}");
        assert_eq!(asked["kind"], "sampling");
        assert_eq!(asked["params"]["maxTokens"], 10);
    }
}

#[test]
fn sampling_that_is_turned_down_is_an_error_to_the_server_or_the_end_of_the_call() {
    for reason in ["declined", "cancelled"] {
        for era in ERAS {
            let host = Host::new(of_era(era, "asks-sampling"), ask_all());
            let call = host.begin("odd", json!({}), None);
            assert!(!answer(host.asked().0, refuse(reason)).is_error);
            let done = host.end(call);
            if era == "legacy" {
                assert_eq!(done.json()["error"]["code"], -1, "{done:?}");
            } else {
                done.failed("TN_E_CANCELLED", "sampling/createMessage");
                assert_eq!(host.received_of("tools/call").len(), 2, "the call, and received itself");
            }
        }
    }
}

#[test]
fn roots_come_from_the_options() {
    for era in ERAS {
        for hears in [true, false] {
            let server = of_era(era, "asks-roots");
            let host = if hears { Host::new(server, ask_all()) } else { Host::deaf(server, ask_all()) };
            let roots = json!({"roots": [{"uri": "file:///work"}, {"uri": "file:///home/me"}]});
            assert_eq!(got(era, &host.call("odd", json!({}))), roots, "{era}");
        }
    }
}

#[test]
fn answers_that_do_not_fit_leave_the_question_open() {
    let schema = json!({"type": "object", "required": ["name"], "properties": {
        "name": {"type": "string", "minLength": 2}, "age": {"type": "integer", "minimum": 0, "default": 7},
        "plan": {"type": "string", "enum": ["free", "paid"]}, "odd": {"type": "boolean", "default": "yes"}}});
    for era in ERAS {
        let host = Host::new(of_era(era, "asks-elicitation"), ask_all());
        let call = host.begin("odd", json!({"params": {"message": "?", "requestedSchema": schema}}), None);
        let (id, _) = host.asked();
        for (text, status, says) in [
            ("", "TN_E_JSON", "not valid JSON"),
            ("{\"ok\":true", "TN_E_JSON", "not valid JSON"),
            ("[true]", "TN_E_ARGUMENT", "is no object"),
            ("{}", "TN_E_ARGUMENT", "\"ok\""),
            ("{\"ok\":\"true\"}", "TN_E_ARGUMENT", "\"ok\""),
            ("{\"ok\":true,\"data\":[]}", "TN_E_ARGUMENT", "data is no object"),
            ("{\"ok\":true}", "TN_E_ARGUMENT", "data.name is missing"),
            ("{\"ok\":true,\"data\":{\"name\":\"x\"}}", "TN_E_ARGUMENT", "data.name has 1 character"),
            ("{\"ok\":true,\"data\":{\"name\":7}}", "TN_E_ARGUMENT", "data.name is a number"),
            ("{\"ok\":true,\"data\":{\"name\":\"Ann\",\"age\":-1}}", "TN_E_ARGUMENT", "data.age is -1"),
            ("{\"ok\":true,\"data\":{\"name\":\"Ann\",\"age\":1.5}}", "TN_E_ARGUMENT", "data.age is 1.5"),
            ("{\"ok\":true,\"data\":{\"name\":\"Ann\",\"plan\":\"gold\"}}", "TN_E_ARGUMENT", "data.plan is \"gold\""),
        ] {
            answer_text(id, text).failed(status, says);
        }
        assert!(!answer(id, accept(json!({"name": "Ann", "plan": "free"}))).is_error);
        // The default of `odd` does not fit the server's own schema: it is nobody's answer.
        let content = json!({"name": "Ann", "plan": "free", "age": 7});
        assert_eq!(got(era, &host.end(call)), json!({"action": "accept", "content": content}), "{era}");
    }
}

#[test]
fn sampling_results_that_do_not_fit_leave_the_question_open() {
    let host = Host::new(of_era("legacy", "asks-sampling"), ask_all());
    let call = host.begin("odd", json!({}), None);
    let (id, _) = host.asked();
    for (data, says) in [
        (json!({}), "data.role"),
        (json!({"role": "assistant", "model": "m"}), "data.content"),
        (json!({"role": "assistant", "content": {}}), "data.model"),
        (json!([]), "data.role"),
    ] {
        answer(id, accept(data)).failed("TN_E_ARGUMENT", says);
    }
    assert!(!answer(id, accept(json!({"role": "assistant", "content": {}, "model": "m"}))).is_error);
    host.end(call).ok();
}

#[test]
fn unknown_late_and_second_answers_are_not_found() {
    for id in [0, u64::MAX, 1 << 52] {
        answer(id, accept(json!({}))).failed("TN_E_NOT_FOUND", &id.to_string());
    }
    for era in ERAS {
        let host = Host::new(of_era(era, "asks-elicitation"), ask_all());
        let call = host.begin("odd", json!({}), None);
        let (id, _) = host.asked();
        assert!(id < 1 << 53);
        assert!(!answer(id, accept(json!({}))).is_error);
        answer(id, accept(json!({}))).failed("TN_E_NOT_FOUND", "answered");
        host.end(call).ok();
        answer(id, refuse("declined")).failed("TN_E_NOT_FOUND", "answered");
    }
}

#[test]
fn a_null_answer_is_an_argument() {
    let result = unsafe { toolnexus::ffi::queue::tn_answer(1, std::ptr::null()) };
    assert_eq!(toolnexus::ffi::result::tn_result_status(result), toolnexus::ffi::types::TN_E_ARGUMENT);
    toolnexus::ffi::library::tn_free(result.cast());
}

#[test]
fn malformed_requests_are_told_so() {
    for (params, says) in [
        (json!([]), "params"),
        (json!(7), "params"),
        (json!({"mode": "telepathy", "message": "?"}), "telepathy"),
        (json!({"mode": "url", "message": "?"}), "no url"),
    ] {
        let host = Host::new(of_era("legacy", "asks-elicitation"), ask_all());
        let error = host.call("odd", json!({"params": params})).json()["error"].clone();
        assert_eq!(error["code"], -32602, "{error}");
        assert!(error["message"].as_str().unwrap().contains(says), "{error}");
        let host = Host::new(of_era("modern", "asks-elicitation"), ask_all());
        host.call("odd", json!({"params": params})).failed("TN_E_PROTOCOL", says);
        assert_eq!(host.received_of("tools/call").len(), 2, "the call, and received itself");
    }
}

#[test]
fn one_server_cannot_flood_the_host_with_questions() {
    let host = Host::new(hostile("asks-many", &["--era", "legacy", "--count", "200"]), ask_all());
    let call = host.begin("odd", json!({}), None);
    let open: Vec<u64> = (0..64).map(|_| host.asked().0).collect();
    // The rest was refused at once.
    let until = Instant::now() + Duration::from_secs(60);
    while host.received().iter().filter(|message| message["error"]["code"] == -1).count() < 200 - 64 {
        assert!(Instant::now() < until, "not all of the rest was refused");
    }
    assert!(host.events.next_within(0).is_none(), "the 65th was put to the host");
    for id in open {
        assert!(!answer(id, refuse("declined")).is_error);
    }
    host.end(call).ok();

    let host = Host::new(hostile("asks-many", &["--era", "modern", "--count", "200"]), ask_all());
    host.call("odd", json!({})).failed("TN_E_LIMIT", "more than 64");
    assert!(host.events.next_within(0).is_none());
}

#[test]
fn the_second_request_under_one_id_is_ignored() {
    let host = Host::new(hostile("asks-twice-with-one-id", &[]), ask_all());
    let call = host.begin("odd", json!({}), None);
    let (id, _) = host.asked();
    // The server wrote both before it reads this.
    host.call("echo", json!({"text": ""})).ok();
    assert!(!answer(id, refuse("declined")).is_error);
    assert_eq!(got("legacy", &host.end(call)), json!({"action": "decline"}));
    assert!(host.events.next_within(0).is_none());
}
