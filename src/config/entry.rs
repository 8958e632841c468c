//! One entry -> one [`ServerConfig`]. Whatever is wrong with it stays its own affair.

use std::path::{Path, PathBuf};
use std::time::Duration;

use jsonc_parser::ast::{Object, Value};

use super::expand::{Bare, Missing, Variables};
use super::filter::Filter;
use super::nearest::nearest;
use super::options::Options;
use super::read::{Found, unique};
use super::secrets::Secrets;
use super::server::{InheritEnv, Lifecycle, Restart, ServerConfig, State, Transport, Written};
use super::transport;

/// The keys that mean something here, in the order in which the nearest is looked for.
const KNOWN: &[&str] = &[
    "command",
    "args",
    "url",
    "httpUrl",
    "serverUrl",
    "baseUrl",
    "type",
    "transport",
    "transportType",
    "env",
    "environment",
    "envFile",
    "inheritEnv",
    "cwd",
    "headers",
    "enabled",
    "isActive",
    "disabled",
    "timeout",
    "callTimeout",
    "tools",
    "includeTools",
    "excludeTools",
    "disabledTools",
    "lifecycle",
    "restart",
    "auth",
    "oauth",
];

/// Keys of other products that change nothing for us.
const IGNORED: &[&str] =
    &["alwaysAllow", "autoApprove", "trust", "description", "watchPaths", "dev", "gallery", "disabledReason"];

/// What all entries share while a config is read.
pub(super) struct Scope<'a> {
    pub options: &'a Options,
    pub host: &'a [(String, String)],
    /// Where a relative `envFile` is looked for: beside the config's file, else in the host's working directory.
    pub folder: PathBuf,
    pub warnings: Vec<String>,
    pub secrets: Secrets,
    variables: Variables<'a>,
}

/// The key that is wrong, and what was expected.
#[derive(Debug)]
pub(super) struct Bad {
    pub path: String,
    pub reason: String,
}

impl Bad {
    pub fn new(path: impl Into<String>, reason: impl Into<String>) -> Self {
        Bad { path: path.into(), reason: reason.into() }
    }
}

/// Why a text could not be filled in.
pub(super) enum Unfilled {
    /// This variable is not set. Where it stands decides what that means.
    Unset(String),
    Bad(Bad),
}

impl<'a> Scope<'a> {
    pub fn new(options: &'a Options, host: &'a [(String, String)], folder: Option<&Path>) -> Self {
        Scope {
            options,
            host,
            folder: folder.map(Path::to_owned).unwrap_or_default(),
            warnings: Vec::new(),
            secrets: Secrets::default(),
            variables: Variables::new(host, options),
        }
    }

    pub fn warn(&mut self, warning: String) {
        self.warnings.push(warning);
    }

    /// Fills in the variables of `text`, which stands at `path`.
    pub fn fill(&mut self, path: &str, text: &str, in_arguments: bool) -> Result<String, Unfilled> {
        let expanded = self.variables.expand(text, in_arguments).map_err(|missing| match missing {
            Missing::Variable(name) => Unfilled::Unset(name),
            Missing::Refused(reason) => Unfilled::Bad(Bad::new(path, reason)),
        })?;
        expanded.values.iter().for_each(|value| self.secrets.add(value));
        match expanded.bare {
            Some(Bare::Known(name)) => {
                self.warn(format!("{path}: ${name} stays as it is; write ${{{name}}} for the variable's value"));
            }
            Some(Bare::Unknown) => {
                self.warn(format!("{path}: a $NAME in it stays as it is; write ${{NAME}} for a variable's value"));
            }
            None => {}
        }
        Ok(expanded.text)
    }

    /// Fills in where an unset variable fails the server.
    pub fn fill_all(&mut self, path: &str, text: &str, in_arguments: bool) -> Result<String, Bad> {
        self.fill(path, text, in_arguments).map_err(|unfilled| match unfilled {
            Unfilled::Unset(name) => {
                Bad::new(path, format!("the variable {name} is not set; set it, or write ${{{name}:-default}}"))
            }
            Unfilled::Bad(bad) => bad,
        })
    }
}

