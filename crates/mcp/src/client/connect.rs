//! Connects to a server.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ona_sandbox::confine::Confined;
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::RoleClient;
use rmcp::model::{ErrorCode, ProtocolVersion};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, RunningService, serve_client_with_lifecycle_and_ct,
};
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransport, StreamableHttpClientTransportConfig,
};
use rmcp::transport::{AuthorizationManager, Transport};
use serde_json::{Map, Value};
use tokio::sync::{Semaphore, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::bound::{MAX_RESPONSE, Noise};
use super::callbacks::{ServerCallbacks, TokenStore};
use super::child::{Groups, Program, Start};
use super::error::{brief, chain, failure};
use super::oauth::{Tokens, signed_in};
use super::pipe::Pipe;
use super::server_requests::{Roots, ServerRequests};
use super::signed_in::SignedIn;
use super::sse::{SseFault, SseTransport, Way as SseWay};
use super::stale::Stale;
use super::tap::{Listeners, Tap};
use super::web::{NoWeb, Web, header_map, says_who};
use crate::spec::{Remote, ServerSpec, Way};

/// How long the command that prints headers may take.
const HELPER_WITHIN: Duration = Duration::from_secs(10);
/// How long cancelling open calls may take when a connection is closed.
const TELL_WITHIN: Duration = Duration::from_millis(200);
/// How long the library may take to close a connection.
const LET_GO_WITHIN: Duration = Duration::from_secs(2);

/// What all connections of a pool have in common.
#[derive(Clone)]
pub(crate) struct Common {
    pub(crate) callbacks: Arc<dyn ServerCallbacks>,
    pub(crate) tokens: Option<Arc<dyn TokenStore>>,
    pub(crate) roots: Roots,
    pub(crate) groups: Groups,
    /// What programs may touch; everything if `None`.
    pub(crate) confined: Option<Confined>,
    /// Made with the first server that listens at an address.
    pub(crate) web: Arc<OnceLock<Result<Web, NoWeb>>>,
}

/// A connection.
pub(crate) struct Link {
    pub(crate) running: RunningService<RoleClient, ServerRequests>,
    /// Cancelled when it is over.
    pub(crate) gone: CancellationToken,
    pub(crate) listeners: Listeners,
    pub(crate) stale: Arc<Stale>,
    /// How many of the server's questions are before the human.
    pub(crate) asking: watch::Receiver<usize>,
    /// What a program printed that is not a message.
    pub(crate) noise: Noise,
    /// Sends cancellations to the server.
    pub(crate) telling: TaskTracker,
}

impl Link {
    /// Ends the connection, and the program behind it.
    pub(crate) async fn end(&self, program: Option<Program>) {
        // Without a cancellation the server would continue work that is no longer wanted.
        self.telling.close();
        let _ = tokio::time::timeout(TELL_WITHIN, self.telling.wait()).await;
        self.running.cancellation_token().cancel();
        let _ = tokio::time::timeout(LET_GO_WITHIN, self.gone.cancelled()).await;
        if let Some(program) = program {
            program.end().await;
        }
    }
}

/// Why connecting failed.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The server requires a sign-in; with its challenge.
    NeedsAuth(Option<String>),
    /// Anything else.
    Failed(String),
}

