//! The provider and model that the command line, the environment and the settings choose, and the connection to them.

use std::sync::Arc;

use ona_config::settings::Settings;
use ona_engine::{EffortSetting, FindModel, ModelAccess, ModelHandle, ModelWords, USUAL_THINKING};
use ona_provider::{
    Client, Credential, CredentialError, Credentials, Fetching, Fixed, Model, ProviderKind, Retry,
    Transport, allowed, resolve,
};
use ona_types::Effort;

use crate::agent_args::AgentArgs;
use crate::credentials::Available;
use crate::env::model::{Models, models, transport};
use crate::error::CliError;
use crate::output::complain;

/// The default output limit in tokens, even if the model could write more.
const MAX_OUTPUT: u32 = 32_000;
/// The output limit of a model whose own limit is unknown.
const UNKNOWN_OUTPUT: u32 = 8_192;

/// The address where no model is called.
const NOWHERE: &str = "http://localhost";

/// The hint for everything about providers and models.
pub(crate) const ALLOWED: &str = "`ona help cold-start` shows each provider";

/// What the command line and the environment say about the model.
pub fn model_words(args: &AgentArgs) -> Result<ModelWords, CliError> {
    Ok(words(Some(args), &models()?))
}

/// The connection to a model. Nothing is sent yet.
pub fn connect_model(
    args: &AgentArgs,
    model: Model,
    access: &ModelAccess,
) -> Result<ModelHandle, CliError> {
    let settings = &access.settings;
    let available = Available::find(model.provider, models()?, &access.layers, args.bare)?;
    let env = available.env();
    let words = words(Some(args), env);
    let (credentials, transport) = match way(model.provider, &available, access) {
        // Only hooks run and no model is called, so missing credentials do not matter.
        Err(_) if args.init_only => (nothing("none"), Transport::to(NOWHERE)),
        found => found?,
    };
    let retry = Retry {
        max_retries: env.max_retries.unwrap_or_else(|| Retry::default().max_retries),
        ..Retry::default()
    };
    let client = Client::new(model.provider, &transport, credentials, retry).map_err(wrong)?;
    let known = model.max_output.map_or(UNKNOWN_OUTPUT, |most| most.min(MAX_OUTPUT));
    let max_output = match (env.max_output, model.max_output) {
        (Some(asked), Some(most)) if asked > most => {
            complain(&format!(
                "warning: CLAUDE_CODE_MAX_OUTPUT_TOKENS is {asked}, but the limit of {} is {most}; using {most}\n",
                model.wire
            ));
            most
        }
        (asked, _) => asked.unwrap_or(known),
    };
    let thinking = match env.thinking {
        Some(0) => None,
        Some(budget) => thinking(budget, &model, max_output),
        // Not every model can: nothing is said, since the setting is for all of them.
        None if settings.always_thinking_enabled == Some(true) => {
            model.thinking(USUAL_THINKING, max_output)
        }
        None => None,
    };
    let (provider, lm_model) = (model.provider, env.lm_model.clone());
    let aliases = words.aliases(settings).map_err(wrong)?;
    let find: FindModel =
        Arc::new(move |name| resolve(provider, name, &aliases, lm_model.as_deref()));
    Ok(ModelHandle {
        client: Arc::new(client),
        max_output,
        thinking,
        effort: wish(args.effort, settings),
        model,
        find,
        side_usage: Arc::default(),
        budget: Arc::default(),
    })
}

/// A model that cannot be asked yet: every request fails with this reason.
pub fn unconnected_model(
    args: &AgentArgs,
    model: Model,
    settings: &Settings,
    reason: String,
) -> Option<ModelHandle> {
    let env = models().ok()?;
    let credentials: Arc<dyn Credentials> = Arc::new(Missing(reason));
    let client =
        Client::new(model.provider, &Transport::to(NOWHERE), credentials, Retry::default()).ok()?;
    let words = words(Some(args), &env);
    let (provider, lm_model) = (model.provider, env.lm_model);
    let aliases = words.aliases(settings).ok()?;
    let find: FindModel =
        Arc::new(move |name| resolve(provider, name, &aliases, lm_model.as_deref()));
    Some(ModelHandle {
        client: Arc::new(client),
        max_output: model.max_output.map_or(UNKNOWN_OUTPUT, |most| most.min(MAX_OUTPUT)),
        thinking: None,
        effort: wish(args.effort, settings),
        model,
        find,
        side_usage: Arc::default(),
        budget: Arc::default(),
    })
}

/// No credential, for a reason.
struct Missing(String);

impl Credentials for Missing {
    fn credential(&self) -> Fetching<'_, Credential> {
        Box::pin(async {
            Err(CredentialError { source_name: "anywhere".to_owned(), reason: self.0.clone() })
        })
    }

    fn source(&self) -> &str {
        "none"
    }
}

