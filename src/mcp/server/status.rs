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
        let problem = self.problem().unwrap_or_else(|| Problem { failure: self.not_up(), stderr: String::new() });
        let mut out = String::from("{\"status\":\"failed\"");
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
