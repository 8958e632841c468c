//! One server: its life from the start to the close, and its restarts.
#![forbid(unsafe_code)]

mod connect;
mod status;

pub use connect::pages;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use rmcp::service::{RoleClient, RunningService};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config::{self, Options, Secrets, ServerConfig};
use crate::context::{Limits, Progress};
use crate::json::{Kind, Raw};
use crate::log;
use crate::mcp::handshake::{Hello, Peer};
use crate::mcp::host::Host;
use crate::mcp::input::{self, Ask};
use crate::mcp::list::Skipped;
use crate::mcp::live::{self, Changes, Wanted};
use crate::mcp::names::Names;
use crate::mcp::rpc;
use crate::mcp::tool::ToolInfo;
use crate::outcome::{Again, Failure, Phase, Status, quoted};
use crate::tool::Tool;
use crate::wire::auth::Challenge;
use crate::wire::link::Link;
use crate::wire::mux::{self, Headers, Mux, Reply, Request, RequestKind};
use crate::wire::param_headers::ParamHeaders;

/// A server that has been up for so long has recovered from what it failed with before.
const STEADY: Duration = Duration::from_secs(60);

/// The extension of tasks (SEP-2663).
const TASKS: &str = "io.modelcontextprotocol/tasks";

/// What all servers of a source have in common.
#[derive(Debug)]
pub struct Shared {
    pub options: Options,
    pub secrets: Arc<Secrets>,
    pub names: Names,
    pub hello: Hello,
    pub host: Arc<Host>,
    /// Every task of the source.
    pub tracker: TaskTracker,
    /// Cancelled when the source begins to close.
    pub closing: CancellationToken,
    pub closed: AtomicBool,
}

impl Shared {
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// True if calls of that server may be answered with a task: it announces the extension, so we do.
    pub fn tasks(&self, session: &Session) -> bool {
        session.peer.extends(TASKS)
    }
}

/// The failure of everything after the close.
pub fn source_closed() -> Failure {
    Failure::new(Status::Closed, "MCP source is closed")
}

/// Why a server is not up.
#[derive(Clone, Debug)]
pub struct Problem {
    pub failure: Failure,
    pub stderr: String,
    /// What it asks for before it serves us.
    pub challenge: Option<Challenge>,
}

impl Problem {
    fn new(failure: Failure) -> Self {
        Problem { failure, stderr: String::new(), challenge: None }
    }
}

/// One session with a running server.
#[derive(Debug)]
pub struct Session {
    pub mux: Arc<Mux>,
    pub peer: Peer,
    pub changes: Arc<Changes>,
    link: Link,
    up_since: Instant,
    /// How long it took to get here.
    ms: u64,
    /// Ends with the session.
    _service: RunningService<RoleClient, ()>,
}

/// What a server offers, as it was last listed.
#[derive(Debug, Default)]
pub struct Listed {
    /// Exposed and allowed.
    pub tools: Vec<Arc<Tool>>,
    /// All of them, for the inventory.
    pub infos: Vec<Arc<ToolInfo>>,
    /// By the server's own name: the arguments that are sent as headers too.
    pub headers: HashMap<Arc<str>, ParamHeaders>,
    pub skipped: Vec<Skipped>,
    pub warnings: Vec<String>,
}

#[derive(Debug)]
enum Standing {
    Disabled,
    Loading,
    Up(Arc<Session>),
    Down(Problem),
}

#[derive(Debug)]
struct State {
    standing: Standing,
    listed: Arc<Listed>,
    /// It was up once: a server that never was is not tried again by itself.
    came_up: bool,
    /// Crashes and failed starts in a row.
    failures: u32,
    last_failure: Instant,
}

/// One configured server.
#[derive(Debug)]
pub struct Server {
    pub name: Arc<str>,
    pub index: usize,
    config: Option<Box<ServerConfig>>,
    pub shared: Arc<Shared>,
    /// What the host subscribed to.
    pub wanted: Wanted,
    source: Weak<crate::mcp::source::Source>,
    state: Mutex<State>,
    /// The last handshake found it legacy.
    legacy: AtomicBool,
    /// And to speak the HTTP+SSE transport.
    old: AtomicBool,
    /// Held while the server is started again: one start at a time, however many calls wait for it.
    starting: tokio::sync::Mutex<()>,
}

