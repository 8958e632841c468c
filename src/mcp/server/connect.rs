//! The phases of a start: the process, the handshake, the list.
#![forbid(unsafe_code)]

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rmcp::model::{ServerCapabilities, ServerPeerInfo};
use rmcp::service::{RoleClient, RunningService};
use tokio::time::Instant;

use super::{Listed, Problem, Server, Session, TASKS};
use crate::config::{ServerConfig, Transport};
use crate::json::{self, Raw};
use crate::log;
use crate::mcp::call;
use crate::mcp::handshake::{self, Peer, Refused};
use crate::mcp::inbound::Ear;
use crate::mcp::list::{Skipped, ToolList};
use crate::mcp::live::Changes;
use crate::mcp::phase::Clock;
use crate::mcp::rpc;
use crate::outcome::{Again, Failure, Phase, Status};
use crate::process::Spec;
use crate::tool::Tool;
use crate::wire::http::{Remote, Target};
use crate::wire::link::Link;
use crate::wire::mux::{Era, Mux, Reply, RequestKind};
use crate::wire::param_headers::ParamHeaders;
use crate::wire::service::Seat;
use crate::wire::stdio::Local;

/// A list longer than this is cut.
const PAGES: usize = 1000;
/// And so is one larger than this.
const BYTES: usize = 256 * 1024 * 1024;
/// How long the rest of a dead server's standard error may take to arrive.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// A server that can be talked to.
struct Started {
    mux: Arc<Mux>,
    link: Link,
    changes: Arc<Changes>,
    service: RunningService<RoleClient, ()>,
}

