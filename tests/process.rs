//! Local servers as processes. Linux: the tests look into `/proc`.
//!
//! What concerns a whole host runs in a host of its own: this program again, with the role in `TOOLNEXUS_TEST_ROLE`.
#![cfg(target_os = "linux")]
#![expect(clippy::undocumented_unsafe_blocks, reason = "plain system calls on what the test itself made")]

use std::future::Future;
use std::io::Read;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use toolnexus::outcome::{Failure, Status};
use toolnexus::process::{Exit, Spawned, Spec, guardian_running, spawn};
use toolnexus::runtime;

/// No wait of a test is longer. Generous, for a busy machine and for valgrind.
const BOUND: Duration = Duration::from_secs(60);
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

// ---- help ----

/// Runs a future on the I/O thread and waits for it.
fn run<F>(future: F) -> F::Output
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let (sender, receiver) = mpsc::channel();
    runtime::get().expect("the runtime").spawn(async move {
        let _ = sender.send(future.await);
    });
    receiver.recv_timeout(BOUND).expect("the future ends in time")
}

fn spec(argv: &[&str]) -> Spec {
    Spec {
        argv: argv.iter().map(|arg| (*arg).to_owned()).collect(),
        env: vec![("PATH".to_owned(), PATH.to_owned())],
        cwd: None,
    }
}

fn sh(script: &str) -> Spec {
    spec(&["sh", "-c", script])
}

fn started(spec: Spec) -> Spawned {
    run(spawn(spec)).expect("it starts")
}

fn refused(spec: Spec) -> String {
    let failure: Failure = run(spawn(spec)).expect_err("it must not start");
    assert_eq!(failure.status, Status::Spawn);
    failure.message
}

fn exit_of(spawned: &Spawned) -> Exit {
    let process = spawned.process.clone();
    run(async move { process.exited().await })
}

/// Closes stdin and goes through the steps. Returns how long they took.
fn end(spawned: Spawned) -> Duration {
    let Spawned { stdin, process, stdout, stderr } = spawned;
    let start = Instant::now();
    drop(stdin);
    run(async move { process.end().await });
    drop((stdout, stderr));
    start.elapsed()
}

/// Reads until `enough` says so or the end.
fn read_until(fd: &OwnedFd, mut enough: impl FnMut(&str) -> bool) -> String {
    let mut text = String::new();
    let until = Instant::now() + BOUND;
    let mut file = std::fs::File::from(fd.try_clone().expect("a copy"));
    while Instant::now() < until {
        let mut buffer = [0; 4096];
        match file.read(&mut buffer) {
            Ok(0) => return text,
            Ok(count) => text.push_str(&String::from_utf8_lossy(&buffer[..count])),
            Err(_) => {
                let mut poll = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
                unsafe { libc::poll(&mut poll, 1, 1000) };
            }
        }
        if enough(&text) {
            return text;
        }
    }
    panic!("nothing more came after {text:?}");
}

fn output(spec: Spec) -> String {
    let spawned = started(spec);
    let text = read_until(&spawned.stdout, |_| false);
    assert_eq!(exit_of(&spawned), Exit::Code(0), "{}", read_until(&spawned.stderr, |_| false));
    end(spawned);
    text
}

fn line(spawned: &Spawned) -> String {
    read_until(&spawned.stdout, |text| text.ends_with('\n')).trim().to_owned()
}

