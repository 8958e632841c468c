//! Servers that others wrote, each in a process of its own, on a port of 127.0.0.1.

use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::common::example;
use crate::common::real::{Real, root};

/// Python with a framework takes seconds to start, more on a busy machine.
const START: Duration = Duration::from_secs(120);
/// How often a port that was free may turn out to be taken.
const ATTEMPTS: usize = 5;

/// What a server wrote to its standard output and error so far.
#[derive(Default)]
struct Log {
    text: Mutex<String>,
    more: Condvar,
}

/// A running server, killed when dropped.
pub struct Peer {
    /// The command that listens on the given port; 0 means that the server chooses.
    command: Box<dyn Fn(u16) -> Command + Send + Sync>,
    child: Child,
    port: u16,
    path: &'static str,
    log: Arc<Log>,
}

impl Peer {
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}{}", self.port, self.path)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn entry(&self) -> Value {
        json!({"url": self.url(), "timeout": 60_000})
    }

    /// Waits until the server wrote `text`.
    #[track_caller]
    pub fn wrote(&self, text: &str) {
        assert!(self.log.wait(START, |log| log.contains(text).then_some(())).is_some(), "not written: {text}");
    }

    pub fn log(&self) -> String {
        self.log.text.lock().expect("the log").clone()
    }

    /// Kills the server, without a word.
    pub fn kill(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        self.child.wait().expect("its end");
    }

    /// Starts it again on the port that it had.
    pub fn start_again(&mut self) {
        self.kill();
        self.log = Arc::default();
        self.child = start((self.command)(self.port), &self.log);
        let port = self.log.wait(START, port_in).unwrap_or_else(|| panic!("it did not start again: {}", self.log()));
        assert_eq!(port, self.port);
    }

    fn start(path: &'static str, chooses: bool, command: impl Fn(u16) -> Command + Send + Sync + 'static) -> Peer {
        for _ in 0..ATTEMPTS {
            let asked = if chooses { 0 } else { free_port() };
            let log = Arc::<Log>::default();
            let mut child = start(command(asked), &log);
            let found = log.wait(START, port_in);
            if let Some(port) = found {
                return Peer { command: Box::new(command), child, port, path, log };
            }
            child.kill().expect("a process that can be killed");
            child.wait().expect("its end");
            assert!(!chooses, "it did not start: {}", log.text.lock().expect("the log"));
        }
        panic!("no free port in {ATTEMPTS} attempts");
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Log {
    /// What `find` finds in the log, if it comes in time and before the server's output ends.
    fn wait<T>(&self, bound: Duration, find: impl Fn(&str) -> Option<T>) -> Option<T> {
        let end = Instant::now() + bound;
        let mut text = self.text.lock().expect("the log");
        loop {
            if let Some(found) = find(&text) {
                return Some(found);
            }
            let left = end.checked_duration_since(Instant::now())?;
            if text.ends_with(ENDED) {
                return None;
            }
            text = self.more.wait_timeout(text, left).expect("the log").0;
        }
    }

    fn add(&self, line: &str) {
        self.text.lock().expect("the log").push_str(line);
        self.more.notify_all();
    }
}

/// Stands in the log after the last line.
const ENDED: &str = "(its output ended)\n";

fn start(mut command: Command, log: &Arc<Log>) -> Child {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let pipes: [Box<dyn Read + Send>; 2] =
        [Box::new(child.stdout.take().expect("a pipe")), Box::new(child.stderr.take().expect("a pipe"))];
    let readers = pipes.map(|pipe| {
        let log = log.clone();
        std::thread::spawn(move || {
            let (mut pipe, mut line) = (BufReader::new(pipe), Vec::new());
            while pipe.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
                log.add(&String::from_utf8_lossy(&line));
                line.clear();
            }
        })
    });
    let log = log.clone();
    std::thread::spawn(move || {
        for reader in readers {
            reader.join().expect("its reader");
        }
        log.add(ENDED);
    });
    child
}

