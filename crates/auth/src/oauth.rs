//! The sign-in (S0 §2.7, A3): OAuth with PKCE, renewal and revocation. What it gives is a [`Login`], which the operator's
//! vault keeps.

mod http;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use oauth2::basic::{
    BasicErrorResponse, BasicErrorResponseType, BasicRevocationErrorResponse,
    BasicTokenIntrospectionResponse, BasicTokenType,
};
use oauth2::{
    AuthType, AuthUrl, AuthorizationCode, Client, ClientId, CsrfToken, ExtraTokenFields,
    PkceCodeChallenge, PkceCodeVerifier, RedirectUrl, RefreshToken, RequestTokenError, Scope,
    StandardRevocableToken, StandardTokenResponse, TokenResponse as _, TokenUrl,
};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use url::Url;
use zeroize::Zeroize as _;

use self::http::{Http, HttpError};
use crate::error::VaultError;
use crate::is_usable;
use crate::vault::{Kept, Renewal, Vault};

/// The name of the login in the vault.
const NAME: &str = "login";
/// How long a request to the authorization server may take at most.
pub const ANSWER_WITHIN: Duration = Duration::from_secs(30);
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
    /// Whether the server has refused to renew it.
    #[serde(default)]
    refused: bool,
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

    /// Whether it came with a refresh token.
    pub fn has_refresh_token(&self) -> bool {
        self.refresh_token.is_some()
    }

    /// Whether it can be renewed, as far as is known.
    pub fn is_renewable(&self) -> bool {
        self.has_refresh_token() && !self.refused
    }

    /// Whether it must be renewed before it is used: it has ended or is about to, and there is a way.
    pub fn is_due(&self) -> bool {
        self.refresh_token.is_some() && self.expires_at.is_some_and(|end| end < now() + MARGIN)
    }

    /// Whether it is of no use any more.
    pub fn has_ended(&self) -> bool {
        !self.is_renewable() && (self.refused || self.expires_at.is_some_and(|end| end <= now()))
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
    #[error("the authorization server cannot be reached ({url}): {why}")]
    Unreachable {
        /// Where it is.
        url: String,
        /// Why not.
        why: String,
    },
    /// The server's answer is none.
    #[error("the answer of the authorization server ({url}) cannot be used: {why}")]
    Answer {
        /// Where it is.
        url: String,
        /// Why not.
        why: String,
    },
    /// No request can be made.
    #[error("no request can be made: {0}")]
    Request(String),
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
        let url = url.map_err(|error| OauthError::Request(error.to_string()))?;
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
        let url = url.map_err(|error| OauthError::Request(error.to_string()))?;
        let client = client(&self.config).set_redirect_uri(url);
        let answer = client
            .exchange_code(AuthorizationCode::new(code.to_owned()))
            .set_pkce_verifier(self.verifier)
            .request_async(&Http::new(self.config.answer_within)?)
            .await;
        let url = &self.config.token_url;
        let answer = answer.map_err(|error| match failure(error, url) {
            // Of a code, which no login is made of yet.
            Failure::InvalidGrant(why) => OauthError::Refused(why),
            Failure::Other(error) => error,
        })?;
        login(&answer, &self.config, None)
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
    let answer = answer.map_err(|error| match failure(error, &config.token_url) {
        Failure::InvalidGrant(_) => OauthError::Ended,
        Failure::Other(error) => error,
    })?;
    login(&answer, config, Some(old))
}

/// Tells the server that the login is over; false if it does not want to know.
pub async fn revoke(config: &OauthConfig, login: &Login) -> Result<bool, OauthError> {
    let (Some(url), Some(token)) = (&config.revoke_url, &login.refresh_token) else {
        return Ok(false);
    };
    // Not by the library, which refuses a server on loopback.
    let body = url::form_urlencoded::Serializer::new(String::new())
        .append_pair("token", token)
        .append_pair("token_type_hint", "refresh_token")
        .append_pair("client_id", &config.client_id)
        .finish();
    let http = Http::new(config.answer_within)?;
    http.post(url, body).await.map(|()| true).map_err(|error| unreached(&error, url))
}

/// The login that an answer brings. What it does not say stays as it was.
fn login(answer: &Answer, config: &OauthConfig, old: Option<&Login>) -> Result<Login, OauthError> {
    let unusable = |why: &str| {
        let (url, why) = (config.token_url.to_string(), why.to_owned());
        Err(OauthError::Answer { url, why })
    };
    if !matches!(answer.token_type(), BasicTokenType::Bearer) {
        return unusable("its token is not a bearer token");
    }
    if !is_usable(answer.access_token().secret()) {
        return unusable("its access token is empty, too long or not printable");
    }
    let scopes = old.map_or(&config.scopes, |old| &old.scopes);
    let granted = answer.scopes().map(|all| all.iter().map(|one| one_line(one)).collect());
    let account = answer.extra_fields().account.as_ref();
    let account = account.and_then(|account| account.email_address.as_deref().map(one_line));
    let refresh = answer.refresh_token().map(|token| token.secret().clone());
    Ok(Login {
        access_token: answer.access_token().secret().clone(),
        refresh_token: refresh.or_else(|| old.and_then(|old| old.refresh_token.clone())),
        expires_at: answer.expires_in().map(|lasts| now().saturating_add(lasts.as_secs())),
        scopes: granted.unwrap_or_else(|| scopes.clone()),
        account: account.or_else(|| old.and_then(|old| old.account.clone())),
        refused: false,
    })
}

/// A text of the server as part of a line.
fn one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Why a request for a token failed.
enum Failure {
    /// The server does not know the code or the refresh token.
    InvalidGrant(String),
    Other(OauthError),
}

fn failure(error: RequestTokenError<HttpError, BasicErrorResponse>, url: &Url) -> Failure {
    let unusable = |why: String| OauthError::Answer { url: url.to_string(), why };
    Failure::Other(match error {
        RequestTokenError::ServerResponse(said) => {
            let text = shortened(&match said.error_description() {
                Some(why) => format!("{}: {why}", said.error()),
                None => said.error().to_string(),
            });
            match said.error() {
                BasicErrorResponseType::InvalidGrant => return Failure::InvalidGrant(text),
                _ => OauthError::Refused(text),
            }
        }
        RequestTokenError::Request(error) => unreached(&error, url),
        RequestTokenError::Parse(error, _) => unusable(error.to_string()),
        RequestTokenError::Other(why) => unusable(shortened(&why)),
    })
}

fn unreached(error: &HttpError, url: &Url) -> OauthError {
    let (url, why) = (url.to_string(), error.to_string());
    match error {
        HttpError::Failed(_) | HttpError::Late(_) => OauthError::Unreachable { url, why },
        HttpError::Status(_) | HttpError::TooLarge => OauthError::Answer { url, why },
    }
}

/// A text of the server's, as it can be shown.
fn shortened(text: &str) -> String {
    ona_types::whole_words(&text.replace(char::is_control, " "), 300).to_owned()
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

/// Keeps that the server has refused to renew a login.
pub fn keep_refused(vault: &Vault, login: &Login) -> Result<Kept, VaultError> {
    let mut login = login.clone();
    login.refused = true;
    keep(vault, &login)
}

/// Forgets the login; false if there was none.
pub fn forget(vault: &Vault) -> Result<bool, VaultError> {
    vault.remove(NAME)
}

/// Held while the login is renewed.
pub fn renewing(vault: &Vault) -> Result<Renewal, VaultError> {
    vault.renewing(NAME)
}