fn eventually(what: &str, mut is: impl FnMut() -> bool) {
    let until = Instant::now() + BOUND;
    while !is() {
        assert!(Instant::now() < until, "{what}: still not so");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// True while the process exists and is no zombie.
fn runs(pid: i32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    !stat.rsplit(')').next().unwrap_or("").trim_start().starts_with(['Z', 'X'])
}

fn exists(pid: i32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

/// The guardian of the host `pid`.
fn guardian_of(pid: u32) -> Option<i32> {
    std::fs::read_dir("/proc").ok()?.flatten().find_map(|entry| {
        let id = entry.file_name().to_str()?.parse().ok()?;
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line);
        line.ends_with(&format!("\0toolnexus-guardian\0{pid}\0")).then_some(id)
    })
}

/// The guardian of this host, which was just started: the kernel lets the parent go on a moment before a program's
/// command line is there.
fn guardian() -> i32 {
    let mut found = None;
    eventually("a guardian is there", || {
        found = guardian_of(std::process::id());
        found.is_some()
    });
    found.expect("found")
}

fn folder(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("process-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&path).expect("a folder");
    path
}

fn script(path: &Path, text: &str, mode: u32) {
    std::fs::write(path, text).expect("a file");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("a mode");
}

fn fds_of(pid: i32) -> Vec<String> {
    let list = std::fs::read_dir(format!("/proc/{pid}/fd")).expect("a list").flatten();
    let mut fds: Vec<String> = list.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    fds.sort();
    fds
}

fn open_fds() -> Vec<(RawFd, String)> {
    let mut fds: Vec<(RawFd, String)> = std::fs::read_dir("/proc/self/fd")
        .expect("the list")
        .flatten()
        .filter_map(|entry| {
            let target = std::fs::read_link(entry.path()).ok()?.display().to_string();
            Some((entry.file_name().to_str()?.parse().ok()?, target))
        })
        .filter(|(_, target)| !target.contains("/fd"))
        .collect();
    fds.sort();
    fds
}

// ---- how it ends ----

#[test]
fn the_exit_code_is_told() {
    let spawned = started(sh("exit 7"));
    assert_eq!(exit_of(&spawned), Exit::Code(7));
    assert_eq!(exit_of(&spawned), Exit::Code(7), "a second waiter");
    assert!(!exists(spawned.process.pid()), "the leader is reaped");
}

#[test]
fn the_signal_is_told() {
    assert_eq!(exit_of(&started(sh("kill -TERM $$"))), Exit::Signal(libc::SIGTERM));
}

#[test]
fn a_waiter_may_give_up() {
    let spawned = started(spec(&["cat"]));
    let process = spawned.process.clone();
    let waited = run(async move { tokio::time::timeout(Duration::from_millis(20), process.exited()).await.is_ok() });
    assert!(!waited);
    drop(spawned.stdin);
    let process = spawned.process.clone();
    assert_eq!(run(async move { process.exited().await }), Exit::Code(0));
}

// ---- what cannot be started ----

#[test]
fn an_unknown_command_names_the_path() {
    let message = refused(spec(&["no-such-command-7f3a"]));
    assert!(message.contains("no-such-command-7f3a was not found") && message.contains(PATH), "{message}");
    let message = refused(Spec { env: Vec::new(), ..spec(&["no-such-command-7f3a"]) });
    assert!(message.contains("has no PATH"), "{message}");
    let message = refused(spec(&["/no/such/file"]));
    assert!(message.contains("there is no file /no/such/file"), "{message}");
    let message = refused(spec(&["./no-such-file"]));
    assert!(message.contains("relative"), "{message}");
}

#[test]
fn a_missing_cwd_is_named() {
    let message = refused(Spec { cwd: Some("/no/such/folder".into()), ..spec(&["true"]) });
    assert!(message.contains("/no/such/folder") && message.contains("does not exist"), "{message}");
    let message = refused(Spec { cwd: Some("/etc/passwd".into()), ..spec(&["true"]) });
    assert!(message.contains("is not a directory"), "{message}");
}

#[test]
fn what_is_no_program_is_said() {
    let folder = folder("programs");
    script(&folder.join("plain"), "echo hello\n", 0o755);
    script(&folder.join("closed"), "#!/bin/sh\n", 0o644);
    script(&folder.join("lost"), "#!/no/such/interpreter\n", 0o755);
    let at = |name: &str| spec(&[folder.join(name).to_str().expect("UTF-8")]);
    let message = refused(at("plain"));
    assert!(message.contains("#!"), "{message}");
    let message = refused(at("closed"));
    assert!(message.contains("chmod +x"), "{message}");
    let message = refused(at("lost"));
    assert!(message.contains("first line of the script"), "{message}");
    let message = refused(at("."));
    assert!(message.contains("is a directory"), "{message}");
    // As execvp: a file that may not be executed is passed over, and named if nothing else is found.
    let path = |rest: &str| vec![("PATH".to_owned(), format!("{}{rest}", folder.display()))];
    let message = refused(Spec { env: path(":/bin"), ..spec(&["closed"]) });
    assert!(message.contains("closed may not be executed"), "{message}");
    script(&folder.join("true"), "#!/bin/sh\n", 0o644);
    assert_eq!(exit_of(&started(Spec { env: path(":/bin"), ..spec(&["true"]) })), Exit::Code(0));
    std::fs::remove_dir_all(folder).expect("cleaned");
}

#[test]
fn bad_words_are_refused() {
    assert!(refused(spec(&[])).contains("no command"));
    assert!(refused(spec(&[""])).contains("no command"));
    assert!(refused(spec(&["true", "a\0b"])).contains("argument 1 of true has a NUL"));
    let message = refused(spec(&["true", &"x".repeat(4 << 20)]));
    assert!(message.contains("shorten"), "{message}");
}

// ---- what the child gets ----

#[test]
fn the_command_is_looked_up_in_its_own_path() {
    let folder = folder("path");
    script(&folder.join("toolnexus-only-here"), "#!/bin/sh\necho here\n", 0o755);
    let env = vec![("PATH".to_owned(), format!("/no/such:{}:/bin:/usr/bin", folder.display()))];
    assert_eq!(output(Spec { env, ..spec(&["toolnexus-only-here"]) }), "here\n");
    // Relative, and so relative to the child's directory.
    let cwd = Some(folder.clone());
    assert_eq!(output(Spec { cwd, ..spec(&["./toolnexus-only-here"]) }), "here\n");
    let cwd = Some(folder.clone());
    let text = output(Spec { cwd, ..sh("pwd -P") });
    assert_eq!(text.trim(), folder.canonicalize().expect("a path").display().to_string());
    std::fs::remove_dir_all(folder).expect("cleaned");
}

#[test]
fn the_environment_and_arguments_are_exact() {
    let env = vec![("B".to_owned(), "two words".to_owned()), ("A".to_owned(), String::new())];
    assert_eq!(output(Spec { env, ..spec(&["/usr/bin/env"]) }), "B=two words\nA=\n");
    assert_eq!(output(spec(&["printf", "%s|", "$HOME", "a b", "*", ""])), "$HOME|a b|*||");
}

#[test]
fn signals_are_fresh_and_the_session_its_own() {
    let text = output(spec(&["cat", "/proc/self/status"]));
    let value = |name: &str| {
        let found = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        u64::from_str_radix(found.trim_start_matches(':').trim(), 16).expect("a mask")
    };
    assert_eq!((value("SigBlk"), value("SigIgn")), (0, 0), "{text}");
    let spawned = started(sh("cat /proc/$$/stat; read x"));
    let stat = line(&spawned);
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let pid = spawned.process.pid().to_string();
    assert_eq!(fields.get(2..4), Some([pid.as_str(), pid.as_str()].as_slice()), "group and session: {stat}");
    end(spawned);
}

#[test]
fn nothing_leaks_into_the_child() {
    // A descriptor of the host that is not close-on-exec.
    let leaky = unsafe { libc::open(c"/dev/null".as_ptr(), libc::O_RDONLY) };
    assert!(leaky >= 0);
    let spawned = started(sh("echo ready; read line"));
    assert_eq!(line(&spawned), "ready");
    assert_eq!(fds_of(spawned.process.pid()), ["0", "1", "2"]);
    unsafe { libc::close(leaky) };
    for end in [&spawned.stdin, &spawned.stdout, &spawned.stderr] {
        let (fd, state) = unsafe {
            let fd = libc::fcntl(end.as_raw_fd(), libc::F_GETFD);
            (fd, libc::fcntl(end.as_raw_fd(), libc::F_GETFL))
        };
        assert_eq!(fd & libc::FD_CLOEXEC, libc::FD_CLOEXEC);
        assert_eq!(state & libc::O_NONBLOCK, libc::O_NONBLOCK);
    }
}

// ---- the steps ----

#[test]
fn a_well_behaved_server_ends_by_itself() {
    let spawned = started(spec(&["cat"]));
    let process = spawned.process.clone();
    end(spawned);
    assert_eq!(run(async move { process.exited().await }), Exit::Code(0));
}

#[test]
fn one_that_ignores_the_end_is_terminated() {
    let spawned = started(sh("echo ready; exec sleep 1000"));
    assert_eq!(line(&spawned), "ready");
    let process = spawned.process.clone();
    let took = end(spawned);
    assert!(took >= Duration::from_millis(990), "{took:?}");
    assert_eq!(run(async move { process.exited().await }), Exit::Signal(libc::SIGTERM));
}

#[test]
fn one_that_ignores_everything_is_killed_with_its_group() {
    let spawned = started(sh("trap '' TERM; sleep 1000 & echo $!; wait; sleep 1000"));
    let inner: i32 = line(&spawned).parse().expect("a pid");
    let process = spawned.process.clone();
    let took = end(spawned);
    assert!(took >= Duration::from_millis(2990), "{took:?}");
    assert_eq!(run(async move { process.exited().await }), Exit::Signal(libc::SIGKILL));
    assert!(!runs(inner));
}

#[test]
fn a_grandchild_does_not_outlive_its_wrapper() {
    // It is not waited for, which would take a second each time; a busy machine takes long now and then.
    let quick = (0..10).any(|_| {
        let spawned = started(sh("sleep 1000 & echo $!; exit 0"));
        let inner: i32 = line(&spawned).parse().expect("a pid");
        assert_eq!(exit_of(&spawned), Exit::Code(0));
        let took = end(spawned);
        assert!(!runs(inner));
        took < Duration::from_secs(1)
    });
    assert!(quick);
}

#[test]
fn a_wrapper_killed_from_outside_takes_its_server_along() {
    let spawned = started(sh("trap '' TERM; (trap '' TERM; sleep 1000; sleep 1000) & echo $!; wait"));
    let inner: i32 = line(&spawned).parse().expect("a pid");
    unsafe { libc::kill(spawned.process.pid(), libc::SIGKILL) };
    assert_eq!(exit_of(&spawned), Exit::Signal(libc::SIGKILL));
    end(spawned);
    assert!(!runs(inner));
}

#[test]
fn dropping_the_process_kills_the_group() {
    let spawned = started(sh("trap '' TERM; sleep 1000 & echo $!; wait; sleep 1000"));
    let inner: i32 = line(&spawned).parse().expect("a pid");
    let pid = spawned.process.pid();
    drop(spawned);
    eventually("the group is gone", || !runs(inner) && !exists(pid));
}

#[test]
fn a_start_given_up_leaves_nothing() {
    let marker = format!("sleep {}.5", 70_000 + std::process::id());
    let given_up = sh(&format!("exec {marker}"));
    run(async move {
        let _ = tokio::time::timeout(Duration::ZERO, spawn(given_up)).await;
    });
    let runs_still = || {
        std::fs::read_dir("/proc").expect("a list").flatten().any(|entry| {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).replace('\0', " ").contains(&marker)
        })
    };
    // Both starting threads have taken a later job, so that the one given up is over.
    let next: Vec<Spawned> = (0..4).map(|_| started(spec(&["true"]))).collect();
    eventually("nothing of it runs", || !runs_still());
    drop(next);
}

// ---- whole hosts ----

const ROLE: &str = "TOOLNEXUS_TEST_ROLE";

fn host(role: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", "a_host", "--ignored", "--nocapture", "--test-threads=1"]).env(ROLE, role);
    command
}

/// Runs a role to its end and returns the lines it printed after `> `.
fn play(role: &str) -> Vec<String> {
    let output = host(role).stdin(Stdio::null()).output().expect("a host");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{role}: {:?}\n{text}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    text.lines().filter_map(|line| line.strip_prefix("> ").map(str::to_owned)).collect()
}

#[test]
#[ignore = "played by the other tests, in a process of its own"]
fn a_host() {
    match std::env::var(ROLE).as_deref() {
        Ok("stays") => role_stays(false),
        Ok("stays with a new guardian") => role_stays(true),
        Ok("returns") => role_returns(),
        Ok("sigchld") => role_sigchld(),
        Ok("many") => role_many(),
        Ok("guardian") => role_guardian(),
        Ok("no stdio") => role_no_stdio(),
        Ok("few fds") => role_few_fds(),
        Ok("forks") => role_forks(),
        Ok("shutdown") => role_shutdown(),
        other => panic!("no such role: {other:?}"),
    }
}

/// A server that ignores all it can, with a grandchild that does too; and the ids of both.
fn stubborn() -> (Spawned, i32) {
    let spawned =
        started(sh("trap '' TERM HUP INT; (trap '' TERM HUP INT; while :; do sleep 1000; done) & echo $!; wait"));
    let inner = line(&spawned).parse().expect("a pid");
    (spawned, inner)
}

/// Starts servers, says which, and waits to be killed. On the way it may lose its guardian.
fn role_stays(loses_guardian: bool) {
    let mut servers = vec![stubborn(), stubborn()];
    if loses_guardian {
        unsafe { libc::kill(guardian(), libc::SIGKILL) };
        eventually("it is missed", || !guardian_running());
    }
    servers.push(stubborn());
    assert!(guardian_running());
    let mut ids: Vec<String> =
        servers.iter().flat_map(|(server, inner)| [server.process.pid(), *inner]).map(|id| id.to_string()).collect();
    ids.push(guardian().to_string());
    println!("\n> {}", ids.join(" "));
    let _ = std::io::stdin().read(&mut [0]);
}

/// A host with three servers, and the ids: leader and grandchild of each, then the guardian.
fn staying(role: &str) -> (std::process::Child, Vec<i32>) {
    let mut child = host(role).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a host");
    let stdout = OwnedFd::from(child.stdout.take().expect("its output"));
    let text = read_until(&stdout, |text| text.lines().any(|line| line.starts_with("> ")) && text.ends_with('\n'));
    let ids = text.lines().find_map(|line| line.strip_prefix("> ")).unwrap_or_default();
    let ids: Vec<i32> = ids.split(' ').map(|id| id.parse().expect("an id")).collect();
    assert_eq!(ids.len(), 7);
    assert!(ids.iter().all(|id| runs(*id)), "all run: {ids:?}");
    (child, ids)
}

fn kill_host(mut host: std::process::Child, signal: i32) {
    unsafe { libc::kill(host.id() as i32, signal) };
    assert_eq!(host.wait().expect("its end").signal(), Some(signal));
}

#[test]
fn a_killed_host_takes_its_servers_along() {
    let ways = [("stays", libc::SIGKILL), ("stays", libc::SIGTERM), ("stays with a new guardian", libc::SIGKILL)];
    for (role, signal) in ways {
        let (host, ids) = staying(role);
        let killed = Instant::now();
        kill_host(host, signal);
        eventually("every process of the host is gone", || !ids.iter().any(|id| runs(*id)));
        println!("{role}: all gone {:?} after signal {signal}", killed.elapsed());
    }
}

#[test]
fn without_a_guardian_the_leaders_still_end_with_the_host() {
    let (host, ids) = staying("stays");
    unsafe { libc::kill(ids[6], libc::SIGKILL) };
    eventually("the guardian is gone", || !runs(ids[6]));
    kill_host(host, libc::SIGKILL);
    eventually("every leader is gone", || ![ids[0], ids[2], ids[4]].iter().any(|id| runs(*id)));
    for leader in [ids[0], ids[2], ids[4]] {
        unsafe { libc::kill(-leader, libc::SIGKILL) };
    }
}

/// Ends normally with servers running.
fn role_returns() {
    let (server, inner) = stubborn();
    println!("\n> {} {inner} {}", server.process.pid(), guardian());
    std::mem::forget(server);
}

#[test]
fn a_host_that_returns_leaves_no_server() {
    let ids: Vec<i32> = play("returns")[0].split(' ').map(|id| id.parse().expect("an id")).collect();
    assert_eq!(ids.len(), 3);
    eventually("every process of the host is gone", || !ids.iter().any(|id| runs(*id)));
}

/// Ignores SIGCHLD, so that the system reaps at once.
fn role_sigchld() {
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
    assert_eq!(exit_of(&started(sh("exit 3"))), Exit::Unknown);
    let (server, inner) = stubborn();
    let pid = server.process.pid();
    end(server);
    assert!(!runs(inner) && !runs(pid));
    let spawned = started(sh("sleep 1000 & echo $!; exit 0"));
    let inner = line(&spawned).parse().expect("a pid");
    assert_eq!(exit_of(&spawned), Exit::Unknown);
    end(spawned);
    assert!(!runs(inner));
    assert!(refused(spec(&["/no/such/file"])).contains("there is no file"));
    eventually("the guardian is gone", || guardian_of(std::process::id()).is_none());
}

#[test]
fn a_host_may_ignore_sigchld() {
    play("sigchld");
}

fn role_many() {
    end(started(spec(&["cat"])));
    let before = open_fds();
    for _ in 0..10 {
        let servers: Vec<Spawned> = (0..20).map(|_| started(spec(&["cat"]))).collect();
        let (stdins, processes): (Vec<_>, Vec<_>) =
            servers.into_iter().map(|server| (server.stdin, server.process)).unzip();
        drop(stdins);
        run(async move {
            for process in processes {
                process.end().await;
            }
        });
    }
    let message = refused(spec(&["/no/such/file"]));
    assert!(message.contains("there is no file"), "{message}");
    // That one's guardian may be on its way yet.
    eventually("the descriptors are as before", || open_fds() == before);
    let children = format!("/proc/self/task/{}/children", std::process::id());
    eventually("no zombie is left", || std::fs::read_to_string(&children).unwrap_or_default().is_empty());
}

#[test]
fn two_hundred_servers_leave_nothing() {
    play("many");
}

fn role_guardian() {
    let me = std::process::id();
    assert!(!guardian_running());
    let first = started(spec(&["cat"]));
    let second = started(spec(&["cat"]));
    let guardian = guardian();
    assert!(guardian_running());
    // Not our child, not in our session, not to be met by a Ctrl-C, and holding nothing of ours.
    let stat = std::fs::read_to_string(format!("/proc/{guardian}/stat")).expect("its state");
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    assert_ne!(fields[1], me.to_string(), "its parent");
    assert_eq!(fields[2..4], [guardian.to_string(), guardian.to_string()], "its group and session");
    assert_eq!(fds_of(guardian), ["0", "1", "2"]);
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT, libc::SIGUSR1] {
        unsafe { libc::kill(guardian, signal) };
    }
    end(first);
    assert_eq!(guardian_of(me), Some(guardian), "one server is left");
    // One that was killed is replaced, and knows what runs.
    unsafe { libc::kill(guardian, libc::SIGKILL) };
    eventually("it is missed", || !guardian_running());
    let third = started(spec(&["cat"]));
    assert!(guardian_running());
    assert_ne!(self::guardian(), guardian);
    end(second);
    end(third);
    assert!(!guardian_running());
    eventually("the guardian is gone", || guardian_of(me).is_none());
    // A start that fails is a start too.
    assert!(refused(spec(&["/no/such/file"])).contains("there is no file"));
    eventually("the guardian is gone", || guardian_of(me).is_none());
    end(started(spec(&["cat"])));
    eventually("the guardian is gone", || guardian_of(me).is_none());
}

#[test]
fn the_guardian_comes_and_goes_with_the_servers() {
    play("guardian");
}

fn role_no_stdio() {
    // The runtime's own descriptors must not be among those that are put back below.
    run(async {});
    // Kept for the harness, which prints at the end.
    let kept: Vec<RawFd> = (0..3).map(|fd| unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 100) }).collect();
    for fd in 0..3 {
        unsafe { libc::close(fd) };
    }
    let spawned = started(sh("read line; echo out $line; echo err $line >&2"));
    let low = [&spawned.stdin, &spawned.stdout, &spawned.stderr].iter().any(|end| end.as_raw_fd() < 3);
    let sent = unsafe { libc::write(spawned.stdin.as_raw_fd(), c"x\n".as_ptr().cast(), 2) };
    let texts = (read_until(&spawned.stdout, |_| false), read_until(&spawned.stderr, |_| false));
    let exit = exit_of(&spawned);
    end(spawned);
    for (to, from) in kept.into_iter().enumerate() {
        unsafe { libc::dup2(from, to as RawFd) };
    }
    assert_eq!((low, sent, exit), (false, 2, Exit::Code(0)));
    assert_eq!(texts, ("out x\n".to_owned(), "err x\n".to_owned()));
}

