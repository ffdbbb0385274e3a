//! The credential for a model: what the environment and the operator's settings give, in the order of
//! [`ona_auth::sources`].

use std::cell::OnceCell;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ona_auth::VaultError;
use ona_auth::oauth::Login;
use ona_auth::sources::{self, Class, Row, Source};
use ona_config::settings::{Layer, Settings, is_projects};
use ona_engine::{ApiKeyHelper, HelperOptions};
use ona_policy::Scope;
use ona_policy::secrets::LearnedSecrets;
use ona_provider::{Credential, Credentials, Fixed, ProviderKind};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use crate::env::descriptor::oauth_descriptor;
use crate::env::model::{Models, helper_times};
use crate::error::CliError;
use crate::login::{LoginCredentials, oauth_config};
use crate::output::complain;
use crate::{secrets, tokens};

/// When the operator is told that apiKeyHelper takes long.
const SLOW: Duration = Duration::from_secs(10);

/// What credentials there are.
pub struct Available {
    provider: ProviderKind,
    env: Models,
    helper: Option<String>,
    bare: bool,
    layers: Vec<Layer>,
    /// The login that is stored, once somebody wants to know.
    login: OnceCell<Result<Option<Login>, VaultError>>,
}

impl Available {
    /// What is there for a provider, with the settings in force.
    pub fn find(
        provider: ProviderKind,
        mut env: Models,
        layers: &[Layer],
        bare: bool,
    ) -> Result<Self, CliError> {
        // S0 §2.7, A7: only what the command line itself brings.
        let given = |layer: &&Layer| !bare || layer.source.scope == Scope::Cli;
        let helper = merged(layers.iter().filter(given)).api_key_helper;
        if !bare {
            let operators = merged(layers.iter().filter(|layer| !is_projects(layer)));
            env.complete(&operators.env.unwrap_or_default());
            secrets::learned().learn(env.header_secrets());
        }
        if provider == ProviderKind::ClaudeCodeSubscription && !bare {
            env.oauth_descriptor =
                oauth_descriptor()?.map(|token| token.expose_secret().to_owned());
        }
        let helper = helper.filter(|command| !command.trim().is_empty());
        Ok(Self { provider, env, helper, bare, layers: layers.to_vec(), login: OnceCell::new() })
    }

    /// The variables, completed by the operator's settings.
    pub fn env(&self) -> &Models {
        &self.env
    }

