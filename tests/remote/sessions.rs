//! Row 46: sessions and notifications of the legacy era.

use std::sync::Arc;
use std::thread;

use serde_json::json;

use crate::common::{GENEROUS, load, until};
use crate::hostile_http::Server;
use crate::{ERAS, GOOD, entry, fails, received, works};

#[test]
fn row_46_a_lost_session_is_begun_again_once_and_the_call_repeated() {
    for behaviour in ["session-lost", "session-lost-400", "session-lost-html"] {
        let remote = works(behaviour, "legacy", &[]);
        assert_eq!(remote.odd().well_under(GENEROUS).ok(), GOOD, "{behaviour}");
        assert_eq!((remote.received("initialize").len(), remote.calls_of_odd()), (2, 2), "{behaviour}");
        assert_eq!(remote.received("notifications/initialized").len(), 2);
        assert_eq!(remote.received("tools/list").len(), 2, "the list is read again");
        remote.echoes();
        let sessions: Vec<_> =
            remote.received("tools/call").iter().map(|call| call.header("mcp-session-id").map(str::to_owned)).collect();
        assert_eq!(sessions.last(), Some(&Some("session-1".to_owned())), "{sessions:?}");
    }
}

#[test]
fn row_46_a_session_that_is_always_lost_is_not_begun_for_ever() {
    let remote = works("session-lost-always", "legacy", &[]);
    let done = remote.odd();
    done.failed("TN_E_TRANSPORT", &["session", "tool odd of server s"]).well_under(GENEROUS);
    assert_eq!((remote.received("initialize").len(), remote.calls_of_odd()), (2, 2));
    remote.echoes();
}

#[test]
fn row_46_many_calls_that_lose_their_session_begin_one() {
    let remote = Arc::new(works("ordinary", "legacy", &[]));
    remote.server.lose_sessions();
    let calls: Vec<_> = (0..16)
        .map(|_| {
            let remote = remote.clone();
            thread::spawn(move || remote.odd())
        })
        .collect();
    for call in calls {
        assert_eq!(call.join().unwrap().ok(), GOOD);
    }
    assert_eq!(remote.received("initialize").len(), 2);
}

#[test]
fn row_46_no_such_method_is_no_lost_session() {
    let remote = works("404-method", "legacy", &[]);
    remote.odd().failed("TN_E_SERVER", &["Method not found: odd"]).well_under(GENEROUS);
    assert_eq!((remote.received("initialize").len(), remote.calls_of_odd()), (1, 1));
}

#[test]
fn row_46_a_session_that_was_lost_while_idle_is_noticed_by_its_stream() {
    let remote = works("ordinary", "legacy", &[]);
    until("the GET", || !remote.received("GET").is_empty());
    remote.server.lose_sessions();
    remote.server.hang_up();
    until("a GET that meets 404", || remote.received("GET").len() >= 2);
    assert_eq!(remote.odd().well_under(GENEROUS).ok(), GOOD);
    assert_eq!(remote.received("initialize").len(), 2);
}

#[test]
fn row_46_bad_session_ids_are_refused() {
    for behaviour in ["session-id-blank", "session-id-bytes", "session-id-empty"] {
        let (server, _) = fails(behaviour, &[], "initialize", &["session id", "Mcp-Session-Id"]);
        assert_eq!(received(&server, "initialize").len(), 1, "{behaviour}");
    }
}

#[test]
fn row_46_odd_session_ids_are_given_back_as_they_are() {
    for behaviour in ["session-id-odd", "session-id-long", "session-id-changes"] {
        let remote = works(behaviour, "legacy", &[]);
        assert_eq!(remote.odd().ok(), GOOD, "{behaviour}");
        assert_eq!(remote.received("initialize").len(), 1);
    }
}

#[test]
fn row_46_answers_to_notifications_are_no_matter() {
    for behaviour in [
        "initialized-500",
        "initialized-200",
        "initialized-204",
        "initialized-html",
        "initialized-error",
        "initialized-resets",
    ] {
        let remote = works(behaviour, "legacy", &[]);
        assert!(remote.loaded.took.as_millis() < u128::from(GENEROUS) / 3, "{behaviour}: {:?}", remote.loaded.took);
        assert_eq!(remote.received("initialize").len(), 1, "{behaviour}");
    }
    works("initialized-stalls", "legacy", &[]);
}