#[test]
fn a_host_may_have_closed_its_standard_streams() {
    play("no stdio");
}

fn role_few_fds() {
    end(started(spec(&["cat"])));
    let limit = libc::rlimit { rlim_cur: 40, rlim_max: 40 };
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) }, 0);
    let mut servers = Vec::new();
    let message = loop {
        match run(spawn(spec(&["cat"]))) {
            Ok(spawned) => servers.push(spawned),
            Err(failure) => break failure.message,
        }
        assert!(servers.len() < 40);
    };
    assert!(message.contains("too many open files (its limit is 40)"), "{message}");
    assert!(!servers.is_empty());
    for server in servers {
        end(server);
    }
    end(started(spec(&["cat"])));
}

#[test]
fn too_many_open_files_is_a_clear_failure() {
    play("few fds");
}

fn role_forks() {
    let (server, inner) = stubborn();
    let fd = server.stdin.as_raw_fd();
    let (mine, theirs) = {
        let mut fds = [0; 2];
        assert_eq!(unsafe { libc::pipe(fds.as_mut_ptr()) }, 0);
        (fds[0], fds[1])
    };
    let child = unsafe { libc::fork() };
    if child == 0 {
        // In the child: the library is off, the copies are closed, dropping things and exiting disturb nobody.
        let closed = unsafe { libc::fcntl(fd, libc::F_GETFD) } < 0;
        drop(server);
        toolnexus::process::kill_all();
        let answer = [u8::from(closed && runtime::get().is_err_and(|failure| failure.status == Status::Forked))];
        unsafe {
            libc::write(theirs, answer.as_ptr().cast(), 1);
            libc::exit(0);
        }
    }
    let mut answer = [9_u8];
    let mut status = -1;
    unsafe {
        assert_eq!(libc::read(mine, answer.as_mut_ptr().cast(), 1), 1);
        assert_eq!(libc::waitpid(child, &mut status, 0), child);
    }
    assert_eq!((answer, status), ([1], 0));
    assert!(runs(inner) && runs(server.process.pid()), "the parent's servers are left alone");
    end(server);
    // A forked child that lives on does not hide the end-of-file from a server.
    let server = started(spec(&["cat"]));
    let child = unsafe { libc::fork() };
    if child == 0 {
        unsafe {
            libc::pause();
            libc::_exit(0);
        }
    }
    let process = server.process.clone();
    drop(server.stdin);
    assert_eq!(run(async move { process.exited().await }), Exit::Code(0));
    unsafe {
        libc::kill(child, libc::SIGKILL);
        libc::waitpid(child, &mut status, 0);
    }
}

#[test]
fn a_forked_child_of_the_host_disturbs_nobody() {
    play("forks");
}

fn role_shutdown() {
    let before = open_fds();
    let (server, inner) = stubborn();
    let pid = server.process.pid();
    assert!(runtime::shutdown(BOUND));
    assert!(!exists(pid), "reaped");
    eventually("nothing of it runs", || !runs(inner) && guardian_of(std::process::id()).is_none());
    drop(server);
    assert_eq!(open_fds(), before);
    // And it can be used again.
    end(started(spec(&["cat"])));
}

#[test]
fn a_shutdown_ends_what_still_runs() {
    play("shutdown");
}
