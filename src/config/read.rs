//! From a text or a path to the entries of servers.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::Ranged as _;
use jsonc_parser::errors::{ParseError, ParseErrorKind};
use jsonc_parser::{CollectOptions, ParseOptions, ParseStringErrorKind, parse_to_ast};

use crate::outcome::{Failure, Phase, Status};

/// No config is larger. It bounds what a wrong path (a device, a log) can cost.
const LARGEST: u64 = 16 * 1024 * 1024;

/// A config's text, and the file it comes from.
pub(super) struct Source<'a> {
    text: Cow<'a, str>,
    file: Option<&'a str>,
}

impl Source<'_> {
    /// What relative paths of files in the config are relative to.
    pub fn folder(&self) -> Option<&Path> {
        Path::new(self.file?).parent()
    }

    fn failure_at(&self, offset: usize, expected: &str) -> Failure {
        // The parser counts a lone carriage return as the end of a line; so do editors.
        let before = self.text.get(..offset).unwrap_or(&self.text).replace("\r\n", "\n").replace('\r', "\n");
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        self.failure(line, column, expected)
    }

    fn failure(&self, line: usize, column: usize, expected: &str) -> Failure {
        let place = self.file.unwrap_or("config");
        failure(format!("{place}, line {line}, column {column}: {expected}"))
    }
}

fn failure(message: String) -> Failure {
    Failure::new(Status::Config, message).at(Phase::Config)
}

/// `config` itself if it is JSON text, else the text of the file that it names.
pub(super) fn source(config: &str) -> Result<Source<'_>, Failure> {
    let text = config.trim_start_matches('\u{feff}');
    if after_comments(text).starts_with('{') {
        return Ok(Source { text: Cow::Borrowed(text), file: None });
    }
    let bytes = read_file(Path::new(config)).map_err(|error| {
        let expected = "expected JSON text that begins with {, or the path of a file with such text";
        // What is hardly a path is not repeated: it may be a config that lost its first brace, with all its secrets.
        if config.is_empty() || config.len() > 4096 || config.contains(['\n', '"', '\0']) {
            return failure(format!("config, line 1, column 1: {expected}"));
        }
        failure(format!("{config}: {error}; {expected}"))
    })?;
    let mut source = Source { text: String::from_utf8_lossy(&bytes).into_owned().into(), file: Some(config) };
    if let Err(error) = std::str::from_utf8(&bytes) {
        // Up to the first bad byte both texts are the same.
        return Err(source.failure_at(error.valid_up_to(), "expected UTF-8 text"));
    }
    if let Some(text) = source.text.strip_prefix('\u{feff}') {
        source.text = Cow::Owned(text.to_owned());
    }
    Ok(source)
}

/// The bytes of a file of reasonable size.
pub(super) fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // A pipe or a device could keep the reader waiting for ever.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    File::open(path)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(io::Error::other("the file is larger than 16 MiB"));
    }
    Ok(bytes)
}

/// `text` from its first character that is neither blank nor part of a comment.
fn after_comments(text: &str) -> &str {
    let mut rest = text.trim_start();
    loop {
        let after = if let Some(comment) = rest.strip_prefix("//") {
            comment.split_once(['\n', '\r'])
        } else if let Some(comment) = rest.strip_prefix("/*") {
            comment.split_once("*/")
        } else {
            return rest;
        };
        match after {
            Some((_, after)) => rest = after.trim_start(),
            None => return "",
        }
    }
}

/// The object that the text is, with comments and trailing commas accepted and nothing else that is not JSON.
pub(super) fn root<'a>(source: &'a Source<'_>) -> Result<Object<'a>, Failure> {
    if let Some(offset) = too_deep(&source.text) {
        return Err(source.failure_at(offset, "expected at most 64 values inside each other"));
    }
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let parsed = parse_to_ast(&source.text, &CollectOptions::default(), &options)
        .map_err(|error| source.failure(error.line_display(), error.column_display(), &expected(&error)))?;
    match parsed.value {
        Some(Value::Object(object)) => Ok(object),
        other => Err(source.failure_at(other.map_or(0, |value| value.range().start), "expected an object")),
    }
}

