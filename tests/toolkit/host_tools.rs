//! Tools that the host runs: it answers, or it does not.

use std::collections::HashSet;
use std::ffi::c_char;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use serde_json::json;
use toolnexus::ffi::context::{tn_context_cancel, tn_context_new, tn_context_set_deadline, tn_context_set_timeout};
use toolnexus::ffi::library::tn_shutdown;
use toolnexus::ffi::queue::{tn_answer, tn_queue_close, tn_queue_new, tn_queue_take, tn_queue_with_callback};
use toolnexus::ffi::result::tn_result_take_tool;
use toolnexus::ffi::toolkit::*;
use toolnexus::ffi::tools::*;
use toolnexus::ffi::types::*;

use crate::exports::*;

#[test]
fn what_the_host_answers_is_the_result() {
    let _alone = alone();
    let (calls, done) = (Ref(tn_queue_new()), Ref(tn_queue_new()));
    let (toolkit, _) = create(&json!({}));
    register(&toolkit, &tool(&json!({"name": "add", "hints": {"readOnly": true}}), &calls));
    submit(&toolkit, "add", "{\n\"a\": 1.0}", &done, 77);
    let call = next(&calls);
    assert_eq!((call.kind, call.result.status()), (TN_EVENT_CALL, TN_OK));
    assert_eq!(call.result.raw(), format!(r#"{{"id":{},"tool":"add","arguments":{{ "a": 1.0}}}}"#, call.id));

    // Bad answers are the host's mistake, and leave the call open.
    for (bad, status, named) in [
        (r#"{"output":3}"#, TN_E_ARGUMENT, "answer.output"),
        ("{}", TN_E_ARGUMENT, "answer.output"),
        (r#"{"output":"","isError":1}"#, TN_E_ARGUMENT, "answer.isError"),
        (r#"{"output":"","metadata":"x"}"#, TN_E_ARGUMENT, "answer.metadata"),
        (r#"{"output":"","parts":[{}]}"#, TN_E_ARGUMENT, "answer.parts[0]"),
        (r#"{"result":""}"#, TN_E_ARGUMENT, "answer.result"),
        ("3", TN_E_JSON, "the answer"),
        ("", TN_E_JSON, "the answer"),
    ] {
        let (got, message) = answer(call.id, bad);
        assert_eq!(got, status, "{bad}: {message}");
        assert!(message.contains(named), "{bad}: {message}");
    }
    // SAFETY: NULL is told from an answer.
    let none: Res = Ref(unsafe { tn_answer(call.id, std::ptr::null()) });
    assert_eq!(none.status(), TN_E_ARGUMENT);
    let good = r#"{"output":"3","isError":true,"metadata":{"n":1},"parts":[{"type":"image","url":"https://x"}]}"#;
    assert_eq!(answer(call.id, good).0, TN_OK);
    assert_eq!(answer(call.id, good).0, TN_E_NOT_FOUND, "a call is answered once");
    assert_eq!(answer(u64::MAX, good).0, TN_E_NOT_FOUND);

    let ended = next(&done);
    assert_eq!((ended.kind, ended.id), (TN_EVENT_DONE, 77));
    assert_eq!((ended.result.status(), ended.result.is_error(), ended.result.output()), (TN_OK, true, "3"));
    assert_eq!(
        ended.result.raw(),
        r#"{"output":"3","isError":true,"metadata":{"n":1},"parts":[{"type":"image","url":"https://x"}],"content":[]}"#
    );
}

#[test]
fn bad_specs_make_no_tool() {
    let _alone = alone();
    let calls = Ref(tn_queue_new());
    // SAFETY: strings that end with a NUL, or NULL.
    let made = |spec: *const c_char, calls: *mut tn_queue| -> Res { Ref(unsafe { tn_tool_create(spec, calls) }) };
    for (spec, status) in
        [(c"{\"name\":\"a.b\"}", TN_E_ARGUMENT), (c"{\"name\":\"a\",\"x\":1}", TN_E_ARGUMENT), (c"x", TN_E_JSON)]
    {
        let result = made(spec.as_ptr(), calls.0);
        assert_eq!(result.status(), status, "{}", result.output());
        assert!(tn_result_take_tool(result.0).is_null());
    }
    assert_eq!(made(std::ptr::null(), calls.0).status(), TN_E_ARGUMENT);
    assert_eq!(made(c"{\"name\":\"a\"}".as_ptr(), null_mut()).status(), TN_E_ARGUMENT);
    assert_eq!(made(c"{\"name\":\"a\"}".as_ptr(), 0xdead as *mut tn_queue).status(), TN_E_HANDLE);
    // An untaken tool goes with its result.
    assert_eq!(made(c"{\"name\":\"a\"}".as_ptr(), calls.0).status(), TN_OK);
}

#[test]
fn a_call_that_nobody_answers_ends_by_its_limits() {
    let _alone = alone();
    let calls = Ref(tn_queue_new());
    let (toolkit, _) = create(&json!({}));
    register(&toolkit, &tool(&json!({"name": "mute"}), &calls));
    let nothing_waits = |what: &str| {
        let (mut event, mut count) = (tn_event { kind: 0, status: 0, id: 0, result: null_mut() }, 1);
        // SAFETY: room for one event.
        assert_eq!(unsafe { tn_queue_take(calls.0, &mut event, 1, 0, &mut count) }, TN_OK);
        assert_eq!(count, 0, "{what}");
    };
    let context = Ref(tn_context_new());
    tn_context_set_timeout(context.0, 20);
    let silent = execute(&toolkit, "mute", "{}", context.0);
    assert_eq!((silent.status(), silent.is_error()), (TN_E_TIMEOUT, true));
    assert_eq!(silent.output(), "the host did not answer within the time-out of 20 ms (tool mute)");
    assert_eq!(silent.json()["metadata"]["tool"], "mute");
    assert_eq!(
        (&silent.json()["error"]["code"], &silent.json()["error"]["phase"]),
        (&json!("timeout"), &json!("call"))
    );
    nothing_waits("nobody took the call: it goes when it is no longer wanted");

    tn_context_set_timeout(context.0, 0);
    tn_context_set_deadline(context.0, 20);
    let overdue = execute(&toolkit, "mute", "{}", context.0);
    assert_eq!(overdue.status(), TN_E_TIMEOUT);
    assert!(overdue.output().contains("deadline of 20 ms"), "{}", overdue.output());
    nothing_waits("the same at the deadline");

    let (context, done) = (Ref(tn_context_new()), Ref(tn_queue_new()));
    // SAFETY: strings that end with a NUL.
    let status =
        unsafe { tn_toolkit_execute_submit(toolkit.0, c"mute".as_ptr(), std::ptr::null(), context.0, done.0, 1) };
    assert_eq!(status, TN_OK);
    let call = next(&calls);
    assert_eq!(tn_context_cancel(context.0), TN_OK);
    let ended = next(&done);
    assert_eq!((ended.result.status(), ended.result.output()), (TN_E_CANCELLED, "the call was cancelled (tool mute)"));
    let cancel = next(&calls);
    assert_eq!((cancel.kind, cancel.id), (TN_EVENT_CANCEL, call.id));
    assert_eq!(cancel.result.raw(), format!(r#"{{"id":{}}}"#, call.id));
    assert_eq!(answer(call.id, r#"{"output":"late"}"#).0, TN_E_NOT_FOUND);
    // With a context that is cancelled already the host is not even asked.
    assert_eq!(execute(&toolkit, "mute", "{}", context.0).status(), TN_E_CANCELLED);
    nothing_waits("cancelled before it was asked");

    // A completion queue that is closed cancels what was to complete in it.
    submit(&toolkit, "mute", "{}", &done, 2);
    let call = next(&calls);
    tn_queue_close(done.0);
    assert_eq!(next(&done).result.status(), TN_E_CANCELLED);
    assert_eq!(next(&calls).id, call.id);
}

#[test]
fn calls_end_when_their_queue_goes() {
    let _alone = alone();
    let done = Ref(tn_queue_new());
    let (toolkit, _) = create(&json!({}));
    for (name, free) in [("closed", false), ("freed", true)] {
        let calls = Ref(tn_queue_new());
        register(&toolkit, &tool(&json!({"name": name}), &calls));
        submit(&toolkit, name, "{}", &done, 1);
        submit(&toolkit, name, "{}", &done, 2);
        let call = next(&calls);
        if free {
            drop(calls);
        } else {
            // Taken or not, both calls end.
            tn_queue_close(calls.0);
        }
        for _ in 0..2 {
            let ended = next(&done).result;
            assert_eq!((ended.status(), ended.is_error()), (TN_E_CLOSED, true), "{name}");
            assert!(ended.output().contains("queue"), "{}", ended.output());
        }
        assert_eq!(answer(call.id, r#"{"output":""}"#).0, TN_E_NOT_FOUND);
        assert_eq!(execute(&toolkit, name, "{}", null_mut()).status(), TN_E_CLOSED);
    }
}

#[test]
fn a_host_tool_may_use_the_toolkit_from_the_thread_that_serves_it() {
    let _alone = alone();
    let (calls, inner_calls) = (Ref(tn_queue_new()), Ref(tn_queue_new()));
    let (toolkit, _) = create(&json!({"mcpConfig": config()}));
    register(&toolkit, &tool(&json!({"name": "outer"}), &calls));
    register(&toolkit, &tool(&json!({"name": "inner"}), &inner_calls));
    let inner = serve(&inner_calls, |call| json!({"output": format!("inner {}", call["arguments"]["n"])}).to_string());
    let kit = AtomicPtr::new(toolkit.0);
    let outer = serve(&calls, move |call| {
        let kit = std::mem::ManuallyDrop::new(Ref(kit.load(Ordering::Relaxed)));
        let echo = execute(&kit, "progress_echo", r#"{"text":"hi"}"#, null_mut());
        let nested = execute(&kit, "inner", &call["arguments"].to_string(), null_mut());
        json!({"output": format!("{} {}", echo.output(), nested.output())}).to_string()
    });
    let result = execute(&toolkit, "outer", r#"{"n":5}"#, null_mut());
    assert_eq!((result.status(), result.output()), (TN_OK, "hi inner 5"));
    end(&calls, outer);
    end(&inner_calls, inner);
}

#[test]
fn a_callback_queue_may_answer_inside_its_callback() {
    let _alone = alone();
    static DROPS: AtomicUsize = AtomicUsize::new(0);
    unsafe extern "C" fn call(user: usize, event: *const tn_event) {
        // SAFETY: the event is valid during the call.
        let event = unsafe { &*event };
        let result: Res = Ref(event.result);
        if event.kind == TN_EVENT_CALL {
            let toolkit = std::mem::ManuallyDrop::new(Ref(std::ptr::without_provenance_mut::<tn_toolkit>(user)));
            // In a callback nothing blocks; answering does not.
            let inside = execute(&toolkit, "add", "{}", null_mut());
            let output = format!("{} {}", inside.status() == TN_E_REENTRANT, result.json()["arguments"]);
            assert_eq!(answer(event.id, &json!({"output": output}).to_string()).0, TN_OK);
        }
    }
    unsafe extern "C" fn dropped(_: usize) {
        DROPS.fetch_add(1, Ordering::SeqCst);
    }
    let (toolkit, _) = create(&json!({}));
    // SAFETY: both functions are good for ever.
    let calls = Ref(unsafe { tn_queue_with_callback(Some(call), toolkit.0.addr(), Some(dropped)) });
    register(&toolkit, &tool(&json!({"name": "add"}), &calls));
    for n in 0..10 {
        let result = execute(&toolkit, "add", &format!(r#"{{"n":{n}}}"#), null_mut());
        assert_eq!((result.status(), result.output()), (TN_OK, &*format!(r#"true {{"n":{n}}}"#)));
    }
    drop((toolkit, calls));
    let ended: Res = Ref(tn_shutdown(20_000));
    assert_eq!(ended.status(), TN_OK, "{}", ended.output());
    assert_eq!(DROPS.load(Ordering::SeqCst), 1);
}

#[test]
fn a_thousand_calls_at_once() {
    let _alone = alone();
    const CALLS: u64 = 1_000;
    let (calls, done) = (Ref(tn_queue_new()), Ref(tn_queue_new()));
    let (toolkit, _) = create(&json!({}));
    register(&toolkit, &tool(&json!({"name": "square"}), &calls));
    for n in 0..CALLS {
        submit(&toolkit, "square", &format!(r#"{{"n":{n}}}"#), &done, n);
    }
    // All are open before the first is answered; they are answered in reverse, by two threads.
    let mut open: Vec<(u64, u64)> = (0..CALLS)
        .map(|_| {
            let call = next(&calls);
            (call.id, call.result.json()["arguments"]["n"].as_u64().unwrap())
        })
        .collect();
    assert_eq!(open.iter().map(|(id, _)| id).collect::<HashSet<_>>().len(), open.len());
    open.reverse();
    std::thread::scope(|scope| {
        for half in open.chunks(open.len() / 2) {
            scope.spawn(move || {
                for (id, n) in half {
                    assert_eq!(answer(*id, &format!(r#"{{"output":"{}"}}"#, n * n)).0, TN_OK);
                }
            });
        }
    });
    let mut seen = HashSet::new();
    for _ in 0..CALLS {
        let ended = next(&done);
        assert_eq!((ended.result.status(), ended.result.output()), (TN_OK, &*(ended.id * ended.id).to_string()));
        assert!(seen.insert(ended.id));
    }
}
