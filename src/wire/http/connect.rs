//! Connections: name look-up, proxies, TLS, and what a socket of this library is like.
#![forbid(unsafe_code)]

use std::io;
use std::os::fd::AsRawFd;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Uri};
use http_body_util::Full;
use hyper::rt::{Executor, Read, ReadBufCursor, Write};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower_service::Service;

use super::url;
use crate::process::fds::{self, FdGuard};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// How long a connection may wait for its next request. Servers on Node and on uvicorn close theirs after five seconds, and a
/// request must not meet that end; what stands before servers on https waits for a minute.
const IDLE_PLAIN: Duration = Duration::from_secs(4);
const IDLE_TLS: Duration = Duration::from_secs(50);
/// A peer that vanished without a word is noticed after so long.
const KEEP_ALIVE: Duration = Duration::from_secs(60);

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
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_keepalive(Some(KEEP_ALIVE));
    let connector = HttpsConnector::from((Connector { tcp, route: route.clone(), in_pieces: Arc::default() }, tls));
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
    tcp: HttpConnector,
    route: Route,
    /// This server has sent an answer in pieces.
    in_pieces: Arc<AtomicBool>,
}

impl Service<Uri> for Connector {
    type Response = Socket;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Socket, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.tcp.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, target: Uri) -> Self::Future {
        let mut tcp = self.tcp.clone();
        let (route, in_pieces) = (self.route.clone(), self.in_pieces.clone());
        Box::pin(async move {
            let (stream, forwards) = match route {
                Route::Direct => (tcp.call(target).await?, false),
                Route::Forward { proxy, .. } => (tcp.call(proxy).await?, true),
                Route::Tunnel { proxy, auth } => {
                    let mut tunnel = Tunnel::new(proxy, tcp);
                    if let Some(auth) = auth {
                        tunnel = tunnel.with_auth(auth);
                    }
                    (tunnel.call(target).await?, false)
                }
                Route::Socks { proxy, auth, local_names } => {
                    let mut socks = SocksV5::new(proxy, tcp).local_dns(local_names);
                    if let Some((user, password)) = auth {
                        socks = socks.with_auth(user, password);
                    }
                    // It takes a missing port for that of https.
                    (socks.call(url::with_port(target)).await?, false)
                }
            };
            let stream = stream.into_inner();
            Ok(Socket {
                _fd: fds::register(stream.as_raw_fd()),
                stream: TokioIo::new(stream),
                forwards,
                in_pieces,
                is_idle: false,
                waited: false,
            })
        })
    }
}

/// A connection. A child that the host forks has no copy of it.
#[derive(Debug)]
pub struct Socket {
    // Before the stream: see `FdGuard`.
    _fd: FdGuard,
    stream: TokioIo<TcpStream>,
    /// It leads to a proxy that reads the requests.
    forwards: bool,
    /// See [`Connector`].
    in_pieces: Arc<AtomicBool>,
    /// Something was read since the last write: what is written next begins a request.
    is_idle: bool,
    /// And after that there was nothing to read.
    waited: bool,
}

/// Why a connection that waited for its next request cannot take it. Nothing of the request was sent.
#[derive(Debug)]
pub struct ClosedWhileIdle;

impl std::fmt::Display for ClosedWhileIdle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the server had closed the connection")
    }
}

impl std::error::Error for ClosedWhileIdle {}

impl Socket {
    /// The server may have closed the connection while nobody looked; the runtime learns of that by and by, the system knows.
    /// What was not sent can be sent over another connection, what was sent cannot.
    fn begin_write(&mut self) -> io::Result<()> {
        self.waited = false;
        if !std::mem::take(&mut self.is_idle) {
            return Ok(());
        }
        let mut byte = [std::mem::MaybeUninit::uninit()];
        let socket = socket2::SockRef::from(self.stream.inner());
        match socket.recv_with_flags(&mut byte, libc::MSG_PEEK | libc::MSG_DONTWAIT) {
            Ok(0) => {}
            Err(error) if matches!(error.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe) => {}
            _ => return Ok(()),
        }
        Err(io::Error::new(io::ErrorKind::ConnectionAborted, ClosedWhileIdle))
    }
}

impl Connection for Socket {
    fn connected(&self) -> Connected {
        Connected::new().proxy(self.forwards)
    }
}

impl Read for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if read.is_ready() {
            if self.is_idle && self.waited {
                self.in_pieces.store(true, Ordering::Relaxed);
            }
            (self.is_idle, self.waited) = (true, false);
        } else if self.is_idle && !std::mem::replace(&mut self.waited, true) && self.in_pieces.load(Ordering::Relaxed) {
            // A server that writes its header and its body apart holds the second back until the first is acknowledged, and
            // on a connection that has been used the system takes 40 ms for that. It forgets what it was told: again each time.
            // On a new connection it does so by itself: the first answer shows whether it must be told, which has its price.
            let _ = socket2::SockRef::from(self.stream.inner()).set_tcp_quickack(true);
        }
        read
    }
}

impl Write for Socket {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.begin_write()?;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.begin_write()?;
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }
}
