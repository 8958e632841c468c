//! mcp.json -> servers and warnings. Pure: it starts nothing and connects to nothing, and reads no file but the config
//! itself and the `envFile`s that it names.
//!
//! The rooms: `read` finds the servers in a text or a file; `entry` turns one entry into a [`ServerConfig`], with
//! `transport` for the half that differs between local and remote; `expand` fills in variables; `env` makes a child's
//! environment; `filter` says which tools are wanted; `options` reads the load options; `secrets` masks; `document`
//! writes what `tn_config_parse` answers; `nearest` finds the key that was meant.
#![forbid(unsafe_code)]

mod document;
mod entry;
mod env;
mod expand;
mod filter;
mod nearest;
mod options;
mod read;
mod secrets;
mod server;
mod transport;

#[cfg(test)]
mod tests;

pub use filter::Filter;
pub use options::Options;
pub use secrets::{Secrets, basic_credentials, without_user_info};
pub use server::{InheritEnv, Lifecycle, Restart, Server, ServerConfig, State, Transport, Written};

use crate::outcome::Failure;

/// What a config says.
#[derive(Debug)]
pub struct Config {
    /// Every entry in the order of the file: enabled, disabled and failed ones.
    pub servers: Vec<Server>,
    /// One sentence each, already masked.
    pub warnings: Vec<String>,
    /// What must not appear in anything the library writes.
    pub secrets: Secrets,
}

/// Reads `config`: JSON text if, after a byte order mark, blanks and comments, it begins with `{`; else the path of a
/// file that holds such text. `host_env` is the environment that variables are taken from.
///
/// A bad entry fails alone. The whole fails, with `TN_E_CONFIG`, only if the text cannot be read at all.
pub fn parse(config: &str, options: &Options, host_env: &[(String, String)]) -> Result<Config, Failure> {
    let source = read::source(config)?;
    let root = read::root(&source)?;
    let mut scope = entry::Scope::new(options, host_env, source.folder());
    let entries = read::entries(&root, &source, &mut scope.warnings)?;
    let mut servers: Vec<Server> = entries
        .into_iter()
        .map(|found| {
            let state = entry::read(&mut scope, &found);
            Server { name: found.name.to_owned(), path: found.path, state }
        })
        .collect();

    // Only now are all secrets known: an entry's message may hold what a later entry declares to be secret.
    let secrets = scope.secrets;
    let warnings = scope.warnings.iter().map(|warning| secrets.mask(warning).into_owned()).collect();
    for server in &mut servers {
        if let State::Failed { path, reason } = &mut server.state {
            *path = secrets.mask(path).into_owned();
            *reason = secrets.mask(reason).into_owned();
        }
    }
    Ok(Config { servers, warnings, secrets })
}
