//! Tools that the host runs: each call is a question in a queue of the host's, and its answer is the result.
#![forbid(unsafe_code)]

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::ask::{Check, Question};
use crate::context::{self, Limits};
use crate::json::{Cursor, Kind, Raw};
use crate::outcome::{Document, Failure, Outcome, Phase, Status, ToolText, quoted};
use crate::queue::{self, Queue};
use crate::tool::{self, Arguments, EMPTY_SCHEMA, Hints, Run, Running, Tool};

/// How long the host may take for an answer if the call does not say otherwise.
const IDLE: Duration = Duration::from_secs(300);
/// The longest name that every model takes.
const NAME: usize = 64;

struct HostedTool {
    name: Arc<str>,
    document: String,
    calls: Arc<Queue>,
    check: Check,
}

/// Makes the tool that `spec` describes: {"name","description","inputSchema","hints"}. Its calls arrive in `calls`.
pub fn create(spec: &str, calls: Arc<Queue>) -> Result<Tool, Failure> {
    let spec = Spec::read(tool::object("spec", spec)?)?;
    let document = spec.document();
    let hosted = HostedTool { name: spec.name.as_str().into(), document, calls, check: Arc::new(check) };
    Ok(Tool::new(spec.name, hosted))
}

impl Run for HostedTool {
    fn run(&self, arguments: Arguments, limits: Limits) -> Running {
        let (name, calls, check) = (self.name.clone(), self.calls.clone(), self.check.clone());
        Box::pin(async move {
            let started = Instant::now();
            let ended = ask(&name, &calls, check, arguments, &limits).await;
            Ok(ended.map_or_else(|failure| failed(&name, started, failure), Answer::outcome))
        })
    }

    fn document(&self, _: &str) -> String {
        self.document.clone()
    }
}

async fn ask(
    name: &str,
    calls: &Arc<Queue>,
    check: Check,
    arguments: Arguments,
    limits: &Limits,
) -> Result<Answer, Failure> {
    if limits.is_cancelled() {
        return Err(context::cancelled("the call"));
    }
    let closed = || Failure::new(Status::Closed, "the queue in which the host takes its calls is closed");
    let document = |id| format!("{{\"id\":{id},\"tool\":\"{name}\",\"arguments\":{}}}", arguments.as_str());
    let question = Question::put(calls, queue::Kind::Call, check, document).ok_or_else(closed)?;
    let idle = limits.idle.unwrap_or(IDLE);
    // Whatever ends the waiting drops the question, and the host is told that it is no longer wanted.
    let answer = limits.bound("the call", tokio::time::timeout(idle, question.answer())).await?;
    let silent = |_| {
        let ms = idle.as_millis();
        Failure::new(Status::Timeout, format!("the host did not answer within the time-out of {ms} ms"))
    };
    answer.map_err(silent)?.map(Answer).ok_or_else(closed)
}

fn failed(name: &str, started: Instant, failure: Failure) -> Outcome {
    let mut failure = failure.at(Phase::Call);
    failure.message = format!("{} (tool {name})", failure.message);
    let metadata = format!("\"tool\":\"{name}\",\"ms\":{}", started.elapsed().as_millis());
    ToolText { output: failure.message.clone(), is_error: true, metadata, failure: Some(failure) }.outcome()
}

// -- the answer -----------------------------------------------------------------------------------------------------

/// Checks an answer. What does not fit is the host's mistake, and named for its author.
fn check(answer: &str) -> Result<String, Failure> {
    let mut has_output = false;
    for (key, value) in tool::object("the answer", answer)?.members() {
        let optional = |kind| value.is_null() || value.kind() == kind;
        match &*key {
            "output" => {
                has_output = value.kind() == Kind::String;
                expect(has_output, "answer.output", value, "text")?;
            }
            "isError" => expect(optional(Kind::Bool), "answer.isError", value, "true or false")?,
            "metadata" => expect(optional(Kind::Object), "answer.metadata", value, "an object")?,
            "parts" => {
                expect(optional(Kind::Array), "answer.parts", value, "a list of objects")?;
                for (index, part) in value.elements().enumerate() {
                    check_part(&format!("answer.parts[{index}]"), part)?;
                }
            }
            other => return Err(unknown("answer", other, "output, isError, metadata or parts")),
        }
    }
    if !has_output {
        return Err(Failure::new(Status::Argument, "answer.output is missing, expected the text for the model"));
    }
    Ok(answer.to_owned())
}

fn check_part(path: &str, part: Raw<'_>) -> Result<(), Failure> {
    expect(part.kind() == Kind::Object, path, part, "an object with data or url")?;
    let mut holds = false;
    for (key, value) in part.members() {
        match &*key {
            "data" | "url" => {
                expect(value.kind() == Kind::String, &format!("{path}.{key}"), value, "text")?;
                holds = true;
            }
            "type" | "mimeType" | "name" => {
                expect(value.kind() == Kind::String, &format!("{path}.{key}"), value, "text")?;
            }
            _ => {}
        }
    }
    if holds {
        return Ok(());
    }
    Err(Failure::new(Status::Argument, format!("{path} has neither data nor url, expected one of them")))
}

