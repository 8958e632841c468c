//! What a host knows about servers.
//!
//! - `source`: all servers of a config together.
//! - `server`: one server, from its start to its close, and its restarts.
//! - `handshake`: which era, which revision.
//! - `phase`: the time that a phase of loading may take.
//! - `host`: what servers ask of the host; `form`: whether an answer fits.
//! - `inbound`: what a server sends by itself; `live`: changed lists and subscriptions.
//! - `input`: requests that are answered with questions first, and tasks.
//! - `call`: one call of a tool; `cache`: answers that may be used again.
//! - `request`: any request of the host's.
//! - `resources`: the two resource tools.
//! - `skills`: one verified read of a skill's file; `frontmatter`: what SKILL.md begins with.
//! - `rpc`: errors and incomplete results.
//! - `names`: under which name a host sees a tool.
//! - `tool`: one tool as its server listed it.
//! - `list`: pages of tools and resources, item by item.
//! - `content`: what a result says; `output`: whether that is what the tool promised.
//! - `report`: what went wrong on the way, in bounded space.
#![forbid(unsafe_code)]

pub mod cache;
pub mod call;
pub mod content;
pub mod form;
pub mod frontmatter;
pub mod handshake;
pub mod host;
pub mod inbound;
pub mod input;
pub mod list;
pub mod live;
pub mod names;
pub mod output;
pub mod phase;
pub mod report;
pub mod request;
pub mod resources;
pub mod rpc;
pub mod server;
pub mod skills;
pub mod source;
pub mod tool;
