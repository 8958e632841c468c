//! A local server: lines over the pipes of its process (MCP, transports, stdio).
//!
//! One task a server reads, writes and keeps the clock; it ends when the session does, and then ends the process.
#![forbid(unsafe_code)]

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config::Secrets;
use crate::log;
use crate::outcome::{Failure, Status};
use crate::process::{self, Exit, PipeEnd, Process, Spawned, Spec, memory};
use crate::wire::mux::Mux;

/// What one write holds at most, unless a single message is larger. A pipe holds no more.
const CHUNK: usize = 64 * 1024;
/// What the pipe of a server that sends large messages is widened to: a user may have a few hundred of these.
const WIDE: usize = 4 * CHUNK;
/// A message that is larger than this gets all the room it may need.
const LARGE: usize = 32 * CHUNK;
/// After so many reads without a pause the other tasks get a turn.
const READS_A_TURN: usize = 16;
/// How long the two signs of an end (end-of-file, exit) may lie apart before the first one counts alone.
const GRACE: Duration = Duration::from_millis(300);
/// How much of a server's standard error is kept for messages.
const TAIL: usize = 8 * 1024;
/// A longer line of standard error is not logged.
const LONGEST_LINE: usize = 64 * 1024;

/// A running local server.
#[derive(Debug)]
pub struct Local {
    pub mux: Arc<Mux>,
    process: Arc<Process>,
    stderr: Arc<Stderr>,
    gone: CancellationToken,
}

impl Local {
    /// Starts the process and the task that serves it, which runs under `tracker`.
    pub async fn start(
        spec: Spec,
        mux: Arc<Mux>,
        server: &str,
        secrets: Arc<Secrets>,
        tracker: &TaskTracker,
    ) -> Result<Local, Failure> {
        let spawned = spawn(spec, tracker).await?;
        let broken_pipe = |error: std::io::Error| {
            Failure::new(Status::Spawn, format!("the pipes of the server's process cannot be watched: {error}"))
        };
        let stdin = spawned.stdin.awaitable(Interest::WRITABLE).map_err(broken_pipe)?;
        let stdout = spawned.stdout.awaitable(Interest::READABLE).map_err(broken_pipe)?;
        let stderr_pipe = spawned.stderr.awaitable(Interest::READABLE).map_err(broken_pipe)?;
        let stderr = Arc::new(Stderr { server: server.to_owned(), secrets, tail: Mutex::default() });
        let gone = CancellationToken::new();
        let process = spawned.process;

        let drained = tracker.spawn(drain(stderr_pipe, stderr.clone()));
        tracker.spawn({
            let (mux, process) = (mux.clone(), process.clone());
            // Also where a shutdown drops the task, or a panic ends it: nobody then serves the calls.
            let gone = gone.clone().drop_guard();
            let closed = CloseOnDrop(mux.clone());
            async move {
                let _closed = closed;
                serve(&mux, &process, stdin, stdout).await;
                process.end().await;
                // A process that left the group may hold the pipe for ever.
                let abort = drained.abort_handle();
                if tokio::time::timeout(GRACE, drained).await.is_err() {
                    abort.abort();
                }
                drop(gone);
            }
        });
        Ok(Local { mux, process, stderr, gone })
    }

    /// Ends the session with `failure` and waits until no process of it is left.
    pub async fn end(&self, failure: Failure) {
        self.mux.close(failure);
        self.gone.cancelled().await;
    }

    /// Ends the session and its processes at once.
    pub fn kill(&self, failure: Failure) {
        self.mux.close(failure);
        self.process.kill();
    }

    /// Waits until no process of the session is left.
    pub async fn gone(&self) {
        self.gone.cancelled().await;
    }

    /// The last lines of the server's standard error, secrets masked.
    pub fn stderr(&self) -> String {
        self.stderr.text()
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        self.mux.close(Failure::new(Status::Closed, "the session was closed"));
    }
}

/// Closes the mux when it is dropped, with a reason that counts only if there was none before.
struct CloseOnDrop(Arc<Mux>);

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        self.0.close(Failure::new(Status::Closed, "the library was shut down before the call ended"));
    }
}

/// Starts the process in a task of the source's: if the start is given up half-way, the source's close waits until what it
/// started is gone.
async fn spawn(spec: Spec, tracker: &TaskTracker) -> Result<Spawned, Failure> {
    let (sender, receiver) = oneshot::channel();
    tracker.spawn(async move {
        if let Err(Ok(unwanted)) = sender.send(process::spawn(spec).await) {
            unwanted.process.kill();
            unwanted.process.end().await;
        }
    });
    receiver.await.unwrap_or_else(|_| Err(Failure::new(Status::Closed, "the library was shut down")))
}

