//! The phases of a start: the process, the handshake, the list.
#![forbid(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rmcp::model::{ServerCapabilities, ServerPeerInfo};
use rmcp::service::{RoleClient, RunningService};
use tokio::time::Instant;

use super::{Listed, Problem, Server, Session, TASKS};
use crate::config::{ServerConfig, Transport};
use crate::json;
use crate::log;
use crate::mcp::call;
use crate::mcp::handshake::{self, Peer, Refused};
use crate::mcp::inbound::Ear;
use crate::mcp::list::ToolList;
use crate::mcp::live::Changes;
use crate::mcp::phase::Clock;
use crate::mcp::rpc;
use crate::outcome::{Failure, Phase, Status};
use crate::process::Spec;
use crate::tool::Tool;
use crate::wire::mux::{Era, Mux, Reply, RequestKind};
use crate::wire::service::Seat;
use crate::wire::stdio::Local;

/// A list longer than this is cut.
const PAGES: usize = 1000;
/// And so is one larger than this.
const BYTES: usize = 256 * 1024 * 1024;
/// How long the rest of a dead server's standard error may take to arrive.
const LAST_WORDS: Duration = Duration::from_millis(500);

impl Server {
    pub(super) async fn connect(&self) -> Result<(Session, Listed), Problem> {
        let began = Instant::now();
        let Some(config) = &self.config else {
            return Err(Problem { failure: self.not_up(), stderr: String::new() });
        };
        let mut known_legacy = self.legacy.load(Ordering::Relaxed);
        loop {
            let (local, changes, service) = self.start(config).await?;
            let hello = &self.shared.hello;
            let negotiated =
                handshake::negotiate(&local.mux, config.lifecycle, known_legacy, hello, config.timeout).await;
            let peer = match negotiated {
                Ok(peer) => {
                    self.legacy.store(peer.era == Era::Legacy, Ordering::Relaxed);
                    peer
                }
                Err(Refused::EndedOnProbe) => {
                    log::at!(
                        Info,
                        "mcp",
                        "server {:?} ended on server/discover; started again for initialize",
                        self.name
                    );
                    local.gone().await;
                    known_legacy = true;
                    continue;
                }
                Err(Refused::Failed(failure)) => return Err(self.explain(failure, &local).await),
            };
            service.peer().set_peer_info(peer_info(&peer));
            if peer.extends(TASKS) {
                local.mux.set_modern_meta(self.shared.hello.modern_meta_with(&format!("\"{TASKS}\":{{}}")));
            }
            let listed = match self.list(&local.mux, &peer, config).await {
                Ok(listed) => listed,
                Err(failure) => return Err(self.explain(failure, &local).await),
            };
            let ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
            let mux = local.mux.clone();
            let session = Session { mux, peer, changes, local, up_since: Instant::now(), ms, _service: service };
            return Ok((session, listed));
        }
    }

    async fn start(
        &self,
        config: &ServerConfig,
    ) -> Result<(Local, Arc<Changes>, RunningService<RoleClient, ()>), Problem> {
        let failed =
            |failure: Failure| Problem { failure: failure.at(Phase::Start).of(&self.name), stderr: String::new() };
        let Transport::Stdio { argv, env, cwd, .. } = &config.transport else {
            return Err(failed(Failure::new(
                Status::Transport,
                "remote servers are not supported in this version; use a local server with a command",
            )));
        };
        let shared = &self.shared;
        let changes = Arc::new(Changes::default());
        let (mux, messages) = Mux::new(
            &self.name,
            shared.secrets.clone(),
            shared.options.max_message_bytes,
            shared.hello.modern_meta(),
            |mux| Box::new(Ear::new(&self.name, mux, &shared.host, &changes, &shared.tracker, &shared.secrets)),
        );
        let spec = Spec { argv: argv.clone(), env: env.clone(), cwd: cwd.clone() };
        let starting = Local::start(spec, mux.clone(), &self.name, shared.secrets.clone(), &shared.tracker);
        let local = match tokio::time::timeout(config.timeout, starting).await {
            Ok(started) => started.map_err(|failure| failed(self.masked(failure)))?,
            Err(_) => {
                let ms = config.timeout.as_millis();
                return Err(failed(Failure::new(
                    Status::Timeout,
                    format!("the process did not start within the time-out of {ms} ms"),
                )));
            }
        };
        // The SDK answers pings, and refuses what nobody knows.
        let service = rmcp::service::serve_directly((), Seat::new(mux, messages), None);
        Ok((local, changes, service))
    }

    /// Lists the tools. What the server does not announce is not asked for, with one exception: a server that announces
    /// nothing at all may still have tools.
    async fn list(&self, mux: &Arc<Mux>, peer: &Peer, config: &ServerConfig) -> Result<Listed, Failure> {
        let announced = peer.offers("tools");
        if !announced && (peer.offers("resources") || peer.offers("prompts")) {
            return Ok(Listed::default());
        }
        let clock = Clock::start(Phase::List, config.timeout, mux);
        let mut list = ToolList::default();
        let mut warnings = Vec::new();
        let walked = pages(
            "tools/list",
            "tools",
            &mut warnings,
            |members| clock_request(&clock, members),
            |page| list.add_page(&page),
        )
        .await;
        match walked {
            Ok(()) => {}
            // It announced none, and then could not even list them.
            Err(failure)
                if !announced
                    && matches!(
                        failure.status,
                        Status::Server | Status::Timeout | Status::Protocol | Status::Limit
                    ) =>
            {
                return Ok(Listed::default());
            }
            Err(failure) => return Err(failure.at(Phase::List)),
        }
        Ok(self.expose(list, warnings, config))
    }

