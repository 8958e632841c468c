//! Variables in the texts of an entry. One pass from left to right: what was filled in is never looked at again.

use std::collections::HashMap;
use std::path::MAIN_SEPARATOR_STR;

use super::options::Options;
use super::server::by_name;

/// Where variables get their values from.
pub(super) struct Variables<'a> {
    host: HashMap<&'a str, &'a str>,
    options: &'a Options,
}

/// A text with its variables filled in.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Expanded {
    pub text: String,
    /// What came from variables, inputs and defaults: all of it may be secret.
    pub values: Vec<String>,
    /// The text has a `$NAME`, which stays.
    pub bare: Option<Bare>,
}

/// A `$NAME`. Its name is told only if the host has such a variable: else it may be a piece of a password.
#[derive(Debug, PartialEq)]
pub(super) enum Bare {
    Known(String),
    Unknown,
}

/// Why a text cannot be filled in.
#[derive(Debug, PartialEq)]
pub(super) enum Missing {
    /// This variable is not set and has no default.
    Variable(String),
    /// It asks for what is not there, wherever it stands; the reason says for what.
    Refused(String),
}

enum Found<'t> {
    /// The flag: it may be a secret.
    Value(&'t str, bool),
    Unset(String),
    Refused(String),
    /// Nothing of ours, such as `${1}`.
    Foreign,
}

impl<'a> Variables<'a> {
    pub fn new(host_env: &'a [(String, String)], options: &'a Options) -> Self {
        Variables { host: by_name(host_env), options }
    }

    /// Fills in `text`. In arguments, `${…}` that is nothing of ours stays: a shell or a template may want it.
    pub fn expand(&self, text: &str, in_arguments: bool) -> Result<Expanded, Missing> {
        let mut out = Expanded::default();
        let mut unset = None;
        let last_brace = text.rfind('}').unwrap_or(0);
        let mut rest = text;
        while let Some(at) = rest.find(['$', '{']) {
            let (before, here) = rest.split_at(at);
            out.text.push_str(before);
            if let Some(after) = here.strip_prefix("$${") {
                out.text.push_str("${");
                rest = after;
                continue;
            }
            let closed = text.len() - here.len() < last_brace;
            if let Some((whole, body)) = closed.then(|| placeholder(here)).flatten() {
                rest = here.get(whole.len()..).unwrap_or_default();
                match self.look_up(whole, body) {
                    Found::Value(value, secret) => {
                        out.text.push_str(value);
                        if secret {
                            out.values.push(value.to_owned());
                        }
                    }
                    Found::Refused(reason) => return Err(Missing::Refused(reason)),
                    Found::Foreign if in_arguments => out.text.push_str(whole),
                    Found::Foreign => unset = unset.or(Some(beginning_of_name(body))),
                    // Goes on: a refusal further to the right fails the server even where an unset variable would not.
                    Found::Unset(name) => unset = unset.or(Some(name)),
                }
                continue;
            }
            if out.bare.is_none() {
                out.bare = self.bare(here);
            }
            let (one, after) = here.split_at(1);
            out.text.push_str(one);
            rest = after;
        }
        out.text.push_str(rest);
        unset.map_or(Ok(out), |name| Err(Missing::Variable(name)))
    }

    fn look_up<'t>(&'t self, whole: &'t str, body: &'t str) -> Found<'t> {
        let (name, default) = match body.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (body, None),
        };
        let (value, secret) = match name {
            "/" => (Some(MAIN_SEPARATOR_STR), false),
            "userHome" => (self.host.get("HOME").copied(), false),
            "workspaceFolder" => (self.options.workspace_folder.as_deref(), false),
            _ if name.starts_with("file:") => {
                return Found::Refused(format!("{whole}: the content of files is not filled in; use a variable"));
            }
            _ => match (name.strip_prefix("env:"), name.strip_prefix("input:")) {
                (Some(variable), _) => (self.host.get(variable).copied(), true),
                (_, Some(id)) => match self.options.inputs.iter().find(|(known, _)| known == id) {
                    Some((_, value)) => (Some(value.as_str()), true),
                    None if default.is_some() => (None, true),
                    None => {
                        let reason = format!("{whole}: there is no such input; give it in the option inputs");
                        return Found::Refused(reason);
                    }
                },
                _ if is_name(name) => (self.host.get(name).copied(), true),
                _ => return Found::Foreign,
            },
        };
        match (value, default) {
            // As in a shell, `:-` also stands in for an empty value.
            (None | Some(""), Some(default)) => Found::Value(default, true),
            (Some(value), _) => Found::Value(value, secret),
            (None, None) => Found::Unset(name.strip_prefix("env:").unwrap_or(name).to_owned()),
        }
    }

    fn bare(&self, here: &str) -> Option<Bare> {
        let name = here.strip_prefix('$')?;
        let name = name.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next().filter(|it| is_name(it))?;
        Some(if self.host.contains_key(name) { Bare::Known(name.to_owned()) } else { Bare::Unknown })
    }
}

/// The placeholder that `here` begins with, whole and what is inside it.
fn placeholder(here: &str) -> Option<(&str, &str)> {
    let (opening, end) = if here.starts_with("${") {
        (2, closing_brace(here.get(2..)?)? + 2)
    } else if here.starts_with("{env:") || here.starts_with("{file:") {
        (1, here.find('}')?)
    } else {
        return None;
    };
    Some((here.get(..=end)?, here.get(opening..end)?))
}

