//! Signing in to servers that require it (OAuth): discovery, registration, the browser, tokens and their renewal.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use hyper::header::ACCEPT;
use oauth2::TokenResponse as _;
use ona_http::callback::Callback;
use ona_http::link;
use ona_types::BoxError;
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, AuthorizationMetadata, AuthorizationRequest,
    AuthorizationSession, CredentialRefreshGuard, CredentialStore, OAuthClientConfig,
    StoredCredentials,
};
use serde_json::Value;
use tokio::sync::Mutex;
use url::Url;

use super::callbacks::{Browser, TokenStore, token_key};
use super::error::{McpError, chain};
use super::web::{NoWeb, Web, body};
use crate::spec::{OauthClient, Remote};

/// How long the human may take.
const SIGN_IN_WITHIN: Duration = Duration::from_secs(300);
/// Limits for the metadata of an authorization server: time and size.
const METADATA_WITHIN: Duration = Duration::from_secs(30);
const MAX_METADATA: usize = 256 << 10;

/// Why signing in failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthorizeError {
    /// The server cannot be asked.
    #[error(transparent)]
    Server(#[from] McpError),
    /// There is nothing to sign in to.
    #[error("the MCP server `{0}` is a program on this machine; there is nothing to sign in to")]
    NotRemote(String),
    /// The server requires no sign-in.
    #[error("the MCP server `{0}` needs no sign-in")]
    NotNeeded(String),
    /// The callback port cannot be used.
    #[error(
        "cannot listen on port {port}: {why}; end the process that uses it, or set another callbackPort"
    )]
    Port {
        /// The port.
        port: u16,
        /// Why not.
        why: String,
    },
    /// The authorization server refuses or is not usable.
    #[error("sign-in to `{server}` failed: {why}")]
    Refused {
        /// The server.
        server: String,
        /// Why not.
        why: String,
    },
    /// The human was not sent to the authorization server.
    #[error("the browser could not be opened: {0}")]
    Browser(String),
    /// The human, or the authorization server, said no.
    #[error("the sign-in was refused: {0}")]
    Denied(String),
    /// The human did not come back.
    #[error("the sign-in was not completed in the browser within {} minutes", SIGN_IN_WITHIN.as_secs() / 60)]
    TooLate,
}

/// What is kept of a sign-in beside what the library knows of: the secret of the client that it was made with, without
/// which no token of such a client is renewed.
const CLIENT_SECRET: &str = "client_secret";

/// The tokens of one server, in the words of the library.
struct Kept {
    store: Arc<dyn TokenStore>,
    key: String,
    client_secret: Option<String>,
    /// The access token that was read last.
    seen: std::sync::Mutex<Option<String>>,
}

/// What the library passes on if another process has just renewed the token: the stored one is good.
const RENEWED: &str = "the token was renewed by another process";

impl Kept {
    fn new(store: &Arc<dyn TokenStore>, key: String, client_secret: Option<String>) -> Self {
        Self { store: Arc::clone(store), key, client_secret, seen: std::sync::Mutex::default() }
    }

    fn last_seen(&self) -> std::sync::MutexGuard<'_, Option<String>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls the store on a thread that may block.
    async fn with<T: Send + 'static>(
        &self,
        what: impl FnOnce(&dyn TokenStore, &str) -> Result<T, BoxError> + Send + 'static,
    ) -> Result<T, AuthError> {
        let (store, key) = (Arc::clone(&self.store), self.key.clone());
        let done = tokio::task::spawn_blocking(move || what(&*store, &key)).await;
        done.map_err(|error| AuthError::CredentialStoreError(error.to_string()))?
            .map_err(|error| AuthError::CredentialStoreError(error.to_string()))
    }
}

impl Kept {
    /// The secret of the client that signed in: as settings say of it now, or as it was issued.
    async fn secret_of(
        &self,
        client: Option<&OauthClient>,
        id: &str,
    ) -> Result<Option<String>, AuthError> {
        let named = client.filter(|client| client.client_id.as_deref() == Some(id));
        if let Some(secret) = named.and_then(|client| client.client_secret.clone()) {
            return Ok(Some(secret));
        }
        let kept = self.with(|store, key| store.load(key)).await?;
        let kept: Option<Value> = kept.and_then(|kept| serde_json::from_str(&kept).ok());
        Ok(kept.and_then(|kept| Some(kept[CLIENT_SECRET].as_str()?.to_owned())))
    }
}