/// Where the text nests deeper than any config does. The parser recurses, on a thread of the host, whose stack may be
/// small.
fn too_deep(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(byte) = text.as_bytes().get(at) {
        match byte {
            b'"' => at += string_length(text.as_bytes().get(at..).unwrap_or_default()),
            b'/' => at += comment_length(text.get(at..).unwrap_or_default()),
            b'{' | b'[' if depth == 64 => return Some(at),
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    None
}

/// The bytes of a string before its closing quote, its opening one counted.
fn string_length(text: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    text.len()
}

/// The bytes of a comment before its last; 0 if it is none.
fn comment_length(text: &str) -> usize {
    let end = match text.get(..2) {
        Some("//") => text.find(['\n', '\r']),
        Some("/*") => text.get(2..).and_then(|inside| inside.find("*/")).map(|at| at + 3),
        _ => Some(0),
    };
    end.unwrap_or(text.len())
}

fn expected(error: &ParseError) -> String {
    use ParseErrorKind as Kind;
    let expected = match error.kind() {
        Kind::ExpectedColonAfterObjectKey => "expected a colon after the key",
        Kind::ExpectedObjectValue => "expected a value after the colon",
        Kind::ExpectedStringObjectProperty => "expected a key in double quotes",
        Kind::UnexpectedTokenInObject => "expected a key in double quotes, or }",
        Kind::ExpectedComma => "expected a comma",
        Kind::MultipleRootJsonValues => "expected nothing more after the closing }",
        Kind::SingleQuotedStringsNotAllowed => "expected double quotes",
        Kind::String(ParseStringErrorKind::UnterminatedStringLiteral) => {
            "expected a closing \" for the text that begins here"
        }
        Kind::String(_) => "expected an escape that JSON knows (a backslash itself is written \\\\)",
        Kind::UnterminatedObject => "expected a } for the { that stands here",
        Kind::UnterminatedArray => "expected a ] for the [ that stands here",
        Kind::UnterminatedCommentBlock => "expected a */ for the comment that begins here",
        Kind::NestingDepthExceeded => "expected fewer values inside each other",
        Kind::BareDecimalPointNumbersNotAllowed
        | Kind::ExpectedDigit
        | Kind::ExpectedDigitFollowingNegativeSign
        | Kind::ExpectedPlusMinusOrDigitInNumberLiteral
        | Kind::HexadecimalNumbersNotAllowed
        | Kind::NonFiniteNumbersNotAllowed
        | Kind::UnaryPlusNumbersNotAllowed => "expected a number such as 30 or -1.5",
        _ => "expected a value: text in double quotes, a number, true, false, null, { or [",
    };
    expected.to_owned()
}

/// One entry, before it is understood.
pub(super) struct Found<'a> {
    pub name: &'a str,
    pub path: String,
    pub value: &'a Value<'a>,
}

const CONTAINERS: &[&[&str]] = &[&["mcp", "servers"], &["mcpServers"], &["servers"], &["mcp"], &["context_servers"]];

/// Keys of a top-level object that are no servers even if nothing else is.
const RESERVED: &[&str] = &["builtins", "agents", "a2a", "mcpServer", "$schema", "inputs"];

/// The entries in the order of the file. A name that comes again counts where it comes last.
pub(super) fn entries<'a>(
    root: &'a Object<'a>,
    source: &Source<'_>,
    warnings: &mut Vec<String>,
) -> Result<Vec<Found<'a>>, Failure> {
    let present = CONTAINERS.iter().filter_map(|keys| {
        let (first, inner) = keys.split_first()?;
        let outer = last(root, first)?;
        let value = inner.iter().try_fold(outer, |value, key| last(value.as_object()?, key))?;
        Some((keys.join("."), value))
    });
    // One that is no object counts only if there is no other: it is a mistake then, and worth an error.
    let found = present.clone().find(|(_, value)| value.as_object().is_some()).or_else(|| present.clone().next());
    let (prefix, object) = match &found {
        None => (String::new(), root),
        Some((path, Value::Object(object))) => (format!("{path}."), object),
        Some((path, other)) => {
            let message = format!("expected an object of servers under {path}");
            return Err(source.failure_at(other.range().start, &message));
        }
    };
    let entries = unique(object, &prefix, warnings).into_iter();
    Ok(entries
        .filter(|(name, _)| found.is_some() || !RESERVED.contains(name))
        .map(|(name, value)| Found { name, path: format!("{prefix}{name}"), value })
        .collect())
}

/// The properties of an object. A name that comes again counts where it comes last, with a warning.
pub(super) fn unique<'a>(
    object: &'a Object<'a>,
    prefix: &str,
    warnings: &mut Vec<String>,
) -> Vec<(&'a str, &'a Value<'a>)> {
    let mut places: HashMap<&str, (usize, usize)> = HashMap::new();
    for (place, property) in object.properties.iter().enumerate() {
        let (last, count) = places.entry(property.name.as_str()).or_default();
        (*last, *count) = (place, *count + 1);
    }
    let mut properties = Vec::with_capacity(places.len());
    for (place, property) in object.properties.iter().enumerate() {
        let name = property.name.as_str();
        match places.get(name) {
            Some((last, count)) if *last == place => {
                if *count > 1 {
                    warnings.push(format!("{prefix}{name} is given more than once; the last one counts"));
                }
                properties.push((name, &property.value));
            }
            _ => {}
        }
    }
    properties
}

/// The value of the last property with this name.
fn last<'a>(object: &'a Object<'a>, key: &str) -> Option<&'a Value<'a>> {
    object.properties.iter().rev().find(|property| property.name.as_str() == key).map(|property| &property.value)
}
