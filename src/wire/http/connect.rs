//! Connections: proxies, TLS, and which task serves them.
#![forbid(unsafe_code)]

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Uri};
use http_body_util::Full;
use hyper::rt::Executor;
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::TokioTimer;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower_service::Service;

use super::tcp::{Socket, Tcp, look_up};
use super::url;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// How long a connection may wait for its next request. Servers on Node and on uvicorn close theirs after five seconds, and a
/// request must not meet that end; what stands before servers on https waits for a minute.
const IDLE_PLAIN: Duration = Duration::from_secs(4);
const IDLE_TLS: Duration = Duration::from_secs(50);

/// The client of one session.
pub type HttpClient = Client<HttpsConnector<Connector>, Full<Bytes>>;

/// Makes a client whose connections are served by tasks of `tracker` and end with `stop`.
pub async fn client(
    target: &Uri,
    tracker: &TaskTracker,
    stop: &CancellationToken,
) -> Result<(HttpClient, Route), String> {
    let is_tls = target.scheme_str() == Some("https");
    let route = Route::to(target)?;
    let tls = match is_tls {
        true => tls_config().await?,
        // Never used: the scheme of a session's requests does not change.
        false => Arc::new(with_roots(rustls::RootCertStore::empty())?),
    };
    let connector = HttpsConnector::from((Connector { tcp: Tcp::default(), route: route.clone() }, tls));
    let client = Client::builder(Tasks { tracker: tracker.clone(), stop: stop.clone() })
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(if is_tls { IDLE_TLS } else { IDLE_PLAIN })
        .build(connector);
    Ok((client, route))
}

/// Serves connections on tasks that the close of a source waits for.
#[derive(Clone)]
struct Tasks {
    tracker: TaskTracker,
    stop: CancellationToken,
}

impl<F> Executor<F> for Tasks
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    fn execute(&self, connection: F) {
        let stop = self.stop.clone();
        self.tracker.spawn(async move {
            tokio::select! {
                _ = connection => {}
                () = stop.cancelled() => {}
            }
        });
    }
}

// -- TLS ----------------------------------------------------------------------------------------------------------------

/// The settings of every TLS connection: the system's roots, or those that `SSL_CERT_FILE` and `SSL_CERT_DIR` name.
async fn tls_config() -> Result<Arc<rustls::ClientConfig>, String> {
    // Hundreds of files may have to be read: not on the thread that serves everybody.
    tokio::task::spawn_blocking(|| {
        let mut roots = rustls::RootCertStore::empty();
        let found = rustls_native_certs::load_native_certs();
        let (added, _) = roots.add_parsable_certificates(found.certs);
        if added == 0 {
            let why = found.errors.first().map(|error| format!(": {error}")).unwrap_or_default();
            return Err(format!(
                "no trusted certificate authorities were found{why}; install the system's CA certificates (package \
                 ca-certificates), or name a file with SSL_CERT_FILE"
            ));
        }
        with_roots(roots).map(Arc::new)
    })
    .await
    .unwrap_or_else(|_| Err("the library was shut down".to_owned()))
}

fn with_roots(roots: rustls::RootCertStore) -> Result<rustls::ClientConfig, String> {
    // Our own provider, whatever else in the process uses rustls.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(|error| format!("TLS cannot be set up: {error}"))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

// -- proxies ------------------------------------------------------------------------------------------------------------

/// How the origin of a session is reached.
#[derive(Clone, Debug)]
pub enum Route {
    Direct,
    /// The proxy forwards requests that are written for it.
    Forward {
        proxy: Uri,
        auth: Option<HeaderValue>,
    },
    /// The proxy connects, and sees nothing but bytes.
    Tunnel {
        proxy: Uri,
        auth: Option<HeaderValue>,
    },
    Socks {
        proxy: Uri,
        auth: Option<(String, String)>,
        local_names: bool,
    },
}

impl Route {
    /// The route that the environment asks for (`HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY`, `NO_PROXY`, in both cases). This
    /// machine itself is never reached through a proxy.
    fn to(target: &Uri) -> Result<Route, String> {
        if url::is_loopback(target) {
            return Ok(Route::Direct);
        }
        let Some(found) = Matcher::from_env().intercept(target) else { return Ok(Route::Direct) };
        let proxy = found.uri().clone();
        match proxy.scheme_str() {
            Some("http") if target.scheme_str() == Some("https") => {
                Ok(Route::Tunnel { proxy, auth: found.basic_auth().cloned() })
            }
            Some("http") => Ok(Route::Forward { proxy, auth: found.basic_auth().cloned() }),
            Some(scheme @ ("socks5" | "socks5h")) => {
                let auth = found.raw_auth().map(|(user, password)| (user.to_owned(), password.to_owned()));
                let local_names = scheme == "socks5";
                Ok(Route::Socks { proxy, auth, local_names })
            }
            scheme => Err(format!(
                "the proxy that the environment names has the scheme {}, expected http, socks5 or socks5h",
                scheme.unwrap_or("(none)")
            )),
        }
    }

    /// The proxy on the way, as messages show it.
    pub fn shown(&self) -> Option<String> {
        match self {
            Route::Direct => None,
            Route::Forward { proxy, .. } | Route::Tunnel { proxy, .. } | Route::Socks { proxy, .. } => {
                Some(url::shown(proxy))
            }
        }
    }

    /// What requests must carry for the proxy.
    pub fn authorization(&self) -> Option<&HeaderValue> {
        match self {
            Route::Forward { auth, .. } => auth.as_ref(),
            _ => None,
        }
    }
}

/// Makes the plain connection below HTTP and TLS.
#[derive(Clone, Debug)]
pub struct Connector {
    tcp: Tcp,
    route: Route,
}

impl Service<Uri> for Connector {
    type Response = Socket;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Socket, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, target: Uri) -> Self::Future {
        let (mut tcp, route) = (self.tcp.clone(), self.route.clone());
        Box::pin(async move {
            match route {
                Route::Direct => Ok(tcp.call(target).await?),
                Route::Forward { proxy, .. } => {
                    let mut socket = tcp.call(proxy).await?;
                    socket.forwards = true;
                    Ok(socket)
                }
                Route::Tunnel { proxy, auth } => {
                    let mut tunnel = Tunnel::new(proxy, tcp);
                    if let Some(auth) = auth {
                        tunnel = tunnel.with_auth(auth);
                    }
                    Ok(tunnel.call(target).await?)
                }
                Route::Socks { proxy, auth, local_names } => {
                    // It would look names up on this thread, and takes a missing port for that of https.
                    let target = match local_names {
                        true => {
                            let addresses = look_up(&target).await?;
                            url::with_address(target, addresses.first())
                        }
                        false => url::with_port(target),
                    };
                    let mut socks = SocksV5::new(proxy, tcp);
                    if let Some((user, password)) = auth {
                        socks = socks.with_auth(user, password);
                    }
                    Ok(socks.call(target).await?)
                }
            }
        })
    }
}