impl Server {
    pub(super) async fn connect(&self) -> Result<(Session, Listed), Problem> {
        let began = Instant::now();
        let Some(config) = &self.config else { return Err(Problem::new(self.not_up())) };
        let mut known_legacy = self.legacy.load(Ordering::Relaxed);
        let mut old = match config.transport {
            Transport::Http { sse, .. } => sse || self.old.load(Ordering::Relaxed),
            Transport::Stdio { .. } => false,
        };
        // What the server said to the transport that was tried first, if it did not speak the other one either.
        let mut refusal: Option<Problem> = None;
        let mut anew = false;
        loop {
            let Started { mux, link, changes, service } = match self.start(config, old).await {
                Ok(started) => started,
                Err(problem) => return Err(more_telling(refusal, problem)),
            };
            let hello = &self.shared.hello;
            let exchanges = link.remote().is_some();
            let negotiated =
                handshake::negotiate(&mux, exchanges, config.lifecycle, known_legacy || old, hello, config.timeout)
                    .await;
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
                    link.gone().await;
                    known_legacy = true;
                    continue;
                }
                Err(Refused::Failed(failure)) => {
                    let problem = self.explain(failure, &mux, &link).await;
                    if refusal.is_none() && link.remote().is_some_and(Remote::may_speak_the_other) {
                        refusal = Some(problem);
                        old = !old;
                        continue;
                    }
                    return Err(more_telling(refusal, problem));
                }
            };
            self.old.store(old, Ordering::Relaxed);
            if let Some(remote) = link.remote() {
                // Before anything else runs on this thread: the next message has it already.
                remote.set_version(&peer.version);
            }
            service.peer().set_peer_info(peer_info(&peer));
            if peer.extends(TASKS) {
                mux.set_modern_meta(self.shared.hello.modern_meta_with(&format!("\"{TASKS}\":{{}}")));
            }
            let listed = match self.list(&mux, &peer, config).await {
                Ok(listed) => listed,
                // A server of several processes may need a second session to be well.
                Err(failure) if failure.again == Again::InNewSession && !anew => {
                    anew = true;
                    continue;
                }
                Err(failure) => return Err(self.explain(failure, &mux, &link).await),
            };
            let ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
            let session = Session { mux, peer, changes, link, up_since: Instant::now(), ms, _service: service };
            return Ok((session, listed));
        }
    }

    async fn start(&self, config: &ServerConfig, old: bool) -> Result<Started, Problem> {
        let failed = |failure: Failure| Problem::new(self.masked(failure).at(Phase::Start).of(&self.name));
        let shared = &self.shared;
        let changes = Arc::new(Changes::default());
        let (mux, messages) = Mux::new(
            &self.name,
            shared.secrets.clone(),
            shared.options.max_message_bytes,
            shared.hello.modern_meta(),
            |mux| Box::new(Ear::new(&self.name, mux, &shared.host, &changes, &shared.tracker, &shared.secrets)),
        );
        let secrets = shared.secrets.clone();
        let starting = async {
            match &config.transport {
                Transport::Stdio { argv, env, cwd, .. } => {
                    let spec = Spec { argv: argv.clone(), env: env.clone(), cwd: cwd.clone() };
                    let local = Local::start(spec, mux.clone(), &self.name, secrets, &shared.tracker);
                    local.await.map(Link::Local)
                }
                Transport::Http { url, headers, .. } => {
                    let shown = self.shared.secrets.mask(&config.shown()).into_owned();
                    let target = Target { url, headers, shown, old };
                    let remote = Remote::start(target, mux.clone(), &self.name, secrets, &shared.tracker);
                    remote.await.map(Link::Remote)
                }
            }
        };
        let link = match tokio::time::timeout(config.timeout, starting).await {
            Ok(started) => started.map_err(failed)?,
            Err(_) => {
                let ms = config.timeout.as_millis();
                return Err(failed(Failure::new(
                    Status::Timeout,
                    format!("the process did not start within the time-out of {ms} ms"),
                )));
            }
        };
        // The SDK answers pings, and refuses what nobody knows.
        let service = rmcp::service::serve_directly((), Seat::new(mux.clone(), messages), None);
        Ok(Started { mux, link, changes, service })
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
        let modern_remote = peer.era == Era::Modern && matches!(config.transport, Transport::Http { .. });
        let headers = if modern_remote { self.param_headers(&mut list) } else { HashMap::new() };
        Ok(self.expose(list, headers, warnings, config))
    }

    /// The arguments that calls have to send as headers. A tool that asks for it in a way that makes no sense is taken out of the
    /// list: no call of it could be right (MCP 2026-07-28, custom headers).
    fn param_headers(&self, list: &mut ToolList) -> HashMap<Arc<str>, ParamHeaders> {
        let mut headers = HashMap::new();
        let ToolList { tools, skipped, .. } = list;
        tools.retain(|tool| match ParamHeaders::from_schema(Raw::checked(tool.input_schema())) {
            Ok(params) if params.is_empty() => true,
            Ok(params) => {
                headers.insert(tool.name.clone(), params);
                true
            }
            Err(reason) => {
                log::at!(Warn, "mcp", "server {:?}: the tool {:?} is left out: {reason}", self.name, tool.name);
                skipped.add(|| Skipped { item: rpc::shortened(&tool.name), reason });
                false
            }
        });
        headers
    }

    fn expose(
        &self,
        list: ToolList,
        headers: HashMap<Arc<str>, ParamHeaders>,
        mut warnings: Vec<String>,
        config: &ServerConfig,
    ) -> Listed {
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
        Listed { tools, infos: list.tools, headers, skipped: list.skipped.items, warnings }
    }

    /// Lists the tools of a session anew.
    pub async fn list_again(&self, session: &Session) -> Result<(), Failure> {
        if let Some(config) = &self.config {
            let listed = self.list(&session.mux, &session.peer, config).await?;
            self.state.lock().listed = Arc::new(listed);
        }
        Ok(())
    }

    /// Adds to a failure of the start what the process said and how it ended, or where the server is and what it asks for.
    async fn explain(&self, failure: Failure, mux: &Mux, link: &Link) -> Problem {
        let mut failure = self.masked(failure).of(&self.name);
        if let Some(remote) = link.remote() {
            if !remote.is_reached() {
                failure = failure.at(Phase::Start);
            }
            if failure.status == Status::Timeout && failure.message.contains("server/discover") {
                failure.message.push_str("; an older server may need \"lifecycle\": \"initialize\"");
            }
            if !failure.message.contains(remote.url()) {
                failure.message.push_str(&format!(" ({})", remote.url()));
            }
            let challenge = remote.challenge().filter(|_| failure.status == Status::Auth);
            return Problem { challenge, ..Problem::new(failure) };
        }
        if mux.is_closed() {
            // The last lines of a process that ended may still be in its pipe.
            let _ = tokio::time::timeout(LAST_WORDS, link.gone()).await;
        }
        let stderr = link.stderr();
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
        Problem { stderr, ..Problem::new(failure) }
    }

    fn masked(&self, failure: Failure) -> Failure {
        let message = self.shared.secrets.mask(&failure.message).into_owned();
        Failure { message, ..failure }
    }
}

/// What is told of a server that speaks neither transport: its answer to the one that was tried first, unless the other one only
/// wants to know who we are.
fn more_telling(refusal: Option<Problem>, problem: Problem) -> Problem {
    refusal.filter(|_| problem.challenge.is_none()).unwrap_or(problem)
}

/// One page of the list; at an outage, or where the connection broke, asked for once more.
async fn clock_request(clock: &Clock, members: String) -> Result<Reply, Failure> {
    let ask = || clock.request("tools/list", &members, RequestKind::Normal);
    match ask().await {
        Err(Failure { again: Again::After(pause), .. }) if pause < clock.left() => {
            clock.pause(pause).await;
            ask().await
        }
        ended => ended,
    }
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
