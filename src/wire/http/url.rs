//! URLs: what of them is shown, and where a redirect leads.
#![forbid(unsafe_code)]

use std::net::IpAddr;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::uri::Authority;
use http::{HeaderValue, Uri};

/// A server's URL in its parts.
#[derive(Debug)]
pub struct Parsed {
    /// Without user info.
    pub uri: Uri,
    /// The `Authorization` that its user info stands for.
    pub authorization: Option<HeaderValue>,
}

/// Reads the URL of a server.
pub fn parse(text: &str) -> Result<Parsed, String> {
    let uri: Uri = text.parse().map_err(|error| format!("the URL cannot be understood: {error}"))?;
    let mut parts = uri.into_parts();
    let authority = parts.authority.take().ok_or("the URL has no host")?;
    let (user_info, host) = match authority.as_str().rsplit_once('@') {
        Some((user_info, host)) => (Some(user_info), host),
        None => (None, authority.as_str()),
    };
    let host: Authority =
        host.parse().map_err(|error| format!("the URL has a host that cannot be understood: {error}"))?;
    if has_bad_port(&host) {
        return Err(format!("the URL has a port that is no number from 0 to 65535: {host}"));
    }
    parts.authority = Some(host);
    let authorization = user_info.map(|user_info| {
        let decoded = percent_decoded(user_info);
        let decoded = if decoded.contains(&b':') { decoded } else { [&decoded[..], b":"].concat() };
        let text = format!("Basic {}", BASE64_STANDARD.encode(decoded));
        // Base64 has nothing that a header may not hold.
        HeaderValue::from_str(&text).map(sensitive)
    });
    let uri = Uri::from_parts(parts).map_err(|error| format!("the URL cannot be understood: {error}"))?;
    Ok(Parsed { uri, authorization: authorization.and_then(Result::ok) })
}

/// Marks the value as one that is shown to nobody.
pub fn sensitive(mut value: HeaderValue) -> HeaderValue {
    value.set_sensitive(true);
    value
}

fn percent_decoded(text: &str) -> Vec<u8> {
    let hex = |byte: Option<&u8>| byte.and_then(|byte| char::from(*byte).to_digit(16)).map(|digit| digit as u8);
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match (byte, hex(bytes.get(at + 1)), hex(bytes.get(at + 2))) {
            (b'%', Some(high), Some(low)) => {
                out.push(high * 16 + low);
                at += 3;
            }
            _ => {
                out.push(*byte);
                at += 1;
            }
        }
    }
    out
}

/// A URL that came from elsewhere, as messages show it: neither user info nor a query, which may hold secrets.
pub fn shown(uri: &Uri) -> String {
    let host = uri.authority().map_or("", |authority| authority.as_str());
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    format!("{}://{host}{}", uri.scheme_str().unwrap_or("http"), uri.path())
}

/// What a request says in `Host` (RFC 9110, 7.2).
pub fn host(uri: &Uri) -> Option<HeaderValue> {
    let host = uri.host()?;
    let usual = if uri.scheme_str() == Some("https") { 443 } else { 80 };
    match uri.port_u16().filter(|port| *port != usual) {
        Some(port) => HeaderValue::from_str(&format!("{host}:{port}")).ok(),
        None => HeaderValue::from_str(host).ok(),
    }
}

/// True for this machine itself.
pub fn is_loopback(uri: &Uri) -> bool {
    let host = uri.host().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// True if both have the same scheme, host and port (RFC 6454).
pub fn same_origin(one: &Uri, other: &Uri) -> bool {
    let port = |uri: &Uri| uri.port_u16().or(if uri.scheme_str() == Some("https") { Some(443) } else { Some(80) });
    let host = |uri: &Uri| uri.host().map(str::to_ascii_lowercase);
    one.scheme() == other.scheme() && host(one) == host(other) && port(one) == port(other)
}

/// The same, with its port named.
pub fn with_port(uri: Uri) -> Uri {
    let port = if uri.scheme_str() == Some("https") { 443 } else { 80 };
    if uri.port().is_some() {
        return uri;
    }
    let mut parts = uri.clone().into_parts();
    parts.authority = uri.host().and_then(|host| format!("{host}:{port}").parse().ok());
    Uri::from_parts(parts).unwrap_or(uri)
}

/// Where `location` leads from `base` (RFC 3986, section 5.2).
pub fn resolve(base: &Uri, location: &str) -> Option<Uri> {
    let location = location.split('#').next().unwrap_or_default().trim();
    let scheme = base.scheme_str()?;
    let authority = base.authority()?.as_str();
    let absolute = if has_scheme(location) {
        location.to_owned()
    } else if location.starts_with("//") {
        format!("{scheme}:{location}")
    } else if location.starts_with('/') {
        format!("{scheme}://{authority}{}", without_dots(location))
    } else if location.starts_with('?') {
        format!("{scheme}://{authority}{}{location}", base.path())
    } else if location.is_empty() {
        return None;
    } else {
        let folder = base.path().rsplit_once('/').map_or("", |(folder, _)| folder);
        format!("{scheme}://{authority}{}", without_dots(&format!("{folder}/{location}")))
    };
    let uri: Uri = absolute.parse().ok()?;
    // Without a scheme, what stands before the colon was taken for a host.
    uri.scheme()?;
    uri.authority().is_some_and(|authority| !has_bad_port(authority)).then_some(uri)
}

/// The parser of URIs takes any digits for a port.
fn has_bad_port(authority: &Authority) -> bool {
    let host = authority.as_str().rsplit_once('@').map_or(authority.as_str(), |(_, host)| host);
    let after_host = host.rsplit_once(']').map_or(host, |(_, port)| port);
    after_host.split_once(':').is_some_and(|(_, port)| !port.is_empty() && authority.port_u16().is_none())
}

fn has_scheme(text: &str) -> bool {
    text.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    })
}

