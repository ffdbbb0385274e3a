//! ToolSearch: finds tools that are not loaded for the model, and loads them.

use ona_mcp::Hints;
use ona_policy::Effects;
use ona_types::{Change, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::context::{Place, ToolContext};
use crate::facts::Facts;
use crate::input::{InputError, lenient_count};
use crate::mcp::PREFIX;
use crate::services::{Deferred, SessionServices};
use crate::tool::{BuiltIn, Refusal};

/// The default number of loaded tools.
const FOUND: u64 = 5;
/// The upper limit.
const MAX_FOUND: u64 = 50;
/// The prefix of a query that names tools.
const SELECT: &str = "select:";

pub(crate) struct ToolSearch;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchInput {
    /// Words that tell what the tool is for; or `select:` and exact names with commas between.
    query: String,
    /// How many at most; the default is 5.
    #[serde(default, deserialize_with = "lenient_count")]
    max_results: Option<u64>,
}

impl BuiltIn for ToolSearch {
    const NAME: &'static str = "ToolSearch";
    const DESCRIPTION: &'static str = "Finds tools that are not loaded yet, and loads them: you can call \
        them from your next answer on. Search by what a tool is for, such as `create github issue`, or load by name \
        with `select:mcp__server__tool`.";
    const FACTS: Facts = Facts { needs_servers: true, ..Facts::plain(Hints::READS) };
    type Input = SearchInput;

    fn effects(input: &SearchInput, _: &Place) -> Result<Effects, InputError> {
        let words = input.query.strip_prefix(SELECT).unwrap_or(&input.query);
        if words.trim().is_empty() {
            return Err(InputError::new(Self::NAME, "`query` is empty"));
        }
        if input.max_results == Some(0) {
            return Err(InputError::new(Self::NAME, "`max_results` is 0"));
        }
        Ok(Effects::default())
    }

    fn more_about(services: &dyn SessionServices) -> String {
        let Some(pool) = services.servers().filter(|_| !services.deferred().is_empty()) else {
            return String::new();
        };
        let mut text = "\nThese servers have tools:".to_owned();
        for status in pool.statuses().iter().filter(|status| status.tools > 0) {
            text.push_str(&format!(
                "\n- {} ({PREFIX}{}__*, {} tools)",
                status.name, status.slug, status.tools
            ));
        }
        text
    }

    async fn run(input: SearchInput, cx: &ToolContext<'_>) -> Result<ToolOutput, Refusal> {
        let tools = cx.services.deferred();
        if tools.is_empty() {
            return Ok(ToolOutput::success("There are no more tools to load"));
        }
        if let Some(names) = input.query.strip_prefix(SELECT) {
            return select(names, &tools);
        }
        let most = input.max_results.unwrap_or(FOUND).min(MAX_FOUND);
        let found = rank(&input.query, &tools, usize::try_from(most).unwrap_or(usize::MAX));
        Ok(shown(&found, tools.len(), &[]))
    }
}

fn select(names: &str, tools: &[Deferred]) -> Result<ToolOutput, Refusal> {
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        match tools.iter().find(|tool| tool.name == name) {
            Some(tool) => found.push(tool),
            None => missing.push(name.to_owned()),
        }
    }
    if found.is_empty() {
        let near = rank(names, tools, 3);
        let near: Vec<&str> = near.iter().map(|tool| tool.name.as_str()).collect();
        let hint = match near.is_empty() {
            true => String::new(),
            false => format!("; similar: {}", near.join(", ")),
        };
        return Err(Refusal::rejected(format!("unknown tool `{}`{hint}", missing.join(", "))));
    }
    Ok(shown(&found, tools.len(), &missing))
}

fn shown(found: &[&Deferred], of: usize, missing: &[String]) -> ToolOutput {
    if found.is_empty() {
        return ToolOutput::success(format!(
            "None of {of} tools matches: try other words, or fewer"
        ));
    }
    let mut lines = vec![format!("{} of {of} tools, which you can call now:", found.len())];
    for tool in found {
        let about = tool.description.lines().next().unwrap_or_default();
        let about: String = about.chars().take(200).collect();
        lines.push(format!("- {}: {about}", tool.name));
    }
    if !missing.is_empty() {
        lines.push(format!("Not found: {}", missing.join(", ")));
    }
    let names = found.iter().map(|tool| tool.name.clone()).collect();
    ToolOutput::success(lines.join("\n")).with_change(Change::ToolsLoaded(names))
}

/// The weights of a hit: in the name, at the beginning of a word of the name, in the description.
const IN_NAME: f64 = 4.0;
const BEGINS_NAME: f64 = 2.0;
const IN_DESCRIPTION: f64 = 1.0;
const BEGINS_DESCRIPTION: f64 = 0.5;

