//! Calls that take their time, and what servers say meanwhile.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use serde_json::json;

use crate::common::{Context, GENEROUS, until};
use crate::{ERAS, connected, echoes, received, receives};

#[test]
fn row_35_a_call_never_answered_ends_by_its_time_out_and_is_cancelled() {
    for era in ERAS {
        let loaded = connected("never-answers", era, &[]);
        let done = loaded.call_with("s_odd", json!({}), &Context::idle(200));
        done.failed("TN_E_TIMEOUT", &["no answer for 200 ms", "tool odd of server s"]);
        assert!(done.took >= Duration::from_millis(200), "{:?}", done.took);
        assert_eq!(done.doc()["error"]["code"], "timeout");
        receives(&loaded, "notifications/cancelled");
        let cancels: Vec<String> =
            received(&loaded).into_iter().filter(|line| line.contains("notifications/cancelled")).collect();
        let cancel: serde_json::Value = serde_json::from_str(&cancels[0]).unwrap();
        let call = received(&loaded).into_iter().find(|line| line.contains("\"name\":\"odd\"")).unwrap();
        let call: serde_json::Value = serde_json::from_str(&call).unwrap();
        assert_eq!((cancels.len(), &cancel["params"]["requestId"]), (1, &call["id"]));
        echoes(&loaded);
    }
}

#[test]
fn row_35_cancelling_ends_the_call_at_once_and_tells_the_server() {
    for era in ERAS {
        let loaded = Arc::new(connected("never-answers", era, &[]));
        let context = Arc::new(Context::new());
        let calls: Vec<_> = (0..8)
            .map(|_| {
                let (loaded, context) = (loaded.clone(), context.clone());
                thread::spawn(move || loaded.call_with("s_odd", json!({}), &context))
            })
            .collect();
        let odd_calls = || received(&loaded).iter().filter(|line| line.contains("\"name\":\"odd\"")).count();
        until("all calls are with the server", || odd_calls() == 8);
        context.cancel();
        for call in calls {
            call.join().unwrap().failed("TN_E_CANCELLED", &["cancelled"]).well_under(GENEROUS);
        }
        until("each was cancelled", || {
            received(&loaded).iter().filter(|line| line.contains("notifications/cancelled")).count() == 8
        });
        loaded.call_with("s_echo", json!({"text": "x"}), &context).failed("TN_E_CANCELLED", &[]);
        echoes(&loaded);
    }
}

#[test]
fn row_35_an_answer_that_comes_too_late_is_nobodys() {
    for era in ERAS {
        let loaded = connected("answers-when-cancelled", era, &[]);
        for _ in 0..3 {
            loaded.call_with("s_odd", json!({}), &Context::idle(100)).failed("TN_E_TIMEOUT", &[]);
            receives(&loaded, "notifications/cancelled");
            echoes(&loaded);
        }
    }
}

#[test]
fn row_36_a_flood_of_requests_that_reads_no_answers_costs_bounded_memory() {
    if !crate::measure::alone("calls::row_36_a_flood_of_requests_that_reads_no_answers_costs_bounded_memory") {
        return;
    }
    let loaded = connected("ping-flood", "legacy", &[]);
    let before = crate::measure::rss();
    // It sends pings as fast as the pipe takes them and never reads again.
    loaded.call_with("s_odd", json!({}), &Context::deadline(2_000)).failed("TN_E_TIMEOUT", &[]);
    let grown = crate::measure::rss().saturating_sub(before);
    assert!(grown < 40 << 20, "{} MiB", grown >> 20);
    loaded.close();
}

#[test]
fn progress_of_the_call_itself_restarts_its_clock() {
    for era in ERAS {
        let loaded = connected("progress-forever", era, &["--interval", "20"]);
        let context = Context::idle(2_000);
        let done = thread::scope(|scope| {
            let call = scope.spawn(|| loaded.call_with("s_odd", json!({}), &context));
            // Longer than the silence that it may have.
            thread::sleep(Duration::from_millis(3_000));
            assert!(!call.is_finished());
            context.cancel();
            call.join().unwrap()
        });
        done.failed("TN_E_CANCELLED", &[]);
        receives(&loaded, "notifications/cancelled");
    }
}
