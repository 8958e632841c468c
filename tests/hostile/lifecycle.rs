//! Starting, `server/discover`, `initialize`.

use serde_json::json;

use crate::common::{GENEROUS, Loaded, hostile, hostile_within, load, load_with, scratch};
use crate::{connects, echoes, fails, fails_at_once, received, works};

/// The lines of a `--record` file.
fn recorded(file: &std::path::Path) -> Vec<String> {
    std::fs::read_to_string(file).unwrap_or_default().lines().map(str::to_owned).collect()
}

#[test]
fn row_06_an_exit_before_any_reply_is_told_with_status_and_stderr() {
    let server = fails_at_once("exit-0", &[], "initialize", &["exit status 0"]);
    assert_eq!(server.get("stderr"), None, "{server}");
    let server = fails_at_once("exit-1-stderr", &[], "initialize", &["exit status 1"]);
    assert_eq!(
        server["stderr"], "starting up\nfatal: cannot open the database\n  at db.connect (db.js:12)",
        "{server}"
    );
    let server = fails_at_once("abort", &[], "initialize", &["signal 6", "SIGABRT"]);
    assert_eq!(server["stderr"], "assertion failed");
    let server = fails_at_once("exit-on-first-message", &[], "initialize", &["exit status 4"]);
    assert_eq!(server["stderr"], "I was not made for this");
}

#[test]
fn row_06_a_variable_that_was_not_passed_on_is_named() {
    // Every test host has it, and no server gets it by itself.
    const HELD_BACK: &str = "CARGO_MANIFEST_DIR";
    let behaviour = "env-names-a-missing-variable";
    let server = fails_at_once(behaviour, &["--variable", HELD_BACK], "initialize", &["exit status 1", HELD_BACK]);
    assert!(server["reason"].as_str().unwrap().contains("inheritEnv"), "{server}");
    // One that the host has not either is no matter of passing on.
    let server = fails_at_once(behaviour, &["--variable", "NOBODY_HAS_IT"], "initialize", &["exit status 1"]);
    assert!(!server["reason"].as_str().unwrap().contains("NOBODY_HAS_IT"), "{server}");
    let mut entry = hostile(behaviour, &["--variable", HELD_BACK]);
    entry["inheritEnv"] = json!([HELD_BACK]);
    works(entry, "modern");
}

#[test]
fn row_06_a_secret_in_stderr_is_masked() {
    let mut entry = hostile("environment-in-stderr", &[]);
    entry["env"] = json!({"API_TOKEN": "s3cret-value"});
    let loaded = load(json!({"s": entry}));
    for document in [&loaded.document, &loaded.status()] {
        let server = &document["servers"]["s"];
        assert_eq!(server["stderr"], "cannot sign in with API_TOKEN=***", "{server}");
        assert!(!document.to_string().contains("s3cret"));
    }
}

#[test]
fn row_06_a_command_that_cannot_be_started_fails_in_its_phase() {
    let missing = json!({"command": "/no/such/program", "timeout": GENEROUS});
    fails(missing, "start", &["/no/such/program"]);
}

#[test]
fn row_07_exit_on_the_probe_starts_it_again_with_initialize() {
    let file = scratch("record");
    let entry = hostile("exit-on-probe", &["--record", file.to_str().unwrap()]);
    let loaded = works(entry, "legacy");
    assert!(loaded.took.as_millis() < u128::from(GENEROUS) / 3);
    let lines = recorded(&file);
    assert_eq!(lines.iter().filter(|line| line.contains("server/discover")).count(), 1, "{lines:?}");
}

#[test]
fn row_07_exit_on_a_probe_that_was_read_late() {
    // The window of the probe (a tenth of the time-out) is over when the server reads it.
    let entry = hostile_within(12_000, "exit-on-probe-late", &["--delay", "1500"]);
    works(entry, "legacy");
}

#[test]
fn row_08_silence_on_the_probe_means_legacy_after_the_window() {
    let loaded = works(hostile_within(10_000, "silent-on-discover", &[]), "legacy");
    let ms = loaded.server("s")["ms"].as_u64().unwrap();
    assert!((1_000..10_000).contains(&ms), "the window is a tenth of the time-out: {ms} ms");
}

