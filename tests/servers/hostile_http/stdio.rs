//! The stdio server's ordinary ways and tables of faults; all that are not about its process.

#[path = "../hostile/calls.rs"]
mod calls;
#[path = "../hostile/framing.rs"]
mod framing;
#[path = "../hostile/host.rs"]
mod host;
#[path = "../hostile/lifecycle.rs"]
mod lifecycle;
#[path = "../hostile/lists.rs"]
mod lists;
#[path = "../hostile/server.rs"]
pub mod server;

pub fn table() -> impl Iterator<Item = &'static server::Behaviour> {
    [framing::TABLE, lifecycle::TABLE, lists::TABLE, calls::TABLE, host::TABLE].into_iter().flatten()
}
