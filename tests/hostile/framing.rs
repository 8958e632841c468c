//! Bytes and lines: what only a pipe has.

use serde_json::json;

use crate::common::{Context, GENEROUS, hostile, hostile_within, load_with};
use crate::{ERAS, connected, echoes, fails, received, works};

#[test]
fn row_01_noise_is_skipped_and_never_answered() {
    for era in ERAS {
        let loaded = works(hostile("noise-lines", &["--era", era]), era);
        assert_eq!(loaded.call("s_odd", json!({})).well_under(GENEROUS).ok(), "called odd");
        for line in received(&loaded) {
            assert!(!line.contains("\"error\"") && !line.contains("\"result\""), "answered noise with {line}");
        }
    }
}

#[test]
fn row_01_replies_made_noise_by_a_prefix_end_by_the_time_out_and_are_quoted() {
    let server = fails(
        hostile_within(4_000, "prefixed-lines", &[]),
        "initialize",
        &["no answer to initialize within the time-out of 4000 ms", "[server] {"],
    );
    assert!(!server["reason"].as_str().unwrap().contains('\n'), "{server}");
}

#[test]
fn row_01_a_secret_in_a_quoted_line_is_masked() {
    let mut entry = hostile_within(4_000, "environment-in-stdout", &[]);
    entry["env"] = json!({"API_TOKEN": "s3cret-value"});
    let server = fails(entry, "initialize", &["time-out of 4000 ms", "signed in with ***"]);
    assert!(!server.to_string().contains("s3cret"), "{server}");
}

#[test]
fn row_03_pretty_printed_ends_by_the_time_out_and_quotes_the_first_bad_line() {
    fails(hostile_within(4_000, "pretty-printed", &[]), "initialize", &["time-out of 4000 ms", "first line", "\"{\""]);
}

#[test]
fn row_03_a_last_message_without_its_line_break_counts() {
    for era in ERAS {
        let loaded = connected("no-final-newline", era, &[]);
        assert_eq!(loaded.call("s_odd", json!({})).well_under(GENEROUS).ok(), "last words");
    }
}

/// So small a limit that the tests do not have to move megabytes.
const LIMIT: u64 = 100_000;

#[test]
fn row_04_an_endless_line_that_is_no_reply_ends_by_the_time_out() {
    let loaded =
        load_with(json!({"s": hostile_within(4_000, "endless-line", &[])}), &json!({"maxMessageBytes": LIMIT}));
    let server = loaded.server("s");
    assert_eq!((&server["status"], &server["phase"]), (&json!("failed"), &json!("initialize")), "{server}");
    let reason = server["reason"].as_str().unwrap();
    assert!(reason.contains("time-out of 4000 ms") && reason.contains("\"xxxx"), "{reason}");
}

#[test]
fn an_error_without_an_id_is_told_with_the_time_out() {
    for era in ERAS {
        let loaded = connected("error-id-null-later", era, &[]);
        let context = Context::idle(3_000);
        let done = loaded.call_with("s_odd", json!({}), &context);
        done.failed("TN_E_TIMEOUT", &["no answer for 3000 ms", "without an id", "could not read that"]);
        echoes(&loaded);
    }
}
