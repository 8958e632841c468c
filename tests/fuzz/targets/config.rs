//! The text of a config, and of the options.
#![no_main]

use std::collections::HashSet;

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use toolnexus::config::{self, Config, Options, Server, State};
use toolnexus::outcome::Status;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(options) = Options::parse(Some(&text), true) {
        assert!(options.max_message_bytes > 0);
    }
    // Anything else would be the path of a file.
    let start = text.trim_start_matches('\u{feff}').trim_start();
    let text =
        if ["{", "//", "/*"].iter().any(|begin| start.starts_with(begin)) { text } else { format!("{{{text}").into() };
    let environment =
        [("HOME", "/home/somebody"), ("TOKEN", "t0ken-of-the-host"), ("EMPTY", ""), ("PATH", "/usr/bin:/bin")];
    let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned()));
    match config::parse(&text, &Options::default(), &environment) {
        Ok(config) => check(&config, !text.contains('*') && !text.contains("\\u")),
        Err(failure) => assert!(failure.status == Status::Config && failure.message.contains("expected"), "{failure}"),
    }
});

/// `masked`: no secret can hold the mask itself, so what is shown holds no secret.
fn check(config: &Config, masked: bool) {
    let mut names = HashSet::new();
    for Server { name, path, state } in &config.servers {
        assert!(names.insert(name), "two servers are called {name:?}");
        // Only a server without a name can stand nowhere.
        assert!(!path.is_empty() || name.is_empty());
        if let State::Failed { path, reason } = state {
            assert!(!path.is_empty() || name.is_empty());
            assert!(!reason.is_empty());
        }
    }
    let shown: Value = serde_json::from_str(&config.document(false)).expect("the document is JSON");
    let all: Value = serde_json::from_str(&config.document(true)).expect("the document is JSON");
    for document in [&shown, &all] {
        let count = |key: &str| document[key].as_object().expect("an object").len();
        assert_eq!(count("servers") + count("failed"), config.servers.len());
    }
    if !masked {
        return;
    }
    for server in shown["servers"].as_object().into_iter().flat_map(|servers| servers.values()) {
        for key in ["command", "url", "env", "headers", "cwd", "envFile"] {
            assert_masked(config, &server[key]);
        }
    }
    assert_masked(config, &shown["failed"]);
    assert_masked(config, &shown["warnings"]);
}

/// No text in `value` holds a secret.
fn assert_masked(config: &Config, value: &Value) {
    match value {
        Value::String(text) => assert_eq!(config.secrets.mask(text), text.as_str(), "a secret is shown"),
        Value::Array(elements) => elements.iter().for_each(|element| assert_masked(config, element)),
        Value::Object(members) => members.values().for_each(|member| assert_masked(config, member)),
        _ => {}
    }
}