impl Fault {
    /// A failure in the words of its cause.
    fn failed(error: impl std::error::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<String> for Fault {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

/// Connects, until a deadline.
pub(crate) async fn connect(
    spec: &ServerSpec,
    common: &Common,
    deadline: Instant,
) -> Result<(Link, Option<Program>), Fault> {
    let attempt = Attempt { spec, common, deadline };
    match attempt.make(ClientLifecycleMode::Initialize).await {
        // It may support only the older protocol.
        Err(Failure::NoGreeting(why)) => {
            let preferred_versions = vec![ProtocolVersion::LATEST];
            let newer = attempt.make(ClientLifecycleMode::Discover { preferred_versions }).await;
            newer.map_err(|_| Fault::Failed(why))
        }
        Err(Failure::Fault(fault)) => Err(fault),
        Ok(made) => Ok(made),
    }
}

/// The HTTP client for a server, its headers, and its sign-in.
type Reach = (Web, HashMap<HeaderName, HeaderValue>, Option<AuthorizationManager>);

/// How an attempt failed.
enum Failure {
    /// The server does not support this way to initialize.
    NoGreeting(String),
    /// Anything else.
    Fault(Fault),
}

impl<T: Into<Fault>> From<T> for Failure {
    fn from(fault: T) -> Self {
        Self::Fault(fault.into())
    }
}

struct Attempt<'a> {
    spec: &'a ServerSpec,
    common: &'a Common,
    deadline: Instant,
}

impl Attempt<'_> {
    async fn make(&self, mode: ClientLifecycleMode) -> Result<(Link, Option<Program>), Failure> {
        match &self.spec.way {
            Way::Stdio { command, args, env, cwd } => {
                let confined = self.common.confined.as_ref();
                self.by_stdio(&Start { command, args, env, cwd, confined }, mode).await
            }
            Way::Http(remote) => Ok((self.by_http(remote, mode).await?, None)),
            Way::Sse(remote) => Ok((self.by_sse(remote, mode).await?, None)),
        }
    }

    async fn by_stdio(
        &self,
        start: &Start<'_>,
        mode: ClientLifecycleMode,
    ) -> Result<(Link, Option<Program>), Failure> {
        let (mut program, output, input) = Program::start(start, &self.common.groups)
            .map_err(|error| not_started(start, &error))?;
        let noise = Noise::default();
        let failure = match self.greet(Pipe::new(output, input, &noise), mode).await {
            Ok(link) => return Ok((Link { noise, ..link }, Some(program))),
            Err(failure) => failure,
        };
        let Greeting { why, closed, no_greeting, .. } = failure;
        let ending = if closed { program.ending().await } else { None };
        let mut said = match ending {
            Some(ending) => format!("the program ended at once ({ending})"),
            None if closed => "the program closed its output".to_owned(),
            None => why,
        };
        if let Some(noise) = noise.heard() {
            said.push_str(&format!("; it printed something that is not MCP: `{noise}`"));
        }
        let words = program.last_words();
        if !words.is_empty() {
            said.push_str(&format!("; its last output: {words}"));
        }
        Err(match no_greeting {
            true => Failure::NoGreeting(said),
            false => said.into(),
        })
    }

    async fn by_http(&self, remote: &Remote, mode: ClientLifecycleMode) -> Result<Link, Failure> {
        let (web, headers, manager) = self.reach(remote).await?;
        let mut config = StreamableHttpClientTransportConfig::with_uri(&*remote.url);
        config.custom_headers = headers;
        config.max_sse_event_size = MAX_RESPONSE;
        let greeted = match manager {
            Some(manager) => {
                let client = SignedIn { web, tokens: Arc::new(Tokens::new(manager)) };
                self.greet(StreamableHttpClientTransport::with_client(client, config), mode).await
            }
            None => self.greet(StreamableHttpClientTransport::with_client(web, config), mode).await,
        };
        greeted.map_err(Greeting::failure)
    }

    async fn by_sse(&self, remote: &Remote, mode: ClientLifecycleMode) -> Result<Link, Failure> {
        let (web, headers, manager) = self.reach(remote).await?;
        let tokens = manager.map(|manager| Arc::new(Tokens::new(manager)));
        let way = SseWay { web, headers, tokens };
        let opened = self.in_time(SseTransport::open(&remote.url, way)).await?;
        let transport = opened.map_err(|error| match error {
            SseFault::Auth(challenge) => Fault::NeedsAuth(Some(challenge.www_authenticate_header)),
            error => Fault::Failed(chain(&error)),
        })?;
        self.greet(transport, mode).await.map_err(Greeting::failure)
    }

    async fn reach(&self, remote: &Remote) -> Result<Reach, Fault> {
        let web = self.common.web.get_or_init(Web::new).clone().map_err(Fault::failed)?;
        let mut headers = remote.headers.clone();
        if let Some(command) = &remote.headers_helper {
            // What is printed wins over what is written.
            headers.extend(self.helped(command).await?);
        }
        let headers = header_map(&headers).map_err(Fault::failed)?;
        let manager = match &self.common.tokens {
            Some(store) if !says_who(&headers) => {
                let signed_in = self.in_time(signed_in(&self.spec.name, remote, store)).await?;
                signed_in.map_err(Fault::failed)?
            }
            _ => None,
        };
        Ok((web, headers, manager))
    }

    async fn helped(&self, command: &str) -> Result<Vec<(String, String)>, Fault> {
        let asked = self.common.callbacks.headers(&self.spec.name, command);
        let printed = tokio::time::timeout(HELPER_WITHIN, asked)
            .await
            .map_err(|_| format!("headersHelper took longer than {} s", HELPER_WITHIN.as_secs()))?
            .map_err(|why| format!("headersHelper {why}"))?;
        let headers: Map<String, Value> = serde_json::from_str(&printed)
            .map_err(|error| format!("headersHelper printed no JSON object: {error}"))?;
        let header = |(name, value): (String, Value)| match value {
            Value::String(value) => Ok((name, value)),
            _ => {
                Err(format!("headersHelper printed a header `{name}` whose value is not a string")
                    .into())
            }
        };
        headers.into_iter().map(header).collect()
    }

    async fn in_time<T>(&self, what: impl Future<Output = T>) -> Result<T, Fault> {
        let done = tokio::time::timeout_at(self.deadline, what).await;
        done.map_err(|_| Fault::Failed(self.too_late()))
    }

    fn too_late(&self) -> String {
        let seconds = self.spec.start_timeout.as_secs_f64();
        format!("it gave no answer within {seconds} s")
    }

    /// Initializes the connection.
    async fn greet<T: Transport<RoleClient> + 'static>(
        &self,
        transport: T,
        mode: ClientLifecycleMode,
    ) -> Result<Link, Greeting> {
        let (listeners, gone) = (Listeners::default(), CancellationToken::new());
        let stale = Arc::<Stale>::default();
        let tap = Tap::new(transport, listeners.clone(), Arc::clone(&stale), gone.clone());
        let (sender, asking) = watch::channel(0);
        let requests = ServerRequests {
            server: self.spec.name.clone(),
            callbacks: Arc::clone(&self.common.callbacks),
            roots: Arc::clone(&self.common.roots),
            asking: sender,
            turn: Semaphore::new(1),
        };
        let greeting =
            serve_client_with_lifecycle_and_ct(requests, tap, mode, CancellationToken::new());
        match tokio::time::timeout_at(self.deadline, greeting).await {
            Ok(Ok(running)) => {
                let noise = Noise::default();
                let telling = TaskTracker::new();
                Ok(Link { running, gone, listeners, stale, asking, noise, telling })
            }
            Ok(Err(error)) => Err(Greeting::of(&error)),
            Err(_) => Err(Greeting { why: self.too_late(), ..Greeting::default() }),
        }
    }
}

