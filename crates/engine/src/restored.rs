//! What is put back after a compaction: the state of the work, instructions, memories, skills and what hooks add. All of it
//! together takes at most a quarter of the window, or the context would soon be full again.

use ona_policy::secrets::Redactor;
use ona_store::Steering;
use ona_types::{Entry, Todo, TodoStatus};
use serde_json::Value;

/// What the state of the work consists of.
pub(crate) struct State<'a> {
    pub(crate) steering: &'a Steering,
    pub(crate) intent: Option<&'a str>,
    pub(crate) todos: &'a [Todo],
    pub(crate) skills: Vec<String>,
}

const HEADING: &str = "The state of the work, from the record:";
const BETWEEN: &str = "\n\n";

/// The state of the work as text, in at most `room` bytes.
pub(crate) fn state(state: State<'_>, room: usize, redactor: &Redactor) -> String {
    let steering = state.steering;
    let mut parts = vec![format!("The phase of the work is {}.", steering.phase)];
    if let Some(goal) = &steering.first_prompt {
        parts.push(format!("The user's first prompt:\n{goal}"));
    }
    if let Some(last) =
        steering.last_prompt.as_ref().filter(|last| Some(*last) != steering.first_prompt.as_ref())
    {
        parts.push(format!("The user's latest prompt:\n{last}"));
    }
    if let Some((status, plan)) = &steering.plan {
        parts.push(format!("The plan ({status}):\n{plan}"));
    }
    if let Some(intent) = state.intent {
        parts.push(format!("The selected intent:\n{intent}"));
    }
    if !state.todos.is_empty() {
        let list: Vec<String> = state.todos.iter().map(todo_line).collect();
        parts.push(format!("The todo list:\n{}", list.join("\n")));
    }
    parts.extend(state.skills);
    let frame = HEADING.len() + parts.len() * BETWEEN.len();
    fit(parts.iter_mut().collect(), room.saturating_sub(frame), redactor);
    format!("{HEADING}{BETWEEN}{}", parts.join(BETWEEN))
}

/// Shortens the texts of entries, so that they take at most `room` bytes together.
pub(crate) fn fit_entries(entries: &mut [Entry], room: usize, redactor: &Redactor) {
    let texts = entries.iter_mut().filter_map(|entry| match entry.payload.get_mut("text") {
        Some(Value::String(text)) => Some(text),
        _ => None,
    });
    fit(texts.collect(), room, redactor);
}

fn todo_line(todo: &Todo) -> String {
    let mark = match todo.status {
        TodoStatus::Pending => " ",
        TodoStatus::InProgress => "~",
        TodoStatus::Completed => "x",
    };
    format!("- [{mark}] {}", todo.content)
}

/// Shortens texts to at most `room` bytes together: those that are longer than an equal share, and no others.
fn fit(mut texts: Vec<&mut String>, room: usize, redactor: &Redactor) {
    for text in &mut texts {
        // A part of a secret would pass unmasked.
        **text = redactor.mask_live(text).into_owned();
    }
    texts.sort_by_key(|text| text.len());
    let (mut left, mut count) = (room, texts.len());
    for text in texts {
        let share = left / count;
        if text.len() > share {
            *text = shortened(text, share);
        }
        (left, count) = (left - text.len(), count - 1);
    }
}

/// The beginning and the end of a text, in at most `room` bytes.
fn shortened(text: &str, room: usize) -> String {
    let note = format!("\n[… {} bytes are left out here …]\n", text.len());
    let Some(room) = room.checked_sub(note.len()) else {
        return text[..text.floor_char_boundary(room)].to_owned();
    };
    let begin = text.floor_char_boundary(room / 3 * 2);
    let end = text.ceil_char_boundary(text.len() - (room - begin).min(text.len()));
    let note = note.replacen(&text.len().to_string(), &(end - begin).to_string(), 1);
    format!("{}{note}{}", &text[..begin], &text[end..])
}

#[cfg(test)]
mod tests {
    use ona_types::{Phase, SystemNote};
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_what_is_long_is_shortened() {
        let mut texts = ["short".to_owned(), "b".repeat(5_000) + "end", "c".repeat(90)];
        fit(texts.iter_mut().collect(), 1_000, &Redactor::default());
        assert_eq!((texts[0].as_str(), texts[2].len()), ("short", 90));
        assert!(texts[1].starts_with("bbb") && texts[1].ends_with("end"), "{}", texts[1]);
        assert!(texts[1].contains("bytes are left out here"), "{}", texts[1]);
        assert!((850..=905).contains(&texts[1].len()), "{}", texts[1].len());
    }

    #[test]
    fn no_part_of_a_secret_is_left_at_a_cut() {
        let secret = "hunter2-hunter2-hunter2";
        let redactor = Redactor::knowing([secret.to_owned()]);
        for before in 0..80 {
            let mut text = format!("{}{secret}{}", "x".repeat(before), "y".repeat(500));
            fit(vec![&mut text], 120, &redactor);
            assert!(!text.contains("hunter"), "{text}");
        }
    }

    #[test]
    fn a_long_first_prompt_leaves_room_for_the_rest() {
        let steering = Steering {
            phase: Phase::Implement,
            plan: Some(("approved".into(), "1. do it".into())),
            first_prompt: Some("log ".repeat(34_000)),
            last_prompt: Some("and now?".into()),
        };
        let content = "write tests".to_owned();
        let todos = [Todo {
            content,
            status: TodoStatus::Pending,
            active_form: String::new(),
            id: String::new(),
        }];
        let state = State { steering: &steering, intent: None, todos: &todos, skills: Vec::new() };
        let text = super::state(state, 10_000, &Redactor::default());
        assert!(text.len() <= 10_000 && text.len() > 9_000, "{}", text.len());
        for kept in ["phase of the work is implement", "and now?", "1. do it", "- [ ] write tests"]
        {
            assert!(text.contains(kept), "{kept}");
        }
    }

    #[test]
    fn entries_share_their_room() {
        let note = |text: &str| {
            Entry::system(&SystemNote::Context { text: text.to_owned(), from: "x".to_owned() })
        };
        let mut entries =
            [note(&"i".repeat(9_000)), note("short"), Entry::system(&SystemNote::Interrupted)];
        fit_entries(&mut entries, 1_000, &Redactor::default());
        assert!(entries[0].payload["text"].as_str().unwrap().len() < 1_000);
        assert_eq!(entries[1], note("short"));
    }

    proptest! {
        #[test]
        fn the_room_is_enough(mut texts in prop::collection::vec("[a-zäß€😀\n]{0,300}", 0..6), room in 0usize..1500) {
            let whole: usize = texts.iter().map(String::len).sum();
            let before = texts.clone();
            fit(texts.iter_mut().collect(), room, &Redactor::default());
            prop_assert!(texts.iter().map(String::len).sum::<usize>() <= room);
            if whole <= room {
                prop_assert_eq!(texts, before);
            }
        }
    }
}
