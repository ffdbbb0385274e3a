use crossterm::event::{KeyCode, KeyModifiers};
use proptest::prelude::*;
use unicode_segmentation::UnicodeSegmentation;

use super::super::Outcome;
use super::*;

const WIDTH: u16 = 40;
const ESC: char = '\u{1b}';

fn event(letter: char) -> KeyEvent {
    match letter {
        ESC => KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE),
        CTRL_R => KeyEvent::new(KeyCode::Char('r'), KeyModifiers::CONTROL),
        '\n' => KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE),
        '←' => KeyEvent::new(KeyCode::Left, KeyModifiers::NONE),
        '↑' => KeyEvent::new(KeyCode::Up, KeyModifiers::NONE),
        '⌫' => KeyEvent::new(KeyCode::Backspace, KeyModifiers::NONE),
        _ => KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE),
    }
}

/// Presses keys as the application does: what vim does not take in INSERT mode is text.
fn press(vim: &mut Vim, editor: &mut Editor, keys: &str) -> VimOutcome {
    let mut last = VimOutcome::Handled;
    for letter in keys.chars() {
        last = vim.press(editor, &event(letter), WIDTH);
        if last == VimOutcome::Unhandled && vim.mode() == Mode::Insert {
            match letter {
                '⌫' => {
                    editor.apply(crate::Edit::DeleteCharBackward, WIDTH);
                }
                _ => editor.insert(&letter.to_string()),
            }
        }
    }
    last
}

fn start(text: &str) -> (Vim, Editor) {
    let mut editor = Editor::new();
    editor.set_text(&text.replace('|', ""));
    let mut vim = Vim::new();
    press(&mut vim, &mut editor, "\u{1b}");
    editor.move_to(text.find('|').unwrap());
    (vim, editor)
}

fn shown(editor: &Editor) -> String {
    let after = editor.content.slice(editor.cursor..editor.content.len());
    format!("{}|{}", editor.before_cursor(), after.shown())
}

/// The text after some keys in NORMAL mode; the cursor is on what follows `|`.
fn after(text: &str, keys: &str) -> String {
    let (mut vim, mut editor) = start(text);
    press(&mut vim, &mut editor, keys);
    shown(&editor)
}

fn check(cases: &[(&str, &str, &str)]) {
    for (text, keys, expected) in cases {
        assert_eq!(after(text, keys), *expected, "{text:?} {keys:?}");
    }
}

#[test]
fn motions() {
    check(&[
        ("a|bc", "h", "|abc"),
        ("|abc", "h", "|abc"),
        ("|abc", "9l", "ab|c"),
        ("a|bc", "⌫", "|abc"),
        ("one| two", "w", "one |two"),
        ("|one.two three", "w", "one|.two three"),
        ("|one.two three", "W", "one.two |three"),
        ("|one two", "9w", "one tw|o"),
        ("|one two", "e", "on|e two"),
        ("on|e two.x", "E", "one two.|x"),
        ("one tw|o", "2b", "|one two"),
        ("one.two|x", "B", "|one.twox"),
        ("  on|e", "0", "|  one"),
        ("  on|e", "^", "  |one"),
        ("|one", "$", "on|e"),
        ("|a\nbc\nd", "2$", "a\nb|c\nd"),
        ("a\nb\n|c", "gg", "|a\nb\nc"),
        ("|a\nb\n c", "G", "a\nb\n |c"),
        ("|a\nb\nc", "2G", "a\n|b\nc"),
        ("|a-b-c", "f-", "a|-b-c"),
        ("|a-b-c", "2f-", "a-b|-c"),
        ("|a-b-c", "t-", "|a-b-c"),
        ("|a-b-c", "f-;", "a-b|-c"),
        ("|a-b-c", "f-;,", "a|-b-c"),
        ("a-b-|c", "F-", "a-b|-c"),
        ("a-b-|c", "2T-", "a-|b-c"),
        ("|a-b-c-", "t-;", "a-|b-c-"),
        ("|long line\nx\nlong", "$jj", "long line\nx\nlon|g"),
        ("lo|ng\nx\nlong", "jj", "long\nx\nlo|ng"),
        ("lo|ng\n\nlong", "jjk", "long\n|\nlong"),
        ("a|b", "q", "a|b"),
    ]);
}

