//! How things end: the status codes, and the failure that every layer reports with.

use std::fmt;

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
#[derive(Debug)]
pub struct Failure {
    pub status: Status,
    pub message: String,
    pub phase: Option<Phase>,
    pub server: Option<String>,
    /// The server's own error object, byte for byte, if it sent one.
    pub data: Option<Box<RawValue>>,
}

impl Failure {
    pub fn new(status: Status, message: impl Into<String>) -> Self {
        Failure { status, message: message.into(), phase: None, server: None, data: None }
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

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}
