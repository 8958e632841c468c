//! The half of an entry that says how the server is reached.

use std::path::PathBuf;

use jsonc_parser::ast::{Object, Value};

use super::entry::{Bad, Keys, Scope, Unfilled, as_text, read_inherit_env, string};
use super::env;
use super::read::{read_file, unique};
use super::server::{Transport, Written};

enum Kind {
    Local,
    Remote { sse: bool },
}

/// Decides between local and remote, and reads the keys of the one that it is.
pub(super) fn read(scope: &mut Scope<'_>, keys: &Keys<'_>, written: &mut Written) -> Result<Transport, Bad> {
    let named = keys.first(&["type", "transport", "transportType"], scope);
    let named = named.map(|(key, value)| kind(keys, key, value).map(|kind| (key, kind))).transpose()?;
    let command = keys.get("command");
    let url = keys.first(&["url", "httpUrl", "serverUrl", "baseUrl"], scope);
    match (named, command, url) {
        (Some((key, Kind::Local)), Some(command), url) => {
            if let Some((other, _)) = url {
                scope.warn(format!("{}: both command and {other} are given; {key} decides for command", keys.path));
            }
            local(scope, keys, command, written)
        }
        (Some((key, Kind::Remote { sse })), command, Some((url_key, url))) => {
            if command.is_some() {
                scope.warn(format!("{}: both command and {url_key} are given; {key} decides for {url_key}", keys.path));
            }
            remote(scope, keys, url_key, url, sse, written)
        }
        (Some((key, Kind::Local)), None, _) => {
            Err(keys.bad("command", &format!("expected a command, because {key} says that the server is local")))
        }
        (Some((key, Kind::Remote { .. })), _, None) => {
            Err(keys.bad("url", &format!("expected a URL, because {key} says that the server is remote")))
        }
        (None, Some(_), Some((url_key, _))) => {
            let reason = format!("both command and {url_key} are given; add \"type\": \"stdio\" or \"type\": \"http\"");
            Err(Bad::new(keys.path, reason))
        }
        (None, Some(command), None) => local(scope, keys, command, written),
        (None, None, Some((key, url))) => remote(scope, keys, key, url, false, written),
        (None, None, None) => Err(Bad::new(keys.path, "expected a command (a local server) or a url (a remote one)")),
    }
}

fn kind(keys: &Keys<'_>, key: &str, value: &Value<'_>) -> Result<Kind, Bad> {
    let name = string(value).unwrap_or_default().to_lowercase().replace(['-', '_'], "");
    match name.as_str() {
        "local" | "stdio" => Ok(Kind::Local),
        "remote" | "http" | "streamablehttp" => Ok(Kind::Remote { sse: false }),
        "sse" => Ok(Kind::Remote { sse: true }),
        _ => Err(keys.bad(key, "expected \"stdio\" (or \"local\"), \"http\" (or \"remote\"), or \"sse\"")),
    }
}

fn local(scope: &mut Scope<'_>, keys: &Keys<'_>, command: &Value<'_>, written: &mut Written) -> Result<Transport, Bad> {
    let mut argv = Vec::new();
    match command {
        Value::Array(array) => {
            for (index, element) in array.elements.iter().enumerate() {
                argv.push(argument(scope, keys, &format!("command[{index}]"), element, index > 0, written)?);
            }
        }
        Value::StringLit(text) => {
            if text.value.contains(char::is_whitespace) && keys.get("args").is_none() {
                let reason =
                    "holds blanks: put arguments in args (or add an empty args if the program's name has them)";
                return Err(keys.bad("command", reason));
            }
            argv.push(argument(scope, keys, "command", command, false, written)?);
        }
        _ => return Err(keys.bad("command", "expected text, or an array of texts")),
    }
    if argv.first().is_none_or(String::is_empty) {
        return Err(keys.bad("command", "expected the name of a program"));
    }
    match keys.get("args") {
        None => {}
        Some(Value::Array(array)) => {
            for (index, element) in array.elements.iter().enumerate() {
                argv.push(argument(scope, keys, &format!("args[{index}]"), element, true, written)?);
            }
        }
        Some(_) => return Err(keys.bad("args", "expected an array of texts")),
    }
    let cwd = match keys.text("cwd")? {
        None => None,
        Some(text) => {
            written.cwd = Some(text.to_owned());
            let folder = no_nul(keys.path_of("cwd"), scope.fill_all(&keys.path_of("cwd"), text, false)?)?;
            if folder.is_empty() {
                return Err(keys.bad("cwd", "expected a folder, not an empty text"));
            }
            Some(PathBuf::from(folder))
        }
    };
    let inherit = read_inherit_env(scope, keys)?;
    let file = read_env_file(scope, keys, written)?;
    written.env = read_env(scope, keys)?;
    let (env, withheld) = env::child(scope.host, &inherit, &file, &written.env);
    written.inherit_env = Some(inherit);
    Ok(Transport::Stdio { argv, env, cwd, withheld })
}

/// One element of the command line.
fn argument(
    scope: &mut Scope<'_>,
    keys: &Keys<'_>,
    key: &str,
    value: &Value<'_>,
    in_arguments: bool,
    written: &mut Written,
) -> Result<String, Bad> {
    let text = as_text(value).ok_or_else(|| keys.bad(key, "expected text, a number, true or false"))?;
    written.command.push(text.to_owned());
    let path = keys.path_of(key);
    let filled = scope.fill_all(&path, text, in_arguments)?;
    scope.secrets.add_user_info(&filled);
    no_nul(path, filled)
}

