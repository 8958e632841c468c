//! The module seen from outside: one test for each promise, in the rooms `rows` (the keys of an entry), `texts` (what
//! can be read at all), `hidden` (secrets) and `odd` (whatever else a file may hold).

mod hidden;
mod odd;
mod rows;
mod texts;

use serde_json::Value;

use super::*;

/// The environment of the host in these tests.
pub(super) fn host() -> Vec<(String, String)> {
    [("PATH", "/bin"), ("HOME", "/home/me"), ("TOKEN", "hunter22"), ("PORT", "80"), ("GITHUB_TOKEN", "not-passed-on")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec()
}

pub(super) fn options(json: &str) -> Options {
    Options::parse(Some(json), true).unwrap_or_else(|failure| panic!("{json}: {failure}"))
}

pub(super) fn config_with(text: &str, options: &Options) -> Config {
    parse(text, options, &host()).unwrap_or_else(|failure| panic!("{text}: {failure}"))
}

pub(super) fn config(text: &str) -> Config {
    config_with(text, &Options::default())
}

/// A config whose only server, `s`, has these keys.
pub(super) fn one(entry: &str) -> Config {
    config(&format!(r#"{{"mcpServers":{{"s":{{{entry}}}}}}}"#))
}

pub(super) fn server(config: &Config) -> &ServerConfig {
    let [server] = config.servers.as_slice() else { panic!("{config:?}") };
    server.config().unwrap_or_else(|| panic!("{server:?}"))
}

/// Path and reason of the only server's failure.
pub(super) fn failed(config: &Config) -> (&str, &str) {
    match config.servers.as_slice() {
        [Server { state: State::Failed { path, reason }, .. }] => (path, reason),
        other => panic!("{other:?}"),
    }
}

pub(super) fn document(config: &Config, secrets: bool) -> Value {
    serde_json::from_str(&config.document(secrets)).expect("the document is JSON")
}

pub(super) fn argv(config: &Config) -> &[String] {
    match &server(config).transport {
        Transport::Stdio { argv, .. } => argv,
        Transport::Http { .. } => panic!("remote"),
    }
}

/// A variable of the child's environment.
pub(super) fn variable<'a>(config: &'a Config, name: &str) -> Option<&'a str> {
    match &server(config).transport {
        Transport::Stdio { env, .. } => env.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str()),
        Transport::Http { .. } => panic!("remote"),
    }
}

pub(super) fn http(config: &Config) -> (&str, &[(String, String)], bool) {
    match &server(config).transport {
        Transport::Http { url, headers, sse } => (url, headers, *sse),
        Transport::Stdio { .. } => panic!("local"),
    }
}

/// A folder of this test's own, gone when dropped.
pub(super) struct Folder(pub std::path::PathBuf);

impl Folder {
    pub(super) fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("toolnexus-config-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for the test");
        Folder(folder)
    }

    /// Writes a file and gives its path.
    pub(super) fn file(&self, name: &str, content: &[u8]) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, content).expect("a file for the test");
        path.to_str().expect("a path in UTF-8").to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