/// The thinking budget that the model supports; warns if it is another one than configured.
fn thinking(budget: u32, model: &Model, max_output: u32) -> Option<u32> {
    let taken = model.thinking(budget, max_output);
    let instead = match taken {
        Some(taken) if taken == budget => return Some(taken),
        Some(taken) => format!(
            "a budget must be at least 1024 and less than the {max_output} tokens of an answer; using {taken}"
        ),
        None if model.thinking(budget, u32::MAX).is_none() => {
            format!("{} does not support a thinking budget; ignored", model.wire)
        }
        None => {
            format!("an answer of {max_output} tokens leaves no room for thinking; ignored")
        }
    };
    complain(&format!("warning: MAX_THINKING_TOKENS is {budget}; {instead}\n"));
    taken
}

/// The reasoning effort.
fn wish(given: Option<Effort>, settings: &Settings) -> EffortSetting {
    given.map_or_else(
        || EffortSetting::Open(settings.effort_level.map(Effort::from)),
        EffortSetting::Fixed,
    )
}

/// What the command line and the environment say about the model.
fn words(args: Option<&AgentArgs>, env: &Models) -> ModelWords {
    let given =
        |value: fn(&AgentArgs) -> &Option<String>| args.and_then(|args| value(args).clone());
    ModelWords {
        provider: given(|args| &args.provider),
        model: given(|args| &args.model).or_else(|| args.and(env.model.clone())),
        aliases: env.aliases.clone(),
        lm_model: env.lm_model.clone(),
    }
}

fn wrong(error: impl std::fmt::Display) -> CliError {
    CliError::usage(error.to_string()).hint(ALLOWED)
}

/// Refuses a setting about models that no start would take, whatever else is set. What only does not go together
/// with the other settings, which may be about to change, is said.
pub fn check_setting(settings: &Settings, key: &[&str]) -> Result<Option<String>, CliError> {
    let env = models()?;
    let config = settings.model_config.as_deref();
    let name = match key {
        ["model"] => settings.model.as_deref(),
        ["model_config", ..] => config.and_then(|config| config.model_id.as_deref()),
        ["model_aliases", ..] => None,
        _ => return Ok(None),
    };
    let words = words(None, &env);
    if let (Err(error), ["model_aliases", ..]) = (words.aliases(settings), key) {
        return Err(wrong(error));
    }
    if let (["model_config", ..], Some(provider)) =
        (key, config.and_then(|config| config.provider.as_deref()))
    {
        provider.parse::<ProviderKind>().map_err(wrong)?;
    }
    if let Some(name) = name.filter(|name| !words.knows(name, settings)) {
        let all = ProviderKind::ALL.map(|(kind, word)| format!("{word}: {}", allowed(kind)));
        return Err(CliError::usage(format!("unknown model `{name}`"))
            .hint(all.join("; "))
            .hint("model_aliases maps an id to another wire name"));
    }
    Ok(words.choose(settings, None).err().map(|error| error.to_string()))
}

/// The provider that the options and settings choose.
pub fn provider(args: &AgentArgs, settings: &Settings) -> Result<ProviderKind, CliError> {
    let model = model_words(args)?.choose(settings, None).map_err(wrong)?;
    Ok(model.provider)
}

/// Whether some provider has a model of this name.
pub fn is_model(name: &str, settings: &Settings) -> bool {
    models().map_or(true, |env| words(None, &env).knows(name, settings))
}

/// No credential, under this name.
fn nothing(source: &str) -> Arc<dyn Credentials> {
    Arc::new(Fixed::new(source, Credential::None))
}

/// S0 §2.3: the credential, and the way.
fn way(
    provider: ProviderKind,
    available: &Available,
    access: &ModelAccess,
) -> Result<(Arc<dyn Credentials>, Transport), CliError> {
    let env = available.env();
    let missing = |what: &str| {
        CliError::usage(format!("{provider} needs {what}, which is not set")).hint(ALLOWED)
    };
    let or =
        |url: &Option<String>, default: &str| url.clone().unwrap_or_else(|| default.to_owned());
    let found = available.credentials(&access.project_dir, &access.learned)?;
    Ok(match provider {
        ProviderKind::ClaudeCodeSubscription => {
            let credentials = found.ok_or_else(|| {
                CliError::usage(format!("{provider} needs a credential, and there is none"))
                    .hint(available.how_to_get_one())
                    .hint(ALLOWED)
            })?;
            let url = or(&env.anthropic_url, "https://api.anthropic.com");
            (credentials, transport(&url, Some(env))?)
        }
        ProviderKind::OpenAiCompatible => {
            let credentials = found.ok_or_else(|| missing("OPENAI_API_KEY"))?;
            let url = env.openai_url.as_deref().ok_or_else(|| missing("OPENAI_BASE_URL"))?;
            (credentials, transport(url, None)?)
        }
        ProviderKind::LmStudioLocal => {
            let url = or(&env.lm_url, "http://127.0.0.1:1234/v1");
            // It takes any key.
            let usual = || -> Arc<dyn Credentials> {
                Arc::new(Fixed::new("LM_STUDIO_API_KEY", Credential::ApiKey("lm-studio".into())))
            };
            (found.unwrap_or_else(usual), transport(&url, None)?)
        }
    })
}
