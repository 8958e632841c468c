//! A remote server that misbehaves: an ordinary MCP server over HTTP/1.1 (both eras, sessions, JSON and SSE replies, GET
//! streams, DELETE) with one fault, which a [`Behaviour`] describes. HTTP is written by hand here, because a fault may be
//! of any byte.
//!
//! The faults of HTTP stand in a table of their theme, one entry each:
//!
//! - `statuses.rs`: answers that are whole, but wrong: status, type, body, challenges, redirects
//! - `bytes.rs`: what happens below: resets, cuts, stalls, compression, odd framing
//! - `streams.rs`: SSE replies, their end and resumption; the GET stream; subscriptions
//! - `sessions.rs`: sessions, notifications
//! - `modern.rs`: headers and errors of 2026-07-28
//!
//! Faults of messages are not written again: each name of the stdio server's tables (`../hostile`) works here too, in
//! JSON bodies and in SSE events (`engine.rs`).
//!
//! A test has such a server in its own process: [`Server::start`].

mod bytes;
mod engine;
pub mod http;
mod modern;
mod plain;
mod sessions;
mod site;
mod statuses;
#[allow(dead_code, reason = "a process of its own has more of it")]
pub mod stdio;
mod streams;

pub use site::Server;

use std::io;

use http::Exchange;

/// One way to misbehave. What is not given is as in [`PLAIN`].
#[derive(Clone, Copy)]
pub struct Behaviour {
    pub name: &'static str,
    pub about: &'static str,
    /// `both`, `legacy` or `modern`.
    pub era: &'static str,
    /// Which requests `on` is asked about: those whose message has this method, `handshake` for the first of either era,
    /// `GET`, `DELETE`, or "" for all. Of calls, only those of tools that are not common to all servers.
    pub at: &'static str,
    /// What the messages are like.
    pub inner: &'static stdio::server::Behaviour,
    pub on: fn(&mut Exchange) -> io::Result<Turn>,
    /// What a GET with `Last-Event-ID` meets.
    pub resume: Option<fn(&mut Exchange) -> io::Result<Turn>>,
    /// For [`canned`].
    pub says: Canned,
}

pub const PLAIN: Behaviour = Behaviour {
    name: "ordinary",
    about: "does nothing wrong",
    era: "both",
    at: "tools/call",
    inner: &stdio::server::PLAIN,
    on: |_| Ok(Turn::Ordinary),
    resume: None,
    says: Canned { status: "", headers: "", body: "" },
};

/// What becomes of a request, and of its connection.
pub enum Turn {
    /// The ordinary answer.
    Ordinary,
    /// It was answered; the connection can be used again.
    Keep,
    /// The connection is closed.
    Close,
    /// The connection is reset.
    Reset,
}

/// A whole answer. `{id}` in it is the message's id, `{origin}` the server's own, `{to}` the option of that name.
#[derive(Clone, Copy)]
pub struct Canned {
    pub status: &'static str,
    /// Lines, each with its CR LF.
    pub headers: &'static str,
    pub body: &'static str,
}

/// A behaviour that answers with the same words always.
const fn canned(
    name: &'static str,
    about: &'static str,
    status: &'static str,
    headers: &'static str,
    body: &'static str,
) -> Behaviour {
    Behaviour {
        name,
        about,
        on: |exchange| exchange.answer(&exchange.canned()),
        says: Canned { status, headers, body },
        ..PLAIN
    }
}

/// A behaviour with a hook of its own.
const fn hook(name: &'static str, about: &'static str, on: fn(&mut Exchange) -> io::Result<Turn>) -> Behaviour {
    Behaviour { name, about, on, ..PLAIN }
}

impl Behaviour {
    const fn at(self, at: &'static str) -> Behaviour {
        Behaviour { at, ..self }
    }

    const fn legacy(self) -> Behaviour {
        Behaviour { era: "legacy", ..self }
    }

    const fn modern(self) -> Behaviour {
        Behaviour { era: "modern", ..self }
    }

    /// With messages of another kind than the ordinary ones.
    const fn with(self, inner: &'static stdio::server::Behaviour) -> Behaviour {
        Behaviour { inner, ..self }
    }
}

pub fn table() -> impl Iterator<Item = Behaviour> {
    let own = [statuses::TABLE, bytes::TABLE, streams::TABLE, sessions::TABLE, modern::TABLE].into_iter().flatten();
    let of_messages =
        stdio::table().map(|inner| Behaviour { name: inner.name, about: inner.about, era: inner.era, inner, ..PLAIN });
    own.copied().chain(of_messages)
}
