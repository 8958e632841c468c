//! What an answer means that is no message, in words for the person who must act.
#![forbid(unsafe_code)]

use std::error::Error;
use std::io;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use http::{HeaderMap, StatusCode, header};
use hyper_util::client::legacy;

use super::Wire;
use super::tcp::{ClosedWhileIdle, Used};
use crate::outcome::{Again, Failure, Status};
use crate::wire::mux::excerpt;

/// The pause before something is asked again, if the server does not name one, and the longest that is waited for.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// What of a media type counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Media {
    Json,
    Events,
    /// The header is not there.
    Unsaid,
    Other,
}

impl Media {
    pub fn of(headers: &HeaderMap) -> Media {
        let Some(value) = headers.get(header::CONTENT_TYPE) else { return Media::Unsaid };
        let bytes = value.as_bytes();
        let kind = bytes.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
        if kind.eq_ignore_ascii_case(b"application/json") {
            Media::Json
        } else if kind.eq_ignore_ascii_case(b"text/event-stream") {
            Media::Events
        } else {
            Media::Other
        }
    }
}

/// How an answer is quoted: its status, its kind, and how it begins.
pub fn quoted(wire: &Wire, status: StatusCode, headers: &HeaderMap, body: &[u8]) -> String {
    let mut text = named(status);
    if let Some(kind) = headers.get(header::CONTENT_TYPE) {
        let kind = wire.secrets.mask(&String::from_utf8_lossy(kind.as_bytes())).into_owned();
        text.push_str(&format!(", {}", kind.chars().take(80).collect::<String>()));
    }
    match body.trim_ascii() {
        [] => text.push_str(", no body"),
        body => text.push_str(&format!(": {}", excerpt(body, &wire.secrets))),
    }
    text
}

/// `HTTP 404 Not Found`
pub fn named(status: StatusCode) -> String {
    match status.canonical_reason() {
        Some(reason) => format!("HTTP {} {reason}", status.as_u16()),
        None => format!("HTTP {}", status.as_u16()),
    }
}

/// Whether what changes nothing is worth asking again, and when: at an outage, after what `Retry-After` says (RFC 9110, 10.2.3).
pub fn again(status: StatusCode, headers: &HeaderMap) -> Again {
    match status.as_u16() {
        429 | 500 | 502 | 503 | 504 => Again::After(retry_after(headers).unwrap_or(PAUSE).min(LONGEST_PAUSE)),
        _ => Again::No,
    }
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let at = chrono::DateTime::parse_from_rfc2822(text).ok()?;
    Some(SystemTime::from(at).duration_since(SystemTime::now()).unwrap_or_default())
}

impl Wire {
    pub fn failure(&self, status: Status, why: &str) -> Failure {
        Failure::new(status, self.secrets.mask(&format!("{why} ({})", self.url)).into_owned())
    }

    /// Why a request was not answered at all.
    pub fn unanswered(&self, error: &legacy::Error) -> Failure {
        let proxy = self.route.shown().map(|proxy| format!(" through the proxy {proxy}")).unwrap_or_default();
        if error.is_connect() {
            return self
                .failure(Status::Transport, &format!("the server cannot be reached{proxy}: {}", unreached(error)));
        }
        let http = chain(error).find_map(|cause| cause.downcast_ref::<hyper::Error>());
        let why = http.map_or_else(|| deepest(error), broken);
        let plain = self.target.scheme_str() == Some("http");
        let first = !self.reached.load(Ordering::Relaxed);
        let odd = http.is_some_and(|http| http.is_parse() || (http.is_incomplete_message() && first));
        let hint = match odd && plain {
            true => "; does the server speak https on this port?",
            false => "",
        };
        let failure = self.failure(Status::Transport, &format!("the server gave no answer{proxy}: {why}{hint}"));
        Failure { again: Again::After(Duration::ZERO), ..failure }
    }

    /// A proxy on the way asks who we are.
    pub fn proxy_refused(&self, method: &str, quoted: &str) -> Failure {
        let proxy = self.route.shown().map_or_else(|| "a proxy".to_owned(), |proxy| format!("the proxy {proxy}"));
        self.failure(Status::Transport, &format!("{proxy} refused {method}: {PROXY_CREDENTIALS} ({quoted})"))
    }
}

/// What to do about a proxy that answers with 407.
const PROXY_CREDENTIALS: &str =
    "it asks for a user and a password; give them in the variable that names it, as http://user:password@host:port";

/// True if nothing of the request was sent, because the connection for it had been closed.
pub fn is_unsent(error: &legacy::Error) -> bool {
    !error.is_connect() && chain(error).any(|cause| cause.is::<ClosedWhileIdle>())
}

/// True if the connection ended before the answer, and may have been about to when the request was sent.
pub fn is_overtaken(error: &legacy::Error) -> bool {
    let mut known = http::Extensions::new();
    if let Some(connection) = error.connect_info() {
        connection.get_extras(&mut known);
    }
    known.get::<Used>().is_some_and(Used::get)
}

