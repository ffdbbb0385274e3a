//! Edit: replaces an exact string in a file.

use ona_effects::Effects;
use ona_files::{MAX_WHOLE, ReadError, ReplaceError, ReplaceOptions, replace};
use ona_mcp::Hints;
use ona_policy::RuleSubject;
use ona_types::{ContentHash, FileView, Seen, ToolKind, ToolOutput, WriteAction};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::context::{Place, ToolContext};
use crate::facts::Facts;
use crate::input::{InputError, lenient_bool};
use crate::text::{self, count, line_count};
use crate::tool::{BuiltIn, Refusal};
use crate::write::{existing, known, no_mask, refused, target, unreadable};

pub(crate) struct Edit;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EditInput {
    /// The file to change, as an absolute path.
    file_path: String,
    /// The exact text to replace. It must occur once, unless replace_all is set. Empty to create a file.
    old_string: String,
    /// The text to put in its place.
    new_string: String,
    /// Replace every occurrence.
    #[serde(default, deserialize_with = "lenient_bool")]
    replace_all: Option<bool>,
}

impl BuiltIn for Edit {
    const NAME: &'static str = "Edit";
    const DESCRIPTION: &'static str = "Replaces an exact string in a file. The file must have been read \
        in this session and be unchanged since. old_string must match exactly, white space included, and \
        occur once; give more context to make it unique, or set replace_all.";
    const FACTS: Facts = Facts {
        kind: ToolKind::Write(WriteAction::Edit),
        rules: RuleSubject::Writes,
        denied_in_planning: true,
        free_in_accept_edits: true,
        ..Facts::plain(Hints::CHANGES)
    };
    type Input = EditInput;

    fn effects(input: &EditInput, place: &Place) -> Result<Effects, InputError> {
        if input.old_string == input.new_string {
            return Err(InputError::new(
                Self::NAME,
                "`old_string` and `new_string` are the same: there is nothing to change",
            ));
        }
        Ok(Effects::replace(target::<Self>(place, "file_path", &input.file_path)?))
    }

    fn preview(input: &EditInput, old: Option<&[u8]>) -> Option<Vec<u8>> {
        let old = std::str::from_utf8(old?).ok()?;
        let (from, to) = (&input.old_string, &input.new_string);
        if from.is_empty() || !old.contains(from) {
            return None;
        }
        let new = match input.replace_all {
            Some(true) => old.replace(from, to),
            _ => old.replacen(from, to, 1),
        };
        Some(new.into_bytes())
    }

    async fn run(input: EditInput, cx: &ToolContext<'_>) -> Result<ToolOutput, Refusal> {
        let path = cx.judged_path()?;
        let shown = path.display().to_string();
        let Some(file) = existing(&path)? else {
            if !input.old_string.is_empty() {
                return Err(Refusal::rejected(format!(
                    "{shown} does not exist; to create it use Write, or Edit with an empty old_string"
                )));
            }
            let hash = ContentHash::of(input.new_string.as_bytes());
            let new_file = ReplaceOptions::new_file().resolved();
            replace(&path, input.new_string.as_bytes(), &new_file)
                .map_err(|e| refused(&path, e))?;
            let lines = count(line_count(&input.new_string), "line");
            return Ok(ToolOutput::success(format!("Created {shown} ({lines})"))
                .with_view(FileView { path, hash, seen: Seen::Whole }));
        };
        let known = known(cx, &path)?;
        let bytes = ona_files::read_open(&file, MAX_WHOLE).map_err(|error| match error {
            ReadError::Io(error) => unreadable(&path, &error),
            _ => Refusal::rejected(format!("{shown} is larger than 1 GiB: use Bash to edit it")),
        })?;
        let old = String::from_utf8(bytes).map_err(|_| {
            Refusal::rejected(format!("{shown} is not UTF-8, Edit would damage it: use Bash"))
        })?;
        if ContentHash::of(old.as_bytes()) != known.hash {
            return Err(refused(&path, ReplaceError::Changed));
        }
        no_mask(&path, &input.new_string, || old.clone())?;
        let change = Change::plan(&old, &input)
            .map_err(|why| Refusal::rejected(format!("{shown} was not changed: {why}")))?;
        let new = change.apply(&old);
        let hash = ContentHash::of(new.as_bytes());
        let expected = ReplaceOptions::expecting(&known.hash).resolved();
        replace(&path, new.as_bytes(), &expected).map_err(|e| refused(&path, e))?;
        let summary = format!(
            "Edited {shown}: {} from line {} on (now {})",
            count(change.times, "replacement"),
            change.first_line,
            count(line_count(&new), "line"),
        );
        Ok(ToolOutput::success(summary)
            .with_detail("replacements", change.times)
            .with_view(FileView { path, hash, seen: after_edit(&known.seen) }))
    }
}

/// A file that was seen whole stays so; of a part, the line numbers have moved.
pub(crate) fn after_edit(seen: &Seen) -> Seen {
    match seen {
        Seen::Whole => Seen::Whole,
        Seen::Lines { .. } => Seen::part(),
    }
}

