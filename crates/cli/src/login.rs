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
use crate::output::complain;

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
    /// Or why the sign-in is not configured any more.
    config: Result<OauthConfig, CliError>,
    learned: LearnedSecrets,
    login: Mutex<Login>,
}

impl LoginCredentials {
    /// The login that is stored.
    pub fn new(
        vault: Vault,
        config: Result<OauthConfig, CliError>,
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
        let held = held.await.map_err(no_login)?;
        let (held, stored) = held.map_err(no_login)?;
        let stored = stored.ok_or_else(|| ended("there is no login any more"))?;
        if stored.secrets() != old.secrets() {
            return Ok(stored);
        }
        if let Some(why) = held.failed_meanwhile() {
            return Err(no_login(why));
        }
        let config = self
            .config
            .as_ref()
            .map_err(|error| no_login(format!("it cannot be renewed: {}", error.message())))?;
        // What cannot be stored is not asked for: the server gives each refresh token once.
        oauth::keep(&self.vault, &stored).map_err(no_login)?;
        let new = match oauth::renew(config, &stored).await {
            Ok(new) => new,
            Err(OauthError::Ended) => {
                let _ = oauth::keep_refused(&self.vault, &stored);
                return Err(ended("the login has ended"));
            }
            Err(error) => {
                let why = error.to_string();
                held.failed(&why);
                return Err(no_login(why));
            }
        };
        self.learned.learn(new.secrets());
        if let Err(error) = oauth::keep(&self.vault, &new) {
            complain(&format!(
                "warning: the renewed login cannot be stored: {error}\nhint: `ona auth login` signs in again\n"
            ));
        }
        Ok(new)
    }
}

fn no_login(why: impl std::fmt::Display) -> CredentialError {
    CredentialError { source_name: LOGIN.to_owned(), reason: why.to_string() }
}

fn ended(why: &str) -> CredentialError {
    no_login(format!("{why}; run `ona auth login`"))
}

impl Credentials for LoginCredentials {
    fn credential(&self) -> Fetching<'_, Credential> {
        Box::pin(async {
            let mut login = self.login.lock().await;
            if login.is_due() {
                *login = self.renew(&login).await?;
            } else if login.has_ended() {
                return Err(ended("the login has ended, and cannot be renewed"));
            }
            Ok(Credential::Bearer(login.token()))
        })
    }

    fn refused(&self) -> Fetching<'_, bool> {
        Box::pin(async {
            let mut login = self.login.lock().await;
            if !login.has_refresh_token() {
                return Ok(false);
            }
            *login = self.renew(&login).await?;
            Ok(true)
        })
    }

    fn source(&self) -> &str {
        LOGIN
    }
}
