//! What a server's entry in the status document says.
#![forbid(unsafe_code)]

use super::{Problem, Server, Session};
use crate::outcome::quoted;

impl Server {
    /// The server's entry in the status document.
    pub fn status(&self) -> String {
        if let Some(session) = self.kept()
            && (self.is_connected() || self.shared.is_closed())
        {
            return self.connected_status(&session);
        }
        if self.is_disabled() {
            return "{\"status\":\"disabled\"}".to_owned();
        }
        let problem = self.problem().unwrap_or_else(|| Problem::new(self.not_up()));
        let mut out = format!("{{\"status\":\"{}\"", self.trouble());
        if let Some(scheme) = problem.challenge.as_ref().and_then(|challenge| challenge.scheme.as_deref()) {
            out.push_str(&format!(",\"scheme\":{}", quoted(scheme)));
        }
        if let Some(phase) = problem.failure.phase {
            out.push_str(&format!(",\"phase\":\"{}\"", phase.name()));
        }
        out.push_str(&format!(",\"reason\":{}", quoted(&problem.failure.message)));
        if !problem.stderr.is_empty() {
            out.push_str(&format!(",\"stderr\":{}", quoted(&problem.stderr)));
        }
        out.push('}');
        out
    }

    /// The server's status in a word.
    pub fn word(&self) -> &'static str {
        if self.is_disabled() {
            "disabled"
        } else if self.is_connected() {
            "connected"
        } else {
            self.trouble()
        }
    }

    /// Why there is no session, in a word.
    fn trouble(&self) -> &'static str {
        if self.problem().is_some_and(|problem| problem.challenge.is_some()) { "needs_auth" } else { "failed" }
    }

    fn connected_status(&self, session: &Session) -> String {
        let listed = self.listed();
        let peer = &session.peer;
        let mut out = format!("{{\"status\":\"connected\",\"tools\":{}", listed.tools.len());
        out.push_str(&format!(",\"protocolVersion\":{}", quoted(&peer.version)));
        if let Some(info) = &peer.server_info {
            out.push_str(&format!(",\"serverInfo\":{info}"));
        }
        out.push_str(&format!(",\"capabilities\":{}", peer.capabilities));
        if let Some(instructions) = &peer.instructions {
            out.push_str(&format!(",\"instructions\":{}", quoted(instructions)));
        }
        let skipped: Vec<String> = listed
            .skipped
            .iter()
            .map(|skipped| format!("{{\"tool\":{},\"reason\":{}}}", quoted(&skipped.item), quoted(&skipped.reason)))
            .collect();
        if !skipped.is_empty() {
            out.push_str(&format!(",\"skipped\":[{}]", skipped.join(",")));
        }
        out.push_str(&format!(",\"ms\":{}}}", session.ms));
        out
    }
}
