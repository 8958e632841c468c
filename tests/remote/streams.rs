//! Replies as events, their end and resumption; the GET stream.

use std::time::Duration;

use serde_json::json;

use crate::common::{Context, GENEROUS, until};
use crate::{ERAS, GOOD, connected, odd, odd_fails, odd_works, works};

#[test]
fn row_43_silent_streams_end_by_the_idle_time_out() {
    for era in ERAS {
        for behaviour in ["sse-silent", "sse-comments-forever", "sse-endless-comment"] {
            let remote = connected(behaviour, era, &[]);
            let done = remote.loaded.call_with("s_odd", json!({}), &Context::idle(1_000));
            done.failed("TN_E_TIMEOUT", &["no answer for 1000 ms"]).well_under(GENEROUS);
            until("the stream is closed", || remote.received("tools/call").iter().any(|call| call.left));
            remote.echoes();
        }
    }
}

#[test]
fn events_in_all_their_forms() {
    for behaviour in ["sse-comments-then-reply", "sse-odd-framing", "sse-byte-by-byte"] {
        odd_works(behaviour);
    }
}

#[test]
fn row_44_the_end_without_a_reply_fails_the_call_and_nothing_else() {
    for behaviour in ["sse-ends", "sse-cut", "sse-reset", "sse-no-final-break", "sse-notifications-then-end"] {
        odd_fails(behaviour, "TN_E_TRANSPORT", &["ended without a reply to tools/call"]);
    }
}

#[test]
fn row_44_what_has_an_id_is_resumed_in_the_legacy_era() {
    for (behaviour, gets) in
        [("sse-resumes", 1), ("sse-cut-resumes", 1), ("sse-resumes-twice", 2), ("sse-resume-503-once", 2)]
    {
        let remote = connected(behaviour, "legacy", &[]);
        assert_eq!(remote.odd().well_under(GENEROUS).ok(), GOOD, "{behaviour}");
        let resumed: Vec<_> = remote
            .received("GET")
            .iter()
            .filter_map(|request| request.header("last-event-id").map(str::to_owned))
            .collect();
        assert_eq!(resumed.len(), gets, "{behaviour}: {resumed:?}");
        assert_eq!(resumed[0], "first");
        assert_eq!(remote.calls_of_odd(), 1, "not asked again");
        assert!(remote.received("GET").iter().all(|get| get.header("mcp-session-id").is_some()));
    }
}

#[test]
fn row_44_the_pause_that_the_server_names_is_kept() {
    let remote = connected("sse-resumes", "legacy", &["--interval", "400"]);
    let done = remote.odd();
    assert_eq!(done.ok(), GOOD);
    assert!(done.took >= Duration::from_millis(400), "{:?}", done.took);
    // What would be for ever ends with the call.
    let remote = connected("sse-retry-huge", "legacy", &[]);
    let done = remote.loaded.call_with("s_odd", json!({}), &Context::idle(300));
    done.failed("TN_E_TIMEOUT", &[]).well_under(GENEROUS);
    remote.echoes();
}

#[test]
fn row_44_a_resumption_that_is_refused_ends_the_call() {
    for behaviour in ["sse-resume-404", "sse-resume-405", "sse-resume-html"] {
        let remote = connected(behaviour, "legacy", &[]);
        remote.odd().failed("TN_E_TRANSPORT", &["ended without a reply", "resume"]).well_under(GENEROUS);
        assert_eq!(remote.calls_of_odd(), 1, "{behaviour}");
        remote.echoes();
    }
    let remote = connected("sse-resume-silent", "legacy", &[]);
    remote.loaded.call_with("s_odd", json!({}), &Context::idle(500)).failed("TN_E_TIMEOUT", &[]).well_under(GENEROUS);
    remote.echoes();
}

#[test]
fn row_44_a_resumption_that_never_brings_anything_is_no_storm() {
    let remote = connected("sse-resumes-never", "legacy", &["--interval", "0"]);
    let done = remote.loaded.call_with("s_odd", json!({}), &Context::idle(3_000));
    done.failed("TN_E_TIMEOUT", &["no answer for 3000 ms"]).well_under(GENEROUS);
    let gets = remote.received("GET").len();
    assert!((2..120).contains(&gets), "{gets} GETs in three seconds");
    remote.echoes();
}

#[test]
fn row_44_a_server_that_works_in_parts_is_asked_as_often_as_it_wants() {
    let remote = connected("sse-works-in-parts", "legacy", &[]);
    assert_eq!(remote.odd().well_under(GENEROUS).ok(), GOOD);
    let resumed = remote.received("GET").iter().filter(|get| get.header("last-event-id") == Some("part")).count();
    assert_eq!(resumed, 20);
}

