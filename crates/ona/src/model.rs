//! The provider and model that the command line, the environment and the settings choose, and the connection to them.

use std::sync::Arc;

use ona_engine::{EffortSetting, FindModel, ModelHandle};
use ona_provider::{
    Aliases, Client, Credential, Fixed, Model, ModelError, ProviderKind, Retry, Transport, allowed,
    resolve,
};
use ona_types::Effort;
use serde_json::Value;

use crate::agent_args::AgentArgs;
use crate::env::model::{Models, models, transport};
use crate::error::CliError;
use crate::output::complain;

/// The default provider and model.
const DEFAULT: (ProviderKind, &str) = (ProviderKind::ClaudeCodeSubscription, "claude_sonnet_4");
/// The default output limit in tokens, even if the model could write more.
const MAX_OUTPUT: u32 = 32_000;
/// The output limit of a model whose own limit is unknown.
const UNKNOWN_OUTPUT: u32 = 8_192;

/// The address where no model is called.
const NOWHERE: &str = "http://localhost";

const ALLOWED: &str = "`ona help cold-start` shows each provider";

/// Everything about the model; wrong configuration shows here, before anything is sent.
pub fn model_handle(
    args: &AgentArgs,
    settings: &Value,
    last: Option<&(String, String)>,
) -> Result<ModelHandle, CliError> {
    let mut env = models()?;
    if args.bare {
        // S0 §2.7, A7.
        env.anthropic_token = None;
    }
    let chosen = args.model.is_some() || args.provider.is_some() || env.model.is_some();
    let before = last.filter(|_| !chosen).and_then(|last| asked_before(last, &env, settings));
    let model = before.map_or_else(|| model(args, &env, settings), Ok)?;
    let (credential, source, transport) = match way(model.provider, &env) {
        // Only hooks run and no model is called, so missing credentials do not matter.
        Err(_) if args.init_only => (Credential::None, "none", Transport::to(NOWHERE)),
        found => found?,
    };
    let retry = Retry {
        max_retries: env.max_retries.unwrap_or_else(|| Retry::default().max_retries),
        ..Retry::default()
    };
    let credentials = Arc::new(Fixed::new(source, credential));
    let client = Client::new(model.provider, &transport, credentials, retry)
        .map_err(|error| CliError::usage(error.to_string()).hint(ALLOWED))?;
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
    let thinking = env.thinking.and_then(|budget| thinking(budget, &model, max_output));
    let (provider, lm_model) = (model.provider, env.lm_model.clone());
    let aliases = aliases(&env, settings).map_err(wrong)?;
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
fn wish(given: Option<Effort>, settings: &Value) -> EffortSetting {
    given.map_or_else(
        || EffortSetting::Open(settings["effortLevel"].as_str().and_then(|word| word.parse().ok())),
        EffortSetting::Fixed,
    )
}

/// The model that a session was last answered by, if it is still one of those that can be asked.
fn asked_before(
    (provider, wire): &(String, String),
    env: &Models,
    settings: &Value,
) -> Option<Model> {
    let provider: ProviderKind = provider.parse().ok()?;
    let aliases = aliases(env, settings).ok()?;
    resolve(provider, wire, &aliases, env.lm_model.as_deref()).ok()
}

/// Command line, then environment, then settings, then ona's own choice.
fn model(args: &AgentArgs, env: &Models, settings: &Value) -> Result<Model, CliError> {
    let name = args.model.as_deref().or(env.model.as_deref());
    chosen(args.provider.as_deref(), name, env, settings).map_err(wrong)
}

fn wrong(error: String) -> CliError {
    CliError::usage(error).hint(ALLOWED)
}

/// The model that these name, or else the settings.
fn chosen(
    provider: Option<&str>,
    name: Option<&str>,
    env: &Models,
    settings: &Value,
) -> Result<Model, String> {
    let config = &settings["model_config"];
    let provider = match provider.or(config["provider"].as_str()) {
        Some(name) => Some(name.parse::<ProviderKind>().map_err(|error| error.to_string())?),
        None => None,
    };
    let aliases = aliases(env, settings)?;
    let name = name.or(config["model_id"].as_str()).or(settings["model"].as_str());
    let lm_model = env.lm_model.as_deref();
    let resolved = match (provider, name) {
        (Some(provider), Some(name)) => resolve(provider, name, &aliases, lm_model),
        (Some(provider), None) => resolve(provider, first_of(provider), &aliases, lm_model),
        (None, Some(name)) => {
            // A name says whose it is: the ids of S0 §2.2 are all different.
            let found = ProviderKind::ALL
                .iter()
                .find_map(|(kind, _)| resolve(*kind, name, &aliases, lm_model).ok());
            found.map_or_else(|| resolve(DEFAULT.0, name, &aliases, lm_model), Ok)
        }
        (None, None) => resolve(DEFAULT.0, DEFAULT.1, &aliases, lm_model),
    };
    resolved.map_err(|error| error.to_string())
}

fn aliases(env: &Models, settings: &Value) -> Result<Aliases, String> {
    let mut aliases = Aliases::default();
    for (word, wire) in settings["model_aliases"].as_object().into_iter().flatten() {
        let wire = wire
            .as_str()
            .ok_or_else(|| format!("model_aliases: `{word}` must be a wire name of a model"))?;
        aliases.set(word, wire).map_err(|error| error.to_string())?;
    }
    for (word, wire) in &env.aliases {
        aliases.set(word, wire).map_err(|error| error.to_string())?;
    }
    Ok(aliases)
}

/// Refuses a setting about models that no start would take, whatever else is set. What only does not go together
/// with the other settings, which may be about to change, is said.
pub fn check_setting(settings: &Value, key: &[&str]) -> Result<Option<String>, CliError> {
    let env = models()?;
    let name = match key {
        ["model"] => &settings["model"],
        ["model_config", ..] => &settings["model_config"]["model_id"],
        ["model_aliases", ..] => &Value::Null,
        _ => return Ok(None),
    };
    let aliases = match (aliases(&env, settings), key) {
        (Err(error), ["model_aliases", ..]) => return Err(wrong(error)),
        (found, _) => found.unwrap_or_default(),
    };
    if let (["model_config", ..], Some(provider)) =
        (key, settings["model_config"]["provider"].as_str())
    {
        provider.parse::<ProviderKind>().map_err(|error| wrong(error.to_string()))?;
    }
    if let Some(name) = name.as_str().filter(|name| !knows(name, &aliases, &env)) {
        let all = ProviderKind::ALL.map(|(kind, word)| format!("{word}: {}", allowed(kind)));
        return Err(CliError::usage(format!("unknown model `{name}`"))
            .hint(all.join("; "))
            .hint("model_aliases maps an id to another wire name"));
    }
    Ok(chosen(None, None, &env, settings).err())
}

/// Whether some provider has a model of this name.
pub fn is_model(name: &str, settings: &Value) -> bool {
    let Ok(env) = models() else { return true };
    knows(name, &aliases(&env, settings).unwrap_or_default(), &env)
}

fn knows(name: &str, aliases: &Aliases, env: &Models) -> bool {
    let found = |kind| resolve(kind, name, aliases, env.lm_model.as_deref());
    let known = |kind| !matches!(found(kind), Err(ModelError::Unknown { .. }));
    ProviderKind::ALL.iter().any(|(kind, _)| known(*kind))
}

fn first_of(provider: ProviderKind) -> &'static str {
    match provider {
        ProviderKind::ClaudeCodeSubscription => DEFAULT.1,
        ProviderKind::OpenAiCompatible => "gpt_4o",
        ProviderKind::LmStudioLocal => "lm_studio_server_routed",
    }
}

