//! Remote servers that people use, over HTTP: each loaded, listed, called and closed, alone and all at once with local ones.
//! `tests/servers/README.md` has their commands; `tools/install-test-servers` installs them.
#![cfg(target_os = "linux")]

#[path = "../common/mod.rs"]
mod common;
mod elsewhere;
mod fronts;
#[path = "../host_side/support.rs"]
#[allow(dead_code, clippy::undocumented_unsafe_blocks, reason = "shared with tests/host_side")]
mod host;
mod peers;
mod proxies;
mod restarts;
mod sessions;
mod talks;
mod tls;

use std::path::{Path, PathBuf};

use common::real::{Real, check, config, deps, node, python};
use common::{Loaded, example, load, scratch};
use peers::{Remote, all};
use serde_json::json;

fn check_remote(loaded: &Loaded, remote: &Remote) {
    check(loaded, &remote.real);
    let name = remote.real.name;
    let offers = loaded.server(name)["capabilities"]["prompts"].is_object();
    assert_eq!(offers, remote.prompt.is_some(), "{name}");
    if let Some((prompt, arguments, part)) = &remote.prompt {
        let list = loaded.request(name, "prompts/list", &json!({})).doc();
        let names: Vec<_> = list["prompts"].as_array().expect("prompts").iter().map(|prompt| &prompt["name"]).collect();
        assert!(names.iter().any(|name| *name == prompt), "{name}: {list}");
        let got = loaded.request(name, "prompts/get", &json!({"name": prompt, "arguments": arguments})).doc();
        let text = got["messages"][0]["content"]["text"].as_str().unwrap_or_else(|| panic!("{name}: {got}"));
        assert!(text.contains(part), "{name}: {text}");
        // An unknown one is the server's error, and its session goes on.
        assert!(loaded.request(name, "prompts/get", &json!({"name": "no such prompt"})).is_error, "{name}");
    }
    let unknown = loaded.resources("read_mcp_resource", json!({"server": name, "uri": "fixture://unknown"}));
    assert!(unknown.is_error && !unknown.output.is_empty(), "{name}: {unknown:?}");
}

/// One start of them serves all of this: an interpreter needs seconds for it.
#[test]
fn alone_together_and_in_both_eras() {
    let Some(deps) = deps() else { return };
    let remotes = all(&deps);
    each_alone(&remotes);
    all_at_once_with_local_ones(&deps, &remotes);
    both_eras_of_one_server(remotes);
}

fn each_alone(remotes: &[Remote]) {
    for remote in remotes {
        let loaded = load(config(std::slice::from_ref(&remote.real)));
        check_remote(&loaded, remote);
        loaded.close().ok();
    }
}

fn all_at_once_with_local_ones(deps: &Path, remotes: &[Remote]) {
    let local = |name, mut entry: serde_json::Value, tool, arguments, part, modern| {
        entry["cwd"] = json!(scratch(""));
        Real { name, entry, modern, calls: vec![(tool, arguments, part)], resource: None }
    };
    let folder: PathBuf = scratch("").canonicalize().expect("a folder");
    std::fs::write(folder.join("note.txt"), "a note for a server").expect("a file");
    let mut hello =
        local("local-rust", json!({"command": example("rmcp-server")}), "echo", json!({"text": "here"}), "here", true);
    hello.resource = Some(("fixture://hello", "hello resource"));
    let mut add = local("local-python", python(deps, "py2", "v2srv.py"), "add", json!({"a": 1, "b": 2}), "3", true);
    add.resource = hello.resource;
    let read = json!({"path": folder.join("note.txt")});
    let files = node(deps, "server-filesystem", &[&folder]);
    let files = local("local-files", files, "read_text_file", read, "a note for a server", false);
    let locals = [hello, add, files];

    let (mut servers, more) =
        (config(&locals), remotes.iter().map(|remote| config(std::slice::from_ref(&remote.real))));
    for one in more {
        let one = one.as_object().expect("a server").clone();
        servers.as_object_mut().expect("servers").extend(one);
    }
    let loaded = load(servers);
    std::thread::scope(|scope| {
        let mut checks: Vec<_> = locals.iter().map(|real| scope.spawn(|| check(&loaded, real))).collect();
        checks.extend(remotes.iter().map(|remote| scope.spawn(|| check_remote(&loaded, remote))));
        for check in checks {
            check.join().expect("its checks");
        }
    });
    let list = loaded.resources("list_mcp_resources", json!({}));
    for real in locals.iter().chain(remotes.iter().map(|remote| &remote.real)) {
        let starts = list.ok().lines().any(|line| line.starts_with(&format!("{} ", real.name)));
        assert_eq!(starts, real.resource.is_some(), "{}: {}", real.name, list.output);
    }
    loaded.close().ok();
}

fn both_eras_of_one_server(remotes: Vec<Remote>) {
    for remote in remotes {
        let mut real = remote.real;
        if !real.modern || real.name == "typescript-modern" {
            // Of one era: the other is refused, with the reason.
            real.entry["lifecycle"] = json!(if real.modern { "initialize" } else { "discover" });
            let loaded = load(config(std::slice::from_ref(&real)));
            assert_eq!(loaded.server(real.name)["status"], "failed", "{}", loaded.server(real.name));
            continue;
        }
        for (lifecycle, modern) in [("discover", true), ("initialize", false)] {
            real.entry["lifecycle"] = json!(lifecycle);
            real.modern = modern;
            let loaded = load(config(std::slice::from_ref(&real)));
            check(&loaded, &real);
            loaded.close().ok();
        }
    }
}

#[test]
fn the_transport_of_2024() {
    let Some(deps) = deps() else { return };
    let peer = peers::everything(&deps, "sse");
    let [found, mut told] = [peer.entry(), peer.entry()];
    told["type"] = json!("sse");
    let loaded = load(json!({"found": found, "told": told}));
    for name in ["found", "told"] {
        assert_eq!(loaded.server(name)["status"], "connected", "{}", loaded.server(name));
        assert_eq!(loaded.call(&format!("{name}_echo"), json!({"message": "old"})).ok(), "Echo: old");
        let read = json!({"server": name, "uri": "demo://resource/static/document/features.md"});
        assert!(loaded.resources("read_mcp_resource", read).ok().contains('#'));
    }
    loaded.close().ok();
    peer.wrote("Client Disconnected");
}
