//! `/resume`: an earlier session by its id or name, or from a list.

use std::path::Path;

use ona_engine::{Which, find_session, session_of};
use ona_front::{Choice, Menu, MenuItem, MenuKey};
use ona_repo::Checkout;
use ona_store::SessionRow;
use ona_types::SessionId;
use ona_types::hook::SessionEndReason;

use super::session::usable_name;
use super::{beginning, counted, first_word};
use crate::act::Act;
use crate::desk::{CommandError, Desk};
use crate::outside::Outside;

/// Sessions in the list.
const PICKED: u32 = 300;

/// Lines of the last answer in a preview.
const ANSWER_LINES: usize = 8;

/// The list of all directories.
const ALL: &str = "--all";
/// The list of the branch that is checked out.
const BRANCH: &str = "--branch";

/// `/resume`.
pub(super) fn resume<O: Outside>(desk: &Desk<O>, arguments: &str) -> Result<Act, CommandError> {
    match first_word(arguments) {
        ("" | ALL | BRANCH, _) => picker(desk, Listed::of(arguments)),
        ("--preview", rest) => preview(desk, rest),
        ("--rename", rest) => {
            let (id, name) = first_word(rest);
            rename_other(desk, id, name)
        }
        _ => {
            let session = match session_of(desk.store(), arguments, &desk.cwd) {
                Ok(seat) => seat.session,
                Err(error) => begins_with(desk, arguments)?.ok_or_else(|| {
                    CommandError::Said(format!("{error}; /resume lists the sessions"))
                })?,
            };
            if session == *desk.session_id() {
                return Ok(Act::plain("this is the current session"));
            }
            Ok(opened(&session))
        }
    }
}

/// The one session of this directory that the list shows by these words.
fn begins_with<O: Outside>(desk: &Desk<O>, words: &str) -> Result<Option<SessionId>, CommandError> {
    let words = words.trim_matches('"').to_lowercase();
    let rows = desk.store().sessions(Some(desk.project_dir()), Some(PICKED))?;
    let mut found = rows.iter().filter(|row| {
        let label = row.name.as_ref().or(row.first_prompt.as_ref());
        is_listed(row) && label.is_some_and(|label| label.to_lowercase().starts_with(&words))
    });
    let first = found.next().map(|row| SessionId::from_existing(row.session_id.clone()));
    Ok(first.filter(|_| found.next().is_none()))
}

/// Which sessions are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Listed {
    /// Those of all directories.
    all: bool,
    /// Only those of the branch that is checked out.
    branch: bool,
}

impl Listed {
    fn of(arguments: &str) -> Self {
        let has = |word| arguments.split_whitespace().any(|own| own == word);
        Self { all: has(ALL), branch: has(BRANCH) }
    }

    /// The words of its command line, with a blank before each.
    fn words(self) -> String {
        let words = [(self.all, ALL), (self.branch, BRANCH)];
        words.iter().filter(|(is, _)| *is).map(|(_, word)| format!(" {word}")).collect()
    }

    /// Its command line.
    fn line(self) -> String {
        format!("/resume{}", self.words())
    }
}

fn picker<O: Outside>(desk: &Desk<O>, listed: Listed) -> Result<Act, CommandError> {
    let dir = desk.project_dir();
    let rows = desk.store().sessions((!listed.all).then_some(dir), Some(PICKED))?;
    let own = desk.session_id().to_string();
    let here = Checkout::of(Path::new(dir)).and_then(|checkout| checkout.branch());
    let mut items = Vec::new();
    for row in rows.iter().filter(|row| row.session_id != own && is_listed(row)) {
        let branch = desk.store().last_branch(&row.session_id)?;
        if !listed.branch || (branch.is_some() && branch == here) {
            items.push(item(row, branch.as_deref(), listed.all));
        }
    }
    if items.is_empty() {
        let text = match (listed.branch, listed.all, &here) {
            (true, _, Some(here)) => {
                format!(
                    "no other session on the branch {here}; /resume lists those of all branches"
                )
            }
            (true, _, None) => {
                "no branch is checked out here; /resume lists all sessions".to_owned()
            }
            (false, true, _) => "no other session in any directory".to_owned(),
            (false, false, _) => {
                format!("no other session in this directory; /resume {ALL} lists all directories")
            }
        };
        return Ok(Act::plain(text));
    }
    let key =
        |key: char, label: &str, choice: Choice| MenuKey { key, label: label.to_owned(), choice };
    let line = |line: String| Choice::Command { line };
    let rename = Choice::Type {
        label: "New name".to_owned(),
        line: "/resume --rename {} ".to_owned(),
        initial: String::new(),
    };
    let directories = if listed.all { "this directory" } else { "all directories" };
    let mut keys = vec![
        key('p', "preview", line(format!("/resume --preview {{}}{}", listed.words()))),
        key('r', "rename", rename),
        key('a', directories, line(Listed { all: !listed.all, ..listed }.line())),
    ];
    if let Some(here) = &here {
        let label = if listed.branch { "all branches".to_owned() } else { format!("only {here}") };
        keys.push(key('b', &label, line(Listed { branch: !listed.branch, ..listed }.line())));
    }
    Ok(Act::menu(Menu {
        title: "Resume a session".to_owned(),
        text: String::new(),
        items,
        selected: 0,
        keys,
    }))
}