#[async_trait]
impl CredentialStore for Kept {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        let kept = self.with(|store, key| store.load(key)).await?;
        // Unreadable data counts as missing: the human signs in again.
        let kept: Option<StoredCredentials> =
            kept.and_then(|kept| serde_json::from_str(&kept).ok());
        *self.last_seen() = kept.as_ref().and_then(access_token);
        Ok(kept)
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        let mut kept = serde_json::to_value(&credentials)
            .map_err(|error| AuthError::CredentialStoreError(error.to_string()))?;
        if let Some(secret) = &self.client_secret {
            kept[CLIENT_SECRET] = secret.as_str().into();
        }
        let secret = kept.to_string();
        self.with(move |store, key| store.save(key, &secret)).await
    }

    async fn clear(&self) -> Result<(), AuthError> {
        self.with(|store, key| store.forget(key)).await
    }

    async fn acquire_refresh_guard(&self) -> Result<Option<CredentialRefreshGuard>, AuthError> {
        let seen = self.last_seen().clone();
        let held = self.with(|store, key| store.lock(key)).await?;
        // Whoever held it before may have done the work.
        let now = self.load().await?.as_ref().and_then(access_token);
        if seen.is_some() && now.is_some() && now != seen {
            return Err(AuthError::CredentialStoreError(RENEWED.to_owned()));
        }
        Ok(held.map(CredentialRefreshGuard::new))
    }
}

fn access_token(stored: &StoredCredentials) -> Option<String> {
    Some(stored.token_response.as_ref()?.access_token().secret().clone())
}

fn is_renewed(error: &AuthError) -> bool {
    matches!(error, AuthError::CredentialStoreError(why) if why == RENEWED)
}

/// A manager; it has to discover where to sign in, unless the settings say so.
async fn manager(remote: &Remote) -> Result<AuthorizationManager, AuthError> {
    // The manager makes its own client.
    ona_http::install_tls();
    let mut manager = AuthorizationManager::new_allowing_private_addresses(&*remote.url).await?;
    if let Some(url) = remote.oauth.as_ref().and_then(|client| client.metadata_url.as_deref()) {
        manager.set_metadata(safe(metadata_at(url).await?)?);
    }
    Ok(manager)
}

/// Metadata, if all its endpoints are protected from eavesdropping.
fn safe(metadata: AuthorizationMetadata) -> Result<AuthorizationMetadata, AuthError> {
    let places = [
        ("authorization_endpoint", Some(&metadata.authorization_endpoint)),
        ("token_endpoint", Some(&metadata.token_endpoint)),
        ("registration_endpoint", metadata.registration_endpoint.as_ref()),
    ];
    for (name, place) in places {
        let Some(place) = place else { continue };
        if !Url::parse(place).is_ok_and(|url| link::is_protected(&url)) {
            let place = place.split('?').next().unwrap_or_default();
            return Err(AuthError::MetadataError(format!(
                "its {name} is `{place}`, which must begin with https://, or with http:// on this machine"
            )));
        }
    }
    Ok(metadata)
}

/// Why an authorization server's metadata cannot be used.
#[derive(Debug, thiserror::Error)]
enum MetadataError {
    #[error(transparent)]
    Web(#[from] NoWeb),
    #[error("{}", chain(.0))]
    Http(reqwest::Error),
    #[error("the answer is too large")]
    TooLarge,
    #[error("the answer is not valid metadata: {0}")]
    Invalid(serde_json::Error),
    #[error("no answer")]
    NoAnswer,
}

/// What an authorization server tells of itself at an address that settings name.
async fn metadata_at(url: &str) -> Result<AuthorizationMetadata, AuthError> {
    // The query may contain credentials.
    let shown = url.split('?').next().unwrap_or_default();
    let failed = |why: MetadataError| AuthError::MetadataError(format!("{shown}: {why}"));
    let asked = async {
        let web = Web::new()?;
        let response = web.0.get(url).header(ACCEPT, "application/json").send().await;
        let response = response.and_then(reqwest::Response::error_for_status);
        let response = response.map_err(|error| MetadataError::Http(error.without_url()))?;
        let body = body(response, MAX_METADATA).await.map_err(MetadataError::Http)?;
        let body = body.ok_or(MetadataError::TooLarge)?;
        serde_json::from_slice(&body).map_err(MetadataError::Invalid)
    };
    let told = tokio::time::timeout(METADATA_WITHIN, asked).await;
    told.unwrap_or(Err(MetadataError::NoAnswer)).map_err(failed)
}

/// Why a stored sign-in cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SignInError {
    #[error(transparent)]
    Store(AuthError),
    #[error("the sign-in cannot be used: {}", chain(.0))]
    Unusable(AuthError),
}

/// The stored sign-in for this server, ready to use; `None` if there is none.
pub(crate) async fn signed_in(
    server: &str,
    remote: &Remote,
    store: &Arc<dyn TokenStore>,
) -> Result<Option<AuthorizationManager>, SignInError> {
    let key = token_key(server, &remote.url);
    let mut kept = Kept::new(store, key, None);
    let stored = kept.load().await.map_err(SignInError::Store)?;
    let Some(stored) = stored.filter(|stored| stored.token_response.is_some()) else {
        return Ok(None);
    };
    let ready = async {
        kept.client_secret = kept.secret_of(remote.oauth.as_ref(), &stored.client_id).await?;
        let secret = kept.client_secret.clone();
        let mut manager = manager(remote).await?;
        manager.set_credential_store(kept);
        if remote.oauth.as_ref().is_none_or(|client| client.metadata_url.is_none()) {
            manager.set_metadata(safe(manager.resolve_metadata().await?.metadata)?);
        }
        if !manager.initialize_from_store().await? {
            return Ok(None);
        }
        if let Some(secret) = secret {
            let client = OAuthClientConfig::new(stored.client_id, &remote.url);
            manager.configure_client(client.with_client_secret(secret))?;
        }
        Ok(Some(manager))
    };
    ready.await.map_err(SignInError::Unusable)
}