/// The keys of one entry.
pub(super) struct Keys<'a> {
    pub path: &'a str,
    properties: Vec<(&'a str, &'a Value<'a>)>,
}

impl<'a> Keys<'a> {
    pub fn path_of(&self, key: &str) -> String {
        format!("{}.{key}", self.path)
    }

    pub fn bad(&self, key: &str, reason: &str) -> Bad {
        Bad::new(self.path_of(key), reason)
    }

    /// The value of a key. Null is as good as not given.
    pub fn get(&self, key: &str) -> Option<&'a Value<'a>> {
        let value = self.properties.iter().find(|(name, _)| *name == key).map(|(_, value)| *value);
        value.filter(|value| !matches!(value, Value::NullKeyword(_)))
    }

    /// The first that is given of several names for one key.
    pub fn first(&self, names: &[&'static str], scope: &mut Scope<'_>) -> Option<(&'static str, &'a Value<'a>)> {
        let mut given = names.iter().filter_map(|name| Some((*name, self.get(name)?)));
        let first = given.next()?;
        for (other, _) in given {
            scope.warn(format!("{}.{other} is ignored because {} is given too", self.path, first.0));
        }
        Some(first)
    }

    /// The value of a key that holds text.
    pub fn text(&self, key: &str) -> Result<Option<&'a str>, Bad> {
        self.get(key).map(|value| string(value).ok_or_else(|| self.bad(key, "expected text"))).transpose()
    }

    fn boolean(&self, key: &str) -> Result<Option<bool>, Bad> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::BooleanLit(literal)) => Ok(Some(literal.value)),
            Some(_) => Err(self.bad(key, "expected true or false")),
        }
    }
}

pub(super) fn string<'a>(value: &'a Value<'a>) -> Option<&'a str> {
    value.as_string_lit().map(|literal| literal.value.as_ref())
}

/// Text, or what stands for it: numbers and booleans, exactly as they are written.
pub(super) fn as_text<'a>(value: &'a Value<'a>) -> Option<&'a str> {
    match value {
        Value::StringLit(literal) => Some(literal.value.as_ref()),
        Value::NumberLit(literal) => Some(literal.value),
        Value::BooleanLit(literal) => Some(if literal.value { "true" } else { "false" }),
        _ => None,
    }
}

/// Reads one entry.
pub(super) fn read(scope: &mut Scope<'_>, found: &Found<'_>) -> State {
    match read_enabled(scope, found) {
        Ok(state) => state,
        Err(Bad { path, reason }) => State::Failed { path, reason },
    }
}

fn read_enabled(scope: &mut Scope<'_>, found: &Found<'_>) -> Result<State, Bad> {
    let path = found.path.as_str();
    let Value::Object(object) = found.value else {
        return Err(Bad::new(path, "expected an object with a command or a url"));
    };
    if found.name.is_empty() {
        return Err(Bad::new(path, "expected a server name that is not empty"));
    }
    let keys = Keys { path, properties: unique(object, &format!("{path}."), &mut scope.warnings) };
    note_literals(scope, object);
    let on = match keys.first(&["enabled", "isActive"], scope) {
        Some((key, _)) => keys.boolean(key)?.unwrap_or(true),
        None => true,
    };
    let enabled = on && keys.boolean("disabled")? != Some(true);
    warn_of_unknown_keys(&keys, scope);
    let config = read_config(scope, &keys, found.name, enabled);
    match (enabled, config) {
        (true, config) => Ok(State::Enabled(Box::new(config?))),
        (false, Ok(config)) => Ok(State::Disabled(Some(Box::new(config)))),
        (false, Err(bad)) => {
            scope.warn(format!("{}: {}; the server is disabled, so nothing fails", bad.path, bad.reason));
            Ok(State::Disabled(None))
        }
    }
}

