//! Duties 1 to 13: messages, the handshake, time-outs and cancellation.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::common::{Context, GENEROUS, hostile_within, load, until};
use crate::{ERAS, MODERN, WAYS, connected, connected_over, echoes, loaded_over, reason, received, received_of};

#[test]
fn duty_01_every_message_is_json_rpc_and_no_id_comes_twice() {
    for way in WAYS {
        let loaded = connected_over(way, "resources-pages", &[]);
        echoes(&loaded);
        loaded.resources("list_mcp_resources", json!({})).ok();
        loaded.request("s", "no/such/method", &json!({"é": "\u{0}😀"})).failed("TN_E_SERVER", &[]);
        let messages = received(&loaded);
        assert!(messages.iter().all(|message| message["jsonrpc"] == "2.0" && message["method"].is_string()));
        let ids: Vec<&Value> = messages.iter().filter_map(|message| message.get("id")).collect();
        assert!(ids.iter().all(|id| id.is_u64() || id.is_string()), "{ids:?}");
        let different: HashSet<String> = ids.iter().map(|id| id.to_string()).collect();
        assert_eq!(different.len(), ids.len());
        assert!(ids.len() > 5);
    }
}

#[test]
fn duty_02_every_modern_request_says_what_the_client_is() {
    for way in MODERN {
        let loaded = connected_over(way, "announcer", &[]);
        loaded.resources("list_mcp_resources", json!({})).ok();
        loaded.request("s", "prompts/list", &json!({"_meta": {"mine": 1}})).failed("TN_E_SERVER", &[]);
        let requests: Vec<Value> =
            received(&loaded).into_iter().filter(|message| message.get("id").is_some()).collect();
        for request in &requests {
            let meta = &request["params"]["_meta"];
            assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28", "{request}");
            assert!(meta["io.modelcontextprotocol/clientCapabilities"].is_object(), "{request}");
            let info = &meta["io.modelcontextprotocol/clientInfo"];
            assert_eq!(info["name"], "toolnexus", "{request}");
            assert_eq!(info["version"], env!("CARGO_PKG_VERSION"), "{request}");
        }
        let methods: HashSet<&str> = requests.iter().map(|request| request["method"].as_str().unwrap()).collect();
        for method in ["server/discover", "tools/list", "subscriptions/listen", "resources/list", "prompts/list"] {
            assert!(methods.contains(method), "{methods:?}");
        }
    }
    // The handshake of old has its own place for it.
    let loaded = connected("ordinary", "legacy", &[]);
    for call in received_of(&loaded, "tools/call") {
        let meta = call["params"]["_meta"].as_object().unwrap();
        assert!(meta.keys().all(|key| !key.starts_with("io.modelcontextprotocol/")), "{call}");
    }
}

#[test]
fn duty_03_a_refused_revision_is_settled_or_the_error_is_clear() {
    for transport in ["stdio", "http"] {
        let modern = loaded_over(transport, "discover-32022-once", &[]);
        assert_eq!(modern.server("s")["protocolVersion"], "2026-07-28");
        let legacy = loaded_over(transport, "discover-32022-legacy", &[]);
        assert_eq!(legacy.server("s")["protocolVersion"], "2025-11-25");
        let none = reason(&loaded_over(transport, "discover-32022-unknown", &[]));
        assert!(none.contains("no common protocol version") && none.contains("2099-01-01"), "{none}");
    }
}

#[test]
fn duty_04_initialize_offers_the_newest_legacy_revision_and_initialized_follows() {
    for way in [WAYS[0], WAYS[2]] {
        let loaded = connected_over(way, "ordinary", &[]);
        let messages = received(&loaded);
        let place = |method: &str| messages.iter().position(|message| message["method"] == method).unwrap();
        let initialize = &messages[place("initialize")];
        assert_eq!(initialize["params"]["protocolVersion"], "2025-11-25");
        assert!(initialize["params"]["capabilities"].is_object());
        assert_eq!(initialize["params"]["clientInfo"]["name"], "toolnexus");
        let initialized = place("notifications/initialized");
        assert!(place("initialize") < initialized && initialized < place("tools/list"));
        assert_eq!(messages[initialized].get("id"), None);
    }
}

#[test]
fn duty_05_a_revision_that_is_not_known_ends_the_session() {
    for transport in ["stdio", "http"] {
        let why = reason(&loaded_over(transport, "init-unknown-version", &[]));
        assert!(why.contains("2099-01-01") && why.contains("2025-11-25"), "{why}");
        for version in ["2024-11-05", "2025-03-26", "2025-06-18"] {
            let loaded = connected_over((transport, "legacy"), &format!("init-{version}"), &[]);
            assert_eq!(loaded.server("s")["protocolVersion"], version);
            echoes(&loaded);
        }
    }
}

