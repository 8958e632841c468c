//! Thousands of failures leave nothing behind.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use serde_json::json;

use crate::common::{Context, hostile, load, until};
use crate::measure::{alone, children, costs_no_memory, held, peak};

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
    let (peak, loaded) = peak(|| {
        let options = json!({"maxMessageBytes": limit});
        let mut entry = hostile("endless-line", &[]);
        entry["timeout"] = json!(2_000);
        crate::common::load_with(json!({"s": entry}), &options)
    });
    assert_eq!(loaded.server("s")["status"], "failed");
    println!("an endless line: {} MiB more with a limit of {} MiB", peak >> 20, limit >> 20);
    assert!(peak < 4 * limit, "{} MiB more", peak >> 20);
}
