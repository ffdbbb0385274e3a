//! The success criteria of a plan: what must be seen from outside when the work is done (S0 §8.5, §8.6).
//!
//! ```
//! let plan = "# Todo\n## Success criteria\n- `todo list` prints each item [id: LIST]\n- `todo add` writes a file";
//! let checked = ona_phases::criteria::check(plan, &[]);
//! assert_eq!(checked.faults, []);
//! assert_eq!(checked.criteria[0].id, "LIST");
//! assert_eq!(checked.criteria[1].id, "SC-1");
//! ```

use std::collections::BTreeSet;

use pulldown_cmark::{Event, Parser, Tag, TagEnd};
use serde::{Deserialize, Serialize};

use crate::surface::{Surface, UnknownSurface};

/// The limit for the criteria of a plan: each needs a test, and a human reads them all.
pub const MAX_CRITERIA: usize = 200;

/// The limit for an id, in bytes.
const MAX_ID: usize = 40;

/// One success criterion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Criterion {
    /// Its id: what the plan calls it, or its number.
    pub id: String,
    /// What must be the case.
    pub text: String,
    /// Where that is seen.
    pub surface: Surface,
    /// Whether the surface was inferred from the text, not named in it.
    pub inferred: bool,
}

/// What is wrong with the criteria of a plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanFault {
    /// There is no such section.
    #[error("the plan has no success criteria: add a section `## Success criteria` with a list")]
    NoSection,
    /// The section has no list.
    #[error("the section with the success criteria has no list: write each criterion as an item")]
    NoItems,
    /// More than anybody reads.
    #[error("the plan has {0} success criteria (limit: {MAX_CRITERIA}): split it")]
    TooMany(usize),
    /// An item without words.
    #[error("success criterion {0} is empty: say what can be seen when it is met")]
    Empty(usize),
    /// Nothing in it can be seen from outside.
    #[error(
        "{id} names nothing that can be observed (\"{}\"): say what is printed, written or recorded, or add a tag such as \
         [surface: process_output]",
        ona_types::shown(text)
    )]
    NotObservable {
        /// Its id.
        id: String,
        /// Its text.
        text: String,
    },
    /// The tag names something else.
    #[error("{id}: {source}")]
    Surface {
        /// Its id.
        id: String,
        /// What it names.
        source: UnknownSurface,
    },
    /// Two criteria with one id.
    #[error("two success criteria have the id {0}: give each its own")]
    DuplicateId(String),
    /// An id that could not be written into a test.
    #[error("the id `{}` cannot be used: letters, digits, `-`, `_` and `.`, at most {MAX_ID}", ona_types::shown(.0))]
    BadId(String),
}

/// What was found in a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// The criteria that can be used.
    pub criteria: Vec<Criterion>,
    /// Why the plan cannot be approved. Empty if it can.
    pub faults: Vec<PlanFault>,
}

impl Checked {
    /// What was found, in one line.
    pub fn summary(&self) -> String {
        if !self.faults.is_empty() {
            return format!("success criteria: {}", faults_in_words(&self.faults));
        }
        let inferred = self.criteria.iter().filter(|one| one.inferred).count();
        let found = self.criteria.len();
        match inferred {
            0 => format!("success criteria: {found} found"),
            some => format!(
                "success criteria: {found} found; where they are seen is inferred for {some}"
            ),
        }
    }
}

/// The limit for faults that are named at once.
const MAX_TOLD: usize = 10;

/// Faults in one line.
pub fn faults_in_words(faults: &[PlanFault]) -> String {
    let mut words: Vec<String> = faults.iter().take(MAX_TOLD).map(ToString::to_string).collect();
    if faults.len() > MAX_TOLD {
        words.push(format!("{} more", faults.len() - MAX_TOLD));
    }
    words.join("; ")
}

/// Reads the criteria of a plan. A criterion whose text an earlier version of the plan had keeps the id it had there.
pub fn check(plan: &str, earlier: &[Criterion]) -> Checked {
    let mut checked = Checked::default();
    let Some(items) = items(plan) else {
        checked.faults.push(PlanFault::NoSection);
        return checked;
    };
    match items.len() {
        0 => checked.faults.push(PlanFault::NoItems),
        1..=MAX_CRITERIA => {}
        many => {
            checked.faults.push(PlanFault::TooMany(many));
            return checked;
        }
    }
    let tagged: Vec<Tagged> = items.iter().map(|item| Tagged::read(item)).collect();
    let mut taken: BTreeSet<String> = BTreeSet::new();
    for tagged in &tagged {
        if let Some(id) = tagged.id.as_ref().filter(|id| !taken.insert((*id).clone())) {
            checked.faults.push(PlanFault::DuplicateId(id.clone()));
        }
    }
    let known: Vec<Option<String>> = tagged
        .iter()
        .map(|tagged| {
            let same = earlier.iter().find(|one| one.text == tagged.text);
            let id = same.map(|one| one.id.clone()).filter(|_| tagged.id.is_none())?;
            taken.insert(id.clone()).then_some(id)
        })
        .collect();
    // An id that was given up names nothing else.
    taken.extend(earlier.iter().map(|one| one.id.clone()));
    let mut number = 0;
    for (at, (tagged, known)) in tagged.into_iter().zip(known).enumerate() {
        let id = tagged.id.clone().or(known).unwrap_or_else(|| {
            loop {
                number += 1;
                let id = format!("SC-{number}");
                if taken.insert(id.clone()) {
                    break id;
                }
            }
        });
        match criterion(id, tagged, at + 1) {
            Ok(criterion) => checked.criteria.push(criterion),
            Err(fault) => checked.faults.push(fault),
        }
    }
    checked
}