    fn rows(&self) -> &'static [Row] {
        match self.provider {
            ProviderKind::ClaudeCodeSubscription => sources::ANTHROPIC,
            ProviderKind::OpenAiCompatible => sources::OPENAI,
            ProviderKind::LmStudioLocal => sources::LM_STUDIO,
        }
    }

    fn secret(&self, source: Source) -> Option<&str> {
        let env = &self.env;
        let found = match source {
            Source::AuthToken => &env.anthropic_token,
            Source::ApiKey => &env.anthropic_key,
            Source::OauthToken => &env.oauth_token,
            Source::OauthDescriptor => &env.oauth_descriptor,
            Source::OpenAiKey => &env.openai_key,
            Source::LmStudioKey => &env.lm_key,
            Source::ApiKeyHelper | Source::Login | Source::UnixSocket => &None,
        };
        found.as_deref()
    }

    /// The login that is stored.
    fn login(&self) -> Result<Option<&Login>, &VaultError> {
        self.login.get_or_init(tokens::stored_login).as_ref().map(Option::as_ref)
    }

    /// Why it is not known whether there is a login, where that matters.
    pub fn locked(&self) -> Option<CliError> {
        let earlier = self.active().is_some_and(|row| row.source != Source::UnixSocket);
        let asked = self.provider == ProviderKind::ClaudeCodeSubscription && !self.bare && !earlier;
        let error = self.login().err().filter(|_| asked)?;
        Some(CliError::failed(error.to_string()))
    }

    fn is_there(&self, source: Source) -> bool {
        match source {
            Source::Login => self.login().is_ok_and(|login| login.is_some()),
            Source::ApiKeyHelper => self.helper.is_some(),
            Source::UnixSocket => self.env.unix_socket.is_some(),
            source => self.secret(source).is_some(),
        }
    }

    /// Whom they are for.
    pub fn provider(&self) -> ProviderKind {
        self.provider
    }

    /// Every source, and whether it is there.
    pub fn sources(&self) -> impl Iterator<Item = (&'static Row, bool)> {
        self.rows().iter().map(|row| (row, self.is_there(row.source)))
    }

    /// The source that wins.
    pub fn active(&self) -> Option<&'static Row> {
        sources::active(self.rows(), self.bare, |source| self.is_there(source))
    }

    /// The credential of the source that wins.
    pub fn credentials(
        &self,
        project_dir: &Path,
        learned: &LearnedSecrets,
    ) -> Result<Option<Arc<dyn Credentials>>, CliError> {
        if let Some(locked) = self.locked() {
            return Err(locked);
        }
        let Some(row) = self.active() else { return Ok(None) };
        if let (Source::Login, Ok(Some(login))) = (row.source, self.login()) {
            let config = oauth_config(&self.layers);
            let vault = tokens::open_vault()?;
            return Ok(Some(LoginCredentials::new(vault, config, learned, login.clone())));
        }
        let fixed = |credential: Credential| -> Arc<dyn Credentials> {
            Arc::new(Fixed::new(row.name, credential))
        };
        let secret = || self.secret(row.source).unwrap_or_default().into();
        Ok(Some(match row.class {
            Class::ApiKey => fixed(Credential::ApiKey(secret())),
            Class::Bearer | Class::Oauth => fixed(Credential::Bearer(secret())),
            Class::Proxy | Class::None => fixed(Credential::None),
            Class::ApiKeyHelper => {
                let (timeout, lasts) = helper_times()?;
                Arc::new(ApiKeyHelper::new(HelperOptions {
                    command: self.helper.clone().unwrap_or_default(),
                    dir: project_dir.to_owned(),
                    timeout,
                    slow: SLOW,
                    lasts,
                    learned: learned.clone(),
                    notice: Arc::new(|text| complain(&format!("{text}\n"))),
                }))
            }
        }))
    }

    /// The login, if it is what is used.
    pub fn active_login(&self) -> Option<&Login> {
        self.active().filter(|row| row.source == Source::Login)?;
        self.login().ok().flatten()
    }

    /// How the operator gets a credential that counts.
    pub fn how_to_get_one(&self) -> &'static str {
        match self.bare {
            true => "with --bare only ANTHROPIC_API_KEY counts, and apiKeyHelper in --settings",
            false => {
                "`ona auth login` signs in; or set ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN or apiKeyHelper"
            }
        }
    }

    /// Whether the store is locked, so that it is not known whether there is a login.
    pub fn is_locked(&self, source: Source) -> bool {
        source == Source::Login && !self.bare && self.login().is_err()
    }

    /// What there is, in words that hold no secret.
    pub fn status(&self) -> Value {
        let active = self.active();
        let login = self.active_login();
        let is_active = |row: &Row| active.is_some_and(|one| one.source == row.source);
        let rows = self.sources().map(|(row, present)| {
            json!({
                "source": row.name, "class": row.class, "present": present, "active": is_active(row),
            })
        });
        json!({
            "provider": self.provider.to_string(),
            "class": active.map_or(Class::None, |row| row.class),
            "source": active.map(|row| row.name),
            "expiry": login.and_then(|login| login.expires_at).and_then(ona_types::rfc3339),
            "account": login.and_then(|login| login.account.clone()),
            "scopes": login.map(|login| login.scopes.clone()).unwrap_or_default(),
            "sources": rows.collect::<Vec<_>>(),
        })
    }
}

fn merged<'l>(layers: impl Iterator<Item = &'l Layer>) -> Settings {
    Settings::merged(&layers.cloned().collect::<Vec<_>>())
}