fn expect(fits: bool, path: &str, value: Raw<'_>, expected: &str) -> Result<(), Failure> {
    if fits {
        return Ok(());
    }
    Err(Failure::new(Status::Argument, format!("{path} is {}, expected {expected}", value.kind().name())))
}

fn unknown(path: &str, key: &str, known: &str) -> Failure {
    Failure::new(Status::Argument, format!("{path}.{key}: there is no such key; expected {known}"))
}

/// A checked answer, as the host wrote it.
struct Answer(String);

impl Answer {
    fn outcome(self) -> Outcome {
        let is_error = self.get("isError").and_then(Raw::as_bool).unwrap_or(false);
        Outcome::new(Status::Ok, is_error, self)
    }

    fn get(&self, key: &str) -> Option<Raw<'_>> {
        Raw::checked(&self.0).get(key).filter(|value| !value.is_null())
    }
}

impl Document for Answer {
    fn output(&self) -> String {
        self.get("output").and_then(Raw::as_str).map(Cow::into_owned).unwrap_or_default()
    }

    fn json(&self) -> String {
        let text = |key, default| self.get(key).map_or(default, Raw::text);
        format!(
            "{{\"output\":{},\"isError\":{},\"metadata\":{},\"parts\":{},\"content\":[]}}",
            text("output", "\"\""),
            text("isError", "false"),
            text("metadata", "{}"),
            text("parts", "[]")
        )
    }
}

// -- the spec -------------------------------------------------------------------------------------------------------

struct Spec<'a> {
    name: String,
    /// A JSON string.
    description: &'a str,
    input: Cow<'a, str>,
    hints: Hints,
}

impl<'a> Spec<'a> {
    /// A key whose value is null counts as not given.
    fn read(raw: Raw<'a>) -> Result<Self, Failure> {
        let mut spec = Spec {
            name: String::new(),
            description: "\"\"",
            input: Cow::Borrowed(EMPTY_SCHEMA),
            hints: Hints::default(),
        };
        for (key, value) in raw.members() {
            spec.set(&key, value)?;
        }
        if spec.name.is_empty() {
            return Err(Failure::new(Status::Argument, "spec.name is missing, expected the tool's name"));
        }
        Ok(spec)
    }

    fn set(&mut self, key: &str, value: Raw<'a>) -> Result<(), Failure> {
        match key {
            "description" | "inputSchema" | "hints" if value.is_null() => {}
            "name" => {
                expect(value.kind() == Kind::String, "spec.name", value, "text")?;
                let name = value.as_str().unwrap_or_default();
                let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
                if !plain || !(1..=NAME).contains(&name.len()) {
                    let message =
                        format!("spec.name is {}, expected 1 to {NAME} of A-Z a-z 0-9 _ and -", quoted(&name));
                    return Err(Failure::new(Status::Argument, message));
                }
                self.name = name.into_owned();
            }
            "description" => {
                expect(value.kind() == Kind::String, "spec.description", value, "text")?;
                self.description = value.text();
            }
            "inputSchema" => {
                expect(value.kind() == Kind::Object, "spec.inputSchema", value, "an object")?;
                self.input = tool::pass_schema(&mut Cursor::new(value)).unwrap_or(Cow::Borrowed(EMPTY_SCHEMA));
            }
            "hints" => {
                expect(value.kind() == Kind::Object, "spec.hints", value, "an object")?;
                for (key, value) in value.members() {
                    let hint = match &*key {
                        "readOnly" => &mut self.hints.read_only,
                        "destructive" => &mut self.hints.destructive,
                        "idempotent" => &mut self.hints.idempotent,
                        "openWorld" => &mut self.hints.open_world,
                        other => {
                            return Err(unknown("spec.hints", other, "readOnly, destructive, idempotent or openWorld"));
                        }
                    };
                    let fits = value.is_null() || value.kind() == Kind::Bool;
                    expect(fits, &format!("spec.hints.{key}"), value, "true or false")?;
                    *hint = value.as_bool();
                }
            }
            other => return Err(unknown("spec", other, "name, description, inputSchema or hints")),
        }
        Ok(())
    }

