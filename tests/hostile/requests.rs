//! Inventory, status, and any request of the host's.

use serde_json::json;

use crate::common::{Context, GENEROUS, hostile, inventory, load};
use crate::{ERAS, connected, echoes, received, receives};

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
fn any_request_and_its_reply_untouched() {
    for era in ERAS {
        let loaded = connected("answers-requests", era, &[]);
        // What the server has in its table, byte for byte.
        let done = loaded.request("s", "prompts/get", &json!({"name": "review", "arguments": {"a": "b"}}));
        assert!(done.json.contains(r#""messages": [ {"role":"user"}, 1E400, 1.50 ]"#), "{done:?}");
        let done =
            loaded.request("s", "completion/complete", &json!({"ref": {"type": "ref/prompt", "name": "review"}}));
        assert_eq!(done.doc()["completion"]["values"], json!(["one", "two"]));
        let done = loaded.request("s", "resources/templates/list", &json!({}));
        assert_eq!(done.doc()["resourceTemplates"], json!([]));
        let done = loaded.request("s", "resources/subscribe", &json!({"uri": "fixture://hello"}));
        assert!(!done.is_error, "{done:?}");
        let sent = received(&loaded).into_iter().find(|line| line.contains("prompts/get")).unwrap();
        assert!(sent.contains(r#""name":"review","arguments":{"a":"b"}"#), "{sent}");
    }
}

#[test]
fn the_meta_of_the_host_is_kept_beside_ours() {
    for era in ERAS {
        let loaded = connected("ordinary", era, &[]);
        let params =
            json!({"name": "echo", "arguments": {"text": "x"}, "_meta": {"a.b/c": [1, 2], "progressToken": "x"}});
        assert!(!loaded.request("s", "tools/call", &params).is_error);
        let sent = received(&loaded).into_iter().find(|line| line.contains("a.b/c")).unwrap();
        let sent: serde_json::Value = serde_json::from_str(&sent).unwrap();
        let meta = &sent["params"]["_meta"];
        assert_eq!((&meta["a.b/c"], &meta["progressToken"]), (&json!([1, 2]), &sent["id"]));
        assert_eq!(meta.get("io.modelcontextprotocol/protocolVersion").is_some(), era == "modern");
    }
}

#[test]
fn errors_come_with_their_data_untouched() {
    for era in ERAS {
        let loaded = connected("answers-requests", era, &[]);
        let done = loaded.request("s", "no/such/method", &json!({}));
        done.failed("TN_E_SERVER", &["Method not found: no/such/method"]).well_under(GENEROUS);
        let done = loaded.request("s", "odd/error", &json!({}));
        done.failed("TN_E_SERVER", &["odd enough"]);
        let own = r#"{ "code": -32042.0, "message": "odd enough", "data": { "n": 1.50, "n": 2 } }"#;
        assert!(done.json.contains(&format!("\"data\":{own}")), "{}", done.json);
        loaded.request("nope", "ping", &json!({})).failed("TN_E_NOT_FOUND", &["Unknown MCP server \"nope\""]);
        loaded.request("s", "", &json!({})).failed("TN_E_ARGUMENT", &["method"]);
        loaded.request("s", "ping", &json!([])).failed("TN_E_JSON", &["object"]);
        echoes(&loaded);
    }
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
