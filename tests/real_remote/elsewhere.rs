//! The library in a process of its own, with an environment that the test chooses: what it reads there it may keep.

use std::process::Command;

use serde_json::{Value, json};

use crate::common::load;

const WORK: &str = "TOOLNEXUS_TEST_WORK";
const REPORT: &str = "REPORT ";
/// What this machine may have set, and what the tests here are about.
const FORGOTTEN: [&str; 10] = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];

/// What came of it there.
pub struct Report(Value);

impl Report {
    /// A server's part of the document of the load.
    pub fn server(&self, name: &str) -> &Value {
        &self.0["load"]["servers"][name]
    }

    /// Checks that the server is connected and the call to it went well.
    #[track_caller]
    pub fn ok(&self, name: &str, output: &str) {
        assert_eq!(self.server(name)["status"], "connected", "{}", self.0);
        assert_eq!(
            (&self.0["calls"][name]["isError"], &self.0["calls"][name]["output"]),
            (&json!(false), &json!(output))
        );
    }

    /// Checks that the server failed, for a reason that holds each of `parts`.
    #[track_caller]
    pub fn failed(&self, name: &str, parts: &[&str]) {
        assert_eq!(self.server(name)["status"], "failed", "{}", self.0);
        let reason = self.server(name)["reason"].as_str().expect("a reason");
        for part in parts {
            assert!(reason.contains(part), "expected {part:?} in {reason:?}");
        }
    }

    pub fn text(&self) -> String {
        self.0.to_string()
    }
}

/// Loads these servers under these variables, and calls `tool` of each that is connected.
pub fn load_under(variables: &[(&str, &str)], servers: &Value, tool: &str, arguments: &Value) -> Report {
    let mut command = Command::new(std::env::current_exe().expect("the test's own path"));
    command.args(["--ignored", "--exact", "elsewhere::load_and_call", "--nocapture"]);
    for name in FORGOTTEN {
        command.env_remove(name);
    }
    let work = json!({"servers": servers, "tool": tool, "arguments": arguments}).to_string();
    let done = command.env(WORK, work).envs(variables.iter().copied()).output().expect("this program again");
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    let report = out.lines().find_map(|line| line.split_once(REPORT)).unwrap_or_else(|| panic!("{out}\n{err}")).1;
    assert!(done.status.success(), "{out}\n{err}");
    Report(serde_json::from_str(report).expect("JSON"))
}

#[test]
#[ignore = "other tests run it, in a process of its own"]
fn load_and_call() {
    let work = std::env::var(WORK).expect("what to do");
    let work: Value = serde_json::from_str(&work).expect("JSON");
    let loaded = load(work["servers"].clone());
    let mut calls = json!({});
    for (name, server) in loaded.document["servers"].as_object().expect("the servers") {
        if server["status"] == "connected" {
            let tool = format!("{name}_{}", work["tool"].as_str().expect("a tool"));
            let done = loaded.call(&tool, work["arguments"].clone());
            calls[name] = json!({"isError": done.is_error, "status": done.status, "output": done.output});
        }
    }
    println!("{REPORT}{}", json!({"load": loaded.document, "calls": calls}));
    loaded.close().ok();
}