/// A path without its `.` and `..`.
fn without_dots(text: &str) -> String {
    let (path, query) = text.find('?').map_or((text, ""), |at| text.split_at(at));
    let mut kept: Vec<&str> = Vec::new();
    let segments: Vec<&str> = path.split('/').skip(1).collect();
    for (at, segment) in segments.iter().enumerate() {
        let last = at + 1 == segments.len();
        match *segment {
            "." if last => kept.push(""),
            "." => {}
            ".." => {
                kept.pop();
                if last {
                    kept.push("");
                }
            }
            other => kept.push(other),
        }
    }
    format!("/{}{query}", kept.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_info_becomes_a_header() {
        let parsed = parse("https://user:p%40ss@host.example:8443/mcp?x=1").unwrap();
        assert_eq!(parsed.uri.to_string(), "https://host.example:8443/mcp?x=1");
        assert_eq!(parsed.authorization.unwrap(), format!("Basic {}", BASE64_STANDARD.encode("user:p@ss")));
        let parsed = parse("http://token@host/").unwrap();
        assert_eq!(parsed.authorization.unwrap(), format!("Basic {}", BASE64_STANDARD.encode("token:")));
        assert!(parse("http://host").unwrap().authorization.is_none());
        for bad in ["http://", "http://ho st/", "http://[::1/", "http://host:99999999/"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn resolves_like_the_rfc() {
        let base: Uri = "http://a.example:81/b/c/d?q".parse().unwrap();
        for (location, expected) in [
            ("http://g/h", "http://g/h"),
            ("//g", "http://g/"),
            ("/g?y", "http://a.example:81/g?y"),
            ("?y", "http://a.example:81/b/c/d?y"),
            ("g", "http://a.example:81/b/c/g"),
            ("./g/", "http://a.example:81/b/c/g/"),
            ("../g", "http://a.example:81/b/g"),
            ("../../../g", "http://a.example:81/g"),
            ("..", "http://a.example:81/b/"),
            ("https://[::1]:8443/h", "https://[::1]:8443/h"),
            ("g;x=1?y#z", "http://a.example:81/b/c/g;x=1?y"),
        ] {
            assert_eq!(resolve(&base, location).map(|uri| uri.to_string()).as_deref(), Some(expected), "{location}");
        }
        for bad in ["", "#x", "http://", "mailto:x", "ht tp://x", "http:", "http://g:99999/"] {
            assert_eq!(resolve(&base, bad), None, "{bad}");
        }
    }

    #[test]
    fn origins() {
        let same = |one: &str, other: &str| same_origin(&one.parse().unwrap(), &other.parse().unwrap());
        assert!(same("http://a/x", "http://A:80/y"));
        assert!(same("https://a:443/x", "https://a/"));
        assert!(!same("http://a/", "https://a/"));
        assert!(!same("http://a/", "http://a:81/"));
        assert!(!same("http://a/", "http://b/"));
    }

    #[test]
    fn ports() {
        let with = |text: &str| with_port(text.parse().unwrap()).to_string();
        assert_eq!(with("http://a/x?y"), "http://a:80/x?y");
        assert_eq!(with("https://[::1]/"), "https://[::1]:443/");
        assert_eq!(with("http://a:8080/"), "http://a:8080/");
    }

    #[test]
    fn this_machine() {
        for (text, expected) in [
            ("http://localhost/", true),
            ("http://LOCALHOST:8/", true),
            ("http://127.9.9.9/", true),
            ("http://[::1]:80/", true),
            ("http://10.0.0.1/", false),
            ("http://localhost.example/", false),
        ] {
            assert_eq!(is_loopback(&text.parse().unwrap()), expected, "{text}");
        }
    }

    #[test]
    fn what_is_shown_holds_no_secret() {
        assert_eq!(shown(&"http://user:pass@h:1/p?token=x".parse().unwrap()), "http://h:1/p");
    }
}
