//! Answers that are whole, but wrong.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use serde_json::json;

use crate::common::{Context, GENEROUS, load, until};
use crate::hostile_http::Server;
use crate::{ERAS, GOOD, connected, entry, fails, odd, odd_fails, odd_works, received};

#[test]
fn row_40_a_call_that_wants_authorization() {
    odd_fails("401-bare", "TN_E_AUTH", &["HTTP 401", "no WWW-Authenticate", "\"headers\""]);
    odd_fails("401-basic", "TN_E_AUTH", &["HTTP 401", "Basic"]);
    odd_fails(
        "401-bearer",
        "TN_E_AUTH",
        &["HTTP 401", "Bearer", "invalid_token", "oauth-protected-resource", "mcp:basic"],
    );
    odd_fails("401-odd-challenge", "TN_E_AUTH", &["HTTP 401"]);
    odd_fails("403-scope", "TN_E_AUTH", &["HTTP 403", "insufficient_scope", "mcp:write"]);
    odd_fails("403-plain", "TN_E_AUTH", &["HTTP 403", "your plan does not include this"]);
}

#[test]
fn row_40_a_server_that_wants_authorization_says_so_in_its_status() {
    for (behaviour, scheme) in [("401-bare", None), ("401-basic", Some("Basic")), ("401-bearer", Some("Bearer"))] {
        for at in ["handshake", ""] {
            let server = Server::start(behaviour, &["--at", at]);
            let loaded = load(json!({"s": entry(&server)}));
            let document = loaded.server("s");
            assert_eq!(document["status"], "needs_auth", "{document}");
            assert!(document.to_string().contains("401"), "{document}");
            if let Some(scheme) = scheme {
                assert!(document["reason"].as_str().unwrap().contains(scheme), "{document}");
            }
            assert!(received(&server, "initialize").is_empty(), "authorization comes first");
        }
    }
}

#[test]
fn row_40_a_plain_403_fails_the_server() {
    let (_, document) =
        fails("403-plain", &["--at", "handshake"], "initialize", &["403", "your plan does not include this"]);
    assert_eq!(document["status"], "failed");
}

#[test]
fn row_41_successes_that_are_no_answer() {
    odd_fails("html-200", "TN_E_PROTOCOL", &["HTTP 200", "text/html", "Sign in"]);
    odd_fails("text-200", "TN_E_PROTOCOL", &["HTTP 200", "text/plain", "pong"]);
    odd_fails("empty-200", "TN_E_PROTOCOL", &["HTTP 200", "no body"]);
    odd_fails("nothing-200", "TN_E_PROTOCOL", &["HTTP 200", "no body"]);
    odd_fails("202-to-request", "TN_E_PROTOCOL", &["HTTP 202"]);
    odd_fails("204-to-request", "TN_E_PROTOCOL", &["HTTP 204"]);
    odd_fails("wrong-id", "TN_E_PROTOCOL", &["no reply to it", "987654321"]);
    odd_fails("no-id", "TN_E_PROTOCOL", &["HTTP 200"]);
    odd_fails("json-scalar", "TN_E_PROTOCOL", &["42"]);
    odd_fails("json-empty-array", "TN_E_PROTOCOL", &["[]"]);
    odd_fails("json-empty-object", "TN_E_PROTOCOL", &["{}"]);
    odd_fails("json-cut", "TN_E_PROTOCOL", &["not valid JSON"]);
    odd_fails("json-request", "TN_E_PROTOCOL", &["ping"]);
    odd_fails("json-notification", "TN_E_PROTOCOL", &["notifications/message"]);
    odd_fails("json-not-jsonrpc", "TN_E_PROTOCOL", &["upstream request timeout"]);
}

#[test]
fn row_41_replies_in_odd_clothes() {
    for behaviour in ["json-array", "206-partial", "type-charset", "type-sse-charset", "pretty-json"] {
        odd_works(behaviour);
    }
}

#[test]
fn types_that_say_something_else_than_what_is_there() {
    for behaviour in ["type-text", "type-html", "type-octets", "type-jsonrpc", "type-missing"] {
        odd_fails(behaviour, "TN_E_PROTOCOL", &["neither JSON nor an event stream", GOOD]);
    }
    odd_fails("type-json-holds-sse", "TN_E_PROTOCOL", &["event: message"]);
    odd_fails("type-sse-holds-json", "TN_E_TRANSPORT", &["ended without a reply"]);
}

#[test]
fn errors_of_http_end_their_call_and_are_quoted() {
    odd_fails("400-text", "TN_E_TRANSPORT", &["HTTP 400", "I do not like this"]);
    odd_fails("405-html", "TN_E_TRANSPORT", &["HTTP 405"]);
    odd_fails("406-empty", "TN_E_TRANSPORT", &["HTTP 406", "no body"]);
    odd_fails("407-proxy", "TN_E_TRANSPORT", &["HTTP 407"]);
    odd_fails("413-empty", "TN_E_TRANSPORT", &["HTTP 413"]);
    odd_fails("599-odd", "TN_E_TRANSPORT", &["HTTP 599"]);
}

#[test]
fn row_42_an_outage_ends_the_call_at_once_and_repeats_nothing() {
    odd_fails("429", "TN_E_TRANSPORT", &["HTTP 429", "slow down"]);
    odd_fails("429-retry-after", "TN_E_TRANSPORT", &["HTTP 429"]);
    odd_fails("429-retry-after-long", "TN_E_TRANSPORT", &["HTTP 429"]);
    odd_fails("500", "TN_E_TRANSPORT", &["HTTP 500", "the database is gone"]);
    odd_fails("502", "TN_E_TRANSPORT", &["HTTP 502", "502 Bad Gateway"]);
    odd_fails("503", "TN_E_TRANSPORT", &["HTTP 503"]);
    odd_fails("504", "TN_E_TRANSPORT", &["HTTP 504"]);
}