/// Why a replacement does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum PlanError {
    #[error("old_string is empty, but the file is not")]
    Empty,
    #[error(
        "old_string was not found; it must match exactly, white space included. Read the file \
         again and copy the text from there"
    )]
    NotFound,
    #[error(
        "old_string occurs {0} times; add lines around it to make it unique, or set \
         replace_all"
    )]
    NotUnique(u64),
}

/// A replacement that is known to fit.
#[derive(Debug, PartialEq, Eq)]
struct Change {
    from: String,
    to: String,
    times: u64,
    first_line: u64,
}

impl Change {
    /// Finds the place to replace; an error says why it is not unique.
    fn plan(old: &str, input: &EditInput) -> Result<Self, PlanError> {
        if input.old_string.is_empty() {
            if !old.is_empty() {
                return Err(PlanError::Empty);
            }
            return Ok(Self {
                from: String::new(),
                to: input.new_string.clone(),
                times: 1,
                first_line: 1,
            });
        }
        let crlf = || (text::to_crlf(&input.old_string), text::to_crlf(&input.new_string));
        let (from, to) = if text::is_crlf(old) {
            crlf()
        } else if old.contains(&input.old_string) || !old.contains("\r\n") {
            (input.old_string.clone(), input.new_string.clone())
        } else {
            // Mixed line ends: the place may be one where they are CR LF.
            crlf()
        };
        let first = old.find(&from).ok_or(PlanError::NotFound)?;
        let times = match input.replace_all {
            Some(true) => old.matches(&from).count() as u64,
            _ => match occurrences(old, &from) {
                1 => 1,
                times => return Err(PlanError::NotUnique(times)),
            },
        };
        Ok(Self {
            from,
            to,
            times,
            first_line: line_count(&old[..first]).max(1) + starts_line(old, first),
        })
    }

    fn apply(&self, old: &str) -> String {
        if self.from.is_empty() { self.to.clone() } else { old.replace(&self.from, &self.to) }
    }
}

/// How often a text occurs, overlaps included: `aa` is twice in `aaa`, and which one is meant is not clear.
fn occurrences(text: &str, part: &str) -> u64 {
    let step = part.chars().next().map_or(1, char::len_utf8);
    let next = |start: usize| text[start..].find(part).map(|at| start + at);
    std::iter::successors(next(0), |at| next(at + step)).count() as u64
}

/// 1 if the position begins a line other than the first: the count before it is one short then.
fn starts_line(text: &str, position: usize) -> u64 {
    u64::from(position > 0 && text.as_bytes()[position - 1] == b'\n')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn plan(old: &str, from: &str, to: &str, all: bool) -> Result<(String, Change), PlanError> {
        let input = EditInput {
            file_path: String::new(),
            old_string: from.into(),
            new_string: to.into(),
            replace_all: Some(all),
        };
        Change::plan(old, &input).map(|change| (change.apply(old), change))
    }

    #[test]
    fn one_place_or_all_places() {
        let (new, change) = plan("a\nb\nc\n", "b", "B", false).unwrap();
        assert_eq!((new.as_str(), change.first_line), ("a\nB\nc\n", 2));
        assert_eq!(plan("x x", "x", "y", false).unwrap_err(), PlanError::NotUnique(2));
        assert_eq!(plan("x x", "x", "y", true).unwrap().0, "y y");
        for (old, from, times) in [("aaa", "aa", 1), ("aaaa", "aa", 2), ("abababa", "aba", 2)] {
            let (new, change) = plan(old, from, "-", true).unwrap();
            assert_eq!((new.matches('-').count() as u64, change.times), (times, times), "{old}");
        }
        assert_eq!(plan("aaa", "aa", "b", false).unwrap_err(), PlanError::NotUnique(2));
        assert_eq!(plan("abc", "d", "e", true).unwrap_err(), PlanError::NotFound);
        assert_eq!(plan("abc", "", "e", false).unwrap_err(), PlanError::Empty);
        assert_eq!(plan("", "", "new", false).unwrap().0, "new");
    }

    #[test]
    fn line_ends_are_kept() {
        assert_eq!(plan("a\r\nb\r\n", "a\nb", "x\ny", false).unwrap().0, "x\r\ny\r\n");
        assert_eq!(plan("a\r\nb\r\n", "b", "x\ny", false).unwrap().0, "a\r\nx\r\ny\r\n");
        assert_eq!(plan("a\nb\r\nc\n", "b\nc", "x", false).unwrap().0, "a\nx\n");
        assert_eq!(plan("a\nb\r\nc\r\n", "b\nc", "x\ny", false).unwrap().0, "a\nx\r\ny\r\n");
    }

    #[test]
    fn line_numbers() {
        for (old, line) in [("b", 1), ("a b", 1), ("a\nb", 2), ("a\n\nb", 3), ("a\n\n x b", 3)] {
            assert_eq!(plan(old, "b", "B", false).unwrap().1.first_line, line, "{old:?}");
        }
    }

    proptest! {
        #[test]
        fn everything_around_the_place_stays(before in "[a-z\n]{0,20}", after in "[a-z\n]{0,20}", to in "[a-z\n]{0,9}") {
            let old = format!("{before}@{after}");
            prop_assert_eq!(plan(&old, "@", &to, false).unwrap().0, format!("{before}{to}{after}"));
        }
    }
}
