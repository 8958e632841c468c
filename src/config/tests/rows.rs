//! The keys of an entry, row by row.

use std::path::Path;
use std::time::Duration;

use super::*;

#[track_caller]
fn fails(entry: &str, path: &str, reason: &str) {
    let config = one(entry);
    let (found_path, found_reason) = failed(&config);
    assert_eq!(found_path, path, "{entry}: {found_reason}");
    assert!(found_reason.contains(reason), "{entry}: {found_reason}");
}

#[track_caller]
fn warns(config: &Config, parts: &[&str]) {
    let [warning] = config.warnings.as_slice() else { panic!("{:?}", config.warnings) };
    assert!(parts.iter().all(|part| warning.contains(part)), "{warning}");
}

#[test]
fn command_and_args() {
    for (entry, expected) in [
        (r#""command":"x""#, &["x"][..]),
        (r#""command":["x"]"#, &["x"]),
        (r#""command":["x","a b",1.0,true]"#, &["x", "a b", "1.0", "true"]),
        (r#""command":["x","a"],"args":["b"]"#, &["x", "a", "b"]),
        (r#""command":"x","args":[]"#, &["x"]),
        (
            r#""command":"x","args":["-n",8080,1.0,1e3,-0,false,""]"#,
            &["x", "-n", "8080", "1.0", "1e3", "-0", "false", ""],
        ),
        (r#""command":"my program","args":[]"#, &["my program"]),
        (r#""command":["my program"]"#, &["my program"]),
    ] {
        let config = one(entry);
        assert_eq!(argv(&config), expected, "{entry}");
        assert_eq!(config.warnings, [""; 0]);
    }
    fails(r#""command":"npx -y server""#, "mcpServers.s.command", "put arguments in args");
    fails(r#""command":"npx\t-y","args":null"#, "mcpServers.s.command", "put arguments in args");
    fails(r#""command":"""#, "mcpServers.s.command", "name of a program");
    fails(r#""command":[]"#, "mcpServers.s.command", "name of a program");
    fails(r#""command":[""]"#, "mcpServers.s.command", "name of a program");
    fails(r#""command":7"#, "mcpServers.s.command", "expected text, or an array");
    fails(r#""command":["x",{}]"#, "mcpServers.s.command[1]", "expected text");
    fails(r#""command":"x","args":"a""#, "mcpServers.s.args", "expected an array");
    fails(r#""command":"x","args":["a",null]"#, "mcpServers.s.args[1]", "expected text");
    fails(r#""command":"x","args":[["a"]]"#, "mcpServers.s.args[0]", "expected text");
    fails(r#""command":"x","args":["a\u0000"]"#, "mcpServers.s.args[0]", "NUL");
}

#[test]
fn urls() {
    for key in ["url", "httpUrl", "serverUrl", "baseUrl"] {
        let config = one(&format!(r#""{key}":"HTTPS://host:1/x?y#z""#));
        assert_eq!(http(&config), ("HTTPS://host:1/x?y#z", &[][..], false));
        assert_eq!(config.warnings, [""; 0]);
        for bad in ["7", "\"\"", "\"ftp://x\"", "\"http://\"", "\"http:///x\"", "\"http://a b\"", "\"host/x\"", "[]"] {
            fails(&format!(r#""{key}":{bad}"#), &format!("mcpServers.s.{key}"), "expected");
        }
    }
    let both = one(r#""baseUrl":"http://b","httpUrl":"http://a""#);
    assert_eq!(http(&both).0, "http://a");
    warns(&both, &["mcpServers.s.baseUrl", "httpUrl"]);
}

#[test]
fn types() {
    for key in ["type", "transport", "transportType"] {
        for name in ["local", "stdio", "STDIO", "Std-Io", "lo_cal"] {
            let config = one(&format!(r#""{key}":"{name}","command":"x""#));
            assert_eq!((argv(&config), config.warnings.len()), (&["x".to_owned()][..], 0));
        }
        for (name, sse) in [
            ("remote", false),
            ("http", false),
            ("streamableHttp", false),
            ("streamable-http", false),
            ("STREAMABLE_HTTP", false),
            ("sse", true),
            ("S-S-E", true),
        ] {
            let config = one(&format!(r#""{key}":"{name}","url":"http://x""#));
            assert_eq!((http(&config), config.warnings.len()), (("http://x", &[][..], sse), 0));
        }
        for bad in ["\"ws\"", "\"\"", "7", "{}"] {
            fails(&format!(r#""{key}":{bad},"url":"http://x""#), &format!("mcpServers.s.{key}"), "\"sse\"");
        }
    }
    let both = r#""command":"x","url":"http://x""#;
    let local = one(&format!(r#"{both},"type":"stdio""#));
    assert_eq!(argv(&local), ["x"]);
    warns(&local, &["mcpServers.s", "both command and url"]);
    let remote = one(&format!(r#"{both},"type":"sse""#));
    assert_eq!(http(&remote), ("http://x", &[][..], true));
    warns(&remote, &["mcpServers.s", "both command and url"]);
    fails(both, "mcpServers.s", "both command and url");
    fails("", "mcpServers.s", "expected a command");
    fails(r#""type":"stdio","url":"http://x""#, "mcpServers.s.command", "expected a command");
    fails(r#""type":"http","command":"x""#, "mcpServers.s.url", "expected a URL");
}

#[test]
fn env() {
    for key in ["env", "environment"] {
        let config = one(&format!(r#""command":"x","{key}":{{"A":"text","B":1.50,"C":true,"HOME":null,"E":""}}"#));
        for (name, value) in
            [("A", Some("text")), ("B", Some("1.50")), ("C", Some("true")), ("HOME", None), ("E", Some(""))]
        {
            assert_eq!(variable(&config, name), value, "{name}");
        }
        assert_eq!(variable(&config, "PATH"), Some("/bin"));
        assert_eq!(variable(&config, "GITHUB_TOKEN"), None);
        match &server(&config).transport {
            Transport::Stdio { withheld, .. } => assert_eq!(withheld, &["HOME", "TOKEN", "PORT", "GITHUB_TOKEN"]),
            Transport::Http { .. } => panic!("remote"),
        }
        fails(&format!(r#""command":"x","{key}":[]"#), &format!("mcpServers.s.{key}"), "expected an object");
        fails(&format!(r#""command":"x","{key}":{{"A":{{}}}}"#), &format!("mcpServers.s.{key}.A"), "expected text");
        fails(&format!(r#""command":"x","{key}":{{"A=B":""}}"#), &format!("mcpServers.s.{key}.A=B"), "name");
        fails(&format!(r#""command":"x","{key}":{{"":""}}"#), &format!("mcpServers.s.{key}."), "name");
        fails(&format!(r#""command":"x","{key}":{{"A":"\u0000"}}"#), &format!("mcpServers.s.{key}.A"), "NUL");
    }
    let both = one(r#""command":"x","environment":{"A":"1"},"env":{"A":"2"}"#);
    assert_eq!(variable(&both, "A"), Some("2"));
    warns(&both, &["mcpServers.s.environment", "env"]);
    let twice = one(r#""command":"x","env":{"A":"1","A":"2"}"#);
    assert_eq!(variable(&twice, "A"), Some("2"));
    warns(&twice, &["mcpServers.s.env.A", "more than once"]);
}

#[test]
fn env_file() {
    let folder = Folder::new("env-file");
    folder.file("my.env", b"# c\nA=file\nB='two words'\nnonsense\nPATH=/file\nHOME=/file\n");
    let text = r#"{"s":{"command":"x","envFile":"my.env","env":{"A":"own","HOME":null}}}"#;
    let config = config(&folder.file("mcp.json", text.as_bytes()));
    for (name, value) in [("A", Some("own")), ("B", Some("two words")), ("PATH", Some("/file")), ("HOME", None)] {
        assert_eq!(variable(&config, name), value, "{name}");
    }
    warns(&config, &["s.envFile: line 4 of my.env"]);
    assert_eq!(document(&config, false)["servers"]["s"]["envFile"], "my.env");

    let absolute = one(&format!(r#""command":"x","envFile":"{}/my.env""#, folder.0.display()));
    assert_eq!(variable(&absolute, "B"), Some("two words"));
    folder.file("latin.env", b"A=\xe4");
    for name in ["missing.env", "latin.env", "."] {
        let entry = format!(r#""command":"x","envFile":"{}/{name}""#, folder.0.display());
        fails(&entry, "mcpServers.s.envFile", &format!("{}/{name}", folder.0.display()));
    }
    fails(r#""command":"x","envFile":7"#, "mcpServers.s.envFile", "expected text");
    fails(r#""command":"x","envFile":"${NOPE}/x""#, "mcpServers.s.envFile", "NOPE");
}

#[test]
fn inherit_env() {
    let value = |option: &str, entry: &str, name: &str| {
        let text = format!(r#"{{"s":{{"command":"x"{entry}}}}}"#);
        let config = config_with(&text, &options(option));
        variable(&config, name).map(str::to_owned)
    };
    assert_eq!(value("{}", "", "TOKEN"), None);
    assert_eq!(value("{}", r#","inheritEnv":false"#, "TOKEN"), None);
    assert_eq!(value("{}", r#","inheritEnv":true"#, "TOKEN").as_deref(), Some("hunter22"));
    assert_eq!(value("{}", r#","inheritEnv":["TOKEN"]"#, "TOKEN").as_deref(), Some("hunter22"));
    assert_eq!(value("{}", r#","inheritEnv":["TOKEN"]"#, "PORT"), None);
    assert_eq!(value("{}", r#","inheritEnv":[]"#, "PATH").as_deref(), Some("/bin"));
    assert_eq!(value(r#"{"inheritEnv":true}"#, "", "TOKEN").as_deref(), Some("hunter22"));
    assert_eq!(value(r#"{"inheritEnv":["PORT"]}"#, "", "PORT").as_deref(), Some("80"));
    // The server's own counts.
    assert_eq!(value(r#"{"inheritEnv":true}"#, r#","inheritEnv":false"#, "TOKEN"), None);
    assert_eq!(value(r#"{"inheritEnv":["PORT"]}"#, r#","inheritEnv":["TOKEN"]"#, "PORT"), None);
    fails(r#""command":"x","inheritEnv":"TOKEN""#, "mcpServers.s.inheritEnv", "array of names");
    fails(r#""command":"x","inheritEnv":["A",1]"#, "mcpServers.s.inheritEnv[1]", "expected text");
}

#[test]
fn cwd() {
    for (written, expected) in [("sub", "sub"), ("/abs", "/abs"), ("${HOME}/x", "/home/me/x")] {
        let config = one(&format!(r#""command":"x","cwd":"{written}""#));
        let Transport::Stdio { cwd, .. } = &server(&config).transport else { panic!("remote") };
        assert_eq!(cwd.as_deref(), Some(Path::new(expected)));
    }
    fails(r#""command":"x","cwd":1"#, "mcpServers.s.cwd", "expected text");
    fails(r#""command":"x","cwd":"""#, "mcpServers.s.cwd", "expected a folder");
    fails(r#""command":"x","cwd":"${NOPE}""#, "mcpServers.s.cwd", "NOPE");
}

#[test]
fn headers() {
    let config = one(r#""url":"http://x","headers":{"X-A":"Bearer ${TOKEN}","N":1,"Gone":null,"n":true}"#);
    let expected = [("X-A".to_owned(), "Bearer hunter22".to_owned()), ("n".to_owned(), "true".to_owned())];
    assert_eq!(http(&config).1, expected);
    warns(&config, &["mcpServers.s.headers.n", "different cases"]);
    fails(r#""url":"http://x","headers":["X: y"]"#, "mcpServers.s.headers", "expected an object");
    fails(r#""url":"http://x","headers":{"X":[]}"#, "mcpServers.s.headers.X", "expected text");
    fails(r#""url":"http://x","headers":{"X:":""}"#, "mcpServers.s.headers.X:", "name of a header");
    fails(r#""url":"http://x","headers":{"X":"a\r\nY: b"}"#, "mcpServers.s.headers.X", "line breaks");
}

#[test]
fn enabled() {
    for (keys, expected) in [
        ("", true),
        (r#","enabled":true"#, true),
        (r#","enabled":false"#, false),
        (r#","isActive":true"#, true),
        (r#","isActive":false"#, false),
        (r#","disabled":true"#, false),
        (r#","disabled":false"#, true),
        (r#","disabled":true,"enabled":true"#, false),
        (r#","disabled":true,"isActive":true"#, false),
        (r#","disabled":false,"enabled":false"#, false),
        (r#","disabled":null,"enabled":null"#, true),
    ] {
        let config = one(&format!(r#""command":"x"{keys}"#));
        assert_eq!(server(&config).enabled, expected, "{keys}");
        assert_eq!(matches!(config.servers[0].state, State::Enabled(_)), expected, "{keys}");
        assert_eq!(document(&config, false)["servers"]["s"]["enabled"], expected);
    }
    for key in ["enabled", "isActive", "disabled"] {
        fails(&format!(r#""command":"x","{key}":"yes""#), &format!("mcpServers.s.{key}"), "true or false");
    }
    // What is switched off cannot fail.
    let off = one(r#""command":"x","disabled":true,"args":["${NOPE}"]"#);
    assert!(matches!(off.servers[0].state, State::Disabled(None)));
    warns(&off, &["mcpServers.s.args[0]", "NOPE", "disabled"]);
    assert_eq!(document(&off, false)["servers"]["s"].to_string(), r#"{"enabled":false}"#);
}

#[test]
fn times() {
    let ms = Duration::from_millis;
    for (keys, timeout, call_timeout, warnings) in [
        (r#""command":"x""#, ms(60_000), ms(300_000), 0),
        (r#""url":"http://x""#, ms(30_000), ms(300_000), 0),
        (r#""url":"http://x","timeout":5000"#, ms(5000), ms(5000), 0),
        (r#""url":"http://x","callTimeout":5000"#, ms(30_000), ms(5000), 0),
        (r#""command":"x","timeout":2000,"callTimeout":5000"#, ms(2000), ms(5000), 0),
        (r#""command":"x","timeout":1"#, ms(1000), ms(1000), 1),
        (r#""command":"x","timeout":999"#, ms(999_000), ms(999_000), 1),
        (r#""command":"x","timeout":1000"#, ms(1000), ms(1000), 0),
        (r#""command":"x","timeout":1.5,"callTimeout":60"#, ms(1500), ms(60_000), 2),
        (r#""command":"x","timeout":6e4"#, ms(60_000), ms(60_000), 0),
        (r#""command":"x","timeout":99999999999999999999"#, ms(u32::MAX.into()), ms(u32::MAX.into()), 0),
        (r#""command":"x","timeout":1e999"#, ms(u32::MAX.into()), ms(u32::MAX.into()), 0),
        (r#""command":"x","timeout":null"#, ms(60_000), ms(300_000), 0),
    ] {
        let config = one(keys);
        assert_eq!((server(&config).timeout, server(&config).call_timeout), (timeout, call_timeout), "{keys}");
        assert_eq!(config.warnings.len(), warnings, "{keys}");
    }
    warns(&one(r#""command":"x","callTimeout":30"#), &["mcpServers.s.callTimeout", "30 seconds", "30000"]);
    for key in ["timeout", "callTimeout"] {
        for bad in ["0", "-1", "-1e999", "0.5", "\"30000\"", "true", "[]", "{}"] {
            fails(&format!(r#""command":"x","{key}":{bad}"#), &format!("mcpServers.s.{key}"), "milliseconds above 0");
        }
    }
}

#[test]
fn tools() {
    for (keys, allowed, unknown, shown) in [
        ("", "abc", "", "null"),
        (r#","tools":{"a":true,"b":true}"#, "ab", "", r#"{"a":true,"b":true}"#),
        (r#","tools":{"a":true,"b":false}"#, "a", "", r#"{"a":true,"b":false}"#),
        (r#","tools":{"b":false,"x":false}"#, "ac", "x", r#"{"b":false,"x":false}"#),
        (r#","tools":{}"#, "abc", "", "null"),
        (r#","tools":{"*":true,"b":false}"#, "ac", "", r#"{"b":false}"#),
        (r#","tools":{"*":false,"b":true}"#, "b", "", r#"{"b":true}"#),
        (r#","tools":{"*":false}"#, "", "", r#"{"*":false}"#),
        (r#","tools":["a","x","y"]"#, "a", "xy", r#"{"a":true,"x":true,"y":true}"#),
        (r#","tools":["*"]"#, "abc", "", "null"),
        (r#","tools":[]"#, "", "", "[]"),
        (r#","includeTools":["a","b"]"#, "ab", "", r#"{"a":true,"b":true}"#),
        (r#","includeTools":["*"]"#, "abc", "", "null"),
        (r#","excludeTools":["a","x"]"#, "bc", "x", r#"{"a":false,"x":false}"#),
        (r#","disabledTools":["b"]"#, "ac", "", r#"{"b":false}"#),
        (r#","excludeTools":["*"]"#, "", "", r#"{"*":false}"#),
        (
            r#","includeTools":["a","b"],"excludeTools":["b"],"disabledTools":["c"]"#,
            "a",
            "",
            r#"{"a":true,"b":true,"b":false,"c":false}"#,
        ),
        (r#","tools":["a","b"],"includeTools":["b","c"]"#, "b", "", r#"{"b":true}"#),
        (r#","includeTools":["a"],"excludeTools":["a"]"#, "", "", "[]"),
    ] {
        let config = one(&format!(r#""command":"x"{keys}"#));
        let filter = &server(&config).filter;
        let names = ["a", "b", "c"];
        assert_eq!(names.into_iter().filter(|name| filter.allows(name)).collect::<String>(), allowed, "{keys}");
        assert_eq!(filter.unknown(&names).concat(), unknown, "{keys}");
        let expected: Value = serde_json::from_str(shown).expect("JSON");
        assert_eq!(document(&config, false)["servers"]["s"]["tools"], expected, "{keys}");
        assert_eq!(config.warnings, [""; 0]);
    }
    fails(r#""command":"x","tools":true"#, "mcpServers.s.tools", "array of tool names, or an object");
    fails(r#""command":"x","tools":{"a":"yes"}"#, "mcpServers.s.tools.a", "true or false");
    for key in ["tools", "includeTools", "excludeTools", "disabledTools"] {
        fails(&format!(r#""command":"x","{key}":["a",1]"#), &format!("mcpServers.s.{key}[1]"), "expected text");
        fails(&format!(r#""command":"x","{key}":"a""#), &format!("mcpServers.s.{key}"), "expected an array");
    }
}

#[test]
fn lifecycle_and_restart() {
    let host_options = options(r#"{"lifecycle":"discover","restart":{"max":7,"backoffMs":50}}"#);
    let read = |entry: &str, options: &Options| {
        let config = config_with(&format!(r#"{{"s":{{"command":"x"{entry}}}}}"#), options);
        (server(&config).lifecycle, server(&config).restart)
    };
    let restart = |max, ms| Restart { max, backoff: Duration::from_millis(ms) };
    assert_eq!(read("", &Options::default()), (Lifecycle::Auto, restart(3, 200)));
    assert_eq!(read("", &host_options), (Lifecycle::Discover, restart(7, 50)));
    for (name, lifecycle) in
        [("auto", Lifecycle::Auto), ("initialize", Lifecycle::Initialize), ("discover", Lifecycle::Discover)]
    {
        assert_eq!(read(&format!(r#","lifecycle":"{name}""#), &host_options).0, lifecycle);
    }
    assert_eq!(read(r#","restart":{"max":0}"#, &host_options).1, restart(0, 50));
    assert_eq!(
        read(r#","restart":{"max":1e99,"backoffMs":1e999}"#, &host_options).1,
        restart(u32::MAX, u32::MAX.into())
    );
    fails(
        r#""command":"x","lifecycle":"Modern""#,
        "mcpServers.s.lifecycle",
        "\"auto\", \"initialize\" or \"discover\"",
    );
    fails(r#""command":"x","lifecycle":1"#, "mcpServers.s.lifecycle", "\"auto\"");
    fails(r#""command":"x","restart":true"#, "mcpServers.s.restart", "max and backoffMs");
    fails(r#""command":"x","restart":{"max":-1}"#, "mcpServers.s.restart.max", "whole number");
    fails(r#""command":"x","restart":{"backoffMs":0.5}"#, "mcpServers.s.restart.backoffMs", "whole number");
    let unknown = one(r#""command":"x","restart":{"backoff":1}"#);
    warns(&unknown, &["mcpServers.s.restart.backoff ", "backoffMs"]);
}

#[test]
fn auth() {
    for key in ["auth", "oauth"] {
        let config = one(&format!(r#""url":"http://x","{key}":{{"clientId":"id","scopes":["a"],"n":1.5}}"#));
        let expected = serde_json::json!({"clientId": "id", "scopes": ["a"], "n": 1.5});
        assert_eq!(server(&config).auth.as_ref(), Some(&expected));
        assert_eq!(document(&config, false)["servers"]["s"]["auth"], expected);
        fails(&format!(r#""url":"http://x","{key}":"oauth""#), &format!("mcpServers.s.{key}"), "expected an object");
    }
    assert_eq!(server(&one(r#""url":"http://x""#)).auth, None);
}

#[test]
fn other_keys() {
    let silent = r#""command":"x","alwaysAllow":[],"autoApprove":1,"trust":true,"description":"","watchPaths":0,
                    "dev":{},"gallery":1,"disabledReason":"y""#;
    assert_eq!(one(silent).warnings, [""; 0]);
    for (key, meant) in [
        ("headersHelper", "headers"),
        ("comand", "command"),
        ("Args", "args"),
        ("timeOut", "timeout"),
        ("callTimeoutMs", "callTimeout"),
        ("excludedTools", "excludeTools"),
        ("env_file", "envFile"),
    ] {
        let config = one(&format!(r#""command":"x","{key}":null"#));
        let meant = format!("did you mean {meant}?");
        warns(&config, &[&format!("mcpServers.s.{key} "), meant.as_str()]);
    }
    warns(&one(r#""command":"x","command":"y""#), &["mcpServers.s.command", "more than once"]);
}

#[test]
fn expansion_reaches_these_keys() {
    let options = options(r#"{"inputs":{"id":"typed"},"workspaceFolder":"/work"}"#);
    let text = r#"{"s":{"command":"${HOME}/bin","args":["${TOKEN}","${NOPE:-d}","${env:PORT}","{env:PORT}","${userHome}${/}",
                   "${workspaceFolder}","${input:id}","$${TOKEN}","${1}"],"env":{"A":"${TOKEN}"},"cwd":"${HOME}"}}"#;
    let config = config_with(text, &options);
    let expected = ["/home/me/bin", "hunter22", "d", "80", "80", "/home/me/", "/work", "typed", "${TOKEN}", "${1}"];
    assert_eq!(argv(&config), expected);
    assert_eq!(variable(&config, "A"), Some("hunter22"));
    assert_eq!(config.warnings, [""; 0]);
    assert_eq!(argv(&one(r#""command":["${HOME}","${TOKEN}","${2}"]"#)), ["/home/me", "hunter22", "${2}"]);
    let remote = one(r#""url":"http://h:${PORT}/","headers":{"A":"{env:TOKEN}"}"#);
    assert_eq!((http(&remote).0, http(&remote).1[0].1.as_str()), ("http://h:80/", "hunter22"));
    // Nowhere else.
    assert_eq!(server(&one(r#""command":"x","auth":{"a":"${TOKEN}"}"#)).auth.as_ref().expect("auth")["a"], "${TOKEN}");
}

#[test]
fn what_is_not_set() {
    let env = one(r#""command":"x","env":{"A":"x${NOPE}","PATH":"${NOPE}","B":"b"}"#);
    assert_eq!((variable(&env, "A"), variable(&env, "PATH"), variable(&env, "B")), (None, Some("/bin"), Some("b")));
    assert_eq!(env.warnings.len(), 2);
    assert!(env.warnings[0].contains("mcpServers.s.env.A ") && env.warnings[0].contains("NOPE"));
    let headers = one(r#""url":"http://x","headers":{"A":"Bearer ${NOPE}"}"#);
    assert_eq!(http(&headers).1, []);
    warns(&headers, &["mcpServers.s.headers.A ", "NOPE"]);
    fails(r#""command":"${NOPE}""#, "mcpServers.s.command", "NOPE");
    fails(r#""command":"x","args":["a","${NOPE}"]"#, "mcpServers.s.args[1]", "NOPE");
    fails(r#""command":"x","args":["${workspaceFolder}"]"#, "mcpServers.s.args[0]", "workspaceFolder");
    fails(r#""url":"http://${NOPE}""#, "mcpServers.s.url", "NOPE");
    for (placeholder, named) in
        [("${file:/x}", "${file:/x}"), ("{file:x}", "{file:x}"), ("${input:nope}", "input:nope")]
    {
        fails(&format!(r#""command":"{placeholder}""#), "mcpServers.s.command", named);
        fails(&format!(r#""command":"x","args":["{placeholder}"]"#), "mcpServers.s.args[0]", named);
        fails(&format!(r#""command":"x","env":{{"A":"{placeholder}"}}"#), "mcpServers.s.env.A", named);
        fails(&format!(r#""url":"http://x","headers":{{"A":"{placeholder}"}}"#), "mcpServers.s.headers.A", named);
        fails(&format!(r#""url":"http://{placeholder}""#), "mcpServers.s.url", named);
    }
}

#[test]
fn a_bare_dollar_stays_with_a_warning() {
    let config = one(r#""command":"sh","args":["-c","echo $HOME ${1}"]"#);
    assert_eq!(argv(&config)[2], "echo $HOME ${1}");
    warns(&config, &["mcpServers.s.args[1]", "$HOME", "${HOME}"]);
    // What may be a piece of a password is not told.
    let config = one(r#""command":"x","env":{"PASSWORD":"a$bcde"}"#);
    assert_eq!(variable(&config, "PASSWORD"), Some("a$bcde"));
    assert!(!config.warnings[0].contains("bcde") && config.warnings[0].contains("mcpServers.s.env.PASSWORD"));
}

#[test]
fn the_document() {
    let config = one(r#""command":"x","args":["${PORT}"],"env":{"A":"1","B":null},"cwd":"d","inheritEnv":["T"]"#);
    let expected = r#"{"servers":{"s":{"type":"stdio","command":["x","${PORT}"],"env":{"A":"1","B":null},"inheritEnv":["T"],"cwd":"d","enabled":true,"timeout":60000,"callTimeout":300000,"lifecycle":"auto","restart":{"max":3,"backoffMs":200}}},"failed":{},"warnings":[]}"#;
    assert_eq!(config.document(false), expected);
    let remote = one(r#""serverUrl":"http://x","headers":{"A":"1"},"type":"sse""#);
    let expected = r#"{"servers":{"s":{"type":"sse","url":"http://x","headers":{"A":"1"},"enabled":true,"timeout":30000,"callTimeout":300000,"lifecycle":"auto","restart":{"max":3,"backoffMs":200}}},"failed":{},"warnings":[]}"#;
    assert_eq!(remote.document(false), expected);
}
