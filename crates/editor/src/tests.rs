use proptest::prelude::*;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::*;

const WIDTH: u16 = 20;

/// An editor with this text; the cursor is where `|` stands.
fn editor(text: &str) -> Editor {
    let mut editor = Editor::new();
    editor.set_text(&text.replace('|', ""));
    editor.move_to(text.find('|').unwrap());
    editor
}

/// What is shown, with the cursor.
fn shown(editor: &Editor) -> String {
    let after = editor.content.slice(editor.cursor..editor.content.len());
    format!("{}|{}", editor.before_cursor(), after.shown())
}

fn type_text(editor: &mut Editor, text: &str) {
    for letter in text.graphemes(true) {
        editor.insert(letter);
    }
}

#[test]
fn commands_move_and_delete() {
    use Edit::*;
    for (before, edit, after) in [
        ("ab|c", CharLeft, "a|bc"),
        ("|abc", CharLeft, "|abc"),
        ("a👩\u{200d}👩|", CharLeft, "a|👩\u{200d}👩"),
        ("a|\nb", CharRight, "a\n|b"),
        ("foo bar|", WordLeft, "foo |bar"),
        ("|foo bar", WordRight, "foo| bar"),
        ("a\nfoo|bar\nb", LineStart, "a\n|foobar\nb"),
        ("a\nfoo|bar\nb", LineEnd, "a\nfoobar|\nb"),
        ("a\nb|", TextStart, "|a\nb"),
        ("a|\nb", TextEnd, "a\nb|"),
        ("a|b", Newline, "a\n|b"),
        ("e\u{301}|x", DeleteCharBackward, "|x"),
        ("|e\u{301}x", DeleteCharForward, "|x"),
        ("a\n|b", DeleteCharBackward, "a|b"),
        ("foo.bar|", DeleteWordBackward, "foo.|"),
        ("x foo.bar|", DeleteBigWordBackward, "x |"),
        ("|foo bar", DeleteWordForward, "| bar"),
        ("a|bc\nd", KillToLineEnd, "a|\nd"),
        ("abc|\nd", KillToLineEnd, "abc|d"),
        ("a\nbc|d", KillToLineStart, "a\n|d"),
        ("a\n|d", KillToLineStart, "a|d"),
        ("a|bc", Transpose, "ba|c"),
        ("abc|", Transpose, "acb|"),
        ("|abc", Transpose, "|abc"),
        ("a|", Transpose, "a|"),
        ("ab\n|cd", Transpose, "ab\n|cd"),
    ] {
        let mut editor = editor(before);
        editor.apply(edit, WIDTH);
        assert_eq!(shown(&editor), after, "{before:?} {edit:?}");
    }
}

#[test]
fn outcomes_say_what_happened() {
    let mut editor = editor("ab|");
    assert_eq!(editor.apply(Edit::CharLeft, WIDTH), Outcome::Moved);
    assert_eq!(editor.apply(Edit::DeleteCharForward, WIDTH), Outcome::Changed);
    assert_eq!(editor.apply(Edit::DeleteCharForward, WIDTH), Outcome::Nothing);
    assert_eq!(editor.apply(Edit::YankPop, WIDTH), Outcome::Nothing);
    assert_eq!(editor.apply(Edit::Up, WIDTH), Outcome::AtFirstRow);
    assert_eq!(editor.apply(Edit::Down, WIDTH), Outcome::AtLastRow);
}

#[test]
fn up_and_down_keep_to_the_column_of_rows() {
    let mut editor = editor("long line\nx\nlonger li|ne");
    editor.apply(Edit::Up, WIDTH);
    assert_eq!(shown(&editor), "long line\nx|\nlonger line");
    editor.apply(Edit::Up, WIDTH);
    assert_eq!(shown(&editor), "long line|\nx\nlonger line");
    editor.apply(Edit::Down, WIDTH);
    assert_eq!(editor.apply(Edit::Down, WIDTH), Outcome::Moved);
    assert_eq!(shown(&editor), "long line\nx\nlonger li|ne");

    let mut wrapped = self::editor("one two three|");
    assert_eq!(wrapped.apply(Edit::Up, 9), Outcome::Moved, "a row, not a line");
    assert_eq!(shown(&wrapped), "one t|wo three");
}

