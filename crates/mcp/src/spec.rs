//! The specification of a server to connect to: variables are expanded, scopes are merged.

use std::path::PathBuf;
use std::time::Duration;

/// How long a call may take (S0 §7.1).
pub const CALL_TIMEOUT: Duration = Duration::from_millis(120_000);
/// How long a server may take until it is ready.
pub const START_TIMEOUT: Duration = Duration::from_secs(30);

/// A server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSpec {
    /// What it is called in settings, and in the names of its tools.
    pub name: String,
    /// How it is reached.
    pub way: Way,
    /// How long a call may take.
    pub call_timeout: Duration,
    /// How long it may take to be ready.
    pub start_timeout: Duration,
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// It is a program, and speaks on its standard streams.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables it gets beside those of ona itself.
        env: Vec<(String, String)>,
        /// Where it runs.
        cwd: PathBuf,
    },
    /// It listens at an address, with streamable HTTP.
    Http(Remote),
    /// It listens at an address, with the HTTP+SSE of protocol 2024-11-05.
    Sse(Remote),
}

/// A server at an address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remote {
    /// The address.
    pub url: String,
    /// Headers of every request.
    pub headers: Vec<(String, String)>,
    /// A command that prints further headers as a JSON object; it runs in the project.
    pub headers_helper: Option<String>,
    /// How ona identifies itself to the authorization server, where that is settled beforehand.
    pub oauth: Option<OauthClient>,
}

/// A client that was registered by hand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OauthClient {
    /// Its id; without, ona registers itself.
    pub client_id: Option<String>,
    /// Its secret, if it was given one.
    pub client_secret: Option<String>,
    /// The port of the redirect address; any free one if it is not fixed.
    pub callback_port: Option<u16>,
    /// Scopes to ask for; those the server names if there are none.
    pub scopes: Vec<String>,
    /// Where the authorization server tells of itself; found by asking the server if it is not said.
    pub metadata_url: Option<String>,
}
