//! Calls that take their time, many calls, and how they are cancelled.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use serde_json::json;

use crate::common::{Context, GENEROUS, until};
use crate::{ERAS, GOOD, Remote, connected};

/// Waits until the server knows that its call of `odd` was cancelled: in 2026-07-28 by the end of the stream, before it by
/// a notification.
fn is_cancelled(remote: &Remote, era: &str, count: usize) {
    let calls = || remote.received("tools/call").into_iter().filter(|call| call.tool() == "odd");
    match era {
        "modern" => {
            until("the streams are closed", || calls().filter(|call| call.left).count() == count);
            assert!(remote.received("notifications/cancelled").is_empty(), "2026-07-28 cancels by closing the stream");
        }
        _ => {
            until("the calls are cancelled", || remote.received("notifications/cancelled").len() == count);
            let mut ids: Vec<_> = calls().map(|call| call.message()["id"].as_u64()).collect();
            let cancelled = remote.received("notifications/cancelled");
            let mut told: Vec<_> =
                cancelled.iter().map(|cancel| cancel.message()["params"]["requestId"].as_u64()).collect();
            ids.sort();
            told.sort();
            assert_eq!(ids, told);
        }
    }
}

#[test]
fn row_35_a_call_never_answered_ends_by_its_time_out_and_is_cancelled() {
    for era in ERAS {
        for reply in ["json", "sse"] {
            let remote = connected("never-answers", era, &["--reply", reply]);
            let done = remote.loaded.call_with("s_odd", json!({}), &Context::idle(1_000));
            done.failed("TN_E_TIMEOUT", &["no answer for 1000 ms", "tool odd of server s"]);
            assert!(done.took >= Duration::from_millis(1_000), "{:?}", done.took);
            is_cancelled(&remote, era, 1);
            remote.echoes();
            let done = remote.loaded.call_with("s_odd", json!({}), &Context::deadline(1_000));
            done.failed("TN_E_TIMEOUT", &["deadline of 1000 ms"]);
            is_cancelled(&remote, era, 2);
        }
    }
}

#[test]
fn row_35_cancelling_ends_the_calls_at_once_and_tells_the_server() {
    for era in ERAS {
        for reply in ["json", "sse"] {
            let remote = Arc::new(connected("never-answers", era, &["--reply", reply]));
            let context = Arc::new(Context::new());
            let calls: Vec<_> = (0..8)
                .map(|_| {
                    let (remote, context) = (remote.clone(), context.clone());
                    thread::spawn(move || remote.loaded.call_with("s_odd", json!({}), &context))
                })
                .collect();
            until("all calls are with the server", || remote.calls_of_odd() == 8);
            context.cancel();
            for call in calls {
                call.join().unwrap().failed("TN_E_CANCELLED", &["cancelled"]).well_under(GENEROUS);
            }
            is_cancelled(&remote, era, 8);
            remote.echoes();
        }
    }
}

#[test]
fn progress_on_the_stream_keeps_a_call_alive() {
    for era in ERAS {
        let remote = connected("progress-forever", era, &["--interval", "20"]);
        let done = remote.loaded.call_with("s_odd", json!({}), &{
            let context = Context::deadline(4_000);
            context.set_idle(2_000);
            context
        });
        done.failed("TN_E_TIMEOUT", &["deadline of 4000 ms"]);
        is_cancelled(&remote, era, 1);
        // Of other tokens it does not.
        let remote = connected("progress-foreign-token", era, &["--interval", "20"]);
        let done = remote.loaded.call_with("s_odd", json!({}), &Context::idle(1_000));
        done.failed("TN_E_TIMEOUT", &["no answer for 1000 ms"]);
        remote.echoes();
    }
}

#[test]
fn many_calls_at_once() {
    for era in ERAS {
        for reply in ["json", "sse"] {
            let remote = Arc::new(connected("ordinary", era, &["--reply", reply]));
            let calls: Vec<_> = (0..32)
                .map(|n| {
                    let remote = remote.clone();
                    thread::spawn(move || {
                        for m in 0..10 {
                            let text = format!("{n} {m}");
                            assert_eq!(remote.loaded.call("s_echo", json!({"text": text})).ok(), text);
                        }
                    })
                })
                .collect();
            calls.into_iter().for_each(|call| call.join().unwrap());
            assert!(remote.server.connections() <= 40, "{} connections", remote.server.connections());
        }
    }
}

#[test]
fn a_server_that_goes_fails_what_is_under_way_and_comes_back() {
    for era in ERAS {
        let remote = Arc::new(connected("never-answers", era, &[]));
        let call = {
            let remote = remote.clone();
            thread::spawn(move || remote.odd())
        };
        until("the call is with the server", || remote.calls_of_odd() == 1);
        remote.server.hang_up();
        call.join().unwrap().failed("TN_E_TRANSPORT", &["tool odd of server s", "closed"]).well_under(GENEROUS);
        remote.echoes();
        assert_eq!(remote.calls_of_odd(), 1, "not repeated by itself");
    }
}

#[test]
fn close_ends_what_is_under_way() {
    for era in ERAS {
        let remote = Arc::new(connected("never-answers", era, &["--reply", "sse"]));
        let call = {
            let remote = remote.clone();
            thread::spawn(move || remote.odd())
        };
        until("the call is with the server", || remote.calls_of_odd() == 1);
        let done = remote.loaded.close();
        done.ok();
        done.well_under(GENEROUS);
        call.join().unwrap().failed("TN_E_CLOSED", &[]).well_under(GENEROUS);
        until("no connection is left", || remote.server.open() == 0);
    }
}

#[test]
fn a_reply_that_does_not_end_its_answer_is_a_reply() {
    for era in ERAS {
        for behaviour in ["sse-open-after-reply", "sse-talks-after-reply"] {
            let remote = connected(behaviour, era, &[]);
            for _ in 0..3 {
                assert_eq!(remote.odd().well_under(GENEROUS).ok(), GOOD, "{behaviour}");
            }
            remote.echoes();
        }
        // Each holds its connection for a while; there are places for 256.
        let remote = connected("sse-open-after-reply", era, &[]);
        for _ in 0..300 {
            let done = remote.loaded.call_with("s_odd", json!({}), &Context::idle(3_000));
            assert_eq!(done.ok(), GOOD);
        }
    }
}
