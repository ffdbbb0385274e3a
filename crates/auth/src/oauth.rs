//! The sign-in (S0 §2.7, A3): OAuth with PKCE, renewal and revocation. What it gives is a [`Login`], which the operator's
//! vault keeps.

use std::pin::Pin;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use oauth2::basic::{
    BasicErrorResponse, BasicErrorResponseType, BasicRevocationErrorResponse,
    BasicTokenIntrospectionResponse, BasicTokenType,
};
use oauth2::{
    AsyncHttpClient, AuthType, AuthUrl, AuthorizationCode, Client, ClientId, CsrfToken,
    ExtraTokenFields, HttpRequest, HttpResponse, PkceCodeChallenge, PkceCodeVerifier, RedirectUrl,
    RefreshToken, RequestTokenError, Scope, StandardRevocableToken, StandardTokenResponse,
    TokenResponse as _, TokenUrl,
};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use url::Url;
use zeroize::Zeroize as _;

use crate::error::VaultError;
use crate::vault::{Kept, Vault};

/// The name of the login in the vault.
const NAME: &str = "login";
/// How long a request to the authorization server may take at most.
pub const ANSWER_WITHIN: Duration = Duration::from_secs(30);
/// The limit for its answer.
const MAX_ANSWER: usize = 256 * 1024;
/// A token that ends within this time is renewed before it is used.
const MARGIN: u64 = 60;

/// The authorization server, and the client that ona is to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OauthConfig {
    /// Who ona is.
    pub client_id: String,
    /// Where the human signs in.
    pub authorize_url: Url,
    /// Where tokens are issued.
    pub token_url: Url,
    /// Where they are revoked, if that is offered.
    pub revoke_url: Option<Url>,
    /// Where the human is shown a code to paste.
    pub code_redirect_url: Url,
    /// What is asked for.
    pub scopes: Vec<String>,
    /// How long a request to the server may take.
    pub answer_within: Duration,
}

/// A login, as it is kept.
#[derive(Clone, Serialize, Deserialize)]
pub struct Login {
    access_token: String,
    refresh_token: Option<String>,
    /// When the access token ends, in seconds since 1970.
    pub expires_at: Option<u64>,
    /// What was granted.
    pub scopes: Vec<String>,
    /// Whose it is.
    pub account: Option<String>,
}

impl Drop for Login {
    fn drop(&mut self) {
        self.access_token.zeroize();
        self.refresh_token.zeroize();
    }
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Login").field("account", &self.account).finish_non_exhaustive()
    }
}

impl Login {
    /// The token to send.
    pub fn token(&self) -> SecretString {
        SecretString::from(self.access_token.as_str())
    }

    /// Everything in it that must not be shown.
    pub fn secrets(&self) -> Vec<String> {
        std::iter::once(self.access_token.clone()).chain(self.refresh_token.clone()).collect()
    }

    /// Whether the token is about to end.
    pub fn ends_soon(&self) -> bool {
        self.expires_at.is_some_and(|end| end < now() + MARGIN)
    }
}

