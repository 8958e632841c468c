//! One message, one POST, and what comes back (MCP, transports, streamable HTTP). The streams that only the legacy era has.
#![forbid(unsafe_code)]

use std::borrow::Cow;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri, header};
use http_body_util::Full;
use hyper::body::Incoming;
use tokio::time::Instant;

use super::answer::{self, Media};
use super::body::{Body, Short};
use super::{Wire, url};
use crate::json::{Kind, Raw};
use crate::log;
use crate::outcome::{Again, Failure, Status};
use crate::wire::auth::Challenge;
use crate::wire::mux::{Era, MODERN, Post, RequestKind, own_id};
use crate::wire::param_headers::safe_value;
use crate::wire::sse::{Event, Events};

/// So often a request follows a redirect.
const REDIRECTS: usize = 5;
/// So many kept connections that turn out to be closed are passed over, before the request is given up.
const STALE: usize = 8;
/// How much is read of an answer that is quoted only.
const QUOTED: usize = 64 * 1024;
/// How long a stream may go on after it has brought its reply, before its connection is given up.
const LINGER: Duration = Duration::from_secs(5);
/// How long a server that cannot be reached is waited for in the middle of a call.
const AWAY: Duration = Duration::from_secs(20);
/// The pause before a stream is taken up again, if the server does not say, and what is waited at least and at most.
const RETRY: Duration = Duration::from_secs(1);
const RETRY_AT_LEAST: Duration = Duration::from_millis(10);
const RETRY_AT_MOST: Duration = Duration::from_secs(60);

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
/// So many headers a message has besides those of every request, and those of a tool's own.
const MORE_HEADERS: usize = 6;
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

pub(super) const JSON: HeaderValue = HeaderValue::from_static("application/json");
pub(super) const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
const BOTH: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");

/// The code of the error that stands for an answer which is no message: the server does not know what it was asked.
const NOT_UNDERSTOOD: i64 = -32601;
/// What is said of bad arguments, which may be about some session of the tool's own.
const INVALID_PARAMS: i64 = -32602;

/// No request has this id: what cannot be read in a stream of the server's own is no reply to anything.
const NO_REQUEST: u64 = 0;

/// The request of an exchange.
#[derive(Clone, Copy)]
struct Asked<'a> {
    id: u64,
    kind: RequestKind,
    method: &'a str,
    modern: bool,
}

/// Where a stream was left.
#[derive(Default)]
struct Place {
    last_id: Option<String>,
    retry: Option<Duration>,
    /// It brought a message when it was last open.
    brought: bool,
}

impl Wire {
    /// Sends a message, and delivers what comes back. An error is the failure of the request that it was.
    pub async fn exchange(&self, post: Post) -> Result<(), Failure> {
        let endpoint = self.endpoint.lock().clone();
        if let Some(endpoint) = endpoint {
            return Box::pin(self.post_old(post, &endpoint)).await;
        }
        let harmless = post.is_harmless();
        let body = Bytes::from(post.bytes);
        let message = Raw::checked(std::str::from_utf8(&body).unwrap_or("{}"));
        let method = match message.text().get(post.method).filter(|method| !method.is_empty()) {
            Some(method) => Cow::Borrowed(method),
            None => message.get("method").and_then(Raw::as_str).unwrap_or_default(),
        };
        let modern = self.mux.era() == Era::Modern || post.request.is_some_and(|(_, kind)| kind == RequestKind::Probe);
        let headers = || {
            let mut headers = self.base.clone();
            headers.reserve(MORE_HEADERS + post.headers.len());
            headers.insert(header::ACCEPT, BOTH);
            headers.insert(header::CONTENT_TYPE, JSON);
            if !modern {
                self.add_session(&mut headers);
                return headers;
            }
            headers.insert(VERSION, HeaderValue::from_static(MODERN));
            insert(&mut headers, METHOD, &safe_value(&method));
            let name = match &post.tool {
                Some(tool) => Some(Cow::Borrowed(&**tool)),
                None => name(&method, message),
            };
            if let Some(name) = name {
                insert(&mut headers, NAME, &safe_value(&name));
            }
            for (name, value) in &post.headers {
                if let Ok(name) = HeaderName::from_bytes(name.as_bytes()) {
                    insert(&mut headers, name, value);
                }
            }
            headers
        };
        let asked = post.request.map(|(id, kind)| Asked { id, kind, method: &method, modern });
        let response = self.send_and_again(&self.target, Method::POST, &headers, body.clone(), harmless).await?;
        let status = response.status();
        // What is rare is in boxes: this future is made for every call, and small ones cost less.
        let Some(asked) = asked else { return Box::pin(self.delivered(response)).await };
        if !status.is_success() {
            return Box::pin(self.refused(asked, response)).await;
        }
        if asked.kind == RequestKind::Initialize {
            self.take_session(response.headers())?;
        }
        match Media::of(response.headers()) {
            Media::Events => Box::pin(self.stream(asked, response)).await,
            Media::Json => self.whole(asked, response).await,
            _ => Box::pin(self.neither(asked, response)).await,
        }
    }

