//! What replies say before anybody knows what they are about: errors, and whether a result is complete.
#![forbid(unsafe_code)]

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::json::{Kind, Raw};
pub use crate::outcome::shortened;
use crate::outcome::{Failure, Status};
use crate::wire::mux::Reply;

pub const METHOD_NOT_FOUND: i64 = -32601;
pub const INVALID_PARAMS: i64 = -32602;
pub const HEADER_MISMATCH: i64 = -32020;
pub const MISSING_CAPABILITY: i64 = -32021;
pub const UNSUPPORTED_VERSION: i64 = -32022;

/// The code of a JSON-RPC error, also where it was sent as a float.
pub fn code(error: Raw<'_>) -> Option<i64> {
    let code = error.get("code")?;
    code.as_i64().or_else(|| code.as_f64().filter(|code| code.fract() == 0.0).map(|code| code as i64))
}

/// The failure that a JSON-RPC error is. Its message is the server's own; its data is the whole error object.
pub fn server_error(error: Raw<'_>) -> Failure {
    let message = said(error.get("message")).or_else(|| said(Some(error))).map_or_else(
        || format!("the server answered with an error that has no message: {}", shortened(error.text())),
        Cow::into_owned,
    );
    let mut failure = Failure::new(Status::Server, message);
    failure.data = RawValue::from_string(error.text().to_owned()).ok();
    failure
}

fn said(text: Option<Raw<'_>>) -> Option<Cow<'_, str>> {
    text.and_then(Raw::as_str).filter(|text| !text.trim().is_empty())
}

/// The result of a reply, if it is complete. `method` names the request in messages.
pub fn complete<'a>(method: &str, reply: &'a Reply) -> Result<Raw<'a>, Failure> {
    if reply.is_error {
        return Err(server_error(reply.raw()));
    }
    let result = reply.raw();
    if result.kind() != Kind::Object {
        let what = result.kind().name();
        return Err(Failure::new(
            Status::Protocol,
            format!("the server answered {method} with {what} as result, expected an object"),
        ));
    }
    match reply.result_type() {
        None => Ok(result),
        Some(kind) => match kind.as_str().as_deref() {
            Some("complete") => Ok(result),
            _ => Err(incomplete(method, kind)),
        },
    }
}

/// The failure of a result that is not of the kind that was asked for.
pub fn incomplete(method: &str, result_type: Raw<'_>) -> Failure {
    let what = match result_type.as_str().as_deref() {
        Some("input_required") => {
            format!("the server answered {method} with input_required, which is not allowed there")
        }
        Some("task") => format!("the server answered {method} with a task, which was not offered to it"),
        Some(other) => {
            format!("the server answered {method} with the unknown resultType {:?}", shortened(other))
        }
        None => format!("the server answered {method} with a resultType that is {}", result_type.kind().name()),
    };
    Failure::new(Status::Protocol, what)
}
