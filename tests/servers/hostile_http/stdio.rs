//! The stdio server's ordinary ways and tables of faults; all that are not about its process.

#[path = "../hostile/calls.rs"]
mod calls;
#[path = "../hostile/framing.rs"]
mod framing;
#[path = "../hostile/hints.rs"]
mod hints;
#[path = "../hostile/host.rs"]
mod host;
#[path = "../hostile/lifecycle.rs"]
mod lifecycle;
#[path = "../hostile/lists.rs"]
mod lists;
#[path = "../hostile/outputs.rs"]
mod outputs;
#[path = "../hostile/plain.rs"]
mod plain;
#[path = "../hostile/server.rs"]
pub mod server;

pub fn table() -> impl Iterator<Item = &'static server::Behaviour> {
    let themes = [
        framing::TABLE,
        lifecycle::TABLE,
        lists::TABLE,
        outputs::TABLE,
        hints::TABLE,
        calls::TABLE,
        host::TABLE,
        plain::TABLE,
    ];
    themes.into_iter().flatten()
}