/// Why `initialize` failed.
#[derive(Default)]
struct Greeting {
    why: String,
    /// The server requires a sign-in.
    needs_auth: bool,
    challenge: Option<String>,
    /// The other end was closed.
    closed: bool,
    /// The server does not support `initialize`.
    no_greeting: bool,
}

impl Greeting {
    fn of(error: &ClientInitializeError) -> Self {
        let why = match error {
            ClientInitializeError::TransportError { error, .. } => failure(error),
            ClientInitializeError::JsonRpcError(error) => brief(&error.message),
            ClientInitializeError::ConnectionClosed(_) => "the connection was closed".to_owned(),
            ClientInitializeError::ExpectedInitResult(_)
            | ClientInitializeError::ExpectedInitResponse(_) => {
                "its answer to `initialize` is not valid".to_owned()
            }
            error => chain(error),
        };
        let code = match error {
            ClientInitializeError::JsonRpcError(error) => Some(error.code),
            _ => None,
        };
        let unknown = [ErrorCode::METHOD_NOT_FOUND, ErrorCode::UNSUPPORTED_PROTOCOL_VERSION];
        Self {
            why,
            needs_auth: error.is_authorization_required(),
            challenge: error.auth_challenge().map(str::to_owned),
            closed: matches!(
                error,
                ClientInitializeError::ConnectionClosed(_)
                    | ClientInitializeError::TransportError { .. }
            ),
            no_greeting: code.is_some_and(|code| unknown.contains(&code)),
        }
    }

    fn failure(self) -> Failure {
        match self {
            Self { needs_auth: true, challenge, .. } => Fault::NeedsAuth(challenge).into(),
            Self { no_greeting: true, why, .. } => Failure::NoGreeting(why),
            Self { why, .. } => why.into(),
        }
    }
}

fn not_started(start: &Start<'_>, error: &std::io::Error) -> Fault {
    let Start { command, cwd, .. } = start;
    let hint = match error.kind() {
        std::io::ErrorKind::NotFound if !cwd.is_dir() => {
            format!(" (the directory {} does not exist)", cwd.display())
        }
        std::io::ErrorKind::NotFound => " (is it installed, and on PATH?)".to_owned(),
        _ => String::new(),
    };
    Fault::Failed(format!("`{command}` cannot be started: {error}{hint}"))
}
