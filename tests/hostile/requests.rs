//! Inventory, status, and any request of the host's.

use serde_json::json;

use crate::common::{Context, hostile, inventory, load};
use crate::{ERAS, connected, echoes, receives};

#[test]
fn the_inventory_has_the_servers_own_names_and_no_filter() {
    let mut filtered = hostile("ordinary", &[]);
    filtered["tools"] = json!(["echo"]);
    let done = inventory(json!({
        "s": filtered,
        "bad": hostile("exit-1-stderr", &[]),
        "off": {"command": "x", "disabled": true},
        "odd one": hostile("bad-tools", &[]),
    }));
    assert!(!done.is_error, "{done:?}");
    let doc = done.doc();
    assert_eq!(doc["status"], json!({"s": "connected", "bad": "failed", "off": "disabled", "odd one": "connected"}));
    let names = |server: &str| -> Vec<String> {
        doc["tools"][server].as_array().unwrap().iter().map(|t| t["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names("s"), ["echo", "received", "process", "odd"]);
    assert!(names("odd one").contains(&"last-good".to_owned()));
    assert_eq!(doc["tools"].as_object().unwrap().len(), 2);
    assert_eq!(doc["servers"]["bad"]["phase"], "initialize");
    assert!(doc["servers"]["bad"]["stderr"].as_str().unwrap().contains("cannot open the database"));
    assert_eq!(doc["tools"]["s"][0]["inputSchema"]["required"], json!(["text"]));
}

#[test]
fn the_status_is_as_of_now() {
    let mut entry = hostile("crash-mid-call", &[]);
    entry["restart"] = json!({"max": 0});
    let loaded = load(json!({"s": entry, "other": hostile("ordinary", &[])}));
    assert_eq!(loaded.status()["servers"], loaded.document["servers"]);
    assert_eq!(loaded.status()["guardian"], true);
    loaded.call("s_odd", json!({})).failed("TN_E_TRANSPORT", &[]);
    let status = loaded.status();
    assert_eq!(status["servers"]["s"]["status"], "failed", "{status}");
    assert_eq!(status["servers"]["other"]["status"], "connected");
}

#[test]
fn requests_end_by_their_time_out_too() {
    for era in ERAS {
        let loaded = connected("answers-requests", era, &[]);
        let done = loaded.request_with("s", "odd/silent", &json!({}), Some(&Context::idle(200)));
        done.failed("TN_E_TIMEOUT", &["no answer for 200 ms"]);
        receives(&loaded, "notifications/cancelled");
        let done = loaded.request_with("s", "odd/silent", &json!({}), Some(&Context::deadline(200)));
        done.failed("TN_E_TIMEOUT", &["deadline of 200 ms"]);
        echoes(&loaded);
    }
    let loaded = load(json!({"s": hostile("exit-0", &[])}));
    loaded.request("s", "ping", &json!({})).failed("TN_E_TRANSPORT", &["\"s\" is not connected", "exit status 0"]);
}
