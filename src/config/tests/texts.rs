//! What can be read at all, and where the servers stand in it.

use super::*;
use crate::outcome::{Failure, Phase, Status};

fn failure(text: &str) -> Failure {
    let failure = parse(text, &Options::default(), &host()).expect_err(text);
    assert_eq!((failure.status, failure.phase), (Status::Config, Some(Phase::Config)), "{text:.80}");
    failure
}

fn names(config: &Config) -> Vec<&str> {
    config.servers.iter().map(|server| server.name.as_str()).collect()
}

#[test]
fn text_begins_with_a_brace_after_what_does_not_count() {
    let body = r#"{"mcpServers":{"a":{"command":"x",},},/*c*/}"#;
    for before in ["", "\u{feff}", " \t\r\n", "// one\n// two\r\n", "/* a { */ /* b */", "\u{feff}//x\n /**/ "] {
        let config = config(&format!("{before}{body}// end"));
        assert_eq!(names(&config), ["a"], "{before:?}");
        assert_eq!(config.warnings, [""; 0]);
    }
}

#[test]
fn a_path_is_read() {
    let folder = Folder::new("path");
    for (name, before) in
        [("plain.json", ""), ("bom.json", "\u{feff}"), ("comment.json", "// c\n"), ("a \" b.json", "")]
    {
        let path = folder.file(name, format!("{before}{{\"servers\":{{\"a\":{{\"command\":\"x\"}}}}}}").as_bytes());
        assert_eq!(names(&config(&path)), ["a"]);
    }
}

#[test]
fn what_cannot_be_read_is_told_with_its_place() {
    for (text, place) in [
        ("{\"a\": }", "config, line 1, column 7: expected a value"),
        ("{\n  \"ä\" 1}", "config, line 2, column 7: expected a colon"),
        ("{\"a\": 1 \"b\": 2}", "config, line 1, column 8: expected a comma"),
        ("{\"a\": 1", "config, line 1, column 1: expected a } for the {"),
        ("{\"a\":\r\n [1", "config, line 2, column 2: expected a ] for the ["),
        ("{a: 1}", "line 1, column 2: expected a key in double quotes"),
        ("{'a': 1}", "line 1, column 2: expected double quotes"),
        ("{\"a\": \"x}", "line 1, column 7: expected a closing \""),
        ("{\"a\": \"\\x\"}", "line 1, column 8: expected an escape"),
        ("{\"a\": \"\\ud800\"}", "expected an escape"),
        ("{\"a\": 0x10}", "expected a number"),
        ("{\"a\": nope}", "line 1, column 7: expected a value"),
        ("{} {}", "line 1, column 4: expected nothing more"),
        ("{ /* ", "line 1, column 3: expected a */"),
        ("{\"mcpServers\": [1]}", "line 1, column 16: expected an object of servers under mcpServers"),
        ("{\n\"mcp\": {\"servers\": 1}, \"mcp\": 2}", "line 2, column 31: expected an object of servers under mcp"),
    ] {
        let message = failure(text).message;
        assert!(message.contains(place), "{text}: {message}");
    }
}

#[test]
fn what_cannot_be_read_in_a_file_is_told_with_the_file() {
    let folder = Folder::new("broken");
    for (name, content, place) in [
        ("comma.json", &b"{\n\n \"a\": 1 2}"[..], "line 3, column 8: expected a comma"),
        ("array.json", b"// c\n[1]", "line 2, column 1: expected an object"),
        ("empty.json", b"", "line 1, column 1: expected an object"),
        ("latin.json", b"{\n\"\xe4\": 1}", "line 2, column 2: expected UTF-8"),
    ] {
        let path = folder.file(name, content);
        let message = failure(&path).message;
        assert!(message.starts_with(&format!("{path}, {place}")), "{message}");
    }
    let missing = folder.0.join("missing.json");
    let missing = missing.to_str().expect("a path in UTF-8");
    assert!(failure(missing).message.starts_with(&format!("{missing}: ")));
    assert!(failure(missing).message.contains("expected JSON text that begins with {, or the path"));
}

#[test]
fn what_is_no_path_is_not_repeated() {
    for text in ["", "\"TOKEN\": \"hunter22\"}", "TOKEN=hunter22\n", "hunter22\0", &"hunter22".repeat(1000)] {
        let message = failure(text).message;
        assert!(message.contains("line 1, column 1: expected JSON text"), "{message:.200}");
        assert!(!message.contains("hunter22"));
    }
}