/// What an entry declares to be secret stays secret even if the entry fails before it is understood. Values with
/// placeholders are none yet: they are added when filled in.
fn note_literals(scope: &mut Scope<'_>, object: &Object<'_>) {
    for property in &object.properties {
        let (key, Value::Object(inner)) = (property.name.as_str(), &property.value) else { continue };
        if key == "auth" || key == "oauth" {
            note_credentials(scope, inner);
        }
        if !["env", "environment", "headers"].contains(&key) {
            continue;
        }
        for property in &inner.properties {
            // `"NAME=value": ""` is a mistake that must not show the value either.
            if let Some((_, value)) = property.name.as_str().split_once(['=', ':']) {
                scope.secrets.add(value.trim());
            }
            let Some(value) = as_text(&property.value) else { continue };
            if !["${", "{env:", "{file:"].iter().any(|placeholder| value.contains(placeholder)) {
                scope.secrets.add_header(property.name.as_str(), value);
            }
        }
    }
}

/// The values of `auth` that its keys call secret, wherever they stand in it.
fn note_credentials(scope: &mut Scope<'_>, object: &Object<'_>) {
    for property in &object.properties {
        let name = property.name.as_str().to_lowercase();
        match &property.value {
            Value::Object(inner) => note_credentials(scope, inner),
            Value::StringLit(text) if ["secret", "token", "password", "key"].iter().any(|it| name.contains(it)) => {
                scope.secrets.add(&text.value);
            }
            _ => {}
        }
    }
}

fn warn_of_unknown_keys(keys: &Keys<'_>, scope: &mut Scope<'_>) {
    for (key, _) in &keys.properties {
        if !KNOWN.contains(key) && !IGNORED.contains(key) {
            let meant = nearest(key, KNOWN);
            scope.warn(format!("{}.{key} is not a known key and is ignored; did you mean {meant}?", keys.path));
        }
    }
}

fn read_config(scope: &mut Scope<'_>, keys: &Keys<'_>, name: &str, enabled: bool) -> Result<ServerConfig, Bad> {
    let mut written = Written::default();
    let transport = transport::read(scope, keys, &mut written)?;
    let usual = match transport {
        Transport::Stdio { .. } => Duration::from_secs(60),
        Transport::Http { .. } => Duration::from_secs(30),
    };
    let timeout = time(scope, keys, "timeout")?;
    let call_timeout = time(scope, keys, "callTimeout")?;
    let filter = read_filter(scope, keys)?;
    let lifecycle = match keys.get("lifecycle") {
        None => scope.options.lifecycle,
        Some(value) => string(value)
            .and_then(Lifecycle::from_name)
            .ok_or_else(|| keys.bad("lifecycle", &format!("expected {}", Lifecycle::EXPECTED)))?,
    };
    let restart = read_restart(scope, keys)?;
    let auth = match keys.first(&["auth", "oauth"], scope) {
        None => None,
        Some((_, value @ Value::Object(_))) => Some(value.clone().into()),
        Some((key, _)) => return Err(keys.bad(key, "expected an object")),
    };
    Ok(ServerConfig {
        name: name.to_owned(),
        enabled,
        transport,
        timeout: timeout.unwrap_or(usual),
        call_timeout: call_timeout.or(timeout).unwrap_or(Duration::from_secs(300)),
        filter,
        lifecycle,
        restart,
        auth,
        written,
    })
}

/// A time in milliseconds. Other products count in seconds, so a number too small to be milliseconds is taken as such.
fn time(scope: &mut Scope<'_>, keys: &Keys<'_>, key: &str) -> Result<Option<Duration>, Bad> {
    let Some(value) = keys.get(key) else { return Ok(None) };
    let number = value.as_number_lit().map(|literal| literal.value).unwrap_or_default();
    let milliseconds = match number.parse::<f64>() {
        Ok(milliseconds) if milliseconds >= 1.0 => milliseconds,
        _ => return Err(keys.bad(key, "expected a number of milliseconds above 0, such as 30000")),
    };
    let milliseconds = if milliseconds < 1000.0 {
        let meant = milliseconds * 1000.0;
        scope.warn(format!("{}.{key}: {number} is taken as {number} seconds; write {meant} milliseconds", keys.path));
        meant
    } else {
        milliseconds
    };
    // Cut at 49 days, so that it can be added to any point in time.
    Ok(Some(Duration::from_micros((milliseconds.min(u32::MAX.into()) * 1000.0) as u64)))
}

