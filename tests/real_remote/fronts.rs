//! What stands between the library and a server: a relay that keeps what it saw and can be a proxy, and TLS.

use std::convert::Infallible;
use std::future::Future;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode, Uri};
use http_body_util::{Either, Empty};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd};
use rustls::crypto::ring;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, SupportedProtocolVersion};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// Listens on a port of 127.0.0.1, in a thread of its own that lasts as long as the test's process.
fn listen<F>(serve: impl Fn(TcpStream) -> F + Send + 'static) -> u16
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let port = listener.local_addr().expect("its address").port();
    listener.set_nonblocking(true).expect("a socket for tokio");
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let listener = TcpListener::from_std(listener).expect("a socket for tokio");
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream));
            }
        });
    });
    port
}

async fn to(port: u16) -> std::io::Result<TcpStream> {
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await
}

// -- relay and proxy --

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Seen {
    pub method: Method,
    pub uri: Uri,
    pub headers: HeaderMap,
}

impl Seen {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().expect("text"))
    }
}

/// Passes requests on to a server, whatever host they name, and keeps what it saw. It takes requests for itself and requests
/// for a proxy (absolute URIs, and CONNECT, which leads to `tunnel`).
pub struct Relay {
    pub port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    server: u16,
    tunnel: u16,
    /// What `Proxy-Authorization` must be.
    credentials: Option<&'static str>,
    seen: Mutex<Vec<Seen>>,
    client: Client<HttpConnector, Incoming>,
}

type Answer = Response<Either<Incoming, Empty<Bytes>>>;

impl Relay {
    pub fn new(server: u16) -> Relay {
        Relay::with(server, 0, None)
    }

    pub fn with(server: u16, tunnel: u16, credentials: Option<&'static str>) -> Relay {
        let client = Client::builder(TokioExecutor::new()).build_http();
        let shared = Arc::new(Shared { server, tunnel, credentials, seen: Mutex::default(), client });
        let kept = shared.clone();
        let port = listen(move |stream| {
            let shared = kept.clone();
            async move {
                let answer = service_fn(|request| {
                    let shared = shared.clone();
                    async move { Ok::<_, Infallible>(shared.answer(request).await) }
                });
                let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), answer).with_upgrades();
                // Either side may break off.
                let _ = connection.await;
            }
        });
        Relay { port, shared }
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.shared.seen.lock().expect("what it saw").clone()
    }
}

fn only(status: StatusCode) -> Answer {
    let mut answer = Response::new(Either::Right(Empty::new()));
    *answer.status_mut() = status;
    answer
}

impl Shared {
    async fn answer(&self, mut request: Request<Incoming>) -> Answer {
        let (method, uri) = (request.method().clone(), request.uri().clone());
        let seen = Seen { method: method.clone(), uri: uri.clone(), headers: request.headers().clone() };
        let offered = seen.header("proxy-authorization").map(str::to_owned);
        self.seen.lock().expect("what it saw").push(seen);
        if self.credentials.is_some_and(|wanted| offered.as_deref() != Some(wanted)) {
            let mut answer = only(StatusCode::PROXY_AUTHENTICATION_REQUIRED);
            answer.headers_mut().insert("proxy-authenticate", "Basic realm=\"test\"".parse().expect("a value"));
            return answer;
        }
        if method == Method::CONNECT {
            let tunnel = self.tunnel;
            tokio::spawn(async move {
                if let (Ok(upgraded), Ok(mut server)) = (hyper::upgrade::on(request).await, to(tunnel).await) {
                    // Ends with either side.
                    let _ = copy_bidirectional(&mut TokioIo::new(upgraded), &mut server).await;
                }
            });
            return only(StatusCode::OK);
        }
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        *request.uri_mut() = format!("http://127.0.0.1:{}{path}", self.server).parse().expect("a URI");
        request.headers_mut().remove("proxy-authorization");
        match self.client.request(request).await {
            Ok(answer) => answer.map(Either::Left),
            Err(_) => only(StatusCode::BAD_GATEWAY),
        }
    }
}

// -- TLS --

/// Signs certificates.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate with its key.
pub struct Identity {
    certificate: rcgen::Certificate,
    key: KeyPair,
}

