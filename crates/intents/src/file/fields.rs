//! Changes of an intent's fields, as commands ask for them.

use super::edit::{Change, EditError, ListField, TextField, change};
use super::model::{Found, Intent, Intents, Status};
use super::now;

/// A change of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListEdit<'e> {
    /// The list.
    pub field: ListField,
    /// Replaces the list, unless it is empty.
    pub set: &'e [String],
    /// Texts to add, unless the list has them.
    pub add: &'e [String],
    /// Texts to remove, which the list must have.
    pub remove: &'e [String],
}

impl ListEdit<'_> {
    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.set.is_empty() && self.add.is_empty() && self.remove.is_empty()
    }

    /// The whole list as it becomes.
    fn apply(&self, intent: &Intent) -> Result<Change, EditError> {
        let old: Vec<String> = match self.field {
            ListField::OwnedScope => {
                intent.owned_scope.iter().map(|item| item.text.clone()).collect()
            }
            ListField::Constraints => intent.constraints.clone(),
            ListField::AcceptanceCriteria => intent.acceptance_criteria.clone(),
            ListField::RelatedRequirements => intent.related_requirements.clone(),
        };
        let mut list = if self.set.is_empty() { old } else { self.set.to_owned() };
        for text in self.remove {
            let before = list.len();
            list.retain(|known| known != text);
            if list.len() == before {
                return Err(EditError::NotInList { id: intent.id.clone(), text: text.clone() });
            }
        }
        for text in self.add {
            if !list.contains(text) {
                list.push(text.clone());
            }
        }
        Ok(Change::List(self.field, list))
    }
}

/// The text with an intent's lists and texts changed, and its `updated_at`: all of it or nothing.
pub fn edit(
    text: &str,
    id: &str,
    lists: &[ListEdit<'_>],
    texts: &[(TextField, String)],
) -> Result<String, EditError> {
    let mut changes = Vec::new();
    // An unknown or ambiguous id is an error of `change`.
    if let Found::One(intent) = Intents::read(text)?.find(id) {
        for list in lists.iter().filter(|list| !list.is_empty()) {
            changes.push(list.apply(intent)?);
        }
    }
    changes.extend(texts.iter().map(|(field, text)| Change::Text(*field, text.clone())));
    changes.push(Change::Text(TextField::UpdatedAt, now()));
    change(text, id, &changes)
}

/// The text with another status, unless the intent has it.
pub fn set_status(text: &str, id: &str, status: &Status) -> Result<String, EditError> {
    if let Found::One(intent) = Intents::read(text)?.find(id)
        && intent.given_status.as_ref() == Some(status)
    {
        return Ok(text.to_owned());
    }
    edit(text, id, &[], &[(TextField::Status, status.as_str().to_owned())])
}

/// The text with a pattern added to the scope, unless the intent has it.
pub fn widen(text: &str, id: &str, pattern: &str) -> Result<String, EditError> {
    if let Found::One(intent) = Intents::read(text)?.find(id)
        && intent.owned_scope.iter().any(|item| item.text == pattern)
    {
        return Ok(text.to_owned());
    }
    let add = [pattern.to_owned()];
    edit(
        text,
        id,
        &[ListEdit { field: ListField::OwnedScope, set: &[], add: &add, remove: &[] }],
        &[],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "active_intents:\n  - id: INT-1 # ours\n    status: PLANNED\n    owned_scope: [a, b]\n    updated_at: 2026-01-01T00:00:00Z\n";

    fn scope<'e>(set: &'e [String], add: &'e [String], remove: &'e [String]) -> ListEdit<'e> {
        ListEdit { field: ListField::OwnedScope, set, add, remove }
    }

    fn patterns(text: &str) -> Vec<String> {
        let intents = Intents::read(text).unwrap();
        intents.all[0].owned_scope.iter().map(|item| item.text.clone()).collect()
    }

    #[test]
    fn lists_are_replaced_added_to_and_taken_from() {
        let texts = |words: &[&str]| -> Vec<String> {
            words.iter().map(|word| (*word).to_owned()).collect()
        };
        for (set, add, remove, left) in [
            (&[][..], &["c", "a"][..], &["b"][..], &["a", "c"][..]),
            (&["x"], &["y"], &[], &["x", "y"]),
        ] {
            let (set, add, remove) = (texts(set), texts(add), texts(remove));
            let text = edit(TEXT, "INT-1", &[scope(&set, &add, &remove)], &[]).unwrap();
            assert_eq!(patterns(&text), left);
            assert!(text.contains("# ours") && !text.contains("2026-01-01"), "{text}");
        }
        let missing = texts(&["z"]);
        let error = edit(TEXT, "INT-1", &[scope(&[], &[], &missing)], &[]).unwrap_err();
        assert_eq!(error.to_string(), "INT-1 has no `z` to remove");
        assert_eq!(edit(TEXT, "INT-9", &[], &[]), Err(EditError::NoIntent("INT-9".to_owned())));
    }

    #[test]
    fn what_is_so_already_is_not_written() {
        assert_eq!(set_status(TEXT, "INT-1", &Status::Planned).unwrap(), TEXT);
        assert_eq!(widen(TEXT, "INT-1", "a").unwrap(), TEXT);
        let text = set_status(TEXT, "INT-1", &Status::Blocked).unwrap();
        assert!(text.contains("status: BLOCKED"), "{text}");
        assert_eq!(patterns(&widen(TEXT, "INT-1", "c").unwrap()), ["a", "b", "c"]);
    }
}
