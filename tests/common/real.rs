//! Servers that others wrote, and what each must show: shared by the tests over stdio and over HTTP.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::{GENEROUS, Loaded};

pub struct Real {
    pub name: &'static str,
    pub entry: Value,
    /// Which era it speaks when it may choose.
    pub modern: bool,
    /// Calls it must answer: tool, arguments, what the output holds.
    pub calls: Vec<(&'static str, Value, &'static str)>,
    /// A resource and its text.
    pub resource: Option<(&'static str, &'static str)>,
}

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// None, with a line that says so, where the servers are not installed. In CI they have to be.
pub fn deps() -> Option<PathBuf> {
    let deps = root().join(".deps");
    if ["npm", "py1", "py2"].iter().all(|part| deps.join(part).join(".stamp").exists()) {
        return Some(deps);
    }
    assert!(std::env::var("CI").as_deref() != Ok("true"), "CI needs the real servers: run tools/install-test-servers");
    eprintln!("skipped: the real servers are not installed in .deps; run tools/install-test-servers");
    None
}

pub fn node(deps: &Path, server: &str, arguments: &[&Path]) -> Value {
    let script = deps.join("npm/node_modules/@modelcontextprotocol").join(server).join("dist/index.js");
    let mut args = vec![json!(script)];
    args.extend(arguments.iter().map(|argument| json!(argument)));
    json!({"command": "node", "args": args})
}

pub fn python(deps: &Path, venv: &str, script: &str) -> Value {
    json!({"command": deps.join(venv).join("bin/python"), "args": [root().join("tests/servers/python").join(script)]})
}

pub fn check(loaded: &Loaded, real: &Real) {
    let server = loaded.server(real.name);
    assert_eq!(server["status"], "connected", "{}: {server}", real.name);
    let version = server["protocolVersion"].as_str().expect("a version");
    assert_eq!(version == "2026-07-28", real.modern, "{}: {version}", real.name);
    assert!(server["tools"].as_u64().expect("a count") > 0, "{server}");
    assert_eq!(server.get("skipped"), None, "{server}");
    for tool in loaded.tools().iter().filter(|tool| tool["server"] == real.name) {
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
    }
    for (tool, arguments, part) in &real.calls {
        let done = loaded.call(&format!("{}_{tool}", real.name), arguments.clone());
        assert!(done.ok().contains(part), "{}: {}", real.name, done.output);
    }
    let offers = server["capabilities"]["resources"].is_object();
    let list = loaded.resources("list_mcp_resources", json!({"server": real.name}));
    let list = list.ok();
    match real.resource {
        Some((uri, text)) => {
            assert!(offers && list.contains(&format!("{} {uri}", real.name)), "{list}");
            let read = loaded.resources("read_mcp_resource", json!({"server": real.name, "uri": uri}));
            assert!(read.ok().contains(text), "{}", read.output);
        }
        None => assert_eq!(list, "No resources.", "{}", real.name),
    }
}

pub fn config(reals: &[Real]) -> Value {
    let mut servers = Map::new();
    for real in reals {
        let mut entry = real.entry.clone();
        // Interpreters start slowly when all of them start at once.
        entry["timeout"] = json!(4 * GENEROUS);
        servers.insert(real.name.to_owned(), entry);
    }
    Value::Object(servers)
}
