//! The stdio server as one conversation over HTTP: what it writes, line by line, goes to the stream of the request that it
//! answers or belongs to.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Weak};
use std::thread;

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::stdio::server::{Behaviour, Crash, Server, write_to};

/// A line that grows longer is passed on in parts.
const LONG: usize = 256 * 1024;

/// So many lines are kept for a stream that is not open.
const UNHEARD: usize = 100;

pub enum Piece {
    Line(Vec<u8>),
    /// Of a line that is too long to be held.
    Part(Vec<u8>),
    EndOfParts,
    /// The server has done with the request, for now.
    Quiet,
}

pub struct Engine {
    server: Mutex<Server>,
    started: AtomicBool,
    /// What is no reply goes to the GET stream.
    aside: bool,
    routes: Mutex<Routes>,
}

#[derive(Default)]
struct Routes {
    /// Requests that are open, by their ids, in their order.
    open: Vec<(Value, SyncSender<Piece>)>,
    /// The one that is being looked at.
    current: Option<Value>,
    standalone: Option<SyncSender<Piece>>,
    /// What was to go there while it was not open.
    unheard: Vec<Vec<u8>>,
    line: Vec<u8>,
    /// Where the line goes that is passed on in parts.
    in_parts: Option<SyncSender<Piece>>,
}

/// The client is gone: there is nothing left to do for the thread that writes.
struct Gone;

impl Engine {
    pub fn new(behaviour: &'static Behaviour, options: &HashMap<String, String>) -> Arc<Engine> {
        Arc::new(Engine {
            server: Mutex::new(Server::new(behaviour, options.clone())),
            started: AtomicBool::new(false),
            aside: options.get("--aside").is_some_and(|aside| aside == "get"),
            routes: Mutex::default(),
        })
    }

    /// Gives the server a request; what belongs to it comes out of the channel.
    pub fn request(self: &Arc<Engine>, id: &Value, message: String) -> Receiver<Piece> {
        let (sender, receiver) = sync_channel(64);
        self.routes.lock().open.push((id.clone(), sender.clone()));
        self.receive(Some((id.clone(), sender)), message);
        receiver
    }

    /// Gives the server a notification or a response.
    pub fn tell(self: &Arc<Engine>, message: String) {
        self.receive(None, message);
    }

    /// The stream for what belongs to no request.
    pub fn standalone(&self) -> Receiver<Piece> {
        let mut routes = self.routes.lock();
        let unheard = std::mem::take(&mut routes.unheard);
        let (sender, receiver) = sync_channel(unheard.len() + 64);
        for line in unheard {
            let _ = sender.send(Piece::Line(line));
        }
        routes.standalone = Some(sender);
        receiver
    }

    /// The stream of this request was closed by the client, which is how 2026-07-28 cancels. The stdio server knows it
    /// as a notification.
    pub fn cancelled(self: &Arc<Engine>, id: &Value) {
        self.close(id);
        let params = json!({"requestId": id});
        self.tell(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}).to_string());
    }

    /// Nobody listens to that request's stream any more.
    pub fn close(&self, id: &Value) {
        self.routes.lock().open.retain(|(open, _)| open != id);
    }

    /// On a thread of its own: a behaviour may take its time, or for ever.
    fn receive(self: &Arc<Engine>, route: Option<(Value, SyncSender<Piece>)>, message: String) {
        let engine = self.clone();
        thread::spawn(move || {
            let mut server = engine.server.lock();
            let (id, sender) = route.unzip();
            engine.routes.lock().current = id;
            let to: Weak<Engine> = Arc::downgrade(&engine);
            write_to(Arc::new(move |bytes| {
                if let Some(engine) = to.upgrade() {
                    engine.write(bytes);
                }
            }));
            let worked = catch_unwind(AssertUnwindSafe(|| {
                if !engine.started.swap(true, Ordering::Relaxed) {
                    server.start();
                }
                server.receive(&message);
            }));
            match (worked, sender) {
                (Ok(()), Some(sender)) => {
                    let _ = sender.send(Piece::Quiet);
                }
                (Err(why), _) if why.is::<Crash>() => {
                    // A process would have ended, and all its connections with it.
                    let mut routes = engine.routes.lock();
                    routes.open.clear();
                    routes.standalone = None;
                }
                _ => {}
            }
        });
    }

    fn write(&self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let (part, after) = rest.split_at(memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1));
            rest = after;
            let mut routes = self.routes.lock();
            let ends = part.last() == Some(&b'\n');
            routes.line.extend_from_slice(if ends { &part[..part.len() - 1] } else { part });
            if !ends && routes.line.len() < LONG {
                continue;
            }
            let line = std::mem::take(&mut routes.line);
            let whole = ends && routes.in_parts.is_none();
            let to = match routes.in_parts.take() {
                Some(to) => Some(to),
                None if whole => routes.of(&line, self.aside),
                None => routes.current(),
            };
            let Some(to) = to else {
                if whole && routes.unheard.len() < UNHEARD {
                    routes.unheard.push(line);
                }
                continue;
            };
            if !ends {
                routes.in_parts = Some(to.clone());
            }
            drop(routes);
            let mut sent = to.send(if whole { Piece::Line(line) } else { Piece::Part(line) });
            if ends && !whole {
                sent = sent.and_then(|()| to.send(Piece::EndOfParts));
            }
            if sent.is_err() {
                let mut routes = self.routes.lock();
                (routes.line, routes.in_parts) = (Vec::new(), None);
                drop(routes);
                resume_unwind(Box::new(Gone));
            }
        }
    }
}

impl Routes {
    /// Where a whole line goes. A reply ends its request's route.
    fn of(&mut self, line: &[u8], aside: bool) -> Option<SyncSender<Piece>> {
        let value: Value = serde_json::from_slice(line).unwrap_or_default();
        let by_id = |id: &Value| self.open.iter().position(|(open, _)| open == id);
        if value.get("method").is_none() {
            if let Some(at) = by_id(&value["id"]) {
                return Some(self.open.remove(at).1);
            }
            return self.current();
        }
        let params = &value["params"];
        let owner = by_id(&params["_meta"]["io.modelcontextprotocol/subscriptionId"])
            .or_else(|| by_id(&params["progressToken"]))
            .or_else(|| by_id(&params["requestId"]));
        match owner.and_then(|at| self.open.get(at)) {
            Some((_, owner)) => Some(owner.clone()),
            None if aside && self.standalone.is_some() => self.standalone.clone(),
            None => self.current(),
        }
    }

    fn current(&self) -> Option<SyncSender<Piece>> {
        let is_current = |(id, _): &&(Value, SyncSender<Piece>)| Some(id) == self.current.as_ref();
        let route = self.open.iter().find(is_current).or_else(|| self.open.last());
        route.map(|(_, sender)| sender.clone()).or_else(|| self.standalone.clone())
    }
}
