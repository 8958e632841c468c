//! The old HTTP+SSE transport (MCP 2024-11-05, transports): one stream from the server, opened first; it names the endpoint
//! that takes our messages, and brings every reply.
#![forbid(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use http::{Method, Response, Uri, header};
use hyper::body::Incoming;

use super::answer::{self, Media};
use super::body::Body;
use super::exchange::{EVENTS, JSON};
use super::{Wire, url};
use crate::log;
use crate::outcome::{Failure, Status};
use crate::wire::mux::Post;
use crate::wire::sse::{Event, Events};

/// The server's stream, with its endpoint read.
pub struct Stream {
    body: Body,
    events: Events,
    /// What came behind the endpoint, in one read.
    early: Vec<Vec<u8>>,
}

impl Wire {
    /// Opens the server's stream and waits for the endpoint.
    pub async fn open_old(&self) -> Result<Stream, Failure> {
        let headers = || {
            let mut headers = self.base.clone();
            headers.insert(header::ACCEPT, EVENTS);
            headers
        };
        let response = self.send(&self.target, Method::GET, &headers, Bytes::new()).await?;
        if !response.status().is_success() || Media::of(response.headers()) != Media::Events {
            return Err(self.no_stream(response).await);
        }
        let broke = |why: String| {
            self.failure(
                Status::Transport,
                &format!("the server's event stream ended before it named its endpoint{why}"),
            )
        };
        let mut body =
            Body::of(response).map_err(|why| self.failure(Status::Transport, &format!("the event stream {why}")))?;
        let mut events = Events::new(self.mux.limit);
        let mut endpoint: Option<Vec<u8>> = None;
        let mut early = Vec::new();
        while endpoint.is_none() {
            let mut take = |event: Event| match event {
                Event::Message { name: Some(name), data } if name == "endpoint" => {
                    endpoint.get_or_insert(data);
                }
                Event::Message { name, data }
                    if endpoint.is_some() && name.as_deref().is_none_or(|name| name == "message") =>
                {
                    early.push(data);
                }
                _ => {}
            };
            match body.read(&mut |bytes| events.feed(bytes, &mut take)).await {
                Ok(true) => {}
                Ok(false) => return Err(broke(String::new())),
                Err(why) => return Err(broke(format!(": {why}"))),
            }
        }
        let endpoint = endpoint.unwrap_or_default();
        let endpoint = String::from_utf8_lossy(&endpoint);
        let Some(resolved) = url::resolve(&self.target, endpoint.trim()) else {
            let why =
                format!("the server named an endpoint that is no URL: {:?}", crate::outcome::shortened(&endpoint));
            return Err(self.failure(Status::Protocol, &why));
        };
        if !url::same_origin(&self.target, &resolved) {
            let shown = url::shown(&resolved);
            let why = format!(
                "the server named an endpoint of another origin, {shown}, where nothing is sent that was meant for this one"
            );
            return Err(self.failure(Status::Protocol, &why));
        }
        *self.endpoint.lock() = Some(resolved);
        Ok(Stream { body, events, early })
    }

    async fn no_stream(&self, response: Response<Incoming>) -> Failure {
        let (status, headers) = (response.status(), response.headers().clone());
        if matches!(status.as_u16(), 401 | 403) {
            return self.unauthorized("the event stream", status, &headers, &[]);
        }
        if matches!(status.as_u16(), 400 | 404 | 405 | 406) {
            self.refused.store(true, Ordering::Relaxed);
        }
        let body = self.head(response).await;
        let quoted = answer::quoted(self, status, &headers, &body);
        self.failure(
            Status::Transport,
            &format!("the server has no event stream (HTTP+SSE): it answered GET with {quoted}"),
        )
    }

    /// Delivers what the stream brings until it ends. Returns why.
    pub async fn follow_old(self: Arc<Self>, stream: Stream) -> Failure {
        let Stream { mut body, mut events, early } = stream;
        for message in early {
            self.mux.deliver(message);
        }
        let why = loop {
            let mut feed = |bytes: &[u8]| events.feed(bytes, &mut |event| self.event(event, None));
            match body.read(&mut feed).await {
                Ok(true) => self.mux.room().await,
                Ok(false) => break String::new(),
                Err(why) => break format!(": {why}"),
            }
        };
        self.failure(Status::Transport, &format!("the server's event stream ended{why}"))
    }

    /// Sends a message to the endpoint. Its reply comes by the stream.
    pub async fn post_old(&self, post: Post, endpoint: &Uri) -> Result<(), Failure> {
        let headers = || {
            let mut headers = self.base.clone();
            headers.insert(header::CONTENT_TYPE, JSON);
            headers
        };
        let (harmless, body) = (post.is_harmless(), Bytes::from(post.bytes));
        let response = self.send_and_again(endpoint, Method::POST, &headers, body, harmless).await?;
        let (status, headers) = (response.status(), response.headers().clone());
        let body = self.head(response).await;
        if status.is_success() {
            return Ok(());
        }
        if matches!(status.as_u16(), 401 | 403) {
            return Err(self.unauthorized("a message", status, &headers, &body));
        }
        let quoted = answer::quoted(self, status, &headers, &body);
        log::at!(Debug, "wire", "{}: a message was answered with {quoted}", self.server);
        Err(self.failure(Status::Transport, &format!("the server answered a message with {quoted}")))
    }
}
