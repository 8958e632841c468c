//! What this process holds, and tests that need a process of their own to measure it.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

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
pub fn children() -> usize {
    let own = std::process::id().to_string();
    let parent = |stat: String| stat.rsplit(") ").next()?.split(' ').nth(1).map(str::to_owned);
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| fs::read_to_string(entry.ok()?.path().join("stat")).ok())
        .filter(|stat| parent(stat.clone()).as_deref() == Some(&own))
        .count()
}

#[derive(Debug)]
pub struct Held {
    fds: usize,
    threads: usize,
    children: usize,
}

pub fn held() -> Held {
    Held { fds: count("/proc/self/fd"), threads: count("/proc/self/task"), children: children() }
}

impl Held {
    /// A thread that has ended stands in `/proc` for a moment longer, so that the count before may have had some on top.
    pub fn at_most(&self, before: &Held) -> bool {
        self.fds <= before.fds && self.threads <= before.threads && self.children <= before.children
    }
}

/// Repeats what must not cost memory. A leak grows each time, what the allocator keeps for many threads does not.
pub fn costs_no_memory(what: &str, mut run: impl FnMut()) {
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

/// How many bytes of memory more than before this process had at most while `work` ran, and what it gave.
pub fn peak<T: Send>(work: impl FnOnce() -> T + Send) -> (u64, T) {
    let before = rss();
    let mut peak = 0;
    thread::scope(|scope| {
        let work = scope.spawn(work);
        while !work.is_finished() {
            peak = peak.max(rss().saturating_sub(before));
            thread::sleep(Duration::from_millis(5));
        }
        (peak, work.join().expect("no panic"))
    })
}
