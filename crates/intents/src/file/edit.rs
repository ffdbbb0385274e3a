//! Changing one thing in the file and nothing else.
//!
//! A change is spliced into the text; then both texts are read, and unless they say the same everywhere else the
//! change is refused.

use serde_saphyr::granit_parser::ScalarStyle;

use super::read::{ID_KEYS, NAME_KEYS, ROOT_KEY, entries, first};
use super::splice::{Page, Quotes, list, scalar};
use crate::yaml::{Document, Id, Kind, Leaf, YamlError};

/// Why the file cannot be changed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// It is not valid YAML.
    #[error(transparent)]
    Yaml(#[from] YamlError),
    /// The intent does not exist.
    #[error("unknown intent {0}")]
    NoIntent(String),
    /// The id occurs twice.
    #[error("duplicate intent {0}")]
    Ambiguous(String),
    /// The intent already exists.
    #[error("the intent {0} already exists")]
    Exists(String),
    /// The id is not valid.
    #[error("`{0}` is not a valid id: use letters, digits, `-`, `_` and `.`, like INT-001")]
    BadId(String),
    /// A text with characters that cannot be shown.
    #[error("the text for `{0}` contains control characters")]
    Control(String),
    /// An anchor is on it or around it, so that a change would show elsewhere too.
    #[error("`{0}` is shared through an anchor: change it by hand")]
    Shared(String),
    /// The value has the wrong type.
    #[error("`{0}` must be a string or a list of strings: change it by hand")]
    Shape(String),
    /// A list does not have what is to be removed from it.
    #[error("{id} has no `{text}` to remove")]
    NotInList {
        /// The intent.
        id: String,
        /// What is not in the list.
        text: String,
    },
    /// The layout of the text cannot be changed safely.
    #[error("ona cannot change a file with this layout safely: change it by hand")]
    Layout,
}

/// Keys that have one text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the keys of the file, named as they are there")]
pub enum TextField {
    Name,
    Status,
    Description,
    OpenspecRef,
    BeadId,
    CreatedAt,
    UpdatedAt,
}

impl TextField {
    fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Name => NAME_KEYS,
            Self::Status => &["status"],
            Self::Description => &["description"],
            Self::OpenspecRef => &["openspec_ref"],
            Self::BeadId => &["bead_id"],
            Self::CreatedAt => &["created_at"],
            Self::UpdatedAt => &["updated_at"],
        }
    }
}

/// Keys that have a list of texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the keys of the file, named as they are there")]
pub enum ListField {
    OwnedScope,
    Constraints,
    AcceptanceCriteria,
    RelatedRequirements,
}

impl ListField {
    fn key(self) -> &'static str {
        match self {
            Self::OwnedScope => "owned_scope",
            Self::Constraints => "constraints",
            Self::AcceptanceCriteria => "acceptance_criteria",
            Self::RelatedRequirements => "related_requirements",
        }
    }
}

/// A change of an intent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Gives the key this text.
    Text(TextField, String),
    /// Gives the key these texts. Texts that it has already stay as they are written.
    List(ListField, Vec<String>),
}

/// The text with the intent changed.
pub fn change(text: &str, id: &str, changes: &[Change]) -> Result<String, EditError> {
    let mut page = Page::read(text.to_owned())?;
    for change in changes {
        let (index, entry) = find(&page.document, id)?;
        let editor = Editor { page: &page, entry };
        let (next, key) = match change {
            Change::Text(field, text) => editor.set_text(field.keys(), text)?,
            Change::List(field, texts) => (set_list(&page, id, *field, texts)?, field.key()),
        };
        verify(&page.document, &next.document, &index.to_string(), Some(key))?;
        page = next;
    }
    Ok(page.text)
}

pub(super) fn id_of(document: &Document, entry: Id) -> Option<&str> {
    first(document, entry, ID_KEYS).and_then(|value| document.text(value)).map(str::trim)
}

fn find(document: &Document, id: &str) -> Result<(usize, Id), EditError> {
    let all = entries(document)?;
    let mut with = all.iter().enumerate().filter(|(_, entry)| id_of(document, **entry) == Some(id));
    match (with.next(), with.next()) {
        (None, _) => Err(EditError::NoIntent(id.to_owned())),
        (Some(_), Some(_)) => Err(EditError::Ambiguous(id.to_owned())),
        (Some((_, entry)), None)
            if document.is_shared(*entry)
                || matches!(document.node(*entry).kind, Kind::Alias(_)) =>
        {
            Err(EditError::Shared(id.to_owned()))
        }
        (Some((index, entry)), None) => Ok((index, *entry)),
    }
}