impl Server {
    pub fn new(
        entry: config::Server,
        index: usize,
        shared: Arc<Shared>,
        source: Weak<crate::mcp::source::Source>,
    ) -> Self {
        let (config, standing) = match entry.state {
            config::State::Enabled(config) => (Some(config), Standing::Loading),
            config::State::Disabled(config) => (config, Standing::Disabled),
            config::State::Failed { path, reason } => {
                let failure = Failure::new(Status::Config, format!("{path}: {reason}")).at(Phase::Config);
                (None, Standing::Down(Problem::new(failure.of(&entry.name))))
            }
        };
        let state =
            State { standing, listed: Arc::default(), came_up: false, failures: 0, last_failure: Instant::now() };
        Server {
            name: entry.name.into(),
            index,
            config,
            shared,
            wanted: Wanted::default(),
            source,
            state: Mutex::new(state),
            legacy: AtomicBool::new(false),
            old: AtomicBool::new(false),
            starting: tokio::sync::Mutex::new(()),
        }
    }

    pub fn is_disabled(&self) -> bool {
        matches!(self.state.lock().standing, Standing::Disabled)
    }

    fn is_loading(&self) -> bool {
        matches!(self.state.lock().standing, Standing::Loading)
    }

    pub fn listed(&self) -> Arc<Listed> {
        self.state.lock().listed.clone()
    }

    pub fn is_remote(&self) -> bool {
        self.config.as_ref().is_some_and(|config| matches!(config.transport, config::Transport::Http { .. }))
    }

    /// The silence that a call may have.
    pub fn call_timeout(&self) -> Duration {
        self.config.as_ref().map_or(crate::context::DEADLINE, |config| config.call_timeout)
    }

    // -- up and down ------------------------------------------------------------------------------------------------

    /// The first start. Its outcome is in the status.
    pub async fn load(self: Arc<Self>) {
        if !self.is_loading() {
            self.warn_if_down();
            return;
        }
        self.connect_and_keep().await;
    }

    async fn connect_and_keep(self: &Arc<Self>) {
        let connected = tokio::select! {
            connected = self.connect() => connected,
            () = self.shared.closing.cancelled() => {
                Err(Problem::new(source_closed().of(&self.name)))
            }
        };
        let mut state = self.state.lock();
        match connected {
            Ok((session, listed)) => {
                if self.shared.is_closed() {
                    session.mux.close(source_closed());
                }
                let session = Arc::new(session);
                if std::mem::replace(&mut state.came_up, true) {
                    self.notice("server", ",\"status\":\"connected\"");
                }
                state.standing = Standing::Up(session.clone());
                state.listed = Arc::new(listed);
                self.shared.tracker.spawn(live::serve(self.clone(), session));
            }
            Err(problem) => {
                state.failures += 1;
                state.last_failure = Instant::now();
                if state.came_up && problem.failure.status != Status::Closed {
                    self.notice("server", &failed(&problem.failure));
                }
                state.standing = Standing::Down(problem);
            }
        }
        drop(state);
        self.warn_if_down();
    }

    fn warn_if_down(&self) {
        if let Some(problem) = self.problem()
            && problem.failure.status != Status::Closed
        {
            let phase = problem.failure.phase.map_or("call", Phase::name);
            let last = telling_line(&problem.stderr).map(|line| format!(" (stderr: {line})")).unwrap_or_default();
            log::at!(Warn, "mcp", "server {:?} failed in phase {phase}: {}{last}", self.name, problem.failure.message);
        }
    }

    /// The session, if the server is up; starts a crashed one again if it may.
    pub async fn session(self: &Arc<Self>) -> Result<Arc<Session>, Failure> {
        if let Some(session) = self.live() {
            return Ok(session);
        }
        if self.may_restart().is_none() {
            return Err(self.not_up());
        }
        // On a task of its own: a caller that gives up does not stop the start that others wait for.
        let server = self.clone();
        let started = self.shared.tracker.spawn(async move { server.start_again().await });
        started.await.unwrap_or_else(|_| Err(source_closed()))
    }

    /// The session, if it is up now.
    pub fn live(&self) -> Option<Arc<Session>> {
        self.kept().filter(|session| !session.mux.is_closed() && !session.link.is_lost())
    }

    /// The last session that came up, dead or alive.
    fn kept(&self) -> Option<Arc<Session>> {
        match &self.state.lock().standing {
            Standing::Up(session) => Some(session.clone()),
            _ => None,
        }
    }