#[test]
fn kills_in_a_row_are_yanked_as_one_text() {
    let mut editor = editor("one two| three four");
    editor.apply(Edit::DeleteWordBackward, WIDTH);
    editor.apply(Edit::DeleteWordBackward, WIDTH);
    editor.apply(Edit::DeleteWordForward, WIDTH);
    assert_eq!(shown(&editor), "| four");
    editor.apply(Edit::Yank, WIDTH);
    assert_eq!(shown(&editor), "one two three| four");
}

#[test]
fn yanks_are_replaced_by_older_kills() {
    let mut editor = editor("a| b");
    editor.apply(Edit::KillToLineStart, WIDTH);
    editor.apply(Edit::CharRight, WIDTH);
    editor.apply(Edit::KillToLineEnd, WIDTH);
    editor.apply(Edit::Yank, WIDTH);
    assert_eq!(shown(&editor), " b|");
    editor.apply(Edit::YankPop, WIDTH);
    assert_eq!(shown(&editor), " a|");
    editor.apply(Edit::YankPop, WIDTH);
    assert_eq!(shown(&editor), " b|");
    editor.apply(Edit::CharLeft, WIDTH);
    assert_eq!(editor.apply(Edit::YankPop, WIDTH), Outcome::Nothing);
}

#[test]
fn typing_is_undone_by_words() {
    let mut editor = Editor::new();
    type_text(&mut editor, "one two  three");
    let mut texts = Vec::new();
    while editor.apply(Edit::Undo, WIDTH) == Outcome::Changed {
        texts.push(editor.text());
    }
    assert_eq!(texts, ["one two  ", "one ", ""]);
    while editor.apply(Edit::Redo, WIDTH) == Outcome::Changed {}
    assert_eq!(shown(&editor), "one two  three|");
}

#[test]
fn characters_deleted_in_a_row_come_back_together() {
    let mut editor = editor("abc|");
    editor.apply(Edit::DeleteCharBackward, WIDTH);
    editor.apply(Edit::DeleteCharBackward, WIDTH);
    editor.apply(Edit::Undo, WIDTH);
    assert_eq!(shown(&editor), "abc|");
}

#[test]
fn a_new_edit_ends_what_could_be_done_again() {
    let mut editor = editor("|");
    type_text(&mut editor, "a");
    editor.apply(Edit::Undo, WIDTH);
    type_text(&mut editor, "b");
    assert_eq!(editor.apply(Edit::Redo, WIDTH), Outcome::Nothing);
    assert_eq!(editor.text(), "b");
}

#[test]
fn a_long_paste_is_one_unit() {
    let mut editor = editor("see |.");
    editor.paste("1\n2\n3\n4");
    assert_eq!(shown(&editor), "see [Pasted text #1 +3 lines]|.");
    assert_eq!(editor.text(), "see 1\n2\n3\n4.");
    editor.apply(Edit::CharLeft, WIDTH);
    assert_eq!(shown(&editor), "see |[Pasted text #1 +3 lines].");
    editor.apply(Edit::DeleteCharForward, WIDTH);
    assert_eq!(shown(&editor), "see |.");
    editor.apply(Edit::Undo, WIDTH);
    assert_eq!(editor.text(), "see 1\n2\n3\n4.");
    editor.paste("short\r\none");
    assert_eq!(editor.text(), "see short\none1\n2\n3\n4.");
}

#[test]
fn chips_can_be_killed_and_yanked() {
    let mut editor = Editor::new();
    editor.paste(&"x".repeat(MAX_PASTED_CHARACTERS + 1));
    assert_eq!(editor.insert_image(), 1);
    type_text(&mut editor, "!");
    assert_eq!(editor.insert_image(), 2);
    assert_eq!(editor.shown(), "[Pasted text #1][Image #1]![Image #2]");
    editor.apply(Edit::KillToLineStart, WIDTH);
    assert!(editor.images().is_empty());
    editor.apply(Edit::Yank, WIDTH);
    editor.apply(Edit::Yank, WIDTH);
    assert_eq!(editor.images(), [1, 2]);
    assert_eq!(editor.text().matches("[Image #1]").count(), 2);
    assert_eq!(editor.insert_image(), 3, "a number is not used again");
}