#[test]
fn answers_that_a_server_does_not_take_use_up_nothing() {
    let remote = works("get-asks", "legacy", &[]);
    let answers = || remote.server.received().iter().filter(|got| got.body.contains("ping-")).count();
    until("answers are on their way", || answers() >= 64);
    for _ in 0..20 {
        remote.echoes();
    }
    assert_eq!(answers(), 64, "the others wait");
    assert!(remote.server.open() < 80, "{} connections", remote.server.open());
    remote.loaded.close().well_under(GENEROUS);
    until("no connection is left", || remote.server.open() == 0);
}

#[test]
fn row_44_a_modern_stream_is_never_resumed() {
    for behaviour in ["sse-resumes", "sse-cut-resumes"] {
        let done = odd(behaviour, "modern", &[]);
        done.failed("TN_E_TRANSPORT", &["ended without a reply"]).well_under(GENEROUS);
    }
    let remote = connected("sse-resumes", "modern", &[]);
    remote.odd();
    assert!(remote.received("GET").is_empty());
}

#[test]
fn a_server_without_a_stream_of_its_own_is_well() {
    for behaviour in ["get-405", "get-404", "get-500", "get-html", "get-401", "get-stalls", "get-resets", "get-noise"] {
        let remote = works(behaviour, "legacy", &[]);
        until("the GET", || !remote.received("GET").is_empty());
        assert_eq!(remote.odd().ok(), GOOD, "{behaviour}");
        assert_eq!(remote.received("initialize").len(), 1, "{behaviour}");
        remote.loaded.close().well_under(GENEROUS);
    }
}

#[test]
fn a_stream_that_ends_at_once_is_not_opened_in_a_storm() {
    for behaviour in ["get-ends", "get-ends-retry-0"] {
        let remote = works(behaviour, "legacy", &[]);
        let began = std::time::Instant::now();
        while began.elapsed() < Duration::from_millis(1_500) {
            remote.echoes();
        }
        let gets = remote.received("GET").len();
        let most = 10 * (1 + began.elapsed().as_secs() as usize);
        assert!((1..most).contains(&gets), "{behaviour}: {gets} GETs in {:?}", began.elapsed());
    }
}

#[test]
fn a_stream_that_was_cut_goes_on_where_it_was() {
    let remote = works("get-cut-once", "legacy", &[]);
    until("a second GET", || remote.received("GET").len() >= 2);
    assert_eq!(remote.received("GET")[1].header("last-event-id"), Some("get-1"));
    remote.echoes();
}

#[test]
fn subscriptions_that_fail_cost_nothing_else() {
    for behaviour in ["listen-ends", "listen-cut-once", "listen-stalls", "listen-500", "listen-json"] {
        let remote = works(behaviour, "modern", &[]);
        until("the subscription", || !remote.received("subscriptions/listen").is_empty());
        assert_eq!(remote.odd().ok(), GOOD, "{behaviour}");
        remote.loaded.close().well_under(GENEROUS);
    }
    let remote = works("listen-cut-once", "modern", &[]);
    until("it is made again", || remote.received("subscriptions/listen").len() >= 2);
    let ids: Vec<_> =
        remote.received("subscriptions/listen").iter().map(|listen| listen.message()["id"].clone()).collect();
    assert_ne!(ids[0], ids[1], "{ids:?}");
}

#[test]
fn a_subscription_that_always_ends_is_not_made_in_a_storm() {
    let remote = works("listen-ends", "modern", &[]);
    let began = std::time::Instant::now();
    while began.elapsed() < Duration::from_millis(1_500) {
        remote.echoes();
    }
    let made = remote.received("subscriptions/listen").len();
    let most = 10 * (1 + began.elapsed().as_secs() as usize);
    assert!((1..most).contains(&made), "{made} in {:?}", began.elapsed());
}

#[test]
fn odd_stdio_faults_are_odd_here_too() {
    // The tables of the stdio server, met over both kinds of answer: a sample; the rest is in remote_json and remote_sse.
    for era in ERAS {
        for reply in ["json", "sse"] {
            for behaviour in
                ["id-as-string", "id-as-float", "result-and-error-null", "no-jsonrpc", "batch-mixed", "bom-crlf"]
            {
                assert_eq!(odd(behaviour, era, &["--reply", reply]).ok(), GOOD, "{behaviour}");
            }
        }
    }
    odd_fails("result-and-error-both", "TN_E_PROTOCOL", &["both a result and an error"]);
}
