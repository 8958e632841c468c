//! Thousands of failures, and bytes without end, leave nothing behind. The servers are processes of their own here: only what
//! the library costs is measured.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use serde_json::{Value, json};

use crate::common::{Context, GENEROUS, example, load, load_with, until};
use crate::measure::{alone, costs_no_memory, held, peak};

/// A server in a process of its own, which ends with this.
struct Process {
    child: Child,
    url: String,
}

impl Process {
    fn start(behaviour: &str, options: &[&str]) -> Process {
        let mut child = Command::new(example("hostile-http-server"))
            .arg(behaviour)
            .args(options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server");
        let mut url = String::new();
        BufReader::new(child.stdout.take().expect("its output")).read_line(&mut url).expect("its URL");
        Process { child, url: url.trim().to_owned() }
    }

    fn entry(&self) -> Value {
        json!({"url": self.url, "timeout": GENEROUS})
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn thousands_of_calls_that_time_out_leave_nothing() {
    if !alone("soak::thousands_of_calls_that_time_out_leave_nothing") {
        return;
    }
    let servers: Vec<Process> = [("legacy", "json"), ("legacy", "sse"), ("modern", "json"), ("modern", "sse")]
        .iter()
        .map(|(era, reply)| Process::start("never-answers", &["--era", era, "--reply", reply]))
        .collect();
    let entry = |number: usize| servers[number].entry();
    let loaded = load(json!({"s0": entry(0), "s1": entry(1), "s2": entry(2), "s3": entry(3)}));
    let tools: Vec<_> = (0..4).map(|number| loaded.tool(&format!("s{number}_odd"))).collect();
    let calls = |number: u32| {
        let done = AtomicU32::new(0);
        thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| {
                    let context = Context::idle(1);
                    loop {
                        let at = done.fetch_add(1, Ordering::Relaxed);
                        if at >= number {
                            break;
                        }
                        tools[at as usize % 4]
                            .call("{}", Some(&context))
                            .failed("TN_E_TIMEOUT", &["no answer for 1 ms"]);
                    }
                });
            }
        });
        for number in 0..4 {
            assert_eq!(loaded.call(&format!("s{number}_echo"), json!({"text": "x"})).ok(), "x");
        }
    };
    calls(400);
    let before = held();
    costs_no_memory("2,000 timed-out calls", || calls(2_000));
    until("threads and sockets as before", || held().at_most(&before));
}

#[test]
fn bytes_without_end_cost_bounded_memory() {
    if !alone("soak::bytes_without_end_cost_bounded_memory") {
        return;
    }
    let limit: u64 = 8 << 20;
    for behaviour in [
        "gzip-bomb",
        "body-endless",
        "endless-reply",
        "garbage-forever",
        "header-endless",
        "sse-endless-event",
        "sse-endless-comment",
        "length-huge",
    ] {
        let server = Process::start(behaviour, &["--reply", "json"]);
        let loaded = load_with(json!({"s": server.entry()}), &json!({"maxMessageBytes": limit}));
        loaded.call("s_echo", json!({"text": "warm"})).ok();
        let (peak, done) = peak(|| loaded.call_with("s_odd", json!({}), &Context::idle(2_000)));
        assert!(done.is_error, "{behaviour}: {done:?}");
        println!("{behaviour}: {} MiB more with a limit of {} MiB", peak >> 20, limit >> 20);
        assert!(peak < 4 * limit, "{behaviour}: {} MiB more", peak >> 20);
        assert_eq!(loaded.call("s_echo", json!({"text": "x"})).ok(), "x");
    }
}