/// No program can be given a text with a NUL in it.
fn no_nul(path: String, text: String) -> Result<String, Bad> {
    if text.contains('\0') { Err(Bad::new(path, "expected text without a NUL character")) } else { Ok(text) }
}

/// The variables of the dotenv file. Its values are secrets like those of `env`.
fn read_env_file(scope: &mut Scope<'_>, keys: &Keys<'_>, written: &mut Written) -> Result<Vec<(String, String)>, Bad> {
    let Some(text) = keys.text("envFile")? else { return Ok(Vec::new()) };
    written.env_file = Some(text.to_owned());
    let path = keys.path_of("envFile");
    let name = scope.fill_all(&path, text, false)?;
    let content = read_file(&scope.folder.join(&name))
        .and_then(|bytes| String::from_utf8(bytes).map_err(|_| std::io::Error::other("the file is not UTF-8 text")));
    let content = content.map_err(|error| Bad::new(&path, format!("cannot read {text}: {error}")))?;
    let (variables, bad_lines) = env::dotenv(&content);
    variables.iter().for_each(|(_, value)| scope.secrets.add(value));
    for line in bad_lines {
        scope.warn(format!("{path}: line {line} of {text} is not NAME=value and is ignored"));
    }
    Ok(variables)
}

/// An object of the entry under one of its names, with the name.
fn object<'a>(
    scope: &mut Scope<'_>,
    keys: &Keys<'a>,
    names: &[&'static str],
) -> Result<Option<(String, &'a Object<'a>)>, Bad> {
    match keys.first(names, scope) {
        None => Ok(None),
        Some((key, Value::Object(object))) => Ok(Some((keys.path_of(&format!("{key}.")), object))),
        Some((key, _)) => Err(keys.bad(key, "expected an object of names and values")),
    }
}

/// The text of a variable or header; None, with a warning, if it needs a variable that is not set.
fn value_of(scope: &mut Scope<'_>, path: &str, value: &Value<'_>) -> Result<Option<String>, Bad> {
    let text = as_text(value).ok_or_else(|| Bad::new(path, "expected text, a number, true or false"))?;
    match scope.fill(path, text, false) {
        Ok(text) => Ok(Some(text)),
        Err(Unfilled::Bad(bad)) => Err(bad),
        Err(Unfilled::Unset(name)) => {
            scope.warn(format!("{path} is left out because the variable {name} is not set"));
            Ok(None)
        }
    }
}

fn read_env(scope: &mut Scope<'_>, keys: &Keys<'_>) -> Result<Vec<(String, Option<String>)>, Bad> {
    let mut env = Vec::new();
    let Some((prefix, object)) = object(scope, keys, &["env", "environment"])? else { return Ok(env) };
    for (name, value) in unique(object, &prefix, &mut scope.warnings) {
        let path = format!("{prefix}{name}");
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(Bad::new(path, "expected the name of a variable: not empty, without = and NUL"));
        }
        if matches!(value, Value::NullKeyword(_)) {
            env.push((name.to_owned(), None));
        } else if let Some(text) = value_of(scope, &path, value)? {
            scope.secrets.add(&text);
            env.push((name.to_owned(), Some(no_nul(path, text)?)));
        }
    }
    Ok(env)
}

fn remote(
    scope: &mut Scope<'_>,
    keys: &Keys<'_>,
    key: &str,
    url: &Value<'_>,
    sse: bool,
    written: &mut Written,
) -> Result<Transport, Bad> {
    let text = string(url).ok_or_else(|| keys.bad(key, "expected text"))?;
    written.url = Some(text.to_owned());
    let url = scope.fill_all(&keys.path_of(key), text, false)?;
    scope.secrets.add_user_info(&url);
    if !is_http_url(&url) {
        return Err(keys.bad(key, "expected a URL such as https://host/path"));
    }
    Ok(Transport::Http { url, headers: read_headers(scope, keys)?, sse })
}

/// Enough to tell a URL from a mistake; the connection will say the rest.
fn is_http_url(url: &str) -> bool {
    let rest = ["http://", "https://"].iter().find_map(|scheme| {
        let (start, rest) = url.split_at_checked(scheme.len())?;
        start.eq_ignore_ascii_case(scheme).then_some(rest)
    });
    let clean = !url.contains(|c: char| c.is_whitespace() || c.is_control());
    clean && rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['/', '?', '#', ':']))
}

fn read_headers(scope: &mut Scope<'_>, keys: &Keys<'_>) -> Result<Vec<(String, String)>, Bad> {
    let mut headers: Vec<(String, String)> = Vec::new();
    let Some((prefix, object)) = object(scope, keys, &["headers"])? else { return Ok(headers) };
    for (name, value) in unique(object, &prefix, &mut scope.warnings) {
        let path = format!("{prefix}{name}");
        if !is_header_name(name) {
            return Err(Bad::new(path, "expected the name of a header: letters, digits and hyphens"));
        }
        if matches!(value, Value::NullKeyword(_)) {
            continue;
        }
        let Some(text) = value_of(scope, &path, value)? else { continue };
        scope.secrets.add_header(name, &text);
        // A line break would begin another header.
        if text.contains(|c: char| c.is_ascii_control() && c != '\t') {
            return Err(Bad::new(path, "expected text without line breaks and other control characters"));
        }
        if let Some(earlier) = headers.iter().position(|(known, _)| known.eq_ignore_ascii_case(name)) {
            scope.warn(format!("{path} is given more than once, in different cases; the last one counts"));
            headers.remove(earlier);
        }
        headers.push((name.to_owned(), text));
    }
    Ok(headers)
}

fn is_header_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}
