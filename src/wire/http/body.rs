//! The body of an answer, plain or packed.
#![forbid(unsafe_code)]

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Response, header};
use http_body_util::BodyExt;
use hyper::body::{Body as _, Incoming};
use tokio::time::Instant;

use crate::process::memory;
use crate::wire::gzip::Gzip;

/// So much of a packed body is unpacked at a time: it may become a thousand times as much, and its reader may want to pause.
const PACKED: usize = 8 * 1024;
/// How long an answer that is quoted only is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

pub struct Body {
    incoming: Incoming,
    gzip: Option<Gzip>,
    /// What came and is not unpacked yet.
    packed: Bytes,
}

/// Why there is no whole body.
pub enum Short {
    /// It is longer than the limit.
    Limit,
    /// The connection, or the packing, broke.
    Broken(String),
}

impl Body {
    pub fn of(response: Response<Incoming>) -> Result<Body, String> {
        let (head, body) = response.into_parts();
        Body::with(&head.headers, body)
    }

    pub fn with(headers: &HeaderMap, incoming: Incoming) -> Result<Body, String> {
        let encoding = headers.get(header::CONTENT_ENCODING).map(|value| value.as_bytes().to_ascii_lowercase());
        let gzip = match encoding.as_deref() {
            None | Some(b"" | b"identity") => None,
            Some(b"gzip" | b"x-gzip") => Some(Gzip::new()),
            Some(other) => {
                let other = String::from_utf8_lossy(other).into_owned();
                return Err(format!("has the content-encoding {other:?}, which was not asked for"));
            }
        };
        Ok(Body { incoming, gzip, packed: Bytes::new() })
    }

    /// Waits for the next bytes. False: there are no more.
    pub async fn read(&mut self, to: &mut (dyn FnMut(&[u8]) + Send)) -> Result<bool, String> {
        if !self.packed.is_empty() {
            // Others have their turn, too.
            tokio::task::yield_now().await;
            return self.unpack(to).map(|()| true);
        }
        match self.incoming.frame().await {
            None => {
                if let Some(mut gzip) = self.gzip.take() {
                    gzip.finish()?;
                }
                Ok(false)
            }
            Some(Err(error)) => Err(super::answer::broken(&error)),
            Some(Ok(frame)) => {
                if let Ok(bytes) = frame.into_data() {
                    match self.gzip {
                        None => to(&bytes),
                        Some(_) => {
                            self.packed = bytes;
                            self.unpack(to)?;
                        }
                    }
                }
                Ok(true)
            }
        }
    }

    fn unpack(&mut self, to: &mut (dyn FnMut(&[u8]) + Send)) -> Result<(), String> {
        let piece = self.packed.split_to(self.packed.len().min(PACKED));
        self.gzip.as_mut().map_or(Ok(()), |gzip| gzip.feed(&piece, to))
    }

    /// The whole body, if it is not longer than `limit`.
    pub async fn all(mut self, limit: usize) -> Result<Vec<u8>, Short> {
        let expected = self.incoming.size_hint().exact().unwrap_or(0);
        let expected = usize::try_from(expected).unwrap_or(usize::MAX);
        if expected > limit && self.gzip.is_none() {
            return Err(Short::Limit);
        }
        let mut all = Vec::new();
        // What a server only says is coming must not be what the memory ends of.
        memory::reserve(&mut all, expected.min(limit));
        let mut over = false;
        loop {
            let mut keep = |bytes: &[u8]| {
                over |= bytes.len() > limit - all.len();
                if !over {
                    all.extend_from_slice(bytes);
                }
            };
            let more = self.read(&mut keep).await.map_err(Short::Broken)?;
            if over {
                return Err(Short::Limit);
            }
            if !more {
                return Ok(all);
            }
        }
    }

    /// The first bytes of the body, at most about `enough`; what comes after a fault, or too late, is left out.
    pub async fn head(mut self, enough: usize) -> Vec<u8> {
        let mut head = Vec::new();
        let until = Instant::now() + PATIENCE;
        while head.len() < enough {
            let mut keep = |bytes: &[u8]| {
                let room = enough.saturating_sub(head.len());
                head.extend_from_slice(&bytes[..bytes.len().min(room)]);
            };
            if !matches!(tokio::time::timeout_at(until, self.read(&mut keep)).await, Ok(Ok(true))) {
                break;
            }
        }
        head
    }
}
