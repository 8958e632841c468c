//! The listener, its connections, and what is known about all of them.

use std::collections::HashMap;
use std::io::BufReader;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;

use super::engine::Engine;
use super::http::{self, Exchange, Received};
use super::stdio::server::OPTIONS as OPTIONS_OF_MESSAGES;
use super::{Behaviour, Turn, table};

const OPTIONS: &[&str] = &["--times", "--reply", "--aside", "--sessions", "--to", "--received"];

/// A running server. It ends with this handle.
pub struct Server {
    site: Arc<Site>,
}

impl Server {
    /// Starts the behaviour of that name on a port of its own.
    pub fn start(name: &str, options: &[&str]) -> Server {
        Server::try_start(name, options).unwrap_or_else(|complaint| panic!("{complaint}"))
    }

    pub fn try_start(name: &str, options: &[&str]) -> Result<Server, String> {
        let behaviour = table().find(|behaviour| behaviour.name == name);
        let behaviour = behaviour.ok_or_else(|| format!("no behaviour is named {name}; `list` prints them"))?;
        let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        let site = Arc::new(Site::new(behaviour, parse(options)?, address));
        let shared = site.clone();
        thread::spawn(move || shared.accept(&listener));
        Ok(Server { site })
    }

    pub fn url(&self) -> String {
        format!("{}/mcp", self.origin())
    }

    /// The URL without a path.
    pub fn origin(&self) -> String {
        format!("http://{}", self.site.address)
    }

    /// All requests so far.
    pub fn received(&self) -> Vec<Received> {
        self.site.received()
    }

    /// How many connections there were so far.
    pub fn connections(&self) -> u64 {
        self.site.connections.load(Ordering::Relaxed)
    }

    /// How many connections are open.
    pub fn open(&self) -> usize {
        self.site.open.lock().len()
    }

    /// How many connections have ended.
    pub fn ended(&self) -> u64 {
        self.site.ended.load(Ordering::Relaxed)
    }

    /// Forgets all sessions, as a server that was restarted.
    pub fn lose_sessions(&self) {
        self.site.sessions.lock().clear();
    }

    /// Closes all connections.
    pub fn hang_up(&self) {
        self.site.hang_up();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.site.stopped.store(true, Ordering::Relaxed);
        self.site.hang_up();
        // Wakes the listener.
        let _ = TcpStream::connect(self.site.address);
    }
}

fn parse(options: &[&str]) -> Result<HashMap<String, String>, String> {
    let known = |key: &str| OPTIONS.contains(&key) || OPTIONS_OF_MESSAGES.contains(&key);
    options
        .chunks(2)
        .map(|pair| match pair {
            [key, value] if known(key) => Ok(((*key).to_owned(), (*value).to_owned())),
            _ => Err(format!(
                "{} is not an option with its value: {}, {}",
                pair.join(" "),
                OPTIONS.join(", "),
                OPTIONS_OF_MESSAGES.join(", ")
            )),
        })
        .collect()
}

/// A session of the legacy era.
pub struct Session {
    pub path: String,
    /// The revision that was agreed on, once it is.
    pub version: Mutex<String>,
    pub engine: Arc<Engine>,
}

pub struct Site {
    pub behaviour: Behaviour,
    pub options: HashMap<String, String>,
    pub address: SocketAddr,
    /// What has no session is one conversation for each path: two servers behind one origin have nothing in common.
    stateless: Mutex<HashMap<String, Arc<Engine>>>,
    pub sessions: Mutex<HashMap<String, Arc<Session>>>,
    pub session_count: AtomicU64,
    /// How often the fault was met.
    pub hits: AtomicU64,
    /// How often a GET wanted to go on after an event.
    pub resumptions: AtomicU64,
    /// Free for the behaviour: the id of a request that is answered later.
    pub waiting: Mutex<Value>,
    pub stopped: AtomicBool,
    received: Mutex<Vec<Received>>,
    connections: AtomicU64,
    ended: AtomicU64,
    open: Mutex<HashMap<u64, TcpStream>>,
}

impl Site {
    fn new(behaviour: Behaviour, mut options: HashMap<String, String>, address: SocketAddr) -> Site {
        options.entry("--era".to_owned()).or_insert_with(|| behaviour.era.to_owned());
        Site {
            stateless: Mutex::default(),
            behaviour,
            options,
            address,
            sessions: Mutex::default(),
            session_count: AtomicU64::new(0),
            hits: AtomicU64::new(0),
            resumptions: AtomicU64::new(0),
            waiting: Mutex::default(),
            stopped: AtomicBool::new(false),
            received: Mutex::default(),
            connections: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            open: Mutex::default(),
        }
    }

    pub fn stateless(&self, path: &str) -> Arc<Engine> {
        // What was moved is where it was.
        let path = if path.starts_with("/moved") { "/mcp" } else { path };
        let engine = || Engine::new(self.behaviour.inner, &self.options);
        self.stateless.lock().entry(path.to_owned()).or_insert_with(engine).clone()
    }

    /// A setting, by its name without the dashes.
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options.get(&format!("--{name}")).map(String::as_str)
    }

    pub fn number(&self, name: &str, default: u64) -> u64 {
        self.option(name).and_then(|text| text.parse().ok()).unwrap_or(default)
    }

    pub fn speaks(&self, era: &str) -> bool {
        matches!(self.option("era"), Some(own) if own == era || own == "both")
    }

    pub fn received(&self) -> Vec<Received> {
        self.received.lock().clone()
    }

    /// The client closed the connection before that request was answered in full.
    pub fn left(&self, index: usize) {
        if let Some(request) = self.received.lock().get_mut(index) {
            request.left = true;
        }
    }

    fn hang_up(&self) {
        for stream in self.open.lock().values() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    fn accept(self: &Arc<Site>, listener: &TcpListener) {
        for stream in listener.incoming() {
            if self.stopped.load(Ordering::Relaxed) {
                break;
            }
            let Ok(stream) = stream else { continue };
            let number = self.connections.fetch_add(1, Ordering::Relaxed);
            let _ = stream.set_nodelay(true);
            if let Ok(copy) = stream.try_clone() {
                self.open.lock().insert(number, copy);
            }
            let site = self.clone();
            thread::spawn(move || site.serve(stream, number));
        }
    }

    fn serve(self: &Arc<Site>, stream: TcpStream, number: u64) {
        let mut reader = BufReader::new(stream);
        let mut first = true;
        while let Ok(Some(request)) = http::read(&mut reader, number) {
            let index = {
                let mut received = self.received.lock();
                received.push(request.clone());
                received.len() - 1
            };
            let turn = Exchange::new(self, reader.get_ref(), request, first).handle();
            first = false;
            match turn {
                Ok(Turn::Keep) => continue,
                Ok(Turn::Reset) => {
                    let _ = socket2::SockRef::from(reader.get_ref()).set_linger(Some(Duration::ZERO));
                    self.open.lock().remove(&number);
                    return;
                }
                Ok(_) => break,
                Err(_) => {
                    self.left(index);
                    break;
                }
            }
        }
        let _ = reader.get_ref().shutdown(Shutdown::Both);
        self.open.lock().remove(&number);
        self.ended.fetch_add(1, Ordering::Relaxed);
    }
}
