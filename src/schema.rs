//! The same tools as OpenAI, Anthropic and Gemini want them.
//!
//! Descriptions and schemas go through as they are: a provider that wants less of a schema is the host's to please.
#![forbid(unsafe_code)]

use std::sync::Arc;

use crate::json::Raw;
use crate::outcome::{Failure, Status};
use crate::tool::{EMPTY_SCHEMA, Tool};

/// Whose form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provider {
    OpenAi,
    Anthropic,
    Gemini,
}

impl Provider {
    pub fn named(name: &str) -> Result<Provider, Failure> {
        match name {
            "openai" => Ok(Provider::OpenAi),
            "anthropic" => Ok(Provider::Anthropic),
            "gemini" => Ok(Provider::Gemini),
            _ => {
                let message = format!(r#"provider is {name:?}, expected "openai", "anthropic" or "gemini""#);
                Err(Failure::new(Status::Argument, message))
            }
        }
    }
}

/// The tools in the provider's form, a JSON array.
pub fn schema(tools: &[Arc<Tool>], provider: Provider) -> String {
    let (before, open, schema_key, close, after) = match provider {
        Provider::OpenAi => ("[", r#"{"type":"function","function":{"#, "parameters", "}}", "]"),
        Provider::Anthropic => ("[", "{", "input_schema", "}", "]"),
        Provider::Gemini => (r#"[{"functionDeclarations":["#, "{", "parameters", "}", "]}]"),
    };
    let mut out = String::from(before);
    for (index, tool) in tools.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        let (mut name, mut description, mut input) = ("\"\"", "\"\"", EMPTY_SCHEMA);
        for (key, value) in Raw::checked(tool.document().as_str()).members() {
            match &*key {
                "name" => name = value.text(),
                "description" => description = value.text(),
                "inputSchema" => input = value.text(),
                _ => {}
            }
        }
        let parts =
            [open, r#""name":"#, name, r#","description":"#, description, ",\"", schema_key, "\":", input, close];
        parts.iter().for_each(|part| out.push_str(part));
    }
    out.push_str(after);
    out
}
