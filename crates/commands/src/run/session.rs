//! Commands about sessions: another one, a copy, its name, its directories and what runs in its background.

use ona_engine::{Fork, Which};
use ona_front::{Choice, Menu, MenuItem, MenuKey};
use ona_tools::SessionServices as _;
use ona_types::hook::SessionEndReason;
use ona_types::{TaskEnd, TodoStatus};
use tokio_util::sync::CancellationToken;

use super::{beginning, first_word, paths};
use crate::act::Act;
use crate::desk::{CommandError, Desk};
use crate::outside::Outside;

/// `/clear`.
pub(super) fn clear<O: Outside>(desk: &Desk<O>, name: &str) -> Result<Act, CommandError> {
    let said = match desk.store().prompts(desk.session_id())?.is_empty() {
        true => "started a new conversation; nothing was said in the old one",
        false => "started a new conversation; /resume lists the old one",
    };
    Ok(Act::Open {
        which: Which::New(None),
        reason: SessionEndReason::Clear,
        name: Some(name.to_owned()).filter(|name| !name.is_empty()),
        said: said.to_owned(),
        input: None,
    })
}

pub(super) fn usable_name(name: &str) -> Result<String, CommandError> {
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
                        "which name? /rename NAME. Without one the first prompt gives it, and there is none yet",
                    ));
                }
                false => words.join(" "),
            }
        }
        name => usable_name(name)?,
    };
    desk.store().rename_session(desk.session.seat(), Some(&name))?;
    Ok(Act::plain(format!("the session is called \"{name}\" now")))
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

/// How a task is that has not ended.
const RUNNING: &str = "running";
const NO_TASKS: &str = "no background tasks are running";

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
            if let Some(end) = &task.end {
                return Ok(Act::plain(format!("{} has ended already: {}", task.id, end.how())));
            }
            services.stop_task(&task).await.map_err(said)?;
            return Ok(Act::plain(format!("stopped {}: {}", task.id, task.command)));
        }
        ("show", Some(task)) => {
            let end = ona_tools::end_of_file(&task.output_path, 8_000);
            let (text, _) = end.map_err(|error| CommandError::Said(error.to_string()))?;
            let text = desk.session.gate.redactor().mask(&text).into_owned();
            let how = task.end.as_ref().map_or_else(|| RUNNING.to_owned(), TaskEnd::how);
            return Ok(Act::plain(format!("{} ({how})\n{}", task.command, text.trim_end())));
        }
        _ => {}
    }
    let running = services.running_tasks().map_err(said)?;
    let ended = desk.store().ended_tasks(desk.session_id())?;
    if running.is_empty() && ended.is_empty() {
        return Ok(Act::plain(NO_TASKS));
    }
    let item = |command: &str, id: &str, how: String| MenuItem {
        label: beginning(command, 70),
        detail: format!("{id} · {how}"),
        choice: Choice::Command { line: format!("/tasks show {id}") },
        value: id.to_owned(),
        ..MenuItem::default()
    };
    let mut items: Vec<MenuItem> =
        running.iter().map(|task| item(&task.command, &task.id, RUNNING.to_owned())).collect();
    for task in ended.iter().rev() {
        let how = task.end.as_ref().map(TaskEnd::how).unwrap_or_default();
        items.push(item(&task.command, task.id.as_str(), how));
    }
    Ok(Act::menu(Menu {
        title: "Background tasks".to_owned(),
        text: if running.is_empty() { NO_TASKS.to_owned() } else { String::new() },
        items,
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
    let answer = desk.session.ask_aside(&desk.model(), question, cancel).await;
    // Several can be asked at the same time, and a turn writes between a question and its answer.
    let question = beginning(question, 80);
    let failed = |error| CommandError::Said(format!("/btw {question}: {error}"));
    let answer = answer.map_err(failed)?;
    Ok(Act::text(format!("> {question}\n\n{answer}")))
}
