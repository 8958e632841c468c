//! Which era a server speaks, and which revision (MCP 2026-07-28, versioning; 2025-11-25, lifecycle).
//!
//! `server/discover` is tried first. What is not clearly modern is legacy and gets `initialize`, down the same pipe if
//! the probe stays unanswered: then the first success decides.
#![forbid(unsafe_code)]

use std::sync::Arc;
use std::time::Duration;

use crate::config::Lifecycle;
use crate::json::{Kind, Raw};
use crate::mcp::phase::Clock;
use crate::mcp::rpc;
use crate::outcome::{Failure, Phase, Status};
use crate::wire::mux::{Era, INITIALIZED, MODERN, Mux, Reply, RequestKind};

/// The revision that is offered with `initialize`, and the others that are understood.
const OFFERED: &str = "2025-11-25";
const LEGACY: [&str; 4] = [OFFERED, "2025-06-18", "2025-03-26", "2024-11-05"];

const PROBE_AT_MOST: Duration = Duration::from_secs(5);

/// What we say of ourselves.
#[derive(Debug)]
pub struct Hello {
    /// A JSON object.
    pub client_info: String,
    /// A JSON object.
    pub capabilities: String,
}

impl Hello {
    /// The members of `_meta` that every modern request carries.
    pub fn modern_meta(&self) -> String {
        self.modern_meta_with("")
    }

    /// The same, with extensions among the capabilities: members of an object.
    pub fn modern_meta_with(&self, extensions: &str) -> String {
        let mut capabilities = self.capabilities.clone();
        if !extensions.is_empty() {
            capabilities.pop();
            let comma = if capabilities == "{" { "" } else { "," };
            capabilities.push_str(&format!("{comma}\"extensions\":{{{extensions}}}}}"));
        }
        format!(
            "\"io.modelcontextprotocol/protocolVersion\":\"{MODERN}\",\"io.modelcontextprotocol/clientInfo\":{},\
             \"io.modelcontextprotocol/clientCapabilities\":{capabilities}",
            self.client_info
        )
    }
}

/// What a server said of itself.
#[derive(Clone, Debug)]
pub struct Peer {
    pub era: Era,
    pub version: String,
    /// JSON objects, as they came.
    pub server_info: Option<String>,
    pub capabilities: String,
    pub instructions: Option<String>,
}

impl Peer {
    /// True if the server announces the extension `id`.
    pub fn extends(&self, id: &str) -> bool {
        let extensions = Raw::checked(&self.capabilities).get("extensions");
        extensions.and_then(|extensions| extensions.get(id)).is_some_and(|value| value.kind() == Kind::Object)
    }

    /// True if the server announces `capability`.
    pub fn offers(&self, capability: &str) -> bool {
        Raw::checked(&self.capabilities).get(capability).is_some_and(|value| value.kind() == Kind::Object)
    }
}

/// Why there is no session.
#[derive(Debug)]
pub enum Refused {
    Failed(Failure),
    /// The process ended while only the probe was open: worth a second start without it.
    EndedOnProbe,
}

/// Agrees on an era and a revision with the server behind `mux`, and sets the mux to it. `known_legacy`: it turned out to be
/// legacy before, so `auto` begins with `initialize`. `exchanges`: each request has an answer of its own, so silence says nothing
/// about the era.
pub async fn negotiate(
    mux: &Arc<Mux>,
    exchanges: bool,
    lifecycle: Lifecycle,
    known_legacy: bool,
    hello: &Hello,
    timeout: Duration,
) -> Result<Peer, Refused> {
    let shake = Handshake { hello, clock: Clock::start(Phase::Initialize, timeout, mux), exchanges, lifecycle };
    let peer = match lifecycle {
        Lifecycle::Initialize => shake.initialize(false).await.map_err(Refused::Failed),
        Lifecycle::Auto if known_legacy => shake.initialize(true).await.map_err(Refused::Failed),
        Lifecycle::Discover | Lifecycle::Auto => shake.probe().await,
    }?;
    mux.set_era(peer.era);
    if peer.era == Era::Legacy {
        mux.send(INITIALIZED.to_vec());
    }
    Ok(peer)
}

/// What the answer to a probe means.
enum Verdict {
    Modern(Peer),
    /// Modern by the error that it answered with, which says nothing else of it.
    ModernError,
    Legacy,
    Failed(Failure),
}

struct Handshake<'a> {
    hello: &'a Hello,
    clock: Clock,
    exchanges: bool,
    lifecycle: Lifecycle,
}

