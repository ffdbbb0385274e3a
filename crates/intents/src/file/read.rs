//! From the text to intents.

use std::collections::HashMap;

use super::model::{FileProblem, Intent, Intents, Item, ProblemKind, Status};
use crate::yaml::{Document, Id, Place, YamlError};

/// The key of the list.
pub(super) const ROOT_KEY: &str = "active_intents";

/// The keys of an intent's id and name; ona's own comes first.
pub(super) const ID_KEYS: &[&str] = &["id", "intent_id"];
pub(super) const NAME_KEYS: &[&str] = &["name", "title"];

impl Intents {
    /// Parses a file's text. Oddities become warnings; only invalid YAML, or a missing list of intents, is an
    /// error.
    pub fn read(text: &str) -> Result<Self, YamlError> {
        let document = Document::read(text)?;
        let mut reader = Reader { document: &document, intents: Self::default() };
        for entry in entries(&document)? {
            reader.entry(entry);
        }
        reader.duplicates();
        Ok(reader.intents)
    }

    /// The same, but an unknown status is an error.
    pub fn read_strict(text: &str) -> Result<Self, YamlError> {
        let intents = Self::read(text)?;
        let unknown = |warning: &&FileProblem| warning.kind == ProblemKind::UnknownStatus;
        match intents.warnings.iter().find(unknown) {
            Some(warning) => {
                Err(YamlError { place: warning.place, message: warning.message.clone() })
            }
            None => Ok(intents),
        }
    }
}

/// The entries of the list, wherever it is. An empty file has none.
pub(super) fn entries(document: &Document) -> Result<Vec<Id>, YamlError> {
    let Some(root) = document.root().filter(|root| !document.is_null(*root)) else {
        return Ok(Vec::new());
    };
    if let Some(items) = document.list(root) {
        return Ok(items.to_vec());
    }
    let list = document.get(root, ROOT_KEY);
    let place = document.node(list.unwrap_or(root)).place;
    match list {
        Some(list) if document.is_null(list) => Ok(Vec::new()),
        Some(list) => document
            .list(list)
            .map(<[Id]>::to_vec)
            .ok_or_else(|| YamlError { place, message: format!("`{ROOT_KEY}` must be a list") }),
        None => {
            let message = format!("the list of intents is missing: expected the key `{ROOT_KEY}`");
            Err(YamlError { place, message })
        }
    }
}

/// The value of the first of these keys that has one.
pub(super) fn first(document: &Document, entry: Id, keys: &[&str]) -> Option<Id> {
    keys.iter().find_map(|key| {
        let value = document.get(entry, key)?;
        let blank = document.text(value).is_some_and(|text| text.trim().is_empty());
        (!blank && !document.is_null(value)).then_some(value)
    })
}

struct Reader<'d> {
    document: &'d Document,
    intents: Intents,
}

