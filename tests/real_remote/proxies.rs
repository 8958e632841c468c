//! Forward proxies, as the environment names them. The servers have names that only the proxy knows.

use http::Method;
use rustls::version::TLS13;
use serde_json::{Value, json};

use crate::common::{refusing, scratch};
use crate::elsewhere::{Report, load_under};
use crate::fronts::{Authority, Relay, socks, tls};
use crate::peers;

const PLAIN: &str = "http://remote.invalid/mcp";
const SEALED: &str = "https://remote.invalid/mcp";
/// user:open sesame
const CREDENTIALS: &str = "Basic dXNlcjpvcGVuIHNlc2FtZQ==";

fn entry(url: &str) -> Value {
    json!({"url": url, "timeout": 60_000})
}

fn load_through(variables: &[(&str, &str)], servers: &Value) -> Report {
    load_under(variables, servers, "echo", &json!({"text": "by a detour"}))
}

#[test]
fn plain_http_goes_to_the_proxy() {
    let server = peers::rust();
    for variable in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
        let proxy = Relay::new(server.port());
        let address = format!("http://127.0.0.1:{}", proxy.port);
        let report = load_through(&[(variable, &address)], &json!({"far": entry(PLAIN)}));
        report.ok("far", "by a detour");
        let seen = proxy.seen();
        assert!(seen.len() >= 3, "{variable}: {seen:?}");
        for seen in seen {
            assert_eq!(seen.uri, PLAIN, "absolute, for a proxy");
            assert_eq!(seen.header("host"), Some("remote.invalid"));
            assert_eq!(seen.header("proxy-authorization"), None);
        }
    }
}

#[test]
fn https_goes_through_a_tunnel() {
    let (server, authority) = (peers::rust(), Authority::new("test authority"));
    let roots = scratch("roots.pem");
    std::fs::write(&roots, authority.pem()).expect("a file");
    let sealed = tls(&authority.issue("remote.invalid"), &[&TLS13], server.port());
    for variable in ["HTTPS_PROXY", "https_proxy"] {
        let proxy = Relay::with(0, sealed, None);
        let address = format!("http://127.0.0.1:{}", proxy.port);
        let variables = [(variable, address.as_str()), ("SSL_CERT_FILE", roots.to_str().expect("UTF-8"))];
        let report = load_through(&variables, &json!({"far": entry(SEALED)}));
        report.ok("far", "by a detour");
        let seen = proxy.seen();
        assert!(!seen.is_empty());
        for seen in seen {
            assert_eq!((seen.method, seen.uri.to_string().as_str()), (Method::CONNECT, "remote.invalid:443"));
        }
    }
}

#[test]
fn a_proxy_that_wants_credentials() {
    let (server, authority) = (peers::rust(), Authority::new("test authority"));
    let roots = scratch("roots.pem");
    std::fs::write(&roots, authority.pem()).expect("a file");
    let sealed = tls(&authority.issue("remote.invalid"), &[&TLS13], server.port());
    let proxy = Relay::with(server.port(), sealed, Some(CREDENTIALS));
    let load = |user: &str| {
        let address = format!("http://{user}127.0.0.1:{}", proxy.port);
        let variables = [
            ("HTTP_PROXY", address.as_str()),
            ("HTTPS_PROXY", &address),
            ("SSL_CERT_FILE", roots.to_str().expect("UTF-8")),
        ];
        load_through(&variables, &json!({"plain": entry(PLAIN), "sealed": entry(SEALED)}))
    };
    let report = load("user:open%20sesame@");
    report.ok("plain", "by a detour");
    report.ok("sealed", "by a detour");
    for user in ["", "user:wr0ng-word@"] {
        let report = load(user);
        let shown = format!("the proxy http://127.0.0.1:{}", proxy.port);
        for (name, url) in [("plain", PLAIN), ("sealed", SEALED)] {
            report.failed(name, &[url, &shown, "asks for a user and a password"]);
        }
        assert!(!report.text().contains("wr0ng-word"), "{}", report.text());
    }
}

#[test]
fn what_needs_no_proxy_goes_straight() {
    let server = peers::rust();
    let proxy = Relay::new(server.port());
    let address = format!("http://127.0.0.1:{}", proxy.port);
    let servers = json!({"near": entry(&server.url()), "far": entry(PLAIN)});
    // Without a proxy nobody knows the far one.
    for exception in ["remote.invalid", "example.org, .invalid", "*"] {
        let report = load_through(&[("HTTP_PROXY", address.as_str()), ("NO_PROXY", exception)], &servers);
        report.ok("near", "by a detour");
        report.failed("far", &[PLAIN, "cannot be reached"]);
        assert_eq!(proxy.seen().len(), 0, "{exception}");
    }
    let report = load_through(&[("HTTP_PROXY", address.as_str()), ("NO_PROXY", "example.org")], &servers);
    report.ok("near", "by a detour");
    report.ok("far", "by a detour");
    // This machine needs no exception.
    assert!(proxy.seen().iter().all(|seen| seen.uri == PLAIN), "{:?}", proxy.seen());
}

#[test]
fn a_proxy_that_is_not_there() {
    let (_taken, gone) = refusing();
    let address = format!("http://{gone}");
    let variables = [("HTTP_PROXY", address.as_str()), ("HTTPS_PROXY", &address)];
    let report = load_through(&variables, &json!({"plain": entry(PLAIN), "sealed": entry(SEALED)}));
    for (name, url) in [("plain", PLAIN), ("sealed", SEALED)] {
        report.failed(name, &[url, "through the proxy", &address, "connection refused: nothing listens there"]);
    }
}

#[test]
fn socks_proxies() {
    let server = peers::rust();
    for (scheme, user, credentials) in
        [("socks5h", "", None), ("socks5h", "user:open-sesame@", Some(("user", "open-sesame")))]
    {
        let (port, seen) = socks(server.port(), credentials);
        let address = format!("{scheme}://{user}127.0.0.1:{port}");
        let report = load_through(&[("ALL_PROXY", &address)], &json!({"far": entry(PLAIN)}));
        report.ok("far", "by a detour");
        let seen = seen.lock().expect("what it saw").clone();
        assert!(!seen.is_empty() && seen.iter().all(|seen| seen == "remote.invalid:80"), "{seen:?}");
    }
    // The name is looked up here, where nobody knows it.
    let (port, seen) = socks(server.port(), None);
    let address = format!("socks5://127.0.0.1:{port}");
    let report = load_through(&[("ALL_PROXY", &address)], &json!({"far": entry(PLAIN)}));
    report.failed("far", &[PLAIN, "cannot be reached"]);
    assert_eq!(seen.lock().expect("what it saw").len(), 0);
    // And with other credentials than the proxy wants.
    let (port, _) = socks(server.port(), Some(("user", "open-sesame")));
    let address = format!("socks5h://user:wr0ng-word@127.0.0.1:{port}");
    let report = load_through(&[("ALL_PROXY", &address)], &json!({"far": entry(PLAIN)}));
    report.failed("far", &[PLAIN, "through the proxy"]);
    assert!(!report.text().contains("wr0ng-word"), "{}", report.text());
}