/// An error and what is behind it. What an [`io::Error`] wraps is behind it too, which its `source` passes over.
fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| {
        let error: &'a (dyn Error + 'static) = *error;
        match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(inner) => Some(inner as &(dyn Error + 'static)),
            None => error.source(),
        }
    })
}

fn deepest(error: &(dyn Error + 'static)) -> String {
    chain(error).last().map(ToString::to_string).unwrap_or_default()
}

/// Why there is no connection.
fn unreached(error: &(dyn Error + 'static)) -> String {
    for cause in chain(error) {
        if let Some(tls) = cause.downcast_ref::<rustls::Error>() {
            return untrusted(tls);
        }
        match cause.downcast_ref::<io::Error>().map(io::Error::kind) {
            Some(io::ErrorKind::ConnectionRefused) => return "connection refused: nothing listens there".to_owned(),
            Some(io::ErrorKind::TimedOut) => return "the connection timed out".to_owned(),
            Some(io::ErrorKind::UnexpectedEof) => {
                return "the connection was closed during the TLS handshake; does the server speak https on this port?"
                    .to_owned();
            }
            _ => {}
        }
    }
    // What the proxy said is not the last of the chain.
    for cause in chain(error) {
        let words = cause.to_string();
        if words.contains("proxy authorization required") {
            return PROXY_CREDENTIALS.to_owned();
        }
        if words.contains("tunnel error") || words.contains("proxy") {
            return match cause.source() {
                Some(source) => format!("{words}: {}", deepest(source)),
                None => words,
            };
        }
    }
    deepest(error)
}

fn untrusted(error: &rustls::Error) -> String {
    use rustls::CertificateError as Bad;
    let advice = match error {
        rustls::Error::InvalidCertificate(bad) => match bad {
            Bad::UnknownIssuer => {
                "its issuer is not trusted; add the issuer's certificate to the system's, or name it with SSL_CERT_FILE"
            }
            Bad::Expired | Bad::ExpiredContext { .. } => "it has expired",
            Bad::NotValidYet | Bad::NotValidYetContext { .. } => "it is not valid yet; is the clock right?",
            Bad::NotValidForName | Bad::NotValidForNameContext { .. } => "it is for another host name",
            Bad::Revoked => "it was revoked",
            Bad::Other(_) if error.to_string().contains("CaUsedAsEndEntity") => {
                "it is an authority's own; the server needs one with basicConstraints=CA:FALSE, which that authority may have \
                 signed"
            }
            _ => "it is not valid",
        },
        rustls::Error::InvalidMessage(_) => {
            return format!("TLS failed: {error}; does the server speak https on this port?");
        }
        _ => return format!("TLS failed: {error}"),
    };
    format!("the server's certificate was refused: {advice} ({error})")
}

/// What broke an exchange that had begun.
pub fn broken(error: &hyper::Error) -> String {
    let is_io = |kind: io::ErrorKind| {
        chain(error).any(|cause| cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == kind))
    };
    if error.is_incomplete_message() || is_io(io::ErrorKind::UnexpectedEof) {
        return "the connection was closed in the middle".to_owned();
    }
    if error.is_parse() {
        return format!("what came back is not HTTP: {error}");
    }
    if is_io(io::ErrorKind::ConnectionReset) {
        return "the connection was reset".to_owned();
    }
    deepest(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    #[test]
    fn media_types() {
        let of = |text: &'static str| {
            Media::of(&HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static(text))]))
        };
        assert_eq!(of("application/json"), Media::Json);
        assert_eq!(of("Application/JSON ; charset=utf-8"), Media::Json);
        assert_eq!(of("text/event-stream;x"), Media::Events);
        assert_eq!(of("text/html"), Media::Other);
        assert_eq!(of("application/jsonx"), Media::Other);
        assert_eq!(Media::of(&HeaderMap::new()), Media::Unsaid);
    }

    #[test]
    fn retry_after_as_seconds_and_as_a_date() {
        let of = |text: &str| {
            again(
                StatusCode::SERVICE_UNAVAILABLE,
                &HeaderMap::from_iter([(header::RETRY_AFTER, HeaderValue::from_str(text).unwrap())]),
            )
        };
        assert_eq!(of("7"), Again::After(Duration::from_secs(7)));
        assert_eq!(of("100000"), Again::After(LONGEST_PAUSE));
        assert_eq!(of("Wed, 21 Oct 2015 07:28:00 GMT"), Again::After(Duration::ZERO));
        assert_eq!(of("soon"), Again::After(PAUSE));
        let in_an_hour = chrono::DateTime::<chrono::Utc>::from(SystemTime::now() + Duration::from_secs(3600));
        assert_eq!(of(&in_an_hour.to_rfc2822()), Again::After(LONGEST_PAUSE));
        assert_eq!(again(StatusCode::NOT_FOUND, &HeaderMap::new()), Again::No);
    }
}
