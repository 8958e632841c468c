//! Which era a remote server speaks, and what fails it at once.

use serde_json::{Value, json};

use crate::common::{GENEROUS, load, load_with, refusing};
use crate::hostile_http::Server;
use crate::{ERAS, entry, entry_within, failed, fails, received, works};

#[test]
fn ordinary_servers_of_all_eras() {
    for era in ERAS {
        for reply in ["json", "sse"] {
            let remote = works("ordinary", era, &["--reply", reply]);
            assert_eq!(remote.odd().ok(), "called odd");
            let other = if era == "modern" { "initialize" } else { "tools/none" };
            assert!(remote.received(other).is_empty());
        }
    }
    let remote = works("ordinary", "modern", &["--era", "both"]);
    assert!(remote.received("initialize").is_empty(), "the newest era wins");
    works("ordinary", "legacy", &["--sessions", "no"]);
}

#[test]
fn the_headers_of_both_eras() {
    let remote = works("ordinary", "modern", &[]);
    for request in remote.server.received() {
        assert_eq!(request.header("mcp-protocol-version"), Some("2026-07-28"), "{request:?}");
        assert_eq!(request.header("mcp-method"), Some(request.method().as_str()));
        assert_eq!(request.header("mcp-session-id"), None);
        assert_eq!(request.header("content-type"), Some("application/json"));
    }
    let remote = works("ordinary", "legacy", &[]);
    for request in remote.server.received() {
        let early = ["server/discover", "initialize"].contains(&request.method().as_str());
        assert_eq!(request.header("mcp-session-id"), (!early).then_some("session-0"), "{request:?}");
        if !early {
            assert_eq!(request.header("mcp-protocol-version"), Some("2025-11-25"), "{request:?}");
            assert_eq!(request.header("mcp-method"), None, "{request:?}");
        }
    }
}

#[test]
fn the_configured_headers_go_with_every_request_and_are_masked() {
    for era in ERAS {
        let server = Server::start("ordinary", &["--era", era]);
        let mut entry = entry(&server);
        entry["headers"] = json!({"Authorization": "Bearer s3cret-value", "X-Team": "blue"});
        let loaded = load(json!({"s": entry}));
        assert_eq!(loaded.server("s")["status"], "connected");
        assert!(!loaded.document.to_string().contains("s3cret"), "{}", loaded.document);
        loaded.close().ok();
        for request in server.received() {
            assert_eq!(request.header("authorization"), Some("Bearer s3cret-value"), "{request:?}");
            assert_eq!(request.header("x-team"), Some("blue"));
        }
    }
    let server = Server::start("401-bare", &["--at", ""]);
    let mut entry = entry(&server);
    entry["url"] = json!(server.url().replace("http://", "http://me:s3cret-value@") + "?key=s3cret-query");
    let loaded = load(json!({"s": entry}));
    assert!(!loaded.document["servers"].to_string().contains("s3cret-value"), "{}", loaded.document);
}

#[test]
fn row_10_what_is_no_modern_answer_means_initialize() {
    for behaviour in [
        "404-html",
        "404-empty",
        "404-method",
        "405-html",
        "406-empty",
        "400-text",
        "400-json-error",
        "400-json-error-null-id",
        "json-empty-object",
        "json-scalar",
        "json-empty-array",
        "json-not-jsonrpc",
        "wrong-id",
        "no-id",
        "empty-200",
    ] {
        let remote = works(behaviour, "legacy", &["--at", "server/discover"]);
        assert!(remote.loaded.took.as_millis() < u128::from(GENEROUS) / 3, "{behaviour}: {:?}", remote.loaded.took);
        assert_eq!(remote.received("server/discover").len(), 1, "{behaviour}");
    }
}

#[test]
fn row_42_an_outage_is_no_legacy_server() {
    for (behaviour, phase, part) in [
        ("500", "initialize", "HTTP 500"),
        ("500-json-error", "initialize", "HTTP 500"),
        ("502", "initialize", "HTTP 502"),
        ("503", "initialize", "HTTP 503"),
        ("429", "initialize", "HTTP 429"),
        ("html-200", "initialize", "text/html"),
        ("nothing-200", "initialize", "HTTP 200"),
        ("202-to-request", "initialize", "HTTP 202"),
        ("redirect-302", "initialize", "HTTP 302"),
        ("cut-body-length", "initialize", "server/discover"),
        ("sse-ends", "initialize", "server/discover"),
        // Nothing came that would show that a server is there.
        ("closes-before-head", "start", "closed"),
        ("resets-before-head", "start", "reset"),
        ("garbage", "start", "not HTTP"),
    ] {
        let (server, document) = fails(behaviour, &["--at", "handshake"], phase, &[part]);
        assert!(received(&server, "initialize").is_empty(), "{behaviour}: {document}");
    }
}