#[test]
fn duty_06_pings_are_answered_and_what_was_not_announced_is_refused() {
    let answer = |behaviour: &str| -> Value {
        let loaded = connected(behaviour, "legacy", &[]);
        serde_json::from_str(loaded.call("s_odd", json!({})).ok()).unwrap()
    };
    assert_eq!(answer("asks-ping")["result"], json!({}));
    for behaviour in ["unknown-request-method", "asks-sampling", "asks-roots", "asks-elicitation"] {
        assert_eq!(answer(behaviour)["error"]["code"], -32601, "{behaviour}");
    }
}

#[test]
fn duty_07_the_era_is_found_out_once() {
    for (era, asked) in [("legacy", "initialize"), ("modern", "server/discover")] {
        let loaded = connected("ordinary", era, &[]);
        loaded.restart(Some("s")).ok();
        let first = received(&loaded).remove(0);
        assert_eq!(first["method"], asked, "{era}");
    }
}

#[test]
fn duty_08_a_result_without_a_type_is_complete_and_an_unknown_type_is_none() {
    // The server adds what 2026-07-28 wants, but not to what it writes raw.
    for way in MODERN {
        let loaded = connected_over(way, "no-result-type", &[]);
        assert_eq!(loaded.call("s_odd", json!({})).ok(), "no type");
    }
    for way in WAYS {
        let loaded = connected_over(way, "result-type-unknown", &[]);
        loaded.call("s_odd", json!({})).failed("TN_E_PROTOCOL", &["resultType", "streaming"]);
        echoes(&loaded);
    }
}

#[test]
fn duty_09_only_what_is_announced_is_called_and_a_refusal_is_borne() {
    for way in WAYS {
        let loaded = connected_over(way, "ordinary", &[]);
        assert_eq!(loaded.resources("list_mcp_resources", json!({})).ok(), "No resources.");
        let read = loaded.resources("read_mcp_resource", json!({"server": "s", "uri": "x"}));
        assert!(read.is_error && read.output.contains("does not offer resources"), "{read:?}");
        assert!(received(&loaded).iter().all(|message| !message["method"].as_str().unwrap().starts_with("resources/")));
        let loaded = connected_over(way, "templates-fail", &[]);
        assert!(loaded.resources("list_mcp_resources", json!({})).ok().starts_with("s fixture://hello"));
        let loaded = connected_over(way, "nothing-at-all", &[]);
        assert!(loaded.tools().is_empty());
    }
}

#[test]
fn duty_10_a_modern_server_gets_no_responses() {
    for way in MODERN {
        let loaded = connected_over(way, "server-request-modern", &[]);
        loaded.call("s_odd", json!({})).ok();
        echoes(&loaded);
        assert!(received(&loaded).iter().all(|message| message["method"].is_string()));
    }
}

#[test]
fn duty_11_time_outs_end_calls_and_progress_does_not_prolong_them_for_ever() {
    for era in ERAS {
        let loaded = connected("never-answers", era, &[]);
        loaded.call_with("s_odd", json!({}), &Context::idle(100)).failed("TN_E_TIMEOUT", &["100 ms"]);
        until("the server was told", || !received_of(&loaded, "notifications/cancelled").is_empty());
        let loaded = connected("progress-forever", era, &["--interval", "20"]);
        let done = loaded.call_with("s_odd", json!({}), &Context::deadline(400));
        done.failed("TN_E_TIMEOUT", &["deadline of 400 ms"]);
        until("the server was told", || !received_of(&loaded, "notifications/cancelled").is_empty());
    }
}

#[test]
fn duty_12_a_call_given_up_is_cancelled_once_and_its_late_answer_is_nobodys() {
    for era in ERAS {
        let loaded = connected("answers-when-cancelled", era, &[]);
        loaded.call_with("s_odd", json!({}), &Context::idle(100)).failed("TN_E_TIMEOUT", &[]);
        echoes(&loaded);
        let call = received_of(&loaded, "tools/call").into_iter().find(|call| call["params"]["name"] == "odd").unwrap();
        let cancels = received_of(&loaded, "notifications/cancelled");
        assert_eq!(cancels.len(), 1);
        assert_eq!(cancels[0]["params"]["requestId"], call["id"]);
    }
    // The handshake is never cancelled: its end is the end of the session.
    let record = crate::common::scratch("duty-12");
    let options = ["--record", record.to_str().unwrap()];
    let loaded = load(json!({"s": hostile_within(4_000, "init-silent", &options)}));
    assert!(reason(&loaded).contains("initialize"));
    let lines = std::fs::read_to_string(record).unwrap();
    assert!(lines.contains("\"initialize\"") && !lines.contains("notifications/cancelled"), "{lines}");
}

#[test]
fn duty_13_a_resource_that_is_not_there_is_the_servers_own_message_whatever_the_code() {
    for way in WAYS {
        let code = if way.1 == "legacy" { -32002 } else { -32602 };
        let loaded = connected_over(way, "resources-pages", &[]);
        let read = loaded.resources("read_mcp_resource", json!({"server": "s", "uri": "fixture://none"}));
        read.failed("TN_E_SERVER", &["Resource not found: fixture://none"]).well_under(GENEROUS);
        assert_eq!(read.doc()["error"]["data"]["code"], code);
    }
}
