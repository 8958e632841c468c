//! The seat of the SDK: its service loop answers what servers ask and hears what they announce, on the messages that
//! the mux hands on. Calls never pass here.
#![forbid(unsafe_code)]

use std::convert::Infallible;
use std::sync::Arc;

use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::service::RoleClient;
use rmcp::transport::Transport;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::log;
use crate::wire::mux::{Era, Mux};

/// The SDK's transport over a mux.
#[derive(Debug)]
pub struct Seat {
    mux: Arc<Mux>,
    messages: UnboundedReceiver<ServerJsonRpcMessage>,
}

impl Seat {
    pub fn new(mux: Arc<Mux>, messages: UnboundedReceiver<ServerJsonRpcMessage>) -> Self {
        Seat { mux, messages }
    }
}

impl Transport<RoleClient> for Seat {
    type Error = Infallible;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let is_reply = matches!(message, ClientJsonRpcMessage::Response(_) | ClientJsonRpcMessage::Error(_));
        // MCP 2026-07-28: a client must not write responses.
        if !(is_reply && self.mux.era() == Era::Modern) {
            match serde_json::to_vec(&message) {
                Ok(bytes) => self.mux.send(bytes),
                Err(error) => log::at!(Error, "wire", "could not encode a message: {error}"),
            }
        }
        std::future::ready(Ok(()))
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        let message = self.messages.recv().await;
        if message.is_some() {
            self.mux.served();
        }
        message
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}