#[test]
fn silence_fails_the_phase_and_is_no_legacy_server() {
    for (behaviour, phase) in [
        ("stalled-head", "start"),
        ("stalled-in-head", "start"),
        ("stalled-body", "initialize"),
        ("sse-silent", "initialize"),
        ("sse-comments-forever", "initialize"),
    ] {
        let server = Server::start(behaviour, &["--at", "handshake"]);
        let loaded = load(json!({"s": entry_within(1_000, &server)}));
        failed(&loaded, phase, &["no answer to server/discover within the time-out of 1000 ms"]);
        assert!(received(&server, "initialize").is_empty(), "{behaviour}");
    }
}

#[test]
fn row_09_a_slow_start_in_either_era() {
    for era in ERAS {
        works("slow-start", era, &["--delay", "1500"]);
        works("slow-answer", era, &["--delay", "300"]);
    }
}

#[test]
fn initialize_that_fails_is_told() {
    for (behaviour, part) in [
        ("500", "HTTP 500"),
        ("503", "HTTP 503"),
        ("html-200", "text/html"),
        ("202-to-request", "HTTP 202"),
        ("400-json-error", "no such city"),
        ("closes-before-head", "closed"),
        ("json-cut", "not valid JSON"),
    ] {
        let (server, _) = fails(behaviour, &["--era", "legacy", "--at", "initialize"], "initialize", &[part]);
        // The probe's connection may have been about to be closed: then it is asked once more over a new one.
        let most = if behaviour == "closes-before-head" { 2 } else { 1 };
        assert!((1..=most).contains(&received(&server, "initialize").len()), "{behaviour}");
    }
}

#[test]
fn unreachable_servers_name_what_they_are() {
    let (_taken, free) = refusing();
    for (url, part) in [
        (format!("http://{free}/mcp"), "refused"),
        ("http://no-such-host.invalid/mcp".to_owned(), "no-such-host.invalid"),
        (format!("https://{free}/mcp"), "refused"),
    ] {
        let loaded = load(json!({"s": {"url": url, "timeout": GENEROUS}}));
        let document = failed(&loaded, "start", &[]);
        let reason = document["reason"].as_str().unwrap();
        assert!(reason.contains(part), "{reason}");
        assert!(reason.contains(&url), "{reason}");
        // How long a name takes to be looked up is the machine's affair.
        let known_at_once = loaded.took.as_millis() < u128::from(GENEROUS) / 3;
        assert!(known_at_once || url.contains("no-such-host"), "{:?}", loaded.took);
    }
    // What came out of a variable is no more shown than user info.
    let url = format!("http://me:s3cret@{free}/mcp?key=${{PATH}}");
    let loaded = load(json!({"s": {"url": url, "timeout": GENEROUS}}));
    failed(&loaded, "start", &[&format!("http://{free}/mcp?key=${{PATH}}")]);
    let said = loaded.document["servers"].to_string();
    assert!(!said.contains("s3cret") && !said.contains(&std::env::var("PATH").unwrap()), "{said}");
    // TLS to a server that has none.
    let server = Server::start("ordinary", &[]);
    let loaded = load(json!({"s": {"url": server.url().replace("http:", "https:"), "timeout": GENEROUS}}));
    failed(&loaded, "start", &["TLS", "does the server speak https"]);
}

#[test]
fn the_lifecycle_can_be_chosen() {
    let server = Server::start("ordinary", &[]);
    let mut chosen = entry(&server);
    chosen["lifecycle"] = json!("initialize");
    let loaded = load(json!({"s": chosen}));
    assert_eq!(loaded.server("s")["protocolVersion"], "2025-11-25");
    assert!(received(&server, "server/discover").is_empty());
    let server = Server::start("ordinary", &["--era", "legacy"]);
    let loaded = load_with(json!({"s": entry(&server)}), &json!({"lifecycle": "discover"}));
    failed(&loaded, "initialize", &["lifecycle"]);
}

#[test]
fn bad_servers_do_not_delay_the_others() {
    let silent = Server::start("stalled-head", &["--at", ""]);
    let good = Server::start("ordinary", &[]);
    let down = Server::start("503", &["--at", ""]);
    let loaded = load(json!({
        "silent": entry_within(8_000, &silent),
        "s": entry(&good),
        "down": entry(&down),
        "local": {"command": crate::common::example("hostile-server"), "args": ["ordinary"]}
    }));
    let status = |name: &str| loaded.server(name)["status"].as_str().unwrap().to_owned();
    assert_eq!(["silent", "s", "down", "local"].map(status), ["failed", "connected", "failed", "connected"]);
    assert!(loaded.server("s")["ms"].as_u64().unwrap() < 8_000);
    let ms: Vec<&Value> = ["s", "local"].iter().map(|name| &loaded.server(name)["ms"]).collect();
    assert!(loaded.call("s_echo", json!({"text": "x"})).ok() == "x", "{ms:?}");
    assert!(loaded.call("local_echo", json!({"text": "x"})).ok() == "x");
}
