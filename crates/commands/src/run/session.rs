//! Commands about sessions: another one, a copy, its name, its directories and what runs in its background.

use ona_engine::{Fork, Which, find_session};
use ona_front::{Choice, Menu, MenuItem, MenuKey};
use ona_store::SessionRow;
use ona_tools::SessionServices as _;
use ona_types::hook::SessionEndReason;
use ona_types::{SessionId, TodoStatus};
use tokio_util::sync::CancellationToken;

use super::{beginning, counted, first_word, paths};
use crate::act::Act;
use crate::desk::{CommandError, Desk};
use crate::outside::Outside;

/// Sessions in the picker.
const PICKED: u32 = 100;

/// `/clear`.
pub(super) fn clear(name: &str) -> Act {
    Act::Open {
        which: Which::New(None),
        reason: SessionEndReason::Clear,
        name: Some(name.to_owned()).filter(|name| !name.is_empty()),
        said: "a new conversation; /resume lists the old one".to_owned(),
        input: None,
    }
}

/// `/resume`.
pub(super) fn resume<O: Outside>(desk: &Desk<O>, arguments: &str) -> Result<Act, CommandError> {
    let all = arguments == "--all";
    if !arguments.is_empty() && !all {
        let (word, rest) = first_word(arguments);
        if word == "--preview" {
            return preview(desk, rest);
        }
        if word == "--rename" {
            let (id, name) = first_word(rest);
            return rename_other(desk, id, name);
        }
        let seat = find_session(desk.store(), arguments, &desk.cwd)
            .map_err(|error| CommandError::Said(error.to_string()))?;
        if seat.session == *desk.session_id() {
            return Ok(Act::plain("this is the present session"));
        }
        return Ok(opened(&seat.session));
    }
    let dir = desk.project_dir();
    let rows = desk.store().sessions((!all).then_some(dir), Some(PICKED))?;
    let own = desk.session_id().to_string();
    let items: Vec<MenuItem> = rows
        .iter()
        .filter(|row| row.session_id != own && row.turns > 0 && row.origin != "subagent")
        .filter(|row| !ona_store::is_foreign(&row.origin))
        .map(|row| item(row, all))
        .collect();
    if items.is_empty() {
        return Ok(Act::plain(
            "no other session in this directory; `/resume --all` lists those of all",
        ));
    }
    let key =
        |key: char, label: &str, choice: Choice| MenuKey { key, label: label.to_owned(), choice };
    let line = |line: &str| Choice::Command { line: line.to_owned() };
    Ok(Act::menu(Menu {
        title: "Resume a session".to_owned(),
        text: String::new(),
        items,
        selected: 0,
        keys: vec![
            key('p', "preview", line("/resume --preview {}")),
            key(
                'r',
                "rename",
                Choice::Type {
                    label: "New name".to_owned(),
                    line: "/resume --rename {} ".to_owned(),
                    initial: String::new(),
                },
            ),
            key('a', "all directories", line("/resume --all")),
        ],
    }))
}

fn item(row: &SessionRow, with_dir: bool) -> MenuItem {
    let what = row.name.clone().or_else(|| row.first_prompt.clone()).unwrap_or_default();
    let turns = usize::try_from(row.turns).unwrap_or_default();
    let mut detail = format!("{}, {}", ago(row.last_active_ms), counted(turns, "prompt"));
    if with_dir {
        detail.push_str(&format!(", {}", row.project_dir));
    }
    MenuItem {
        label: beginning(&what, 70),
        detail,
        current: false,
        choice: Choice::Command { line: format!("/resume {}", row.session_id) },
        value: row.session_id.clone(),
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

fn preview<O: Outside>(desk: &Desk<O>, id: &str) -> Result<Act, CommandError> {
    let session = SessionId::from_existing(id);
    let prompts = desk.store().prompts(&session)?;
    let lines: Vec<String> = prompts
        .iter()
        .rev()
        .take(10)
        .rev()
        .map(|row| format!("> {}", beginning(&row.text, 100)))
        .collect();
    let last = desk.store().last_words(&session)?.unwrap_or_default();
    let text = format!(
        "The last prompts of this session:\n\n```text\n{}\n```\n\n{}",
        lines.join("\n"),
        beginning(&last, 400)
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
            choose("Back", "/resume".to_owned()),
        ],
        ..Menu::default()
    }))
}

fn rename_other<O: Outside>(desk: &Desk<O>, id: &str, name: &str) -> Result<Act, CommandError> {
    let seat = find_session(desk.store(), id, &desk.cwd)
        .map_err(|error| CommandError::Said(error.to_string()))?;
    let name = usable_name(name)?;
    desk.store().rename_session(&seat, Some(&name))?;
    Ok(Act::plain(format!("session {} is called {name} now", seat.session)))
}

fn usable_name(name: &str) -> Result<String, CommandError> {
    let name = name.trim();
    if name.is_empty() || name.chars().any(char::is_control) {
        return Err(CommandError::Said("the name must be one line of text".to_owned()));
    }
    Ok(name.to_owned())
}