impl Handshake<'_> {
    async fn probe(&self) -> Result<Peer, Refused> {
        let window = match self.lifecycle {
            _ if self.exchanges => self.clock.budget,
            Lifecycle::Discover => self.clock.budget,
            _ => (self.clock.budget / 10).min(PROBE_AT_MOST),
        };
        let mut probe = self.clock.begin("server/discover", "", RequestKind::Probe);
        match tokio::time::timeout(window, &mut probe).await {
            Ok(Err(failure))
                if failure.status == Status::Transport && self.lifecycle == Lifecycle::Auto && !self.exchanges =>
            {
                Err(Refused::EndedOnProbe)
            }
            Ok(answer) => match self.judge(answer) {
                Verdict::Modern(peer) => Ok(peer),
                Verdict::ModernError => self.ask_again().await.map_err(Refused::Failed),
                Verdict::Failed(failure) => Err(Refused::Failed(failure)),
                Verdict::Legacy => self.initialize(true).await.map_err(Refused::Failed),
            },
            Err(_) if self.exchanges || self.lifecycle == Lifecycle::Discover => {
                // The clock of the mux ends the probe; its words are better than ours.
                match self.judge(probe.await) {
                    Verdict::Modern(peer) => Ok(peer),
                    Verdict::ModernError => self.ask_again().await.map_err(Refused::Failed),
                    Verdict::Failed(failure) => Err(Refused::Failed(failure)),
                    Verdict::Legacy if self.lifecycle == Lifecycle::Discover => Err(Refused::Failed(self.not_modern())),
                    Verdict::Legacy => self.initialize(true).await.map_err(Refused::Failed),
                }
            }
            Err(_) => self.race(probe).await,
        }
    }

    /// The probe is still open: `initialize` goes down the same pipe, and the first success decides.
    async fn race(&self, mut probe: crate::wire::mux::Call) -> Result<Peer, Refused> {
        let mut initialize = self.clock.begin("initialize", &self.initialize_members(), RequestKind::Initialize);
        let mut probe_open = true;
        let mut refusal: Option<Failure> = None;
        loop {
            tokio::select! {
                biased;
                answer = &mut probe, if probe_open => {
                    probe_open = false;
                    match answer {
                        // It read the probe late, and ended on it.
                        Err(failure) if failure.status == Status::Transport => return Err(Refused::EndedOnProbe),
                        // Both clocks end together; the words about `initialize` say more.
                        Err(failure) if failure.status == Status::Timeout && refusal.is_none() => continue,
                        _ => {}
                    }
                    match self.judge(answer) {
                        Verdict::Modern(peer) => return Ok(peer),
                        Verdict::ModernError => return self.ask_again().await.map_err(Refused::Failed),
                        Verdict::Failed(failure) => return Err(Refused::Failed(refusal.unwrap_or(failure))),
                        Verdict::Legacy => {
                            if let Some(failure) = refusal {
                                return Err(Refused::Failed(failure));
                            }
                        }
                    }
                }
                answer = &mut initialize, if refusal.is_none() => {
                    let too_old = is_too_old(&answer);
                    match self.initialized(answer) {
                        Ok(peer) => return Ok(peer),
                        // A modern server that is slow refuses `initialize`, and answers the probe.
                        Err(failure) if probe_open && too_old => refusal = Some(failure),
                        Err(failure) => return Err(Refused::Failed(failure)),
                    }
                }
            }
        }
    }

    /// A server that is modern by an error may say more when it is asked once more; if not, what we have must do.
    async fn ask_again(&self) -> Result<Peer, Failure> {
        match self.judge(self.clock.begin("server/discover", "", RequestKind::Probe).await) {
            Verdict::Modern(peer) => Ok(peer),
            Verdict::Failed(failure) => Err(failure),
            Verdict::ModernError | Verdict::Legacy => Ok(modern_without_words()),
        }
    }

    fn judge(&self, answer: Result<Reply, Failure>) -> Verdict {
        let legacy = || match self.lifecycle {
            Lifecycle::Discover => Verdict::Failed(self.not_modern()),
            _ => Verdict::Legacy,
        };
        let reply = match answer {
            Ok(reply) => reply,
            // A reply that cannot be read is an answer, and no modern one.
            Err(failure) if matches!(failure.status, Status::Protocol | Status::Limit) => return legacy(),
            Err(failure) => return Verdict::Failed(self.clock.explain("server/discover", failure)),
        };
        let body = reply.raw();
        let supported = if reply.is_error {
            match rpc::code(body) {
                Some(rpc::HEADER_MISMATCH | rpc::MISSING_CAPABILITY) => return Verdict::ModernError,
                Some(rpc::UNSUPPORTED_VERSION) => body.get("data").and_then(|data| data.get("supported")),
                _ => return legacy(),
            }
        } else {
            body.get("supportedVersions")
        };
        let Some(supported) = supported.filter(|list| list.kind() == Kind::Array) else { return legacy() };
        let supported: Vec<String> =
            supported.elements().filter_map(|item| item.as_str().map(|text| text.into_owned())).collect();
        if supported.iter().any(|version| version == MODERN) {
            if reply.is_error {
                return Verdict::ModernError;
            }
            return match modern(body) {
                Ok(peer) => Verdict::Modern(peer),
                Err(failure) => Verdict::Failed(failure.at(Phase::Initialize)),
            };
        }
        if supported.is_empty() || supported.iter().any(|version| LEGACY.contains(&version.as_str())) {
            return legacy();
        }
        Verdict::Failed(no_common_version(&supported.join(", ")).at(Phase::Initialize))
    }

    fn initialize_members(&self) -> String {
        format!(
            "\"protocolVersion\":\"{OFFERED}\",\"capabilities\":{},\"clientInfo\":{}",
            self.hello.capabilities, self.hello.client_info
        )
    }

    /// `may_probe`: a server that refuses `initialize` as too old, and was not ready at the probe, is asked once more.
    async fn initialize(&self, may_probe: bool) -> Result<Peer, Failure> {
        let answer = self.clock.begin("initialize", &self.initialize_members(), RequestKind::Initialize).await;
        if may_probe && is_too_old(&answer) {
            let again = self.clock.begin("server/discover", "", RequestKind::Probe).await;
            match self.judge(again) {
                Verdict::Modern(peer) => return Ok(peer),
                Verdict::ModernError => return Ok(modern_without_words()),
                Verdict::Legacy | Verdict::Failed(_) => {}
            }
        }
        self.initialized(answer)
    }

    fn initialized(&self, answer: Result<Reply, Failure>) -> Result<Peer, Failure> {
        let reply = answer.map_err(|failure| self.clock.explain("initialize", failure))?;
        legacy(&reply).map_err(|failure| failure.at(Phase::Initialize))
    }

    fn not_modern(&self) -> Failure {
        Failure::new(
            Status::Protocol,
            format!(
                "the server does not answer server/discover with {MODERN}; lifecycle is \"discover\", so initialize was \
                 not tried: set lifecycle to \"auto\""
            ),
        )
        .at(Phase::Initialize)
    }
}

