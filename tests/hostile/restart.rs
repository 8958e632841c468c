//! Servers that crash are started again by the next call, and what was under way is repeated by nobody.

use std::fs;

use serde_json::{Value, json};

use crate::common::{Context, GENEROUS, Loaded, hostile, load, load_with, scratch, until};
use crate::{ERAS, connected, echoes, pid, received, runs};

/// A server `s` with a state file, and the file.
fn with_state(behaviour: &str, era: &str, restart: &Value) -> (Loaded, std::path::PathBuf) {
    let file = scratch("state");
    let mut entry = hostile(behaviour, &["--era", era, "--state", file.to_str().unwrap()]);
    entry["restart"] = restart.clone();
    let loaded = load(json!({"s": entry}));
    assert_eq!(loaded.server("s")["status"], "connected", "{}", loaded.document);
    (loaded, file)
}

fn starts(file: &std::path::Path) -> usize {
    fs::read_to_string(file).unwrap().lines().count()
}

fn state_of(loaded: &Loaded) -> Value {
    loaded.status()["servers"]["s"].clone()
}

#[test]
fn row_39_the_next_call_starts_it_again() {
    for era in ERAS {
        let (loaded, _) = with_state("crash-once-then-fine", era, &json!({"backoffMs": 1}));
        let tool = loaded.tool("s_odd");
        tool.call("{}", None).failed("TN_E_TRANSPORT", &["exit status 3"]).well_under(GENEROUS);
        assert_eq!(state_of(&loaded)["status"], "connected", "it may be started again");
        assert_eq!(tool.call("{}", None).ok(), "called odd");
        echoes(&loaded);
    }
}

#[test]
fn row_39_nothing_is_repeated_by_itself() {
    for era in ERAS {
        let file = scratch("record");
        let loaded = connected("crash-mid-call", era, &["--record", file.to_str().unwrap()]);
        loaded.call("s_odd", json!({})).failed("TN_E_TRANSPORT", &[]);
        // The crash is over, and another call brought it up again.
        echoes(&loaded);
        let lines = fs::read_to_string(&file).unwrap();
        assert_eq!(lines.lines().filter(|line| line.contains("\"name\":\"odd\"")).count(), 1, "{lines}");
    }
}

#[test]
fn a_crash_while_idle_is_nobodys_failure() {
    for era in ERAS {
        let loaded = connected("crash-after-call", era, &[]);
        let pid = pid(&loaded);
        assert_eq!(loaded.call("s_odd", json!({})).ok(), "called odd");
        until("the crash", || !runs(pid));
        assert_eq!(state_of(&loaded)["status"], "connected");
        echoes(&loaded);
    }
}

#[test]
fn one_start_however_many_calls_wait_for_it() {
    let (loaded, file) = with_state("starts-counted", "modern", &json!({"backoffMs": 1}));
    let pid = pid(&loaded);
    loaded.call("s_crash", json!({})).failed("TN_E_TRANSPORT", &[]);
    until("the crash", || !runs(pid));
    std::thread::scope(|scope| {
        for call in (0..16).map(|_| scope.spawn(|| echoes(&loaded))).collect::<Vec<_>>() {
            call.join().unwrap();
        }
    });
    assert_eq!(starts(&file), 2);
}

#[test]
fn max_counts_failures_in_a_row() {
    for max in [0, 2] {
        let (loaded, file) = with_state("starts-counted", "modern", &json!({"max": max, "backoffMs": 1}));
        let crash = loaded.tool("s_crash");
        for _ in 0..=max {
            crash.call("{}", None).failed("TN_E_TRANSPORT", &["exit status 3"]);
        }
        crash.call("{}", None).failed("TN_E_TRANSPORT", &["is not connected", "exit status 3"]).well_under(GENEROUS);
        assert_eq!(starts(&file), max + 1);
        let state = state_of(&loaded);
        assert_eq!((&state["status"], &state["phase"]), (&json!("failed"), &json!("call")), "{state}");
        assert!(state["reason"].as_str().unwrap().contains("exit status 3"), "{state}");
        assert!(state["stderr"].as_str().unwrap().contains("segment 7 is gone"), "{state}");
        assert_eq!(loaded.originals().len(), 5, "the last list");
        // An explicit restart begins anew.
        let done = loaded.restart(Some("s"));
        assert!(!done.is_error, "{done:?}");
        assert_eq!(done.doc()["servers"]["s"]["status"], "connected");
        echoes(&loaded);
        assert_eq!(starts(&file), max + 2);
    }
}

#[test]
fn the_back_off_doubles() {
    let (loaded, _) = with_state("starts-counted", "modern", &json!({"max": 10, "backoffMs": 200}));
    for failures in 0..3u32 {
        // It counts from the crash, which comes after this.
        let began = std::time::Instant::now();
        loaded.call("s_crash", json!({})).failed("TN_E_TRANSPORT", &[]);
        assert_eq!(loaded.call("s_echo", json!({"text": "up"})).ok(), "up");
        let least = u128::from(200 * 2u32.pow(failures));
        assert!(began.elapsed().as_millis() >= least, "{failures}: {:?}", began.elapsed());
    }
}

#[test]
fn a_deadline_covers_the_start_and_the_call() {
    let mut entry = hostile("never-answers-or-crashes", &[]);
    entry["restart"] = json!({"backoffMs": 2_500});
    let loaded = load(json!({"s": entry}));
    loaded.call("s_crash", json!({})).failed("TN_E_TRANSPORT", &["exit status 3"]);
    let done = loaded.call_with("s_odd", json!({}), &Context::deadline(3_000));
    done.failed("TN_E_TIMEOUT", &["deadline of 3000 ms"]).well_under(3 * 5_500);
    // The next start waits for twice as long, which is longer than the whole call may take.
    loaded.call("s_crash", json!({})).failed("TN_E_TRANSPORT", &["exit status 3"]);
    let done = loaded.call_with("s_odd", json!({}), &Context::deadline(300));
    done.failed("TN_E_TIMEOUT", &["the start of the server", "deadline of 300 ms"]);
}

