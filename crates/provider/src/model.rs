//! The known models: S0 §2.1's providers and §2.2's closed ids, with their published limits and prices.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use ona_types::{Effort, Usage};

use crate::usage::Price;

/// `model_config.provider` (S0 §2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProviderKind {
    /// The Anthropic Messages API.
    ClaudeCodeSubscription,
    /// A remote Chat Completions API.
    OpenAiCompatible,
    /// A Chat Completions server on this machine.
    LmStudioLocal,
}

impl ProviderKind {
    /// Every provider with its name, in the order of S0 §2.1.
    pub const ALL: [(ProviderKind, &'static str); 3] = [
        (ProviderKind::ClaudeCodeSubscription, "claude_code_subscription"),
        (ProviderKind::OpenAiCompatible, "openai_compatible"),
        (ProviderKind::LmStudioLocal, "lm_studio_local"),
    ];

    /// The name in settings.
    pub fn as_str(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// Whether its models can be shown documents; pictures all of them can.
    pub fn takes_documents(self) -> bool {
        self == Self::ClaudeCodeSubscription
    }

    /// Whether it searches the web by itself while it answers.
    pub fn searches_web(self) -> bool {
        self == Self::ClaudeCodeSubscription
    }
}

impl fmt::Display for ProviderKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An unknown provider.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown provider `{0}` (expected claude_code_subscription, openai_compatible or lm_studio_local; case matters)"
)]
pub struct UnknownProvider(pub String);

impl FromStr for ProviderKind {
    type Err = UnknownProvider;

    fn from_str(name: &str) -> Result<Self, UnknownProvider> {
        let known = Self::ALL.iter().find(|(_, known)| *known == name);
        known.map(|(kind, _)| *kind).ok_or_else(|| UnknownProvider(name.to_owned()))
    }
}

/// A row of S0 §2.2.
struct Listed {
    provider: ProviderKind,
    id: &'static str,
    /// `None` where the environment says which model it is.
    wire: Option<&'static str>,
    /// Its short name.
    word: Option<&'static str>,
}

const fn listed(
    provider: ProviderKind,
    id: &'static str,
    wire: Option<&'static str>,
    word: Option<&'static str>,
) -> Listed {
    Listed { provider, id, wire, word }
}

use ProviderKind::{ClaudeCodeSubscription, LmStudioLocal, OpenAiCompatible};

#[rustfmt::skip]
const LISTED: [Listed; 8] = [
    listed(ClaudeCodeSubscription, "claude_opus_4", Some("claude-opus-4-20250514"), Some("opus")),
    listed(ClaudeCodeSubscription, "claude_sonnet_4", Some("claude-sonnet-4-20250514"), Some("sonnet")),
    listed(ClaudeCodeSubscription, "claude_3_5_haiku", Some("claude-3-5-haiku-20241022"), Some("haiku")),
    listed(OpenAiCompatible, "gpt_4o", Some("gpt-4o"), None),
    listed(OpenAiCompatible, "gpt_4o_mini", Some("gpt-4o-mini"), None),
    listed(OpenAiCompatible, "o3", Some("o3"), None),
    listed(OpenAiCompatible, "o3_mini", Some("o3-mini"), None),
    listed(LmStudioLocal, "lm_studio_server_routed", None, None),
];

/// What is published of a model: its limits and its list price.
struct Facts {
    /// The wire name without a date.
    family: &'static str,
    context_window: u32,
    max_output: u32,
    /// Whether it takes a budget for thinking.
    thinks: bool,
    /// The most effort it can be asked for, if it can be asked for any.
    effort: Option<Effort>,
    price: Price,
}

const fn facts(
    family: &'static str,
    window: u32,
    output: u32,
    thinks: bool,
    effort: Option<Effort>,
    price: [f64; 4],
) -> Facts {
    let [input, out, cache_write, cache_read] = price;
    let price = Price { input, output: out, cache_write, cache_read };
    Facts { family, context_window: window, max_output: output, thinks, effort, price }
}