#[test]
fn ten_megabytes_are_pasted_at_once() {
    let mut editor = Editor::new();
    let line = "a line of a log, as it is pasted\r\n";
    let paste = line.repeat(10 * 1024 * 1024 / line.len());
    editor.paste(&paste);
    let rows = editor.rows(WIDTH);
    assert_eq!(rows.rows.len(), 1);
    let copy = editor.content().clone();
    assert_eq!(
        copy.chips()[0].text().unwrap().as_ptr(),
        editor.content.chips()[0].text().unwrap().as_ptr()
    );
    assert_eq!(editor.text().len(), paste.replace("\r\n", "\n").len());
}

#[test]
fn megabytes_of_plain_text_are_wrapped_in_linear_time() {
    let mut editor = Editor::new();
    editor.set_text(&"word 你好\t".repeat(50_000));
    assert!(editor.rows(WIDTH).rows.len() > 10_000);
    editor.apply(Edit::Up, WIDTH);
    editor.apply(Edit::WordLeft, WIDTH);
    editor.insert("x");
    editor.apply(Edit::Undo, WIDTH);
}

#[test]
fn a_draft_keeps_its_chips() {
    let mut editor = Editor::new();
    editor.paste("1\n2\n3\n4");
    let draft = editor.content().clone();
    editor.set_text("from the history");
    editor.set_content(&draft);
    assert_eq!(shown(&editor), "[Pasted text #1 +3 lines]|");
    editor.clear();
    assert!(editor.is_empty());
    editor.apply(Edit::Undo, WIDTH);
    assert_eq!(editor.take(), draft);
    assert!(editor.is_empty());
    assert_eq!(editor.apply(Edit::Undo, WIDTH), Outcome::Nothing);
    editor.paste("1\n2\n3\n4");
    assert_eq!(editor.shown(), "[Pasted text #2 +3 lines]");
}

#[test]
fn images_stay_images_in_an_external_editor() {
    let mut editor = Editor::new();
    type_text(&mut editor, "see ");
    editor.insert_image();
    editor.insert_image();
    editor.set_edited("[Image #2] and [Image #3], [Image #2]\r\n");
    assert_eq!(editor.shown(), "[Image #2] and [Image #3], [Image #2]\n");
    assert_eq!(editor.images(), [2], "the third was never pasted");
    editor.apply(Edit::TextStart, WIDTH);
    editor.apply(Edit::DeleteCharForward, WIDTH);
    assert_eq!(editor.shown(), " and [Image #3], [Image #2]\n");
}

#[test]
fn a_backslash_before_enter_is_a_newline() {
    let mut editor = editor("a\\|b");
    assert!(editor.newline_for_backslash());
    assert_eq!(shown(&editor), "a\n|b");
    assert!(!editor.newline_for_backslash());
}

#[test]
fn a_suggestion_replaces_what_was_typed_of_it() {
    let mut editor = editor("see @src/li| now");
    editor.complete("@src/li".len(), "@src/lib.rs");
    assert_eq!(shown(&editor), "see @src/lib.rs| now");
    let mut chip = Editor::new();
    chip.insert_image();
    chip.complete(5, "x");
    assert_eq!(chip.shown(), "[Image #1]x", "chips are not typed");
}

#[test]
fn what_is_typed_may_join_what_follows() {
    let mut editor = editor("|\u{301}x");
    editor.insert("e");
    assert_eq!(shown(&editor), "e\u{301}|x");
    let mut flags = self::editor("🇩|🇪🇫");
    flags.insert("🇷");
    assert!(is_between_graphemes(&flags));
}

fn is_between_graphemes(editor: &Editor) -> bool {
    let raw = editor.content.raw();
    let mut boundaries = raw.grapheme_indices(true).map(|(at, _)| at);
    editor.cursor == raw.len() || boundaries.any(|at| at == editor.cursor)
}

