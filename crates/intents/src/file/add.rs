//! Adding an intent after all others.

use super::edit::{EditError, id_of, verify};
use super::read::{ROOT_KEY, entries};
use super::splice::{Page, Quotes, list, scalar};
use crate::yaml::{Id, Kind};

/// An intent to be added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the keys of the file, named as they are there")]
pub struct NewIntent {
    pub id: String,
    pub name: String,
    pub status: String,
    pub owned_scope: Vec<String>,
    pub constraints: Vec<String>,
    pub acceptance_criteria: Vec<String>,
    pub related_requirements: Vec<String>,
    pub openspec_ref: Option<String>,
    pub bead_id: Option<String>,
    /// RFC 3339; both `created_at` and `updated_at`.
    pub at: String,
}

impl NewIntent {
    /// The keys and their values, as YAML.
    fn fields(&self) -> Vec<(&'static str, String)> {
        let text = |text: &String| scalar(text, Quotes::Plain);
        let mut fields = vec![
            ("id", text(&self.id)),
            ("name", text(&self.name)),
            ("status", text(&self.status)),
            ("owned_scope", list(&self.owned_scope)),
        ];
        for (key, texts) in [
            ("constraints", &self.constraints),
            ("acceptance_criteria", &self.acceptance_criteria),
            ("related_requirements", &self.related_requirements),
        ] {
            if !texts.is_empty() {
                fields.push((key, list(texts)));
            }
        }
        for (key, value) in [("openspec_ref", &self.openspec_ref), ("bead_id", &self.bead_id)] {
            fields.extend(value.as_ref().map(|value| (key, text(value))));
        }
        fields.extend([("created_at", text(&self.at)), ("updated_at", text(&self.at))]);
        fields
    }
}

/// The text with the intent added after all others.
pub fn add(text: &str, new: &NewIntent) -> Result<String, EditError> {
    let named = new.id.starts_with(|first: char| first.is_ascii_alphanumeric());
    if !named
        || !new.id.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(letter))
    {
        return Err(EditError::BadId(new.id.clone()));
    }
    let fields = new.fields();
    let page = Page::read(text.to_owned())?;
    let known = entries(&page.document)?;
    let same = |entry: &Id| id_of(&page.document, *entry) == Some(new.id.as_str());
    if known.iter().any(same) {
        return Err(EditError::Exists(new.id.clone()));
    }
    let block = |indent: &str| -> Vec<String> {
        let sign = |at: usize| if at == 0 { "- " } else { "  " };
        let line = |(at, (key, value)): (usize, &(&str, String))| {
            format!("{indent}{}{key}: {value}", sign(at))
        };
        fields.iter().enumerate().map(line).collect()
    };
    let document = &page.document;
    let root = document.root().filter(|root| !document.is_null(*root));
    let list = root.map(|root| document.get(root, ROOT_KEY).unwrap_or(root));
    let done = match (list, known.last()) {
        (None, _) => {
            let mut lines = block("  ");
            lines.insert(0, format!("{ROOT_KEY}:"));
            page.below(page.text.len(), &lines)?
        }
        (Some(list), _)
            if document.is_shared(list) || matches!(document.node(list).kind, Kind::Alias(_)) =>
        {
            return Err(EditError::Shared(ROOT_KEY.to_owned()));
        }
        (Some(list), Some(last)) if document.node(list).flow => {
            let pairs: Vec<String> =
                fields.iter().map(|(key, value)| format!("{key}: {value}")).collect();
            let end = page.end(*last);
            page.with(end..end, &format!(", {{{}}}", pairs.join(", ")))?
        }
        (Some(_), Some(last)) => {
            let dash = page.dash(*last)?;
            let before = &page.text[page.line_start(dash)..dash];
            page.below(page.end(*last), &block(before.trim_start_matches('\u{feff}')))?
        }
        (Some(list), None) => {
            let span = document.node(list).span.clone();
            let keyed = document.root().is_some_and(|root| root != list);
            // `[]` makes room for lines below it.
            let before = page.text[..span.start].trim_end_matches(' ').len();
            let cleared = page.with(if keyed { before..span.end } else { span }, "")?;
            cleared.below(before.min(cleared.text.len()), &block(if keyed { "  " } else { "" }))?
        }
    };
    let index = known.len().to_string();
    verify(&page.document, &done.document, &index, None)?;
    Ok(done.text)
}
