//! Much at once, and for a long time.

use ona_front::{Ending, Event};
use ona_types::Todo;

use crate::scenes::{answered, ended, output, started, text, turn_ended};
use crate::stage::Stage;
use serde_json::json;

/// The rows that are not blank.
fn rows(text: &str) -> Vec<String> {
    text.lines().filter(|row| !row.trim().is_empty()).map(str::to_owned).collect()
}

/// An answer in so many pieces.
fn pieces(count: usize) -> Vec<Event> {
    (0..count)
        .map(|number| match number % 40 {
            0 => text(&format!("\n\n## Part {number}\n\n")),
            1..20 => text(&format!("word{number} ")),
            20 => text("\n\n"),
            _ => text(&format!("- item {number}\n")),
        })
        .collect()
}

#[test]
fn a_flood_of_pieces_is_drawn_once_and_comes_out_the_same() {
    let mut flooded = Stage::at_work(80, 24);
    let frames = flooded.frames;
    flooded.hears_all(pieces(2_000));
    assert_eq!(flooded.frames, frames + 1);
    let mut calm = Stage::at_work(80, 24);
    pieces(2_000).into_iter().for_each(|piece| calm.hears(piece));
    for stage in [&mut flooded, &mut calm] {
        stage.hears_all([answered(""), turn_ended(Ending::Done), Event::Ready]);
    }
    let (flooded, calm) = (rows(&flooded.all_text()), rows(&calm.all_text()));
    assert!(flooded.len() > 1_000, "{}", flooded.len());
    assert_eq!(flooded, calm);
}

#[test]
fn a_flood_of_output_is_drawn_once_and_shows_its_end() {
    let mut stage = Stage::at_work(80, 24);
    stage.hears(started("bash", "Bash", json!({"command": "yes"})));
    let frames = stage.frames;
    stage.hears_all((0..2_000).map(|number| output("bash", &format!("line {number}\n"))));
    assert_eq!(stage.frames, frames + 1);
    assert!(stage.text().contains("line 1998\n     line 1999\n"), "{}", stage.text());
}

#[test]
fn finished_rows_are_scrolled_off_in_their_order() {
    for height in [15, 24, 50] {
        let mut stage = Stage::new(80, height);
        for number in 0..300 {
            stage.hears(Event::Warning { text: format!("warning {number:03}") });
            if number % 7 == 0 {
                stage.types("a");
                stage.press("ctrl+j");
            }
            if number % 50 == 0 {
                stage.press("ctrl+u");
                stage.press("backspace");
            }
        }
        let shown = stage.all_text();
        let seen: Vec<&str> = shown.lines().filter_map(|row| row.strip_prefix("⚠ ")).collect();
        let expected: Vec<String> = (0..300).map(|number| format!("warning {number:03}")).collect();
        assert_eq!(seen, expected, "at a height of {height}");
    }
}

#[test]
fn nothing_of_the_live_rows_is_scrolled_off() {
    let mut stage = Stage::at_work(80, 15);
    for number in 0..50 {
        stage.hears(started("bash", "Bash", json!({"command": format!("run {number}")})));
        stage.types("x");
        stage.press("ctrl+j");
        stage.hears(output("bash", "output\noutput\noutput\n"));
        stage.hears(ended("bash", "Bash", "done", false));
    }
    for row in stage.terminal.scrollback() {
        assert!(!row.contains("Working…") && !row.starts_with('─'), "{row}");
    }
}

#[test]
fn what_is_kept_of_a_long_session_is_bounded() {
    let mut stage = Stage::new(80, 24);
    let kept_after = |stage: &mut Stage, count: usize| {
        for batch in 0..count / 500 {
            let warning = |number| Event::Warning { text: format!("warning {batch} {number}") };
            stage.hears_all((0..500).map(warning));
        }
        stage.app.tail(usize::MAX).len()
    };
    let some = kept_after(&mut stage, 2_000);
    let many = kept_after(&mut stage, 18_000);
    assert_eq!(some, many, "it does not grow");
    assert!(many <= 1_000, "{many} rows are kept");
    assert!(stage.app.tail(10).len() <= 12, "only what is needed is drawn");
}

#[test]
fn a_list_of_a_thousand_entries_takes_a_few_rows() {
    let mut stage = Stage::at_work(80, 24);
    let todo = |number: usize| Todo {
        id: number.to_string(),
        content: format!("step {number}"),
        status: ona_types::TodoStatus::Pending,
        active_form: String::new(),
    };
    stage.hears(Event::Todos { todos: (0..1_000).map(todo).collect() });
    assert!(stage.text().contains("… and 992 more"), "{}", stage.text());
}

#[test]
fn prompts_that_wait_take_a_few_rows() {
    let mut stage = Stage::at_work(80, 24);
    for number in 0..500 {
        stage.types(&number.to_string());
        stage.press("enter");
    }
    assert!(stage.text().contains("… and 497 more wait"), "{}", stage.text());
}

#[test]
fn a_large_paste_is_quick_to_draw_and_is_sent_whole() {
    let mut stage = Stage::new(80, 24);
    let large = "0123456789abcde\n".repeat(65_536);
    stage.pastes(&large);
    stage.types(" what is this?");
    assert!(
        stage.text().contains("[Pasted text #1 +65535 lines] what is this?"),
        "{}",
        stage.text()
    );
    stage.press("enter");
    let sent = stage.take_sent();
    let prompt = sent.iter().find_map(|op| match op {
        ona_front::Op::Submit { prompt, .. } => Some(prompt),
        _ => None,
    });
    assert_eq!(prompt.map(String::len), Some(large.len() + " what is this?".len()));
}

#[test]
fn a_long_table_shows_its_head_and_its_end_while_it_arrives() {
    let mut stage = Stage::at_work(80, 24);
    let mut table = "| number | square |\n|---|---|\n".to_owned();
    for number in 0..20_000_u64 {
        table.push_str(&format!("| {number} | {} |\n", number * number));
    }
    stage.hears(text(&table));
    let shown = stage.text();
    assert!(shown.contains("│ 19999  │ 399960001 │"), "{shown}");
    stage.hears_all([answered(""), turn_ended(Ending::Done), Event::Ready]);
    let all = stage.all_text();
    for row in ["│ number │ square    │", "│ 0      │ 0         │", "│ 19999  │ 399960001 │"]
    {
        assert!(all.contains(row), "{row}");
    }
}