/// Everything except one entry, or one key of it, must be unchanged.
pub(super) fn verify(
    old: &Document,
    new: &Document,
    index: &str,
    key: Option<&str>,
) -> Result<(), EditError> {
    let rest = |document: &Document| -> Vec<(Vec<String>, Leaf)> {
        let meant = |way: &[String]| {
            let way =
                if way.first().is_some_and(|name| name == ROOT_KEY) { &way[1..] } else { way };
            // A list that was empty no longer is.
            way.is_empty()
                || way[0] == index
                    && key.is_none_or(|key| way.get(1).is_some_and(|name| name == key))
        };
        document.leaves().into_iter().filter(|(way, _)| !meant(way)).collect()
    };
    if rest(old) == rest(new) { Ok(()) } else { Err(EditError::Layout) }
}

struct Editor<'p> {
    page: &'p Page,
    entry: Id,
}

impl Editor<'_> {
    /// The key's own pair, not one that was merged in.
    fn own(&self, key: &str) -> Option<(Id, Id)> {
        let Kind::Map(pairs) = &self.page.document.node(self.entry).kind else { return None };
        pairs.iter().copied().find(|(name, _)| self.page.document.text(*name) == Some(key))
    }

    fn set_text(
        &self,
        keys: &'static [&'static str],
        text: &str,
    ) -> Result<(Page, &'static str), EditError> {
        let (page, document) = (self.page, &self.page.document);
        let found = keys.iter().find_map(|key| self.own(key).map(|pair| (*key, pair)));
        let name = found.map_or(keys[0], |(key, _)| key);
        if text.chars().any(|letter| letter.is_control() && !"\n\t".contains(letter)) {
            return Err(EditError::Control(name.to_owned()));
        }
        let Some((_, (key, value))) = found else {
            return Ok((self.insert(name, &scalar(text, Quotes::Plain))?, name));
        };
        let node = document.node(value);
        if document.is_shared(value) {
            return Err(EditError::Shared(name.to_owned()));
        }
        let new = scalar(text, page.quotes(value));
        let colon = || page.colon(key).ok_or(EditError::Layout);
        let next = match &node.kind {
            Kind::Scalar { style: ScalarStyle::Literal | ScalarStyle::Folded, .. } => {
                page.with(colon()?..page.end(value), &format!(" {new}"))?
            }
            Kind::Scalar { .. } if node.span.is_empty() => {
                let colon = colon()?;
                page.with(colon..colon, &format!(" {new}"))?
            }
            Kind::Scalar { .. } | Kind::Alias(_) => page.with(node.span.clone(), &new)?,
            Kind::List(_) | Kind::Map(_) => return Err(EditError::Shape(name.to_owned())),
        };
        let (_, entry) = again(&next, self.page, self.entry)?;
        let written = Editor { page: &next, entry }
            .own(name)
            .and_then(|(_, value)| next.document.text(value));
        if written == Some(text) { Ok((next, name)) } else { Err(EditError::Layout) }
    }

    /// Adds a key to the entry, after those it has.
    fn insert(&self, key: &str, value: &str) -> Result<Page, EditError> {
        let page = self.page;
        let node = page.document.node(self.entry);
        let Kind::Map(pairs) = &node.kind else { return Err(EditError::Layout) };
        let (Some((first, _)), Some((_, last))) = (pairs.first(), pairs.last()) else {
            return Err(EditError::Layout);
        };
        if node.flow {
            let end = page.end(*last);
            return page.with(end..end, &format!(", {key}: {value}"));
        }
        page.below(page.end(self.entry), &[format!("{}{key}: {value}", page.blanks(*first))])
    }

    /// Removes an item from the key's list, or adds one at the end.
    fn step(&self, key: &str, step: &Step) -> Result<Page, EditError> {
        let (page, document) = (self.page, &self.page.document);
        let Some((name, value)) = self.own(key) else {
            let Step::Add(text) = step else { return Err(EditError::Layout) };
            return self.insert(key, &list(std::slice::from_ref(text)));
        };
        let node = document.node(value);
        let colon = page.colon(name).ok_or(EditError::Layout)?;
        let items = match &node.kind {
            Kind::List(items) => items,
            Kind::Scalar { .. } if document.is_null(value) && !node.decorated => &Vec::new(),
            _ => return Err(EditError::Shape(key.to_owned())),
        };
        match (step, items.last()) {
            (Step::Add(text), None) => {
                let end = node.span.end.max(colon);
                page.with(colon..end, &format!(" {}", list(std::slice::from_ref(text))))
            }
            (Step::Add(text), Some(last)) => {
                let new = scalar(text, page.quotes(*last));
                if node.flow {
                    let end = page.end(*last);
                    return page.with(end..end, &format!(", {new}"));
                }
                let dash = page.dash(*last)?;
                let before = &page.text[page.line_start(dash)..dash];
                page.below(page.end(*last), &[format!("{before}- {new}")])
            }
            (Step::Remove(at), _) => {
                let item = items.get(*at).ok_or(EditError::Layout)?;
                if node.flow {
                    let from = match at.checked_sub(1) {
                        Some(before) => page.end(items[before]),
                        None => document.node(*item).span.start,
                    };
                    let to = match (at, items.get(at + 1)) {
                        (0, Some(next)) => document.node(*next).span.start,
                        _ => page.end(*item),
                    };
                    return page.with(from..to, "");
                }
                let (from, to) =
                    (page.line_start(page.dash(*item)?), page.next_line(page.end(*item)));
                let cut = page.text[..from].to_owned() + &page.text[to..];
                if items.len() > 1 {
                    return Page::read(cut).map_err(|_| EditError::Layout);
                }
                Page::read(format!("{} []{}", &cut[..colon], &cut[colon..]))
                    .map_err(|_| EditError::Layout)
            }
        }
    }

    fn texts(&self, key: &str) -> Result<Vec<String>, EditError> {
        let document = &self.page.document;
        let Some((_, value)) = self.own(key) else { return Ok(Vec::new()) };
        if document.is_shared(value) || matches!(document.node(value).kind, Kind::Alias(_)) {
            return Err(EditError::Shared(key.to_owned()));
        }
        if document.is_null(value) {
            return Ok(Vec::new());
        }
        let shape = || EditError::Shape(key.to_owned());
        let items = document.list(value).ok_or_else(shape)?;
        if items.iter().any(|item| document.is_shared(*item)) {
            return Err(EditError::Shared(key.to_owned()));
        }
        items.iter().map(|item| document.text(*item).map(str::to_owned).ok_or_else(shape)).collect()
    }
}

