//! The load options. A host's program writes them, so whatever is not understood is an error and not a warning.

use std::fmt;
use std::time::Duration;

use serde_json::{Map, Value};

use super::nearest::nearest;
use super::server::{InheritEnv, Lifecycle, Restart};
use crate::outcome::{Failure, Status};

/// How a config is read, and its servers are loaded. What a server's own entry says counts more.
#[derive(Clone)]
pub struct Options {
    pub elicitation: bool,
    pub sampling: bool,
    pub roots: Vec<String>,
    /// Values for `${input:ID}`.
    pub inputs: Vec<(String, String)>,
    pub workspace_folder: Option<String>,
    pub client_name: Option<String>,
    pub client_version: Option<String>,
    pub inherit_env: InheritEnv,
    /// Servers that are started at once; 0: all.
    pub parallel: usize,
    pub restart: Restart,
    pub live_tools: bool,
    pub lifecycle: Lifecycle,
    pub max_message_bytes: usize,
    /// How long a server's request to the host stays open.
    pub request_timeout: Duration,
    /// Whether the document of `tn_config_parse` shows values.
    pub secrets: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            elicitation: true,
            sampling: false,
            roots: Vec::new(),
            inputs: Vec::new(),
            workspace_folder: None,
            client_name: None,
            client_version: None,
            inherit_env: InheritEnv::All(false),
            parallel: 0,
            restart: Restart::default(),
            live_tools: true,
            lifecycle: Lifecycle::Auto,
            max_message_bytes: 64 * 1024 * 1024,
            request_timeout: Duration::from_secs(300),
            secrets: false,
        }
    }
}

const KNOWN: &[&str] = &[
    "elicitation",
    "sampling",
    "roots",
    "inputs",
    "workspaceFolder",
    "clientInfo",
    "inheritEnv",
    "parallel",
    "restart",
    "liveTools",
    "lifecycle",
    "maxMessageBytes",
    "requestTimeoutMs",
];

impl Options {
    /// Reads the options of a load, or of `tn_config_parse` (`allow_secrets`). None: the defaults. A key whose value is
    /// null counts as not given.
    pub fn parse(json: Option<&str>, allow_secrets: bool) -> Result<Options, Failure> {
        let mut options = Options::default();
        let Some(json) = json else { return Ok(options) };
        let value: Value = serde_json::from_str(json).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            let message = format!("options, line {line}, column {column}: not JSON; expected an object of options");
            Failure::new(Status::Json, message)
        })?;
        let Value::Object(keys) = &value else {
            return Err(Failure::new(Status::Json, "options: expected an object"));
        };
        for (key, value) in keys {
            options.set(key, value, allow_secrets)?;
        }
        Ok(options)
    }

    fn set(&mut self, key: &str, value: &Value, allow_secrets: bool) -> Result<(), Failure> {
        let secrets = key == "secrets" && allow_secrets;
        if !secrets && !KNOWN.contains(&key) {
            return Err(unknown("", key, KNOWN));
        }
        if value.is_null() {
            return Ok(());
        }
        match key {
            "elicitation" => self.elicitation = boolean(key, value)?,
            "sampling" => self.sampling = boolean(key, value)?,
            "liveTools" => self.live_tools = boolean(key, value)?,
            "roots" => {
                self.roots = texts(key, value)?;
                if !self.roots.iter().all(|root| root.starts_with("file://")) {
                    return Err(wrong(key, "a list of URIs that begin with file://"));
                }
            }
            "inputs" => {
                let pairs = object(key, value)?.iter();
                let pairs = pairs.map(|(id, value)| Ok((id.clone(), text(&format!("{key}.{id}"), value)?)));
                self.inputs = pairs.collect::<Result<_, Failure>>()?;
            }
            "workspaceFolder" => self.workspace_folder = Some(text(key, value)?),
            "clientInfo" => {
                for (inner, value) in object(key, value)? {
                    let target = match inner.as_str() {
                        "name" => &mut self.client_name,
                        "version" => &mut self.client_version,
                        _ => return Err(unknown("clientInfo.", inner, &["name", "version"])),
                    };
                    *target = Some(text(&format!("clientInfo.{inner}"), value)?);
                }
            }
            "inheritEnv" => {
                self.inherit_env = match value {
                    Value::Bool(all) => InheritEnv::All(*all),
                    Value::Array(_) => InheritEnv::Names(texts(key, value)?),
                    _ => return Err(wrong(key, "true, false or a list of names")),
                }
            }
            "parallel" => self.parallel = whole(key, value, 0)?,
            "restart" => {
                for (inner, value) in object(key, value)? {
                    let path = format!("restart.{inner}");
                    match inner.as_str() {
                        "max" => self.restart.max = u32::try_from(whole(&path, value, 0)?).unwrap_or(u32::MAX),
                        "backoffMs" => self.restart.backoff = milliseconds(whole(&path, value, 0)?),
                        _ => return Err(unknown("restart.", inner, &["max", "backoffMs"])),
                    }
                }
            }
            "lifecycle" => {
                let known = value.as_str().and_then(Lifecycle::from_name);
                self.lifecycle = known.ok_or_else(|| wrong(key, Lifecycle::EXPECTED))?;
            }
            "maxMessageBytes" => self.max_message_bytes = whole(key, value, 1)?,
            "requestTimeoutMs" => self.request_timeout = milliseconds(whole(key, value, 1)?),
            _ => self.secrets = boolean(key, value)?,
        }
        Ok(())
    }
}

