//! What changes look like.

use proptest::prelude::*;
use ratatui::style::{Modifier, Style};

use super::*;
use crate::highlight::Highlighter;
use crate::theme::{Depth, Theme, ThemeName};

fn theme(depth: Depth) -> Theme {
    Theme::new(ThemeName::Dark, depth, false)
}

/// The lines of a hunk, each behind its sign.
fn lines(text: &str) -> Vec<DiffLine> {
    let line = |line: &str| {
        let (sign, text) = line.split_at(1);
        let sign = match sign {
            "+" => Sign::Added,
            "-" => Sign::Removed,
            _ => Sign::Same,
        };
        DiffLine { sign, text: text.to_owned() }
    };
    text.split('\n').map(line).collect()
}

fn diff_of(path: &str, hunks: &[(usize, usize, &str)]) -> FileDiff {
    let hunk = |(old_start, new_start, text): &(usize, usize, &str)| Hunk {
        old_start: *old_start,
        new_start: *new_start,
        lines: lines(text),
    };
    let hunks: Vec<Hunk> = hunks.iter().map(hunk).collect();
    let count =
        |sign| hunks.iter().flat_map(|hunk| &hunk.lines).filter(|line| line.sign == sign).count();
    FileDiff {
        path: path.to_owned(),
        fate: FileFate::Changed,
        added: count(Sign::Added),
        removed: count(Sign::Removed),
        hunks,
        left_out: 0,
    }
}

fn rows(diff: &FileDiff, width: usize, depth: Depth, most: usize) -> Vec<Line<'static>> {
    let (theme, highlighter) = (theme(depth), Highlighter::loaded());
    render(diff, width, &Look { theme: &theme, highlighter: &highlighter }, most)
}

fn shown(diff: &FileDiff, width: usize, most: usize) -> Vec<String> {
    rows(diff, width, Depth::True, most).iter().map(ToString::to_string).collect()
}

fn style_of(row: &Line<'static>, text: &str) -> Style {
    let span = row.spans.iter().find(|span| span.content == text);
    span.unwrap_or_else(|| panic!("no span {text:?} in {row:?}")).style
}

fn sample() -> FileDiff {
    let first = " fn main() {\n-    let x = 1;\n+    let x = 22;\n+    let y = 3;\n }";
    diff_of("src/main.rs", &[(8, 8, first), (100, 101, " a\n-b")])
}

#[test]
fn hunks_have_numbers_and_signs() {
    assert_eq!(
        shown(&sample(), 40, 99),
        [
            "src/main.rs  +2 -2",
            "  8   fn main() {",
            "  9 -     let x = 1;",
            "  9 +     let x = 22;",
            " 10 +     let y = 3;",
            " 11   }",
            "  ⋮",
            "101   a",
            "101 - b",
        ]
    );
}

#[test]
fn the_header_says_what_becomes_of_the_file() {
    let mut diff = diff_of("a/very/long/path/to/some/file.rs", &[(1, 1, "+x")]);
    diff.fate = FileFate::Created;
    assert_eq!(shown(&diff, 60, 99)[0], "a/very/long/path/to/some/file.rs  +1  new file");
    assert_eq!(shown(&diff, 30, 99)[0], "a/ver…me/file.rs  +1  new file");
    assert_eq!(shown(&diff, 12, 99)[0], "a/v…/file.rs");
    diff.fate = FileFate::Deleted;
    (diff.added, diff.removed) = (0, 7);
    assert_eq!(shown(&diff, 60, 99)[0], "a/very/long/path/to/some/file.rs  -7  deleted");
}

#[test]
fn long_lines_wrap_beside_the_gutter() {
    let diff = diff_of("x", &[(9, 9, " short\n+0123456789abcdefghij")]);
    assert_eq!(
        shown(&diff, 15, 99),
        ["x  +1 -0", " 9   short", "10 + 0123456789", "     abcdefghij"]
    );
    assert_eq!(
        shown(&diff, 6, 99)[1..],
        ["  shor", "  t", "+ 0123", "  4567", "  89ab", "  cdef", "  ghij"]
    );
}

#[test]
fn what_is_missing_is_counted() {
    let mut diff = sample();
    assert_eq!(shown(&diff, 40, 4)[2..], ["  9 -     let x = 1;", "… 5 more lines"]);
    assert_eq!(shown(&diff, 40, 9).len(), 9);
    diff.left_out = 3;
    assert_eq!(shown(&diff, 40, 99).last().unwrap(), "… 3 more lines");
    assert_eq!(shown(&diff, 40, 9)[7..], ["101   a", "… 4 more lines"]);
    assert_eq!(shown(&diff, 40, 1), ["src/main.rs  +2 -2"]);
    assert_eq!(shown(&diff, 40, 0), [""; 0]);
    let long = diff_of("x", &[(1, 1, &format!("+{}", "y".repeat(1_000_000)))]);
    assert_eq!(shown(&long, 40, 4)[3], "… 1 more line");
}