/// The brace that closes `body`, so that a default may be JSON; if they do not pair, the first one.
fn closing_brace(body: &str) -> Option<usize> {
    // Pairs are looked for only so far: a text full of openings must not cost the square of its length.
    const FAR: usize = 4096;
    let mut depth = 0_usize;
    for (index, byte) in body.bytes().enumerate().take(FAR) {
        match byte {
            b'{' => depth += 1,
            b'}' if depth == 0 => return Some(index),
            b'}' => depth -= 1,
            _ => {}
        }
    }
    body.find('}')
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// What a message may say of `${NAME:=secret}`.
fn beginning_of_name(body: &str) -> String {
    let name: String = body.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
    if name.len() == body.len() { name } else { format!("{name}…") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host() -> Vec<(String, String)> {
        [("HOME", "/home/me"), ("TOKEN", "tok${OTHER}"), ("EMPTY", ""), ("OTHER", "oops"), ("TOKEN", "second")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec()
    }

    fn options() -> Options {
        Options {
            workspace_folder: Some("/work".to_owned()),
            inputs: vec![("id".to_owned(), "typed".to_owned())],
            ..Options::default()
        }
    }

    #[test]
    fn fills_in() {
        let (host, options) = (host(), options());
        let variables = Variables::new(&host, &options);
        for (text, expected) in [
            ("plain", "plain"),
            ("", ""),
            ("${TOKEN}", "tok${OTHER}"),
            ("a${OTHER}b${OTHER}c", "aoopsboopsc"),
            ("${env:OTHER}", "oops"),
            ("{env:OTHER}", "oops"),
            ("${NOPE:-fallback}", "fallback"),
            ("${NOPE:-}", ""),
            ("${NOPE:-${OTHER}}!", "${OTHER}!"),
            ("${NOPE:-{\"a\":{}}}", "{\"a\":{}}"),
            ("${NOPE:-{}", "{"),
            ("${env:NOPE:-x}", "x"),
            ("${input:nope:-x}", "x"),
            ("${OTHER:-x}", "oops"),
            ("${EMPTY}", ""),
            ("${EMPTY:-x}", "x"),
            ("${userHome}${/}x", "/home/me/x"),
            ("${workspaceFolder}/x", "/work/x"),
            ("${input:id}", "typed"),
            ("$${TOKEN}", "${TOKEN}"),
            ("$$${OTHER}", "$${OTHER}"),
            ("$${env:TOKEN}", "${env:TOKEN}"),
            ("${unterminated", "${unterminated"),
            ("{env:unterminated", "{env:unterminated"),
            ("}${", "}${"),
            ("{\"json\": {}}", "{\"json\": {}}"),
            ("$", "$"),
            ("ü${OTHER}ü", "üoopsü"),
            ("$5 and $ and $!", "$5 and $ and $!"),
        ] {
            let expanded = variables.expand(text, false).unwrap_or_else(|missing| panic!("{text}: {missing:?}"));
            assert_eq!(expanded.text, expected, "{text}");
        }
    }

    #[test]
    fn foreign_placeholders_stay_in_arguments_only() {
        let (host, options) = (host(), options());
        let variables = Variables::new(&host, &options);
        for text in ["${1}", "${@}", "${}", "${NAME:=x}", "${a b}", "${config:x}"] {
            assert_eq!(variables.expand(text, true).map(|it| it.text), Ok(text.to_owned()));
            assert!(matches!(variables.expand(text, false), Err(Missing::Variable(_))), "{text}");
        }
        assert_eq!(variables.expand("${NAME:=x}", false), Err(Missing::Variable("NAME…".to_owned())));
    }

    #[test]
    fn missing() {
        let (host, options) = (host(), Options::default());
        let variables = Variables::new(&host, &options);
        for (text, name) in [
            ("${NOPE}", "NOPE"),
            ("a${NOPE}${ALSO}", "NOPE"),
            ("${env:NOPE}", "NOPE"),
            ("{env:NO.PE}", "NO.PE"),
            ("${workspaceFolder}", "workspaceFolder"),
        ] {
            assert_eq!(variables.expand(text, true), Err(Missing::Variable(name.to_owned())), "{text}");
        }
        for (text, named) in
            [("${NOPE}${file:/x}", "${file:/x}"), ("{file:~/x}", "{file:~/x}"), ("${input:id}", "${input:id}")]
        {
            for in_arguments in [true, false] {
                match variables.expand(text, in_arguments) {
                    Err(Missing::Refused(reason)) => assert!(reason.contains(named), "{reason}"),
                    other => panic!("{text}: {other:?}"),
                }
            }
        }
    }

    #[test]
    fn a_bare_dollar_is_seen() {
        let (host, options) = (host(), options());
        let variables = Variables::new(&host, &options);
        for (text, expected) in [
            ("x $HOME y", Some(Bare::Known("HOME".to_owned()))),
            ("pa$sword", Some(Bare::Unknown)),
            ("${OTHER}$1", None),
            ("$${HOME}", None),
        ] {
            assert_eq!(variables.expand(text, false).map(|it| it.bare), Ok(expected), "{text}");
        }
    }

    #[test]
    fn values_that_may_be_secret() {
        let (host, options) = (host(), options());
        let variables = Variables::new(&host, &options);
        let expanded = variables.expand("${OTHER}${input:id}${NOPE:-dflt}${userHome}${/}${workspaceFolder}", true);
        assert_eq!(expanded.map(|it| it.values), Ok(["oops", "typed", "dflt"].map(str::to_owned).to_vec()));
    }

    #[test]
    fn a_text_full_of_openings_is_quick() {
        let (host, options) = (host(), options());
        let variables = Variables::new(&host, &options);
        for piece in ["${", "${{", "${{a}", "{env:", "$"] {
            assert!(variables.expand(&piece.repeat(10_000), true).is_ok_and(|it| it.text.len() >= 10_000), "{piece}");
        }
    }
}
