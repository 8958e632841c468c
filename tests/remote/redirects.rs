//! Row 45: redirects.

use serde_json::json;

use crate::common::load;
use crate::hostile_http::Server;
use crate::{ERAS, GOOD, entry, fails, odd_fails, works};

#[test]
fn row_45_within_the_origin_they_are_followed() {
    for era in ERAS {
        for behaviour in ["redirect-307", "redirect-308-relative"] {
            let remote = works(behaviour, era, &["--at", ""]);
            assert_eq!(remote.odd().ok(), GOOD);
            assert!(remote.server.received().iter().any(|request| request.path.starts_with("/moved")));
            let remote = works(behaviour, era, &[]);
            assert_eq!(remote.odd().ok(), GOOD);
        }
    }
}

#[test]
fn row_45_to_another_origin_nothing_goes() {
    for era in ERAS {
        for behaviour in ["redirect-cross-307", "redirect-cross-308"] {
            let elsewhere = Server::start("ordinary", &[]);
            let to = elsewhere.url() + "?key=s3cret-query";
            for at in ["", "tools/list"] {
                let server = Server::start(behaviour, &["--era", era, "--at", at, "--to", &to]);
                let mut entry = entry(&server);
                entry["headers"] = json!({"Authorization": "Bearer s3cret-value"});
                let loaded = load(json!({"s": entry}));
                let document = loaded.server("s");
                assert_eq!(document["status"], "failed", "{document}");
                let reason = document["reason"].as_str().unwrap();
                assert!(reason.contains("another origin") && reason.contains(&elsewhere.origin()), "{reason}");
                assert!(!loaded.document.to_string().contains("s3cret"), "{}", loaded.document);
            }
            assert!(elsewhere.received().is_empty() && elsewhere.connections() == 0, "{:?}", elsewhere.received());
        }
    }
}

#[test]
fn row_45_the_rest_is_refused_at_once() {
    for behaviour in ["redirect-301", "redirect-302", "redirect-303"] {
        odd_fails(behaviour, "TN_E_TRANSPORT", &["redirects", "/"]);
    }
    for (behaviour, part) in [
        ("redirect-302", "/login"),
        ("redirect-loop", "circle"),
        ("redirect-nowhere", "does not say where"),
        ("redirect-odd", "redirects"),
        ("redirect-scheme", "redirects"),
    ] {
        fails(behaviour, &["--at", "handshake"], "initialize", &[part]);
    }
}

#[test]
fn row_45_a_circle_is_bounded() {
    let (server, _) = fails("redirect-loop", &["--at", "handshake"], "initialize", &["circle"]);
    assert!(server.received().len() < 12, "{}", server.received().len());
}