#[test]
fn row_08_silence_on_everything_ends_by_the_time_out() {
    let expected = ["no answer to initialize within the time-out of 2000 ms"];
    fails(hostile_within(2_000, "never-replies", &[]), "initialize", &expected);
    fails(hostile_within(2_000, "never-reads", &[]), "initialize", &expected);
    fails(hostile_within(2_000, "init-silent", &[]), "initialize", &expected);
}

#[test]
fn row_08_a_refusal_of_initialize_counts_though_the_probe_is_open() {
    fails_at_once("silent-then-init-error", &[], "initialize", &["no licence found"]);
}

#[test]
fn row_09_a_slow_start_in_either_era() {
    for era in crate::ERAS {
        // The answers come after the window of the probe, which is a tenth of the time-out.
        for behaviour in ["slow-start", "slow-handshake"] {
            works(hostile_within(10_000, behaviour, &["--era", era, "--delay", "1500"]), era);
        }
    }
}

#[test]
fn row_10_an_error_with_a_foreign_id_is_not_the_probes() {
    let loaded = works(hostile_within(10_000, "discover-error-foreign-id", &[]), "legacy");
    assert!(loaded.server("s")["ms"].as_u64().unwrap() >= 1_000, "{}", loaded.document);
}

#[test]
fn a_32022_to_initialize_waits_for_the_open_probe() {
    works(hostile_within(10_000, "init-answers-32022-then-probe", &[]), "modern");
}

fn answers(loaded: &Loaded) -> Vec<serde_json::Value> {
    received(loaded)
        .iter()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|message| message.get("method").is_none())
        .collect()
}

#[test]
fn row_15_requests_before_the_handshake_legacy() {
    let loaded = works(hostile("requests-before-init", &["--era", "legacy"]), "legacy");
    crate::common::until("four answers to each round", || answers(&loaded).len() >= 4);
    let answers = answers(&loaded);
    assert!(answers.iter().any(|answer| answer["id"] == "early-ping" && answer["result"] == json!({})), "{answers:?}");
    for answer in answers.iter().filter(|answer| answer["id"] != "early-ping") {
        assert_eq!(answer["error"]["code"], -32601, "{answer}");
    }
}

#[test]
fn row_15_requests_before_the_handshake_modern_are_never_answered() {
    let loaded = works(hostile("requests-before-init", &["--era", "modern"]), "modern");
    echoes(&loaded);
    assert_eq!(answers(&loaded), [json!(null); 0]);
}

#[test]
fn the_lifecycle_can_be_chosen() {
    let mut entry = hostile("ordinary", &[]);
    entry["lifecycle"] = json!("initialize");
    let loaded = works(entry, "legacy");
    assert!(!received(&loaded).iter().any(|line| line.contains("server/discover")));
    let entry = hostile("ordinary", &["--era", "legacy"]);
    let loaded = load_with(json!({"s": entry}), &json!({"lifecycle": "discover"}));
    let server = loaded.server("s");
    assert_eq!((&server["status"], &server["phase"]), (&json!("failed"), &json!("initialize")), "{server}");
    assert!(server["reason"].as_str().unwrap().contains("lifecycle"), "{server}");
    let loaded = connects(hostile("ordinary", &[]), "modern");
    assert!(!received(&loaded).iter().any(|line| line.contains("\"initialize\"")));
}

#[test]
fn bad_servers_do_not_delay_the_others() {
    let loaded = load(json!({
        "silent": hostile_within(8_000, "never-replies", &[]),
        "gone": hostile("exit-0", &[]),
        "s": hostile("ordinary", &[]),
        "broken": {"command": "a b c"},
        "off": {"command": "x", "disabled": true}
    }));
    let status = |name: &str| loaded.server(name)["status"].as_str().unwrap().to_owned();
    assert_eq!(
        ["silent", "gone", "s", "broken", "off"].map(status),
        ["failed", "failed", "connected", "failed", "disabled"]
    );
    assert_eq!(loaded.server("broken")["phase"], "config");
    assert!(loaded.server("s")["ms"].as_u64().unwrap() < 8_000);
    echoes(&loaded);
}