/// The closed ids' models first, then those an alias is likely to name. The price is that of input, output,
/// cache write and cache read; OpenAI takes nothing extra for writing.
#[rustfmt::skip]
const FACTS: [Facts; 13] = [
    facts("claude-opus-4", 200_000, 32_000, true, None, [15.0, 75.0, 18.75, 1.5]),
    facts("claude-sonnet-4", 200_000, 64_000, true, None, [3.0, 15.0, 3.75, 0.3]),
    facts("claude-3-5-haiku", 200_000, 8_192, false, None, [0.8, 4.0, 1.0, 0.08]),
    facts("gpt-4o", 128_000, 16_384, false, None, [2.5, 10.0, 2.5, 1.25]),
    facts("gpt-4o-mini", 128_000, 16_384, false, None, [0.15, 0.6, 0.15, 0.075]),
    facts("o3", 200_000, 100_000, false, Some(Effort::High), [2.0, 8.0, 2.0, 0.5]),
    facts("o3-mini", 200_000, 100_000, false, Some(Effort::High), [1.1, 4.4, 1.1, 0.55]),
    facts("claude-opus-4-0", 200_000, 32_000, true, None, [15.0, 75.0, 18.75, 1.5]),
    facts("claude-opus-4-1", 200_000, 32_000, true, None, [15.0, 75.0, 18.75, 1.5]),
    facts("claude-opus-4-5", 200_000, 64_000, true, Some(Effort::High), [5.0, 25.0, 6.25, 0.5]),
    facts("claude-sonnet-4-0", 200_000, 64_000, true, None, [3.0, 15.0, 3.75, 0.3]),
    facts("claude-sonnet-4-5", 200_000, 64_000, true, None, [3.0, 15.0, 3.75, 0.3]),
    facts("claude-haiku-4-5", 200_000, 64_000, true, None, [1.0, 5.0, 1.25, 0.1]),
];

/// The minimum budget for thinking.
pub(crate) const LEAST_THINKING: u32 = 1024;

/// The id of a model that is known by its name on the wire only.
const UNLISTED: &str = "unlisted";

/// A model that can be asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// The provider it belongs to.
    pub provider: ProviderKind,
    /// Its id in settings.
    pub id: &'static str,
    /// Its name on the wire.
    pub wire: String,
    /// How many tokens it can take in, where that is known.
    pub context_window: Option<u32>,
    /// How many tokens it can write in one answer, where that is known.
    pub max_output: Option<u32>,
    /// Whether it takes a budget for thinking, where that is known.
    pub thinks: Option<bool>,
    /// The most effort it can be asked for, if any; nothing where that is not known.
    pub effort: Option<Option<Effort>>,
    /// Its list price, where that is known.
    pub price: Option<Price>,
}

/// Whether a name can only be one on the wire: the ids of settings have none of these characters.
pub fn is_wire_name(name: &str) -> bool {
    name.contains(['-', '.', ':', '/'])
}

impl Model {
    /// The model of a name that is sent as it is.
    pub fn by_wire(provider: ProviderKind, wire: &str) -> Self {
        Self::of(provider, UNLISTED, wire)
    }

    fn new(row: &Listed, wire: &str) -> Self {
        Self::of(row.provider, row.id, wire)
    }

    fn of(provider: ProviderKind, id: &'static str, wire: &str) -> Self {
        let family = family(wire);
        let facts = FACTS.iter().find(|facts| facts.family == family);
        Self {
            provider,
            id,
            wire: wire.to_owned(),
            context_window: facts.map(|facts| facts.context_window),
            max_output: facts.map(|facts| facts.max_output),
            thinks: facts.map(|facts| facts.thinks),
            effort: facts.map(|facts| facts.effort),
            price: facts.map(|facts| facts.price),
        }
    }

