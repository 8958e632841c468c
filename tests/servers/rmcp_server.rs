//! A server on the official Rust SDK, in both eras: the peer that shows how the SDK itself understands the protocol.
//! `rmcp-server [http PORT]`; with port 0 it chooses one, and prints its URL on stderr.
//!
//! Tools: `echo`, `fail`, `slow` (progress, stops when cancelled), `confirm` (asks for input: one round of
//! `input_required`, so 2026-07-28 only), `job` (a task: works, asks, and greets) and `touch` (tells those who listen
//! that the resource changed: 2026-07-28 only). One resource, `fixture://hello`.

use std::convert::Infallible;
use std::error::Error;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;

use rmcp::handler::server::tool::{InputResponses, RequestState};
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::*;
use rmcp::schemars::{self, JsonSchema};
use rmcp::service::{RequestContext, RoleServer, SubscriptionContext};
use rmcp::task_manager::{TaskManager, TaskOptions};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, ServerHandler, ServiceExt, tool, tool_handler, tool_router, transport};
use serde::Deserialize;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::watch;

const URI: &str = "fixture://hello";
const STATE: &str = "asked \"once\".";

/// Over HTTP each request may be served by a copy: what is in it is shared.
#[derive(Clone)]
struct Server {
    tasks: TaskManager,
    /// Changes when the resource does.
    touched: watch::Sender<()>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Echo {
    text: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Slow {
    #[serde(default)]
    duration_ms: u64,
    #[serde(default)]
    interval_ms: u64,
}

#[tool_router]
impl Server {
    #[tool(description = "Gives back the text.", annotations(read_only_hint = true))]
    async fn echo(&self, Parameters(Echo { text }): Parameters<Echo>) -> String {
        text
    }

    #[tool(description = "Always fails.")]
    async fn fail(&self) -> CallToolResult {
        CallToolResult::error(vec![ContentBlock::text("this tool always fails")])
    }

    #[tool(description = "Takes durationMs and reports progress every intervalMs.")]
    async fn slow(
        &self,
        Parameters(Slow { duration_ms, interval_ms }): Parameters<Slow>,
        meta: RequestMetaObject,
        context: RequestContext<RoleServer>,
    ) -> String {
        let step = if interval_ms == 0 { duration_ms } else { interval_ms };
        let mut elapsed = 0;
        while elapsed < duration_ms {
            tokio::select! {
                () = tokio::time::sleep(Duration::from_millis(step.min(duration_ms - elapsed))) => {}
                () = context.ct.cancelled() => return "cancelled".to_owned(),
            }
            elapsed += step.min(duration_ms - elapsed);
            if let Some(token) = meta.get_progress_token().filter(|_| interval_ms > 0) {
                let progress = ProgressNotificationParam::new(token, elapsed as f64).with_total(duration_ms as f64);
                // A client that is gone needs no progress.
                let _ = context.peer.notify_progress(progress).await;
            }
        }
        format!("slept {duration_ms} ms")
    }

    #[tool(description = "Asks for a name, then greets it.")]
    async fn confirm(
        &self,
        RequestState(state): RequestState,
        InputResponses(responses): InputResponses,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(state) = state else {
            let asked = InputRequests::from_iter([("name".to_owned(), question()?)]);
            return Ok(InputRequiredResult::new(Some(asked), Some(STATE.to_owned())).into());
        };
        if state != STATE {
            return Err(ErrorData::invalid_params(format!("requestState came back as {state:?}, not {STATE:?}"), None));
        }
        let answer = responses.as_ref().and_then(|all| all.get("name")).map(|answer| json!(answer)).unwrap_or_default();
        Ok(greeting(&answer).into())
    }

    #[tool(description = "A task that works for durationMs, asks for a name, then greets it.")]
    async fn job(&self, Parameters(Slow { duration_ms, .. }): Parameters<Slow>) -> CallToolResponse {
        let task = self.tasks.spawn(TaskOptions::new().with_poll_interval_ms(20), |context| {
            Box::pin(async move {
                tokio::time::sleep(Duration::from_millis(duration_ms)).await;
                Ok(greeting(&context.request_input("name", question()?).await?))
            })
        });
        CreateTaskResult::new(task).into()
    }

    #[tool(description = "Tells that the resource changed.")]
    async fn touch(&self) -> String {
        self.touched.send_replace(());
        "touched".to_owned()
    }
}

fn question() -> Result<InputRequest, ErrorData> {
    decode(json!({
        "method": "elicitation/create",
        "params": {
            "mode": "form",
            "message": "What is your name?",
            "requestedSchema": {
                "type": "object",
                "properties": {"name": {"type": "string", "default": "nobody"}},
                "required": ["name"]
            }
        }
    }))
}

fn greeting(answer: &serde_json::Value) -> CallToolResult {
    let text = match (answer["action"].as_str(), answer["content"]["name"].as_str()) {
        (Some("accept"), Some(name)) => format!("hello {name}"),
        _ => format!("no name given: {answer}"),
    };
    CallToolResult::success(vec![ContentBlock::text(text)])
}

#[tool_handler]
impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::new(
            ServerCapabilities::builder()
                .enable_tools()
                .enable_resources()
                .enable_resources_subscribe()
                .enable_tasks()
                .build(),
        );
        info.server_info = Implementation::new("rmcp-server", env!("CARGO_PKG_VERSION"));
        info
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        Ok(GetTaskResult::new(self.tasks.get_task(&request.task_id)?))
    }