/// Why there is no login.
#[derive(Debug, thiserror::Error)]
pub enum OauthError {
    /// The authorization server says no.
    #[error("the authorization server refuses it: {0}")]
    Refused(String),
    /// The login has ended.
    #[error("the login has ended")]
    Ended,
    /// The server cannot be asked.
    #[error("the authorization server cannot be reached: {0}")]
    Unreachable(String),
    /// The server's answer is none.
    #[error("the answer of the authorization server cannot be used: {0}")]
    Answer(String),
    /// The vault cannot be used.
    #[error(transparent)]
    Vault(#[from] VaultError),
}

/// What the token answer may say besides.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct More {
    account: Option<Account>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Account {
    email_address: Option<String>,
}

impl ExtraTokenFields for More {}

type Answer = StandardTokenResponse<More, BasicTokenType>;

/// A sign-in that has begun.
pub struct SignIn {
    config: OauthConfig,
    redirect: String,
    verifier: PkceCodeVerifier,
    /// Where the human is sent.
    pub url: Url,
    /// What comes back with the code.
    pub state: String,
}

fn client(
    config: &OauthConfig,
) -> Client<
    BasicErrorResponse,
    Answer,
    BasicTokenIntrospectionResponse,
    StandardRevocableToken,
    BasicRevocationErrorResponse,
    oauth2::EndpointSet,
    oauth2::EndpointNotSet,
    oauth2::EndpointNotSet,
    oauth2::EndpointNotSet,
    oauth2::EndpointSet,
> {
    Client::new(ClientId::new(config.client_id.clone()))
        .set_auth_type(AuthType::RequestBody)
        .set_auth_uri(AuthUrl::from_url(config.authorize_url.clone()))
        .set_token_uri(TokenUrl::from_url(config.token_url.clone()))
}

impl SignIn {
    /// Begins one: the human comes back to `redirect`.
    pub fn begin(config: &OauthConfig, redirect: &str) -> Result<Self, OauthError> {
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let url = RedirectUrl::new(redirect.to_owned());
        let url = url.map_err(|error| OauthError::Answer(error.to_string()))?;
        let client = client(config).set_redirect_uri(url);
        let scopes = config.scopes.iter().cloned().map(Scope::new);
        let asked = client.authorize_url(CsrfToken::new_random).add_scopes(scopes);
        let (url, state) = asked.set_pkce_challenge(challenge).url();
        let (config, redirect) = (config.clone(), redirect.to_owned());
        Ok(Self { config, redirect, verifier, url, state: state.secret().clone() })
    }