#[test]
fn a_json_rpc_error_is_the_calls_error_whatever_the_status() {
    for era in ERAS {
        let done = odd("400-json-error", era, &[]);
        done.failed("TN_E_SERVER", &["no such city"]).well_under(GENEROUS);
        assert!(
            done.json.contains(r#""data":{"code":-32602,"message":"no such city","data":{"n":1.50}}"#),
            "{}",
            done.json
        );
        odd("400-json-error-null-id", era, &[]).failed("TN_E_SERVER", &["no such city"]).well_under(GENEROUS);
        odd("500-json-error", era, &[]).failed("TN_E_SERVER", &["the database is gone"]).well_under(GENEROUS);
        odd("404-method", era, &[]).failed("TN_E_SERVER", &["Method not found: odd"]).well_under(GENEROUS);
    }
}

#[test]
fn what_is_quoted_is_short_and_harmless() {
    for era in ERAS {
        for behaviour in ["500-control-chars", "500-long-page"] {
            let done = odd(behaviour, era, &[]);
            done.failed("TN_E_TRANSPORT", &["HTTP 500", "the database"]).well_under(GENEROUS);
            assert!(done.output.len() < 1_000, "{} bytes", done.output.len());
            assert!(!done.output.contains(|c: char| c.is_control()), "{:?}", done.output);
        }
    }
}

#[test]
fn row_42_a_list_is_asked_for_once_more() {
    for era in ERAS {
        for behaviour in ["429", "500", "502", "503", "504", "503-retry-after-date", "503-retry-after-odd"] {
            let remote = connected(behaviour, era, &["--at", "tools/list", "--times", "1"]);
            assert_eq!(remote.received("tools/list").len(), 2, "{behaviour}");
            remote.echoes();
        }
        for behaviour in
            ["closes-before-head", "resets-before-head", "cut-body-length", "cut-in-chunk", "sse-ends", "sse-cut"]
        {
            let remote = connected(behaviour, era, &["--at", "tools/list", "--times", "1"]);
            assert_eq!(remote.received("tools/list").len(), 2, "{behaviour}");
        }
    }
}

#[test]
fn row_42_a_list_that_fails_twice_fails_its_phase() {
    for era in ERAS {
        let (server, _) = fails("502", &["--era", era, "--at", "tools/list"], "list", &["tools/list", "HTTP 502"]);
        assert_eq!(received(&server, "tools/list").len(), 2, "{era}");
        // What the server meant is not asked again.
        let (server, _) = fails("400-json-error", &["--era", era, "--at", "tools/list"], "list", &["no such city"]);
        assert_eq!(received(&server, "tools/list").len(), 1, "{era}");
    }
}

#[test]
fn row_42_retry_after_is_waited_for() {
    for era in ERAS {
        let remote = connected("429-retry-after", era, &["--at", "tools/list", "--times", "1"]);
        assert!(remote.loaded.took >= Duration::from_secs(1), "{:?}", remote.loaded.took);
        assert_eq!(remote.received("tools/list").len(), 2);
    }
}

#[test]
fn row_40_a_server_of_the_old_transport_that_wants_authorization() {
    let server = Server::start("405-then-401", &[]);
    let loaded = load(json!({"s": entry(&server)}));
    let document = loaded.server("s");
    assert_eq!((&document["status"], &document["scheme"]), (&json!("needs_auth"), &json!("Bearer")), "{document}");
}

#[test]
fn row_42_retry_after_is_no_reason_to_outstay_the_source() {
    for era in ERAS {
        let remote = Arc::new(connected("429-retry-after-long", era, &["--at", "prompts/list"]));
        let asking = {
            let remote = remote.clone();
            thread::spawn(move || remote.loaded.request("s", "prompts/list", &json!({})))
        };
        until("the list was refused", || remote.received("prompts/list").len() == 1);
        remote.loaded.close().ok();
        asking.join().unwrap().failed("TN_E_CLOSED", &[]).well_under(GENEROUS);
    }
}

#[test]
fn row_42_retry_after_is_no_reason_to_outstay_the_time_out() {
    let server = Server::start("429-retry-after-long", &["--at", "tools/list"]);
    let loaded = load(json!({"s": {"url": server.url(), "timeout": 8_000}}));
    crate::failed(&loaded, "list", &["429"]);
    assert_eq!(received(&server, "tools/list").len(), 1);
    assert!(loaded.took < Duration::from_secs(60), "{:?}", loaded.took);
}

#[test]
fn row_42_reads_are_repeated_once_too() {
    for era in ERAS {
        let remote = connected("resets-before-head", era, &["--at", "completion/complete", "--times", "1"]);
        // Not a read: nobody knows what it does.
        let done = remote.loaded.request("s", "completion/complete", &json!({}));
        done.failed("TN_E_TRANSPORT", &["no answer"]).well_under(GENEROUS);
        assert_eq!(remote.received("completion/complete").len(), 1);
        let remote = connected("resets-before-head", era, &["--at", "resources/read", "--times", "1"]);
        let done = remote.loaded.request_with(
            "s",
            "resources/read",
            &json!({"uri": "fixture://hello"}),
            Some(&Context::idle(10_000)),
        );
        done.well_under(GENEROUS);
        assert_eq!(remote.received("resources/read").len(), 2, "{done:?}");
    }
}