impl Reader<'_> {
    fn warn(&mut self, kind: ProblemKind, place: Place, message: impl Into<String>) {
        self.intents.warnings.push(FileProblem { kind, place, message: message.into() });
    }

    fn entry(&mut self, entry: Id) {
        let document = self.document;
        let place = document.node(entry).place;
        if document.map(entry).is_none() {
            let message = "this is not an intent: expected keys and values; it is ignored";
            return self.warn(ProblemKind::NotAnIntent, place, message);
        }
        let id = first(document, entry, ID_KEYS).and_then(|value| document.text(value));
        let Some(id) = id.map(str::trim).filter(|id| !id.is_empty()) else {
            return self.warn(ProblemKind::NoId, place, "this intent has no `id`; it is ignored");
        };
        let (given_status, status_place) = self.status(entry);
        let plain = |items: Vec<Item>| items.into_iter().map(|item| item.text).collect();
        let intent = Intent {
            id: id.to_owned(),
            name: self.text(entry, NAME_KEYS),
            given_status,
            status_place,
            owned_scope: self.list(entry, "owned_scope"),
            constraints: plain(self.list(entry, "constraints")),
            acceptance_criteria: plain(self.list(entry, "acceptance_criteria")),
            related_requirements: plain(self.list(entry, "related_requirements")),
            openspec_ref: self.text(entry, &["openspec_ref"]),
            bead_id: self.text(entry, &["bead_id"]),
            description: self.text(entry, &["description"]),
            created_at: self.text(entry, &["created_at"]),
            updated_at: self.text(entry, &["updated_at"]),
            place,
            ..Intent::default()
        };
        self.intents.all.push(intent);
    }

    fn status(&mut self, entry: Id) -> (Option<Status>, Option<Place>) {
        let Some(value) = first(self.document, entry, &["status"]) else { return (None, None) };
        let place = self.document.node(value).place;
        // A status that is not a text must not count as missing.
        let word = self.document.text(value).unwrap_or("(not a string)");
        let status = Status::read(word);
        if let Status::Unknown(word) = &status {
            let known = Status::NAMES.join(", ");
            let message = format!("unknown status `{word}`, expected one of {known}");
            self.warn(ProblemKind::UnknownStatus, place, message);
        }
        (Some(status), Some(place))
    }

    fn text(&mut self, entry: Id, keys: &[&str]) -> Option<String> {
        let value = first(self.document, entry, keys)?;
        if let Some(text) = self.document.text(value) {
            return Some(text.to_owned());
        }
        let message = format!("`{}` must be a string", keys.join("` or `"));
        self.warn(ProblemKind::WrongShape, self.document.node(value).place, message);
        None
    }

    fn list(&mut self, entry: Id, key: &str) -> Vec<Item> {
        let document = self.document;
        let Some(value) = first(document, entry, &[key]) else { return Vec::new() };
        let place = document.node(value).place;
        if let Some(text) = document.text(value) {
            let message = format!("`{key}` must be a list; it is read as a list with one item");
            self.warn(ProblemKind::WrongShape, place, message);
            return vec![Item { text: text.to_owned(), place }];
        }
        let Some(items) = document.list(value) else {
            self.warn(ProblemKind::WrongShape, place, format!("`{key}` must be a list of strings"));
            return Vec::new();
        };
        let mut found = Vec::new();
        for item in items {
            let node = document.node(*item);
            match document.text(*item) {
                _ if document.is_null(*item) && !node.decorated => {}
                Some(text) => {
                    // YAML reads it as a tag, so it can no longer exclude anything: it stays, as a
                    // pattern that cannot be used.
                    if node.decorated && (text.is_empty() || document.is_null(*item)) {
                        let message = "an unquoted `!` makes a tag of the text: put it in quotes";
                        self.warn(ProblemKind::WrongShape, node.place, message);
                        found.push(Item { text: String::new(), place: node.place });
                        continue;
                    }
                    found.push(Item { text: text.to_owned(), place: node.place });
                }
                None => {
                    let message = format!("an entry of `{key}` is not a string; it is ignored");
                    self.warn(ProblemKind::WrongShape, node.place, message);
                }
            }
        }
        found
    }

    fn duplicates(&mut self) {
        let mut seen: HashMap<&str, Place> = HashMap::new();
        let mut twice = Vec::new();
        for intent in &self.intents.all {
            if let Some(before) = seen.get(intent.id.as_str()) {
                let message = format!(
                    "the id `{}` is already used at {before}; neither intent can be selected",
                    intent.id
                );
                twice.push((intent.place, message));
            } else {
                seen.insert(&intent.id, intent.place);
            }
        }
        for (place, message) in twice {
            self.warn(ProblemKind::DuplicateId, place, message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::Found;
    use crate::scope::GlobProblem;

    #[test]
    fn the_file_of_the_reference() {
        let intents = Intents::read(include_str!("../../tests/fixtures/intents.yaml")).unwrap();
        assert_eq!(intents.warnings, []);
        let Found::One(intent) = intents.find("INT-014") else { panic!() };
        assert_eq!(intent.title(), "Rate limit the login endpoint");
        assert_eq!(intent.status(), Status::InProgress);
        assert_eq!(intent.owned_scope[1].text, "tests/auth/*.rs");
        assert_eq!(intent.related_requirements, ["REQ-AUTH-3"]);
        assert_eq!(intent.created_at.as_deref(), Some("2026-05-02T09:00:00Z"));
        assert!(intent.scope().is_ok());
    }

    #[test]
    fn other_peoples_files_are_read_too() {
        let text = "- intent_id: INT-1\n  title: One\n  status: active\n- id: 2\n- id: ''\n  intent_id: INT-3\n";
        let intents = Intents::read(text).unwrap();
        let ids: Vec<_> = intents.all.iter().map(|intent| intent.id.as_str()).collect();
        assert_eq!(ids, ["INT-1", "2", "INT-3"]);
        assert_eq!(intents.all[0].title(), "One");
        assert_eq!(intents.all[0].status(), Status::InProgress);
        assert_eq!(intents.all[1].status(), Status::Planned);
        for empty in ["", "# nothing\n", "active_intents:\n", "active_intents: []", "---\n", "~"] {
            assert!(Intents::read(empty).unwrap().all.is_empty(), "{empty:?}");
        }
    }

    #[test]
    fn oddities_are_warned_of_where_they_stand() {
        let text = "active_intents:\n  - name: x\n  - INT-7\n  - id: A-1\n    status: DOING\n    owned_scope: src/**\n  - id: A-1\n    owned_scope:\n      - !src/x\n      - {a: b}\n      -\n    constraints: {a: b}\n    name: [x]\n";
        let intents = Intents::read(text).unwrap();
        let found: Vec<_> =
            intents.warnings.iter().map(|warning| (warning.kind, warning.place.line)).collect();
        assert_eq!(
            found,
            [
                (ProblemKind::NoId, 2),
                (ProblemKind::NotAnIntent, 3),
                (ProblemKind::UnknownStatus, 5),
                (ProblemKind::WrongShape, 6),
                (ProblemKind::WrongShape, 13),
                (ProblemKind::WrongShape, 9),
                (ProblemKind::WrongShape, 10),
                (ProblemKind::WrongShape, 12),
                (ProblemKind::DuplicateId, 7),
            ]
        );
        assert!(matches!(intents.find("A-1"), Found::Several(..)));
        assert_eq!(intents.all[1].scope().unwrap_err().problem, GlobProblem::Empty);
        let error = Intents::read_strict(text).unwrap_err();
        assert_eq!(
            error.to_string(),
            "line 5 column 13: unknown status `DOING`, expected one of PLANNED, IN_PROGRESS, COMPLETED, BLOCKED, ABANDONED"
        );
    }

    #[test]
    fn what_is_no_list_of_intents_is_an_error_with_its_place() {
        for (text, line) in [
            ("a: 1\n", 1),
            ("active_intents: 3\n", 1),
            ("x: 1\nactive_intents: {}\n", 2),
            ("hello", 1),
        ] {
            assert_eq!(Intents::read(text).unwrap_err().place.line, line, "{text:?}");
        }
    }

    #[test]
    fn anchors_and_merges_are_followed() {
        let text = "base: &base {status: BLOCKED, owned_scope: [src/**]}\nactive_intents:\n  - <<: *base\n    id: INT-1\n  - id: INT-2\n    owned_scope: &s [a, b]\n  - id: INT-3\n    owned_scope: *s\n";
        let intents = Intents::read(text).unwrap();
        assert_eq!(intents.all[0].status(), Status::Blocked);
        assert_eq!(intents.all[0].owned_scope[0].text, "src/**");
        assert_eq!(intents.all[2].owned_scope.len(), 2);
    }
}
