//! Which model a session asks: the operator's words, then the settings, then ona's own choice.

use ona_config::settings::Settings;
use ona_provider::{
    Aliases, Model, ModelError, ProviderKind, UnknownProvider, is_wire_name, resolve,
};

/// The default provider and model.
const DEFAULT: (ProviderKind, &str) = (ProviderKind::ClaudeCodeSubscription, "claude_sonnet_4");

/// What the operator says about the model, on the command line and in the environment.
#[derive(Clone, Debug, Default)]
pub struct ModelWords {
    /// The provider.
    pub provider: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// Wire names for model ids.
    pub aliases: Vec<(&'static str, String)>,
    /// The model that the local server has loaded.
    pub lm_model: Option<String>,
}

/// Why no model is chosen.
#[derive(Debug, thiserror::Error)]
pub enum ChoiceError {
    /// The provider is unknown.
    #[error(transparent)]
    Provider(#[from] UnknownProvider),
    /// The provider has no such model.
    #[error(transparent)]
    Model(#[from] ModelError),
}

impl ModelWords {
    /// The model to ask. A session that goes on keeps the provider and model of its last answer, unless the operator
    /// names others.
    pub fn choose(
        &self,
        settings: &Settings,
        last: Option<&(String, String)>,
    ) -> Result<Model, ChoiceError> {
        let named = self.provider.is_some() || self.model.is_some();
        let before = last.filter(|_| !named).and_then(|last| self.asked_before(last, settings));
        if let Some(before) = before {
            return Ok(before);
        }
        self.choose_listed(settings).or_else(|error| self.by_wire(settings).ok_or(error))
    }

    /// The model of a name that ona does not know and that can only be one on the wire (DESIGN §5, no. 8).
    fn by_wire(&self, settings: &Settings) -> Option<Model> {
        let config = settings.model_config.as_deref();
        let model_id = config.and_then(|config| config.model_id.as_deref());
        let name = match (&self.model, model_id) {
            (Some(name), _) => name,
            (None, Some(_)) => return None,
            (None, None) => settings.model.as_ref()?,
        };
        let provider = self.provider.as_deref();
        let provider = provider.or(config.and_then(|config| config.provider.as_deref()));
        let provider = provider.map_or(Some(DEFAULT.0), |provider| provider.parse().ok())?;
        is_wire_name(name).then(|| Model::by_wire(provider, name))
    }

    /// The model of the last answer, if it can still be asked.
    fn asked_before(
        &self,
        (provider, wire): &(String, String),
        settings: &Settings,
    ) -> Option<Model> {
        let provider: ProviderKind = provider.parse().ok()?;
        let aliases = self.aliases(settings).ok()?;
        let found = self.resolve(provider, wire, &aliases);
        found.ok().or_else(|| is_wire_name(wire).then(|| Model::by_wire(provider, wire)))
    }

    /// The model that the operator names, or else the settings, of those that ona knows.
    pub fn choose_listed(&self, settings: &Settings) -> Result<Model, ChoiceError> {
        let config = settings.model_config.as_deref();
        let provider = self.provider.as_deref();
        let provider = provider.or(config.and_then(|config| config.provider.as_deref()));
        let provider = provider.map(str::parse::<ProviderKind>).transpose()?;
        let aliases = self.aliases(settings)?;
        let model_id = config.and_then(|config| config.model_id.as_deref());
        let name = self.model.as_deref().or(model_id).or(settings.model.as_deref());
        let resolved = match (provider, name) {
            (Some(provider), Some(name)) => self.resolve(provider, name, &aliases),
            (Some(provider), None) => self.resolve(provider, default_of(provider), &aliases),
            (None, Some(name)) => {
                // A name says whose it is: the ids of S0 §2.2 are all different.
                let found = ProviderKind::ALL
                    .iter()
                    .find_map(|(kind, _)| self.resolve(*kind, name, &aliases).ok());
                found.map_or_else(|| self.resolve(DEFAULT.0, name, &aliases), Ok)
            }
            (None, None) => self.resolve(DEFAULT.0, DEFAULT.1, &aliases),
        };
        Ok(resolved?)
    }

    /// Wire names for model ids; the operator's count above those of the settings.
    pub fn aliases(&self, settings: &Settings) -> Result<Aliases, ModelError> {
        let mut aliases = Aliases::default();
        for (word, wire) in settings.model_aliases.iter().flatten() {
            aliases.set(word, wire)?;
        }
        for (word, wire) in &self.aliases {
            aliases.set(word, wire)?;
        }
        Ok(aliases)
    }

    /// Whether some provider has a model of this name.
    pub fn knows(&self, name: &str, settings: &Settings) -> bool {
        let aliases = self.aliases(settings).unwrap_or_default();
        let found = |kind| self.resolve(kind, name, &aliases);
        let known = |kind| !matches!(found(kind), Err(ModelError::Unknown { .. }));
        ProviderKind::ALL.iter().any(|(kind, _)| known(*kind))
    }

    fn resolve(
        &self,
        provider: ProviderKind,
        name: &str,
        aliases: &Aliases,
    ) -> Result<Model, ModelError> {
        resolve(provider, name, aliases, self.lm_model.as_deref())
    }
}

/// The model of a provider where only the provider is named.
fn default_of(provider: ProviderKind) -> &'static str {
    match provider {
        ProviderKind::ClaudeCodeSubscription => DEFAULT.1,
        ProviderKind::OpenAiCompatible => "gpt_4o",
        ProviderKind::LmStudioLocal => "lm_studio_server_routed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(json: &str) -> Settings {
        serde_json::from_str(json).unwrap()
    }

    fn chosen(words: &ModelWords, json: &str, last: Option<(&str, &str)>) -> String {
        let last = last.map(|(provider, wire)| (provider.to_owned(), wire.to_owned()));
        match words.choose(&settings(json), last.as_ref()) {
            Ok(model) => format!("{} {}", model.provider, model.id),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn the_operator_counts_above_the_last_answer_and_that_above_the_settings() {
        let none = ModelWords::default();
        let named = ModelWords { model: Some("opus".to_owned()), ..ModelWords::default() };
        let in_settings = r#"{"model": "gpt_4o"}"#;
        let last = Some(("claude_code_subscription", "claude_3_5_haiku"));
        assert_eq!(chosen(&none, "{}", None), "claude_code_subscription claude_sonnet_4");
        assert_eq!(chosen(&none, in_settings, None), "openai_compatible gpt_4o");
        assert_eq!(chosen(&none, in_settings, last), "claude_code_subscription claude_3_5_haiku");
        assert_eq!(chosen(&named, in_settings, last), "claude_code_subscription claude_opus_4");
    }

    #[test]
    fn a_provider_alone_has_its_own_default() {
        let provider = |name: &str| ModelWords {
            provider: Some(name.to_owned()),
            lm_model: Some("local".to_owned()),
            ..ModelWords::default()
        };
        assert_eq!(chosen(&provider("openai_compatible"), "{}", None), "openai_compatible gpt_4o");
        assert_eq!(
            chosen(&provider("lm_studio_local"), "{}", None),
            "lm_studio_local lm_studio_server_routed"
        );
        assert!(chosen(&provider("acme"), "{}", None).contains("`acme`"));
    }

    #[test]
    fn a_model_is_known_by_its_id_or_by_an_alias_of_one() {
        let words = ModelWords::default();
        let none = settings("{}");
        assert!(words.knows("claude_opus_4", &none) && words.knows("opus", &none));
        assert!(!words.knows("gpt-9", &none));
    }
}
