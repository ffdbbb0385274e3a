//! Requests from a server to ona: the roots, and questions to the human.
//!
//! Sampling is not offered: servers cannot call the model.
#![allow(
    deprecated,
    reason = "the newest protocol does without roots; servers of today ask for them"
)]

use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationCapability, FormElicitationCapability, Implementation, ListRootsResult,
    ProtocolVersion, RootsCapabilities, UrlElicitationCapability,
};
use rmcp::service::RequestContext;
use rmcp::{ClientHandler, ErrorData, RoleClient};
use serde_json::Value;
use tokio::sync::{Semaphore, watch};
use url::Url;

use super::callbacks::{ElicitAnswer, ElicitForm, Elicitation, ServerCallbacks};

/// The limit for open questions of one server; further ones are dismissed at once.
const MAX_QUESTIONS: usize = 8;

/// A directory that servers may work in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// Its address, with `file://`.
    pub uri: String,
    /// What it is called.
    pub name: Option<String>,
}

/// The roots, which may change.
pub(crate) type Roots = Arc<Mutex<Vec<Root>>>;

/// Answers one server.
pub(crate) struct ServerRequests {
    pub(crate) server: String,
    pub(crate) callbacks: Arc<dyn ServerCallbacks>,
    pub(crate) roots: Roots,
    /// How many questions of this server wait for the human: a call's time does not run meanwhile.
    pub(crate) asking: watch::Sender<usize>,
    pub(crate) turn: Semaphore,
}

impl ServerRequests {
    async fn ask(&self, asked: Elicitation) -> ElicitAnswer {
        let mut waiting = 0;
        self.asking.send_modify(|asking| {
            *asking += 1;
            waiting = *asking;
        });
        let _asking = Asking(&self.asking);
        if waiting > MAX_QUESTIONS {
            return ElicitAnswer::Cancel;
        }
        match self.turn.acquire().await {
            Ok(_turn) => self.callbacks.elicit(&self.server, asked).await,
            Err(_) => ElicitAnswer::Cancel,
        }
    }
}

/// One question less when it is dropped.
struct Asking<'a>(&'a watch::Sender<usize>);

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|asking| *asking = asking.saturating_sub(1));
    }
}

impl ClientHandler for ServerRequests {
    fn get_info(&self) -> ClientConfig {
        let elicitation = ElicitationCapability::new()
            .with_form(FormElicitationCapability::new())
            .with_url(UrlElicitationCapability::new());
        let mut roots = RootsCapabilities::default();
        roots.list_changed = Some(true);
        let mut capabilities = ClientCapabilities::default();
        capabilities.roots = Some(roots);
        capabilities.elicitation = Some(elicitation);
        let own = Implementation::new("ona", env!("CARGO_PKG_VERSION"));
        let mut config = ClientConfig::new(capabilities, own);
        config.protocol_version = ProtocolVersion::LATEST_WITH_INITIALIZE;
        config
    }

    async fn list_roots(
        &self,
        _context: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        let roots = self.roots.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let root = |root: Root| {
            let mut told = rmcp::model::Root::new(root.uri);
            told.name = root.name;
            told
        };
        Ok(ListRootsResult::new(roots.into_iter().map(root).collect()))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let asked = question(request)?;
        let is_page = matches!(asked.form, ElicitForm::Page { .. });
        let answer = tokio::select! {
            answer = self.ask(asked) => answer,
            // The server does not want to know any more, or is gone.
            () = context.ct.cancelled() => ElicitAnswer::Cancel,
        };
        Ok(match answer {
            ElicitAnswer::Accept(_) if is_page => ElicitResult::new(ElicitationAction::Accept),
            ElicitAnswer::Accept(values) => {
                ElicitResult::new(ElicitationAction::Accept).with_content(Value::Object(values))
            }
            ElicitAnswer::Decline => ElicitResult::new(ElicitationAction::Decline),
            ElicitAnswer::Cancel => ElicitResult::new(ElicitationAction::Cancel),
        })
    }
}

/// A question in plain types, if it is one that can be put to a human.
fn question(request: ElicitRequestParams) -> Result<Elicitation, ErrorData> {
    let invalid = |why: String| ErrorData::invalid_params(why, None);
    match request {
        ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
            let schema = serde_json::to_value(requested_schema)
                .map_err(|error| invalid(error.to_string()))?;
            Ok(Elicitation { message, form: ElicitForm::Fields { schema } })
        }
        ElicitRequestParams::UrlElicitationParams { message, url, elicitation_id, .. } => {
            // A browser does more with other schemes than show a page.
            match Url::parse(&url) {
                Ok(page) if ["http", "https"].contains(&page.scheme()) => {
                    let form = ElicitForm::Page { url: page.into(), id: elicitation_id };
                    Ok(Elicitation { message, form })
                }
                _ => Err(invalid(format!("`{url}` is not the URL of a web page"))),
            }
        }
        _ => Err(invalid("this client cannot ask that".to_owned())),
    }
}
