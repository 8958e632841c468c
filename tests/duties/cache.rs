//! Duty 38: what a server lets be used again is used again, and not beyond that.

use serde_json::{Value, json};

use crate::common::{Context, Loaded, hostile, load, until};
use crate::{MODERN, WAYS, connected_over, received_of};

/// The number of the answer, which grows with each that the server gives.
#[track_caller]
fn number(loaded: &Loaded, method: &str, params: &Value) -> u64 {
    let done = loaded.request("s", method, params);
    done.ok();
    done.doc()["n"].as_u64().unwrap()
}

const LISTS: [&str; 5] =
    ["server/discover", "tools/list", "resources/list", "resources/templates/list", "prompts/list"];

fn a() -> Value {
    json!({"uri": "fixture://a"})
}

#[test]
fn duty_38_answers_are_used_again_by_method_and_params() {
    for way in MODERN {
        let loaded = connected_over(way, "cached", &[]);
        for method in LISTS {
            let first = loaded.request("s", method, &json!({}));
            assert_eq!(loaded.request("s", method, &json!({})).json, first.json, "{method}");
            let other = number(&loaded, method, &json!({"cursor": ""}));
            assert_ne!(json!(other), first.doc()["n"], "{method}");
            assert_eq!(number(&loaded, method, &json!({"cursor": ""})), other, "{method}");
        }
        let read = number(&loaded, "resources/read", &a());
        assert_ne!(number(&loaded, "resources/read", &json!({"uri": "fixture://b"})), read);
        assert_eq!(number(&loaded, "resources/read", &a()), read);
        // Each was asked once for each params.
        for method in LISTS {
            let asked = received_of(&loaded, method).len();
            // The library's own: the handshake and the list of the load.
            let own = usize::from(matches!(method, "server/discover" | "tools/list"));
            assert_eq!(asked - own, 2, "{method}");
        }
    }
}

#[test]
fn duty_38_the_resource_tools_use_it_too() {
    for way in MODERN {
        let loaded = connected_over(way, "cached", &[]);
        for (tool, arguments) in
            [("list_mcp_resources", json!({})), ("read_mcp_resource", json!({"server": "s", "uri": "fixture://a"}))]
        {
            let first = loaded.resources(tool, arguments.clone()).ok().to_owned();
            assert_eq!(loaded.resources(tool, arguments).ok(), first, "{tool}");
        }
        let asked = |method: &str| received_of(&loaded, method).len();
        assert_eq!(["resources/list", "resources/templates/list", "resources/read"].map(asked), [1, 1, 1]);
    }
}

#[test]
fn duty_38_a_change_ends_it() {
    for way in MODERN {
        let loaded = connected_over(way, "cached", &[]);
        let numbers = || {
            let list = |method: &str| number(&loaded, method, &json!({}));
            let read = |uri: &str| number(&loaded, "resources/read", &json!({"uri": uri}));
            [
                list("tools/list"),
                list("resources/list"),
                list("resources/templates/list"),
                list("prompts/list"),
                read("fixture://a"),
                read("fixture://b"),
            ]
        };
        let mut before = numbers();
        for (what, changed) in [
            (json!({"do": "tools"}), &[0][..]),
            (json!({"do": "resources"}), &[1, 2]),
            (json!({"do": "prompts"}), &[3]),
            (json!({"do": "updated", "uri": "fixture://a"}), &[4]),
            (json!({"do": "updated", "uri": "fixture://else"}), &[]),
            (json!({"do": "updated"}), &[4, 5]),
        ] {
            loaded.call("s_odd", what.clone()).ok();
            // Over HTTP a change comes on a stream of its own.
            let mut after = numbers();
            until("the change has arrived", || {
                after = numbers();
                changed.iter().all(|place| before[*place] != after[*place])
            });
            for (place, (before, after)) in before.iter().zip(after).enumerate() {
                assert_eq!(*before != after, changed.contains(&place), "{what}: number {place}");
            }
            before = after;
        }
    }
}

#[test]
fn duty_38_its_time_ends_and_nobody_polls() {
    for way in MODERN {
        let loaded = connected_over(way, "cached", &["--interval", "100"]);
        number(&loaded, "prompts/list", &json!({}));
        for _ in 0..3 {
            let first = number(&loaded, "resources/list", &json!({}));
            until("the answer has had its time", || number(&loaded, "resources/list", &json!({})) != first);
        }
        // The other one's time was over long ago.
        let asked = received_of(&loaded, "prompts/list").len();
        assert_eq!(asked, 1);
    }
}

