//! How processes end, what they leave, what they do with their pipes.

use std::time::Duration;

use serde_json::{Value, json};

use crate::common::{GENEROUS, Loaded, hostile, hostile_within, load, until};
use crate::{ERAS, connected, echoes, fails, pid, runs, works};

fn process(loaded: &Loaded) -> Value {
    serde_json::from_str(loaded.call("s_process", json!({})).ok()).unwrap()
}

/// The pid of the process that a behaviour left behind.
fn grandchild(loaded: &Loaded) -> i64 {
    process(loaded)["grandchild"].as_str().unwrap().parse().unwrap()
}

#[test]
fn row_36_floods_of_stderr_stall_nothing() {
    for era in ERAS {
        for behaviour in ["stderr-flood", "stderr-endless-line"] {
            works(hostile(behaviour, &["--era", era]), era);
        }
        let loaded = connected("stderr-flood-in-call", era, &[]);
        assert_eq!(loaded.call("s_odd", json!({})).ok(), "called odd");
    }
}

#[test]
fn row_36_of_a_flood_the_last_lines_are_kept() {
    let server = fails(hostile("stderr-flood-then-exit", &["--bytes", "1048576"]), "initialize", &["exit status 1"]);
    let stderr = server["stderr"].as_str().unwrap();
    assert!((4 << 10..=8 << 10).contains(&stderr.len()), "{}", stderr.len());
    assert!(stderr.starts_with("a line of the log") && stderr.ends_with("64 bytes with its break."), "{stderr}");
}

#[test]
fn row_37_servers_that_stay_are_ended_step_by_step() {
    for (behaviour, at_least, at_most) in
        [("ordinary", 0, 900), ("ignores-eof", 1_000, 2_900), ("ignores-term", 3_000, 20_000)]
    {
        let loaded = connected(behaviour, "modern", &[]);
        let pid = pid(&loaded);
        let done = loaded.close();
        done.ok();
        assert!(!runs(pid), "{behaviour} still runs");
        let took = done.took.as_millis();
        // Upper bounds as ratios of the next step would be flaky on a busy machine, so only the order is checked there.
        assert!(took >= at_least && took < at_most * 10, "{behaviour}: {took} ms");
    }
}

#[test]
fn row_37_a_closed_stdout_is_the_end_of_the_server() {
    for era in ERAS {
        let loaded = connected("closes-stdout", era, &[]);
        let done = loaded.call("s_odd", json!({}));
        done.failed("TN_E_TRANSPORT", &["closed its output", "tool odd of server s"]).well_under(GENEROUS);
    }
    let server = fails(hostile("closes-stdout-at-start", &[]), "initialize", &["closed its output"]);
    assert_eq!(server["stderr"], "stdout is closed");
}

#[test]
fn row_37_a_closed_stdin_ends_the_next_call() {
    for era in ERAS {
        let loaded = connected("closes-stdin", era, &[]);
        assert_eq!(loaded.call("s_odd", json!({})).ok(), "called odd");
        // It is closed some time after the answer. The call that meets it fails at once, or the server was already
        // found dead and started again.
        let mut last = loaded.call("s_echo", json!({"text": "x"}));
        until("the end of stdin", || {
            last = loaded.call("s_echo", json!({"text": "x"}));
            !last.is_error
        });
        last.well_under(GENEROUS);
    }
}

#[test]
fn row_37_a_server_that_does_not_read_blocks_its_own_calls_only() {
    let mut entry = hostile("not-reading-stdin", &[]);
    entry["callTimeout"] = json!(1_000);
    let loaded = load(json!({"s": hostile("ordinary", &[]), "deaf": entry}));
    let big = json!({"x": "y".repeat(1 << 20)});
    for _ in 0..3 {
        loaded.call("deaf_odd", big.clone()).failed("TN_E_TIMEOUT", &["no answer for 1000 ms"]);
        echoes(&loaded);
    }
    loaded.close().ok();
}

#[test]
fn row_37_one_that_talks_while_it_ends_is_ended_too() {
    let loaded = connected("talks-while-ending", "modern", &[]);
    let pid = pid(&loaded);
    loaded.close().ok();
    assert!(!runs(pid));
}

