// The tests that do not depend on how messages travel, for tests/remote_json and tests/remote_sse, which include this file and say
// how the servers answer (`REPLY`).

#[path = "../common/mod.rs"]
mod host;
#[allow(dead_code, reason = "tests over stdio use the rest")]
#[path = "../host_side/support.rs"]
mod host_with_queues;
#[allow(dead_code, reason = "tests/remote and the program of the same name use the rest")]
#[path = "../servers/hostile_http/mod.rs"]
mod hostile_http;

#[path = "../remote/over_http.rs"]
mod common;
#[allow(dead_code, reason = "tests over stdio use the rest")]
#[path = "../hostile/kit.rs"]
mod kit;
#[path = "../remote/support_over_http.rs"]
mod support;

#[path = "../host_side/announced.rs"]
mod announced;
#[path = "../host_side/answers.rs"]
mod answers;
#[path = "../host_side/clocks.rs"]
mod clocks;
#[path = "../hostile/envelopes.rs"]
mod envelopes;
#[path = "../hostile/input.rs"]
mod input;
#[path = "../hostile/lists.rs"]
mod lists;
#[path = "../host_side/live.rs"]
mod live;
#[path = "../hostile/odd_results.rs"]
mod odd_results;
#[path = "../host_side/races.rs"]
mod races;
#[path = "../hostile/raw_requests.rs"]
mod raw_requests;
#[path = "../host_side/rounds.rs"]
mod rounds;
#[path = "../hostile/talk.rs"]
mod talk;
#[path = "../host_side/tasks.rs"]
mod tasks;
#[path = "../hostile/verdicts.rs"]
mod verdicts;

use kit::*;
