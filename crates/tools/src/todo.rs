//! TodoWrite: the session's to-do list, always given as a whole.

use ona_effects::Effects;
use ona_mcp::Hints;
use ona_types::{Change, TaskId, Todo, TodoStatus, ToolOutput, ToolUseId};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::context::{Place, ToolContext};
use crate::facts::{Facts, TaskChange, TaskEvent};
use crate::input::InputError;
use crate::services::{ServiceError, SessionServices};
use crate::text;
use crate::tool::{BuiltIn, Refusal};

/// The limit for the items of a list.
const MAX_ITEMS: usize = 200;

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
    const DESCRIPTION: &'static str = "Keeps the to-do list of this session, which the user sees. \
        Give the whole list each time: it replaces the previous list. Use it for work of three steps or more; have one \
        item in_progress at a time, and mark an item completed as soon as it is, not before.";
    const FACTS: Facts = Facts::plain(Hints::ADDS.once());
    type Input = TodoInput;

    fn effects(input: &TodoInput, _: &Place) -> Result<Effects, InputError> {
        let wrong = |why: String| Err(InputError::new(Self::NAME, why));
        if input.todos.len() > MAX_ITEMS {
            return wrong(format!("`todos`: {} items; limit: {MAX_ITEMS}", input.todos.len()));
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

    fn task_changes(
        input: TodoInput,
        call: &ToolUseId,
        services: &dyn SessionServices,
    ) -> Result<Vec<TaskChange>, ServiceError> {
        let before = services.todos()?;
        let todos = numbered(input.todos, &before, &TaskId::of_call(call));
        let is_done = |todo: &Todo| todo.status == TodoStatus::Completed;
        let mut changes = Vec::new();
        for todo in todos {
            let known = before.iter().find(|known| known.id == todo.id);
            let created = known.is_none().then_some(TaskEvent::Created);
            let completed = is_done(&todo) && !known.is_some_and(is_done);
            for event in created.into_iter().chain(completed.then_some(TaskEvent::Completed)) {
                changes.push(TaskChange {
                    event,
                    id: todo.id.clone(),
                    subject: todo.content.clone(),
                    unchanged: "the list stays as it was",
                });
            }
        }
        Ok(changes)
    }

    async fn run(input: TodoInput, cx: &ToolContext<'_>) -> Result<ToolOutput, Refusal> {
        let before = cx.services.todos()?;
        let todos = numbered(input.todos, &before, &TaskId::of_call(cx.tool_use_id));
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

/// The items with their ids. An item that was on the list before, in the same words, keeps its id. Among several in the
/// same words, those with the same status are matched.
fn numbered(items: Vec<Item>, before: &[Todo], call: &TaskId) -> Vec<Todo> {
    let mut left: Vec<&Todo> = before.iter().filter(|todo| !todo.id.is_empty()).collect();
    let mut todos: Vec<Todo> = items.into_iter().map(Todo::from).collect();
    for as_far in [true, false] {
        for todo in todos.iter_mut().filter(|todo| todo.id.is_empty()) {
            let is_same = |known: &&Todo| {
                known.content == todo.content && (!as_far || known.status == todo.status)
            };
            if let Some(at) = left.iter().position(is_same) {
                todo.id = left.remove(at).id.clone();
            }
        }
    }
    for (at, todo) in todos.iter_mut().enumerate().filter(|(_, todo)| todo.id.is_empty()) {
        todo.id = format!("{call}_{}", at + 1);
    }
    todos
}

impl From<Item> for Todo {
    fn from(item: Item) -> Self {
        let status = match item.status {
            Status::Pending => TodoStatus::Pending,
            Status::InProgress => TodoStatus::InProgress,
            Status::Completed => TodoStatus::Completed,
        };
        Self { id: String::new(), content: item.content, status, active_form: item.activeForm }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_keeps_its_id_wherever_it_goes() {
        let item = |content: &str, status| Item {
            content: content.to_owned(),
            status,
            activeForm: content.to_owned(),
        };
        let ids =
            |todos: &[Todo]| -> Vec<String> { todos.iter().map(|todo| todo.id.clone()).collect() };
        use Status::{Completed, Pending};
        let call = |id: &str| TaskId::of_call(&ToolUseId::from_existing(id));
        let one = numbered(vec![item("a", Pending), item("b", Pending)], &[], &call("toolu_x"));
        assert_eq!(ids(&one), ["task_x_1", "task_x_2"]);
        let two = numbered(vec![item("b", Completed), item("a", Pending)], &one, &call("toolu_y"));
        assert_eq!(ids(&two), ["task_x_2", "task_x_1"]);
        // Two in the same words are two.
        let both = vec![item("b", Completed), item("b", Pending), item("c", Pending)];
        let three = numbered(both, &two, &call("toolu_z"));
        assert_eq!(ids(&three), ["task_x_2", "task_z_2", "task_z_3"]);
        let turned = vec![item("b", Pending), item("b", Completed)];
        assert_eq!(ids(&numbered(turned, &three, &call("toolu_w"))), ["task_z_2", "task_x_2"]);
    }
}
