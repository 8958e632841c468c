//! What `tn_config_parse` answers: every server in one form, however it was written.

use serde_json::{Map, Value, json};

use super::secrets::{Secrets, without_user_info};
use super::server::{InheritEnv, Restart, ServerConfig, State, Transport};
use super::{Config, Server};

impl Config {
    /// `{"servers":{name:{…}},"failed":{name:{"path","reason"}},"warnings":[…]}`. A server has the keys that an entry
    /// can have, under their first names: `type` (`stdio`, `http`, `sse`), `command` (an array, with the arguments) or
    /// `url` as written in the file, `env` or `headers` with variables filled in, times in milliseconds. Keys without
    /// a value are absent. Secrets are masked; with `secrets` nothing is, and URLs keep their user info.
    pub fn document(&self, secrets: bool) -> String {
        let shown = Shown { secrets: (!secrets).then_some(&self.secrets) };
        let mut servers = Map::new();
        let mut failed = Map::new();
        for Server { name, state, .. } in &self.servers {
            match state {
                State::Enabled(config) | State::Disabled(Some(config)) => {
                    servers.insert(name.clone(), shown.server(config));
                }
                State::Disabled(None) => {
                    servers.insert(name.clone(), json!({"enabled": false}));
                }
                State::Failed { path, reason } => {
                    failed.insert(name.clone(), json!({"path": path, "reason": reason}));
                }
            }
        }
        json!({"servers": servers, "failed": failed, "warnings": self.warnings}).to_string()
    }
}

/// How values are shown. None: as they are.
struct Shown<'a> {
    secrets: Option<&'a Secrets>,
}

impl Shown<'_> {
    fn text(&self, text: &str) -> Value {
        match self.secrets {
            Some(secrets) => secrets.mask(text).into(),
            None => text.into(),
        }
    }

    /// An argument or a URL.
    fn written(&self, text: &str) -> Value {
        match self.secrets {
            Some(secrets) => secrets.mask(&without_user_info(text)).into(),
            None => text.into(),
        }
    }

    fn server(&self, config: &ServerConfig) -> Value {
        let written = &config.written;
        let mut out = Map::new();
        let mut set = |key: &str, value: Value| {
            out.insert(key.to_owned(), value);
        };
        match &config.transport {
            Transport::Stdio { .. } => {
                set("type", "stdio".into());
                set("command", written.command.iter().map(|text| self.written(text)).collect());
                let env = written.env.iter();
                let env = env
                    .map(|(name, value)| (name.clone(), value.as_ref().map_or(Value::Null, |value| self.text(value))));
                set("env", Value::Object(env.collect()));
                if let Some(file) = &written.env_file {
                    set("envFile", self.text(file));
                }
                match &written.inherit_env {
                    None => {}
                    Some(InheritEnv::All(all)) => set("inheritEnv", (*all).into()),
                    Some(InheritEnv::Names(names)) => set("inheritEnv", names.as_slice().into()),
                }
                if let Some(cwd) = &written.cwd {
                    set("cwd", self.text(cwd));
                }
            }
            Transport::Http { headers, sse, .. } => {
                set("type", if *sse { "sse" } else { "http" }.into());
                set("url", self.written(written.url.as_deref().unwrap_or_default()));
                let headers = headers.iter().map(|(name, value)| (name.clone(), self.text(value)));
                set("headers", Value::Object(headers.collect()));
            }
        }
        set("enabled", config.enabled.into());
        set("timeout", milliseconds(config.timeout));
        set("callTimeout", milliseconds(config.call_timeout));
        if let Some(tools) = config.filter.to_json() {
            set("tools", tools);
        }
        set("lifecycle", config.lifecycle.name().into());
        let Restart { max, backoff } = config.restart;
        set("restart", json!({"max": max, "backoffMs": milliseconds(backoff)}));
        if let Some(auth) = &config.auth {
            set("auth", self.deep(auth));
        }
        Value::Object(out)
    }

    /// Any value, its texts masked. Configs do not nest deeply, so neither does this.
    fn deep(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.text(text),
            Value::Array(elements) => elements.iter().map(|element| self.deep(element)).collect(),
            Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), self.deep(value))).collect(),
            other => other.clone(),
        }
    }
}

fn milliseconds(duration: std::time::Duration) -> Value {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX).into()
}