impl Authority {
    pub fn new(name: &str) -> Authority {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().expect("a key");
        Authority(CertifiedIssuer::self_signed(params, key).expect("a certificate"))
    }

    pub fn pem(&self) -> String {
        AsRef::<rcgen::Certificate>::as_ref(&self.0).pem()
    }

    /// A certificate for a name or an address.
    pub fn issue(&self, name: &str) -> Identity {
        self.sign(CertificateParams::new([name.to_owned()]).expect("a name"))
    }

    pub fn issue_expired(&self, name: &str) -> Identity {
        let mut params = CertificateParams::new([name.to_owned()]).expect("a name");
        (params.not_before, params.not_after) = (date_time_ymd(2001, 1, 1), date_time_ymd(2002, 1, 1));
        self.sign(params)
    }

    fn sign(&self, params: CertificateParams) -> Identity {
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.0).expect("a certificate");
        Identity { certificate, key }
    }
}

/// Takes TLS and passes what is in it on to a plain server.
pub fn tls(identity: &Identity, versions: &[&'static SupportedProtocolVersion], server: u16) -> u16 {
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(identity.key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(versions)
        .expect("versions that ring knows")
        .with_no_client_auth()
        .with_single_cert(vec![identity.certificate.der().clone()], key)
        .expect("a key for its certificate");
    let acceptor = TlsAcceptor::from(Arc::new(config));
    listen(move |stream| {
        let acceptor = acceptor.clone();
        async move {
            // A client that does not trust us ends the handshake, and may.
            let Ok(mut tls) = acceptor.accept(stream).await else { return };
            if let Ok(mut server) = to(server).await {
                let _ = copy_bidirectional(&mut tls, &mut server).await;
            }
        }
    })
}

/// A SOCKS proxy (RFC 1928, RFC 1929) before `server`, which asks for a user and a password where there are `credentials`. Returns its
/// port and what it is asked to connect to, in words.
pub fn socks(server: u16, credentials: Option<(&'static str, &'static str)>) -> (u16, Arc<Mutex<Vec<String>>>) {
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let kept = seen.clone();
    let port = listen(move |mut stream| {
        let kept = kept.clone();
        async move {
            // Either side may break off.
            let _ = serve_socks(&mut stream, server, credentials, &kept).await;
        }
    });
    (port, seen)
}

async fn serve_socks(
    stream: &mut TcpStream,
    server: u16,
    credentials: Option<(&str, &str)>,
    seen: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let methods = {
        let [_version, count] = read::<2>(stream).await?;
        text(stream, count).await?
    };
    let wanted = if credentials.is_some() { 2 } else { 0 };
    if !methods.bytes().any(|method| method == wanted) {
        return stream.write_all(&[5, 0xff]).await;
    }
    stream.write_all(&[5, wanted]).await?;
    if let Some(credentials) = credentials {
        let [_version, length] = read::<2>(stream).await?;
        let user = text(stream, length).await?;
        let [length] = read::<1>(stream).await?;
        let right = (user.as_str(), text(stream, length).await?.as_str()) == credentials;
        stream.write_all(&[1, u8::from(!right)]).await?;
        if !right {
            return Ok(());
        }
    }
    let [_version, _connect, _reserved, kind] = read::<4>(stream).await?;
    let host = match kind {
        1 => Ipv4Addr::from(read::<4>(stream).await?).to_string(),
        3 => {
            let [length] = read::<1>(stream).await?;
            text(stream, length).await?
        }
        kind => format!("an address of the kind {kind}"),
    };
    let port = u16::from_be_bytes(read::<2>(stream).await?);
    seen.lock().expect("what it saw").push(format!("{host}:{port}"));
    let mut behind = TcpStream::connect((Ipv4Addr::LOCALHOST, server)).await?;
    stream.write_all(&[5, 0, 0, 1, 127, 0, 0, 1, 0, 0]).await?;
    copy_bidirectional(stream, &mut behind).await.map(drop)
}

async fn read<const N: usize>(stream: &mut TcpStream) -> std::io::Result<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes).await.map(|_| bytes)
}

async fn text(stream: &mut TcpStream, length: u8) -> std::io::Result<String> {
    let mut bytes = vec![0; length.into()];
    stream.read_exact(&mut bytes).await?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
