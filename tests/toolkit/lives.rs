//! When a toolkit and its source end.

use std::collections::HashSet;
use std::ffi::c_void;
use std::ptr::null_mut;

use serde_json::json;
use toolnexus::ffi::context::{tn_context_cancel, tn_context_new};
use toolnexus::ffi::library::{tn_free, tn_shutdown};
use toolnexus::ffi::mcp::tn_mcp_status;
use toolnexus::ffi::queue::tn_queue_new;
use toolnexus::ffi::result::tn_result_take_toolkit;
use toolnexus::ffi::toolkit::*;
use toolnexus::ffi::tools::*;
use toolnexus::ffi::types::*;

use crate::exports::*;

#[test]
fn closing_ends_calls_of_every_kind() {
    let _alone = alone();
    let (calls, done) = (Ref(tn_queue_new()), Ref(tn_queue_new()));
    let (toolkit, _) = create(&json!({"mcpConfig": config()}));
    let mute = tool(&json!({"name": "mute"}), &calls);
    register(&toolkit, &mute);
    let list = names(tn_toolkit_tools(toolkit.0));
    submit(&toolkit, "progress_slow", r#"{"durationMs":600000}"#, &done, 1);
    submit(&toolkit, "mute", "{}", &done, 2);
    let call = next(&calls);
    let context = Ref(tn_context_new());
    tn_context_cancel(context.0);
    // A host that does not wait does not stop the closing.
    let impatient: Res = Ref(tn_toolkit_close(toolkit.0, context.0));
    assert_eq!(impatient.status(), TN_E_CANCELLED);
    let mut ended = HashSet::new();
    for _ in 0..2 {
        let event = next(&done);
        assert_eq!((event.result.status(), event.result.is_error()), (TN_E_CLOSED, true), "{}", event.result.output());
        ended.insert(event.id);
    }
    assert_eq!(ended, HashSet::from([1, 2]));
    assert_eq!((next(&calls).kind, answer(call.id, r#"{"output":""}"#).0), (TN_EVENT_CANCEL, TN_E_NOT_FOUND));

    for _ in 0..2 {
        let closed: Res = Ref(tn_toolkit_close(toolkit.0, null_mut()));
        assert_eq!((closed.status(), closed.raw()), (TN_OK, "{}"));
    }
    assert_eq!(tn_toolkit_close_submit(toolkit.0, null_mut(), done.0, 3), TN_OK);
    assert_eq!(
        (next(&done).result.status(), tn_toolkit_close_submit(toolkit.0, null_mut(), null_mut(), 4)),
        (TN_OK, TN_E_ARGUMENT)
    );
    for name in ["progress_echo", "mute", "nope"] {
        let late = execute(&toolkit, name, "{}", null_mut());
        assert_eq!((late.status(), late.is_error(), late.output()), (TN_E_CLOSED, true, "the toolkit is closed"));
    }
    let late: Res = Ref(tn_toolkit_register(toolkit.0, mute.0));
    assert_eq!(late.status(), TN_E_CLOSED);
    assert_eq!(names(tn_toolkit_tools(toolkit.0)), list);
    // SAFETY: a string that ends with a NUL.
    let echo = Ref(unsafe { tn_toolkit_get(toolkit.0, c"progress_echo".as_ptr()) });
    // SAFETY: NULL is for no arguments.
    let direct: Res = Ref(unsafe { tn_tool_execute(echo.0, std::ptr::null(), null_mut()) });
    assert_eq!((direct.status(), direct.output()), (TN_E_CLOSED, "MCP source is closed"));
    // The host's own tool is good where it comes from.
    let server = serve(&calls, |_| r#"{"output":"still here"}"#.to_owned());
    // SAFETY: as above.
    let direct: Res = Ref(unsafe { tn_tool_execute(mute.0, std::ptr::null(), null_mut()) });
    assert_eq!(direct.output(), "still here");
    end(&calls, server);
}

#[test]
fn the_source_lives_as_long_as_its_toolkit_or_its_references() {
    let _alone = alone();
    let echo = |tool: &Ref<tn_tool>| -> Res {
        // SAFETY: a string that ends with a NUL.
        Ref(unsafe { tn_tool_execute(tool.0, c"{\"text\":\"x\"}".as_ptr(), null_mut()) })
    };
    let get = |toolkit: &Ref<tn_toolkit>| -> Ref<tn_tool> {
        // SAFETY: a string that ends with a NUL.
        Ref(unsafe { tn_toolkit_get(toolkit.0, c"progress_echo".as_ptr()) })
    };
    // A reference to the source outlives the toolkit.
    let (toolkit, _) = create(&json!({"mcpConfig": config()}));
    let (tool, source) = (get(&toolkit), Ref(tn_toolkit_mcp(toolkit.0)));
    drop(toolkit);
    assert_eq!(echo(&tool).output(), "x");
    drop(source);
    assert_eq!(echo(&tool).status(), TN_E_CLOSED);
    // A call in flight keeps the source of a freed toolkit; tools and lists do not.
    let (toolkit, _) = create(&json!({"mcpConfig": config()}));
    let (tool, list, done) = (get(&toolkit), Ref(tn_toolkit_tools(toolkit.0)), Ref(tn_queue_new()));
    submit(&toolkit, "progress_slow", r#"{"durationMs":100}"#, &done, 1);
    drop(toolkit);
    let ended = next(&done);
    assert_eq!((ended.result.status(), ended.result.output()), (TN_OK, "slept 100 ms"));
    assert_eq!(echo(&tool).status(), TN_E_CLOSED);
    drop(list);
    // An untaken toolkit goes with its result.
    let made = try_create(&json!({"mcpConfig": config()}).to_string());
    assert_eq!(made.status(), TN_OK);
    drop(made);
    let shut: Res = Ref(tn_shutdown(20_000));
    assert_eq!(shut.json()["live"], json!({"queue": 1, "result": 1, "tool": 2}));
}

#[test]
fn create_submitted_and_taken_from_its_completion() {
    let _alone = alone();
    let done = Ref(tn_queue_new());
    let options = c(&json!({"mcpConfig": config()}).to_string());
    // SAFETY: strings that end with a NUL.
    let bad = unsafe {
        assert_eq!(tn_toolkit_create_submit(options.as_ptr(), null_mut(), null_mut(), done.0, 5), TN_OK);
        tn_toolkit_create_submit(c"{\"builtins\":true}".as_ptr(), null_mut(), null_mut(), done.0, 6)
    };
    assert_eq!(bad, TN_OK, "what is wrong arrives as the completion");
    let (one, two) = (next(&done), next(&done));
    let (good, bad) = if one.id == 5 { (one, two) } else { (two, one) };
    assert_eq!(bad.result.status(), TN_E_ARGUMENT);
    let toolkit = Ref(tn_result_take_toolkit(good.result.0));
    let source = Ref(tn_toolkit_mcp(toolkit.0));
    let status: Res = Ref(tn_mcp_status(source.0));
    assert_eq!(status.json()["servers"]["progress"]["status"], "connected");
    // A load that is cancelled leaves nothing.
    let context = Ref(tn_context_new());
    tn_context_cancel(context.0);
    // SAFETY: a string that ends with a NUL.
    let cancelled: Res = Ref(unsafe { tn_toolkit_create(options.as_ptr(), null_mut(), context.0) });
    assert_eq!(cancelled.status(), TN_E_CANCELLED);
    assert!(tn_result_take_toolkit(cancelled.0).is_null());
}

#[test]
fn a_shutdown_ends_calls_that_wait_for_the_host() {
    let _alone = alone();
    let (calls, done) = (Ref(tn_queue_new()), Ref(tn_queue_new()));
    let (toolkit, _) = create(&json!({}));
    register(&toolkit, &tool(&json!({"name": "mute"}), &calls));
    submit(&toolkit, "mute", "{}", &done, 1);
    let call = next(&calls);
    let shut: Res = Ref(tn_shutdown(20_000));
    assert_eq!(shut.json()["live"], json!({"queue": 2, "result": 1, "toolkit": 1}));
    let status = next(&done).result.status();
    assert!(matches!(status, TN_E_CLOSED | TN_E_CANCELLED), "{status}");
    assert_eq!(answer(call.id, r#"{"output":""}"#).0, TN_E_NOT_FOUND);
    // The library starts anew; the toolkit is good, its tool's queue is not.
    assert_eq!(execute(&toolkit, "mute", "{}", null_mut()).status(), TN_E_CLOSED);
    let twice: *mut c_void = toolkit.0.cast();
    drop(toolkit);
    tn_free(twice);
    // SAFETY: a string that ends with a NUL.
    assert!(unsafe { tn_toolkit_get(twice.cast(), c"mute".as_ptr()) }.is_null());
}
