//! Any request of the host's, however it travels.

use crate::common::GENEROUS;
use crate::{ERAS, connected, echoes, received};
use serde_json::json;

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