    /// The thinking budget that the model can use if an answer may have `max_output` tokens: the nearest
    /// that its API accepts, or `None`. For an unknown model the operator's value is used.
    pub fn thinking(&self, budget: u32, max_output: u32) -> Option<u32> {
        let takes = self.provider == ClaudeCodeSubscription && self.thinks != Some(false);
        let room = max_output.saturating_sub(1);
        (takes && room >= LEAST_THINKING).then(|| budget.clamp(LEAST_THINKING, room))
    }

    /// The effort that the model can use: the nearest that its API accepts, or `None`. For an unknown model
    /// the operator's value is used; a Chat Completions server is assumed to support at most high.
    pub fn effort(&self, wish: Effort) -> Option<Effort> {
        let unknown = match self.provider {
            ClaudeCodeSubscription => Effort::Max,
            OpenAiCompatible | LmStudioLocal => Effort::High,
        };
        self.effort.unwrap_or(Some(unknown)).map(|most| wish.min(most))
    }

    /// The cost of this usage in US dollars at list price; `None` if the price is unknown.
    pub fn cost(&self, usage: &Usage) -> Option<f64> {
        self.price.map(|price| price.of(usage))
    }
}

/// A wire name without the date or `latest` it may end in: `-20250514`, `-2024-08-06`.
fn family(wire: &str) -> &str {
    let wire = wire.strip_suffix("-latest").unwrap_or(wire);
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    for shape in [&[8][..], &[2, 2, 4]] {
        let mut rest = Some(wire);
        for length in shape {
            rest = rest.and_then(|rest| rest.rsplit_once('-')).and_then(|(before, last)| {
                (last.len() == *length && digits(last)).then_some(before)
            });
        }
        if let Some(family) = rest {
            return family;
        }
    }
    wire
}

/// A model name that cannot be used. It is reported before any network I/O.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The provider has no such model.
    #[error("unknown model `{name}` for {provider} (available: {allowed})")]
    Unknown {
        /// What was asked for.
        name: String,
        /// Of whom.
        provider: ProviderKind,
        /// What could have been asked for.
        allowed: String,
    },
    /// A local server's model must be named by the environment, but is not.
    #[error(
        "lm_studio_server_routed needs LM_STUDIO_MODEL to name the model that the server has loaded"
    )]
    NoLmStudioModel,
    /// An alias for an unknown model id.
    #[error("`{name}` in model_aliases is not a model id (expected {allowed})")]
    UnknownAlias {
        /// The key.
        name: String,
        /// What it could have been.
        allowed: String,
    },
    /// An empty alias.
    #[error("the alias of `{0}` is empty: give it a model name, or leave it out")]
    EmptyAlias(String),
}

/// Wire names that replace those of S0 §2.2: the settings key `model_aliases` and the variables
/// `ANTHROPIC_DEFAULT_{OPUS,SONNET,HAIKU}_MODEL`. The one set last wins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aliases(BTreeMap<&'static str, String>);

impl Aliases {
    /// Replaces the wire name of a model id, or of the id behind `opus`, `sonnet` or `haiku`.
    pub fn set(&mut self, name: &str, wire: &str) -> Result<(), ModelError> {
        let can = |row: &&Listed| row.wire.is_some();
        let row = LISTED.iter().filter(can).find(|row| row.id == name || row.word == Some(name));
        let Some(row) = row else {
            let allowed =
                LISTED.iter().filter(can).map(|row| row.id).collect::<Vec<_>>().join(", ");
            return Err(ModelError::UnknownAlias { name: name.to_owned(), allowed });
        };
        if wire.trim().is_empty() {
            return Err(ModelError::EmptyAlias(name.to_owned()));
        }
        self.0.insert(row.id, wire.trim().to_owned());
        Ok(())
    }
}

/// The ids of a provider's models.
pub fn model_ids(provider: ProviderKind) -> impl Iterator<Item = &'static str> {
    LISTED.iter().filter(move |row| row.provider == provider).map(|row| row.id)
}