    fn expose(&self, list: ToolList, mut warnings: Vec<String>, config: &ServerConfig) -> Listed {
        let originals: Vec<&str> = list.tools.iter().map(|tool| &*tool.name).collect();
        let exposed = self.shared.names.expose(self.index, &originals);
        let unknown = config.filter.unknown(&originals);
        if !unknown.is_empty() {
            warnings
                .push(format!("the tools filter names tools that the server does not have: {}", unknown.join(", ")));
        }
        warnings.extend(list.warnings.into_lines());
        let tools = list
            .tools
            .iter()
            .zip(exposed)
            .filter(|(info, _)| config.filter.allows(&info.name))
            .map(|(info, name)| Arc::new(Tool::new(name, call::McpTool::new(&self.source, self, info.clone()))))
            .collect();
        let warnings = warnings.into_iter().map(|warning| format!("server {:?}: {warning}", self.name)).collect();
        Listed { tools, infos: list.tools, skipped: list.skipped.items, warnings }
    }

    /// Lists the tools of a session anew.
    pub async fn list_again(&self, session: &Session) -> Result<(), Failure> {
        if let Some(config) = &self.config {
            let listed = self.list(&session.mux, &session.peer, config).await?;
            self.state.lock().listed = Arc::new(listed);
        }
        Ok(())
    }

    /// Adds to a failure of the start what the process said and how it ended.
    async fn explain(&self, failure: Failure, local: &Local) -> Problem {
        if local.mux.is_closed() {
            // The last lines of a process that ended may still be in its pipe.
            let _ = tokio::time::timeout(LAST_WORDS, local.gone()).await;
        }
        let stderr = local.stderr();
        let mut failure = self.masked(failure).of(&self.name);
        if let Some(Transport::Stdio { withheld, .. }) = self.config.as_ref().map(|config| &config.transport) {
            let named: Vec<&str> =
                withheld.iter().map(String::as_str).filter(|name| has_word(&stderr, name)).take(5).collect();
            if !named.is_empty() {
                failure.message.push_str(&format!(
                    "; its error output names {}, which the host has and did not pass on: add it to \"env\" or \"inheritEnv\"",
                    named.join(", ")
                ));
            }
        }
        Problem { failure, stderr }
    }

    fn masked(&self, failure: Failure) -> Failure {
        let message = self.shared.secrets.mask(&failure.message).into_owned();
        Failure { message, ..failure }
    }
}

async fn clock_request(clock: &Clock, members: String) -> Result<Reply, Failure> {
    clock.request("tools/list", &members, RequestKind::Normal).await
}

/// Walks a paged list (MCP, pagination): `ask` sends one request, `take` takes one page and returns the next cursor.
pub async fn pages<F>(
    method: &str,
    what: &str,
    warnings: &mut Vec<String>,
    mut ask: impl FnMut(String) -> F,
    mut take: impl FnMut(Arc<Reply>) -> Result<Option<String>, String>,
) -> Result<(), Failure>
where
    F: Future<Output = Result<Reply, Failure>>,
{
    let mut seen = std::collections::HashSet::new();
    let mut bytes = 0;
    let mut members = String::new();
    for page in 1.. {
        let reply = ask(std::mem::take(&mut members)).await?;
        bytes += rpc::complete(method, &reply)?.text().len();
        let next = take(reply.kept())
            .map_err(|reason| Failure::new(Status::Protocol, format!("the server's answer to {method}: {reason}")))?;
        let Some(cursor) = next else { break };
        if bytes > BYTES {
            warnings.push(format!("the list of {what} was cut after {bytes} bytes"));
            break;
        }
        if page == PAGES {
            warnings.push(format!("the list of {what} was cut after {PAGES} pages"));
            break;
        }
        members.push_str("\"cursor\":");
        json::quote(&cursor, &mut members);
        if !seen.insert(cursor) {
            warnings.push(format!("the list of {what} was cut: the server repeated a cursor"));
            break;
        }
    }
    Ok(())
}

/// What the SDK's service knows of the peer.
fn peer_info(peer: &Peer) -> ServerPeerInfo {
    let capabilities: ServerCapabilities = serde_json::from_str(&peer.capabilities).unwrap_or_default();
    let version = serde_json::from_value(serde_json::Value::from(peer.version.as_str())).unwrap_or_default();
    ServerPeerInfo::new(version, capabilities)
}

/// True if `text` holds `word` between characters that cannot belong to a variable's name.
fn has_word(text: &str, word: &str) -> bool {
    let inside = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    text.match_indices(word).any(|(at, _)| {
        let bytes = text.as_bytes();
        !inside(at.checked_sub(1).and_then(|before| bytes.get(before))) && !inside(bytes.get(at + word.len()))
    })
}