/// The port in the line with which a server says that it listens.
fn port_in(log: &str) -> Option<u16> {
    ["running on http://127.0.0.1:", "listening on http://127.0.0.1:", "listening on port ", "running on port "]
        .iter()
        .find_map(|start| {
            let (_, rest) = log.rsplit_once(start)?;
            let (line, _) = rest.split_once('\n')?;
            line.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
        })
}

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    listener.local_addr().expect("its address").port()
}

/// server-everything, in the mode `streamableHttp` or `sse`.
pub fn everything(deps: &Path, mode: &'static str) -> Peer {
    let script = deps.join("npm/node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    Peer::start(if mode == "sse" { "/sse" } else { "/mcp" }, false, move |port| {
        let mut command = Command::new("node");
        command.arg(&script).arg(mode).env("PORT", port.to_string());
        command
    })
}

pub fn python(deps: &Path, venv: &str, script: &str) -> Peer {
    let (python, script) = (deps.join(venv).join("bin/python"), root().join("tests/servers/python").join(script));
    Peer::start("/mcp", true, move |port| {
        let mut command = Command::new(&python);
        // Else what it prints stays in a buffer.
        command.arg(&script).args(["http", &port.to_string()]).env("PYTHONUNBUFFERED", "1");
        command
    })
}

pub fn typescript(options: &'static [&'static str]) -> Peer {
    let script = root().join("tests/servers/npm/srv.mjs");
    Peer::start("/mcp", true, move |port| {
        let mut command = Command::new("node");
        command.arg(&script).args(["--http", &port.to_string()]).args(options);
        command
    })
}

pub fn rust() -> Peer {
    Peer::start("/mcp", true, |port| {
        let mut command = Command::new(example("rmcp-server"));
        command.args(["http", &port.to_string()]);
        command
    })
}

/// A prompt that a server must give: its name, arguments, and what the answer holds.
pub type Prompt = (&'static str, Value, &'static str);

/// A running server and what it must show.
pub struct Remote {
    pub real: Real,
    pub prompt: Option<Prompt>,
    pub peer: Peer,
}

/// All of them, started side by side.
pub fn all(deps: &Path) -> Vec<Remote> {
    type Start<'a> = Box<dyn FnOnce() -> Peer + Send + 'a>;
    let starts: Vec<(&'static str, bool, Start<'_>)> = vec![
        ("everything", false, Box::new(|| everything(deps, "streamableHttp"))),
        ("python-2", true, Box::new(|| python(deps, "py2", "v2srv.py"))),
        ("fastmcp", true, Box::new(|| python(deps, "py2", "fm.py"))),
        ("python-1", false, Box::new(|| python(deps, "py1", "v1srv.py"))),
        ("typescript", true, Box::new(|| typescript(&[]))),
        ("typescript-modern", true, Box::new(|| typescript(&["--modern-only"]))),
        ("rust", true, Box::new(rust)),
    ];
    std::thread::scope(|scope| {
        let started: Vec<_> =
            starts.into_iter().map(|(name, modern, start)| (name, modern, scope.spawn(start))).collect();
        let remote = |(name, modern, peer): (_, _, ScopedJoinHandle<'_, Peer>)| {
            let peer = peer.join().unwrap_or_else(|_| panic!("{name} did not start"));
            let (calls, resource, prompt) = shows(name);
            Remote { real: Real { name, entry: peer.entry(), modern, calls, resource }, prompt, peer }
        };
        started.into_iter().map(remote).collect()
    })
}

type Shows = (Vec<(&'static str, Value, &'static str)>, Option<(&'static str, &'static str)>, Option<Prompt>);

fn shows(name: &str) -> Shows {
    let hello = Some(("fixture://hello", "hello resource"));
    match name {
        "everything" => (
            vec![("echo", json!({"message": "hello é😀"}), "hello é😀"), ("get-sum", json!({"a": 19, "b": 23}), "42")],
            Some(("demo://resource/static/document/features.md", "#")),
            Some(("simple-prompt", json!({}), "prompt")),
        ),
        "rust" => (vec![("echo", json!({"text": "over the SDK"}), "over the SDK")], hello, None),
        _ => (
            vec![("add", json!({"a": 19, "b": 23}), "42")],
            hello,
            Some(("review", json!({"code": "f(x)"}), "Please review this code: f(x)")),
        ),
    }
}