/// The ids of a provider's models, each with the short word it is known by.
pub fn allowed(provider: ProviderKind) -> String {
    let rows = LISTED.iter().filter(|row| row.provider == provider);
    let names = rows.map(|row| match row.word {
        Some(word) => format!("{} ({word})", row.id),
        None => row.id.to_owned(),
    });
    names.collect::<Vec<_>>().join(", ")
}

/// The model of that name. A name is an id of S0 §2.2, its wire name (the published one or the one an
/// alias gave it), or one of `opus`, `sonnet` and `haiku`; whichever is used, an alias decides what goes
/// over the wire.
pub fn resolve(
    provider: ProviderKind,
    name: &str,
    aliases: &Aliases,
    lm_studio_model: Option<&str>,
) -> Result<Model, ModelError> {
    let rows = || LISTED.iter().filter(|row| row.provider == provider);
    let local = lm_studio_model.map(str::trim).filter(|wire| !wire.is_empty());
    let wire_of = |row: &Listed| match (aliases.0.get(row.id), row.wire) {
        (Some(alias), _) => Some(alias.clone()),
        (None, Some(wire)) => Some(wire.to_owned()),
        (None, None) => local.map(str::to_owned),
    };
    let row = rows()
        .find(|row| row.id == name || row.wire == Some(name) || row.word == Some(name))
        .or_else(|| rows().find(|row| wire_of(row).as_deref() == Some(name)));
    let Some(row) = row else {
        let allowed = allowed(provider);
        return Err(ModelError::Unknown { name: name.to_owned(), provider, allowed });
    };
    let wire = wire_of(row).ok_or(ModelError::NoLmStudioModel)?;
    Ok(Model::new(row, &wire))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wire(provider: ProviderKind, name: &str) -> Result<String, String> {
        let model = resolve(provider, name, &Aliases::default(), Some("qwen/qwen3-coder"));
        model.map(|model| model.wire).map_err(|error| error.to_string())
    }

    #[test]
    fn every_listed_name_leads_to_its_wire_name() {
        for row in &LISTED {
            let expected = row.wire.unwrap_or("qwen/qwen3-coder");
            for name in [Some(row.id), row.word, Some(expected)].into_iter().flatten() {
                assert_eq!(wire(row.provider, name).as_deref(), Ok(expected), "{name}");
            }
        }
    }

    #[test]
    fn anything_else_is_refused_with_what_there_is() {
        insta::assert_snapshot!(
            wire(ClaudeCodeSubscription, "gpt_4o").unwrap_err(),
            @"unknown model `gpt_4o` for claude_code_subscription (available: claude_opus_4 (opus), claude_sonnet_4 (sonnet), claude_3_5_haiku (haiku))"
        );
        insta::assert_snapshot!(
            wire(OpenAiCompatible, "GPT_4O").unwrap_err(),
            @"unknown model `GPT_4O` for openai_compatible (available: gpt_4o, gpt_4o_mini, o3, o3_mini)"
        );
        for unset in [None, Some(""), Some("  ")] {
            let id = "lm_studio_server_routed";
            let model = resolve(LmStudioLocal, id, &Aliases::default(), unset);
            assert_eq!(model, Err(ModelError::NoLmStudioModel));
        }
    }

    #[test]
    fn an_alias_decides_what_goes_over_the_wire() {
        let mut aliases = Aliases::default();
        aliases.set("claude_opus_4", "first").unwrap();
        aliases.set("opus", "claude-opus-4-5-20251101").unwrap();
        for name in ["opus", "claude_opus_4", "claude-opus-4-20250514", "claude-opus-4-5-20251101"]
        {
            let model = resolve(ClaudeCodeSubscription, name, &aliases, None).unwrap();
            assert_eq!(
                (model.id, model.wire.as_str()),
                ("claude_opus_4", "claude-opus-4-5-20251101")
            );
            assert_eq!(model.price.unwrap().input, 5.0);
        }
        assert!(resolve(ClaudeCodeSubscription, "first", &aliases, None).is_err());
        aliases.set("gpt_4o", "my-gateway/x").unwrap();
        let model = resolve(OpenAiCompatible, "gpt_4o", &aliases, None).unwrap();
        assert_eq!((model.price, model.context_window), (None, None));
        assert_eq!(model.cost(&Usage::default()), None);
        assert!(matches!(aliases.set("gpt4", "x"), Err(ModelError::UnknownAlias { .. })));
        assert!(matches!(aliases.set("o3", " "), Err(ModelError::EmptyAlias(_))));
    }

    #[test]
    fn every_published_wire_name_has_facts() {
        for row in LISTED.iter().filter(|row| row.wire.is_some()) {
            let model = Model::new(row, row.wire.unwrap());
            assert!(model.price.is_some() && model.max_output < model.context_window, "{}", row.id);
        }
    }

    #[test]
    fn effort_is_what_the_model_takes() {
        let model = |provider, name, wire: &str| {
            let mut aliases = Aliases::default();
            aliases.set(name, wire).unwrap();
            resolve(provider, name, &aliases, None).unwrap()
        };
        use Effort::{High, Low, Max};
        for (provider, name, wire, wish, expected) in [
            (ClaudeCodeSubscription, "opus", "claude-opus-4-20250514", High, None),
            (ClaudeCodeSubscription, "opus", "claude-opus-4-5-20251101", Low, Some(Low)),
            (ClaudeCodeSubscription, "opus", "claude-opus-4-5-20251101", Max, Some(High)),
            (ClaudeCodeSubscription, "opus", "one-that-nobody-knows", Max, Some(Max)),
            (OpenAiCompatible, "gpt_4o", "gpt-4o", High, None),
            (OpenAiCompatible, "o3", "o3-2025-04-16", Max, Some(High)),
            (OpenAiCompatible, "o3", "one-that-nobody-knows", Max, Some(High)),
        ] {
            assert_eq!(model(provider, name, wire).effort(wish), expected, "{wire} {wish:?}");
        }
        let id = "lm_studio_server_routed";
        let local = resolve(LmStudioLocal, id, &Aliases::default(), Some("gpt-oss")).unwrap();
        assert_eq!(local.effort(Max), Some(High));
    }

    #[test]
    fn a_budget_for_thinking_is_what_the_model_takes() {
        let model = |provider, name| resolve(provider, name, &Aliases::default(), None).unwrap();
        let opus = model(ClaudeCodeSubscription, "opus");
        for (budget, max_output, expected) in [
            (10_000, 32_000, Some(10_000)),
            (64_000, 32_000, Some(31_999)),
            (1, 32_000, Some(LEAST_THINKING)),
            (2_000, 1_025, Some(LEAST_THINKING)),
            (2_000, 1_024, None),
            (2_000, 0, None),
        ] {
            assert_eq!(opus.thinking(budget, max_output), expected, "{budget} of {max_output}");
        }
        assert_eq!(model(ClaudeCodeSubscription, "haiku").thinking(2_000, 8_192), None);
        assert_eq!(model(OpenAiCompatible, "o3").thinking(2_000, 8_192), None);
        let unknown = Model { thinks: None, ..opus };
        assert_eq!(unknown.thinking(2_000, 8_192), Some(2_000));
    }

    #[test]
    fn dates_are_no_part_of_a_family() {
        for (wire, expected) in [
            ("claude-3-5-haiku-20241022", "claude-3-5-haiku"),
            ("claude-3-5-haiku-latest", "claude-3-5-haiku"),
            ("gpt-4o-2024-08-06", "gpt-4o"),
            ("claude-opus-4-1", "claude-opus-4-1"),
            ("o3", "o3"),
            ("", ""),
        ] {
            assert_eq!(family(wire), expected);
        }
    }

    #[test]
    fn providers_are_told_by_their_exact_names() {
        for (kind, name) in ProviderKind::ALL {
            assert_eq!((kind.as_str(), name.parse()), (name, Ok(kind)));
        }
        assert!("OpenAI_Compatible".parse::<ProviderKind>().is_err());
    }
}