fn criterion(id: String, tagged: Tagged, position: usize) -> Result<Criterion, PlanFault> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if id.is_empty() || id.len() > MAX_ID || !id.chars().all(fits) {
        return Err(PlanFault::BadId(id));
    }
    let Tagged { text, surface, .. } = tagged;
    if !text.contains(char::is_alphanumeric) {
        return Err(PlanFault::Empty(position));
    }
    let (surface, inferred) = match surface {
        Some(name) => match name.parse() {
            Ok(surface) => (surface, false),
            Err(source) => return Err(PlanFault::Surface { id, source }),
        },
        None => match Surface::inferred(&text) {
            Some(surface) => (surface, true),
            None => return Err(PlanFault::NotObservable { id, text }),
        },
    };
    Ok(Criterion { id, text, surface, inferred })
}

/// An item of the list, its tags apart.
#[derive(Debug, Default)]
struct Tagged {
    text: String,
    id: Option<String>,
    surface: Option<String>,
}

impl Tagged {
    fn read(item: &str) -> Self {
        let mut read = Self::default();
        let mut text = String::new();
        let item = item.trim_start();
        let mut rest =
            ["[ ]", "[x]", "[X]"].iter().find_map(|done| item.strip_prefix(done)).unwrap_or(item);
        while let Some((before, after)) = rest.split_once('[') {
            let tag = after.split_once(']').and_then(|(tag, rest)| {
                let (name, value) = tag.split_once(':')?;
                Some((name.trim().to_lowercase(), value.trim(), rest))
            });
            text.push_str(before);
            match tag {
                Some((name, value, behind)) if name == "id" => {
                    read.id = Some(value.to_owned());
                    rest = behind;
                }
                Some((name, value, behind)) if name == "surface" => {
                    read.surface = Some(value.to_lowercase());
                    rest = behind;
                }
                // A tag of other tools, which says nothing here.
                Some((name, _, behind)) if name == "template" => rest = behind,
                _ => {
                    text.push('[');
                    rest = after;
                }
            }
        }
        text.push_str(rest);
        read.text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        read
    }
}

/// The items of the sections with the criteria, with what is nested in them; `None` if there is no such section.
fn items(plan: &str) -> Option<Vec<String>> {
    let mut section: Option<u8> = None;
    let mut is_there = false;
    let mut items: Vec<String> = Vec::new();
    // The text of a heading, or of a paragraph that may be one.
    let mut title: Option<String> = None;
    let (mut depth, mut strong, mut plain) = (0_usize, false, false);
    for event in Parser::new(plan) {
        match event {
            Event::Start(Tag::Heading { .. } | Tag::Paragraph) if depth == 0 => {
                title = Some(String::new());
                (strong, plain) = (false, false);
            }
            Event::End(TagEnd::Heading(level)) if depth == 0 => {
                let text = title.take().unwrap_or_default();
                if section.is_none_or(|opened| level as u8 <= opened) {
                    section = names_criteria(&text).then_some(level as u8);
                    is_there |= section.is_some();
                }
            }
            Event::End(TagEnd::Paragraph) if depth == 0 => {
                let text = title.take().unwrap_or_default();
                let is_title = strong && !plain;
                match section {
                    // The next bold line ends a section that began with one.
                    Some(u8::MAX) if is_title && !names_criteria(&text) => section = None,
                    None if (is_title || text.trim_end().ends_with(':'))
                        && names_criteria(&text) =>
                    {
                        (section, is_there) = (Some(u8::MAX), true);
                    }
                    _ => {}
                }
            }
            Event::Start(Tag::Strong) => strong = true,
            Event::End(TagEnd::Strong) if title.is_some() => plain = false,
            Event::Start(Tag::Item) => {
                depth += 1;
                match depth {
                    1 if section.is_some() => items.push(String::new()),
                    _ => push(section, &mut items, " "),
                }
            }
            Event::End(TagEnd::Item) => depth -= 1,
            Event::Text(text) => match &mut title {
                Some(title) if depth == 0 => {
                    plain |= title.is_empty() && !strong;
                    title.push_str(&text);
                }
                _ if depth > 0 => push(section, &mut items, &text),
                _ => {}
            },
            Event::Code(code) if depth > 0 => push(section, &mut items, &format!("`{code}`")),
            Event::SoftBreak | Event::HardBreak | Event::End(TagEnd::Paragraph) if depth > 0 => {
                push(section, &mut items, " ");
            }
            _ => {}
        }
    }
    is_there.then_some(items)
}

