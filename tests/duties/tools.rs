//! Duties 30 to 37: lists, tools, content. Duty 32 is in `outputs`.

use std::io::ErrorKind;
use std::net::TcpListener;

use serde_json::{Value, json};

use crate::common::{hostile, load};
use crate::{ERAS, WAYS, connected, connected_over, echoes, received_of};

#[test]
fn duty_30_cursors_are_given_back_as_they_came() {
    for way in WAYS {
        let loaded = connected_over(way, "cursor-empty", &[]);
        let cursors: Vec<Option<Value>> =
            received_of(&loaded, "tools/list").iter().map(|list| list["params"].get("cursor").cloned()).collect();
        assert_eq!(cursors, [None, Some(json!("")), Some(json!("\u{0}\"\\é😀 "))]);
        // And a server that has no end is left.
        let loaded = connected_over(way, "cursor-loop", &[]);
        assert!(loaded.document["warnings"].to_string().contains("repeated a cursor"), "{}", loaded.document);
        echoes(&loaded);
    }
}

#[test]
fn duty_31_equal_names_of_two_servers_are_two_tools() {
    for era in ERAS {
        let entry = || hostile("ordinary", &["--era", era]);
        let loaded = load(json!({"a.b": entry(), "a_b": entry(), "c": entry()}));
        let mut names: Vec<String> =
            loaded.tools().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
        assert_eq!(names.len(), 12);
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 12, "{names:?}");
        // By the name in the config, not by what the servers call themselves.
        for tool in loaded.tools() {
            if tool["originalName"] == "echo" {
                assert_eq!(loaded.call(tool["name"].as_str().unwrap(), json!({"text": "x"})).ok(), "x", "{tool}");
            }
        }
        assert!(names.iter().all(|name| name.starts_with("a_b_") || name.starts_with("c_")), "{names:?}");
    }
}

/// Keywords that no client has to know, in an order and a spelling that decoding would lose.
const SCHEMA: &str = r##"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","$defs":{"a":{"$anchor":"a","const":1.0}},
"properties":{"z":{"$ref":"#a"},"a":{"x-unknown":[1E2,"\u00e9"]}},"allOf":[{"if":{"required":["z"]},"then":{},"else":false}],
"additionalProperties":false}"##;

#[test]
fn duty_33_schemas_are_passed_on_byte_for_byte() {
    for way in WAYS {
        let loaded = connected_over(way, "schema-as-written", &[]);
        let expected = SCHEMA.replace('\n', "");
        for key in ["inputSchema", "outputSchema"] {
            let text = loaded.tools_json();
            assert!(text.contains(&format!("\"{key}\":{expected}")), "{key}: {text}");
        }
    }
}

#[test]
fn duty_34_every_kind_of_content_is_taken() {
    for way in WAYS {
        let loaded = connected_over(way, "odd-content", &[]);
        for (tool, kind) in [("image", "image"), ("audio", "audio"), ("link", "file"), ("embedded-blob", "file")] {
            let doc = loaded.call(&format!("s_{tool}"), json!({})).doc();
            assert_eq!((&doc["isError"], &doc["parts"][0]["type"]), (&json!(false), &json!(kind)), "{doc}");
        }
        for (tool, output) in [
            ("embedded-text", "good\nembedded"),
            ("structured-array", "[1,2,3]"),
            ("structured-string", "\"text\""),
            ("structured-false", "false"),
        ] {
            assert_eq!(loaded.call(&format!("s_{tool}"), json!({})).ok(), output);
        }
        let doc = loaded.call("s_type-unknown", json!({})).doc();
        assert_eq!(doc["content"][0]["type"], "hologram");
        assert!(loaded.call("s_is-error-no-text", json!({})).is_error);
    }
}

#[test]
fn duty_35_errors_are_results_that_a_model_can_read() {
    for way in WAYS {
        let loaded = connected_over(way, "odd-content", &[]);
        let failed = loaded.call("s_is-error-string", json!({}));
        assert_eq!((failed.status.as_str(), failed.is_error, failed.output.as_str()), ("TN_OK", true, "good"));
        let loaded = connected_over(way, "error-with-data", &[]);
        let refused = loaded.call("s_odd", json!({}));
        let doc = refused.doc();
        assert_eq!((refused.status.as_str(), &doc["output"]), ("TN_E_SERVER", &doc["error"]["message"]));
        assert!(!refused.output.is_empty() && doc["error"]["data"]["data"].is_object(), "{doc}");
    }
}

#[test]
fn duty_36_annotations_are_shown_and_nothing_is_done_by_them() {
    for era in ERAS {
        let loaded = connected("annotated", era, &[]);
        let tools = loaded.tools();
        let hints = |name: &str| &tools.iter().find(|tool| tool["originalName"] == name).unwrap()["hints"];
        assert_eq!(*hints("says-harmless"), json!({"readOnly": true, "destructive": false, "idempotent": true}));
        assert_eq!(*hints("says-destructive"), json!({"readOnly": false, "destructive": true, "openWorld": true}));
        // What says that it is idempotent is not repeated for that.
        for tool in ["says-harmless", "says-destructive"] {
            assert_eq!(loaded.call(&format!("s_{tool}"), json!({})).ok(), format!("called {tool}"));
        }
        assert!(loaded.call("s_crash", json!({})).is_error);
        echoes(&loaded);
        assert!(received_of(&loaded, "tools/call").iter().all(|call| call["params"]["name"] != "crash"));
    }
}

#[test]
fn duty_37_icons_and_links_are_not_fetched() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    silent.set_nonblocking(true).unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    for way in WAYS {
        let loaded = connected_over(way, "network-ref", &["--url", &url]);
        for tool in loaded.tools() {
            loaded.call(tool["name"].as_str().unwrap(), json!({}));
        }
        echoes(&loaded);
    }
    assert_eq!(silent.accept().map(|_| ()).unwrap_err().kind(), ErrorKind::WouldBlock);
}