#[test]
fn inserting() {
    check(&[
        ("a|b", "ix\u{1b}", "a|xb"),
        ("a|b", "ax\u{1b}", "ab|x"),
        ("  a|b", "Ix\u{1b}", "  |xab"),
        ("|ab", "Ax\u{1b}", "ab|x"),
        ("|ab\nc", "ox\u{1b}", "ab\n|x\nc"),
        ("a\n|b", "Ox\u{1b}", "a\n|x\nb"),
        ("|", "ahello\u{1b}", "hell|o"),
        ("|b", "3ixy\u{1b}", "xyxyx|yb"),
        ("|b", "2ox\u{1b}", "b\nx\n|x"),
        ("|b", "2ixy⌫\u{1b}", "x|xb"),
        ("|b", "i\u{1b}", "|b"),
    ]);
}

#[test]
fn deleting_and_changing() {
    check(&[
        ("a|bc", "x", "a|c"),
        ("ab|c", "x", "a|b"),
        ("a|bcd", "2x", "a|d"),
        ("a|bc", "X", "|bc"),
        ("|", "x", "|"),
        ("a\nb|b\nc", "dd", "a\n|c"),
        ("a\n b\n|c", "dd", "a\n |b"),
        ("|a\nb\nc", "2dd", "|c"),
        ("|a", "dd", "|"),
        ("a|bc\nd", "D", "|a\nd"),
        ("|one two", "dw", "|two"),
        ("one |two\nthree", "dw", "one| \nthree"),
        ("|one two three", "2dw", "|three"),
        ("|one two three", "d2w", "|three"),
        ("o|ne two", "de", "o| two"),
        ("one t|wo", "db", "one |wo"),
        ("one two\n|three", "db", "one| \nthree"),
        ("one\n|three", "db", "|three"),
        ("a|b c", "d$", "|a"),
        ("ab |c", "d0", "|c"),
        ("|a, b", "dt,", "|, b"),
        ("|a, b", "df,", "| b"),
        ("a, |b", "dF,", "a|b"),
        ("|a\nb\nc", "dj", "|c"),
        ("a\nb\n|c", "dk", "|a"),
        ("a\n|b\nc", "dG", "|a"),
        ("a\n|b\nc", "dgg", "|c"),
        ("a|b\nc", "ccx\u{1b}", "|x\nc"),
        ("|ab\ncd\ne", "2ccx\u{1b}", "|x\ne"),
        ("a|bc", "Cx\u{1b}", "a|x"),
        ("|one two", "cwx\u{1b}", "|x two"),
        ("on|e two", "cwx\u{1b}", "on|x two"),
        ("one|  two", "cwx\u{1b}", "one|xtwo"),
        ("|one two three", "c2wx\u{1b}", "|x three"),
        ("a|bc", "sx\u{1b}", "a|xc"),
        ("a|bc\nd", "Sx\u{1b}", "|x\nd"),
        ("a|b", "dq", "a|b"),
        ("a|b", "d\u{1b}x", "|a"),
    ]);
}