    async fn start_again(self: &Arc<Self>) -> Result<Arc<Session>, Failure> {
        let _one = self.starting.lock().await;
        if let Some(session) = self.live() {
            return Ok(session);
        }
        let Some(at) = self.may_restart() else { return Err(self.not_up()) };
        // What is left of the old session goes first.
        if let Some(old) = self.kept() {
            if old.link.is_lost() {
                // No crash.
                self.leave(old);
            } else {
                self.note_crash(&old);
                old.link.gone().await;
            }
        }
        tokio::select! {
            () = tokio::time::sleep_until(at) => {}
            () = self.shared.closing.cancelled() => return Err(source_closed()),
        }
        log::at!(Info, "mcp", "server {:?} is started again", self.name);
        self.connect_and_keep().await;
        self.live().ok_or_else(|| self.not_up())
    }

    /// Lets a session end by itself that the server does not know any more: calls may still be under way in it.
    fn leave(&self, old: Arc<Session>) {
        let closing = self.shared.closing.clone();
        self.shared.tracker.spawn(async move {
            tokio::select! {
                () = old.link.gone() => {}
                () = closing.cancelled() => old.link.kill(source_closed()),
            }
        });
    }

    /// When a server that is not up may be started again, or None if it may not.
    fn may_restart(&self) -> Option<Instant> {
        if self.shared.is_closed() {
            return None;
        }
        let restart = self.config.as_ref()?.restart;
        let state = self.state.lock();
        let (failures, since) = match &state.standing {
            // No fault of the server's.
            Standing::Up(session) if session.link.is_lost() => (0, Instant::now()),
            Standing::Up(session) => {
                let crashed = session.mux.closed_at()?;
                (state.failures_after(session, crashed), crashed)
            }
            Standing::Down(_) if state.came_up => (state.failures, state.last_failure),
            _ => return None,
        };
        (failures <= restart.max)
            .then(|| since + restart.backoff * 2u32.saturating_pow(failures.saturating_sub(1).min(16)))
    }

    fn note_crash(&self, session: &Session) {
        let mut state = self.state.lock();
        if let Some(at) = session.mux.closed_at() {
            state.failures = state.failures_after(session, at);
            state.last_failure = at;
        }
    }

    /// Ends the session and starts another one. The count of failures begins anew.
    pub async fn restart(self: &Arc<Self>) -> Result<(), Failure> {
        if self.config.is_none() || self.is_disabled() {
            return Err(self.not_up());
        }
        let _one = self.starting.lock().await;
        if self.shared.is_closed() {
            return Err(source_closed());
        }
        self.end(Failure::new(Status::Closed, "the server is being restarted")).await;
        self.state.lock().failures = 0;
        self.connect_and_keep().await;
        match self.live() {
            Some(_) => Ok(()),
            None => Err(self.problem().map_or_else(|| self.not_up(), |problem| problem.failure)),
        }
    }

    /// Ends the session, if there is one, and waits until nothing of it runs.
    pub async fn end(&self, failure: Failure) {
        if let Some(session) = self.kept() {
            session.link.end(failure).await;
        }
    }

    /// Ends the session's processes at once.
    pub fn kill(&self) {
        if let Some(session) = self.kept() {
            session.link.kill(source_closed());
        }
    }

    /// Why the server is not up, if it is not.
    pub fn problem(&self) -> Option<Problem> {
        match &self.state.lock().standing {
            Standing::Down(problem) => Some(problem.clone()),
            Standing::Up(session) => session.mux.closed().map(|failure| Problem {
                stderr: session.link.stderr(),
                ..Problem::new(failure.at(Phase::Call).of(&self.name))
            }),
            Standing::Disabled | Standing::Loading => None,
        }
    }

    /// The failure of a call to a server that is not up.
    pub fn not_up(&self) -> Failure {
        if self.shared.is_closed() {
            return source_closed();
        }
        let reason = match self.problem() {
            Some(problem) => problem.failure.message,
            None if self.is_disabled() => "it is disabled in the config".to_owned(),
            None => "it is still being started".to_owned(),
        };
        Failure::new(Status::Transport, format!("MCP server {:?} is not connected: {reason}", self.name)).of(&self.name)
    }

    /// True while calls to it have a chance: it is up, or has crashed and may be started again.
    pub fn is_connected(&self) -> bool {
        self.live().is_some() || self.may_restart().is_some()
    }

    /// Tells the host that something happened. `members`: more of the notice's document.
    pub fn notice(&self, kind: &str, members: &str) {
        if let Some(events) = &self.shared.host.events {
            events.notice(0, format!("\"kind\":\"{kind}\",\"server\":{}{members}", quoted(&self.name)));
        }
    }

    // -- requests ---------------------------------------------------------------------------------------------------