    fn add_session(&self, headers: &mut HeaderMap) {
        if let Some(session) = self.session.lock().clone() {
            headers.insert(SESSION, session);
        }
        if let Some(version) = self.version.lock().clone() {
            headers.insert(VERSION, version);
        }
    }

    /// MCP, session management: visible ASCII characters.
    fn take_session(&self, headers: &HeaderMap) -> Result<(), Failure> {
        let Some(session) = headers.get(SESSION) else { return Ok(()) };
        if session.is_empty() || !session.as_bytes().iter().all(u8::is_ascii_graphic) {
            return Err(self.failure(
                Status::Protocol,
                "the server gave a session id (Mcp-Session-Id) that holds other characters than visible ASCII",
            ));
        }
        *self.session.lock() = Some(url::sensitive(session.clone()));
        Ok(())
    }

    // -- sending --------------------------------------------------------------------------------------------------------

    /// Sends what does no harm if the server gets it twice.
    pub(super) async fn send(
        &self,
        to: &Uri,
        method: Method,
        headers: &(dyn Fn() -> HeaderMap + Sync),
        body: Bytes,
    ) -> Result<Response<Incoming>, Failure> {
        self.send_and_again(to, method, headers, body, true).await
    }

    /// One request and its answer's header. Follows redirects within the origin: nothing that was meant for one origin goes to
    /// another one. `headers` makes those of each. `harmless`: it may be sent again where its connection may have been closed before
    /// the server saw it.
    pub(super) async fn send_and_again(
        &self,
        to: &Uri,
        method: Method,
        headers: &(dyn Fn() -> HeaderMap + Sync),
        body: Bytes,
        harmless: bool,
    ) -> Result<Response<Incoming>, Failure> {
        let mut target = to.clone();
        for _ in 0..=REDIRECTS {
            let request = || {
                let mut request = Request::new(Full::new(body.clone()));
                *request.method_mut() = method.clone();
                *request.uri_mut() = target.clone();
                *request.headers_mut() = headers();
                if let Some(authorization) = self.route.authorization() {
                    request.headers_mut().insert(header::PROXY_AUTHORIZATION, authorization.clone());
                }
                request
            };
            let mut answered = self.client.request(request()).await;
            for _ in 0..STALE {
                match answered {
                    // That connection is used no more; the next one may be as old.
                    Err(error) if answer::is_unsent(&error) || (harmless && answer::is_overtaken(&error)) => {
                        answered = self.client.request(request()).await;
                    }
                    _ => break,
                }
            }
            let response = answered.map_err(|error| self.unanswered(&error))?;
            self.reached.store(true, Ordering::Relaxed);
            let status = response.status();
            if !matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) {
                return Ok(response);
            }
            target = self.redirected(&target, &method, status, response.headers())?;
        }
        Err(self.failure(Status::Transport, &format!("the server redirects in a circle, {REDIRECTS} times and more")))
    }

    fn redirected(&self, from: &Uri, method: &Method, status: StatusCode, headers: &HeaderMap) -> Result<Uri, Failure> {
        let refuse = |why: String| Err(self.failure(Status::Transport, &why));
        let named = answer::named(status);
        let location = headers.get(header::LOCATION).and_then(|location| location.to_str().ok());
        let Some(to) = location.and_then(|location| url::resolve(from, location)) else {
            return refuse(format!("the server redirects ({named}) and does not say where to"));
        };
        let shown = url::shown(&to);
        if !url::same_origin(from, &to) {
            return refuse(format!(
                "the server redirects ({named}) to another origin, {shown}, where nothing is sent that was meant for this \
                 one; if that is the server, set its url to it"
            ));
        }
        // The others turn everything else into a GET (RFC 9110, 15.4).
        if method != Method::GET && !matches!(status.as_u16(), 307 | 308) {
            return refuse(format!(
                "the server redirects ({named}) to {shown}, which is no way to pass on a {method}; set its url to it"
            ));
        }
        Ok(to)
    }

    // -- answers --------------------------------------------------------------------------------------------------------

    /// The answer to a message that is no request. Any success will do.
    async fn delivered(&self, response: Response<Incoming>) -> Result<(), Failure> {
        let (status, headers) = (response.status(), response.headers().clone());
        let body = self.head(response).await;
        if status.is_success() {
            return Ok(());
        }
        self.notice_lost_session(status, &body);
        let quoted = answer::quoted(self, status, &headers, &body);
        Err(self.failure(Status::Transport, &format!("the server answered {quoted}")))
    }

    pub(super) async fn head(&self, response: Response<Incoming>) -> Vec<u8> {
        match Body::of(response) {
            Ok(body) => body.head(QUOTED).await,
            Err(_) => Vec::new(),
        }
    }

    /// One JSON body.
    async fn whole(&self, asked: Asked<'_>, response: Response<Incoming>) -> Result<(), Failure> {
        let (head, body) = response.into_parts();
        let body = match self.body(&head.headers, body).await {
            Err(Short::Limit) => {
                let limit = self.mux.limit;
                let why =
                    format!("the server sent a reply larger than the limit of {limit} bytes (option maxMessageBytes)");
                return Err(self.failure(Status::Limit, &why));
            }
            Err(Short::Broken(why)) => {
                let failure =
                    self.failure(Status::Transport, &format!("the answer to {} broke off: {why}", asked.method));
                return Err(Failure { again: Again::After(Duration::ZERO), ..failure });
            }
            Ok(body) => body,
        };
        // Only what fails is quoted, and it is short: a reply to somebody else may be long.
        let began = body[..body.len().min(1024)].to_vec();
        self.mux.deliver_to(body, Some(asked.id));
        if !self.mux.is_open(asked.id) {
            return Ok(());
        }
        let quoted = answer::quoted(self, head.status, &head.headers, &began);
        if asked.kind == RequestKind::Probe {
            // JSON that is no answer to a question of the modern era (MCP 2026-07-28, versioning).
            self.mux.answer_error(asked.id, NOT_UNDERSTOOD, &quoted);
            return Ok(());
        }
        Err(self
            .failure(Status::Protocol, &format!("the server answered {} with no reply to it: {quoted}", asked.method)))
    }

    async fn body(&self, headers: &HeaderMap, body: Incoming) -> Result<Vec<u8>, Short> {
        Body::with(headers, body).map_err(Short::Broken)?.all(self.mux.limit).await
    }

    /// A success that holds nothing for us.
    async fn neither(&self, asked: Asked<'_>, response: Response<Incoming>) -> Result<(), Failure> {
        let (status, headers) = (response.status(), response.headers().clone());
        let body = self.head(response).await;
        let quoted = answer::quoted(self, status, &headers, &body);
        let why = format!(
            "the server answered {} with neither JSON nor an event stream; is this the url of an MCP server? {quoted}",
            asked.method
        );
        // To a probe this is no sign of any era: the phase fails.
        let status = if asked.kind == RequestKind::Probe { Status::Transport } else { Status::Protocol };
        Err(self.failure(status, &why))
    }

    /// An answer that is no success.
    async fn refused(&self, asked: Asked<'_>, response: Response<Incoming>) -> Result<(), Failure> {
        let (status, headers) = (response.status(), response.headers().clone());
        let again = answer::again(status, &headers);
        let body = self.head(response).await;
        let quoted = answer::quoted(self, status, &headers, &body);
        let code = status.as_u16();
        if matches!(code, 401 | 403) {
            return Err(self.unauthorized(asked.method, status, &headers, &body));
        }
        if status == StatusCode::PROXY_AUTHENTICATION_REQUIRED {
            return Err(self.proxy_refused(asked.method, &quoted));
        }
        if self.notice_lost_session(status, &body) {
            let failure =
                self.failure(Status::Transport, &format!("the server does not know the session any more: {quoted}"));
            return Err(Failure { again: Again::InNewSession, ..failure });
        }
        if asked.kind == RequestKind::Probe && is_outage(status) {
            return Err(self.failure(Status::Transport, &format!("the server answered {} with {quoted}", asked.method)));
        }
        if error_for(&body, asked.id) {
            self.mux.deliver_to(body, Some(asked.id));
            if !self.mux.is_open(asked.id) {
                return Ok(());
            }
        }
        if asked.kind == RequestKind::Probe {
            self.mux.answer_error(asked.id, NOT_UNDERSTOOD, &quoted);
            return Ok(());
        }
        if asked.kind == RequestKind::Initialize && matches!(code, 400 | 404 | 405) {
            self.refused.store(true, Ordering::Relaxed);
        }
        let hint = match asked.kind == RequestKind::Initialize && code == 404 {
            true => "; is the path of the url right?",
            false => "",
        };
        let why = format!("the server answered {} with {quoted}{hint}", asked.method);
        Err(Failure { again, ..self.failure(Status::Transport, &why) })
    }

    /// The failure of what was refused to us; what the server asks for is kept.
    pub(super) fn unauthorized(&self, what: &str, status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Failure {
        let challenge = Challenge::of(headers);
        if !Challenge::is_asked(status, &challenge) {
            let quoted = answer::quoted(self, status, headers, body);
            return self.failure(Status::Auth, &format!("the server refused {what}: {quoted}"));
        }
        let sent = self.base.contains_key(header::AUTHORIZATION);
        let why = format!("the server refused {what} with {}: {}", answer::named(status), challenge.advice(sent));
        *self.challenge.lock() = Some(challenge);
        self.failure(Status::Auth, &why)
    }

    /// True if the answer says that there is no such session: a 404, or a 400 that speaks of it. A 404 that says that there is no
    /// such method speaks of something else.
    fn notice_lost_session(&self, status: StatusCode, body: &[u8]) -> bool {
        if self.session.lock().is_none() {
            return false;
        }
        let code = error(body).and_then(|error| error.get("code")?.as_i64());
        let lost = match status.as_u16() {
            404 => code != Some(NOT_UNDERSTOOD),
            400 if code != Some(INVALID_PARAMS) => {
                memchr::memmem::find(&body.to_ascii_lowercase(), b"session").is_some()
            }
            _ => false,
        };
        if lost {
            self.set_lost();
        }
        lost
    }

    // -- streams --------------------------------------------------------------------------------------------------------

    /// An event stream that answers a request.
    async fn stream(&self, asked: Asked<'_>, response: Response<Incoming>) -> Result<(), Failure> {
        let mut place = Place::default();
        let mut ended = self.events(response, Some(asked.id), &mut place).await;
        let broke = |why: &str| {
            let failure = self.failure(
                Status::Transport,
                &format!("the server's event stream ended without a reply to {}{why}", asked.method),
            );
            Failure { again: Again::After(Duration::ZERO), ..failure }
        };
        let mut pause = RETRY_AT_LEAST;
        let mut away_since: Option<Instant> = None;
        loop {
            if !self.mux.is_open(asked.id) {
                return Ok(());
            }
            let why = ended.err().map(|why| format!(": {why}")).unwrap_or_default();
            // MCP 2026-07-28: a lost stream is a lost request.
            let (false, Some(last_id)) = (asked.modern, place.last_id.clone()) else { return Err(broke(&why)) };
            // A server that works and lets go of its streams meanwhile is asked as often as it wants.
            if std::mem::take(&mut place.brought) {
                pause = RETRY_AT_LEAST;
            }
            tokio::time::sleep(place.retry.unwrap_or(RETRY).clamp(pause, RETRY_AT_MOST)).await;
            pause = (pause * 2).min(RETRY_AT_MOST);
            match self.get(Some(&last_id)).await {
                // The server may be back soon.
                Err(failure) if away_since.get_or_insert_with(Instant::now).elapsed() < AWAY => {
                    ended = Err(failure.message);
                }
                Err(failure) => return Err(broke(&format!(": {}, for {} s", failure.message, AWAY.as_secs()))),
                Ok(response) if response.status().is_success() && Media::of(response.headers()) == Media::Events => {
                    away_since = None;
                    ended = self.events(response, Some(asked.id), &mut place).await;
                }
                Ok(response) if is_outage(response.status()) => {
                    away_since = None;
                    ended = Err(answer::named(response.status()));
                }
                Ok(response) => {
                    let status = response.status();
                    let body = self.head(response).await;
                    self.notice_lost_session(status, &body);
                    return Err(broke(&format!("{why}; and it does not resume it: {}", answer::named(status))));
                }
            }
        }
    }

    /// What a legacy server sends by itself. Ends if the server has no such stream, or the session has ended.
    pub async fn listen(&self) {
        let mut place = Place::default();
        let mut pause = RETRY;
        let mut was_open = false;
        loop {
            let began = Instant::now();
            match self.get(place.last_id.as_deref()).await {
                Ok(response) if response.status().is_success() && Media::of(response.headers()) == Media::Events => {
                    was_open = true;
                    let ended = self.events(response, None, &mut place).await;
                    if let Err(why) = ended {
                        log::at!(Debug, "wire", "{}: the server's own stream broke: {why}", self.server);
                    }
                    if std::mem::take(&mut place.brought) || began.elapsed() > RETRY_AT_MOST {
                        pause = RETRY;
                    }
                }
                Ok(response) => {
                    let status = response.status();
                    let body = self.head(response).await;
                    // A server without this stream may say so with a 404.
                    if was_open {
                        self.notice_lost_session(status, &body);
                    }
                    if !is_outage(status) {
                        log::at!(Debug, "wire", "{}: no stream of its own: {}", self.server, answer::named(status));
                        return;
                    }
                }
                Err(failure) => log::at!(Debug, "wire", "{}: {failure}", self.server),
            }
            if self.lost.load(Ordering::Relaxed) {
                return;
            }
            tokio::time::sleep(place.retry.unwrap_or(pause).clamp(RETRY_AT_LEAST.max(pause / 2), RETRY_AT_MOST)).await;
            pause = (pause * 2).min(RETRY_AT_MOST);
        }
    }

    async fn get(&self, last_id: Option<&str>) -> Result<Response<Incoming>, Failure> {
        let headers = || {
            let mut headers = self.base.clone();
            headers.insert(header::ACCEPT, EVENTS);
            self.add_session(&mut headers);
            if let Some(last_id) = last_id {
                insert(&mut headers, LAST_EVENT, last_id);
            }
            headers
        };
        self.send(&self.target, Method::GET, &headers, Bytes::new()).await
    }

    /// Tells the server that the session is over.
    pub async fn delete(&self) {
        let headers = || {
            let mut headers = self.base.clone();
            self.add_session(&mut headers);
            headers
        };
        match self.send(&self.target, Method::DELETE, &headers, Bytes::new()).await {
            Ok(response) => log::at!(Debug, "wire", "{}: DELETE: {}", self.server, answer::named(response.status())),
            Err(failure) => log::at!(Debug, "wire", "{}: DELETE: {failure}", self.server),
        }
    }

    /// Delivers the events of a stream until it ends, or the reply to `request` is there and it does not end.
    async fn events(
        &self,
        response: Response<Incoming>,
        request: Option<u64>,
        place: &mut Place,
    ) -> Result<(), String> {
        let mut body = Body::of(response)?;
        let mut events = Events::new(self.mux.limit);
        let mut until: Option<Instant> = None;
        let mut brought = false;
        let ended = loop {
            let exchange = Some(request.unwrap_or(NO_REQUEST));
            let mut each = |event: Event| {
                brought = true;
                self.event(event, exchange);
            };
            let mut feed = |bytes: &[u8]| events.feed(bytes, &mut each);
            let read = body.read(&mut feed);
            let read = match until {
                None => read.await,
                Some(until) => tokio::time::timeout_at(until, read).await.unwrap_or(Ok(false)),
            };
            match read {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(why) => break Err(why),
            }
            if until.is_none() && request.is_some_and(|id| !self.mux.is_open(id)) {
                // Read to its end, the connection serves the next call.
                until = Some(Instant::now() + LINGER);
                // Its place may be needed.
                self.mux.wake();
            }
            self.mux.room().await;
        };
        place.brought = brought;
        if let Some(id) = events.last_id() {
            // An empty id takes the place back.
            place.last_id = (!id.is_empty()).then(|| id.to_owned());
        }
        if events.retry().is_some() {
            place.retry = events.retry();
        }
        ended
    }

    pub(super) fn event(&self, event: Event, request: Option<u64>) {
        match event {
            Event::Message { name: None, data } => self.mux.deliver_to(data, request),
            Event::Message { name: Some(name), data } if name == "message" => self.mux.deliver_to(data, request),
            Event::Message { name: Some(name), .. } => {
                log::at!(Debug, "wire", "{}: ignored an event named {name:?}", self.server);
            }
            Event::TooLong { head } => self.mux.over_limit(&head, request),
        }
    }
}

