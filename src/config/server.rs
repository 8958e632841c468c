//! What is known about one server before anything is started.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use super::filter::Filter;
use super::secrets::without_user_info;

/// One entry of the config.
#[derive(Debug)]
pub struct Server {
    pub name: String,
    /// Where the entry stands, such as `mcpServers.github`.
    pub path: String,
    pub state: State,
}

/// What became of an entry.
#[derive(Debug)]
pub enum State {
    Enabled(Box<ServerConfig>),
    /// Switched off in the file. None: it could not be read either, which a warning says.
    Disabled(Option<Box<ServerConfig>>),
    /// Cannot be used; `path` is the key to correct.
    Failed {
        path: String,
        reason: String,
    },
}

impl Server {
    /// The server's config, whether it is enabled or not.
    pub fn config(&self) -> Option<&ServerConfig> {
        match &self.state {
            State::Enabled(config) => Some(config),
            State::Disabled(config) => config.as_deref(),
            State::Failed { .. } => None,
        }
    }
}

/// Everything needed to start a server, or to connect to it.
pub struct ServerConfig {
    pub name: String,
    pub enabled: bool,
    pub transport: Transport,
    /// For each phase of loading.
    pub timeout: Duration,
    /// The silence that a call may have.
    pub call_timeout: Duration,
    pub filter: Filter,
    pub lifecycle: Lifecycle,
    pub restart: Restart,
    /// The `auth` object, as it is.
    pub auth: Option<serde_json::Value>,
    /// What stands in the file, for documents and messages.
    pub written: Written,
}

/// How a server is reached. Holds secrets, so its `Debug` shows no value.
pub enum Transport {
    Stdio {
        /// The program and its arguments; never empty.
        argv: Vec<String>,
        /// The complete environment of the child.
        env: Vec<(String, String)>,
        /// Where it runs; relative to the host's working directory. None: there.
        cwd: Option<PathBuf>,
        /// Names that the host has and the child does not get, to explain a failure with.
        withheld: Vec<String>,
    },
    Http {
        url: String,
        headers: Vec<(String, String)>,
        /// The old HTTP+SSE transport was asked for.
        sse: bool,
    },
}

/// Which era the handshake tries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lifecycle {
    #[default]
    Auto,
    Initialize,
    Discover,
}

impl Lifecycle {
    pub(super) const EXPECTED: &'static str = "\"auto\", \"initialize\" or \"discover\"";

    pub const fn name(self) -> &'static str {
        match self {
            Lifecycle::Auto => "auto",
            Lifecycle::Initialize => "initialize",
            Lifecycle::Discover => "discover",
        }
    }

    pub(super) fn from_name(name: &str) -> Option<Self> {
        [Lifecycle::Auto, Lifecycle::Initialize, Lifecycle::Discover].into_iter().find(|it| it.name() == name)
    }
}

/// How a dead local server is started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restart {
    /// Failures in a row before it is given up.
    pub max: u32,
    /// The first pause; doubles.
    pub backoff: Duration,
}

impl Default for Restart {
    fn default() -> Self {
        Restart { max: 3, backoff: Duration::from_millis(200) }
    }
}

/// What a child gets of the host's environment besides the usual few variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InheritEnv {
    All(bool),
    Names(Vec<String>),
}

/// Parts of an entry as the file has them, before variables were filled in.
#[derive(Default)]
pub struct Written {
    pub command: Vec<String>,
    pub url: Option<String>,
    pub cwd: Option<String>,
    pub env_file: Option<String>,
    /// The `env` of the file, with variables filled in; None takes the variable away.
    pub env: Vec<(String, Option<String>)>,
    pub inherit_env: Option<InheritEnv>,
}

impl ServerConfig {
    /// The command line or the URL as a message may show it: as written in the file, without user info. Mask it
    /// like any other text.
    pub fn shown(&self) -> String {
        match &self.written.url {
            Some(url) => without_user_info(url).into_owned(),
            None => without_user_info(&self.written.command.join(" ")).into_owned(),
        }
    }
}

impl fmt::Debug for ServerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerConfig")
            .field("name", &self.name)
            .field("enabled", &self.enabled)
            .field("transport", &self.transport)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Transport::Stdio { .. } => f.write_str("Stdio"),
            Transport::Http { sse, .. } => f.debug_struct("Http").field("sse", sse).finish_non_exhaustive(),
        }
    }
}

impl fmt::Debug for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Written").finish_non_exhaustive()
    }
}

/// The host's variables by name. The first of two equal names counts, as for `getenv`.
pub(super) fn by_name(host_env: &[(String, String)]) -> HashMap<&str, &str> {
    host_env.iter().rev().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}