/// Tokens for requests that are not the library's own.
pub(crate) struct Tokens(Mutex<AuthorizationManager>);

impl Tokens {
    pub(crate) fn new(manager: AuthorizationManager) -> Self {
        Self(Mutex::new(manager))
    }

    /// The token, renewed if it is about to expire; `None` if a new sign-in is needed.
    pub(crate) async fn current(&self) -> Result<Option<String>, AuthError> {
        let manager = self.0.lock().await;
        let mut token = manager.get_access_token().await;
        if token.as_ref().is_err_and(is_renewed) {
            token = manager.get_access_token().await;
        }
        match token {
            Ok(token) => Ok(Some(token)),
            Err(AuthError::AuthorizationRequired) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// A new token in place of one that the server refused.
    pub(crate) async fn renewed(&self, old: &str) -> Result<Option<String>, AuthError> {
        let manager = self.0.lock().await;
        match manager.refresh_token().await {
            Ok(_) => {}
            Err(AuthError::AuthorizationRequired | AuthError::TokenRefreshRejected(_)) => {
                return Ok(None);
            }
            Err(error) if is_renewed(&error) => {}
            Err(error) => return Err(error),
        }
        let token = manager.get_access_token().await?;
        Ok(Some(token).filter(|token| token != old))
    }
}

/// Signs in: sends the human to the authorization server, and stores the tokens.
pub(crate) async fn sign_in(
    server: &str,
    remote: &Remote,
    store: &Arc<dyn TokenStore>,
    challenge: Option<&str>,
    browser: &dyn Browser,
) -> Result<(), AuthorizeError> {
    let refused =
        |error: AuthError| AuthorizeError::Refused { server: server.to_owned(), why: said(&error) };
    let client = remote.oauth.clone().unwrap_or_default();
    let port = client.callback_port.unwrap_or(0);
    let unheard = |error: std::io::Error| AuthorizeError::Port { port, why: error.to_string() };
    // Clients that were registered by hand were registered with this name.
    let host = if client.client_id.is_some() { "localhost" } else { "127.0.0.1" };
    let callback = Callback::listen(port, host).await.map_err(unheard)?;
    let back = callback.url().to_owned();

    let mut manager = manager(remote).await.map_err(refused)?;
    if client.metadata_url.is_none() {
        let found = manager.resolve_metadata_from_challenge(challenge).await.map_err(refused)?;
        // It neither requires a sign-in nor says where to sign in.
        if challenge.is_none() && !found.source.is_discovered() {
            return Err(AuthorizeError::NotNeeded(server.to_owned()));
        }
        manager.set_metadata(safe(found.metadata).map_err(refused)?);
    }
    let mut request = AuthorizationRequest::new(&back);
    let scopes = match client.scopes.is_empty() {
        true => manager.select_initial_scopes(&[]).await,
        false => client.scopes,
    };
    let (id, client_secret) = match client.client_id {
        Some(id) => (id, client.client_secret),
        None => {
            let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
            let made = manager.register_client("ona", &back, &scopes).await.map_err(refused)?;
            (made.client_id, made.client_secret)
        }
    };
    request = match scopes.is_empty() {
        true => request.with_initial_scope_selection(),
        false => request.with_scopes(scopes),
    };
    request = request.with_preregistered_client(id);
    if let Some(secret) = &client_secret {
        request = request.with_client_secret(secret);
    }
    let key = token_key(server, &remote.url);
    manager.set_credential_store(Kept::new(store, key, client_secret));
    let session =
        AuthorizationSession::new(manager, request).await.map_err(|(_, error)| refused(error))?;

    let page = session.get_authorization_url();
    let state = state_of(page).ok_or_else(|| AuthorizeError::Refused {
        server: server.to_owned(),
        why: format!("`{page}` is not the URL of a sign-in page"),
    })?;
    browser.open(page).map_err(|error| AuthorizeError::Browser(error.to_string()))?;
    let url = tokio::time::timeout(SIGN_IN_WITHIN, callback.visited(&state))
        .await
        .map_err(|_| AuthorizeError::TooLate)?
        .map_err(|why| AuthorizeError::Denied(why.to_string()))?;
    session.handle_callback_url(url.as_str()).await.map_err(refused)?;
    Ok(())
}

/// An error of the library's without what it calls itself.
fn said(error: &AuthError) -> String {
    match error {
        AuthError::RegistrationFailed(why) => {
            format!("{why}; if its operator gave you a client id, put it into the settings")
        }
        error => chain(error),
    }
}

/// The state that a page to sign in is opened with, if it is a page.
fn state_of(page: &str) -> Option<String> {
    let page = Url::parse(page).ok().filter(|page| ["http", "https"].contains(&page.scheme()))?;
    let state = page.query_pairs().find(|(key, _)| key == "state")?;
    Some(state.1.into_owned())
}
