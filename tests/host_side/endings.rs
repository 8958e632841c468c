//! What ends a question before it is answered: expiry, close, cancel, time, crash, the server itself.

use serde_json::json;

use crate::support::{CANCEL, Context, ERAS, Host, accept, answer, hostile, of_era};

const KINDS: [&str; 3] = ["asks-elicitation", "asks-elicitation-url", "asks-sampling"];

fn all() -> serde_json::Value {
    json!({"elicitation": true, "sampling": true})
}

#[test]
fn an_expired_question_is_taken_back_and_cancelled_at_the_server() {
    for era in ERAS {
        for kind in KINDS {
            let host = Host::new(of_era(era, kind), json!({"sampling": true, "requestTimeoutMs": 30}));
            let call = host.begin("odd", json!({}), None);
            let (id, _) = host.asked();
            host.taken_back(id);
            let done = host.end(call);
            match (era, kind) {
                ("modern", "asks-sampling") => done.failed("TN_E_TIMEOUT", "requestTimeoutMs"),
                ("modern", _) => assert_eq!(done.json(), json!({"q": {"action": "cancel"}})),
                (_, "asks-sampling") => assert_eq!(done.json()["error"]["code"], -1),
                _ => assert_eq!(done.json()["result"], json!({"action": "cancel"})),
            }
        }
    }
}

#[test]
fn closing_the_source_ends_the_question_and_the_call() {
    for era in ERAS {
        for kind in KINDS {
            let host = Host::new(of_era(era, kind), all());
            let call = host.begin("odd", json!({}), None);
            let (id, _) = host.asked();
            host.close();
            host.taken_back(id);
            host.end(call).failed("TN_E_CLOSED", "closed");
        }
    }
}

#[test]
fn cancelling_the_call_takes_its_question_back() {
    for era in ERAS {
        for kind in KINDS {
            let host = Host::new(of_era(era, kind), all());
            let context = Context::new();
            let call = host.begin("odd", json!({}), Some(&context));
            let (id, _) = host.asked();
            context.cancel();
            host.end(call).failed("TN_E_CANCELLED", "cancelled");
            host.taken_back(id);
            // The legacy server hears of both; the modern one has nothing open.
            let cancelled = host.received_of("notifications/cancelled").len();
            assert_eq!(cancelled, usize::from(era == "legacy"), "{era} {kind}");
            assert_eq!(host.call("echo", json!({"text": "alive"})).ok(), "alive");
        }
    }
}

#[test]
fn the_deadline_of_the_call_takes_its_question_back() {
    for era in ERAS {
        let host = Host::new(of_era(era, "asks-elicitation"), all());
        let call = host.begin("odd", json!({}), Some(&Context::new().deadline(3_000)));
        let (id, _) = host.asked();
        host.taken_back(id);
        host.end(call).failed("TN_E_TIMEOUT", "deadline of 3000 ms");
    }
}

#[test]
fn a_crash_of_the_server_takes_its_question_back() {
    for era in ERAS {
        let host = Host::new(of_era(era, "asks-and-goes"), all());
        let call = host.begin("odd", json!({}), None);
        let (id, _) = host.asked();
        let crash = host.begin("crash", json!({}), None);
        let mut ends = [host.next_end(), host.next_end()];
        ends.sort_by_key(|(id, _)| *id);
        assert_eq!((ends[0].0, ends[1].0), (call, crash));
        for (_, done) in ends {
            done.failed("TN_E_TRANSPORT", "status 3");
        }
        host.taken_back(id);
    }
}

#[test]
fn a_server_may_withdraw_its_question() {
    let host = Host::new(hostile("asks-and-goes", &["--era", "legacy"]), all());
    let call = host.begin("odd", json!({}), None);
    let (id, _) = host.asked();
    let withdraw = host.begin("withdraw", json!({}), None);
    assert_eq!(host.end(call).ok(), "withdrawn");
    host.end(withdraw).ok();
    host.taken_back(id);
    // What was withdrawn gets no response.
    assert!(!host.received().iter().any(|message| message["id"] == "ask"));
}

#[test]
fn a_call_that_is_answered_without_waiting_leaves_the_question_open() {
    let host = Host::new(hostile("asks-and-goes", &["--era", "legacy"]), all());
    let call = host.begin("odd", json!({}), None);
    let (id, _) = host.asked();
    let other = host.begin("answer", json!({}), None);
    assert_eq!(host.end(call).ok(), "answered without waiting");
    host.end(other).ok();
    assert!(!answer(id, accept(json!({}))).is_error);
    assert!(host.received().iter().any(|message| message["id"] == "ask"));
}

#[test]
fn a_server_may_ask_after_its_answer() {
    let host = Host::new(hostile("asks-after-answer", &[]), all());
    host.call("odd", json!({})).ok();
    let (id, asked) = host.asked();
    assert!(asked.get("tool").is_none(), "{asked}");
    assert!(!answer(id, accept(json!({}))).is_error);
    let got = host.received().into_iter().find(|message| message["id"] == "late").expect("an answer");
    assert_eq!(got["result"]["action"], "accept");
}

#[test]
fn a_restart_takes_the_question_back() {
    for era in ERAS {
        let host = Host::new(of_era(era, "asks-elicitation"), all());
        let call = host.begin("odd", json!({}), None);
        let (id, _) = host.asked();
        host.restart();
        host.taken_back(id);
        host.end(call).failed("TN_E_CLOSED", "restarted");
        // And the new session asks anew.
        let call = host.begin("odd", json!({}), None);
        assert!(!answer(host.asked().0, accept(json!({}))).is_error);
        host.end(call).ok();
    }
}

#[test]
fn a_closed_events_queue_cancels_what_is_asked() {
    for era in ERAS {
        let host = Host::new(of_era(era, "asks-elicitation"), all());
        let call = host.begin("odd", json!({}), None);
        let (id, _) = host.asked();
        host.events.close();
        let got = host.end(call).json();
        let action = if era == "modern" { &got["q"]["action"] } else { &got["result"]["action"] };
        assert_eq!(action, "cancel");
        answer(id, accept(json!({}))).failed("TN_E_NOT_FOUND", "");
        // And what is asked later.
        host.call("odd", json!({})).ok();
    }
}

#[test]
fn many_questions_of_many_calls_are_taken_back_with_their_own_call() {
    let host = Host::new(of_era("modern", "asks-elicitation"), all());
    let contexts: Vec<Context> = (0..20).map(|_| Context::new()).collect();
    let calls: Vec<u64> = contexts.iter().map(|context| host.begin("odd", json!({}), Some(context))).collect();
    let questions: Vec<u64> = calls.iter().map(|_| host.asked().0).collect();
    for context in contexts.iter().skip(1) {
        context.cancel();
    }
    let mut gone: Vec<u64> = (1..20)
        .map(|_| {
            let event = host.events.next();
            assert_eq!(event.kind, CANCEL);
            event.id
        })
        .collect();
    gone.sort_unstable();
    let left: Vec<u64> = questions.iter().copied().filter(|id| !gone.contains(id)).collect();
    assert_eq!(left.len(), 1);
    for _ in 1..20 {
        host.next_end().1.failed("TN_E_CANCELLED", "cancelled");
    }
    assert!(!answer(left[0], accept(json!({}))).is_error);
    host.end(calls[0]).ok();
}
