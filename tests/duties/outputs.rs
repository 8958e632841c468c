//! Duty 32: structured content is checked against the tool's output schema.

use std::io::ErrorKind;
use std::net::TcpListener;

use serde_json::json;

use crate::common::{GENEROUS, Loaded};
use crate::{WAYS, connected_over};

/// The warnings in a result's metadata. The result itself is what it is without a schema.
#[track_caller]
fn warnings(loaded: &Loaded, tool: &str) -> Vec<String> {
    let done = loaded.call(&format!("s_{tool}"), json!({}));
    done.well_under(GENEROUS);
    let doc = done.doc();
    assert_eq!((done.status.as_str(), doc.get("error")), ("TN_OK", None), "{doc}");
    let warnings = doc["metadata"].get("warnings").cloned().unwrap_or_else(|| json!([]));
    warnings.as_array().unwrap().iter().map(|warning| warning.as_str().unwrap().to_owned()).collect()
}

const DIFFERS: &str = "structuredContent does not match the outputSchema: ";
const UNCHECKED: &str = "structuredContent was not checked against the outputSchema: ";

#[test]
fn duty_32_content_that_does_not_fit_is_a_warning_and_stays_as_it_is() {
    for way in WAYS {
        let loaded = connected_over(way, "output-schemas", &[]);
        assert_eq!(warnings(&loaded, "fits"), [""; 0]);
        assert_eq!(warnings(&loaded, "differs"), [format!("{DIFFERS}/n: want integer, but got string")]);
        let done = loaded.call("s_differs", json!({}));
        assert_eq!(done.ok(), r#"{"n":"one"}"#);
        assert_eq!(done.doc()["structured"], json!({"n": "one"}));
        assert_eq!(done.doc()["content"], json!([{"type": "text", "text": "as text"}]));
        // Again, with the schema that was compiled before.
        assert_eq!(warnings(&loaded, "differs").len(), 1);
    }
}

#[test]
fn duty_32_only_a_promise_that_was_made_is_checked() {
    for way in WAYS {
        let loaded = connected_over(way, "output-schemas", &[]);
        for tool in ["no-schema", "no-structured"] {
            assert_eq!(warnings(&loaded, tool), [""; 0], "{tool}");
        }
        // The tool failed: what it says of that is not its output.
        assert!(loaded.call("s_fails", json!({})).is_error);
        assert_eq!(warnings(&loaded, "fails"), [""; 0]);
    }
}

#[test]
fn duty_32_structured_content_is_any_value() {
    for way in WAYS {
        let loaded = connected_over(way, "output-schemas", &[]);
        assert_eq!(warnings(&loaded, "array"), [format!("{DIFFERS}/1: want integer, but got string")]);
        assert_eq!(warnings(&loaded, "text"), [format!("{DIFFERS}at the top: length must be <=3, but got 4")]);
    }
}

#[test]
fn duty_32_the_dialect_counts_and_an_unknown_one_is_said() {
    for way in WAYS {
        let loaded = connected_over(way, "output-schemas", &["--url", "https://example.invalid/dialect"]);
        assert_eq!(warnings(&loaded, "draft-07"), [format!("{DIFFERS}/n/0: want string, but got number")]);
        assert_eq!(
            warnings(&loaded, "unknown-dialect"),
            [format!(
                "{UNCHECKED}its dialect \"https://example.invalid/dialect\" is not supported (2020-12, 2019-09, draft-07, \
                 -06 and -04 are)"
            )]
        );
    }
}

#[test]
fn duty_32_nothing_that_a_schema_refers_to_is_fetched() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    silent.set_nonblocking(true).unwrap();
    let url = format!("http://{}/schema.json", silent.local_addr().unwrap());
    for way in WAYS {
        let loaded = connected_over(way, "output-schemas", &["--url", &url]);
        let expected =
            format!("{UNCHECKED}it refers to \"{url}\", which is not part of the schema, and nothing is fetched");
        assert_eq!(warnings(&loaded, "remote-ref"), [expected]);
        assert!(warnings(&loaded, "unknown-dialect")[0].starts_with(UNCHECKED));
    }
    assert_eq!(silent.accept().map(|_| ()).unwrap_err().kind(), ErrorKind::WouldBlock);
}

#[test]
fn duty_32_schemas_that_would_take_for_ever_are_not_checked() {
    for way in WAYS {
        let loaded = connected_over(way, "output-schemas", &[]);
        for (tool, reason) in [
            ("huge", "the schema has"),
            ("deep", "recursion limit"),
            ("endless", "too much work"),
            ("pattern-bomb", "its pattern \"(a{1000}){1000}\" is too large"),
            ("not-a-schema", "the schema: /properties: want object, but got number"),
        ] {
            let warnings = warnings(&loaded, tool);
            assert_eq!(warnings.len(), 1, "{tool}: {warnings:?}");
            assert!(warnings[0].starts_with(UNCHECKED) && warnings[0].contains(reason), "{tool}: {warnings:?}");
        }
        // What drives others to despair takes this engine no time.
        assert_eq!(warnings(&loaded, "pattern-slow"), [format!("{DIFFERS}/s: does not match the pattern ^(a|aa)+$")]);
    }
}