    fn document(&self) -> String {
        let mut out = format!(
            "{{\"name\":\"{}\",\"description\":{},\"inputSchema\":{},\"source\":\"native\",\"hints\":",
            self.name, self.description, self.input
        );
        self.hints.write(&mut out);
        out.push('}');
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(spec: &str) -> Result<String, (Status, String)> {
        let tool = create(spec, Queue::new()).map_err(|failure| (failure.status, failure.message))?;
        Ok(tool.document().as_str().to_owned())
    }

    #[test]
    fn the_document_is_made_of_what_the_host_wrote() {
        assert_eq!(
            document(
                "{\"name\":\"add\",\n\"description\":\"a\\u0064d\",\"inputSchema\":{ \"type\":\"object\"},\"hints\":{\"readOnly\":true}}"
            ),
            Ok(concat!(
                r#"{"name":"add","description":"a\u0064d","inputSchema":{"properties":{}, "type":"object"},"#,
                r#""source":"native","hints":{"readOnly":true}}"#
            )
            .to_owned())
        );
        let bare = r#"{"name":"a","description":"","inputSchema":{"type":"object","properties":{}},"source":"native","hints":{}}"#;
        assert_eq!(document(r#"{"name":"a"}"#).as_deref(), Ok(bare));
        let nulls = r#"{"name":"a","description":null,"inputSchema":null,"hints":{"openWorld":null}}"#;
        assert_eq!(document(nulls).as_deref(), Ok(bare));
    }

    #[test]
    fn a_bad_spec_is_named_by_its_key() {
        let long = format!(r#"{{"name":"{}"}}"#, "a".repeat(65));
        for (spec, status, named) in [
            ("", Status::Json, "spec is not valid JSON"),
            ("[]", Status::Json, "spec is an array"),
            ("{}", Status::Argument, "spec.name is missing"),
            (r#"{"name":null}"#, Status::Argument, "spec.name is null"),
            (r#"{"name":""}"#, Status::Argument, "spec.name is \"\""),
            (r#"{"name":"a b"}"#, Status::Argument, "spec.name is \"a b\""),
            (r#"{"name":"ä"}"#, Status::Argument, "A-Z a-z 0-9"),
            (&long, Status::Argument, "1 to 64"),
            (r#"{"name":"a","description":1}"#, Status::Argument, "spec.description is a number"),
            (r#"{"name":"a","inputSchema":[]}"#, Status::Argument, "spec.inputSchema is an array"),
            (r#"{"name":"a","hints":true}"#, Status::Argument, "spec.hints is a boolean"),
            (r#"{"name":"a","hints":{"readOnly":1}}"#, Status::Argument, "spec.hints.readOnly is a number"),
            (r#"{"name":"a","hints":{"readonly":true}}"#, Status::Argument, "spec.hints.readonly: there is no such"),
            (r#"{"name":"a","input_schema":{}}"#, Status::Argument, "spec.input_schema: there is no such key"),
            (r#"{"name":"a","input_schema":null}"#, Status::Argument, "spec.input_schema: there is no such key"),
        ] {
            let (got, message) = document(spec).unwrap_err();
            assert_eq!(got, status, "{spec}: {message}");
            assert!(message.contains(named), "{spec}: {message}");
        }
    }

    #[test]
    fn a_bad_answer_is_named_by_its_key() {
        for (answer, status, named) in [
            ("{", Status::Json, "the answer is not valid JSON"),
            ("\"3\"", Status::Json, "the answer is a string"),
            ("{}", Status::Argument, "answer.output is missing"),
            (r#"{"output":3}"#, Status::Argument, "answer.output is a number"),
            (r#"{"output":null}"#, Status::Argument, "answer.output is null"),
            (r#"{"output":"3","isError":"no"}"#, Status::Argument, "answer.isError is a string"),
            (r#"{"output":"3","metadata":[]}"#, Status::Argument, "answer.metadata is an array"),
            (r#"{"output":"3","parts":{}}"#, Status::Argument, "answer.parts is an object"),
            (r#"{"output":"3","parts":[1]}"#, Status::Argument, "answer.parts[0] is a number"),
            (
                r#"{"output":"3","parts":[{"url":"u"},{"type":"image"}]}"#,
                Status::Argument,
                "answer.parts[1] has neither",
            ),
            (r#"{"output":"3","parts":[{"data":1}]}"#, Status::Argument, "answer.parts[0].data is a number"),
            (r#"{"output":"3","parts":[{"url":"u","type":1}]}"#, Status::Argument, "answer.parts[0].type is a number"),
            (r#"{"output":"3","is_error":true}"#, Status::Argument, "answer.is_error: there is no such key"),
        ] {
            let failure = check(answer).unwrap_err();
            assert_eq!(failure.status, status, "{answer}: {failure}");
            assert!(failure.message.contains(named), "{answer}: {failure}");
        }
    }

    #[test]
    fn an_answer_is_the_result() {
        let answer = |text: &str| Answer(check(text).unwrap()).outcome();
        let plain = answer(r#"{"output":"3"}"#);
        assert_eq!((plain.is_error, plain.output().as_str()), (false, "3"));
        assert_eq!(plain.json().as_str(), r#"{"output":"3","isError":false,"metadata":{},"parts":[],"content":[]}"#);
        let full = answer(
            r#"{"parts":[{"type":"image","data":"AA=="}],"metadata":{"n": 1.0},"isError":true,"output":"a\u0000\ud800"}"#,
        );
        assert_eq!((full.is_error, full.output().as_str()), (true, "a\0\u{fffd}"));
        assert_eq!(
            full.json().as_str(),
            concat!(
                r#"{"output":"a\u0000\ud800","isError":true,"metadata":{"n": 1.0},"#,
                r#""parts":[{"type":"image","data":"AA=="}],"content":[]}"#
            )
        );
        assert!(!answer(r#"{"output":"","isError":null,"metadata":null,"parts":null}"#).is_error);
    }
}
