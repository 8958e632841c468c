//! Sockets: name look-up, connecting, and what a socket of this library is like.
//!
//! A child that the host forks has no copy of a socket, from its first moment on.
#![forbid(unsafe_code)]

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::dns::{GaiResolver, Name};
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower_service::Service;

use super::url;
use crate::process::fds::{self, FdGuard};

/// A peer that vanished without a word is noticed after so long.
const KEEP_ALIVE: Duration = Duration::from_secs(60);
/// So long an address has to itself before the next one is tried too (RFC 8305), and so many are tried.
const ATTEMPT: Duration = Duration::from_millis(250);
const ADDRESSES: usize = 8;

/// Connects to the host of a URL.
#[derive(Clone, Debug, Default)]
pub struct Tcp {
    /// This server has sent an answer in pieces.
    in_pieces: Arc<AtomicBool>,
}

type Connecting = Pin<Box<dyn Future<Output = io::Result<Socket>> + Send>>;

impl Service<Uri> for Tcp {
    type Response = Socket;
    type Error = io::Error;
    type Future = Connecting;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, target: Uri) -> Connecting {
        let in_pieces = self.in_pieces.clone();
        Box::pin(async move {
            let mut socket = connect(look_up(&target).await?).await?;
            socket.in_pieces = in_pieces;
            Ok(socket)
        })
    }
}

/// The addresses of a URL's host. The system's look-up may take long, and only so many are made at once: what needs none does
/// not wait for one.
pub async fn look_up(target: &Uri) -> io::Result<Vec<SocketAddr>> {
    let host = url::bare_host(target);
    let port = url::port(target);
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    // RFC 6761, 6.3.
    if host.eq_ignore_ascii_case("localhost") {
        return Ok(vec![(Ipv4Addr::LOCALHOST, port).into(), (Ipv6Addr::LOCALHOST, port).into()]);
    }
    let name = host.parse::<Name>().map_err(io::Error::other)?;
    let found: Vec<SocketAddr> = GaiResolver::new().call(name).await?.take(ADDRESSES).collect();
    match found.is_empty() {
        true => Err(io::Error::other(format!("the name {host} has no address"))),
        false => Ok(found.into_iter().map(|address| SocketAddr::new(address.ip(), port)).collect()),
    }
}

/// The first connection that comes about.
fn connect(mut addresses: Vec<SocketAddr>) -> Connecting {
    Box::pin(async move {
        if addresses.is_empty() {
            return Err(io::ErrorKind::AddrNotAvailable.into());
        }
        let mut one = Box::pin(open(addresses.remove(0)));
        if addresses.is_empty() {
            return one.await;
        }
        match tokio::time::timeout(ATTEMPT, &mut one).await {
            Ok(Ok(socket)) => return Ok(socket),
            Ok(Err(_)) => return connect(addresses).await,
            Err(_) => {}
        }
        let mut others = connect(addresses);
        tokio::select! {
            ended = &mut one => match ended {
                Ok(socket) => Ok(socket),
                Err(_) => others.await,
            },
            ended = &mut others => match ended {
                Ok(socket) => Ok(socket),
                Err(_) => one.await,
            },
        }
    })
}

async fn open(address: SocketAddr) -> io::Result<Socket> {
    let kind = socket2::Type::STREAM.nonblocking().cloexec();
    let socket = socket2::Socket::new(socket2::Domain::for_address(address), kind, Some(socket2::Protocol::TCP))?;
    let mut fd = OwnedFd::from(socket);
    if fd.as_raw_fd() <= 2 {
        // Where the host closed its standard streams, what it writes there would go to the server. A copy is above them.
        fd = fd.try_clone()?;
    }
    let guard = fds::register(fd.as_raw_fd());
    let stream = std::net::TcpStream::from(fd);
    let socket = socket2::SockRef::from(&stream);
    socket.set_tcp_nodelay(true)?;
    socket.set_tcp_keepalive(&socket2::TcpKeepalive::new().with_time(KEEP_ALIVE))?;
    match socket.connect(&address.into()) {
        Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => return Err(error),
        _ => {}
    }
    let socket = Socket {
        _fd: guard,
        stream: TokioIo::new(TcpStream::from_std(stream)?),
        forwards: false,
        in_pieces: Arc::default(),
        is_idle: false,
        waited: false,
        used: Used::default(),
    };
    let stream = socket.stream.inner();
    stream.writable().await?;
    match stream.take_error()? {
        Some(error) => Err(error),
        None => Ok(socket),
    }
}

/// A connection, or one that comes about.
#[derive(Debug)]
pub struct Socket {
    // Before the stream: see `FdGuard`.
    _fd: FdGuard,
    stream: TokioIo<TcpStream>,
    /// It leads to a proxy that reads the requests.
    pub forwards: bool,
    /// See [`Tcp`].
    in_pieces: Arc<AtomicBool>,
    /// Something was read since the last write: what is written next begins a request.
    is_idle: bool,
    /// And after that there was nothing to read.
    waited: bool,
    used: Used,
}

/// Whether a connection had been used before its last request: then its end may have been on its way already.
#[derive(Clone, Debug, Default)]
pub struct Used(Arc<AtomicBool>);

impl Used {
    pub fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
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
        self.used.0.store(true, Ordering::Relaxed);
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
        Connected::new().proxy(self.forwards).extra(self.used.clone())
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
