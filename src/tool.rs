//! What any tool is: a name, a document for the model, and something that runs it.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::OnceLock;

use crate::context::Limits;
use crate::json::{self, Kind, Raw};
use crate::outcome::{Failure, Outcome, Status, Text};

/// The arguments of one call: the text of a JSON object on one line, ready for the wire.
#[derive(Clone, Debug)]
pub struct Arguments(String);

impl Arguments {
    /// None is an empty object. Anything that is no JSON object is `TN_E_JSON`, in words for the model that wrote it.
    pub fn parse(text: Option<&str>) -> Result<Self, Failure> {
        let Some(text) = text else { return Ok(Arguments("{}".to_owned())) };
        let bad = |why: String| Failure::new(Status::Json, why);
        json::check(text.as_bytes()).map_err(|error| {
            bad(format!("the arguments are not valid JSON: {} at byte {}; send one JSON object", error.what, error.at))
        })?;
        let raw = Raw::checked(text);
        if raw.kind() != Kind::Object {
            return Err(bad(format!("the arguments must be a JSON object, not {}", raw.kind().name())));
        }
        Ok(Arguments(json::single_line(raw).into_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn raw(&self) -> Raw<'_> {
        Raw::checked(&self.0)
    }
}

/// A call under way. A failure of the tool, of its server, or of the way to it is an outcome that a model can read; `Err` is
/// left for what is not the tool's.
pub type Running = Pin<Box<dyn Future<Output = Result<Outcome, Failure>> + Send>>;

/// Runs one tool.
pub trait Run: Send + Sync {
    fn run(&self, arguments: Arguments, limits: Limits) -> Running;
    /// Makes the tool's document.
    fn document(&self) -> String;
}

/// One tool, as every source offers it.
pub struct Tool {
    name: Text,
    run: Box<dyn Run>,
    document: OnceLock<Text>,
}

impl Tool {
    pub fn new(name: &str, run: impl Run + 'static) -> Self {
        Tool { name: Text::new(name.to_owned()), run: Box::new(run), document: OnceLock::new() }
    }

    pub fn name(&self) -> &Text {
        &self.name
    }

    pub fn document(&self) -> &Text {
        self.document.get_or_init(|| Text::new(self.run.document()))
    }

    pub fn run(&self, arguments: Arguments, limits: Limits) -> Running {
        self.run.run(arguments, limits)
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tool").field(&self.name.as_str()).finish()
    }
}