/// The tools that fit a query best, by how rare the words are that they share with it; ties by name.
pub fn rank<'t>(query: &str, tools: &'t [Deferred], most: usize) -> Vec<&'t Deferred> {
    let mut wanted: Vec<String> = Vec::new();
    for_words(query, |word| wanted.push(word.to_lowercase()));
    wanted.sort();
    wanted.dedup();
    let mut worths = vec![0.0_f64; tools.len() * wanted.len()];
    if wanted.is_empty() {
        return Vec::new();
    }
    for (tool, worth) in tools.iter().zip(worths.chunks_exact_mut(wanted.len())) {
        for (text, whole, begins) in [
            (&tool.name, IN_NAME, BEGINS_NAME),
            (&tool.description, IN_DESCRIPTION, BEGINS_DESCRIPTION),
        ] {
            for_words(text, |word| {
                for (wanted, worth) in wanted.iter().zip(&mut *worth) {
                    match fit(word, wanted) {
                        Fit::Whole => *worth = worth.max(whole),
                        Fit::Begins if wanted.len() > 2 => *worth = worth.max(begins),
                        Fit::Begins | Fit::Not => {}
                    }
                }
            });
        }
    }
    let having =
        |at: usize| worths.chunks_exact(wanted.len()).filter(|worth| worth[at] > 0.0).count();
    let rarity: Vec<f64> = (0..wanted.len())
        .map(|at| (1.0 + tools.len() as f64 / (1.0 + having(at) as f64)).ln())
        .collect();
    let mut ranked: Vec<(f64, &Deferred)> = worths
        .chunks_exact(wanted.len())
        .zip(tools)
        .map(|(worth, tool)| (worth.iter().zip(&rarity).map(|(w, r)| w * r).sum(), tool))
        .filter(|(score, _)| *score > 0.0)
        .collect();
    ranked.sort_by(|(a, one), (b, other)| b.total_cmp(a).then_with(|| one.name.cmp(&other.name)));
    ranked.into_iter().take(most).map(|(_, tool)| tool).collect()
}

/// How well a word matches a wanted one.
enum Fit {
    Not,
    Begins,
    Whole,
}

/// Compares a word of any case with one in lower case. There may be thousands of tools, so nothing is allocated for
/// ASCII.
fn fit(word: &str, wanted: &str) -> Fit {
    if !word.is_ascii() {
        let word = word.to_lowercase();
        return match word.strip_prefix(wanted) {
            Some("") => Fit::Whole,
            Some(_) => Fit::Begins,
            None => Fit::Not,
        };
    }
    let first = |text: &str| text.as_bytes().first().map(u8::to_ascii_lowercase);
    if first(word) != first(wanted) {
        return Fit::Not;
    }
    let begins = word.as_bytes().get(..wanted.len());
    match begins.is_some_and(|begins| begins.eq_ignore_ascii_case(wanted.as_bytes())) {
        true if word.len() == wanted.len() => Fit::Whole,
        true => Fit::Begins,
        false => Fit::Not,
    }
}

/// The words of a text; `createIssue` and `create_issue` have two each.
fn for_words(text: &str, mut hear: impl FnMut(&str)) {
    if text.is_ascii() {
        return for_plain_words(text, hear);
    }
    let mut start = None;
    let mut was_lower = false;
    for (at, c) in text.char_indices() {
        let ends = !c.is_alphanumeric() || (c.is_uppercase() && was_lower);
        if let Some(from) = start.filter(|_| ends) {
            hear(&text[from..at]);
            start = None;
        }
        if c.is_alphanumeric() {
            start.get_or_insert(at);
        }
        was_lower = c.is_lowercase();
    }
    if let Some(from) = start {
        hear(&text[from..]);
    }
}

/// The same, of a text that is plain: nearly all are, and bytes are faster to tell apart.
fn for_plain_words(text: &str, mut hear: impl FnMut(&str)) {
    let bytes = text.as_bytes();
    let mut from = 0;
    while from < bytes.len() {
        if !bytes[from].is_ascii_alphanumeric() {
            from += 1;
            continue;
        }
        let mut to = from + 1;
        while to < bytes.len()
            && bytes[to].is_ascii_alphanumeric()
            && !(bytes[to].is_ascii_uppercase() && bytes[to - 1].is_ascii_lowercase())
        {
            to += 1;
        }
        hear(&text[from..to]);
        from = to;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools(list: &[(&str, &str)]) -> Vec<Deferred> {
        let tool = |(name, description): &(&str, &str)| Deferred {
            name: (*name).to_owned(),
            description: (*description).to_owned(),
        };
        list.iter().map(tool).collect()
    }

    #[test]
    fn names_count_more_than_descriptions_and_rare_words_more_than_common_ones() {
        let tools = tools(&[
            ("mcp__git__createIssue", "Creates an issue"),
            ("mcp__git__list_issues", "Lists the issues of a repository"),
            ("mcp__git__close", "Closes an issue of a repository"),
            ("mcp__mail__send", "Sends a mail, for an issue or not"),
        ]);
        let found = |query: &str| -> Vec<&str> {
            rank(query, &tools, 5).iter().map(|tool| tool.name.as_str()).collect()
        };
        assert_eq!(found("create issue")[0], "mcp__git__createIssue");
        assert_eq!(found("mail"), ["mcp__mail__send"]);
        assert_eq!(
            found("repo"),
            ["mcp__git__close", "mcp__git__list_issues"],
            "beginnings, by name"
        );
        assert!(found("database").is_empty());
        let words = |text: &str| {
            let mut words = Vec::new();
            for_words(text, |word| words.push(word.to_owned()));
            words
        };
        assert_eq!(words("createIssue_v2 HTTPServer"), ["create", "Issue", "v2", "HTTPServer"]);
        assert_eq!(words("größeÄndern überall"), ["größe", "Ändern", "überall"]);
        assert_eq!(rank("issue", &tools, 2).len(), 2);
    }
}
