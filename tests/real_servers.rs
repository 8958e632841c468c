//! Servers that people use, over stdio: each loaded, listed, called and closed, alone and all at once. `tests/servers/README.md`
//! has their commands; `tools/install-test-servers` installs them.
#![cfg(target_os = "linux")]

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::real::{Real, check, config, deps, node, python, root};
use common::{example, load, scratch};
use serde_json::json;

/// A folder with a file and a repository with one commit.
fn folder() -> PathBuf {
    let folder = scratch("").canonicalize().expect("a folder");
    std::fs::write(folder.join("note.txt"), "a note for a server").expect("a file");
    let git = |arguments: &[&str]| {
        let identity =
            ["-c", "user.name=test", "-c", "user.email=test@example.invalid", "-c", "init.defaultBranch=main"];
        let done = Command::new("git").arg("-C").arg(&folder).args(identity).args(arguments).output().expect("git");
        assert!(done.status.success(), "git {arguments:?}: {done:?}");
    };
    git(&["init", "--quiet"]);
    git(&["add", "note.txt"]);
    git(&["commit", "--quiet", "-m", "A first commit"]);
    folder
}

fn all(deps: &Path) -> Vec<Real> {
    let folder = folder();
    let py2 = deps.join("py2/bin");
    let hello = Some(("fixture://hello", "hello resource"));
    let mut memory = node(deps, "server-memory", &[]);
    memory["env"] = json!({"MEMORY_FILE_PATH": folder.join("memory.json")});
    let add = || vec![("add", json!({"a": 19, "b": 23}), "42")];
    let entity = json!({"name": "toolnexus", "entityType": "library", "observations": ["speaks MCP"]});
    let thought = json!({"thought": "one", "thoughtNumber": 1, "totalThoughts": 1, "nextThoughtNeeded": false});
    vec![
        Real {
            name: "everything",
            entry: node(deps, "server-everything", &[Path::new("stdio")]),
            modern: false,
            calls: vec![("echo", json!({"message": "hello é😀"}), "hello é😀")],
            resource: Some(("demo://resource/static/document/features.md", "#")),
        },
        Real {
            name: "filesystem",
            entry: node(deps, "server-filesystem", &[&folder]),
            modern: false,
            calls: vec![("read_text_file", json!({"path": folder.join("note.txt")}), "a note for a server")],
            resource: None,
        },
        Real {
            name: "memory",
            entry: memory,
            modern: false,
            calls: vec![
                ("create_entities", json!({"entities": [entity]}), "speaks MCP"),
                ("search_nodes", json!({"query": "toolnexus"}), "speaks MCP"),
            ],
            resource: Some(("memory://knowledge-graph", "toolnexus")),
        },
        Real {
            name: "thinking",
            entry: node(deps, "server-sequential-thinking", &[]),
            modern: false,
            calls: vec![("sequentialthinking", thought, "thoughtHistoryLength")],
            resource: None,
        },
        Real {
            name: "time",
            entry: json!({"command": py2.join("mcp-server-time"), "args": ["--local-timezone", "UTC"]}),
            modern: true,
            calls: vec![("get_current_time", json!({"timezone": "UTC"}), "UTC")],
            resource: None,
        },
        Real {
            name: "git",
            entry: json!({"command": py2.join("mcp-server-git"), "args": ["--repository", folder]}),
            modern: true,
            calls: vec![("git_log", json!({"repo_path": folder}), "A first commit")],
            resource: None,
        },
        Real { name: "python-2", entry: python(deps, "py2", "v2srv.py"), modern: true, calls: add(), resource: hello },
        Real { name: "fastmcp", entry: python(deps, "py2", "fm.py"), modern: true, calls: add(), resource: hello },
        Real { name: "python-1", entry: python(deps, "py1", "v1srv.py"), modern: false, calls: add(), resource: hello },
        Real {
            name: "sqlite",
            entry: json!({"command": deps.join("py1/bin/mcp-server-sqlite"), "args": ["--db-path", folder.join("db")]}),
            modern: false,
            calls: vec![("read_query", json!({"query": "SELECT 6 * 7 AS answer"}), "42")],
            resource: Some(("memo://insights", "")),
        },
        typescript("typescript", &["--stdio"]),
        typescript("typescript-modern", &["--stdio", "--modern-only"]),
        rust(),
    ]
}

fn typescript(name: &'static str, options: &[&str]) -> Real {
    let mut args = vec![json!(root().join("tests/servers/npm/srv.mjs"))];
    args.extend(options.iter().map(|option| json!(option)));
    Real {
        name,
        entry: json!({"command": "node", "args": args}),
        modern: true,
        calls: vec![("add", json!({"a": 19, "b": 23}), "42")],
        resource: Some(("fixture://hello", "hello resource")),
    }
}

/// The server on the Rust SDK needs no installation.
fn rust() -> Real {
    Real {
        name: "rust",
        entry: json!({"command": example("rmcp-server")}),
        modern: true,
        calls: vec![("echo", json!({"text": "over the SDK"}), "over the SDK")],
        resource: Some(("fixture://hello", "hello resource")),
    }
}

#[test]
fn each_alone() {
    let Some(deps) = deps() else { return };
    for real in all(&deps) {
        let loaded = load(config(std::slice::from_ref(&real)));
        check(&loaded, &real);
        loaded.close().ok();
    }
}

#[test]
fn all_at_once() {
    let Some(deps) = deps() else { return };
    let reals = all(&deps);
    let loaded = load(config(&reals));
    std::thread::scope(|scope| {
        for check in reals.iter().map(|real| scope.spawn(|| check(&loaded, real))).collect::<Vec<_>>() {
            check.join().expect("its checks");
        }
    });
    let list = loaded.resources("list_mcp_resources", json!({}));
    assert!(list.ok().lines().count() > 5, "{}", list.output);
    loaded.close().ok();
}

#[test]
fn the_rust_sdk_in_both_eras() {
    for (lifecycle, modern) in [("auto", true), ("discover", true), ("initialize", false)] {
        let mut real = rust();
        real.entry["lifecycle"] = json!(lifecycle);
        real.modern = modern;
        let loaded = load(config(std::slice::from_ref(&real)));
        check(&loaded, &real);
        let done = loaded.call("rust_fail", json!({}));
        assert!(done.is_error && done.status == "TN_OK" && done.output == "this tool always fails", "{done:?}");
    }
}