/// The server, or what stands before it, cannot answer now: that says nothing of what was asked.
fn is_outage(status: StatusCode) -> bool {
    status.is_server_error() || matches!(status.as_u16(), 408 | 429)
}

fn insert(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

/// What `Mcp-Name` says of a message (MCP 2026-07-28, standard headers).
fn name<'a>(method: &str, message: Raw<'a>) -> Option<Cow<'a, str>> {
    let member = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        _ if method.starts_with("tasks/") => "taskId",
        _ => return None,
    };
    message.get("params")?.get(member)?.as_str()
}

fn error(body: &[u8]) -> Option<Raw<'_>> {
    let text = std::str::from_utf8(body).ok()?.trim();
    crate::json::check(text.as_bytes()).ok()?;
    let message = Raw::checked(text);
    if message.kind() != Kind::Object || message.get("method").is_some() {
        return None;
    }
    message.get("error").filter(|error| error.kind() == Kind::Object)
}

/// True if a body is a JSON-RPC error, and not one for another request.
fn error_for(body: &[u8], id: u64) -> bool {
    let Some(_) = error(body) else { return false };
    let text = std::str::from_utf8(body).unwrap_or("{}").trim();
    let said = Raw::checked(text).get("id").filter(|said| !said.is_null());
    said.is_none_or(|said| own_id(said) == Some(id))
}
