//! A server that misbehaves: `hostile-server NAME [--option value]...`, and `hostile-server list` for the names.
//!
//! It is an ordinary server (`server.rs`) with one fault, which a [`server::Behaviour`] describes. Every behaviour stands
//! in a table of its theme, one entry each:
//!
//! - `framing.rs`: bytes, lines, envelopes, error objects
//! - `lifecycle.rs`: starting, `server/discover`, `initialize`
//! - `lists.rs`: tools, resources, pages, names, cache hints
//! - `outputs.rs`: output schemas and what does not fit them
//! - `hints.rs`: answers that may be used again, and changes that end it
//! - `calls.rs`: results, input required, requests to the host, progress
//! - `skills.rs`: skills that are not what their entries say
//! - `process.rs`: exits, signals, wrappers, pipes
//! - `plain.rs`: nothing wrong, for the tests of what the protocol asks
//!
//! Whatever the behaviour, the server has the tools `echo {text}`, `received` (all lines that came in, as text) and
//! `process` (pid, arguments, working directory and environment, as JSON text). A fault in a call is met by calling the tool `odd`,
//! unless the table names other tools. Options:
//!
//! - `--era legacy|modern|both`: what it speaks; the table says what is the default
//! - `--at METHOD`: where the fault is met, if not where the table says: `tools/list`, `handshake`...
//! - `--delay MS`, `--interval MS`, `--count N`, `--bytes N`, `--url URL`, `--variable NAME`: of the behaviours that say so
//! - `--state FILE`: what a behaviour must remember from one run to the next
//! - `--record FILE`: every line received is also added to this file, for servers that cannot be asked any more

mod calls;
mod framing;
mod hints;
mod host;
mod lifecycle;
mod lists;
mod outputs;
mod plain;
mod process;
mod server;
mod skills;

use std::collections::HashMap;
use std::os::unix::process::CommandExt;
use std::process::{Command, exit};

use server::{Behaviour, OPTIONS, Server};

fn table() -> impl Iterator<Item = &'static Behaviour> {
    let themes = [
        framing::TABLE,
        lifecycle::TABLE,
        lists::TABLE,
        outputs::TABLE,
        hints::TABLE,
        calls::TABLE,
        host::TABLE,
        skills::TABLE,
        process::TABLE,
        plain::TABLE,
    ];
    themes.into_iter().flatten()
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let name = arguments.first().map_or("list", String::as_str);
    if name == "list" {
        for behaviour in table() {
            println!("{:32} {}", behaviour.name, behaviour.about);
        }
        return;
    }
    let behaviour = table()
        .find(|behaviour| behaviour.name == name)
        .unwrap_or_else(|| usage(&format!("no behaviour is named {name}; `hostile-server list` prints them")));
    let mut options = HashMap::new();
    for pair in arguments.get(1..).unwrap_or_default().chunks(2) {
        match pair {
            [key, value] if OPTIONS.contains(&key.as_str()) => options.insert(key.clone(), value.clone()),
            _ => usage(&format!("{} is not an option with its value: {}", pair.join(" "), OPTIONS.join(", "))),
        };
    }
    if !behaviour.shell.is_empty() && !options.contains_key("--inner") {
        run_under_shell(behaviour.shell, &arguments);
    }
    Server::new(behaviour, options).run();
}

/// Signal dispositions, closed standard streams and grandchildren are the shell's trade: the script runs `"$0" "$@"`,
/// which is this program again, as the inner one.
fn run_under_shell(script: &str, arguments: &[String]) -> ! {
    let program = std::env::current_exe().unwrap_or_else(|error| usage(&format!("where am I? {error}")));
    let error =
        Command::new("/bin/sh").args(["-c", script]).arg(program).args(arguments).args(["--inner", "yes"]).exec();
    usage(&format!("/bin/sh: {error}"))
}

fn usage(complaint: &str) -> ! {
    eprintln!("hostile-server: {complaint}");
    exit(2)
}