fn read_filter(scope: &mut Scope<'_>, keys: &Keys<'_>) -> Result<Filter, Bad> {
    let mut filter = Filter::default();
    for (key, allows) in [("tools", true), ("includeTools", true), ("excludeTools", false), ("disabledTools", false)] {
        match keys.get(key) {
            None => {}
            Some(Value::Array(_)) => {
                let names = names(keys, key)?;
                if allows { filter.allow(names) } else { filter.drop(names) }
            }
            Some(Value::Object(object)) if key == "tools" => {
                let path = keys.path_of("tools.");
                let mut map = Vec::new();
                for (name, value) in unique(object, &path, &mut scope.warnings) {
                    let Value::BooleanLit(wanted) = value else {
                        return Err(Bad::new(format!("{path}{name}"), "expected true or false"));
                    };
                    map.push((name.to_owned(), wanted.value));
                }
                filter.choose(map);
            }
            Some(_) if key == "tools" => {
                return Err(keys.bad(key, "expected an array of tool names, or an object of names with true or false"));
            }
            Some(_) => return Err(keys.bad(key, "expected an array of tool names")),
        }
    }
    Ok(filter)
}

/// An array of texts.
fn names(keys: &Keys<'_>, key: &str) -> Result<Vec<String>, Bad> {
    let elements = keys.get(key).and_then(Value::as_array).map(|array| array.elements.as_slice()).unwrap_or_default();
    let name = |(index, element)| {
        string(element).map(str::to_owned).ok_or_else(|| keys.bad(&format!("{key}[{index}]"), "expected text"))
    };
    elements.iter().enumerate().map(name).collect()
}

/// The server's `inheritEnv`, which replaces the option's.
pub(super) fn read_inherit_env(scope: &Scope<'_>, keys: &Keys<'_>) -> Result<InheritEnv, Bad> {
    match keys.get("inheritEnv") {
        None => Ok(scope.options.inherit_env.clone()),
        Some(Value::BooleanLit(all)) => Ok(InheritEnv::All(all.value)),
        Some(Value::Array(_)) => Ok(InheritEnv::Names(names(keys, "inheritEnv")?)),
        Some(_) => Err(keys.bad("inheritEnv", "expected true, false or an array of names")),
    }
}

fn read_restart(scope: &mut Scope<'_>, keys: &Keys<'_>) -> Result<Restart, Bad> {
    let mut restart = scope.options.restart;
    let object = match keys.get("restart") {
        None => return Ok(restart),
        Some(Value::Object(object)) => object,
        Some(_) => return Err(keys.bad("restart", "expected an object with max and backoffMs")),
    };
    let path = keys.path_of("restart.");
    for (key, value) in unique(object, &path, &mut scope.warnings) {
        if !["max", "backoffMs"].contains(&key) {
            let meant = nearest(key, &["max", "backoffMs"]);
            scope.warn(format!("{path}{key} is not a known key and is ignored; did you mean {meant}?"));
            continue;
        }
        let number = value.as_number_lit().and_then(|literal| literal.value.parse::<f64>().ok());
        let Some(number) = number.filter(|number| *number >= 0.0 && (number.fract() == 0.0 || number.is_infinite()))
        else {
            return Err(Bad::new(format!("{path}{key}"), "expected a whole number of at least 0"));
        };
        // Huge numbers are cut to what fits.
        match key {
            "max" => restart.max = number as u32,
            _ => restart.backoff = Duration::from_millis((number as u32).into()),
        }
    }
    Ok(restart)
}
