//! Faults of the process: how it ends, what it leaves, what it does with its pipes.

use std::fs;
use std::io::{self, Write};
use std::process::exit;

use serde_json::json;

use super::server::{Behaviour, Message, PLAIN, Server, Turn, fail, hang, raw, text};

pub const TABLE: &[Behaviour] = &[
    Behaviour {
        name: "crash-mid-call",
        about: "odd ends the process, status 3, with a reason on stderr",
        on: |_, _| crash(),
        ..PLAIN
    },
    Behaviour {
        name: "crash-by-signal",
        about: "odd ends the process by a signal",
        on: |_, _| std::process::abort(),
        ..PLAIN
    },
    Behaviour {
        name: "crash-after-call",
        about: "odd is answered, then the process ends",
        on: |server, message| {
            server.answer(message, Turn::Ordinary);
            crash()
        },
        ..PLAIN
    },
    Behaviour {
        name: "partial-then-exit",
        about: "odd gets half an answer, then the process ends",
        on: |_, message| {
            raw(format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"content":[{{"type":"te"#, message.id).as_bytes());
            crash()
        },
        ..PLAIN
    },
    Behaviour {
        name: "crash-once-then-fine",
        about: "the first call of odd ends the process, later ones do not (--state FILE remembers)",
        on: |server, _| if first_time(server) { crash() } else { Turn::Ordinary },
        ..PLAIN
    },
    Behaviour {
        name: "crash-once-with-resources",
        about: "the first request of the method --at ends the process, later ones do not (--state FILE remembers)",
        capabilities: r#"{"tools":{},"resources":{}}"#,
        on: |server, _| if first_time(server) { crash() } else { Turn::Ordinary },
        ..PLAIN
    },
    Behaviour {
        name: "never-answers-or-crashes",
        about: "odd is never answered, crash ends the process",
        tools: &["odd", "crash"],
        on: |_, message| if message.tool == "crash" { crash() } else { Turn::Handled },
        ..PLAIN
    },
    Behaviour {
        name: "starts-once",
        about: "odd ends the process, which then does not start again (--state FILE remembers)",
        start: |server| {
            if !first_time(server) {
                eprintln!("the lock file is still there");
                exit(5)
            }
        },
        on: |_, _| crash(),
        ..PLAIN
    },
    Behaviour {
        name: "changed-after-restart",
        about: "odd ends the process; the next one has the tool odd-2 instead (--state FILE remembers)",
        at: "",
        on: |server, message| match message.method.as_str() {
            "tools/call" if message.tool == "odd" && first_time(server) => crash(),
            "tools/list" if server.option("state").is_some_and(|file| fs::exists(file).unwrap_or(false)) => {
                let mut tools = server.tools();
                tools.pop();
                tools.push(super::server::tool("odd-2"));
                Turn::Result(json!({"tools": tools}))
            }
            _ => Turn::Ordinary,
        },
        ..PLAIN
    },
    Behaviour {
        name: "stderr-flood",
        about: "--bytes (64 MiB) on stderr before the first answer",
        at: "handshake",
        on: |server, _| stderr_flood(server, b"a line of the log that goes on and on, 64 bytes with its break.\n"),
        ..PLAIN
    },
    Behaviour {
        name: "stderr-flood-in-call",
        about: "--bytes (64 MiB) on stderr before odd is answered",
        on: |server, _| stderr_flood(server, b"a line of the log that goes on and on, 64 bytes with its break.\n"),
        ..PLAIN
    },
    Behaviour {
        name: "stderr-endless-line",
        about: "--bytes (64 MiB) on stderr without a line break, and no UTF-8, before the first answer",
        at: "handshake",
        on: |server, _| stderr_flood(server, &[0xff; 64]),
        ..PLAIN
    },
    Behaviour {
        name: "stderr-flood-then-exit",
        about: "--bytes (64 MiB) on stderr, then it ends with status 1",
        start: |server| {
            stderr_flood(server, b"a line of the log that goes on and on, 64 bytes with its break.\n");
            exit(1)
        },
        ..PLAIN
    },
    Behaviour { name: "ignores-eof", about: "stays when its stdin ends", end: |_| hang(), ..PLAIN },
    Behaviour {
        name: "ignores-term",
        about: "stays when its stdin ends, and at SIGTERM",
        shell: "trap '' TERM; exec \"$0\" \"$@\"",
        end: |_| hang(),
        ..PLAIN
    },
    Behaviour {
        name: "closes-stdout",
        about: "odd is not answered: stdout is closed, and the process stays",
        shell: "\"$0\" \"$@\"; exec >&- 2>&-; exec sleep 600",
        on: |_, _| exit(0),
        ..PLAIN
    },
    Behaviour {
        name: "closes-stdout-at-start",
        about: "closes stdout before the first answer, and the process stays",
        shell: "exec >&-; echo 'stdout is closed' >&2; exec sleep 600",
        ..PLAIN
    },
    Behaviour {
        name: "closes-stdin",
        about: "odd is answered, then stdin is closed (stderr tells when); the process and its stdout stay",
        shell: "\"$0\" \"$@\"; exec <&-; echo 'stdin is closed' >&2; exec sleep 600",
        on: |server, message| {
            server.answer(message, Turn::Ordinary);
            exit(0)
        },
        ..PLAIN
    },
    Behaviour {
        name: "not-reading-stdin",
        about: "from a call of odd on it reads nothing, and stays",
        on: |_, _| hang(),
        ..PLAIN
    },
    Behaviour { name: "never-reads", about: "reads nothing from the start", start: |_| hang(), ..PLAIN },
    Behaviour {
        name: "leaves-grandchild",
        about: "has a child that outlives it and holds its pipes; `process` tells its pid",
        shell: "sleep 600 & exec \"$0\" \"$@\" --grandchild $!",
        on: |_, _| crash(),
        ..PLAIN
    },
    Behaviour {
        name: "grandchild-ignores-term",
        about: "has a child that outlives it, holds its pipes and ignores SIGTERM; `process` tells its pid",
        shell: "(trap '' TERM; exec sleep 600) & exec \"$0\" \"$@\" --grandchild $!",
        on: |_, _| crash(),
        ..PLAIN
    },
    Behaviour {
        name: "wrapper",
        about: "runs as the child of a shell that waits for it",
        shell: "\"$0\" \"$@\"; exit $?",
        on: |_, _| crash(),
        ..PLAIN
    },
    Behaviour {
        name: "wrapper-ignores-eof",
        about: "runs as the child of a shell, and stays when its stdin ends",
        shell: "\"$0\" \"$@\"; exit $?",
        end: |_| hang(),
        ..PLAIN
    },
    Behaviour {
        name: "wrapper-ends-first",
        about: "was started by a shell that is gone, and stays when its stdin ends (its pid goes to --state FILE)",
        shell: "exec 3<&0; \"$0\" \"$@\" <&3 3<&- & exit 0",
        start: |server| {
            if server.option("state").is_some() {
                add_pid(server);
            }
        },
        end: |_| hang(),
        ..PLAIN
    },
    Behaviour {
        name: "talks-while-ending",
        about: "when its stdin ends it writes for ever",
        end: |_| loop {
            raw(&[b'x'; 64 * 1024]);
        },
        ..PLAIN
    },
    Behaviour {
        name: "crash-with-status",
        about: "odd {status} ends the process with that status",
        on: |_, message: &Message| exit(message.params["arguments"]["status"].as_i64().unwrap_or(1) as i32),
        ..PLAIN
    },
    Behaviour {
        name: "environment-in-stderr",
        about: "writes the value of --variable (API_TOKEN) to stderr, then ends: a secret that must be masked",
        start: |server| {
            let name = server.option("variable").unwrap_or("API_TOKEN");
            let value = std::env::var(name).unwrap_or_default();
            eprintln!("cannot sign in with {name}={value}");
            exit(1)
        },
        ..PLAIN
    },
    Behaviour {
        name: "starts-counted",
        about: "adds a line with its pid to --state FILE at each start; odd gives the file, crash ends the process",
        tools: &["odd", "crash"],
        start: add_pid,
        on: |server, message| match message.tool.as_str() {
            "crash" => crash(),
            _ => Turn::Result(text(&fs::read_to_string(state(server)).unwrap_or_default())),
        },
        ..PLAIN
    },
];

fn crash() -> ! {
    eprintln!("fatal: segment 7 is gone\n  at handle (server.js:99)");
    exit(3)
}

fn state(server: &Server) -> String {
    server.option("state").unwrap_or_else(|| fail("this behaviour needs --state FILE")).to_owned()
}

fn add_pid(server: &mut Server) {
    let file = state(server);
    let started = fs::read_to_string(&file).unwrap_or_default() + &format!("{}\n", std::process::id());
    fs::write(&file, started).unwrap_or_else(|error| fail(&format!("--state {file}: {error}")));
}

/// Whether the state file was not there; it is, from then on.
fn first_time(server: &Server) -> bool {
    let file = state(server);
    let first = !fs::exists(&file).unwrap_or(false);
    fs::write(&file, "was here\n").unwrap_or_else(|error| fail(&format!("--state {file}: {error}")));
    first
}

fn stderr_flood(server: &mut Server, line: &[u8; 64]) -> Turn {
    let mut out = io::stderr().lock();
    let block = line.repeat(1024);
    for _ in 0..server.number("bytes", 64 << 20) / block.len() as u64 {
        if out.write_all(&block).is_err() {
            break;
        }
    }
    Turn::Ordinary
}