/// Serves the session until it ends, and closes the mux with the reason.
async fn serve(mux: &Arc<Mux>, process: &Process, stdin: AsyncFd<PipeEnd>, stdout: AsyncFd<PipeEnd>) {
    let failure = {
        let mut reading = std::pin::pin!(read(mux, stdout));
        let mut exit = std::pin::pin!(process.exited());
        tokio::select! {
            () = &mut reading => {
                let ended = tokio::time::timeout(GRACE, exit).await;
                Failure::new(Status::Transport, match ended {
                    Ok(exit) => ended_text(&exit),
                    Err(_) => "the server closed its output".to_owned(),
                })
            }
            exit = &mut exit => {
                // What it wrote before it ended still counts.
                let _ = tokio::time::timeout(GRACE, reading).await;
                Failure::new(Status::Transport, ended_text(&exit))
            }
            failure = write(mux, stdin) => failure,
            () = mux.keep_time() => return,
        }
    };
    mux.close(failure);
}

fn ended_text(exit: &Exit) -> String {
    format!("the server's process ended: {exit}")
}

/// Writes what the mux has, several messages at a time, until the server takes no more.
async fn write(mux: &Mux, stdin: AsyncFd<PipeEnd>) -> Failure {
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        if !mux.take_lines(&mut buffer, CHUNK) {
            return Failure::new(Status::Closed, "the session was closed");
        }
        if buffer.is_empty() {
            mux.wants_to_write().await;
            continue;
        }
        let mut written = 0;
        while written < buffer.len() {
            match stdin.get_ref().write_some(&buffer[written..]) {
                Ok(count) => written += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    // Cannot fail while the runtime lives.
                    if let Ok(mut ready) = stdin.writable().await {
                        ready.clear_ready();
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                    // Its exit, if that is the cause, says more.
                    tokio::time::sleep(GRACE).await;
                    return Failure::new(Status::Transport, "the server closed its input");
                }
                Err(error) => {
                    return Failure::new(Status::Transport, format!("the server's input cannot be written: {error}"));
                }
            }
        }
    }
}

/// Reads lines until end-of-file.
async fn read(mux: &Mux, stdout: AsyncFd<PipeEnd>) {
    let mut lines = Lines::default();
    let mut widened = false;
    let read_once = |pipe: &PipeEnd| {
        let most = lines.room(mux.limit);
        if most > WIDE && !std::mem::replace(&mut widened, true) {
            pipe.widen(WIDE);
        }
        let count = pipe.read_behind(&mut lines.buffer, most)?;
        lines.split(mux);
        Ok(Count { count, most })
    };
    each_read(&stdout, Some(mux), read_once).await;
    lines.finish(mux);
}

/// What a read gave, and what it asked for.
struct Count {
    count: usize,
    most: usize,
}

/// Calls `read_once` whenever there is something to read, and room for it in the mux, until the end of the pipe.
async fn each_read(
    pipe: &AsyncFd<PipeEnd>,
    mux: Option<&Mux>,
    mut read_once: impl FnMut(&PipeEnd) -> std::io::Result<Count>,
) {
    let mut reads = 0;
    // Waiting cannot fail while the runtime lives.
    while let Ok(mut ready) = pipe.readable().await {
        match read_once(pipe.get_ref()) {
            Ok(Count { count: 0, .. }) => return,
            // A short read has emptied the pipe: the next one would only say so.
            Ok(Count { count, most }) if count < most => ready.clear_ready(),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => ready.clear_ready(),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return,
        }
        reads += 1;
        if reads % READS_A_TURN == 0 {
            tokio::task::yield_now().await;
        }
        if let Some(mux) = mux {
            mux.room().await;
        }
    }
}

/// Splits what was read into lines. Holds at most one unfinished line, up to the limit.
#[derive(Debug, Default)]
pub struct Lines {
    buffer: Vec<u8>,
    /// So much of the buffer holds no line break.
    searched: usize,
    /// Inside a line that grew past the limit.
    skipping: bool,
}

impl Lines {
    /// Takes what was read, and delivers the lines that are complete with it.
    pub fn feed(&mut self, bytes: &[u8], mux: &Mux) {
        self.buffer.extend_from_slice(bytes);
        self.split(mux);
    }

    /// The end: delivers a last message without its line break.
    pub fn finish(&mut self, mux: &Mux) {
        if !self.skipping && !self.buffer.is_empty() {
            mux.deliver_rest(std::mem::take(&mut self.buffer));
        }
    }

    /// How many bytes are held back until their line is complete.
    pub fn held(&self) -> usize {
        self.buffer.len()
    }

    /// Makes room for the next read, and says how much to ask for: a little more than the pipe holds, so that a read
    /// that emptied it is a short one.
    fn room(&mut self, limit: usize) -> usize {
        let held = self.buffer.len();
        if held < CHUNK {
            return CHUNK + 1;
        }
        // Room costs nothing until it is written to, moving a large message does. If so much is not to be had, it grows
        // as it must.
        let most = WIDE + 1;
        if held >= LARGE && self.buffer.capacity() - held < most {
            memory::reserve(&mut self.buffer, limit.saturating_sub(held) + most);
        }
        most
    }

