//! Local servers as processes: started, watched, ended, and never left behind.
//!
//! Each server leads a session, and so a process group, of its own. Wherever a group ends, it is swept with `SIGKILL`
//! *before* its leader is reaped: until then its id cannot belong to anyone else.
//!
//! | room | what is in it |
//! |---|---|
//! | `spawn` | starts a server and hands out its pipes |
//! | `lookup` | which files a command may mean, and what to say when none can be run |
//! | `child` | what happens between `clone` and `exec` |
//! | `watch` | learns that a leader ended, sweeps, reaps |
//! | `group` | the live groups, and the only calls that signal them |
//! | `exit` | how a process ended |
//! | `end` | the steps of a polite end |
//! | `guardian` | the helper process that sweeps when the host is killed |
//! | `fds` | the descriptors that a forked child of the host must not keep |
//! | `memory` | room for large messages in huge pages |
//! | `slots` | the table of numbers behind `fds` and `group`, readable without a lock |

mod child;
mod end;
mod exit;
pub mod fds;
mod group;
mod guardian;
mod lookup;
pub mod memory;
mod slots;
mod spawn;
mod watch;

pub use end::Process;
pub use exit::Exit;
pub use fds::PipeEnd;
pub use group::kill_all;
pub use guardian::guardian_running;
pub use spawn::{Spawned, Spec, spawn};
