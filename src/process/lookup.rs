//! Which files a command may mean, and what to say when none of them could be run.

use std::ffi::CString;
use std::io;
use std::path::Path;

use super::child::{Report, STEP_CHDIR};
use super::spawn::Spec;
use crate::outcome::{Failure, Phase, Status};

/// What `execvp` searches where there is no `PATH`.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

pub(super) fn failure(message: String) -> Failure {
    Failure::new(Status::Spawn, message).at(Phase::Start)
}

/// The files to try, in order. A relative one is relative to the child's own directory, since it gets there first.
pub(super) fn paths(command: &str, env: &[(String, String)]) -> Vec<String> {
    if command.contains('/') {
        return vec![command.to_owned()];
    }
    let directory = |directory: &str| match directory {
        "" => format!("./{command}"),
        _ => format!("{}/{command}", directory.trim_end_matches('/')),
    };
    path_of(env).unwrap_or(DEFAULT_PATH).split(':').map(directory).collect()
}

fn path_of(env: &[(String, String)]) -> Option<&str> {
    // The first one counts, as for `getenv`.
    env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_str())
}

/// A C string, or a failure that says which text has a NUL in it.
pub(super) fn c_string(text: String, what: &str) -> Result<CString, Failure> {
    CString::new(text)
        .map_err(|error| failure(format!("{what} has a NUL character at byte {}; remove it", error.nul_position())))
}

/// What the child's report means, for the person who wrote the configuration.
pub(super) fn explain(spec: &Spec, paths: &[String], report: Report) -> Failure {
    let [step, error, tried] = report;
    let command = spec.argv.first().map_or("", String::as_str);
    let cwd = spec.cwd.as_deref();
    let text = io::Error::from_raw_os_error(error);
    if step == STEP_CHDIR {
        let shown = cwd.unwrap_or(Path::new("")).display();
        return failure(match error {
            libc::ENOENT => {
                format!("the directory {shown}, given as \"cwd\", does not exist; create it or correct \"cwd\"")
            }
            libc::ENOTDIR => format!("{shown}, given as \"cwd\", is not a directory; correct \"cwd\""),
            libc::EACCES => format!("the directory {shown}, given as \"cwd\", may not be entered by this user"),
            _ => format!("the directory {shown}, given as \"cwd\", cannot be entered: {text}"),
        });
    }
    let path = usize::try_from(tried).ok().and_then(|tried| paths.get(tried)).map_or(command, String::as_str);
    // Looked at from the child's directory, as the child did.
    let exists = |path: &str| cwd.unwrap_or(Path::new("")).join(path).exists();
    failure(match error {
        libc::ENOENT | libc::ENOTDIR => match paths.iter().find(|path| exists(path)) {
            Some(path) => format!(
                "{path} exists, but what should run it does not: correct the first line of the script (#!…), or \
                 install the loader the program was built for"
            ),
            None => not_found(spec, command),
        },
        libc::EACCES if cwd.unwrap_or(Path::new("")).join(path).is_dir() => {
            format!("{path} is a directory, not a program; correct \"command\"")
        }
        libc::EACCES => format!("{path} may not be executed by this user; make it executable (chmod +x {path})"),
        libc::ENOEXEC => format!(
            "{path} is not a program this system can run: a script needs a first line such as #!/bin/sh, and a \
             binary must be built for this kind of machine"
        ),
        libc::E2BIG => {
            let env: usize = spec.env.iter().map(|(name, value)| name.len() + value.len() + 2).sum();
            let args: usize = spec.argv.iter().map(|arg| arg.len() + 1).sum();
            format!(
                "{path} cannot be started: its arguments ({args} bytes) and its environment ({env} bytes) are more \
                 than the system takes; shorten \"args\" or \"env\""
            )
        }
        libc::ETXTBSY => format!("{path} cannot be started while it is open for writing; wait until it is installed"),
        _ => format!("{path} cannot be started: {text}"),
    })
}

fn not_found(spec: &Spec, command: &str) -> String {
    if command.contains('/') {
        let relative = match &spec.cwd {
            Some(cwd) if !command.starts_with('/') => format!(" (it is relative to \"cwd\", {})", cwd.display()),
            None if !command.starts_with('/') => " (it is relative to the directory of the host process)".to_owned(),
            _ => String::new(),
        };
        return format!("there is no file {command}{relative}; correct \"command\"");
    }
    let searched = match path_of(&spec.env) {
        Some(path) => format!("in the server's PATH, {path}"),
        None => format!("in {DEFAULT_PATH}, since the server's environment has no PATH"),
    };
    format!(
        "the command {command} was not found {searched}; install it, give its full path as \"command\", or set PATH \
         in \"env\""
    )
}

/// Why a pipe or a process could not be made.
pub(super) fn no_room(what: &str, error: &io::Error) -> Failure {
    failure(match error.raw_os_error() {
        Some(libc::EMFILE) => {
            // SAFETY: the call only fills the structure.
            let limit = unsafe {
                let mut limit: libc::rlimit = std::mem::zeroed();
                libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
                limit.rlim_cur
            };
            format!(
                "{what} could not be made: this process has too many open files (its limit is {limit}); raise the \
                 limit (ulimit -n) or close some"
            )
        }
        Some(libc::ENFILE) => {
            format!("{what} could not be made: the system has too many open files; raise fs.file-max or close some")
        }
        Some(libc::EAGAIN) => format!(
            "{what} could not be made: this user or container has too many processes; raise the limit (ulimit -u, \
             pids.max) or end some"
        ),
        _ => format!("{what} could not be made: {error}"),
    })
}

#[cfg(test)]
mod tests {
    use super::paths;

    fn env(path: &str) -> Vec<(String, String)> {
        vec![("A".to_owned(), "b".to_owned()), ("PATH".to_owned(), path.to_owned())]
    }

    #[test]
    fn a_plain_name_is_looked_for_in_path() {
        assert_eq!(paths("x", &env("/a:/b/")), ["/a/x", "/b/x"]);
        assert_eq!(paths("x", &env(":/b")), ["./x", "/b/x"]);
        assert_eq!(paths("x", &env("/")), ["/x"]);
        assert_eq!(paths("x", &[]), ["/bin/x", "/usr/bin/x"]);
    }

    #[test]
    fn a_name_with_a_slash_is_a_path() {
        assert_eq!(paths("./x", &env("/a")), ["./x"]);
        assert_eq!(paths("/x", &env("/a")), ["/x"]);
    }
}
