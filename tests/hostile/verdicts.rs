//! What answers to `server/discover` and `initialize` mean, however they travel.

use crate::common::{GENEROUS, hostile};
use crate::{fails_at_once, received, works};
use serde_json::json;

#[test]
fn row_10_what_is_no_modern_answer_means_initialize() {
    for behaviour in [
        "discover-empty",
        "discover-null",
        "discover-legacy-only",
        "discover-versions-string",
        "discover-32022-legacy",
        "discover-32022-nodata",
        "discover-error-32603",
        "discover-error-string",
        "discover-error-null-id",
        "discover-error-no-id",
    ] {
        let loaded = works(hostile(behaviour, &[]), "legacy");
        // Known at once: not after the window of the probe, which is a tenth of the time-out.
        assert!(loaded.server("s")["ms"].as_u64().unwrap() < GENEROUS / 10, "{behaviour}: {}", loaded.document);
    }
}

#[test]
fn row_11_no_common_version() {
    for behaviour in ["discover-unknown-only", "discover-32022-unknown"] {
        fails_at_once(behaviour, &[], "initialize", &["no common protocol version", "2099-01-01", "2026-07-28"]);
    }
}

#[test]
fn modern_by_an_error_is_asked_again_for_its_words() {
    let loaded = works(hostile("discover-32022-once", &[]), "modern");
    assert_eq!(loaded.server("s")["capabilities"], json!({"tools": {}}));
    // Those that never say what they are get no more than that.
    for behaviour in ["discover-32022-always", "discover-32021"] {
        let loaded = works(hostile(behaviour, &[]), "modern");
        let asked = received(&loaded).iter().filter(|line| line.contains("server/discover")).count();
        assert_eq!(asked, 2, "{behaviour}");
        assert!(!received(&loaded).iter().any(|line| line.contains("\"initialize\"")), "{behaviour}");
    }
}

#[test]
fn a_modern_revision_among_others_is_enough() {
    works(hostile("discover-modern-among-unknown", &[]), "modern");
    fails_at_once("discover-no-capabilities", &[], "initialize", &["server/discover", "\"capabilities\""]);
}

#[test]
fn row_12_an_unknown_version_fails_naming_it() {
    fails_at_once("init-unknown-version", &[], "initialize", &["2099-01-01", "2025-11-25"]);
    fails_at_once("init-modern-version", &[], "initialize", &["2026-07-28"]);
}

#[test]
fn row_13_older_revisions_go_on_in_their_version() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18"] {
        let loaded = works(hostile(&format!("init-{version}"), &[]), "legacy");
        assert_eq!(loaded.server("s")["protocolVersion"], version);
    }
}

#[test]
fn row_14_a_missing_serverinfo_is_tolerated() {
    for behaviour in ["init-no-serverinfo", "init-serverinfo-null"] {
        let loaded = works(hostile(behaviour, &[]), "legacy");
        assert_eq!(loaded.server("s").get("serverInfo"), None, "{behaviour}");
    }
    let loaded = works(hostile("init-serverinfo-odd", &[]), "legacy");
    assert_eq!(loaded.server("s")["serverInfo"], json!({"name": 7}));
}

#[test]
fn row_14_what_else_is_missing_is_named() {
    for (behaviour, field) in [
        ("init-no-version", "\"protocolVersion\""),
        ("init-version-number", "\"protocolVersion\""),
        ("init-empty", "\"protocolVersion\""),
        ("init-no-capabilities", "\"capabilities\""),
        ("init-capabilities-null", "\"capabilities\""),
        ("init-null", "an object"),
    ] {
        fails_at_once(behaviour, &[], "initialize", &["initialize", field]);
    }
}

#[test]
fn row_14_odd_capabilities_and_instructions() {
    let loaded = works(hostile("init-capabilities-odd", &[]), "legacy");
    assert_eq!(loaded.originals(), ["echo", "received", "process", "odd"]);
    let loaded = works(hostile("init-instructions-number", &[]), "legacy");
    assert_eq!(loaded.server("s").get("instructions"), None);
}

#[test]
fn row_14_an_error_to_initialize_is_told() {
    fails_at_once("init-error", &[], "initialize", &["refused initialize", "no licence found"]);
}
