//! Thousands of failures leave nothing behind.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::common::{Context, hostile, load, until};

/// Each soak alone in a process of its own: the counts are of the whole process.
const ROLE: &str = "TOOLNEXUS_TEST_SOAK";
/// What may come on top after the warm-up: allocators keep some.
const MEMORY: u64 = 16 << 20;
const BOUND: Duration = Duration::from_secs(240);

/// The resident memory of this process in bytes.
pub fn rss() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

fn count(folder: &str) -> usize {
    fs::read_dir(folder).unwrap().count()
}

/// The processes whose parent is this one, zombies included.
fn children() -> usize {
    let own = std::process::id().to_string();
    let parent = |stat: String| stat.rsplit(") ").next()?.split(' ').nth(1).map(str::to_owned);
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| fs::read_to_string(entry.ok()?.path().join("stat")).ok())
        .filter(|stat| parent(stat.clone()).as_deref() == Some(&own))
        .count()
}

#[derive(Debug)]
struct Held {
    fds: usize,
    threads: usize,
    children: usize,
}

fn held() -> Held {
    Held { fds: count("/proc/self/fd"), threads: count("/proc/self/task"), children: children() }
}

impl Held {
    /// A thread that has ended stands in `/proc` for a moment longer, so that the count before may have had some on top.
    fn at_most(&self, before: &Held) -> bool {
        self.fds <= before.fds && self.threads <= before.threads && self.children <= before.children
    }
}

/// Repeats what must not cost memory. A leak grows each time, what the allocator keeps for many threads does not.
fn costs_no_memory(what: &str, mut run: impl FnMut()) {
    let mut grown = Vec::new();
    while grown.len() < 3 && grown.last().is_none_or(|grown| *grown >= MEMORY >> 10) {
        let memory = rss();
        run();
        grown.push(rss().saturating_sub(memory) >> 10);
    }
    println!("{what}: {grown:?} KiB more");
    assert!(grown.last().is_some_and(|grown| *grown < MEMORY >> 10), "{what}: {grown:?} KiB more");
}

/// Runs the test of this name again, alone in a process. True: this is that process.
pub fn alone(test: &str) -> bool {
    if std::env::var_os(ROLE).is_some() {
        return true;
    }
    let mut child = std::process::Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .env(ROLE, "1")
        .spawn()
        .unwrap();
    let end = Instant::now() + BOUND;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success(), "{test}: {status}");
            return false;
        }
        if Instant::now() > end {
            let _ = child.kill();
            panic!("{test} took longer than {BOUND:?}");
        }
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn ten_thousand_timed_out_calls_leave_nothing() {
    if !alone("soak::ten_thousand_timed_out_calls_leave_nothing") {
        return;
    }
    let loaded = load(json!({
        "m": hostile("never-answers", &["--era", "modern"]), "l": hostile("never-answers", &["--era", "legacy"])
    }));
    let tools = [loaded.tool("m_odd"), loaded.tool("l_odd")];
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
                        tools[at as usize % 2]
                            .call("{}", Some(&context))
                            .failed("TN_E_TIMEOUT", &["no answer for 1 ms"]);
                    }
                });
            }
        });
        // What is still queued for the servers is part of the cost, and gone when they have read it.
        for server in ["m", "l"] {
            assert_eq!(loaded.call(&format!("{server}_echo"), json!({"text": "x"})).ok(), "x");
        }
    };
    calls(1_000);
    let before = held();
    costs_no_memory("10,000 timed-out calls", || calls(10_000));
    until("threads and pipes as before", || held().at_most(&before));
}

#[test]
fn a_thousand_crashes_and_restarts_leave_nothing() {
    if !alone("soak::a_thousand_crashes_and_restarts_leave_nothing") {
        return;
    }
    let mut servers = json!({});
    for number in 0..4 {
        let mut entry = hostile("crash-mid-call", &["--era", crate::ERAS[number % 2]]);
        entry["restart"] = json!({"max": 1_000_000, "backoffMs": 0});
        servers[format!("s{number}")] = entry;
    }
    let loaded = load(servers);
    let cycles = |each: u32| {
        thread::scope(|scope| {
            for number in 0..4 {
                let tool = loaded.tool(&format!("s{number}_odd"));
                scope.spawn(move || {
                    for _ in 0..each {
                        tool.call("{}", None).failed("TN_E_TRANSPORT", &["exit status 3"]);
                    }
                });
            }
        });
        for number in 0..4 {
            assert_eq!(loaded.call(&format!("s{number}_echo"), json!({"text": "x"})).ok(), "x");
        }
    };
    cycles(25);
    let before = held();
    costs_no_memory("1,000 crashes and restarts", || cycles(250));
    until("fds, threads and processes as before", || held().at_most(&before));
    loaded.close().ok();
    drop(loaded);
    until("no child is left", || children() == 0);
    assert!(Path::new("/proc/self").exists());
}

#[test]
fn an_endless_line_costs_bounded_memory() {
    if !alone("soak::an_endless_line_costs_bounded_memory") {
        return;
    }
    let limit = 8 << 20;
    let quiet = load(json!({"s": hostile("ordinary", &[])}));
    quiet.call("s_echo", json!({"text": "warm"})).ok();
    let before = rss();
    let peak = AtomicU32::new(0);
    thread::scope(|scope| {
        let loading = scope.spawn(|| {
            let options = json!({"maxMessageBytes": limit});
            let mut entry = hostile("endless-line", &[]);
            entry["timeout"] = json!(2_000);
            crate::common::load_with(json!({"s": entry}), &options)
        });
        while !loading.is_finished() {
            peak.fetch_max((rss().saturating_sub(before) >> 20) as u32, Ordering::Relaxed);
            thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(loading.join().unwrap().server("s")["status"], "failed");
    });
    let peak = peak.into_inner();
    println!("an endless line: {peak} MiB more with a limit of {} MiB", limit >> 20);
    assert!(u64::from(peak) < 4 * (limit >> 20), "{peak} MiB more");
}