#[derive(Debug, Clone)]
enum Step {
    Edit(Edit, u16),
    Insert(String),
    Paste(String),
    Image,
    Set(String),
    Complete(usize),
    Backslash,
}

/// Letters that join, are wide, are marks, or are unwanted.
fn text() -> impl Strategy<Value = String> {
    "[ab_ .\n\t\r\u{1a}\u{1b}\\\\\u{301}\u{200d}👩🇩🇪你\u{600})]{0,8}"
}

fn step() -> impl Strategy<Value = Step> {
    use Edit::*;
    let edits = vec![
        CharLeft,
        CharRight,
        WordLeft,
        WordRight,
        LineStart,
        LineEnd,
        TextStart,
        TextEnd,
        Up,
        Down,
        Newline,
        DeleteCharBackward,
        DeleteCharForward,
        DeleteWordBackward,
        DeleteBigWordBackward,
        DeleteWordForward,
        KillToLineEnd,
        KillToLineStart,
        Yank,
        YankPop,
        Transpose,
        Undo,
        Redo,
    ];
    prop_oneof![
        8 => (prop::sample::select(edits), 0u16..12).prop_map(|(edit, width)| Step::Edit(edit, width)),
        4 => text().prop_map(Step::Insert),
        1 => (text(), 0usize..6).prop_map(|(text, times)| Step::Paste(text.repeat(times))),
        1 => Just(Step::Image),
        1 => text().prop_map(Step::Set),
        1 => (0usize..5).prop_map(Step::Complete),
        1 => Just(Step::Backslash),
    ]
}

fn take_step(editor: &mut Editor, step: &Step) {
    match step {
        Step::Edit(edit, width) => {
            editor.apply(*edit, *width);
        }
        Step::Insert(text) => editor.insert(text),
        Step::Paste(text) => editor.paste(text),
        Step::Image => {
            editor.insert_image();
        }
        Step::Set(text) => editor.set_text(text),
        Step::Complete(typed) => editor.complete(*typed, "done"),
        Step::Backslash => {
            editor.newline_for_backslash();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn any_commands_leave_the_cursor_between_graphemes_and_can_be_undone(
        steps in prop::collection::vec(step(), 0..60),
        width in 0u16..30,
    ) {
        let mut editor = Editor::new();
        for step in &steps {
            take_step(&mut editor, step);
            prop_assert!(is_between_graphemes(&editor), "{:?}", editor);
            let rows = editor.rows(width);
            prop_assert!(rows.cursor_row < rows.rows.len());
            prop_assert!(rows.cursor_column < usize::from(width).max(1));
            let raw = editor.content.raw();
            let widest = raw.graphemes(true).map(UnicodeWidthStr::width).max().unwrap_or(0);
            for row in &rows.rows {
                prop_assert!(!row.text.contains(char::is_control));
                let cells: usize = row.text.graphemes(true).map(UnicodeWidthStr::width).sum();
                prop_assert!(cells <= usize::from(width).saturating_sub(1).max(widest), "{:?}", row);
            }
        }
        let last = editor.content.clone();
        while editor.apply(Edit::Undo, width) == Outcome::Changed {}
        prop_assert!(editor.is_empty());
        while editor.apply(Edit::Redo, width) == Outcome::Changed {}
        // What had been undone before is done again too, unless something was changed after it.
        if !steps.iter().any(|step| matches!(step, Step::Edit(Edit::Undo, _))) {
            prop_assert_eq!(editor.content, last);
        }
    }

    #[test]
    fn up_leads_back_where_down_came_from(text in "[ab 你\t]{0,40}", width in 3u16..12) {
        let mut editor = Editor::new();
        editor.set_text(&text);
        editor.apply(Edit::TextStart, width);
        let mut down = vec![editor.cursor];
        while editor.apply(Edit::Down, width) == Outcome::Moved {
            down.push(editor.cursor);
        }
        let mut up = vec![editor.cursor];
        while editor.apply(Edit::Up, width) == Outcome::Moved {
            up.push(editor.cursor);
        }
        up.reverse();
        prop_assert_eq!(up, down);
    }
}