impl fmt::Debug for Options {
    /// Leaves out the inputs, which may be passwords.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("elicitation", &self.elicitation)
            .field("sampling", &self.sampling)
            .field("lifecycle", &self.lifecycle)
            .field("restart", &self.restart)
            .finish_non_exhaustive()
    }
}

/// A duration that can be added to any point in time: what is longer than 49 days is cut.
fn milliseconds(count: usize) -> Duration {
    Duration::from_millis(u32::try_from(count).unwrap_or(u32::MAX).into())
}

fn wrong(key: &str, expected: &str) -> Failure {
    Failure::new(Status::Argument, format!("option {key}: expected {expected}"))
}

fn unknown(prefix: &str, key: &str, known: &[&str]) -> Failure {
    let meant = nearest(key, known);
    let message = format!("option {prefix}{key}: there is no such option; did you mean {prefix}{meant}?");
    Failure::new(Status::Argument, message)
}

fn object<'a>(key: &str, value: &'a Value) -> Result<&'a Map<String, Value>, Failure> {
    value.as_object().ok_or_else(|| wrong(key, "an object"))
}

fn boolean(key: &str, value: &Value) -> Result<bool, Failure> {
    value.as_bool().ok_or_else(|| wrong(key, "true or false"))
}

fn text(key: &str, value: &Value) -> Result<String, Failure> {
    value.as_str().map(str::to_owned).ok_or_else(|| wrong(key, "text"))
}

fn texts(key: &str, value: &Value) -> Result<Vec<String>, Failure> {
    let elements = value.as_array().ok_or_else(|| wrong(key, "a list of texts"))?;
    elements.iter().enumerate().map(|(index, element)| text(&format!("{key}[{index}]"), element)).collect()
}