#[test]
fn many_colours_tint_the_rows_and_keep_the_language() {
    let theme = theme(Depth::True);
    let rows = rows(&sample(), 40, Depth::True, 99);
    let added = theme.style(Role::Added);
    assert_eq!(rows[1].style.bg, None);
    assert_eq!(style_of(&rows[1], "fn "), theme.style(Role::Keyword));
    assert_eq!(rows[3].style.bg, added.bg);
    assert_eq!(style_of(&rows[3], "+ "), added);
    assert_eq!(style_of(&rows[3], "let"), Style { bg: added.bg, ..theme.style(Role::Keyword) });
    let word = Style { bg: theme.style(Role::AddedWord).bg, ..theme.style(Role::Number) };
    assert_eq!(style_of(&rows[3], "22"), word);
    assert_eq!(style_of(&rows[2], "1").bg, theme.style(Role::RemovedWord).bg);
    assert_eq!(style_of(&rows[4], "3").bg, added.bg);
}

#[test]
fn few_colours_tell_by_the_letters() {
    for depth in [Depth::None, Depth::Ansi16] {
        let theme = theme(depth);
        let rows = rows(&sample(), 40, depth, 99);
        assert!(rows.iter().flat_map(|row| &row.spans).all(|span| span.style.bg.is_none()));
        assert_eq!(style_of(&rows[3], "let"), theme.style(Role::Added));
        assert!(style_of(&rows[3], "22").has_modifier(Modifier::REVERSED));
    }
}

#[test]
fn carriage_returns_are_shown_where_they_change() {
    let diff = diff_of("x", &[(1, 1, " a\r\n-b\r\n+b")]);
    let texts = |diff: &FileDiff| shown(diff, 20, 99)[1..].to_vec();
    assert_eq!(texts(&diff), ["1   a", "2 - b␍", "2 + b"]);
    assert_eq!(unified(&diff), "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b␍\n+b\n");
    let diff = diff_of("x", &[(1, 1, " a\r\n-b\r\n+c\r")]);
    assert_eq!(texts(&diff), ["1   a", "2 - b", "2 + c"]);
}

#[test]
fn a_unified_diff() {
    let mut diff = diff_of("new\u{1b}[2J.txt", &[(1, 1, "+\tone\n+two\u{202e}")]);
    diff.fate = FileFate::Created;
    diff.left_out = 5;
    assert_eq!(
        unified(&diff),
        "--- /dev/null\n+++ b/new\u{fffd}[2J.txt\n@@ -0,0 +1,2 @@\n+\tone\n+two\u{fffd}\n[5 more lines are not shown]\n"
    );
    diff.fate = FileFate::Deleted;
    assert!(unified(&diff).contains("\n+++ /dev/null\n"));
}

fn any_line() -> impl Strategy<Value = DiffLine> {
    let sign = prop_oneof![Just(Sign::Same), Just(Sign::Added), Just(Sign::Removed)];
    let text = prop_oneof![any::<String>(), "[a-z (){};\t日]{0,60}\r?"];
    (sign, text).prop_map(|(sign, text)| DiffLine { sign, text })
}

proptest! {
    #[test]
    fn any_change_fits(
        path in any::<String>(),
        hunks in proptest::collection::vec(
            (any::<usize>(), 0_usize..2000, proptest::collection::vec(any_line(), 0..8)), 0..3),
        width in 1_usize..400,
        narrow in 1_usize..20,
        most in 0_usize..30,
    ) {
        let hunk = |(old_start, new_start, lines)| Hunk { old_start, new_start, lines };
        let hunks = hunks.into_iter().map(hunk).collect();
        let fate = FileFate::Changed;
        let diff = FileDiff { path, fate, added: 1, removed: 1, hunks, left_out: most / 2 };
        let (theme, highlighter) = (theme(Depth::True), Highlighter::new());
        let look = Look { theme: &theme, highlighter: &highlighter };
        for width in [width, narrow] {
            let rows = render(&diff, width, &look, most);
            prop_assert!(rows.len() <= most);
            for row in rows {
                let used: usize = row.spans.iter().map(|span| text::width(&span.content)).sum();
                prop_assert!(used <= width, "{row:?} in {width}");
                prop_assert!(!row.to_string().chars().any(char::is_control), "{row:?}");
            }
        }
        prop_assert!(!unified(&diff).chars().any(|c| c.is_control() && c != '\n' && c != '\t'));
    }
}
