//! A remote server that misbehaves: `hostile-http-server NAME [--option value]...`, and `hostile-http-server list` for the
//! names. It prints its URL, and ends when its stdin does. See `mod.rs`.
//!
//! Whatever the behaviour, the server has the tools `echo {text}` and `received` (all requests, as JSON text). A fault in a
//! call is met by calling the tool `odd`, unless the table names other tools. Options, beside those of the stdio server's
//! faults:
//!
//! - `--era legacy|modern|both`: what it speaks; the table says what is the default
//! - `--at METHOD`: where the fault is met, if not where the table says: `tools/list`, `handshake`, `GET`...
//! - `--times N`: how often the fault is met before all is well
//! - `--reply json|sse`: how it answers where it may choose (json)
//! - `--aside post|get`: which stream carries what is no reply, in the legacy era (post)
//! - `--sessions yes|no`: whether it gives session ids in the legacy era (yes)
//! - `--to URL`: where redirects go
//! - `--received requests|bodies`: what the tool `received` gives (requests); bodies one a line, as the stdio server does
//! - `--delay MS`, `--interval MS`, `--count N`, `--bytes N`: of the behaviours that say so

#[allow(dead_code, reason = "tests use more of it")]
#[path = "mod.rs"]
mod hostile_http;

use std::io::{Read, stdin};
use std::process::exit;

use hostile_http::{Server, table};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let name = arguments.first().map_or("list", String::as_str);
    if name == "list" {
        table().for_each(|behaviour| println!("{:32} {}", behaviour.name, behaviour.about));
        return;
    }
    let options: Vec<&str> = arguments.iter().skip(1).map(String::as_str).collect();
    match Server::try_start(name, &options) {
        Err(complaint) => {
            eprintln!("hostile-http-server: {complaint}");
            exit(2)
        }
        Ok(server) => {
            println!("{}", server.url());
            // Whatever comes, only the end counts.
            let _ = stdin().lock().read_to_end(&mut Vec::new());
        }
    }
}