fn whole(key: &str, value: &Value, least: u64) -> Result<usize, Failure> {
    // 3.0 is a whole number too: some languages have no other numbers. What is huge is cut to the largest usize.
    let float = || value.as_f64().filter(|number| *number >= 0.0 && number.fract() == 0.0).map(|number| number as u64);
    let number = value.as_u64().or_else(float).filter(|number| *number >= least);
    number
        .map(|number| usize::try_from(number).unwrap_or(usize::MAX))
        .ok_or_else(|| wrong(key, &format!("a whole number of at least {least}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(json: &str) -> Options {
        Options::parse(Some(json), true).unwrap_or_else(|failure| panic!("{json}: {failure}"))
    }

    #[test]
    fn defaults() {
        for options in [Options::parse(None, false).expect("none"), parse("{}"), parse(r#"{"roots":null}"#)] {
            assert!(options.elicitation && !options.sampling && options.live_tools && !options.secrets);
            assert!(options.roots.is_empty() && options.inputs.is_empty());
            assert_eq!((options.parallel, options.max_message_bytes), (0, 67_108_864));
            assert_eq!(options.request_timeout, Duration::from_millis(300_000));
            assert_eq!(options.restart, Restart { max: 3, backoff: Duration::from_millis(200) });
            assert_eq!(options.lifecycle, Lifecycle::Auto);
            assert_eq!(options.inherit_env, InheritEnv::All(false));
            assert_eq!((options.client_name, options.client_version, options.workspace_folder), (None, None, None));
        }
    }

    #[test]
    fn everything_given() {
        let options = parse(
            r#"{"elicitation":false,"sampling":true,"roots":["file:///a"],"inputs":{"ID":"value"},
                "workspaceFolder":"/w","clientInfo":{"name":"n","version":"v"},"inheritEnv":["A"],"parallel":4,
                "restart":{"max":0,"backoffMs":10},"liveTools":false,"lifecycle":"discover","maxMessageBytes":1024.0,
                "requestTimeoutMs":1e300,"secrets":true}"#,
        );
        assert!(!options.elicitation && options.sampling && !options.live_tools && options.secrets);
        assert_eq!(options.roots, ["file:///a"]);
        assert_eq!(options.inputs, [("ID".to_owned(), "value".to_owned())]);
        assert_eq!(options.workspace_folder.as_deref(), Some("/w"));
        assert_eq!(options.client_name.as_deref(), Some("n"));
        assert_eq!(options.client_version.as_deref(), Some("v"));
        assert_eq!(options.inherit_env, InheritEnv::Names(vec!["A".to_owned()]));
        assert_eq!((options.parallel, options.max_message_bytes), (4, 1024));
        assert_eq!(options.restart, Restart { max: 0, backoff: Duration::from_millis(10) });
        assert_eq!(options.lifecycle, Lifecycle::Discover);
        assert_eq!(options.request_timeout, Duration::from_millis(u32::MAX.into()));
        assert_eq!(parse(r#"{"inheritEnv":true}"#).inherit_env, InheritEnv::All(true));
        assert!(!format!("{options:?}").contains("value"));
    }

    #[test]
    fn errors_name_the_key_and_what_is_expected() {
        for (json, named) in [
            (r#"{"elicitations":true}"#, "did you mean elicitation?"),
            (r#"{"clientInfo":{"nam":""}}"#, "did you mean clientInfo.name?"),
            (r#"{"restart":{"backoff":1}}"#, "did you mean restart.backoffMs?"),
            (r#"{"elicitation":1}"#, "elicitation: expected true or false"),
            (r#"{"sampling":"no"}"#, "sampling: expected true or false"),
            (r#"{"liveTools":{}}"#, "liveTools: expected true or false"),
            (r#"{"roots":"file:///x"}"#, "roots: expected a list"),
            (r#"{"roots":["file:///x",1]}"#, "roots[1]: expected text"),
            (r#"{"roots":["/x"]}"#, "file://"),
            (r#"{"inputs":[]}"#, "inputs: expected an object"),
            (r#"{"inputs":{"A":1}}"#, "inputs.A: expected text"),
            (r#"{"workspaceFolder":1}"#, "workspaceFolder: expected text"),
            (r#"{"clientInfo":"x"}"#, "clientInfo: expected an object"),
            (r#"{"clientInfo":{"name":1}}"#, "clientInfo.name: expected text"),
            (r#"{"inheritEnv":"all"}"#, "inheritEnv: expected true, false or a list of names"),
            (r#"{"parallel":-1}"#, "parallel: expected a whole number of at least 0"),
            (r#"{"parallel":1.5}"#, "parallel: expected a whole number"),
            (r#"{"restart":{"max":"3"}}"#, "restart.max: expected a whole number"),
            (r#"{"restart":false}"#, "restart: expected an object"),
            (r#"{"lifecycle":"modern"}"#, "lifecycle: expected \"auto\""),
            (r#"{"maxMessageBytes":0}"#, "maxMessageBytes: expected a whole number of at least 1"),
            (r#"{"requestTimeoutMs":"1s"}"#, "requestTimeoutMs: expected a whole number"),
            (r#"{"secrets":1}"#, "secrets: expected true or false"),
        ] {
            let failure = Options::parse(Some(json), true).expect_err(json);
            assert_eq!(failure.status, Status::Argument, "{json}");
            assert!(failure.message.contains(named), "{json}: {failure}");
        }
        for json in ["[]", "null", "7", "", "{", "{\"a\":}", "no", "{} {}", &"[".repeat(100_000)] {
            assert_eq!(Options::parse(Some(json), true).expect_err(json).status, Status::Json, "{json:.20}");
        }
    }

    #[test]
    fn secrets_is_an_option_of_parsing_only() {
        let failure = Options::parse(Some(r#"{"secrets":true}"#), false).expect_err("unknown for a load");
        assert_eq!(failure.status, Status::Argument);
        assert!(failure.message.contains("secrets"));
    }
}
