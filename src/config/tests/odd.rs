//! Whatever a file may hold: it is read or refused, and never anything else.

use super::*;

const SAMPLES: &[&str] = &[
    r#"{"mcpServers":{"a":{"command":"npx","args":["-y","x@1",1.0,true],"env":{"A":"${TOKEN:-x}","B":null},"timeout":30}}}"#,
    r#"// c
    {"servers":{"r":{"type":"streamable-http","url":"https://u:p@h/${PORT}","headers":{"A":"Bearer {env:TOKEN}",},},}, /* d */ }"#,
    r#"{"mcp":{"servers":{"t":{"command":["sh","-c","$HOME $${X} ${1}"],"tools":{"a":true,"*":false},"restart":{"max":1e9}}}}}"#,
    r#"{"x":{"serverUrl":"http://[::1]:1","excludeTools":["*"],"oauth":{"s":{"t":[{}]}},"lifecycle":"auto","cwd":"ü\ud83d\ude00"}}"#,
];

/// Parses, and makes everything that is made of a config; the document must be JSON.
fn survive(text: &str) {
    match parse(text, &Options::default(), &host()) {
        Ok(config) => {
            for secrets in [true, false] {
                let document = document(&config, secrets);
                let count = |key: &str| document[key].as_object().map_or(0, serde_json::Map::len);
                assert_eq!(count("servers") + count("failed"), config.servers.len(), "{text}");
            }
            config.servers.iter().filter_map(Server::config).for_each(|config| drop(config.shown()));
        }
        Err(failure) => assert_eq!(failure.status, crate::outcome::Status::Config, "{text}"),
    }
}

#[test]
fn odd_texts() {
    for text in [
        "",
        "{",
        "}",
        "{}",
        "[]",
        "null",
        "\u{feff}",
        "\u{feff}{",
        "//",
        "/*",
        "/**/",
        "/",
        "\0",
        "{\0}",
        "{\"",
        "{\"\\",
        "{\"\\u",
        "{\"\\ud83d\\",
        "{\"a\":-",
        "{\"a\":1e",
        "{\"a\":.5}",
        "{,}",
        "{\"a\",}",
        "{\"a\":1,,}",
        "{]",
        "{\"a\":[}",
        "{\"a\":tru}",
        "{\"\":{}}",
        "{\"\":{\"\":{}}}",
        "{\"a\":{\"command\":[[]]}}",
        "{\"\\u0000\":{\"command\":\"x\"}}",
        "{\"mcp\":{}}",
        "{\"mcp\":{\"servers\":{}}}",
        "{\"mcpServers\":\"\"}",
        "{\"a\":{\"url\":\"http://@\"}}",
        "{\"a\":{\"url\":\"http://${\"}}",
        "{\"a\":{\"command\":\"x\",\"env\":{\"ü\":\"${ü}$ü{ü\"}}}",
        "{/}",
        "{\"a\":/",
        "{ // é",
        "{\"a\":\"\u{2028}\"}",
        "ü",
        "{ü}",
        "{\u{a0}}",
        "{\"a\":1}\u{feff}",
    ] {
        survive(text);
    }
}

#[test]
fn every_beginning_of_a_config() {
    for sample in SAMPLES {
        for (end, _) in sample.char_indices() {
            survive(&sample[..end]);
        }
        survive(sample);
    }
}

/// A generator of our own, so that a failure can be seen again.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }
}

#[test]
fn mutated_configs() {
    const PIECES: &[&str] = &[
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\\",
        "/",
        "//",
        "/*",
        "*/",
        "${",
        "}",
        "$",
        "{env:",
        "{file:",
        ":-",
        "null",
        "true",
        "-1",
        "1e999",
        "0.5",
        "\u{feff}",
        "\0",
        "é",
        "😀",
        "\n",
        "\"a\"",
        "\"command\"",
        "\"env\"",
        "\"tools\"",
        "@",
    ];
    let mut dice = Dice(7);
    let mut read = 0;
    for _ in 0..4_000 {
        let mut text: Vec<char> = SAMPLES[dice.roll(SAMPLES.len())].chars().collect();
        for _ in 0..=dice.roll(3) {
            let at = dice.roll(text.len());
            match dice.roll(3) {
                0 => drop(text.remove(at)),
                1 => drop(text.splice(at..at, PIECES[dice.roll(PIECES.len())].chars())),
                _ => {
                    let end = (at + dice.roll(12)).min(text.len());
                    drop(text.splice(at..end, PIECES[dice.roll(PIECES.len())].chars()));
                }
            }
        }
        let text: String = text.into_iter().collect();
        read += usize::from(parse(&text, &Options::default(), &host()).is_ok());
        survive(&text);
    }
    // Mutations that all break the JSON would prove nothing about entries.
    assert!(read > 400, "only {read} could be read");
}

#[test]
fn values_of_any_kind_under_any_key() {
    let keys = "command args url httpUrl serverUrl baseUrl type transport transportType env environment envFile inheritEnv \
                cwd headers enabled isActive disabled timeout callTimeout tools includeTools excludeTools disabledTools \
                lifecycle restart auth oauth alwaysAllow headersHelper";
    for key in keys.split_whitespace() {
        for value in [
            "null",
            "true",
            "0",
            "-1.5e3",
            "\"\"",
            "\"x y\"",
            "[]",
            "[null,1,\"a\",[]]",
            "{}",
            "{\"a\":{}}",
            "{\"\":1}",
        ] {
            for beside in ["\"command\":\"x\"", "\"url\":\"http://x\"", "\"description\":1"] {
                survive(&format!(r#"{{"s":{{{beside},"{key}":{value}}}}}"#));
            }
        }
    }
}

#[test]
fn a_small_stack_is_enough() {
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(63), "]".repeat(63));
    let thread = std::thread::Builder::new().stack_size(256 * 1024).spawn(move || config(&deep).servers.len());
    assert_eq!(thread.expect("a thread").join().expect("no overflow"), 1);
}
