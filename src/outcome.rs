//! How things end: the status codes, and the failure that every layer reports with.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::value::RawValue;

/// What kind of outcome a call had. The numbers are the C ABI's `TN_…` constants and never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum Status {
    Ok = 0,
    Argument = 1,
    Utf8 = 2,
    Json = 3,
    Handle = 4,
    Reentrant = 5,
    Forked = 6,
    Config = 7,
    NotFound = 8,
    Cancelled = 20,
    Timeout = 21,
    Closed = 22,
    Limit = 23,
    Spawn = 40,
    Transport = 41,
    Protocol = 42,
    Server = 43,
    Auth = 44,
    Internal = 90,
}

impl Status {
    /// The name of the status in C.
    pub const fn name(self) -> &'static str {
        match self {
            Status::Ok => "TN_OK",
            Status::Argument => "TN_E_ARGUMENT",
            Status::Utf8 => "TN_E_UTF8",
            Status::Json => "TN_E_JSON",
            Status::Handle => "TN_E_HANDLE",
            Status::Reentrant => "TN_E_REENTRANT",
            Status::Forked => "TN_E_FORKED",
            Status::Config => "TN_E_CONFIG",
            Status::NotFound => "TN_E_NOT_FOUND",
            Status::Cancelled => "TN_E_CANCELLED",
            Status::Timeout => "TN_E_TIMEOUT",
            Status::Closed => "TN_E_CLOSED",
            Status::Limit => "TN_E_LIMIT",
            Status::Spawn => "TN_E_SPAWN",
            Status::Transport => "TN_E_TRANSPORT",
            Status::Protocol => "TN_E_PROTOCOL",
            Status::Server => "TN_E_SERVER",
            Status::Auth => "TN_E_AUTH",
            Status::Internal => "TN_E_INTERNAL",
        }
    }

    /// The `code` of the error document: the name without its prefix, in lower case.
    pub fn code(self) -> String {
        let name = self.name();
        name.strip_prefix("TN_E_").unwrap_or(name).to_ascii_lowercase()
    }
}

/// Where in a server's life a failure happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Config,
    Start,
    Initialize,
    List,
    Call,
}

impl Phase {
    pub const fn name(self) -> &'static str {
        match self {
            Phase::Config => "config",
            Phase::Start => "start",
            Phase::Initialize => "initialize",
            Phase::List => "list",
            Phase::Call => "call",
        }
    }
}

/// A failure, written for the person who must act on it.
#[derive(Clone, Debug)]
pub struct Failure {
    pub status: Status,
    pub message: String,
    pub phase: Option<Phase>,
    pub server: Option<String>,
    /// The server's own error object, byte for byte, if it sent one.
    pub data: Option<Box<RawValue>>,
    pub again: Again,
}

/// Whether what failed may be done again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Again {
    #[default]
    No,
    /// The server refused it unexecuted, for want of a session: in a new one it may be done.
    InNewSession,
    /// If it changes nothing at the server: once, after so long.
    After(Duration),
}

impl Failure {
    pub fn new(status: Status, message: impl Into<String>) -> Self {
        Failure { status, message: message.into(), phase: None, server: None, data: None, again: Again::No }
    }

    #[must_use]
    pub fn at(mut self, phase: Phase) -> Self {
        self.phase = Some(phase);
        self
    }

    #[must_use]
    pub fn of(mut self, server: &str) -> Self {
        self.server = Some(server.to_owned());
        self
    }
}