#[test]
fn what_follows_initialized_comes_after_it() {
    let remote = works("ordinary", "legacy", &[]);
    let order: Vec<String> =
        remote.server.received().iter().map(|request| request.method()).filter(|method| method != "GET").collect();
    assert_eq!(order[..4], ["server/discover", "initialize", "notifications/initialized", "tools/list"]);
}

#[test]
fn closing_ends_the_session_with_a_delete_and_all_connections() {
    for behaviour in ["ordinary", "delete-405", "delete-500", "delete-stalls"] {
        let remote = works(behaviour, "legacy", &[]);
        let done = remote.loaded.close();
        done.ok();
        done.well_under(GENEROUS);
        let deletes = remote.received("DELETE");
        assert_eq!(deletes.len(), 1, "{behaviour}");
        assert_eq!(deletes[0].header("mcp-session-id"), Some("session-0"));
        until("no connection is left", || remote.server.open() == 0);
    }
    let remote = works("ordinary", "modern", &[]);
    remote.loaded.close().ok();
    assert!(remote.received("DELETE").is_empty() && remote.received("GET").is_empty(), "2026-07-28 has neither");
    until("no connection is left", || remote.server.open() == 0);
    let remote = works("ordinary", "legacy", &["--sessions", "no"]);
    remote.loaded.close().ok();
    assert!(remote.received("DELETE").is_empty(), "there is no session to end");
}

#[test]
fn a_closed_source_says_so() {
    for era in ERAS {
        let remote = works("ordinary", era, &[]);
        let tool = remote.loaded.tool("s_echo");
        remote.loaded.close().ok();
        tool.call("{}", None).failed("TN_E_CLOSED", &[]).well_under(GENEROUS);
    }
}

#[test]
fn a_restart_is_a_new_session() {
    for era in ERAS {
        let remote = works("ordinary", era, &[]);
        remote.loaded.restart(Some("s")).ok();
        remote.echoes();
        if era == "legacy" {
            assert_eq!((remote.received("initialize").len(), remote.received("DELETE").len()), (2, 1));
            assert_eq!(remote.received("server/discover").len(), 1, "the verdict is remembered");
        }
    }
}

#[test]
fn two_servers_behind_one_origin_have_two_sessions() {
    let server = Server::start("ordinary", &["--era", "legacy"]);
    let loaded =
        load(json!({"a": {"url": server.origin() + "/a"}, "b": {"url": server.origin() + "/b"}, "s": entry(&server)}));
    for name in ["a", "b", "s"] {
        assert_eq!(loaded.call(&format!("{name}_echo"), json!({"text": name})).ok(), name);
    }
    loaded.close().ok();
    let mut ended: Vec<String> = received(&server, "DELETE").into_iter().map(|request| request.path).collect();
    ended.sort();
    assert_eq!(ended, ["/a", "/b", "/mcp"]);
    assert_eq!(received(&server, "initialize").len(), 3);
}

#[test]
fn a_failed_server_can_be_restarted_once_it_is_well() {
    for (behaviour, at) in [("503", "handshake"), ("401-bare", "server/discover"), ("resets-before-head", "handshake")]
    {
        let server = Server::start(behaviour, &["--at", at, "--times", "1"]);
        let loaded = load(json!({"s": entry(&server)}));
        assert_ne!(loaded.server("s")["status"], "connected", "{behaviour}: {}", loaded.document);
        loaded.restart(Some("s")).ok();
        assert_eq!(loaded.call("s_echo", json!({"text": "x"})).ok(), "x", "{behaviour}");
    }
}

#[test]
fn row_46_a_session_that_is_lost_before_the_list_is_begun_again() {
    let remote = works("session-lost", "legacy", &["--at", "tools/list"]);
    assert_eq!((remote.received("initialize").len(), remote.received("tools/list").len()), (2, 2));
    assert_eq!(remote.odd().ok(), GOOD);
    let (server, _) = fails("session-lost-always", &["--at", "tools/list"], "list", &["session", "HTTP 404"]);
    assert_eq!(received(&server, "initialize").len(), 2, "not for ever");
}
