//! What any tool is: a name, a document for the model, and something that runs it.

use std::borrow::Cow;
use std::fmt::{self, Write};
use std::future::Future;
use std::pin::Pin;
use std::sync::OnceLock;

use crate::context::Limits;
use crate::json::{self, Cursor, Kind, Raw};
use crate::outcome::{Failure, Outcome, Status, Text, ToolText};

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

/// The schema of a tool that was given none that can be used.
pub const EMPTY_SCHEMA: &str = r#"{"type":"object","properties":{}}"#;

/// What is claimed about a tool. What is not said is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    pub read_only: Option<bool>,
    pub destructive: Option<bool>,
    pub idempotent: Option<bool>,
    pub open_world: Option<bool>,
}

impl Hints {
    /// Appends the hints that were given, as a JSON object.
    pub fn write(&self, out: &mut String) {
        let all = [
            ("readOnly", self.read_only),
            ("destructive", self.destructive),
            ("idempotent", self.idempotent),
            ("openWorld", self.open_world),
        ];
        let mut comma = "";
        out.push('{');
        for (name, hint) in all {
            if let Some(hint) = hint {
                let _ = write!(out, r#"{comma}"{name}":{hint}"#);
                comma = ",";
            }
        }
        out.push('}');
    }
}

/// Passes the value at the cursor, a schema of arguments. It is an object with `type` and `properties`: as it was written, or
/// behind what it lacked. None: it is no object. Only its outermost keys are looked at.
pub fn pass_schema<'a>(cursor: &mut Cursor<'a>) -> Option<Cow<'a, str>> {
    if cursor.kind() != Kind::Object {
        cursor.value();
        return None;
    }
    let start = cursor.at();
    let (mut typed, mut with_properties, mut empty) = (false, false, true);
    cursor.open();
    while let Some(key) = cursor.key() {
        cursor.value();
        typed |= key == "type";
        with_properties |= key == "properties";
        empty = false;
    }
    let own = cursor.since(start).text();
    let added = match (typed, with_properties) {
        (true, true) => return Some(Cow::Borrowed(own)),
        (true, false) => r#""properties":{}"#,
        (false, true) => r#""type":"object""#,
        (false, false) => r#""type":"object","properties":{}"#,
    };
    let inside = own.strip_prefix('{').unwrap_or_default();
    let comma = if empty { "" } else { "," };
    Some(Cow::Owned(format!("{{{added}{comma}{inside}")))
}

/// `text` as a JSON object, for what the host's program writes. `what` names it in the message of what is wrong.
pub fn object<'a>(what: &str, text: &'a str) -> Result<Raw<'a>, Failure> {
    let bad = |why: String| Failure::new(Status::Json, why);
    let raw = Raw::parse(text).map_err(|error| {
        bad(format!("{what} is not valid JSON: {} at byte {}; expected a JSON object", error.what, error.at))
    })?;
    match raw.kind() {
        Kind::Object => Ok(raw),
        other => Err(bad(format!("{what} is {}, expected a JSON object", other.name()))),
    }
}

/// A call that did not reach its tool, or found none, as a tool's result.
pub fn refused(failure: Failure) -> Outcome {
    let output = failure.message.clone();
    ToolText { output, is_error: true, metadata: String::new(), failure: Some(failure) }.outcome()
}

/// A call under way. A failure of the tool, of its server, or of the way to it is an outcome that a model can read; `Err` is
/// left for what is not the tool's.
pub type Running = Pin<Box<dyn Future<Output = Result<Outcome, Failure>> + Send>>;

/// Runs one tool.
pub trait Run: Send + Sync {
    fn run(&self, arguments: Arguments, limits: Limits) -> Running;
    /// Makes the document of the tool, which has this name.
    fn document(&self, name: &str) -> String;
}

/// One tool, as every source offers it.
pub struct Tool {
    name: Text,
    run: Box<dyn Run>,
    document: OnceLock<Text>,
}

impl Tool {
    pub fn new(name: impl Into<String>, run: impl Run + 'static) -> Self {
        Tool { name: Text::new(name.into()), run: Box::new(run), document: OnceLock::new() }
    }

    pub fn name(&self) -> &Text {
        &self.name
    }

    pub fn document(&self) -> &Text {
        self.document.get_or_init(|| Text::new(self.run.document(self.name.as_str())))
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
