//! Whether structured content is what its tool's `outputSchema` promises (MCP 2026-07-28, tools, structured content).
//!
//! A tool that breaks its promise has still answered: what is found ends up as warnings in the result's metadata. The schema
//! and the content are a server's, so both are looked at only within bounds, and nothing that a schema refers to is fetched.
//! The check runs when somebody asks for the result's document, on their thread: calls do not wait for it.
//!
//! - `outline`: what a schema applies to what, and what cannot be checked at all.
//! - `effort`: how much work a check is at most, counted before it begins.
#![forbid(unsafe_code)]

mod effort;
mod outline;
#[cfg(test)]
mod tests;

use std::error::Error;
use std::fmt;

use boon::{CompileError, Compiler, ErrorKind, Format, SchemaIndex, Schemas, UrlLoader, ValidationError};
use serde_json::Value;

use self::outline::Outline;
use super::report::Report;
use super::rpc::shortened;

/// The longest schema and the longest content that are looked at, in bytes.
const SCHEMA_AT_MOST: usize = 256 * 1024;
const CONTENT_AT_MOST: usize = 1024 * 1024;
/// How many faults one warning each is made of.
const FAULTS: usize = 10;
/// Of the branches of an `anyOf` or `oneOf`, how many say why they do not match.
const BRANCHES: usize = 3;
/// The name of the schema in the compiler. References are resolved against it.
const URL: &str = "schema://tool/outputSchema";
/// What the validator would take as more than a word in schemas older than 2019-09.
const FORMATS: [&str; 19] = [
    "date",
    "date-time",
    "duration",
    "email",
    "hostname",
    "idn-email",
    "idn-hostname",
    "ipv4",
    "ipv6",
    "iri",
    "iri-reference",
    "json-pointer",
    "period",
    "relative-json-pointer",
    "time",
    "uri",
    "uri-reference",
    "uri-template",
    "uuid",
];

/// A compiled `outputSchema`.
pub struct Check {
    outline: Outline,
    schemas: Schemas,
    root: SchemaIndex,
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Check").field("outline", &self.outline).finish_non_exhaustive()
    }
}

impl Check {
    /// Fails with the reason why nothing can be checked against this schema.
    pub fn new(schema: &str) -> Result<Check, String> {
        if schema.len() > SCHEMA_AT_MOST {
            return Err(format!("the schema has {} bytes; at most {SCHEMA_AT_MOST} are looked at", schema.len()));
        }
        let schema: Value = serde_json::from_str(schema).map_err(|error| format!("the schema: {error}"))?;
        let outline = Outline::new(&schema)?;
        let mut compiler = Compiler::new();
        compiler.use_loader(Box::new(Nothing));
        // In every dialect as in today's: a format is for whoever reads the schema.
        for name in FORMATS {
            compiler.register_format(Format { name, func: |_| Ok(()) });
        }
        let mut schemas = Schemas::new();
        compiler.add_resource(URL, schema).map_err(|error| not_compiled(&error))?;
        let root = compiler.compile(URL, &mut schemas).map_err(|error| not_compiled(&error))?;
        Ok(Check { outline, schemas, root })
    }

    /// What in `content` is not as promised. Fails with the reason if it could not be checked.
    pub fn faults(&self, content: &str) -> Result<Report<String>, String> {
        if content.len() > CONTENT_AT_MOST {
            return Err(format!("it has {} bytes; at most {CONTENT_AT_MOST} are looked at", content.len()));
        }
        let content: Value = serde_json::from_str(content).map_err(|error| error.to_string())?;
        effort::allow(&self.outline, &content)?;
        let mut faults = Report::default();
        if let Err(error) = self.schemas.validate(&content, self.root) {
            collect(&error, &mut faults);
        }
        Ok(faults)
    }
}

/// The warnings about a result's structured content, as the result's document has them.
pub fn warnings(check: &Result<Check, String>, content: &str) -> Vec<String> {
    match check.as_ref().map_err(Clone::clone).and_then(|check| check.faults(content)) {
        Ok(faults) => {
            let more = faults.items.len().saturating_sub(FAULTS) + faults.more;
            let told = faults.items.into_iter().take(FAULTS);
            let mut lines: Vec<String> =
                told.map(|fault| format!("structuredContent does not match the outputSchema: {fault}")).collect();
            if more > 0 {
                lines.push(format!("and {more} more of this kind"));
            }
            lines
        }
        Err(reason) => vec![format!("structuredContent was not checked against the outputSchema: {reason}")],
    }
}

fn not_compiled(error: &CompileError) -> String {
    if let CompileError::ValidationError { src, .. } = error {
        let mut faults = Report::default();
        collect(src, &mut faults);
        if let Some(first) = faults.items.into_iter().next() {
            return format!("the schema: {first}");
        }
    }
    format!("the schema: {}", shortened(&error.to_string()))
}

fn collect(error: &ValidationError<'_, '_>, faults: &mut Report<String>) {
    match &error.kind {
        ErrorKind::Group | ErrorKind::Schema { .. } | ErrorKind::Reference { .. } | ErrorKind::AllOf
            if !error.causes.is_empty() =>
        {
            error.causes.iter().for_each(|cause| collect(cause, faults));
        }
        _ => faults.add(|| {
            let place = match error.instance_location.to_string() {
                top if top.is_empty() => "at the top".to_owned(),
                place => shortened(&place),
            };
            format!("{place}: {}", said(error))
        }),
    }
}

/// What is wrong, with the reasons of the first branches where there was a choice.
fn said(error: &ValidationError<'_, '_>) -> String {
    let said = said_of(&error.kind);
    let branches: Vec<String> = error.causes.iter().take(BRANCHES).map(|cause| said_by_branch(cause)).collect();
    if branches.is_empty() { said } else { format!("{said} ({})", branches.join("; ")) }
}

fn said_by_branch(mut error: &ValidationError<'_, '_>) -> String {
    while let Some(first) = error.causes.first() {
        error = first;
    }
    said_of(&error.kind)
}

fn said_of(kind: &ErrorKind<'_, '_>) -> String {
    match kind {
        // Without the text itself, which may be long.
        ErrorKind::Pattern { want, .. } => shortened(&format!("does not match the pattern {want}")),
        kind => shortened(&kind.to_string()),
    }
}

/// Loads nothing: what a schema refers to elsewhere is not fetched, neither from the network nor from files.
struct Nothing;

impl UrlLoader for Nothing {
    fn load(&self, url: &str) -> Result<Value, Box<dyn Error>> {
        Err(format!("{url} is not part of the schema, and nothing is fetched").into())
    }
}
