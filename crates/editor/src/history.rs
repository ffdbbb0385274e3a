//! Earlier prompts: going through them, and searching them.

use std::ops::Range;

use super::content::Content;

/// Earlier prompts, and the draft that waits while they are looked at.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// The oldest first.
    entries: Vec<String>,
    /// The one that is in the editor.
    at: Option<usize>,
    draft: Content,
}

/// What the editor shows next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recalled<'h> {
    /// An earlier prompt.
    Entry(&'h str),
    /// What was typed before the history was looked at.
    Draft(Content),
}

impl History {
    /// The history with these entries, oldest first.
    pub fn new(entries: impl IntoIterator<Item = String>) -> Self {
        let mut history = Self::default();
        for entry in entries {
            history.push(entry);
        }
        history
    }

    /// Adds the newest entry and goes back to the end. One that is blank or the same as the last is left out.
    pub fn push(&mut self, entry: String) {
        self.leave();
        if !entry.trim().is_empty() && self.entries.last() != Some(&entry) {
            self.entries.push(entry);
        }
    }

    /// The entries, oldest first.
    pub fn entries(&self) -> &[String] {
        &self.entries
    }

    /// The newest entry that goes on after these words; after one of them, the one before it.
    pub fn completion(&self, words: &str, after: Option<&str>) -> Option<&str> {
        let mut fitting = self.entries.iter().rev().map(String::as_str);
        if let Some(after) = after {
            fitting.find(|entry| *entry == after)?;
        }
        fitting.find(|entry| entry.starts_with(words) && *entry != words && Some(*entry) != after)
    }

    /// Goes back to the end and forgets the draft, as when the prompt was submitted or cleared.
    pub fn leave(&mut self) {
        self.at = None;
        self.draft = Content::default();
    }

    /// The entry before the one that is shown. `shown` is what is in the editor: if it is no entry as it was, it is
    /// kept as the draft.
    pub fn previous(&mut self, shown: &Content) -> Option<Recalled<'_>> {
        let before = self.at.unwrap_or(self.entries.len()).checked_sub(1)?;
        self.keep(shown);
        self.at = Some(before);
        self.entries.get(before).map(|entry| Recalled::Entry(entry))
    }

    /// The entry after the one that is shown; after the newest, the draft.
    pub fn next(&mut self, shown: &Content) -> Option<Recalled<'_>> {
        let after = self.at? + 1;
        self.keep(shown);
        match self.entries.get(after) {
            Some(entry) => {
                self.at = Some(after);
                Some(Recalled::Entry(entry))
            }
            None => {
                self.at = None;
                Some(Recalled::Draft(std::mem::take(&mut self.draft)))
            }
        }
    }

    fn keep(&mut self, shown: &Content) {
        let entry = self.at.and_then(|at| self.entries.get(at));
        if entry.is_none_or(|entry| shown.text() != *entry) {
            self.draft = shown.clone();
        }
    }
}

/// Where a search found its words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The index of the entry.
    pub entry: usize,
    /// The part of the entry that matches, in bytes.
    pub part: Range<usize>,
}

/// A search back through the history, as Ctrl+R starts it. Case counts only if the words have a capital letter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HistorySearch {
    query: String,
    found: Option<Found>,
}

impl HistorySearch {
    /// A search for nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// What is searched for.
    pub fn query(&self) -> &str {
        &self.query
    }

    /// What was found.
    pub fn found(&self) -> Option<&Found> {
        self.found.as_ref()
    }

    /// The entry that was found.
    pub fn entry<'h>(&self, history: &'h History) -> Option<&'h str> {
        history.entries.get(self.found.as_ref()?.entry).map(String::as_str)
    }

    /// Adds to the words. The entry that is shown stays if it still matches.
    pub fn push(&mut self, history: &History, letter: char) {
        let from = self.found.as_ref().map_or(history.entries.len(), |found| found.entry + 1);
        self.query.push(letter);
        self.found = self.search(history, from, None);
    }

    /// Takes the last letter of the words away and searches from the newest entry again.
    pub fn pop(&mut self, history: &History) {
        self.query.pop();
        self.found = self.search(history, history.entries.len(), None);
    }

    /// Goes on to an older entry with another text. Says whether there is one; else the last one stays.
    pub fn older(&mut self, history: &History) -> bool {
        let from = self.found.as_ref().map_or(history.entries.len(), |found| found.entry);
        let older = self.search(history, from, self.entry(history));
        let any = older.is_some();
        self.found = older.or(self.found.take());
        any
    }

    /// The newest matching entry before `end` that is not `except`.
    fn search(&self, history: &History, end: usize, except: Option<&str>) -> Option<Found> {
        if self.query.is_empty() {
            return None;
        }
        let entries = history.entries.get(..end)?.iter().enumerate().rev();
        let mut others = entries.filter(|(_, text)| Some(text.as_str()) != except);
        others.find_map(|(entry, text)| Some(Found { entry, part: last_match(text, &self.query)? }))
    }
}

