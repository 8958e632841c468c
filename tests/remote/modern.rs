//! Headers and errors of 2026-07-28.

use serde_json::json;

use crate::common::GENEROUS;
use crate::{GOOD, connected, odd, works};

#[test]
fn row_47_a_header_that_is_wanted_from_now_on() {
    let remote = works("x-mcp-header-drifts", "modern", &[]);
    let done = remote.loaded.call("s_odd", json!({"region": "us-west1"}));
    assert_eq!(done.well_under(GENEROUS).ok(), GOOD);
    assert_eq!((remote.received("tools/list").len(), remote.calls_of_odd()), (2, 2));
    // From then on it is known.
    assert_eq!(remote.loaded.call("s_odd", json!({"region": "zürich\n"})).ok(), GOOD);
    assert_eq!((remote.received("tools/list").len(), remote.calls_of_odd()), (2, 3));
}

#[test]
fn row_47_a_mismatch_that_stays_ends_the_call() {
    let remote = works("mismatch-always", "modern", &[]);
    remote.odd().failed("TN_E_SERVER", &["the moon is wrong"]).well_under(GENEROUS);
    assert!(remote.calls_of_odd() <= 2, "{}", remote.calls_of_odd());
    remote.echoes();
}

#[test]
fn headers_of_arguments() {
    let remote = works("x-mcp-header-tools", "modern", &[]);
    assert_eq!(remote.loaded.originals(), ["echo", "received", "process", "odd"], "{}", remote.loaded.document);
    let skipped = remote.loaded.server("s")["skipped"].as_array().unwrap().len();
    assert_eq!(skipped, 4, "{}", remote.loaded.document);
    for region in ["us-west1", " padded ", "naïve", "", "=?base64?eA==?=", "a\r\nX-Evil: 1"] {
        assert_eq!(remote.loaded.call("s_odd", json!({"region": region})).ok(), GOOD, "{region:?}");
    }
    assert_eq!(remote.loaded.call("s_odd", json!({"n": 1})).ok(), GOOD);
    assert_eq!(remote.loaded.call("s_odd", json!({"region": null})).ok(), GOOD);
    assert!(remote.server.received().iter().all(|request| request.header("x-evil").is_none()));
}

#[test]
fn row_47_a_call_as_a_plain_request_has_its_headers_too() {
    let remote = works("x-mcp-header-drifts", "modern", &[]);
    for region in ["us-west1", "zürich"] {
        let params = json!({"name": "odd", "arguments": {"region": region}});
        let done = remote.loaded.request("s", "tools/call", &params);
        assert_eq!(done.doc()["content"][0]["text"], GOOD, "{region}");
    }
    assert_eq!((remote.received("tools/list").len(), remote.calls_of_odd()), (2, 3));
}

#[test]
fn names_of_all_kinds_go_in_a_header() {
    // The server compares Mcp-Name with the body.
    let remote = connected("odd-names", "modern", &[]);
    for tool in remote.loaded.tools() {
        let (name, original) = (tool["name"].as_str().unwrap(), tool["originalName"].as_str().unwrap());
        if !["echo", "received", "process"].contains(&original) {
            assert_eq!(remote.loaded.call(name, json!({})).ok(), format!("called {original}"));
        }
    }
}

#[test]
fn errors_of_2026_07_28() {
    odd("capability-missing", "modern", &[])
        .failed("TN_E_SERVER", &["Missing required client capability"])
        .well_under(GENEROUS);
    odd("error-200", "modern", &[]).failed("TN_E_SERVER", &["Method not found"]).well_under(GENEROUS);
    for behaviour in ["version-unsupported", "version-unsupported-unknown"] {
        let remote = works(behaviour, "modern", &[]);
        remote.odd().failed("TN_E_SERVER", &["Unsupported protocol version"]).well_under(GENEROUS);
        assert!(remote.calls_of_odd() <= 2);
        remote.echoes();
    }
}

#[test]
fn a_session_id_of_a_modern_server_is_nobodys() {
    let remote = works("session-id-modern", "modern", &[]);
    remote.echoes();
    assert!(remote.server.received().iter().all(|request| request.header("mcp-session-id").is_none()));
}