#[test]
fn deep_text_is_refused_before_it_is_parsed() {
    let quiet = format!(r#"{{"a":{{"command":"x","description":"{}"}}}} // {}"#, "[".repeat(1000), "{".repeat(1000));
    assert_eq!(names(&config(&quiet)), ["a"]);
    let quiet = format!(r#"{{/*{}*/"a":{{"command":"\"{}"}}}}"#, "[".repeat(1000), "[".repeat(1000));
    assert_eq!(names(&config(&quiet)), ["a"]);
    for opening in ["[", "{\"a\":", "[{\"a\":"] {
        let text = format!("{{\"a\":{}", opening.repeat(100_000));
        assert!(failure(&text).message.contains("expected at most 64 values inside each other"));
    }
    let folder = Folder::new("deep");
    assert!(failure(&folder.file("deep.json", &b"[".repeat(100_000))).message.contains("column 65"));
}

#[test]
fn servers_stand_in_one_of_these_places() {
    let entry = r#"{"a":{"command":"x"}}"#;
    for (text, path) in [
        (format!(r#"{{"mcp":{{"servers":{entry},"inputs":[]}}}}"#), "mcp.servers.a"),
        (format!(r#"{{"mcpServers":{entry}}}"#), "mcpServers.a"),
        (format!(r#"{{"servers":{entry}}}"#), "servers.a"),
        (format!(r#"{{"mcp":{entry}}}"#), "mcp.a"),
        (format!(r#"{{"context_servers":{entry}}}"#), "context_servers.a"),
        (entry.to_owned(), "a"),
        // The first found counts, in this order and not in that of the file.
        (format!(r#"{{"mcpServers":{{"b":{{}}}},"mcp":{{"servers":{entry}}}}}"#), "mcp.servers.a"),
        (format!(r#"{{"context_servers":{{}},"mcp":{{}},"servers":{{}},"mcpServers":{entry}}}"#), "mcpServers.a"),
        (format!(r#"{{"context_servers":{{}},"mcp":{{}},"servers":{entry}}}"#), "servers.a"),
        (format!(r#"{{"context_servers":{{}},"mcp":{entry}}}"#), "mcp.a"),
        (format!(r#"{{"mcp":true,"context_servers":{entry}}}"#), "context_servers.a"),
    ] {
        let config = config(&text);
        let paths: Vec<&str> = config.servers.iter().map(|server| server.path.as_str()).collect();
        assert_eq!(paths, [path], "{text}");
        assert!(matches!(config.servers[0].state, State::Enabled(_)), "{text}");
        assert_eq!(config.warnings, [""; 0], "{text}");
    }
}

#[test]
fn reserved_keys_are_no_servers_at_the_top() {
    let reserved = r#""builtins":{},"agents":{},"a2a":{},"mcpServer":{},"$schema":"x","inputs":[]"#;
    let top = config(&format!(r#"{{{reserved},"a":{{"command":"x"}},"b":7}}"#));
    assert_eq!(names(&top), ["a", "b"]);
    assert!(matches!(&top.servers[1].state, State::Failed { path, .. } if path == "b"));
    assert_eq!(names(&config(r#"{"mcpServers":{"agents":{"command":"x"}}}"#)), ["agents"]);
}

#[test]
fn no_servers_is_a_config_too() {
    for text in ["{}", r#"{"mcpServers":{}}"#, r#"{"$schema":"x"}"#] {
        let config = config(text);
        assert_eq!((config.servers.len(), config.warnings.len()), (0, 0));
        assert_eq!(config.document(false), r#"{"servers":{},"failed":{},"warnings":[]}"#);
    }
}

#[test]
fn order_is_kept_and_the_last_of_a_name_counts() {
    let text = r#"{"mcpServers":{"z":{"command":"1"},"a":{"command":"2"},"z":{"command":"3"},"m":{"command":"4"}}}"#;
    let config = config(text);
    assert_eq!(names(&config), ["a", "z", "m"]);
    assert_eq!(config.warnings, ["mcpServers.z is given more than once; the last one counts"]);
    assert_eq!(document(&config, false)["servers"]["z"]["command"][0], "3");
}

#[test]
fn a_bad_entry_fails_alone() {
    let text = r#"{"mcpServers":{"bad":{"timeout":"x","command":"x"},"none":null,"good":{"command":"x"},"":{"url":"http://x"}}}"#;
    let config = config(text);
    assert_eq!(names(&config), ["bad", "none", "good", ""]);
    let document = document(&config, false);
    assert_eq!(document["servers"].as_object().map(|it| it.keys().collect::<Vec<_>>()), Some(vec![&"good".to_owned()]));
    assert_eq!(document["failed"]["bad"]["path"], "mcpServers.bad.timeout");
    assert!(document["failed"]["bad"]["reason"].as_str().is_some_and(|it| it.contains("milliseconds")));
    assert_eq!(document["failed"]["none"]["path"], "mcpServers.none");
    assert_eq!(document["failed"][""]["path"], "mcpServers.");
}