/// One step from one list to another.
enum Step {
    Remove(usize),
    Add(String),
}

/// The same entry, found again in a page that was changed.
fn again(next: &Page, page: &Page, entry: Id) -> Result<(usize, Id), EditError> {
    let at = entries(&page.document)?
        .iter()
        .position(|known| *known == entry)
        .ok_or(EditError::Layout)?;
    let entry = entries(&next.document)?.get(at).copied().ok_or(EditError::Layout)?;
    Ok((at, entry))
}

fn set_list(page: &Page, id: &str, field: ListField, texts: &[String]) -> Result<Page, EditError> {
    let key = field.key();
    if texts.iter().any(|text| text.chars().any(char::is_control)) {
        return Err(EditError::Control(key.to_owned()));
    }
    let mut page = Page::read(page.text.clone())?;
    let (_, entry) = find(&page.document, id)?;
    let old = Editor { page: &page, entry }.texts(key)?;
    // Items that stay are not moved; the others are removed, and new ones are added at the end.
    let (mut kept, mut gone) = (0, Vec::new());
    for (at, text) in old.iter().enumerate() {
        if texts.get(kept) == Some(text) { kept += 1 } else { gone.push(at) }
    }
    let steps = gone
        .into_iter()
        .rev()
        .map(Step::Remove)
        .chain(texts[kept..].iter().cloned().map(Step::Add));
    for step in steps {
        let (_, entry) = find(&page.document, id)?;
        let next = Editor { page: &page, entry }.step(key, &step)?;
        page = next;
    }
    let (_, entry) = find(&page.document, id)?;
    let written = Editor { page: &page, entry }.texts(key)?;
    if written == texts { Ok(page) } else { Err(EditError::Layout) }
}

#[cfg(test)]
mod tests;