#[test]
fn what_cannot_be_started_again_says_why() {
    for era in ERAS {
        let (loaded, _) = with_state("starts-once", era, &json!({"max": 2, "backoffMs": 1}));
        let tool = loaded.tool("s_odd");
        tool.call("{}", None).failed("TN_E_TRANSPORT", &["exit status 3"]);
        tool.call("{}", None).failed("TN_E_TRANSPORT", &["\"s\" is not connected", "exit status 5"]);
        let state = state_of(&loaded);
        assert_eq!((&state["status"], &state["phase"]), (&json!("failed"), &json!("initialize")), "{state}");
        assert_eq!(state["stderr"], "the lock file is still there");
        tool.call("{}", None).failed("TN_E_TRANSPORT", &["exit status 5"]).well_under(GENEROUS);
    }
}

#[test]
fn a_server_may_come_back_changed() {
    for era in ERAS {
        let (loaded, _) = with_state("changed-after-restart", era, &json!({"backoffMs": 1}));
        loaded.call("s_odd", json!({})).failed("TN_E_TRANSPORT", &["exit status 3"]);
        assert!(loaded.originals().contains(&"odd".to_owned()), "the last list");
        echoes(&loaded);
        let originals = loaded.originals();
        assert!(originals.contains(&"odd-2".to_owned()) && !originals.contains(&"odd".to_owned()), "{originals:?}");
        assert_eq!(loaded.call("s_odd-2", json!({})).ok(), "called odd-2");
    }
}

#[test]
fn the_verdict_on_the_era_is_remembered() {
    let (loaded, _) = with_state("crash-once-then-fine", "legacy", &json!({"backoffMs": 1}));
    loaded.call("s_odd", json!({})).failed("TN_E_TRANSPORT", &[]);
    echoes(&loaded);
    assert!(!received(&loaded).iter().any(|line| line.contains("server/discover")));
    // A server that dies on the probe is not made to die again.
    let file = scratch("record");
    let loaded = connected("exit-on-probe", "legacy", &["--record", file.to_str().unwrap()]);
    assert!(!loaded.restart(Some("s")).is_error);
    echoes(&loaded);
    let lines = fs::read_to_string(&file).unwrap();
    assert_eq!(lines.lines().filter(|line| line.contains("server/discover")).count(), 1, "{lines}");
}

#[test]
fn lists_and_reads_are_repeated_once() {
    for era in ERAS {
        for (method, tool, arguments, text) in [
            ("resources/list", "list_mcp_resources", json!({}), "s fixture://hello — hello"),
            ("resources/read", "read_mcp_resource", json!({"server": "s", "uri": "fixture://hello"}), "hello resource"),
        ] {
            let file = scratch("state");
            let options = ["--era", era, "--at", method, "--state", file.to_str().unwrap()];
            let mut entry = hostile("crash-once-with-resources", &options);
            entry["restart"] = json!({"backoffMs": 1});
            let loaded = load(json!({"s": entry}));
            assert!(loaded.resources(tool, arguments).ok().starts_with(text), "{method}");
        }
    }
}

#[test]
fn an_explicit_restart_is_a_new_process_and_a_new_list() {
    let file = scratch("state");
    let loaded = load_with(
        json!({
            "s": hostile("starts-counted", &["--state", file.to_str().unwrap()]),
            "other": hostile("ordinary", &[]),
            "off": {"command": "x", "disabled": true}
        }),
        &json!({}),
    );
    let first = pid(&loaded);
    let done = loaded.restart(Some("s"));
    assert!(!done.is_error, "{done:?}");
    let second = pid(&loaded);
    assert!(first != second && !runs(first));
    assert!(!loaded.restart(None).is_error);
    assert!(pid(&loaded) != second && !runs(second));
    assert_eq!(starts(&file), 3);
    loaded.restart(Some("nope")).failed("TN_E_NOT_FOUND", &["Unknown MCP server \"nope\""]);
    loaded.restart(Some("off")).failed("TN_E_TRANSPORT", &["disabled"]);
    loaded.close();
    loaded.restart(Some("s")).failed("TN_E_CLOSED", &["closed"]);
}

#[test]
fn a_restart_brings_up_what_failed_at_the_load() {
    let file = scratch("state");
    // The file is there: its first start is a second one, which fails.
    fs::write(&file, "was here\n").unwrap();
    let loaded = load(json!({"s": hostile("starts-once", &["--state", file.to_str().unwrap()])}));
    assert_eq!(loaded.server("s")["status"], "failed");
    loaded.restart(Some("s")).failed("TN_E_TRANSPORT", &["exit status 5"]);
    fs::remove_file(&file).unwrap();
    assert!(!loaded.restart(Some("s")).is_error);
    assert_eq!(state_of(&loaded)["status"], "connected");
    echoes(&loaded);
}

#[test]
fn a_restart_ends_the_calls_under_way() {
    let loaded = connected("never-answers", "modern", &[]);
    std::thread::scope(|scope| {
        let call = scope.spawn(|| loaded.call("s_odd", json!({})));
        until("it is with the server", || received(&loaded).iter().any(|line| line.contains("\"name\":\"odd\"")));
        assert!(!loaded.restart(Some("s")).is_error);
        call.join().unwrap().failed("TN_E_CLOSED", &["restarted"]).well_under(GENEROUS);
    });
    echoes(&loaded);
}
