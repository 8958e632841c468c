//! What goes over the wire to the servers of others: sessions in the legacy era, none in the modern one.

use http::Method;
use serde_json::{Value, json};

use crate::common::load;
use crate::common::real::deps;
use crate::fronts::{Relay, Seen};
use crate::peers::{self, Peer};

/// What a host's short life with the server shows on the wire: one load, one call, one close.
fn life(peer: &Peer, lifecycle: &str, tool: &str, arguments: Value) -> Vec<Seen> {
    let relay = Relay::new(peer.port());
    let entry = json!({"url": format!("http://127.0.0.1:{}/mcp", relay.port), "timeout": 60_000, "lifecycle": lifecycle,
        "headers": {"X-Team": "blue"}});
    let loaded = load(json!({"s": entry}));
    loaded.call(&format!("s_{tool}"), arguments).ok();
    loaded.close().ok();
    let seen = relay.seen();
    for seen in &seen {
        assert_eq!((seen.header("x-team"), seen.uri.path()), (Some("blue"), "/mcp"), "{seen:?}");
    }
    seen
}

fn of<'a>(seen: &'a [Seen], method: &Method) -> Vec<&'a Seen> {
    seen.iter().filter(|seen| seen.method == *method).collect()
}

/// Each with a tool, and whether it speaks both eras.
fn servers(deps: &std::path::Path) -> Vec<(Peer, &'static str, Value, bool)> {
    let sum = || json!({"a": 1, "b": 2});
    vec![
        (peers::everything(deps, "streamableHttp"), "get-sum", sum(), false),
        (peers::python(deps, "py1", "v1srv.py"), "add", sum(), false),
        (peers::python(deps, "py2", "v2srv.py"), "add", sum(), true),
        (peers::python(deps, "py2", "fm.py"), "add", sum(), true),
        (peers::rust(), "echo", json!({"text": "x"}), true),
    ]
}

#[test]
fn sessions_in_the_legacy_era_and_none_in_the_modern_one() {
    let Some(deps) = deps() else { return };
    for (peer, tool, arguments, modern) in servers(&deps) {
        if modern {
            no_session(&life(&peer, "auto", tool, arguments.clone()), tool);
        }
        let seen = life(&peer, "initialize", tool, arguments);
        let posts = of(&seen, &Method::POST);
        assert_eq!(posts[0].header("mcp-session-id"), None);
        let session = posts[1].header("mcp-session-id").expect("the session");
        // initialized, the lists, the call.
        assert!(posts.len() >= 4, "{posts:?}");
        for post in &posts[1..] {
            assert_eq!(post.header("mcp-session-id"), Some(session), "{posts:?}");
            assert_eq!(post.header("mcp-protocol-version"), Some("2025-11-25"));
            assert_eq!(post.header("mcp-method"), None, "of the modern era");
        }
        for get in of(&seen, &Method::GET) {
            assert_eq!(get.header("mcp-session-id"), Some(session));
            assert_eq!(get.header("accept"), Some("text/event-stream"));
        }
        let deletes = of(&seen, &Method::DELETE);
        assert_eq!(deletes.len(), 1, "{seen:?}");
        assert_eq!(deletes[0].header("mcp-session-id"), Some(session));
    }
}

#[test]
fn a_server_without_sessions_in_the_legacy_era() {
    if deps().is_none() {
        return;
    }
    let seen = life(&peers::typescript(&[]), "initialize", "add", json!({"a": 1, "b": 2}));
    assert!(seen.iter().all(|seen| seen.header("mcp-session-id").is_none()), "{seen:?}");
    assert_eq!(of(&seen, &Method::DELETE).len(), 0);
    // Its 405 is an answer.
    assert!(of(&seen, &Method::GET).len() <= 1, "{seen:?}");
}

#[test]
fn a_server_without_sessions_in_the_modern_era() {
    if deps().is_some() {
        no_session(&life(&peers::typescript(&["--modern-only"]), "auto", "add", json!({"a": 1, "b": 2})), "add");
    }
}

/// Checks what the modern era says of itself in every request.
fn no_session(seen: &[Seen], tool: &str) {
    let methods: Vec<_> = seen.iter().map(|seen| seen.header("mcp-method").unwrap_or("none")).collect();
    assert_eq!(methods[0], "server/discover");
    for method in ["tools/list", "tools/call"] {
        assert!(methods.contains(&method), "{methods:?}");
    }
    for seen in seen {
        assert_eq!((&seen.method, seen.header("mcp-session-id")), (&Method::POST, None), "{seen:?}");
        assert_eq!(seen.header("mcp-protocol-version"), Some("2026-07-28"));
        let named = seen.header("mcp-method") == Some("tools/call");
        assert_eq!(seen.header("mcp-name"), named.then_some(tool), "{seen:?}");
    }
}

#[test]
fn closing_takes_the_servers_word_for_it() {
    let Some(deps) = deps() else { return };
    let peer = peers::everything(&deps, "streamableHttp");
    let loaded = load(json!({"s": peer.entry()}));
    loaded.call("s_echo", json!({"message": "x"})).ok();
    loaded.close().ok();
    peer.wrote("Received session termination request");
    loaded.call("s_echo", json!({"message": "x"})).failed("TN_E_CLOSED", &["closed"]);
}