#[test]
fn objects() {
    check(&[
        ("one t|wo three", "diw", "one | three"),
        ("one t|wo three", "daw", "one |three"),
        ("a.b|c d", "ciWx\u{1b}", "|x d"),
        (r#"a "b|c" d"#, "di\"", r#"a "|" d"#),
        (r#"a "b|c" d"#, "da\"", r#"a |d"#),
        ("a 'b|c'", "ci'x\u{1b}", "a '|x'"),
        ("f(a, |b)", "di(", "f(|)"),
        ("f(a, |b)", "dab", "|f"),
        ("f(|)", "ci)x\u{1b}", "f(|x)"),
        ("[a|]", "di[", "[|]"),
        ("{\n  |a\n  b\n}", "diB", "{\n|}"),
        ("f|x", "di(", "f|x"),
    ]);
}

#[test]
fn yanking_and_pasting() {
    check(&[
        ("|a\nb", "yyp", "a\n|a\nb"),
        ("a\n|b", "YP", "a\n|b\nb"),
        ("|a\nb", "yyj2p", "a\nb\n|a\na"),
        ("|one two", "ywP", "one| one two"),
        ("|one two", "yw$p", "one twoone| "),
        ("one |two", "yiw0P", "tw|oone two"),
        ("a|b", "xp", "a|b"),
        ("|ab", "xp", "b|a"),
        ("|a\nb", "ddp", "b\n|a"),
        ("a|b", "yyx", "|a"),
        ("a\n|b", "ykj", "a\n|b"),
        ("|", "p", "|"),
    ]);
}

#[test]
fn lines_are_indented_and_joined() {
    check(&[
        ("a|b", ">>", "  |ab"),
        ("|a\nb\nc", "2>>", "  |a\n  b\nc"),
        ("   a|b", "<<", " |ab"),
        ("\ta|b", "<<", "|ab"),
        ("|a\n\nb", ">G", "  |a\n\n  b"),
        ("|a\n  b\nc", "J", "a| b\nc"),
        ("|a\nb\nc", "3J", "a b| c"),
        ("|(a\n)", "J", "(a|)"),
        ("|a \nb", "J", "a |b"),
        ("|a", "J", "|a"),
    ]);
}

#[test]
fn case_and_replacing() {
    check(&[
        ("|aBc", "~", "A|Bc"),
        ("|aBc", "9~", "Ab|C"),
        ("|abc", "rx", "|xbc"),
        ("|abc", "2rx", "x|xc"),
        ("|abc", "4rx", "|abc"),
        ("a|bc", "r\n", "a\n|c"),
        ("a|bc", "r←x", "a|c"),
        ("a|bc", "r\u{12}", "a|bc"),
    ]);
}

#[test]
fn the_last_change_is_repeated() {
    check(&[
        ("|abcdef", "x..", "|def"),
        ("|abcdef", "2x.", "|ef"),
        ("|abcdef", "x3.", "|ef"),
        ("|one two", "cwx\u{1b}w.", "x |x"),
        ("|a\nb\nc", "Ax\u{1b}j.", "ax\nb|x\nc"),
        ("|b", "ix\u{1b}.", "|xxb"),
        ("|a\nb\nc\nd", "ddp.", "b\na\n|a\nc\nd"),
        ("|a\nb", "ox\u{1b}.", "a\nx\n|x\nb"),
        ("|abc", "yyx.", "|c"),
        ("|abc", ".", "|abc"),
        ("|abcd\nefgh", "vld.j.", "\n|gh"),
    ]);
}

#[test]
fn changes_are_undone_and_done_again() {
    check(&[
        ("|abc", "xxu", "|bc"),
        ("|abc", "xx2u", "|abc"),
        ("|abc", "xxuu\u{12}", "|bc"),
        ("|a b", "cwone two\u{1b}u", "|a b"),
        ("|a\nb", "oone two\u{1b}u", "|a\nb"),
        ("|a\nb\nc", "3Ju", "|a\nb\nc"),
        ("|a", "3ix\u{1b}u", "|a"),
        ("|one two", "cwx\u{1b}w.u", "x |two"),
    ]);
}

#[test]
fn selections() {
    check(&[
        ("a|bcd", "vld", "a|d"),
        ("a|bcd", "v$d", "|a"),
        ("a|bcd", "vhy$p", "abcda|b"),
        ("|one two", "vwcx\u{1b}", "|xwo"),
        ("a\n|b\nc\nd", "Vjd", "a\n|d"),
        ("a\n|b\nc", "Vyp", "a\nb\n|b\nc"),
        ("|a\nb\nc", "Vj>", "  |a\n  b\nc"),
        ("  |a\n  b\nc", "vj<", "|a\nb\nc"),
        ("o|ne two", "viwd", "| two"),
        ("f(|a)", "va(d", "|f"),
        ("a|bcd", "vlo~", "a|BCd"),
        ("a|bcd", "vlrx", "a|xxd"),
        ("|a\nb\nc", "VjJ", "a| b\nc"),
        ("|a\nb\nc", "Vcx\u{1b}", "|x\nb\nc"),
        ("a|bc", "v\u{1b}x", "a|c"),
        ("a|bc", "vvx", "a|c"),
        ("a|bc\nd", "vVd", "|d"),
    ]);
    let (mut vim, mut editor) = start("a|bc");
    press(&mut vim, &mut editor, "vl");
    assert_eq!(editor.rows(WIDTH).rows[0].selected, Some(1..3));
    assert_eq!(vim.mode(), Mode::Visual);
    press(&mut vim, &mut editor, "\u{1b}");
    assert_eq!(editor.rows(WIDTH).rows[0].selected, None);
}

#[test]
fn chips_are_characters_and_words() {
    let (mut vim, mut editor) = start("|a b");
    editor.paste("1\n2\n3\n4");
    editor.apply(crate::Edit::TextStart, WIDTH);
    press(&mut vim, &mut editor, "yl$p");
    assert_eq!(editor.shown(), "[Pasted text #1 +3 lines]a b[Pasted text #1 +3 lines]");
    press(&mut vim, &mut editor, "0dw");
    assert_eq!(editor.shown(), "a b[Pasted text #1 +3 lines]");
    press(&mut vim, &mut editor, "$~>>");
    assert_eq!(editor.text(), "  a b1\n2\n3\n4");
}

#[test]
fn the_application_gets_what_vim_does_not_know() {
    let (mut vim, mut editor) = start("a|b");
    for (keys, outcome) in [
        ("\u{1b}", VimOutcome::Unhandled),
        ("2\u{1b}", VimOutcome::Handled),
        ("q", VimOutcome::Unhandled),
        ("dq", VimOutcome::Handled),
        ("\n", VimOutcome::Unhandled),
        ("d\n", VimOutcome::Unhandled),
        ("/", VimOutcome::Unhandled),
        ("?", VimOutcome::Unhandled),
        ("k", VimOutcome::HistoryPrevious),
        ("↑", VimOutcome::HistoryPrevious),
        ("2j", VimOutcome::HistoryNext),
        ("vk\u{1b}", VimOutcome::Handled),
        ("dk", VimOutcome::Handled),
        ("ix", VimOutcome::Unhandled),
        ("\u{1b}", VimOutcome::Handled),
    ] {
        assert_eq!(press(&mut vim, &mut editor, keys), outcome, "{keys:?}");
        assert_eq!(vim.pending(), "", "{keys:?}");
    }
    let interrupt = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    press(&mut vim, &mut editor, "2d");
    assert_eq!(vim.pending(), "2d");
    assert_eq!(vim.press(&mut editor, &interrupt, WIDTH), VimOutcome::Unhandled);
    assert_eq!(vim.pending(), "");
}

#[test]
fn a_new_prompt_starts_in_insert_mode() {
    let (mut vim, mut editor) = start("a|b");
    press(&mut vim, &mut editor, "yy");
    editor.take();
    vim.reset();
    assert_eq!(vim.mode().label(), "INSERT");
    press(&mut vim, &mut editor, "x\u{1b}p");
    assert_eq!(shown(&editor), "x\n|ab", "the register stays");
}

#[test]
fn a_recalled_text_has_the_cursor_on_a_character() {
    let (mut vim, mut editor) = start("a|b");
    editor.set_text("recalled");
    vim.settle(&mut editor);
    assert_eq!(shown(&editor), "recalle|d");
}

#[test]
fn a_count_does_not_fill_the_memory() {
    let (mut vim, mut editor) = start("|text");
    press(&mut vim, &mut editor, "yy9999pggyG9999p");
    assert!(editor.text().len() < 3 << 20);
}

/// Keys that make commands more often than not.
fn keys() -> impl Strategy<Value = String> {
    let command = prop_oneof![
        "[1-3]?[hjklwebWEB0$^GxXDCYpPJ~.usSiIaAoOvV;,\u{12}\u{1b}←↑⌫\n]",
        "[1-3]?[dcy<>][1-3]?([hjklwebWEB0$^G;,]|gg|[ia][wW\"'(\\[{bB<]|[fFtT][a. (])",
        "(dd|cc|yy|>>|<<|gg)",
        "[1-3]?(r[xü你\n]|[fFtT][ab(])",
        "[a-zA-Z0-9 .,(){}\"'\u{301}👩你]",
    ];
    prop::collection::vec(command, 0..25).prop_map(|commands| commands.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn any_keys_leave_the_cursor_on_a_grapheme_and_can_be_undone(
        text in "[ab .(){}\"'\n\t\u{301}👩🇩🇪你\u{600}]{0,30}",
        keys in keys(),
    ) {
        let mut editor = Editor::new();
        editor.set_text(&text);
        editor.insert_image();
        let mut vim = Vim::new();
        for letter in keys.chars() {
            press(&mut vim, &mut editor, &letter.to_string());
            let raw = editor.content.raw();
            let at = editor.cursor;
            let boundary = raw.grapheme_indices(true).any(|(place, _)| place == at);
            prop_assert!(boundary || at == raw.len(), "{:?} {}", raw, at);
            if vim.mode() != Mode::Insert {
                let content = &editor.content;
                prop_assert!(at < content.line_end(at) || at == content.line_start(at));
            }
            editor.rows(10);
        }
        while editor.apply(crate::Edit::Undo, WIDTH) == Outcome::Changed {}
        prop_assert!(editor.is_empty());
    }
}