    /// Redeems the code that came back.
    pub async fn redeem(self, code: &str) -> Result<Login, OauthError> {
        let url = RedirectUrl::new(self.redirect);
        let url = url.map_err(|error| OauthError::Answer(error.to_string()))?;
        let client = client(&self.config).set_redirect_uri(url);
        let answer = client
            .exchange_code(AuthorizationCode::new(code.to_owned()))
            .set_pkce_verifier(self.verifier)
            .request_async(&Http::new(self.config.answer_within)?)
            .await;
        Ok(login(&answer.map_err(failure)?, &self.config.scopes, None))
    }
}

/// A new token in place of an old one.
pub async fn renew(config: &OauthConfig, old: &Login) -> Result<Login, OauthError> {
    let refresh = old.refresh_token.clone().ok_or(OauthError::Ended)?;
    let refresh = RefreshToken::new(refresh);
    let client = client(config);
    let answer = client
        .exchange_refresh_token(&refresh)
        .request_async(&Http::new(config.answer_within)?)
        .await;
    Ok(login(&answer.map_err(failure)?, &old.scopes, Some(old)))
}

/// Tells the server that the login is over, if it wants to know.
pub async fn revoke(config: &OauthConfig, login: &Login) -> Result<(), OauthError> {
    let (Some(url), Some(token)) = (&config.revoke_url, &login.refresh_token) else {
        return Ok(());
    };
    // Not by the library, which refuses a server on loopback.
    let body = url::form_urlencoded::Serializer::new(String::new())
        .append_pair("token", token)
        .append_pair("token_type_hint", "refresh_token")
        .append_pair("client_id", &config.client_id)
        .finish();
    Http::new(config.answer_within)?.post(url, body).await
}

fn login(answer: &Answer, scopes: &[String], old: Option<&Login>) -> Login {
    let granted = answer.scopes().map(|all| all.iter().map(|one| one.to_string()).collect());
    let account = answer.extra_fields().account.as_ref();
    let account = account.and_then(|account| account.email_address.clone());
    let refresh = answer.refresh_token().map(|token| token.secret().clone());
    Login {
        access_token: answer.access_token().secret().clone(),
        refresh_token: refresh.or_else(|| old.and_then(|old| old.refresh_token.clone())),
        expires_at: answer.expires_in().map(|lasts| now() + lasts.as_secs()),
        scopes: granted.unwrap_or_else(|| scopes.to_vec()),
        account: account.or_else(|| old.and_then(|old| old.account.clone())),
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

fn failure(error: RequestTokenError<HttpError, BasicErrorResponse>) -> OauthError {
    match error {
        RequestTokenError::ServerResponse(said) => match said.error() {
            BasicErrorResponseType::InvalidGrant => OauthError::Ended,
            other => OauthError::Refused(shortened(&match said.error_description() {
                Some(why) => format!("{other}: {why}"),
                None => other.to_string(),
            })),
        },
        RequestTokenError::Request(error) => OauthError::Unreachable(error.to_string()),
        RequestTokenError::Parse(error, _) => OauthError::Answer(error.to_string()),
        RequestTokenError::Other(why) => OauthError::Answer(shortened(&why)),
    }
}

/// A text of the server's, as it can be shown.
fn shortened(text: &str) -> String {
    ona_types::whole_words(&text.replace(char::is_control, " "), 300).to_owned()
}

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
enum HttpError {
    #[error("{0}")]
    Request(reqwest::Error),
    #[error("its answer is larger than {MAX_ANSWER} bytes")]
    TooLarge,
}

/// The way to the server. No redirect is followed.
struct Http(reqwest::Client);

impl Http {
    fn new(answer_within: Duration) -> Result<Self, OauthError> {
        let client = ona_http::client()
            .user_agent(concat!("ona/", env!("CARGO_PKG_VERSION")))
            .timeout(answer_within)
            .redirect(reqwest::redirect::Policy::none())
            .build();
        client.map(Self).map_err(|error| OauthError::Unreachable(error.without_url().to_string()))
    }

    async fn post(&self, url: &Url, form: String) -> Result<(), OauthError> {
        let sent = self.0.post(url.clone());
        let sent = sent.header("content-type", "application/x-www-form-urlencoded").body(form);
        let answer = sent.send().await.and_then(reqwest::Response::error_for_status);
        answer.map(drop).map_err(|error| OauthError::Unreachable(error.without_url().to_string()))
    }

    async fn ask(&self, request: HttpRequest) -> Result<HttpResponse, reqwest::Error> {
        let mut response = self.0.execute(reqwest::Request::try_from(request)?).await?;
        let mut made = HttpResponse::new(Vec::new());
        *made.status_mut() = response.status();
        *made.headers_mut() = response.headers().clone();
        while let Some(chunk) = response.chunk().await? {
            made.body_mut().extend_from_slice(&chunk);
            if made.body().len() > MAX_ANSWER {
                break;
            }
        }
        Ok(made)
    }
}

impl<'c> AsyncHttpClient<'c> for Http {
    type Error = HttpError;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'c>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(async move {
            let answer = self.ask(request).await;
            let answer = answer.map_err(|error| HttpError::Request(error.without_url()))?;
            if answer.body().len() > MAX_ANSWER {
                return Err(HttpError::TooLarge);
            }
            Ok(answer)
        })
    }
}

/// The login that is kept.
pub fn stored(vault: &Vault) -> Result<Option<Login>, VaultError> {
    let secret = vault.get(NAME)?;
    // What is no login counts as none: the human signs in again.
    Ok(secret.and_then(|secret| serde_json::from_str(secret.expose_secret()).ok()))
}

/// Keeps a login in place of the one before.
pub fn keep(vault: &Vault, login: &Login) -> Result<Kept, VaultError> {
    let text = serde_json::to_string(login).unwrap_or_default();
    vault.put(NAME, &SecretString::from(text))
}

/// Forgets the login; false if there was none.
pub fn forget(vault: &Vault) -> Result<bool, VaultError> {
    vault.remove(NAME)
}

/// Held while the login is renewed.
pub fn renewing(vault: &Vault) -> Result<ona_files::Lock, VaultError> {
    vault.renewing(NAME)
}
