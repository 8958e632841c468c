//! What servers ask of the host, and what they announce: the SDK's handler.
#![forbid(unsafe_code)]
// Roots, sampling and logging are deprecated since 2026-07-28 and still in use: older servers have nothing else.
#![allow(deprecated)]

use rmcp::ClientHandler;
use rmcp::ErrorData;
use rmcp::model::{
    CreateMessageRequestMethod, CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams, ElicitResult,
    ElicitationCreateRequestMethod, ListRootsRequestMethod, ListRootsResult, LoggingMessageNotificationParam, Root,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};

use crate::log;

/// Answers for one server.
#[derive(Debug)]
pub struct Host {
    pub server: String,
    /// What the load options list. Empty: roots were not announced.
    pub roots: Vec<String>,
}

impl ClientHandler for Host {
    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        if self.roots.is_empty() {
            return Err(ErrorData::method_not_found::<ListRootsRequestMethod>());
        }
        Ok(ListRootsResult::new(self.roots.iter().map(Root::new).collect()))
    }

    async fn create_message(
        &self,
        _: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        Err(ErrorData::method_not_found::<CreateMessageRequestMethod>())
    }

    async fn create_elicitation(
        &self,
        _: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Err(ErrorData::method_not_found::<ElicitationCreateRequestMethod>())
    }

    async fn on_logging_message(&self, params: LoggingMessageNotificationParam, _: NotificationContext<RoleClient>) {
        log::at!(Info, "server", "{}: {:?}: {}", self.server, params.level, params.data);
    }
}
