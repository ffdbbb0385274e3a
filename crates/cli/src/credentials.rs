//! The credential for a model: what the environment and the operator's settings give, in the order of
//! [`ona_auth::sources`].

use std::path::Path;
use std::sync::Arc;

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
use crate::output::complain;

/// What credentials there are.
pub struct Available {
    provider: ProviderKind,
    env: Models,
    helper: Option<String>,
    bare: bool,
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
        }
        if provider == ProviderKind::ClaudeCodeSubscription && !bare {
            env.oauth_descriptor =
                oauth_descriptor()?.map(|token| token.expose_secret().to_owned());
        }
        let helper = helper.filter(|command| !command.trim().is_empty());
        Ok(Self { provider, env, helper, bare })
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

    fn is_there(&self, source: Source) -> bool {
        match source {
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
        let Some(row) = self.active() else { return Ok(None) };
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
                    lasts,
                    learned: learned.clone(),
                    notice: Arc::new(|text| complain(&format!("{text}\n"))),
                }))
            }
        }))
    }

    /// What there is, in words that hold no secret.
    pub fn status(&self) -> Value {
        let active = self.active();
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
            "expiry": null,
            "account": null,
            "scopes": [],
            "sources": rows.collect::<Vec<_>>(),
        })
    }
}

fn merged<'l>(layers: impl Iterator<Item = &'l Layer>) -> Settings {
    Settings::merged(&layers.cloned().collect::<Vec<_>>())
}