/// S0 §2.3: the credential, where it comes from, and the way.
fn way(
    provider: ProviderKind,
    env: &Models,
) -> Result<(Credential, &'static str, Transport), CliError> {
    let missing = |what: &str| {
        CliError::usage(format!("{provider} needs {what}, which is not set")).hint(ALLOWED)
    };
    let or =
        |url: &Option<String>, default: &str| url.clone().unwrap_or_else(|| default.to_owned());
    Ok(match provider {
        ProviderKind::ClaudeCodeSubscription => {
            let (credential, source) = match (&env.anthropic_token, &env.anthropic_key) {
                (Some(token), _) => {
                    (Credential::Bearer(token.as_str().into()), "ANTHROPIC_AUTH_TOKEN")
                }
                (None, Some(key)) => (Credential::ApiKey(key.as_str().into()), "ANTHROPIC_API_KEY"),
                (None, None) => return Err(missing("ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN")),
            };
            let url = or(&env.anthropic_url, "https://api.anthropic.com");
            (credential, source, transport(&url, true)?)
        }
        ProviderKind::OpenAiCompatible => {
            let key = env.openai_key.as_deref().ok_or_else(|| missing("OPENAI_API_KEY"))?;
            let url = env.openai_url.as_deref().ok_or_else(|| missing("OPENAI_BASE_URL"))?;
            (Credential::ApiKey(key.into()), "OPENAI_API_KEY", transport(url, false)?)
        }
        ProviderKind::LmStudioLocal => {
            let key = or(&env.lm_key, "lm-studio");
            let url = or(&env.lm_url, "http://127.0.0.1:1234/v1");
            (Credential::ApiKey(key.into()), "LM_STUDIO_API_KEY", transport(&url, false)?)
        }
    })
}