/// The last place of the words in a text.
fn last_match(text: &str, words: &str) -> Option<Range<usize>> {
    if words.chars().any(char::is_uppercase) {
        return text.rfind(words).map(|at| at..at + words.len());
    }
    let starts = text.char_indices().rev();
    starts.into_iter().find_map(|(at, _)| Some(at..at + folded_prefix(&text[at..], words)?))
}

/// The length of the prefix of a text that is the words, whatever its case is.
fn folded_prefix(text: &str, words: &str) -> Option<usize> {
    let fold = |letter: char| letter.to_lowercase().next();
    let mut letters = text.chars();
    let mut length = 0;
    for word in words.chars() {
        let letter = letters.next().filter(|letter| fold(*letter) == fold(word))?;
        length += letter.len_utf8();
    }
    Some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history() -> History {
        History::new(["one", "two", "two", " ", "Three two"].map(str::to_owned))
    }

    #[test]
    fn words_are_completed_from_the_newest_entry_on() {
        let history = History::new(["!ls", "!cargo test", "!ls -l", "ls"].map(str::to_owned));
        assert_eq!(history.completion("!l", None), Some("!ls -l"));
        assert_eq!(history.completion("!l", Some("!ls -l")), Some("!ls"));
        assert_eq!(history.completion("!l", Some("!ls")), None);
        assert_eq!(history.completion("!ls", None), Some("!ls -l"));
        assert_eq!(history.completion("!x", None), None);
    }

    #[test]
    fn duplicates_in_a_row_and_blank_entries_are_left_out() {
        assert_eq!(history().entries(), ["one", "two", "Three two"]);
    }

    #[test]
    fn the_draft_comes_back() {
        let mut history = history();
        let draft = Content::from("draft");
        assert_eq!(history.next(&draft), None);
        assert_eq!(history.previous(&draft), Some(Recalled::Entry("Three two")));
        assert_eq!(history.previous(&"Three two".into()), Some(Recalled::Entry("two")));
        assert_eq!(history.previous(&"two".into()), Some(Recalled::Entry("one")));
        assert_eq!(history.previous(&"one".into()), None);
        assert_eq!(history.next(&"one".into()), Some(Recalled::Entry("two")));
        assert_eq!(history.next(&"two".into()), Some(Recalled::Entry("Three two")));
        assert_eq!(history.next(&"Three two".into()), Some(Recalled::Draft(draft)));
    }

    #[test]
    fn a_changed_entry_becomes_the_draft() {
        let mut history = history();
        history.previous(&"draft".into());
        history.previous(&"changed".into());
        history.next(&"two".into());
        assert_eq!(history.next(&"Three two".into()), Some(Recalled::Draft("changed".into())));
    }

    #[test]
    fn a_search_goes_back_through_matching_entries() {
        let history =
            History::new(["fix TWO bugs", "one", "two and two", "one"].map(str::to_owned));
        let mut search = HistorySearch::new();
        for letter in "two".chars() {
            search.push(&history, letter);
        }
        assert_eq!(search.found(), Some(&Found { entry: 2, part: 8..11 }));
        assert!(search.older(&history));
        assert_eq!(search.entry(&history), Some("fix TWO bugs"));
        assert!(!search.older(&history));
        assert_eq!(search.found(), Some(&Found { entry: 0, part: 4..7 }), "it stays");
        search.push(&history, 'x');
        assert_eq!(search.found(), None);
        search.pop(&history);
        assert_eq!(search.entry(&history), Some("two and two"));
    }

    #[test]
    fn the_same_text_is_not_found_twice_and_capitals_count() {
        let history = History::new(["one", "ONE", "two", "ONE"].map(str::to_owned));
        let mut search = HistorySearch::new();
        search.push(&history, 'o');
        search.push(&history, 'n');
        assert_eq!(search.entry(&history), Some("ONE"));
        assert!(search.older(&history));
        assert_eq!(search.entry(&history), Some("one"));
        assert!(!search.older(&history));
        let mut search = HistorySearch::new();
        search.push(&history, 'N');
        assert_eq!(search.entry(&history), Some("ONE"));
    }
}
