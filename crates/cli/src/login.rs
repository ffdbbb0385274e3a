//! The operator's login: its configuration, the token it gives to requests, and its end.

use std::sync::Arc;

use ona_auth::oauth::{self, ANSWER_WITHIN, Login, OauthConfig, OauthError};
use ona_auth::{Vault, VaultError};
use ona_config::settings::{Layer, OauthSettings, Settings, is_projects};
use ona_http::link;
use ona_policy::secrets::LearnedSecrets;
use ona_provider::{Credential, CredentialError, Credentials, Fetching};
use tokio::sync::Mutex;
use url::Url;

use crate::env::oauth::{OauthVariables, oauth_variables, sign_in_within};
use crate::error::CliError;

/// Why a login cannot be renewed.
const NOT_CONFIGURED: &str =
    "it cannot be renewed: set oauth.clientId in your settings, or ONA_OAUTH_CLIENT_ID";
/// How the login is called in messages.
const LOGIN: &str = "login";

/// Anthropic's own addresses.
const AUTHORIZE: &str = "https://claude.ai/oauth/authorize";
const TOKEN: &str = "https://console.anthropic.com/v1/oauth/token";
const CODE_REDIRECT: &str = "https://console.anthropic.com/oauth/code/callback";

/// What the environment and the operator's settings say of the authorization server.
pub fn oauth_config(layers: &[Layer]) -> Result<OauthConfig, CliError> {
    let operators: Vec<Layer> =
        layers.iter().filter(|layer| !is_projects(layer)).cloned().collect();
    let settings = Settings::merged(&operators).oauth.map(|oauth| (*oauth).clone());
    configured(oauth_variables()?, settings.unwrap_or_default())
}

fn configured(env: OauthVariables, settings: OauthSettings) -> Result<OauthConfig, CliError> {
    let client_id = env.client_id.or(settings.client_id).filter(|id| !id.trim().is_empty());
    let client_id = client_id.ok_or_else(|| {
        CliError::usage("no client id to sign in with")
            .hint("set oauth.clientId in your settings, or ONA_OAUTH_CLIENT_ID")
    })?;
    let address = |text: &str, name: &str, variable: &str| {
        Url::parse(text).ok().filter(link::is_protected).ok_or_else(|| {
            CliError::usage(format!("oauth.{name} (or {variable}) is not a usable address"))
                .hint("it must begin with https://, or with http:// on this machine")
        })
    };
    let authorize = env.authorize_url.or(settings.authorize_url);
    let token = env.token_url.or(settings.token_url);
    let code = env.code_redirect_url.or(settings.code_redirect_url);
    let revoke = env.revoke_url.or(settings.revoke_url);
    let revoke = revoke.map(|text| address(&text, "revokeUrl", "ONA_OAUTH_REVOKE_URL"));
    Ok(OauthConfig {
        client_id,
        authorize_url: address(
            authorize.as_deref().unwrap_or(AUTHORIZE),
            "authorizeUrl",
            "ONA_OAUTH_AUTHORIZE_URL",
        )?,
        token_url: address(token.as_deref().unwrap_or(TOKEN), "tokenUrl", "ONA_OAUTH_TOKEN_URL")?,
        revoke_url: revoke.transpose()?,
        code_redirect_url: address(
            code.as_deref().unwrap_or(CODE_REDIRECT),
            "codeRedirectUrl",
            "ONA_OAUTH_CODE_REDIRECT_URL",
        )?,
        scopes: env.scopes.or(settings.scopes).unwrap_or_default(),
        answer_within: sign_in_within()?.min(ANSWER_WITHIN),
    })
}

/// The token of a login, renewed when it is about to end.
pub struct LoginCredentials {
    vault: Vault,
    /// Nothing if the sign-in is not configured any more.
    config: Option<OauthConfig>,
    learned: LearnedSecrets,
    login: Mutex<Login>,
}

impl LoginCredentials {
    /// The login that is stored.
    pub fn new(
        vault: Vault,
        config: Option<OauthConfig>,
        learned: &LearnedSecrets,
        login: Login,
    ) -> Arc<Self> {
        learned.learn(login.secrets());
        let (learned, login) = (learned.clone(), Mutex::new(login));
        Arc::new(Self { vault, config, learned, login })
    }

    /// Renews the login, unless another process has done so. All processes together renew once.
    async fn renew(&self, old: &Login) -> Result<Login, CredentialError> {
        let vault = self.vault.clone();
        let held = tokio::task::spawn_blocking(move || {
            let held = oauth::renewing(&vault)?;
            Ok::<_, VaultError>((held, oauth::stored(&vault)?))
        });
        let held = held.await.map_err(|error| no_login(&error.to_string()))?;
        let (_held, stored) = held.map_err(|error| no_login(&error.to_string()))?;
        let stored = stored.ok_or_else(|| ended("there is no login any more"))?;
        if stored.secrets() != old.secrets() {
            return Ok(stored);
        }
        let config = self.config.as_ref().ok_or_else(|| no_login(NOT_CONFIGURED))?;
        let new = oauth::renew(config, &stored).await.map_err(|error| match error {
            OauthError::Ended => ended("the login has ended"),
            error => no_login(&error.to_string()),
        })?;
        self.learned.learn(new.secrets());
        oauth::keep(&self.vault, &new).map_err(|error| no_login(&error.to_string()))?;
        Ok(new)
    }
}

fn no_login(why: &str) -> CredentialError {
    CredentialError { source_name: LOGIN.to_owned(), reason: why.to_owned() }
}

fn ended(why: &str) -> CredentialError {
    no_login(&format!("{why}; run `ona auth login`"))
}

impl Credentials for LoginCredentials {
    fn credential(&self) -> Fetching<'_, Credential> {
        Box::pin(async {
            let mut login = self.login.lock().await;
            if login.ends_soon() {
                *login = self.renew(&login).await?;
            }
            Ok(Credential::Bearer(login.token()))
        })
    }

    fn refused(&self) -> Fetching<'_, bool> {
        Box::pin(async {
            let mut login = self.login.lock().await;
            *login = self.renew(&login).await?;
            Ok(true)
        })
    }

    fn source(&self) -> &str {
        LOGIN
    }
}
