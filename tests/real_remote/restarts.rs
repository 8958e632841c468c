//! Servers that die and come back on the same port, with their sessions forgotten.

use serde_json::{Value, json};

use crate::common::load;
use crate::common::real::{check, config, deps};
use crate::host::Host;
use crate::peers::{self, Peer, Remote, all};

/// Each kind of server in a thread of its own: most of the time is theirs.
fn with_each(test: impl Fn(Remote) + Sync) {
    let Some(deps) = deps() else { return };
    std::thread::scope(|scope| {
        let tests: Vec<_> = all(&deps).into_iter().map(|remote| scope.spawn(|| test(remote))).collect();
        for test in tests {
            test.join().expect("its checks");
        }
    });
}

#[test]
fn a_server_that_came_back_between_two_calls() {
    with_each(|mut remote| {
        let loaded = load(config(std::slice::from_ref(&remote.real)));
        check(&loaded, &remote.real);
        remote.peer.start_again();
        check(&loaded, &remote.real);
        loaded.close().ok();
    });
}

#[test]
fn a_server_that_is_away_for_a_while() {
    with_each(|mut remote| {
        let loaded = load(config(std::slice::from_ref(&remote.real)));
        let (tool, arguments, part) = remote.real.calls[0].clone();
        let tool = format!("{}_{tool}", remote.real.name);
        remote.peer.kill();
        let url = remote.peer.url();
        loaded.call(&tool, arguments.clone()).failed("TN_E_TRANSPORT", &[remote.real.name, &url, "refused"]);
        remote.peer.start_again();
        let done = loaded.call(&tool, arguments);
        assert!(done.ok().contains(part), "{}: {}", remote.real.name, done.output);
        check(&loaded, &remote.real);
        loaded.close().ok();
    });
}

/// Kills the server in the middle of a call, which then is over; the next one finds it again.
fn dies_in_a_call(mut peer: Peer, lifecycle: &str, tool: &str, arguments: Value) {
    let mut entry = peer.entry();
    entry["lifecycle"] = json!(lifecycle);
    let host = Host::new(entry, json!({}));
    let context = crate::host::Context::new().progress(&host.events, 7);
    let call = host.begin(tool, arguments.clone(), Some(&context));
    // It is at work: it told so.
    host.progress(7);
    peer.kill();
    let done = host.end(call);
    assert!(done.is_error && done.status == "TN_E_TRANSPORT", "{done:?}");
    assert!(done.output.contains(&peer.url()), "{done:?}");
    peer.start_again();
    let names = host.tool_names();
    assert!(names.contains(&format!("s_{tool}")), "{names:?}");
    let quick = arguments.as_object().expect("arguments").keys().map(|key| (key.clone(), json!(1))).collect();
    host.call(tool, Value::Object(quick)).ok();
}

#[test]
fn a_call_whose_server_dies() {
    let Some(deps) = deps() else { return };
    let snake = json!({"duration_ms": 600_000, "interval_ms": 20});
    let camel = json!({"durationMs": 600_000, "intervalMs": 20});
    for lifecycle in ["initialize", "discover"] {
        dies_in_a_call(peers::python(&deps, "py2", "asks.py"), lifecycle, "slow", snake.clone());
        dies_in_a_call(peers::rust(), lifecycle, "slow", camel.clone());
    }
    dies_in_a_call(peers::typescript(&["--modern-only"]), "auto", "slow", camel);
    let everything = peers::everything(&deps, "streamableHttp");
    let long = json!({"duration": 600, "steps": 6000});
    dies_in_a_call(everything, "auto", "trigger-long-running-operation", long);
}