fn push(section: Option<u8>, items: &mut [String], text: &str) {
    if let Some(item) = items.last_mut().filter(|_| section.is_some()) {
        item.push_str(text);
    }
}

fn names_criteria(title: &str) -> bool {
    let title = title.trim_start_matches(|c: char| !c.is_alphabetic()).to_lowercase();
    ["success criteria", "acceptance criteria"].iter().any(|name| title.starts_with(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(plan: &str) -> Vec<String> {
        check(plan, &[]).criteria.into_iter().map(|one| one.id).collect()
    }

    #[test]
    fn criteria_are_the_items_of_their_section() {
        for (plan, found) in [
            ("# Plan\n\nDo it.", None),
            ("# Plan\n## Success criteria\n\nlater", Some(0)),
            ("## Success Criteria\n- a\n- b\n\n## Risks\n- c", Some(2)),
            ("## 3. Success criteria\n### Of the command\n- a\n### Of the file\n- b", Some(2)),
            ("**Success criteria**\n1. a\n2) b", Some(2)),
            ("**Success criteria**\n\n1. a\n2. b\n\n**Risks**\n\n- c", Some(2)),
            ("Acceptance criteria:\n* a\n*\n", Some(2)),
            ("## Steps\n- success criteria are met\n", None),
            ("## Success criteria\n- a\n## Risks\n- b\n## More success criteria\n- c", Some(1)),
            (
                "## Success criteria\n- a\n## Risks\n- b\n## Success criteria: the rest\n- c",
                Some(2),
            ),
            ("**Success criteria**\n- a\n\n**Risks**\n- b\n\n**Success criteria**\n- c", Some(2)),
            ("## Success criteria\n- a\n  - b\n  - c\n- d", Some(2)),
        ] {
            assert_eq!(items(plan).map(|items| items.len()), found, "{plan}");
        }
    }

    #[test]
    fn what_is_nested_belongs_to_the_item() {
        let plan =
            "## Success criteria\n- `todo list` prints\n  each item:\n  - its number\n  - its text";
        let checked = check(plan, &[]);
        assert_eq!(checked.criteria[0].text, "`todo list` prints each item: its number its text");
    }

    #[test]
    fn tags_name_id_and_surface() {
        let plan = "## Success criteria\n\
            - [id: RATE] [template: cli_contract] Six logins in a minute answer 429 [see RFC 6585].\n\
            - [surface: file_state] The state survives\n\
            - [ ] it prints `a[0]`";
        let checked = check(plan, &[]);
        assert_eq!(
            checked.faults,
            [PlanFault::NotObservable {
                id: "RATE".to_owned(),
                text: "Six logins in a minute answer 429 [see RFC 6585].".to_owned()
            }]
        );
        let told: Vec<(&str, &str, Surface, bool)> = checked
            .criteria
            .iter()
            .map(|one| (one.id.as_str(), one.text.as_str(), one.surface, one.inferred))
            .collect();
        assert_eq!(
            told,
            [
                ("SC-1", "The state survives", Surface::FileState, false),
                ("SC-2", "it prints `a[0]`", Surface::ProcessOutput, true),
            ]
        );
    }

    #[test]
    fn every_fault_is_told() {
        let plan = "## Success criteria\n- it prints x [id: A]\n- it prints y [id: A]\n-\n- [surface: screen] z\n\
            - it prints [id: a b]";
        let faults: Vec<String> = check(plan, &[]).faults.iter().map(ToString::to_string).collect();
        assert_eq!(
            faults,
            [
                "two success criteria have the id A: give each its own",
                "success criterion 3 is empty: say what can be seen when it is met",
                "SC-2: unknown surface `screen` (expected db_state, file_state, process_output, tool_result or hook_record)",
                "the id `a b` cannot be used: letters, digits, `-`, `_` and `.`, at most 40",
            ]
        );
        let many = format!("## Success criteria\n{}", "- it prints x\n".repeat(500));
        assert_eq!(check(&many, &[]).faults, [PlanFault::TooMany(500)]);
    }

    #[test]
    fn ids_stay_when_the_plan_is_edited() {
        let first = check("## Success criteria\n- prints a\n- prints b\n- prints c", &[]);
        let second = check(
            "## Success criteria\n- prints new\n- prints c\n- prints a\n- prints d [id: SC-9]",
            &first.criteria,
        );
        let told: Vec<(&str, &str)> =
            second.criteria.iter().map(|one| (one.id.as_str(), one.text.as_str())).collect();
        let expected = [
            ("SC-4", "prints new"),
            ("SC-3", "prints c"),
            ("SC-1", "prints a"),
            ("SC-9", "prints d"),
        ];
        assert_eq!(told, expected, "SC-2 was given up and names nothing else");
        assert_eq!(ids("## Success criteria\n- prints a [id: SC-1]\n- prints b"), ["SC-1", "SC-2"]);
    }
}
