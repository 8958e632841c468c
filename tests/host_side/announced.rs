//! What the host announces, and what becomes of requests for the rest.

use serde_json::{Value, json};

use crate::support::{ERAS, Host, of_era};

/// The capabilities that the server was told of: in its handshake, or with each call.
fn announced(era: &str, host: &Host) -> Value {
    if era == "legacy" {
        return host.received_of("initialize")[0]["params"]["capabilities"].clone();
    }
    let calls = host.received_of("tools/call");
    calls[0]["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"].clone()
}

#[test]
fn capabilities_follow_the_options_and_the_queue() {
    let elicitation = json!({"form": {}, "url": {}});
    for era in ERAS {
        for (hears, options, expected) in [
            (true, json!({}), json!({"elicitation": elicitation})),
            (true, json!({"elicitation": false}), json!({})),
            (true, json!({"sampling": true}), json!({"elicitation": elicitation, "sampling": {}})),
            (true, json!({"elicitation": false, "roots": ["file:///a"]}), json!({"roots": {}})),
            (false, json!({"elicitation": true, "sampling": true}), json!({})),
            (false, json!({"sampling": true, "roots": ["file:///a"]}), json!({"roots": {}})),
        ] {
            let server = of_era(era, "ordinary");
            let host = if hears { Host::new(server, options.clone()) } else { Host::deaf(server, options.clone()) };
            assert_eq!(announced(era, &host), expected, "{era}, a queue: {hears}, {options}");
        }
    }
}

#[test]
fn what_was_not_announced_is_refused_on_the_wire_by_legacy_means() {
    let off = json!({"elicitation": false});
    for (behaviour, method) in [
        ("asks-elicitation", "elicitation/create"),
        ("asks-elicitation-url", "elicitation/create"),
        ("asks-sampling", "sampling/createMessage"),
        ("asks-roots", "roots/list"),
        ("unknown-request-method", "no/such/method"),
        ("asks-malformed", "elicitation/create"),
    ] {
        for hears in [true, false] {
            let server = of_era("legacy", behaviour);
            let host = if hears { Host::new(server, off.clone()) } else { Host::deaf(server, json!({})) };
            let response = host.call("odd", json!({})).json();
            assert_eq!(response["id"], "ask");
            assert_eq!(response["error"]["code"], -32601, "{method}: {response}");
            assert!(host.events.next_within(0).is_none());
        }
    }
}

#[test]
fn what_was_not_announced_fails_the_call_in_the_modern_era_and_nothing_is_sent_back() {
    for (behaviour, method) in [
        ("asks-elicitation", "elicitation/create"),
        ("asks-elicitation-url", "elicitation/create"),
        ("asks-sampling", "sampling/createMessage"),
        ("asks-roots", "roots/list"),
        ("input-required-unknown-method", "no/such/method"),
    ] {
        for hears in [true, false] {
            let server = of_era("modern", behaviour);
            let host =
                if hears { Host::new(server, json!({"elicitation": false})) } else { Host::deaf(server, json!({})) };
            host.call("odd", json!({})).failed("TN_E_PROTOCOL", method);
            let calls = host.received_of("tools/call");
            assert_eq!(calls.len(), 2, "the call, and received itself");
            assert!(!host.received().iter().any(|message| message.get("method").is_none()), "a response was sent");
            assert!(host.events.next_within(0).is_none());
        }
    }
}

#[test]
fn requests_of_a_modern_server_get_no_response() {
    let options = json!({"elicitation": true, "roots": ["file:///a"]});
    let host = Host::new(of_era("modern", "server-request-modern"), options);
    assert_eq!(host.call("odd", json!({})).ok(), "called odd");
    assert!(host.received().iter().all(|message| message.get("method").is_some()));
    assert!(host.events.next_within(0).is_none());
}

#[test]
fn pings_are_answered() {
    let host = Host::deaf(of_era("legacy", "asks-ping"), json!({}));
    assert_eq!(host.call("odd", json!({})).json()["result"], json!({}));
}
