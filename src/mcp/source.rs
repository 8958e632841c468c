//! All servers of one config together: load, tools, status, close.
#![forbid(unsafe_code)]

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config::{Config, Options};
use crate::context::Limits;
use crate::log;
use crate::mcp::handshake::Hello;
use crate::mcp::host::Host;
use crate::mcp::names::Names;
use crate::mcp::server::{Server, Shared, source_closed};
use crate::outcome::{Failure, Status, quoted};
use crate::queue::Queue;
use crate::runtime;
use crate::tool::Tool;

/// The servers, and what ends them. Outlives its source while it closes.
#[derive(Debug)]
struct Core {
    servers: Vec<Arc<Server>>,
    shared: Arc<Shared>,
    warnings: Vec<String>,
    /// Cancelled when nothing of the source runs any more.
    gone: CancellationToken,
}

/// Every source that is not gone.
static LIVE: Mutex<Vec<Arc<Core>>> = Mutex::new(Vec::new());
/// Set while the library is shut down: nothing is loaded then, or the shutdown would have no end.
static SHUT: AtomicBool = AtomicBool::new(false);

/// A loaded config. Dropping it closes it in the background.
#[derive(Debug)]
pub struct Source {
    core: Arc<Core>,
}

impl Source {
    fn new(config: Config, options: Options, events: Option<Arc<Queue>>) -> Arc<Source> {
        let configured: Vec<&str> = config.servers.iter().map(|server| server.name.as_str()).collect();
        let host = Arc::new(Host::new(&options, events));
        let shared = Arc::new(Shared {
            names: Names::new(&configured),
            secrets: Arc::new(config.secrets),
            hello: hello(&options, &host),
            host,
            options,
            tracker: TaskTracker::new(),
            closing: CancellationToken::new(),
            closed: AtomicBool::new(false),
        });
        let source = Arc::new_cyclic(|weak: &Weak<Source>| {
            let servers = config
                .servers
                .into_iter()
                .enumerate()
                .map(|(index, entry)| Arc::new(Server::new(entry, index, shared.clone(), weak.clone())))
                .collect();
            let core = Core { servers, shared, warnings: config.warnings, gone: CancellationToken::new() };
            Source { core: Arc::new(core) }
        });
        LIVE.lock().push(source.core.clone());
        source
    }

    /// Connects to every server. A server that fails is in the status; the load fails only if it is cut short, and
    /// then everything that it started is gone.
    pub async fn load(
        config: Config,
        options: Options,
        events: Option<Arc<Queue>>,
        limits: Limits,
    ) -> Result<Arc<Source>, Failure> {
        let parallel = match options.parallel {
            0 => tokio::sync::Semaphore::MAX_PERMITS,
            parallel => parallel.min(tokio::sync::Semaphore::MAX_PERMITS),
        };
        if SHUT.load(Ordering::SeqCst) {
            return Err(Failure::new(Status::Closed, "the library is being shut down; load again when that has ended"));
        }
        let source = Source::new(config, options, events);
        let core = &source.core;
        let turns = Arc::new(tokio::sync::Semaphore::new(parallel));
        let loading: Vec<_> = core
            .servers
            .iter()
            .map(|server| {
                let (server, turns) = (server.clone(), turns.clone());
                core.shared.tracker.spawn(async move {
                    let _turn = turns.acquire_owned().await;
                    server.load().await;
                })
            })
            .collect();
        let all = async {
            for server in loading {
                let _ = server.await;
            }
        };
        let ended = tokio::select! {
            ended = limits.bound("the load", all) => ended,
            () = core.shared.closing.cancelled() => Err(source_closed()),
        };
        match ended {
            Ok(()) => Ok(source),
            Err(failure) => {
                core.begin_close(true);
                core.gone.cancelled().await;
                Err(failure)
            }
        }
    }

    pub fn server(&self, index: usize) -> &Arc<Server> {
        &self.core.servers[index]
    }

    pub fn servers(&self) -> &[Arc<Server>] {
        &self.core.servers
    }

    pub fn is_closed(&self) -> bool {
        self.core.shared.is_closed()
    }

    /// The server of that name, or the failure that says which there are.
    pub fn find(&self, name: &str) -> Result<&Arc<Server>, Failure> {
        if self.is_closed() {
            return Err(source_closed());
        }
        self.core.servers.iter().find(|server| &*server.name == name).ok_or_else(|| {
            Failure::new(Status::NotFound, format!("Unknown MCP server {:?} ({})", name, self.connected_names()))
        })
    }

    /// `connected: a, b`, as messages show it.
    pub fn connected_names(&self) -> String {
        let names: Vec<&str> =
            self.core.servers.iter().filter(|server| server.is_connected()).map(|server| &*server.name).collect();
        if names.is_empty() { "connected: none".to_owned() } else { format!("connected: {}", names.join(", ")) }
    }

