//! TodoWrite: the session's list of things to do, always given whole.

use ona_policy::Effects;
use ona_types::{Change, Todo, TodoStatus, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::context::{Place, ToolContext};
use crate::input::InputError;
use crate::text;
use crate::tool::{BuiltIn, Refusal};

/// More than anybody keeps to.
const MOST: usize = 200;

pub(crate) struct TodoWrite;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TodoInput {
    /// The whole list; what is not in it is gone.
    todos: Vec<Item>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(non_snake_case, reason = "the key is written so")]
struct Item {
    /// What is to be done, such as "Run the tests".
    content: String,
    /// How far it has come.
    status: Status,
    /// The same while it is being done, such as "Running the tests".
    activeForm: String,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Status {
    Pending,
    InProgress,
    Completed,
}

impl BuiltIn for TodoWrite {
    const NAME: &'static str = "TodoWrite";
    const DESCRIPTION: &'static str = "Keeps the list of what is to be done in this session, which the user sees. \
        Give the whole list each time: it replaces the one before. Use it for work of three steps or more; have one \
        item in_progress at a time, and mark an item completed as soon as it is, not before.";
    type Input = TodoInput;

    fn effects(input: &TodoInput, _: &Place) -> Result<Effects, InputError> {
        let wrong = |why: String| Err(InputError::new(Self::NAME, why));
        if input.todos.len() > MOST {
            return wrong(format!("`todos`: {} items, and there may be {MOST}", input.todos.len()));
        }
        for (at, item) in input.todos.iter().enumerate() {
            for (key, text) in [("content", &item.content), ("activeForm", &item.activeForm)] {
                if text.trim().is_empty() {
                    return wrong(format!("`todos[{at}].{key}` is empty"));
                }
            }
        }
        Ok(Effects::default())
    }

    async fn run(input: TodoInput, cx: &ToolContext<'_>) -> Result<ToolOutput, Refusal> {
        let before = cx.desk.todos().map_err(Refusal::Internal)?;
        let todos: Vec<Todo> = input.todos.into_iter().map(Todo::from).collect();
        let count = |status| todos.iter().filter(|todo| todo.status == status).count();
        let content = format!(
            "The list has {}: {} completed, {} in progress, {} pending (before: {})",
            text::count(todos.len() as u64, "item"),
            count(TodoStatus::Completed),
            count(TodoStatus::InProgress),
            count(TodoStatus::Pending),
            before.len(),
        );
        Ok(ToolOutput::success(content).with_change(Change::Todos(todos)))
    }
}

impl From<Item> for Todo {
    fn from(item: Item) -> Self {
        let status = match item.status {
            Status::Pending => TodoStatus::Pending,
            Status::InProgress => TodoStatus::InProgress,
            Status::Completed => TodoStatus::Completed,
        };
        Self { content: item.content, status, active_form: item.activeForm }
    }
}
