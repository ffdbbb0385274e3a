//! ToolSearch: finds tools that are not loaded for the model, and loads them.

use aho_corasick::AhoCorasick;
use ona_effects::Effects;
use ona_mcp::Hints;
use ona_policy::secrets::Redactor;
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
            return select(names, &tools, cx.redactor);
        }
        let most = input.max_results.unwrap_or(FOUND).min(MAX_FOUND);
        let found = rank(&input.query, &tools, usize::try_from(most).unwrap_or(usize::MAX));
        Ok(shown(&found, tools.len(), &[], cx.redactor))
    }
}

fn select(names: &str, tools: &[Deferred], redactor: &Redactor) -> Result<ToolOutput, Refusal> {
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
    Ok(shown(&found, tools.len(), &missing, redactor))
}

fn shown(found: &[&Deferred], of: usize, missing: &[String], redactor: &Redactor) -> ToolOutput {
    if found.is_empty() {
        return ToolOutput::success(format!(
            "None of {of} tools matches: try other words, or fewer"
        ));
    }
    let mut lines = vec![format!("{} of {of} tools, which you can call now:", found.len())];
    for tool in found {
        let about = tool.description.lines().next().unwrap_or_default();
        let about = redactor.first_chars(about, 200);
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
    let mut wanted: Vec<String> = words(query).into_iter().map(str::to_lowercase).collect();
    wanted.sort();
    wanted.dedup();
    if wanted.is_empty() {
        return Vec::new();
    }
    let Some(finder) = Finder::new(&wanted) else { return Vec::new() };
    let mut worths = vec![0.0_f64; tools.len() * wanted.len()];
    for (tool, worth) in tools.iter().zip(worths.chunks_exact_mut(wanted.len())) {
        for (text, whole, begins) in [
            (&tool.name, IN_NAME, BEGINS_NAME),
            (&tool.description, IN_DESCRIPTION, BEGINS_DESCRIPTION),
        ] {
            finder.for_hits(text, |at, is_whole| {
                if is_whole {
                    worth[at] = worth[at].max(whole);
                } else if wanted[at].len() > 2 {
                    worth[at] = worth[at].max(begins);
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

/// Finds words in texts of any case.
struct Finder<'w> {
    /// In lower case.
    words: &'w [String],
    /// The same for plain texts, which nearly all are: there may be thousands of tools.
    plain: AhoCorasick,
}

impl<'w> Finder<'w> {
    /// `None` if the words are too many or too long.
    fn new(words: &'w [String]) -> Option<Self> {
        let plain = AhoCorasick::builder().ascii_case_insensitive(true).build(words).ok()?;
        Some(Self { words, plain })
    }

    /// Reports which words the text has, and whether as a whole word or as the beginning of one.
    fn for_hits(&self, text: &str, mut report: impl FnMut(usize, bool)) {
        if text.is_ascii() {
            let text = text.as_bytes();
            let hits = self.plain.find_overlapping_iter(text);
            for hit in hits.filter(|hit| is_edge(text, hit.start())) {
                report(hit.pattern().as_usize(), is_edge(text, hit.end()));
            }
            return;
        }
        for word in words(text) {
            let word = word.to_lowercase();
            for (at, wanted) in self.words.iter().enumerate() {
                if let Some(rest) = word.strip_prefix(wanted.as_str()) {
                    report(at, rest.is_empty());
                }
            }
        }
    }
}

/// Whether a word of an ASCII text begins or ends here.
fn is_edge(text: &[u8], at: usize) -> bool {
    let (Some(before), Some(after)) = (at.checked_sub(1).map(|at| text[at]), text.get(at)) else {
        return true;
    };
    !before.is_ascii_alphanumeric()
        || !after.is_ascii_alphanumeric()
        || before.is_ascii_lowercase() && after.is_ascii_uppercase()
}

/// The words of a text; `createIssue` and `create_issue` have two each.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut start = None;
    let mut was_lower = false;
    for (at, c) in text.char_indices() {
        let ends = !c.is_alphanumeric() || (c.is_uppercase() && was_lower);
        if let Some(from) = start.filter(|_| ends) {
            words.push(&text[from..at]);
            start = None;
        }
        if c.is_alphanumeric() {
            start.get_or_insert(at);
        }
        was_lower = c.is_lowercase();
    }
    words.extend(start.map(|from| &text[from..]));
    words
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
        assert_eq!(words("createIssue_v2 HTTPServer"), ["create", "Issue", "v2", "HTTPServer"]);
        assert_eq!(words("größeÄndern überall"), ["größe", "Ändern", "überall"]);
        assert_eq!(rank("issue", &tools, 2).len(), 2);
    }

    #[test]
    fn a_text_that_is_not_ascii_is_searched_by_the_same_rule() {
        let hits = |text: &str, wanted: &str| {
            let wanted = [wanted.to_owned()];
            let mut hits = Vec::new();
            Finder::new(&wanted).unwrap().for_hits(text, |_, whole| hits.push(whole));
            hits
        };
        for (text, wanted, expected) in [
            ("createIssue", "issue", vec![true]),
            ("create_issues", "issue", vec![false]),
            ("reissue", "issue", vec![]),
            ("Issue issueIssues", "issue", vec![true, true, false]),
        ] {
            assert_eq!(hits(text, wanted), expected, "{text}");
            assert_eq!(hits(&format!("{text} ä"), wanted), expected, "{text}");
        }
        assert_eq!(hits("Änderung", "änderung"), [true]);
    }
}
