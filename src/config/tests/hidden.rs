//! Secrets, planted wherever a config can hold them, and looked for in everything that is shown.

use super::*;

const PLANTED: &str = "pl4nted-s3cret";

/// Everything that a config shows.
fn shown(config: &Config) -> String {
    let reasons: String = config.servers.iter().map(|server| format!("{server:?}")).collect();
    let lines: String = config.servers.iter().filter_map(Server::config).map(ServerConfig::shown).collect();
    format!("{} {:?} {reasons} {} {config:?}", config.document(false), config.warnings, config.secrets.mask(&lines))
}

#[test]
fn planted_secrets_are_not_shown() {
    let host = [("SECRET".to_owned(), PLANTED.to_owned())];
    let options = options(&format!(r#"{{"inputs":{{"id":"{PLANTED}"}}}}"#));
    let folder = Folder::new("hidden");
    let env_file = folder.file("secret.env", format!("A={PLANTED}\nnonsense\n").as_bytes());
    for entry in [
        format!(r#""command":"x","env":{{"A":"{PLANTED}"}},"args":["{PLANTED}"]"#),
        format!(r#""command":"x","environment":{{"A":"{PLANTED}"}},"cwd":"/{PLANTED}/""#),
        format!(r#""command":"x","env":{{"A":"{PLANTED}","B":[]}}"#),
        format!(r#""command":"x","env":{{"A":"{PLANTED}"}},"envFile":"/nowhere/{PLANTED}""#),
        format!(r#""command":"x","env":{{"TOKEN={PLANTED}":""}}"#),
        format!(r#""url":"http://x","headers":{{"Authorization: {PLANTED}":""}}"#),
        format!(r#""command":"x y","env":{{"A":"{PLANTED}"}}"#),
        format!(r#""command":"x","env":{{"A":"{PLANTED}"}},"{PLANTED}":1"#),
        format!(r#""command":"x","env":{{"A":"{PLANTED}"}},"disabled":true,"timeout":0"#),
        r#""command":"x","env":{"A":"${SECRET}"}"#.to_owned(),
        r#""command":"x","args":["--key=${SECRET}"]"#.to_owned(),
        r#""command":"${SECRET}","cwd":"${input:id}""#.to_owned(),
        format!(r#""command":"x","args":["${{NOPE:-{PLANTED}}}"]"#),
        format!(r#""command":"x","env":{{"A":"${{NOPE:={PLANTED}}}"}}"#),
        r#""command":"x","envFile":"ENV""#.replace("ENV", &env_file),
        format!(r#""command":"x","args":["pg://me:{PLANTED}@host/db","--db=pg://{PLANTED}@host"]"#),
        format!(r#""url":"https://me:{PLANTED}@host/""#),
        r#""url":"https://me:${SECRET}@host/""#.to_owned(),
        r#""url":"https://host/?key=${SECRET}""#.to_owned(),
        r#""url":"${SECRET}""#.to_owned(),
        format!(r#""url":"http://x","headers":{{"Authorization":"Bearer {PLANTED}"}}"#),
        format!(r#""url":"http://x","headers":{{"A":"{PLANTED}\r\n"}}"#),
        format!(r#""url":"http://x","headers":{{"A":"${{NOPE}}{PLANTED}"}}"#),
        format!(r#""url":"http://x","auth":{{"clientSecret":"{PLANTED}","x":{{"refresh_token":"{PLANTED}"}}}}"#),
        format!(r#""url":"http://x","oauth":{{"client_secret":"{PLANTED}"}},"timeout":"x""#),
        format!(r#""url":"http://x","timeout":"{PLANTED}","type":"{PLANTED}""#),
        format!(r#""command":"x","lifecycle":"{PLANTED}""#),
    ] {
        let text = format!(r#"{{"mcpServers":{{"s":{{{entry}}}}}}}"#);
        let config = parse(&text, &options, &host).unwrap_or_else(|failure| panic!("{failure}"));
        let shown = shown(&config);
        assert!(!shown.contains(PLANTED), "{entry}\n{shown}");
    }
}

#[test]
fn an_entry_hides_what_another_declares() {
    let config = config(&format!(
        r#"{{"mcpServers":{{"a":{{"command":"x","args":["{PLANTED}"],"{PLANTED}":1}},"b":{{"command":"x","env":{{"A":"{PLANTED}"}}}}}}}}"#
    ));
    assert!(!shown(&config).contains(PLANTED));
    assert_eq!(config.secrets.mask(&format!("stderr: {PLANTED}!")), "stderr: ***!");
}

#[test]
fn short_values_are_shown() {
    let config = one(r#""command":"x","env":{"A":"12345","B":"123456","C":"Größe"}"#);
    let env = &document(&config, false)["servers"]["s"]["env"];
    assert_eq!(env.to_string(), r#"{"A":"12345","B":"***","C":"Größe"}"#);
}

#[test]
fn arguments_and_urls_are_shown_as_written() {
    let local = one(r#""command":"${HOME}/x","args":["${TOKEN}","pg://u:longpassword@h/db"]"#);
    let shown = &document(&local, false)["servers"]["s"]["command"];
    assert_eq!(shown.to_string(), r#"["${HOME}/x","${TOKEN}","pg://h/db"]"#);
    assert_eq!(server(&local).shown(), "${HOME}/x ${TOKEN} pg://h/db");
    assert_eq!(local.secrets.mask("cannot connect as u:longpassword"), "cannot connect as u:***");
    let remote = one(r#""url":"https://u:p@h/${TOKEN}""#);
    assert_eq!(document(&remote, false)["servers"]["s"]["url"], "https://h/${TOKEN}");
    assert_eq!(http(&remote).0, "https://u:p@h/hunter22");
}

#[test]
fn with_secrets_values_are_whole() {
    let local = one(r#""command":"x","args":["pg://u:longpassword@h/"],"env":{"A":"${TOKEN}"}"#);
    let shown = &document(&local, true)["servers"]["s"];
    assert_eq!(shown["env"]["A"], "hunter22");
    assert_eq!(shown["command"][1], "pg://u:longpassword@h/");
    let remote = one(r#""url":"http://x","headers":{"A":"Bearer ${TOKEN}"},"auth":{"clientSecret":"longsecret"}"#);
    let shown = &document(&remote, true)["servers"]["s"];
    assert_eq!(shown["headers"]["A"], "Bearer hunter22");
    assert_eq!(shown["auth"]["clientSecret"], "longsecret");
}

#[test]
fn places_are_no_secrets() {
    let options = options(r#"{"workspaceFolder":"/workspace"}"#);
    let config = config_with(r#"{"s":{"command":"x","cwd":"${workspaceFolder}","args":["${userHome}"]}}"#, &options);
    assert_eq!(config.secrets.mask("/workspace /home/me"), "/workspace /home/me");
}

#[test]
fn a_password_in_a_url_is_not_shown_as_it_is_sent_either() {
    let config =
        parse(r#"{"s":{"url":"https://some-user:s%40cret-word@host/mcp"}}"#, &Options::default(), &[]).unwrap();
    for said in ["s%40cret-word", "s@cret-word", "Basic c29tZS11c2VyOnNAY3JldC13b3Jk"] {
        let shown = config.secrets.mask(said).into_owned();
        assert!(shown.contains("***") && !shown.contains("cret") && !shown.contains("c29t"), "{shown}");
    }
}