    /// Every server's tools, as they are now: servers in config order, tools as listed. A name is there once: a server could
    /// list a tool under the hashed name of another server's, and then the first one stays.
    pub fn tools(&self) -> Vec<Arc<Tool>> {
        let lists: Vec<_> = self.core.servers.iter().map(|server| server.listed()).collect();
        let count = lists.iter().map(|list| list.tools.len()).sum();
        let mut tools: Vec<Arc<Tool>> = Vec::with_capacity(count);
        // A single list has each name once.
        let single = lists.iter().all(|list| list.tools.is_empty() || list.tools.len() == count);
        let mut names = HashSet::with_capacity(if single { 0 } else { count });
        for (server, list) in self.core.servers.iter().zip(&lists) {
            for tool in &list.tools {
                if single || names.insert(tool.name().as_str()) {
                    tools.push(tool.clone());
                } else {
                    let name = tool.name().as_str();
                    log::at!(
                        Warn,
                        "mcp",
                        "server {:?}: the tool {name} is left out: an earlier tool has the name",
                        server.name
                    );
                }
            }
        }
        tools
    }

    /// The document of a load and of the status.
    pub fn status(&self) -> String {
        let servers: Vec<String> =
            self.core.servers.iter().map(|server| format!("{}:{}", quoted(&server.name), server.status())).collect();
        let mut warnings = self.core.warnings.clone();
        for server in &self.core.servers {
            warnings.extend(server.listed().warnings.iter().cloned());
        }
        format!(
            "{{\"servers\":{{{}}},\"warnings\":{},\"guardian\":{}}}",
            servers.join(","),
            serde_json::Value::from(warnings),
            crate::process::guardian_running()
        )
    }

    /// What the servers offer, under their own names, not filtered.
    pub fn inventory(&self) -> String {
        let mut tools = Vec::new();
        let mut status = Vec::new();
        for server in &self.core.servers {
            let name = quoted(&server.name);
            let word = server.word();
            if word == "connected" {
                let infos: Vec<String> = server.listed().infos.iter().map(|info| info.inventory_json()).collect();
                tools.push(format!("{name}:[{}]", infos.join(",")));
            }
            status.push(format!("{name}:\"{word}\""));
        }
        let document = self.status();
        format!(
            "{{\"tools\":{{{}}},\"status\":{{{}}},{}",
            tools.join(","),
            status.join(","),
            document.strip_prefix('{').unwrap_or_default()
        )
    }

    /// Starts one server again, or all of them.
    pub async fn restart(&self, server: Option<&str>) -> Result<(), Failure> {
        if self.is_closed() {
            return Err(source_closed());
        }
        if let Some(name) = server {
            return self.find(name)?.restart().await;
        }
        // Given up with the future: a context ends all of it.
        let mut restarts = tokio::task::JoinSet::new();
        for server in self.core.servers.iter().filter(|server| !server.is_disabled()) {
            let server = server.clone();
            restarts.spawn(self.core.shared.tracker.track_future(async move { server.restart().await }));
        }
        // What failed is in the status.
        while restarts.join_next().await.is_some() {}
        Ok(())
    }

    /// Begins to end every server, and does not wait.
    pub fn begin_close(&self) {
        self.core.begin_close(false);
    }

    /// Ends every server; returns when nothing of the source runs. Further calls wait for the same end.
    pub async fn close(&self) {
        self.begin_close();
        self.core.gone.cancelled().await;
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        self.core.begin_close(false);
    }
}

impl Core {
    /// `at_once`: without the polite steps.
    fn begin_close(self: &Arc<Self>, at_once: bool) {
        if self.shared.closed.swap(true, Ordering::SeqCst) {
            return;
        }
        self.shared.closing.cancel();
        let finish = Finish(self.clone());
        // Without threads there is nothing left that could run.
        let Some(runtime) = runtime::running() else { return };
        runtime.spawn(async move {
            let core = &finish.0;
            for server in &core.servers {
                let (server, core) = (server.clone(), core.clone());
                core.shared.tracker.clone().spawn(async move {
                    if at_once {
                        server.kill();
                    }
                    server.end(source_closed()).await;
                });
            }
            core.shared.tracker.close();
            core.shared.tracker.wait().await;
        });
    }
}

/// Tells that nothing of a source runs any more, however its close ended: a shutdown whose time is over drops it half-way,
/// with every task of the source, and nobody must wait for the rest.
struct Finish(Arc<Core>);

impl Drop for Finish {
    fn drop(&mut self) {
        LIVE.lock().retain(|core| !Arc::ptr_eq(core, &self.0));
        self.0.gone.cancel();
    }
}

/// While it lives nothing is loaded.
#[derive(Debug)]
pub struct Shut(());

/// Lets no source be loaded until what this returns is dropped.
pub fn shut() -> Shut {
    SHUT.store(true, Ordering::SeqCst);
    Shut(())
}

impl Drop for Shut {
    fn drop(&mut self) {
        SHUT.store(false, Ordering::SeqCst);
    }
}

/// Closes every source, those that close already included. False: it took longer than `timeout`.
pub async fn close_all(timeout: Duration) -> bool {
    let all = async {
        loop {
            // Again for those that were being made.
            let live: Vec<Arc<Core>> = LIVE.lock().clone();
            if live.is_empty() {
                break;
            }
            for core in &live {
                core.begin_close(false);
            }
            for core in &live {
                core.gone.cancelled().await;
            }
        }
    };
    tokio::time::timeout(timeout, all).await.is_ok()
}

fn hello(options: &Options, host: &Host) -> Hello {
    let name = options.client_name.as_deref().unwrap_or("toolnexus");
    let version = options.client_version.as_deref().unwrap_or(env!("CARGO_PKG_VERSION"));
    Hello {
        client_info: format!("{{\"name\":{},\"version\":{}}}", quoted(name), quoted(version)),
        capabilities: format!("{{{}}}", host.capabilities()),
    }
}