/// True if `initialize` was refused because the server speaks other revisions.
fn is_too_old(answer: &Result<Reply, Failure>) -> bool {
    matches!(answer, Ok(reply) if reply.is_error && rpc::code(reply.raw()) == Some(rpc::UNSUPPORTED_VERSION))
}

/// The peer of an `initialize` result.
fn legacy(reply: &Reply) -> Result<Peer, Failure> {
    if reply.is_error {
        let failure = rpc::server_error(reply.raw());
        let message = format!("the server refused initialize: {}", failure.message);
        return Err(Failure { message, ..failure });
    }
    let result = reply.raw();
    if result.kind() != Kind::Object {
        return Err(lacks("initialize", "an object as result"));
    }
    let version = result
        .get("protocolVersion")
        .and_then(Raw::as_str)
        .ok_or_else(|| lacks("initialize", "the field \"protocolVersion\""))?;
    if !LEGACY.contains(&&*version) {
        return Err(no_common_version(&rpc::shortened(&version)));
    }
    Ok(Peer {
        era: Era::Legacy,
        version: version.into_owned(),
        server_info: object(result, "serverInfo"),
        capabilities: object(result, "capabilities")
            .ok_or_else(|| lacks("initialize", "the field \"capabilities\""))?,
        instructions: text(result, "instructions"),
    })
}

/// The peer of a DiscoverResult that lists a revision we share.
fn modern(result: Raw<'_>) -> Result<Peer, Failure> {
    let info = result.get("_meta").and_then(|meta| object(meta, "io.modelcontextprotocol/serverInfo"));
    Ok(Peer {
        era: Era::Modern,
        version: MODERN.to_owned(),
        server_info: info.or_else(|| object(result, "serverInfo")),
        capabilities: object(result, "capabilities")
            .ok_or_else(|| lacks("server/discover", "the field \"capabilities\""))?,
        instructions: text(result, "instructions"),
    })
}

/// A server that is modern by the error it gave, and said nothing else.
fn modern_without_words() -> Peer {
    Peer {
        era: Era::Modern,
        version: MODERN.to_owned(),
        server_info: None,
        capabilities: "{}".to_owned(),
        instructions: None,
    }
}

fn object(parent: Raw<'_>, name: &str) -> Option<String> {
    parent.get(name).filter(|value| value.kind() == Kind::Object).map(|value| value.text().to_owned())
}

fn text(parent: Raw<'_>, name: &str) -> Option<String> {
    parent.get(name).and_then(Raw::as_str).map(|text| text.into_owned())
}

fn lacks(method: &str, what: &str) -> Failure {
    Failure::new(Status::Protocol, format!("the server's answer to {method} lacks {what}"))
}

fn no_common_version(theirs: &str) -> Failure {
    Failure::new(
        Status::Protocol,
        format!("no common protocol version: the server speaks {theirs}, this library {MODERN}, {}", LEGACY.join(", ")),
    )
}
