//! Servers that die and come back on the same port, with their sessions forgotten.

use serde_json::{Value, json};

use crate::common::load;
use crate::common::real::{check, config, deps};
use crate::host::{Context, Host};
use crate::peers::{self, Peer, Remote, all};

#[test]
fn servers_that_come_back() {
    let Some(deps) = deps() else { return };
    // Each in a thread of its own: most of the time is theirs.
    std::thread::scope(|scope| {
        let tests: Vec<_> = all(&deps).into_iter().map(|remote| scope.spawn(|| comes_back(remote))).collect();
        for test in tests {
            test.join().expect("its checks");
        }
    });
}

fn comes_back(mut remote: Remote) {
    let loaded = load(config(std::slice::from_ref(&remote.real)));
    check(&loaded, &remote.real);
    // Between two calls: nobody notices.
    remote.peer.start_again();
    check(&loaded, &remote.real);

    // Away for a while.
    remote.peer.kill();
    let (name, url) = (remote.real.name, remote.peer.url());
    let (tool, arguments, part) = remote.real.calls[0].clone();
    let tool = format!("{name}_{tool}");
    loaded.call(&tool, arguments.clone()).failed("TN_E_TRANSPORT", &[name, &url, "refused"]);
    remote.peer.start_again();
    let done = loaded.call(&tool, arguments);
    assert!(done.ok().contains(part), "{name}: {}", done.output);
    check(&loaded, &remote.real);
    loaded.close().ok();
}

/// Kills the server in the middle of a call, which then is over; the next one finds it again. `resumes`: the server numbers what it
/// sends, so that the call can only be over once the server is back and does not know of it.
fn dies_in_a_call(mut peer: Peer, lifecycle: &str, tool: &str, arguments: Value, resumes: bool) {
    let mut entry = peer.entry();
    entry["lifecycle"] = json!(lifecycle);
    let host = Host::new(entry, json!({}));
    let context = Context::new().progress(&host.events, 7);
    let call = host.begin(tool, arguments.clone(), Some(&context));
    // It is at work: it told so.
    host.progress(7);
    peer.kill();
    if resumes {
        peer.start_again();
    }
    let done = host.end(call);
    assert!(done.is_error && done.status == "TN_E_TRANSPORT", "{done:?}");
    assert!(done.output.contains(&peer.url()), "{done:?}");
    if !resumes {
        peer.start_again();
    }
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
        dies_in_a_call(peers::python(&deps, "py2", "asks.py"), lifecycle, "slow", snake.clone(), false);
        dies_in_a_call(peers::rust(), lifecycle, "slow", camel.clone(), lifecycle == "initialize");
    }
    dies_in_a_call(peers::typescript(&["--modern-only"]), "auto", "slow", camel, false);
    let everything = peers::everything(&deps, "streamableHttp");
    let long = json!({"duration": 600, "steps": 6000});
    dies_in_a_call(everything, "auto", "trigger-long-running-operation", long, true);
}