/// Whether a session can be resumed, and is the user's own.
fn is_listed(row: &SessionRow) -> bool {
    row.turns > 0 && row.origin != "subagent" && !ona_store::is_foreign(&row.origin)
}

fn item(row: &SessionRow, branch: Option<&str>, with_dir: bool) -> MenuItem {
    let what = row.name.clone().or_else(|| row.first_prompt.clone()).unwrap_or_default();
    let turns = usize::try_from(row.turns).unwrap_or_default();
    let mut detail = format!("{}, {}", ago(row.last_active_ms), counted(turns, "prompt"));
    for part in branch.into_iter().chain(with_dir.then_some(row.project_dir.as_str())) {
        detail.push_str(&format!(", {part}"));
    }
    let words = [row.name.as_deref(), row.first_prompt.as_deref(), Some(&row.session_id)];
    MenuItem {
        label: beginning(&what, 70),
        detail,
        choice: Choice::Command { line: format!("/resume {}", row.session_id) },
        value: row.session_id.clone(),
        search: words.into_iter().flatten().collect::<Vec<_>>().join("\n"),
        ..MenuItem::default()
    }
}

/// How long ago a time was.
fn ago(ms: i64) -> String {
    let seconds = (ona_engine::memory::now() - ms / 1000).max(0);
    let (number, unit) = match seconds {
        0..60 => return "just now".to_owned(),
        60..3_600 => (seconds / 60, "minute"),
        3_600..86_400 => (seconds / 3_600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    format!("{} ago", counted(usize::try_from(number).unwrap_or_default(), unit))
}

fn opened(session: &SessionId) -> Act {
    Act::Open {
        which: Which::Named(session.to_string(), None),
        reason: SessionEndReason::Resume,
        name: None,
        said: format!("continued session {session}"),
        input: None,
    }
}

/// The end of a session, and the way back to the list.
fn preview<O: Outside>(desk: &Desk<O>, arguments: &str) -> Result<Act, CommandError> {
    let (id, list) = first_word(arguments);
    let session = SessionId::from_existing(id);
    let prompts = desk.store().prompts(&session)?;
    if prompts.is_empty() {
        return Ok(Act::error(format!("there is no session `{id}` with prompts")));
    }
    let lines: Vec<String> = prompts
        .iter()
        .rev()
        .take(10)
        .rev()
        .map(|row| format!("> {}", beginning(&row.text, 100)))
        .collect();
    let last = desk.store().last_words(&session)?.unwrap_or_default();
    // Indented, so that nothing in it ends the block.
    let last: String = last
        .lines()
        .take(ANSWER_LINES)
        .map(|line| format!("    {}\n", beginning(line, 100)))
        .collect();
    let text = format!(
        "The last prompts of this session:\n\n```text\n{}\n```\n\nThe last answer:\n\n{last}",
        lines.join("\n"),
    );
    let choose = |label: &str, line: String| MenuItem {
        label: label.to_owned(),
        choice: Choice::Command { line },
        ..MenuItem::default()
    };
    Ok(Act::menu(Menu {
        title: "Preview".to_owned(),
        text,
        items: vec![
            choose("Resume it", format!("/resume {id}")),
            choose("Back", Listed::of(list).line()),
        ],
        ..Menu::default()
    }))
}

fn rename_other<O: Outside>(desk: &Desk<O>, id: &str, name: &str) -> Result<Act, CommandError> {
    let seat = find_session(desk.store(), id, &desk.cwd)
        .map_err(|error| CommandError::Said(error.to_string()))?;
    let name = usable_name(name)?;
    desk.store().rename_session(&seat, Some(&name))?;
    // The list shows it.
    picker(desk, Listed { all: false, branch: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_named_by_its_line() {
        for line in ["/resume", "/resume --all", "/resume --branch", "/resume --all --branch"] {
            assert_eq!(Listed::of(line.trim_start_matches("/resume")).line(), line);
        }
    }

    #[test]
    fn the_name_the_first_prompt_and_the_id_are_searched() {
        let row = SessionRow {
            session_id: "0123-45".to_owned(),
            conversation_id: String::new(),
            project_dir: "/p".to_owned(),
            name: Some("oak".to_owned()),
            origin: "interactive".to_owned(),
            forked_from: None,
            started_at: String::new(),
            last_active_ms: 0,
            entries: 2,
            turns: 1,
            first_prompt: Some("plant a tree".to_owned()),
            cost_usd: 0.0,
        };
        let item = item(&row, Some("main"), true);
        assert_eq!(item.label, "oak");
        assert!(item.detail.ends_with("1 prompt, main, /p"), "{}", item.detail);
        assert_eq!(item.search, "oak\nplant a tree\n0123-45");
    }
}