    async fn update_task(&self, request: UpdateTaskParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        let answers = request.input_responses.into_iter().map(|(key, answer)| (key, json!(answer)));
        self.tasks.update_task(&request.task_id, answers)
    }

    async fn cancel_task(&self, request: CancelTaskParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        self.tasks.cancel_task(&request.task_id)
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        let mut touched = self.touched.subscribe();
        loop {
            tokio::select! {
                Ok(()) = touched.changed() => {
                    // Those who did not ask for this resource are not told.
                    let _ = subscription.sink().notify_resource_updated(URI).await;
                }
                () = subscription.cancelled() => return Ok(()),
            }
        }
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        decode(json!({"resources": [{
            "uri": URI, "name": "hello", "mimeType": "text/plain", "description": "A fixed text resource."
        }]}))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        if request.uri != URI {
            return Err(ErrorData::resource_not_found(format!("Resource not found: {}", request.uri), None));
        }
        let result: ReadResourceResult =
            decode(json!({"contents": [{"uri": URI, "mimeType": "text/plain", "text": "hello resource"}]}))?;
        Ok(result.into())
    }
}

fn decode<T: serde::de::DeserializeOwned>(value: serde_json::Value) -> Result<T, ErrorData> {
    serde_json::from_value(value).map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

async fn serve_http(server: Server, port: u16) -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    eprintln!("listening on http://{}/mcp", listener.local_addr()?);
    let sessions = Arc::new(LocalSessionManager::default());
    // The last name is what the tests of proxies call it by.
    let hosts = ["localhost", "127.0.0.1", "remote.invalid"];
    let config = StreamableHttpServerConfig::default().with_allowed_hosts(hosts);
    let service = StreamableHttpService::new(move || Ok(server.clone()), sessions, config);
    loop {
        let (stream, _) = listener.accept().await?;
        let service = service.clone();
        tokio::spawn(async move {
            let answer = service_fn(|request| async { Ok::<_, Infallible>(service.handle(request).await) });
            // A client that breaks its connection off may do so.
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), answer).await;
        });
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let server = Server { tasks: TaskManager::new(), touched: watch::Sender::new(()) };
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    runtime.block_on(async {
        match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            [] => server.serve(transport::stdio()).await?.waiting().await.map(|_| ()).map_err(Into::into),
            ["http", port] => serve_http(server, port.parse()?).await,
            _ => Err("usage: rmcp-server [http PORT]".into()),
        }
    })
}
