//! What a call answered, where it is not quite a result.

use serde_json::{Value, json};

use crate::common::GENEROUS;
use crate::{ERAS, connected, echoes, odd};

/// Tool, output, is it an error of the tool.
const ROWS: &[(&str, &str, bool)] = &[
    ("type-unknown", "good", false),
    ("type-missing", "good", false),
    ("text-missing", "good", false),
    ("text-number", "good", false),
    ("text-null", "good", false),
    ("items-odd", "text\ngood", false),
    ("is-error-string", "good", true),
    ("is-error-false-string", "good", false),
    ("is-error-number", "good", false),
    ("is-error-no-text", "MCP tool returned an error", true),
    ("is-error-blank-text", "MCP tool returned an error", true),
    ("is-error-structured", "MCP tool returned an error", true),
    ("content-string", "just text", false),
    ("content-object", "", false),
    ("content-null", "", false),
    ("content-missing", "", false),
    ("content-empty", "", false),
    ("structured-array", "[1,2,3]", false),
    ("structured-string", "\"text\"", false),
    ("structured-false", "false", false),
    ("structured-null", "good", false),
    ("structured-with-text", "{\"a\":[1,{\"b\":\"c d\"}]}", false),
    ("image", "image (image/png, 3 bytes)", false),
    ("image-no-data", "good", false),
    ("image-no-mime", "image (application/octet-stream, 3 bytes)", false),
    ("audio", "audio (audio/wav, 3 bytes)", false),
    ("link", "file (text/plain, 0 bytes)", false),
    ("link-no-uri", "good", false),
    ("embedded-text", "good\nembedded", false),
    ("embedded-blob", "file (application/octet-stream, 3 bytes)", false),
    ("embedded-empty", "good", false),
    ("mixed", "good\nsecond", false),
    ("meta-odd", "good", false),
];

#[test]
fn row_27_and_28_odd_content_costs_only_what_is_odd() {
    for era in ERAS {
        let loaded = connected("odd-content", era, &[]);
        for (tool, output, is_error) in ROWS {
            let done = loaded.call(&format!("s_{tool}"), json!({}));
            let got = (done.status.as_str(), done.output.as_str(), done.is_error);
            assert_eq!(got, ("TN_OK", *output, *is_error), "{tool}");
            assert_eq!(done.doc()["isError"], *is_error, "{tool}");
        }
        let done = loaded.call("s_image-bad-base64", json!({}));
        assert!(done.ok().starts_with("image (image/png, "), "{}", done.output);
        for (tool, what) in [("result-null", "null"), ("result-string", "a string"), ("result-array", "an array")] {
            let done = loaded.call(&format!("s_{tool}"), json!({}));
            done.failed("TN_E_PROTOCOL", &[what, "expected an object", &format!("tool {tool} of server s")]);
        }
        echoes(&loaded);
    }
}

#[test]
fn row_27_what_was_not_understood_is_kept_raw_and_flagged() {
    let loaded = connected("odd-content", "modern", &[]);
    let doc = loaded.call("s_type-unknown", json!({})).doc();
    assert_eq!(doc["content"][0], json!({"type": "hologram", "data": [1, 2]}));
    assert!(doc["metadata"]["warnings"][0].as_str().unwrap().contains("hologram"), "{doc}");
    for tool in ["type-missing", "text-missing", "text-number", "items-odd", "is-error-string", "is-error-number"] {
        let doc = loaded.call(&format!("s_{tool}"), json!({})).doc();
        assert!(!doc["metadata"]["warnings"].as_array().unwrap().is_empty(), "{tool}: {doc}");
    }
    let parts = |tool: &str| loaded.call(&format!("s_{tool}"), json!({})).doc()["parts"].clone();
    assert_eq!(parts("image"), json!([{"type": "image", "mimeType": "image/png", "content": 0}]));
    assert_eq!(
        parts("mixed"),
        json!([{"type": "image", "mimeType": "image/png", "content": 1},
            {"type": "file", "mimeType": "application/octet-stream", "url": "file:///a", "name": "a", "content": 3}])
    );
    assert_eq!(parts("text-missing"), Value::Array(Vec::new()));
}

#[test]
fn row_29_an_unknown_result_type_is_an_error() {
    for era in ERAS {
        odd("result-type-unknown", era, &[]).failed("TN_E_PROTOCOL", &["resultType", "streaming"]).well_under(GENEROUS);
        odd("result-type-number", era, &[]).failed("TN_E_PROTOCOL", &["resultType", "a number"]).well_under(GENEROUS);
    }
}

#[test]
fn row_34_a_task_that_was_not_offered_is_an_error() {
    for era in ERAS {
        odd("task-without-extension", era, &[]).failed("TN_E_PROTOCOL", &["task"]).well_under(GENEROUS);
    }
}

#[test]
fn a_big_result_arrives_whole() {
    for era in ERAS {
        assert_eq!(odd("big-result", era, &[]).ok().len(), 16 << 20);
    }
}