#[test]
fn duty_38_hints_that_make_no_sense_count_as_none() {
    for way in MODERN {
        let loaded = connected_over(way, "cached-odd", &[]);
        let again = |params: Value| {
            let first = number(&loaded, "resources/list", &params);
            number(&loaded, "resources/list", &params) == first
        };
        for params in [json!({"ttl": 60_000, "scope": "public"}), json!({"ttl": 60_000, "scope": "private"})] {
            assert!(again(params.clone()), "{params}");
        }
        for ttl in [json!(0), json!(-1), json!(-5.5), json!(0.5), json!("60000"), Value::Null, json!([]), json!(true)] {
            assert!(!again(json!({"ttl": ttl, "scope": "public"})), "{ttl}");
        }
        for scope in [json!("weird"), json!(7), Value::Null] {
            assert!(!again(json!({"ttl": 60_000, "scope": scope})), "{scope}");
        }
    }
}

#[test]
fn duty_38_errors_and_answers_to_questions_are_never_kept() {
    for way in MODERN {
        let loaded = connected_over(way, "cached", &[]);
        let asks = json!({"uri": "fixture://asks"});
        let first = number(&loaded, "resources/read", &asks);
        assert_eq!(number(&loaded, "resources/read", &asks), first + 1);
        for _ in 0..2 {
            let none = loaded.request("s", "resources/read", &json!({"uri": "fixture://none"}));
            none.failed("TN_E_SERVER", &["no such resource"]);
        }
        let reads = received_of(&loaded, "resources/read").len();
        assert_eq!(reads, 2 * 2 + 2);
    }
}

#[test]
fn duty_38_a_meta_of_the_hosts_own_reaches_the_server() {
    for way in MODERN {
        let loaded = connected_over(way, "cached", &[]);
        let first = number(&loaded, "resources/list", &json!({}));
        let fresh = number(&loaded, "resources/list", &json!({"_meta": {}}));
        assert_eq!(fresh, first + 1);
        assert_eq!(number(&loaded, "resources/list", &json!({"_meta": {"x/y": 1}})), fresh + 1);
        // What was asked that way is not kept.
        assert_eq!(number(&loaded, "resources/list", &json!({})), first);
    }
}

#[test]
fn duty_38_a_server_that_is_down_is_down() {
    let entry = |restart| {
        let mut entry = hostile("cached", &["--era", "modern"]);
        entry["restart"] = restart;
        load(json!({"s": entry}))
    };
    let loaded = entry(json!({"max": 0}));
    number(&loaded, "resources/read", &a());
    assert!(loaded.call("s_odd", json!({"do": "exit"})).is_error);
    loaded.request("s", "resources/read", &a()).failed("TN_E_TRANSPORT", &[]);
    let arguments = json!({"server": "s", "uri": "fixture://a"});
    assert!(loaded.resources("read_mcp_resource", arguments).is_error);

    // Started again it is another one, which counts from the beginning: its own discover, list and this.
    let loaded = entry(json!({"max": 3, "backoffMs": 1}));
    let first = number(&loaded, "resources/read", &a());
    number(&loaded, "resources/list", &json!({}));
    assert!(loaded.call("s_odd", json!({"do": "exit"})).is_error);
    number(&loaded, "resources/list", &json!({}));
    assert_eq!(number(&loaded, "resources/read", &a()), first + 1);
    loaded.restart(Some("s")).ok();
    assert_eq!(number(&loaded, "resources/read", &a()), first);
}

#[test]
fn duty_38_a_cancelled_context_gets_nothing_from_memory() {
    for way in MODERN {
        let loaded = connected_over(way, "cached", &[]);
        number(&loaded, "resources/list", &json!({}));
        let context = Context::new();
        context.cancel();
        loaded.request_with("s", "resources/list", &json!({}), Some(&context)).failed("TN_E_CANCELLED", &[]);
    }
}

#[test]
fn duty_38_legacy_servers_give_no_such_hints() {
    for way in [WAYS[0], WAYS[2]] {
        let loaded = connected_over(way, "cached", &[]);
        for method in LISTS.into_iter().skip(1) {
            let first = number(&loaded, method, &json!({}));
            assert_eq!(number(&loaded, method, &json!({})), first + 1, "{method}");
        }
    }
}