#[test]
fn row_38_no_grandchild_is_left() {
    for behaviour in ["leaves-grandchild", "grandchild-ignores-term"] {
        // At the close.
        let loaded = connected(behaviour, "modern", &[]);
        let left = grandchild(&loaded);
        assert!(runs(left));
        loaded.close().ok();
        assert!(!runs(left), "{behaviour}");
        // After a crash, and though it holds the pipes.
        let loaded = connected(behaviour, "modern", &[]);
        let left = grandchild(&loaded);
        let done = loaded.call("s_odd", json!({}));
        done.failed("TN_E_TRANSPORT", &["exit status 3"]).well_under(GENEROUS);
        until("the sweep", || !runs(left));
    }
}

#[test]
fn row_38_wrapped_servers_are_ended_with_their_wrapper() {
    for behaviour in ["wrapper", "wrapper-ignores-eof"] {
        let loaded = connected(behaviour, "modern", &[]);
        let pid = pid(&loaded);
        loaded.close().ok();
        assert!(!runs(pid), "{behaviour}");
    }
    let loaded = connected("wrapper", "modern", &[]);
    loaded.call("s_odd", json!({})).failed("TN_E_TRANSPORT", &["exit status 3"]).well_under(GENEROUS);
}

#[test]
fn row_38_a_server_whose_wrapper_ended_first_is_swept() {
    let file = crate::common::scratch("pids");
    let file = file.to_str().unwrap();
    let loaded = load(json!({"s": hostile_within(3_000, "wrapper-ends-first", &["--state", file])}));
    loaded.close();
    let pids = std::fs::read_to_string(file).unwrap_or_default();
    for pid in pids.lines() {
        assert!(!runs(pid.parse().unwrap()), "{pid} still runs: {}", loaded.document);
    }
}

#[test]
fn row_39_a_crash_in_a_call_fails_it_with_the_exit_status() {
    for era in ERAS {
        let loaded = connected("crash-mid-call", era, &[]);
        let done = loaded.call("s_odd", json!({}));
        done.failed("TN_E_TRANSPORT", &["exit status 3", "tool odd of server s"]).well_under(GENEROUS);
        let loaded = connected("crash-by-signal", era, &[]);
        loaded.call("s_odd", json!({})).failed("TN_E_TRANSPORT", &["SIGABRT"]).well_under(GENEROUS);
        // Half a line is no reply that could be blamed: the crash is the cause.
        let loaded = connected("partial-then-exit", era, &[]);
        loaded.call("s_odd", json!({})).failed("TN_E_TRANSPORT", &["exit status 3"]).well_under(GENEROUS);
        let loaded = connected("crash-with-status", era, &[]);
        loaded.call("s_odd", json!({"status": 42})).failed("TN_E_TRANSPORT", &["exit status 42"]);
    }
}

#[test]
fn row_39_all_calls_in_flight_fail_at_once() {
    let loaded = connected("never-answers-or-crashes", "modern", &[]);
    std::thread::scope(|scope| {
        let calls: Vec<_> = (0..8).map(|_| scope.spawn(|| loaded.call("s_odd", json!({})))).collect();
        until("all are with the server", || {
            crate::received(&loaded).iter().filter(|line| line.contains("\"name\":\"odd\"")).count() == 8
        });
        loaded.call("s_crash", json!({})).failed("TN_E_TRANSPORT", &["exit status 3"]);
        for call in calls {
            call.join().unwrap().failed("TN_E_TRANSPORT", &["exit status 3"]).well_under(GENEROUS);
        }
    });
}

#[test]
fn closing_ends_calls_and_everything_that_runs() {
    let loaded = connected("never-answers", "modern", &[]);
    let pid = pid(&loaded);
    std::thread::scope(|scope| {
        let call = scope.spawn(|| loaded.call("s_odd", json!({})));
        until("it is with the server", || {
            crate::received(&loaded).iter().any(|line| line.contains("\"name\":\"odd\""))
        });
        loaded.close().ok();
        call.join().unwrap().failed("TN_E_CLOSED", &["closed"]).well_under(GENEROUS);
    });
    assert!(!runs(pid));
    assert_eq!(loaded.originals().len(), 4, "the last list");
    let done = loaded.call("s_echo", json!({"text": "x"}));
    done.failed("TN_E_CLOSED", &["MCP source is closed"]);
    loaded.resources("list_mcp_resources", json!({})).failed("TN_E_CLOSED", &["MCP source is closed"]);
    assert!(loaded.close().took < Duration::from_millis(GENEROUS) / 3);
}
