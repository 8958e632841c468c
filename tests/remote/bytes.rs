//! What happens below the answers.

use serde_json::json;

use crate::common::{Context, GENEROUS, until};
use crate::{ERAS, GOOD, connected, connected_with, odd, odd_fails, odd_works, works};

#[test]
fn row_43_ends_before_and_in_the_answer() {
    odd_fails("closes-before-head", "TN_E_TRANSPORT", &["no answer", "closed"]);
    odd_fails("resets-before-head", "TN_E_TRANSPORT", &["no answer"]);
    odd_fails("closes-in-head", "TN_E_TRANSPORT", &["no answer", "closed"]);
    odd_fails("resets-after-head", "TN_E_TRANSPORT", &["tools/call"]);
    odd_fails("cut-body-length", "TN_E_TRANSPORT", &["broke off", "closed"]);
    odd_fails("cut-body-chunked", "TN_E_TRANSPORT", &["broke off"]);
    odd_fails("cut-in-chunk", "TN_E_TRANSPORT", &["broke off"]);
}

#[test]
fn row_43_stalls_end_by_the_idle_time_out_and_close_their_connection() {
    for era in ERAS {
        for behaviour in ["stalled-head", "stalled-in-head", "stalled-body"] {
            let remote = connected(behaviour, era, &[]);
            let done = remote.loaded.call_with("s_odd", json!({}), &Context::idle(1_000));
            done.failed("TN_E_TIMEOUT", &["no answer for 1000 ms", "tool odd of server s"]).well_under(GENEROUS);
            until("the connection is closed", || remote.received("tools/call").iter().any(|call| call.left));
            remote.echoes();
        }
    }
}

#[test]
fn bytes_that_trickle_are_no_stall_and_no_progress() {
    for era in ERAS {
        let remote = connected("trickled-body", era, &["--interval", "1"]);
        assert_eq!(remote.odd().ok(), GOOD);
        // Progress is what says that a call goes on; a deadline ends it anyway.
        let remote = connected("trickled-body", era, &["--interval", "50"]);
        remote.loaded.call_with("s_odd", json!({}), &Context::deadline(300)).failed("TN_E_TIMEOUT", &["deadline"]);
        remote.echoes();
    }
}

#[test]
fn connections_are_used_again() {
    for era in ERAS {
        for reply in ["json", "sse"] {
            let remote = connected("ordinary", era, &["--reply", reply]);
            let before = remote.server.connections();
            (0..20).for_each(|_| remote.echoes());
            assert!(remote.server.connections() <= before + 1, "{} more", remote.server.connections() - before);
        }
    }
}

#[test]
fn a_connection_that_was_closed_while_idle_costs_nothing() {
    for era in ERAS {
        let remote = works("closes-idle", era, &[]);
        for _ in 0..20 {
            let ended = remote.server.ended();
            assert_eq!(remote.odd().ok(), GOOD);
            until("the connection is closed", || remote.server.ended() > ended);
        }
        assert_eq!(remote.calls_of_odd(), 20);
        // All at once, while nobody looks.
        let remote = works("ordinary", era, &[]);
        for _ in 0..5 {
            remote.server.hang_up();
            until("all connections are closed", || remote.server.open() == 0);
            assert_eq!(remote.odd().ok(), GOOD);
        }
        assert_eq!(remote.calls_of_odd(), 5);
    }
}

#[test]
fn a_call_that_was_read_before_the_connection_closed_is_not_repeated() {
    for era in ERAS {
        let remote = connected("closes-reused", era, &[]);
        // The connections of the load are at hand.
        let done = remote.odd();
        if done.is_error {
            done.failed("TN_E_TRANSPORT", &["no answer", "closed"]);
        }
        assert_eq!(remote.calls_of_odd(), 1);
        remote.echoes();
    }
}

#[test]
fn what_is_odd_but_right() {
    for era in ERAS {
        for behaviour in [
            "connection-close",
            "http-1.0",
            "two-segments",
            "byte-by-byte",
            "interim-answers",
            "chunks-odd",
            "many-headers",
            "gzip",
        ] {
            let remote = works(behaviour, era, &[]);
            assert_eq!(remote.odd().well_under(GENEROUS).ok(), GOOD, "{behaviour}");
        }
    }
    odd_works("gzip-events");
}

#[test]
fn two_segments_do_not_stall_a_kept_connection() {
    for era in ERAS {
        let remote = works("two-segments", era, &[]);
        // The system acknowledges at once on a young connection.
        (0..20).for_each(|_| drop(remote.odd()));
        // A delayed acknowledgement costs every call 40 ms. A busy machine may cost many of them as much, but not all.
        let quick = (0..40).filter(|_| remote.odd().took.as_millis() < 40).count();
        assert!(quick >= 4, "all but {quick} of 40 calls were held back");
    }
}

#[test]
fn what_is_no_http_fails_its_call() {
    for behaviour in ["garbage", "garbage-forever"] {
        odd_fails(behaviour, "TN_E_TRANSPORT", &["not HTTP"]);
    }
    for behaviour in
        ["header-flood", "header-endless", "chunk-size-bad", "chunk-size-huge", "length-bad", "length-twice"]
    {
        odd_fails(behaviour, "TN_E_TRANSPORT", &["/mcp"]);
    }
}

#[test]
fn compression_that_is_none() {
    odd_fails("gzip-broken", "TN_E_TRANSPORT", &["gzip"]);
    odd_fails("gzip-cut", "TN_E_TRANSPORT", &["broke off"]);
    odd_fails("coding-unknown", "TN_E_TRANSPORT", &["br"]);
}

/// So small a limit that the tests do not have to move megabytes.
const LIMIT: u64 = 100_000;

#[test]
fn row_05_whatever_is_over_the_limit_ends_its_call_at_once() {
    for era in ERAS {
        for (behaviour, options) in [
            ("reply-over-limit", ["--bytes", "100001", "--reply", "json"]),
            ("reply-over-limit", ["--bytes", "100001", "--reply", "sse"]),
            ("reply-over-limit", ["--bytes", "5000000", "--reply", "json"]),
            ("reply-over-limit", ["--bytes", "5000000", "--reply", "sse"]),
            ("endless-reply", ["--bytes", "1", "--reply", "json"]),
            ("endless-reply", ["--bytes", "1", "--reply", "sse"]),
            ("sse-endless-event", ["--bytes", "1", "--reply", "sse"]),
            ("gzip-bomb", ["--bytes", "50000000", "--reply", "json"]),
            ("body-endless", ["--bytes", "1", "--reply", "json"]),
            ("length-huge", ["--bytes", "1", "--reply", "json"]),
        ] {
            let remote = connected_with(behaviour, era, &options, &json!({"maxMessageBytes": LIMIT}));
            let done = remote.odd();
            done.failed("TN_E_LIMIT", &["100000 bytes", "maxMessageBytes", "tool odd of server s"]);
            done.well_under(GENEROUS);
            remote.echoes();
            assert_eq!(remote.calls_of_odd(), 1);
        }
    }
}

#[test]
fn row_05_below_the_limit_all_arrives() {
    for era in ERAS {
        for reply in ["json", "sse"] {
            let options = ["--bytes", "99000", "--reply", reply];
            let remote = connected_with("big-result", era, &options, &json!({"maxMessageBytes": LIMIT}));
            assert_eq!(remote.odd().ok().len(), 99_000);
            let done = odd("big-result", era, &["--reply", reply, "--bytes", "3000000"]);
            assert_eq!(done.ok().len(), 3_000_000);
        }
    }
}
