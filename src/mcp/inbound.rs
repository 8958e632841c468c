//! What a server sends by itself: who answers it, and what the host hears of it.
#![forbid(unsafe_code)]

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config::Secrets;
use crate::json::{Kind, Raw};
use crate::log;
use crate::mcp::host::{self, Host, Refusal};
use crate::mcp::live::Changes;
use crate::outcome::{Status, quoted};
use crate::wire::mux::{Inbound, Mux};

/// The ear of one session.
#[derive(Debug)]
pub struct Ear {
    server: Arc<str>,
    mux: Weak<Mux>,
    host: Arc<Host>,
    changes: Arc<Changes>,
    tracker: TaskTracker,
    secrets: Arc<Secrets>,
    /// The server's requests that the host thinks about, by their id as text, and what ends each early.
    open: Arc<Mutex<HashMap<String, CancellationToken>>>,
}

impl Ear {
    pub fn new(
        server: &Arc<str>,
        mux: Weak<Mux>,
        host: &Arc<Host>,
        changes: &Arc<Changes>,
        tracker: &TaskTracker,
        secrets: &Arc<Secrets>,
    ) -> Self {
        Ear {
            server: server.clone(),
            mux,
            host: host.clone(),
            changes: changes.clone(),
            tracker: tracker.clone(),
            secrets: secrets.clone(),
            open: Arc::default(),
        }
    }

    fn notice(&self, members: String) {
        if let Some(events) = &self.host.events {
            events.notice(0, members);
        }
    }

    fn kind_and_server(&self, kind: &str) -> String {
        format!("\"kind\":\"{kind}\",\"server\":{}", quoted(&self.server))
    }

    fn log_message(&self, params: Raw<'_>) {
        // What the library writes itself hides secrets; the notice below is the server's own words.
        let text = |name: &str| self.secrets.mask(params.get(name).map_or("null", Raw::text));
        log::at!(Info, "server", "{}: {} {}", self.server, text("level"), text("data"));
        let mut members = self.kind_and_server("server_log");
        for name in ["level", "logger", "data"] {
            if let Some(value) = params.get(name) {
                members.push_str(&format!(",\"{name}\":{}", value.text()));
            }
        }
        self.notice(members);
    }
}

impl Inbound for Ear {
    fn request(&self, id: Raw<'_>, method: &str, params: Option<Raw<'_>>) -> bool {
        if !matches!(method, "elicitation/create" | "sampling/createMessage" | "roots/list") {
            return false;
        }
        let Some(mux) = self.mux.upgrade() else { return true };
        if !self.host.serves(method) {
            mux.respond(id.text(), &format!("\"error\":{}", Refusal::NotAnnounced.error(method)));
            return true;
        }
        let (host, server, open) = (self.host.clone(), self.server.clone(), self.open.clone());
        let (id, method) = (id.text().to_owned(), method.to_owned());
        let params = params.map(|params| params.text().to_owned());
        let withdrawn = CancellationToken::new();
        {
            let mut open = open.lock();
            if open.contains_key(&id) {
                log::at!(Warn, "mcp", "server {server:?} uses the id {id} for two requests; the second is ignored");
                return true;
            }
            if open.len() >= host::OPEN_AT_MOST {
                drop(open);
                let most = host::OPEN_AT_MOST;
                let refusal = Refusal::Rejected(Status::Limit, format!("{most} requests are open already"));
                mux.respond(&id, &format!("\"error\":{}", refusal.error(&method)));
                return true;
            }
            open.insert(id.clone(), withdrawn.clone());
        }
        let caller = mux.caller();
        self.tracker.spawn(async move {
            let params = params.as_deref().map(Raw::checked);
            let (tool, given_up) = caller.unzip();
            let given_up = async {
                match &given_up {
                    Some(given_up) => given_up.cancelled().await,
                    None => std::future::pending().await,
                }
            };
            let answer = tokio::select! {
                answer = host.fulfil(&server, &mux, &method, params, tool.as_deref()) => Some(answer),
                // Nobody wants to know any more.
                () = given_up => Some(host::unanswered(&method, Status::Cancelled, "the call was given up".to_owned())),
                // A request that was taken back gets no response (MCP, cancellation).
                () = withdrawn.cancelled() => None,
                () = mux.ended().cancelled() => None,
            };
            open.lock().remove(&id);
            match answer {
                Some(Ok(result)) => mux.respond(&id, &format!("\"result\":{result}")),
                Some(Err(refusal)) => mux.respond(&id, &format!("\"error\":{}", refusal.error(&method))),
                None => {}
            }
        });
        true
    }

    fn notification(&self, method: &str, params: Option<Raw<'_>>) -> bool {
        let params = params.filter(|params| params.kind() == Kind::Object);
        let cache = &self.changes.cache;
        match method {
            "notifications/tools/list_changed" => {
                cache.forget(&["tools/list"]);
                self.changes.note(|what| what.tools = true);
            }
            "notifications/resources/list_changed" => {
                cache.forget(&["resources/list", "resources/templates/list"]);
                self.changes.note(|what| what.resources = true);
            }
            "notifications/prompts/list_changed" => {
                cache.forget(&["prompts/list"]);
                self.changes.note(|what| what.prompts = true);
            }
            "notifications/subscriptions/acknowledged" => {
                if let Some(params) = params {
                    self.changes.acknowledged(params);
                }
            }
            "notifications/resources/updated" => {
                let uri = params.and_then(|params| params.get("uri")).filter(|uri| uri.kind() == Kind::String);
                cache.forget_resource(uri.and_then(Raw::as_str).as_deref());
                if let Some(uri) = uri {
                    self.notice(format!("{},\"uri\":{}", self.kind_and_server("resource_updated"), uri.text()));
                }
            }
            "notifications/message" => {
                if let Some(params) = params {
                    self.log_message(params);
                }
            }
            "notifications/cancelled" => {
                let id = params.and_then(|params| params.get("requestId"));
                let open = id.and_then(|id| self.open.lock().get(id.text()).cloned());
                return open.inspect(CancellationToken::cancel).is_some();
            }
            _ => return false,
        }
        true
    }
}