    /// One request of the host's to this server, bounded by `limits` and the server's own time-out. Where the server refused it for
    /// want of a session, it is made once more in a new one.
    pub async fn request(self: &Arc<Self>, ask: Ask<'_>, limits: &Limits) -> Result<Reply, Failure> {
        let mut anew = false;
        loop {
            let session = match self.live() {
                Some(session) => session,
                None => Box::pin(limits.bound("the start of the server", self.session())).await??,
            };
            let reply = {
                // Pinned here: what is handed on by value has its room at every level.
                let driven = std::pin::pin!(input::drive(self, &session, &ask, limits));
                limits.cancellable("the call", driven).await
            };
            let reply = reply.and_then(|reply| reply);
            if !anew && self.needs_new_session(&session, &reply) {
                anew = true;
                continue;
            }
            return reply.map_err(|failure| failure.of(&self.name).at(Phase::Call));
        }
    }

    /// True if the server did nothing but say that it does not know the session, or not its revision, any more.
    fn needs_new_session(&self, session: &Session, reply: &Result<Reply, Failure>) -> bool {
        match reply {
            Err(failure) => failure.again == Again::InNewSession,
            Ok(reply) if reply.is_error => {
                let remote = session.link.remote().filter(|_| rpc::code(reply.raw()) == Some(rpc::UNSUPPORTED_VERSION));
                if let Some(remote) = remote {
                    self.legacy.store(false, Ordering::Relaxed);
                    remote.set_lost();
                }
                remote.is_some()
            }
            Ok(_) => false,
        }
    }

    /// A request that changes nothing at the server: repeated once where the server died, or the connection broke, before it
    /// answered, and after an outage.
    pub async fn read(self: &Arc<Self>, ask: Ask<'_>, limits: &Limits) -> Result<Reply, Failure> {
        match self.request(ask, limits).await {
            Err(Failure { again: Again::After(pause), .. }) => {
                let paused = async {
                    tokio::select! {
                        () = tokio::time::sleep(pause) => {}
                        () = self.shared.closing.cancelled() => {}
                    }
                };
                limits.bound("the call", paused).await?;
                self.request(ask, limits).await
            }
            Err(failure)
                if failure.status == Status::Transport && self.live().is_none() && self.may_restart().is_some() =>
            {
                self.request(ask, limits).await
            }
            ended => ended,
        }
    }

    /// The headers that a call of `tool` with these arguments has over HTTP.
    pub fn headers_for(&self, tool: &str, arguments: &str) -> Headers {
        if !self.is_remote() {
            return Headers::new();
        }
        let listed = self.listed();
        listed.headers.get(tool).map_or_else(Headers::new, |params| params.headers(Raw::checked(arguments)))
    }
}

impl State {
    /// The failures in a row, counting the crash of `session` at `at`.
    fn failures_after(&self, session: &Session, at: Instant) -> u32 {
        let before = if at - session.up_since >= STEADY { 0 } else { self.failures };
        before.saturating_add(1)
    }
}

impl Session {
    /// True if the server does not know it any more.
    pub fn is_lost(&self) -> bool {
        self.link.is_lost()
    }

    /// One request, as it is; `members` instead of the ask's own.
    pub fn request(&self, server: &Server, ask: &Ask<'_>, members: &str, limits: &Limits) -> mux::Call {
        let request = Request {
            method: ask.method,
            members,
            meta: ask.meta,
            progress: limits.progress.clone().map(|to| progress_notices(to, server.name.clone())),
            wants_progress: true,
            idle: limits.idle.unwrap_or_else(|| server.call_timeout()),
            deadline: limits.deadline,
            kind: RequestKind::Normal,
            tool: ask.tool.cloned(),
            headers: ask.headers.to_vec(),
        };
        self.mux.request(request)
    }
}

/// More of the notice that a server failed.
pub fn failed(failure: &Failure) -> String {
    format!(",\"status\":\"failed\",\"reason\":{}", quoted(&failure.message))
}

/// Turns the progress notifications of a call into notices. Values of a wrong type are left out.
fn progress_notices(to: Progress, server: Arc<str>) -> mux::Progress {
    Arc::new(move |params| {
        let mut members = format!("\"kind\":\"progress\",\"server\":{}", quoted(&server));
        for (name, kind) in [("progress", Kind::Number), ("total", Kind::Number), ("message", Kind::String)] {
            if let Some(value) = params.get(name).filter(|value| value.kind() == kind) {
                members.push_str(&format!(",\"{name}\":{}", value.text()));
            }
        }
        to.queue.notice(to.id, members);
    })
}

/// The line of a server's last words that says most: the last one that speaks of an error, else the last.
fn telling_line(stderr: &str) -> Option<&str> {
    stderr.lines().rev().find(|line| line.contains("rror")).or_else(|| stderr.lines().last())
}
