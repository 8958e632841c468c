//! What a session runs over: a process of ours, or a server elsewhere.
#![forbid(unsafe_code)]

use crate::outcome::Failure;
use crate::wire::http::Remote;
use crate::wire::stdio::Local;

#[derive(Debug)]
pub enum Link {
    Local(Local),
    Remote(Remote),
}

impl Link {
    /// Ends the session with `failure` and waits until nothing of it is left.
    pub async fn end(&self, failure: Failure) {
        match self {
            Link::Local(local) => local.end(failure).await,
            Link::Remote(remote) => remote.end(failure).await,
        }
    }

    /// Ends the session at once.
    pub fn kill(&self, failure: Failure) {
        match self {
            Link::Local(local) => local.kill(failure),
            Link::Remote(remote) => remote.kill(failure),
        }
    }

    /// Waits until nothing of the session is left.
    pub async fn gone(&self) {
        match self {
            Link::Local(local) => local.gone().await,
            Link::Remote(remote) => remote.gone().await,
        }
    }

    /// The last lines of the server's standard error, secrets masked. A remote server shows none.
    pub fn stderr(&self) -> String {
        match self {
            Link::Local(local) => local.stderr(),
            Link::Remote(_) => String::new(),
        }
    }

    pub fn remote(&self) -> Option<&Remote> {
        match self {
            Link::Local(_) => None,
            Link::Remote(remote) => Some(remote),
        }
    }

    /// True if the server does not know the session any more.
    pub fn is_lost(&self) -> bool {
        self.remote().is_some_and(Remote::is_lost)
    }
}