    fn split(&mut self, mux: &Mux) {
        let mut start = 0;
        while let Some(found) = memchr::memchr(b'\n', &self.buffer[self.searched..]) {
            let end = self.searched + found;
            self.searched = end + 1;
            if std::mem::take(&mut self.skipping) {
                start = end + 1;
                continue;
            }
            let length = end - start;
            if length > mux.limit {
                mux.over_limit(&self.buffer[start..end], None);
            } else if start == 0 && length >= CHUNK {
                // A large message moves on without a copy.
                let rest = self.buffer.split_off(end + 1);
                let mut line = std::mem::replace(&mut self.buffer, rest);
                line.truncate(end);
                if line.capacity() > LARGE {
                    line.shrink_to_fit();
                }
                self.searched = 0;
                mux.deliver(line);
                continue;
            } else {
                mux.deliver(self.buffer[start..end].to_vec());
            }
            start = end + 1;
        }
        self.buffer.drain(..start);
        self.searched = self.buffer.len();
        if self.skipping {
            self.buffer.clear();
            self.searched = 0;
        } else if self.buffer.len() > mux.limit {
            mux.over_limit(&self.buffer, None);
            self.buffer = Vec::new();
            self.searched = 0;
            self.skipping = true;
        }
    }
}

/// The end of a server's standard error.
#[derive(Debug)]
struct Stderr {
    server: String,
    secrets: Arc<Secrets>,
    tail: Mutex<Tail>,
}

#[derive(Debug, Default)]
struct Tail {
    bytes: Vec<u8>,
    /// It does not begin where the server began.
    cut: bool,
}

impl Stderr {
    fn keep(&self, bytes: &[u8]) {
        let mut tail = self.tail.lock();
        tail.bytes.extend_from_slice(bytes);
        if tail.bytes.len() > 2 * TAIL {
            let cut = tail.bytes.len() - TAIL;
            tail.bytes.drain(..cut);
            tail.cut = true;
        }
    }

    fn text(&self) -> String {
        // Masked before it is cut, so that no part of a secret is left at the edge.
        let tail = self.tail.lock();
        let mut all = self.secrets.mask(&String::from_utf8_lossy(&tail.bytes)).into_owned();
        if tail.cut {
            // The first edge was cut before: what may be the end of a secret there is left out.
            let mut doubtful = self.secrets.longest().min(all.len());
            while !all.is_char_boundary(doubtful) {
                doubtful -= 1;
            }
            all.drain(..all.find("***").map_or(doubtful, |hidden| hidden.min(doubtful)));
        }
        drop(tail);
        let all = all.trim_end();
        let mut start = all.len().saturating_sub(TAIL);
        while !all.is_char_boundary(start) {
            start += 1;
        }
        let kept = &all[start..];
        match kept.find('\n') {
            // Begin with a whole line.
            Some(at) if start > 0 => kept[at + 1..].to_owned(),
            _ => kept.to_owned(),
        }
    }

    fn log_line(&self, line: &[u8]) {
        if log::enabled(log::Level::Info) {
            let text = String::from_utf8_lossy(line);
            let text = self.secrets.mask(text.trim_end());
            if !text.is_empty() {
                log::at!(Info, "server", "{}: {text}", self.server);
            }
        }
    }
}

/// Reads a server's standard error to its end, whatever it holds: a full pipe would stop the server.
async fn drain(pipe: AsyncFd<PipeEnd>, stderr: Arc<Stderr>) {
    let mut buffer: Vec<u8> = Vec::new();
    let mut skipping = false;
    let read_once = |pipe: &PipeEnd| {
        let count = pipe.read_behind(&mut buffer, TAIL)?;
        stderr.keep(&buffer[buffer.len() - count..]);
        let mut start = 0;
        while let Some(found) = memchr::memchr(b'\n', &buffer[start..]) {
            match std::mem::take(&mut skipping) {
                true => log::at!(Info, "server", "{}: (a line longer than {LONGEST_LINE} bytes)", stderr.server),
                false => stderr.log_line(&buffer[start..start + found]),
            }
            start += found + 1;
        }
        if start == 0 && buffer.len() > LONGEST_LINE {
            // Its end is not logged: cut in pieces, a secret at the edge would show.
            skipping = true;
            start = buffer.len();
        }
        buffer.drain(..start);
        Ok(Count { count, most: TAIL })
    };
    each_read(&pipe, None, read_once).await;
    stderr.log_line(&buffer);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{self, Options};

    #[test]
    fn the_kept_end_of_standard_error_shows_no_part_of_a_secret() {
        let secret = "0123456789abcdefghijklmnopqrstuvwxyz";
        let text = format!(r#"{{"mcpServers":{{"s":{{"command":"x","env":{{"TOKEN":"{secret}"}}}}}}}}"#);
        let secrets = Arc::new(config::parse(&text, &Options::default(), &[]).unwrap().secrets);
        for shift in 0..80 {
            for lines in [true, false] {
                let stderr = Stderr { server: "s".to_owned(), secrets: secrets.clone(), tail: Mutex::default() };
                stderr.keep(".".repeat(shift).as_bytes());
                for _ in 0..2000 {
                    stderr.keep(secret.as_bytes());
                    stderr.keep(if lines { b"\n" } else { b" " });
                }
                let shown = stderr.text();
                assert!(shown.contains("***") && !shown.contains("xyz") && !shown.contains("012"), "{shift}: {shown}");
            }
        }
    }
}
