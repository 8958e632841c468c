//! TLS: certificates that are trusted, and those that must not be.

use rustls::version::{TLS12, TLS13};
use serde_json::{Value, json};

use crate::common::scratch;
use crate::elsewhere::{Report, load_under};
use crate::fronts::{Authority, tls};
use crate::peers::{self, Peer};

fn load_trusting(authority: &Authority, servers: &Value) -> Report {
    let roots = scratch("roots.pem");
    std::fs::write(&roots, authority.pem()).expect("a file");
    let roots = roots.to_str().expect("UTF-8");
    load_under(&[("SSL_CERT_FILE", roots)], servers, "echo", &json!({"text": "under a seal"}))
}

fn entry(host: &str, port: u16) -> Value {
    json!({"url": format!("https://{host}:{port}/mcp"), "timeout": 60_000})
}

fn server() -> Peer {
    peers::rust()
}

#[test]
fn a_trusted_certificate() {
    let (server, authority) = (server(), Authority::new("test authority"));
    let named = tls(&authority.issue("localhost"), &[&TLS13, &TLS12], server.port());
    let numbered = tls(&authority.issue("127.0.0.1"), &[&TLS13], server.port());
    let older = tls(&authority.issue("localhost"), &[&TLS12], server.port());
    let mut legacy = entry("localhost", named);
    legacy["lifecycle"] = json!("initialize");
    let servers = json!({
        "named": entry("localhost", named), "numbered": entry("127.0.0.1", numbered), "older": entry("localhost", older),
        "legacy": legacy,
    });
    let report = load_trusting(&authority, &servers);
    for name in ["named", "numbered", "older", "legacy"] {
        report.ok(name, "under a seal");
    }
    assert_eq!(report.server("named")["protocolVersion"], "2026-07-28");
    assert_eq!(report.server("legacy")["protocolVersion"], "2025-11-25");
}

#[test]
fn certificates_that_must_not_be_trusted() {
    let (server, authority) = (server(), Authority::new("test authority"));
    let both = [&TLS13, &TLS12];
    let unknown = tls(&Authority::new("nobody").issue("localhost"), &both, server.port());
    let expired = tls(&authority.issue_expired("localhost"), &both, server.port());
    let other = tls(&authority.issue("elsewhere.invalid"), &both, server.port());
    let good = tls(&authority.issue("localhost"), &both, server.port());
    let servers = json!({
        "unknown": entry("localhost", unknown), "expired": entry("localhost", expired), "other": entry("localhost", other),
        "good": entry("localhost", good),
    });
    let report = load_trusting(&authority, &servers);
    for name in ["unknown", "expired", "other"] {
        report.failed(name, &["certificate was refused", "https://localhost:"]);
    }
    report.failed("unknown", &["issuer is not trusted", "SSL_CERT_FILE"]);
    report.failed("expired", &["it has expired"]);
    report.failed("other", &["it is for another host name", "elsewhere.invalid"]);
    // One bad certificate costs nobody else.
    report.ok("good", "under a seal");
}

#[test]
fn the_wrong_scheme() {
    let (server, authority) = (server(), Authority::new("test authority"));
    let sealed = tls(&authority.issue("localhost"), &[&TLS13], server.port());
    let servers = json!({
        "plain-server": entry("127.0.0.1", server.port()),
        "tls-server": {"url": format!("http://localhost:{sealed}/mcp"), "timeout": 60_000},
    });
    let report = load_trusting(&authority, &servers);
    report.failed("plain-server", &["https://127.0.0.1:", "TLS failed", "does the server speak https on this port?"]);
    report.failed("tls-server", &["http://localhost:", "not HTTP", "does the server speak https on this port?"]);
}