/// At most 200 characters of a text.
pub fn shortened(text: &str) -> String {
    match text.char_indices().nth(200) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

impl Failure {
    /// The `error` object of a result's document.
    pub fn json(&self) -> String {
        let mut out = String::from("{\"code\":\"");
        out.push_str(&self.status.code());
        out.push_str("\",\"message\":");
        out.push_str(&quoted(&self.message));
        if let Some(phase) = self.phase {
            out.push_str(",\"phase\":\"");
            out.push_str(phase.name());
            out.push('"');
        }
        if let Some(server) = &self.server {
            out.push_str(",\"server\":");
            out.push_str(&quoted(server));
        }
        if let Some(data) = &self.data {
            out.push_str(",\"data\":");
            out.push_str(data.get());
        }
        out.push('}');
        out
    }
}

/// A text as a JSON string.
pub fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// What an outcome says, made when somebody asks.
pub trait Document: Send + Sync {
    /// The text for the model; on failure the message.
    fn output(&self) -> String;
    /// The whole document.
    fn json(&self) -> String;
    /// About how many bytes the document has.
    fn size(&self) -> usize {
        0
    }
}

/// A text that C can read: followed by a NUL, its length known.
#[derive(Debug)]
pub struct Text(String);

impl Text {
    pub fn new(mut text: String) -> Self {
        text.push('\0');
        Text(text)
    }

    /// The text without its NUL.
    pub fn as_str(&self) -> &str {
        &self.0[..self.0.len() - 1]
    }

    pub fn as_ptr(&self) -> *const u8 {
        self.0.as_ptr()
    }
}

/// How a call ended. The texts are made at most once, by the thread that first asks.
pub struct Outcome {
    pub status: Status,
    pub is_error: bool,
    document: Box<dyn Document>,
    output: OnceLock<Text>,
    json: OnceLock<Text>,
    /// The object that the call made, until somebody takes it.
    made: Mutex<Option<Made>>,
}

/// An object that a call made: the layer that made it knows its type.
pub type Made = Arc<dyn Any + Send + Sync>;

impl Outcome {
    pub fn new(status: Status, is_error: bool, document: impl Document + 'static) -> Self {
        Outcome {
            status,
            is_error,
            document: Box::new(document),
            output: OnceLock::new(),
            json: OnceLock::new(),
            made: Mutex::new(None),
        }
    }

    /// Adds the object that the call made.
    #[must_use]
    pub fn making(self, made: Made) -> Self {
        *self.made.lock() = Some(made);
        self
    }

    /// Takes the object, if it is of this type and was not taken before.
    pub fn take<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        let mut made = self.made.lock();
        match made.take()?.downcast::<T>() {
            Ok(object) => Some(object),
            Err(other) => {
                *made = Some(other);
                None
            }
        }
    }

    /// True while there is an object to take.
    pub fn has_made(&self) -> bool {
        self.made.lock().is_some()
    }

    /// A success that has a document and nothing for a model to read.
    pub fn document(json: String) -> Self {
        Outcome::new(Status::Ok, false, Plain { output: String::new(), json })
    }

    pub fn output(&self) -> &Text {
        self.output.get_or_init(|| Text::new(self.document.output()))
    }

    pub fn json(&self) -> &Text {
        self.json.get_or_init(|| Text::new(self.document.json()))
    }

    /// About how many bytes the document has.
    pub fn size(&self) -> usize {
        self.document.size()
    }
}

impl fmt::Debug for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outcome").field("status", &self.status).field("is_error", &self.is_error).finish()
    }
}

impl From<Failure> for Outcome {
    fn from(failure: Failure) -> Self {
        Outcome::new(failure.status, true, Failed(failure))
    }
}

/// Texts that are ready.
struct Plain {
    output: String,
    json: String,
}

impl Document for Plain {
    fn output(&self) -> String {
        self.output.clone()
    }
    fn json(&self) -> String {
        self.json.clone()
    }
    fn size(&self) -> usize {
        self.json.len()
    }
}

/// The document of a failure that is no tool's.
struct Failed(Failure);

impl Document for Failed {
    fn output(&self) -> String {
        self.0.message.clone()
    }
    fn json(&self) -> String {
        format!("{{\"error\":{}}}", self.0.json())
    }
}

/// A tool's result whose text is the library's or the host's own, not a server's message.
pub struct ToolText {
    pub output: String,
    pub is_error: bool,
    /// The members of `metadata`, without the braces.
    pub metadata: String,
    pub failure: Option<Failure>,
}

impl ToolText {
    pub fn outcome(self) -> Outcome {
        let status = self.failure.as_ref().map_or(Status::Ok, |failure| failure.status);
        Outcome::new(status, self.is_error, self)
    }
}

impl Document for ToolText {
    fn output(&self) -> String {
        self.output.clone()
    }
    fn size(&self) -> usize {
        self.output.len()
    }
    fn json(&self) -> String {
        let error = self.failure.as_ref().map(|failure| format!(",\"error\":{}", failure.json()));
        format!(
            "{{\"output\":{},\"isError\":{},\"metadata\":{{{}}},\"parts\":[],\"content\":[]{}}}",
            quoted(&self.output),
            self.is_error,
            self.metadata,
            error.unwrap_or_default()
        )
    }
}
