//! The same rows as `floor.c`, through the Rust SDK as it comes, on a `current_thread` runtime, which suits it best. Run under the
//! name `rmcp-pooled` it keeps its HTTP connections, which by its own settings it does not.

use std::io::{Error, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rmcp::model::{CallToolRequestParams, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, RunningService, serve_client_with_lifecycle};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{Peer, RoleClient};
use tokio::net::unix::pipe;
use tokio::task::JoinSet;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// A running server and the session with it. A server with an address is no process of ours.
struct Session {
    process: Option<Child>,
    service: RunningService<RoleClient, ()>,
    tools: usize,
}

impl Session {
    async fn start(program: String, tools: String) -> Result<Session, Failure> {
        let (process, service) = if program.starts_with("http://") {
            (None, connect(program).await?)
        } else {
            let (process, service) = spawn(program, tools).await?;
            (Some(process), service)
        };
        let tools = service.list_all_tools().await?.len();
        Ok(Session { process, service, tools })
    }

    async fn stop(self) -> Result<(), Failure> {
        self.service.cancel().await?;
        if let Some(mut process) = self.process {
            process.wait()?;
        }
        Ok(())
    }
}

fn lifecycle() -> ClientLifecycleMode {
    ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::LATEST] }
}

async fn spawn(program: String, tools: String) -> Result<(Child, RunningService<RoleClient, ()>), Failure> {
    let mut process =
        Command::new(program).arg(tools).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let (Some(stdin), Some(stdout)) = (process.stdin.take(), process.stdout.take()) else {
        return Err("the server has no pipes".into());
    };
    let (from, to) = (pipe::Receiver::from_owned_fd(stdout.into())?, pipe::Sender::from_owned_fd(stdin.into())?);
    // Its default is less than 16 MiB of text take, and a longer line is waited for in vain.
    let pipes = AsyncRwTransport::new(from, to).with_max_line_length(64 * 1024 * 1024);
    Ok((process, serve_client_with_lifecycle((), pipes, lifecycle()).await?))
}

async fn connect(address: String) -> Result<RunningService<RoleClient, ()>, Failure> {
    let http = if std::env::args().next().is_some_and(|name| name.ends_with("-pooled")) {
        let config = StreamableHttpClientTransportConfig::with_uri(address);
        StreamableHttpClientTransport::with_client(reqwest::Client::new(), config)
    } else {
        StreamableHttpClientTransport::from_uri(address)
    };
    Ok(serve_client_with_lifecycle((), http, lifecycle()).await?)
}

/// Calls, and reads the text.
async fn call(peer: &Peer<RoleClient>, size: usize) -> Result<(), Failure> {
    let arguments = serde_json::Map::from_iter([("size".to_owned(), size.into())]);
    let result = peer.call_tool(CallToolRequestParams::new("tool_0").with_arguments(arguments)).await?;
    let read = result.content.first().and_then(|block| block.as_text()).map(|text| text.text.len());
    if read == Some(size) { Ok(()) } else { Err("the result is not what was asked for".into()) }
}

async fn load(count: usize, program: &str, tools: &str) -> Result<Vec<Session>, Failure> {
    let mut starting = JoinSet::new();
    for _ in 0..count {
        starting.spawn(Session::start(program.to_owned(), tools.to_owned()));
    }
    starting.join_all().await.into_iter().collect()
}

fn median(mut values: Vec<Duration>) -> u128 {
    values.sort();
    values.get(values.len() / 2).map_or(0, Duration::as_nanos)
}

/// A line of `/proc/self/status`, in bytes.
fn memory(name: &str) -> Result<u64, Failure> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let kib = line.and_then(|line| line.split_whitespace().next()).ok_or("/proc/self/status has no such line")?;
    Ok(kib.parse::<u64>()? * 1024)
}

/// The CPU time of this process, its threads included.
fn cpu() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes one structure, which is ours.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// `width` calls in flight: as one is answered, one is asked. Calls a second, and CPU for 10,000 calls.
async fn flight(peer: &Peer<RoleClient>, count: usize, width: usize) -> Result<(u128, u128), Failure> {
    let (began, cpu_before) = (Instant::now(), cpu());
    let mut lanes = JoinSet::new();
    for _ in 0..width {
        let peer = peer.clone();
        lanes.spawn(async move {
            for _ in 0..count / width {
                call(&peer, 100).await?;
            }
            Ok::<_, Failure>(())
        });
    }
    lanes.join_all().await.into_iter().collect::<Result<(), _>>()?;
    let done = (count / width * width) as u128;
    let took = began.elapsed().as_nanos().max(1);
    Ok((done * 1_000_000_000 / took, (cpu() - cpu_before).as_nanos() * 10_000 / done))
}

async fn row(row: &str, program: &str, numbers: &[usize]) -> Result<(), Failure> {
    let number = |index: usize| numbers.get(index).copied().unwrap_or(0);
    match row {
        "call" => {
            let session = Session::start(program.to_owned(), "1".to_owned()).await?;
            let mut took = Vec::with_capacity(number(1));
            for _ in 0..number(1) {
                let began = Instant::now();
                call(&session.service, number(0)).await?;
                took.push(began.elapsed());
            }
            println!("{}", median(took));
            session.stop().await
        }
        "peak" => {
            let session = Session::start(program.to_owned(), "1".to_owned()).await?;
            call(&session.service, 100).await?;
            let before = memory("VmRSS")?;
            call(&session.service, number(0)).await?;
            println!("{}", memory("VmHWM")?.saturating_sub(before));
            session.stop().await
        }
        "flight" => {
            let session = Session::start(program.to_owned(), "1".to_owned()).await?;
            let (rate, cpu) = flight(&session.service, number(0), number(1)).await?;
            println!("{rate}\n{cpu}");
            session.stop().await
        }
        "load" => {
            let mut took = Vec::new();
            for _ in 0..number(2) {
                let began = Instant::now();
                let sessions = load(number(0), program, &number(1).to_string()).await?;
                took.push(began.elapsed());
                for session in sessions {
                    if session.tools != number(1) {
                        return Err("tools are missing".into());
                    }
                    session.stop().await?;
                }
            }
            println!("{}", median(took));
            Ok(())
        }
        "first" => {
            let session = Session::start(program.to_owned(), "1".to_owned()).await?;
            call(&session.service, 100).await?;
            std::io::stdout().write_all(b"\n")?;
            std::io::stdout().flush()?;
            session.stop().await
        }
        "idle" => {
            let sessions = load(number(0), program, "1").await?;
            println!("{}", memory("VmRSS")?);
            for session in sessions {
                session.stop().await?;
            }
            Ok(())
        }
        _ => std::process::exit(2),
    }
}

fn main() -> Result<(), Failure> {
    // Run by `cargo test --benches` or `cargo bench` it gets other arguments; the rows are measured by tools/bench.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let [name, program, numbers @ ..] = arguments.as_slice() else { return Ok(()) };
    let numbers =
        numbers.iter().map(|number| number.parse()).collect::<Result<Vec<usize>, _>>().map_err(Error::other)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(row(name, program, &numbers))
}