/// `/branch`.
pub(super) fn branch<O: Outside>(desk: &Desk<O>, name: &str) -> Result<Act, CommandError> {
    if desk.store().turns(desk.session_id())? == 0 {
        return Ok(Act::plain("there is no conversation to branch yet"));
    }
    let own = desk.session_id().to_string();
    Ok(Act::Open {
        which: Which::Named(own.clone(), Some(Fork::default())),
        reason: SessionEndReason::Resume,
        name: Some(name.to_owned()).filter(|name| !name.is_empty()),
        said: format!("continued in a copy; the original is session {own}"),
        input: None,
    })
}

/// `/rename`.
pub(super) fn rename<O: Outside>(desk: &Desk<O>, name: &str) -> Result<Act, CommandError> {
    let name = match name {
        "" => {
            let prompts = desk.store().prompts(desk.session_id())?;
            let first = prompts.first().map(|row| beginning(&row.text, 40)).unwrap_or_default();
            let words: Vec<&str> = first.split_whitespace().take(6).collect();
            match words.is_empty() {
                true => {
                    return Ok(Act::plain(
                        "type a name: /rename NAME. No prompt was sent yet that could give one",
                    ));
                }
                false => words.join(" "),
            }
        }
        name => usable_name(name)?,
    };
    desk.store().rename_session(desk.session.seat(), Some(&name))?;
    Ok(Act::plain(format!("the session is called {name} now")))
}

/// `/add-dir`.
pub(super) fn add_dir<O: Outside>(desk: &Desk<O>, path: &str) -> Act {
    if path.is_empty() {
        return Act::error("which directory? /add-dir PATH");
    }
    let place = desk.session.gate.place();
    match paths::directory(&paths::typed(desk, path)) {
        Ok(dir) if dir == place.project_dir || place.additional_dirs.contains(&dir) => {
            Act::plain(format!("{} is a working directory already", dir.display()))
        }
        Ok(dir) => Act::AddDir(dir),
        Err(error) => Act::error(error.to_string()),
    }
}

/// `/tasks`.
pub(super) async fn tasks<O: Outside>(
    desk: &Desk<O>,
    arguments: &str,
) -> Result<Act, CommandError> {
    let services = desk.session.gate.services();
    let said = |error: ona_tools::ServiceError| CommandError::Said(error.to_string());
    let (word, id) = first_word(arguments);
    let found = match (word, id) {
        ("stop" | "show", id) if !id.is_empty() => {
            let task = services.task(id).map_err(said)?;
            Some(task.ok_or_else(|| CommandError::Said(format!("unknown task `{id}`")))?)
        }
        _ => None,
    };
    match (word, found) {
        ("stop", Some(task)) => {
            services.stop_task(&task).await.map_err(said)?;
            return Ok(Act::plain(format!("stopped {}: {}", task.id, task.command)));
        }
        ("show", Some(task)) => {
            let end = ona_tools::end_of_file(&task.output_path, 8_000);
            let (text, _) = end.map_err(|error| CommandError::Said(error.to_string()))?;
            let text = desk.session.gate.redactor().mask(&text).into_owned();
            return Ok(Act::plain(format!("{}\n{}", task.command, text.trim_end())));
        }
        _ => {}
    }
    let running = services.running_tasks().map_err(said)?;
    if running.is_empty() {
        return Ok(Act::plain("nothing runs in the background"));
    }
    let items = running.iter().map(|task| MenuItem {
        label: beginning(&task.command, 70),
        detail: task.id.clone(),
        current: false,
        choice: Choice::Command { line: format!("/tasks show {}", task.id) },
        value: task.id.clone(),
    });
    Ok(Act::menu(Menu {
        title: "Background tasks".to_owned(),
        items: items.collect(),
        keys: vec![MenuKey {
            key: 'x',
            label: "stop".to_owned(),
            choice: Choice::Command { line: "/tasks stop {}".to_owned() },
        }],
        ..Menu::default()
    }))
}

/// `/todos`.
pub(super) fn todos<O: Outside>(desk: &Desk<O>) -> Result<Act, CommandError> {
    let todos = desk.store().todos(desk.session.seat())?;
    if todos.is_empty() {
        return Ok(Act::plain("the todo list is empty"));
    }
    let line = |todo: &ona_types::Todo| {
        let mark = match todo.status {
            TodoStatus::Pending => "[ ]",
            TodoStatus::InProgress => "[~]",
            TodoStatus::Completed => "[x]",
        };
        format!("{mark} {}", todo.content)
    };
    Ok(Act::plain(todos.iter().map(line).collect::<Vec<_>>().join("\n")))
}

/// `/btw`.
pub(super) async fn btw<O: Outside>(
    desk: &Desk<O>,
    question: &str,
    cancel: &CancellationToken,
) -> Result<Act, CommandError> {
    if question.is_empty() {
        return Ok(Act::error("what is the question? /btw QUESTION"));
    }
    let answer = desk.session.ask_aside(&desk.model, question, cancel).await;
    let answer = answer.map_err(|error| CommandError::Said(error.to_string()))?;
    Ok(Act::text(answer))
}
