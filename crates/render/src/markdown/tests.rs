//! What documents look like.

use proptest::prelude::*;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::*;
use crate::highlight::Highlighter;
use crate::text;
use crate::theme::{Depth, Role, Theme, ThemeName};

fn theme() -> Theme {
    Theme::new(ThemeName::Dark, Depth::True, false)
}

fn rows(source: &str, width: usize) -> Vec<Line<'static>> {
    let (theme, highlighter) = (theme(), Highlighter::new());
    render(source, width, &Look { theme: &theme, highlighter: &highlighter })
}

fn shown(source: &str, width: usize) -> Vec<String> {
    rows(source, width).iter().map(ToString::to_string).collect()
}

/// The style of the span with a text.
fn style_of(rows: &[Line<'static>], text: &str) -> Style {
    let spans: Vec<&Span<'static>> = rows.iter().flat_map(|row| &row.spans).collect();
    let span = spans.iter().find(|span| span.content == text);
    span.unwrap_or_else(|| panic!("no span {text:?} in {spans:?}")).style
}

#[test]
fn blocks_stand_apart_by_one_blank_row() {
    assert_eq!(
        shown("\n\n# Title\ntext\nmore\n\n\n\n***\nend  \nnow\n\n", 20),
        ["Title", "", "text more", "", &"─".repeat(20), "", "end", "now"]
    );
    assert_eq!(shown("", 20), [""; 0]);
    assert_eq!(shown("\n \n", 20), [""; 0]);
}

#[test]
fn marks_become_styles() {
    let theme = theme();
    let rows = rows("# H1\n\na **b** *c* ***d*** ~~e~~ `f` [g](h)", 60);
    let bold = Style::new().add_modifier(Modifier::BOLD);
    assert_eq!(style_of(&rows, "b"), bold);
    assert_eq!(style_of(&rows, "c"), Style::new().add_modifier(Modifier::ITALIC));
    assert_eq!(style_of(&rows, "d"), bold.add_modifier(Modifier::ITALIC));
    assert_eq!(style_of(&rows, "e"), Style::new().add_modifier(Modifier::CROSSED_OUT));
    assert_eq!(style_of(&rows, "f"), theme.style(Role::Code));
    assert_eq!(style_of(&rows, "g"), theme.style(Role::Link));
    assert_eq!(style_of(&rows, " (h)"), theme.style(Role::Dim));
    let heading = theme.style(Role::Heading).add_modifier(Modifier::UNDERLINED);
    assert_eq!(style_of(&rows, "H1"), heading);
}

#[test]
fn code_is_marked_also_without_colours() {
    let theme = Theme::new(ThemeName::Dark, Depth::None, false);
    let look = Look { theme: &theme, highlighter: &Highlighter::new() };
    assert_eq!(render("run `ls` now", 40, &look)[0].to_string(), "run `ls` now");
}

#[test]
fn an_address_is_shown_once() {
    for (source, text) in [
        ("[docs](https://a.b)", "docs (https://a.b)"),
        ("[https://a.b](https://a.b)", "https://a.b"),
        ("[https://a.b](https://evil.c)", "https://a.b (https://evil.c)"),
        ("<https://a.b>", "https://a.b"),
        ("<me@a.b>", "me@a.b"),
        ("![a cat](cat.png)", "[image: a cat] (cat.png)"),
        ("![](cat.png)", "[image] (cat.png)"),
        ("[![i](p)](u)", "[image: i] (p) (u)"),
        ("[x](<a\u{1b}[2J>)", "x (a\u{fffd}[2J)"),
        ("[x](a&#10;b)", "x (a b)"),
    ] {
        assert_eq!(shown(source, 80), [text], "{source}");
    }
}

#[test]
fn definitions_of_links_do_not_vanish() {
    assert_eq!(
        shown("see [a][1]\n\n[1]: http://x.y 'z'\n[2]: b\n\nend", 40),
        ["see [a][1]", "", "[1]: http://x.y 'z'", "[2]: b", "", "end"]
    );
}

#[test]
fn lists_hang_and_keep_their_spacing() {
    let source = "9. one two three four\n1. b\n\n   more\n1. c\n   - [x] yes\n   - [ ] no\n     ```\n     code\n     ```";
    assert_eq!(
        shown(source, 18),
        [
            "9. one two three",
            "   four",
            "10. b",
            "",
            "    more",
            "11. c",
            "    - [x] yes",
            "    - [ ] no",
            "            code",
        ]
    );
    assert_eq!(shown("- a\n\n- b\n-\n- c", 20), ["- a", "", "- b", "-", "- c"]);
}

#[test]
fn a_quote_has_its_bar_on_every_row() {
    assert_eq!(
        shown("> one two three\n>\n> > four\nlazy\n", 12),
        ["▎ one two", "▎ three", "▎", "▎ ▎ four", "▎ ▎ lazy"]
    );
}

#[test]
fn code_can_be_copied() {
    let source = "```\nfirst\n\n  second\tx and very long\n```\n\n    indented\n\n```rust\n```\n";
    assert_eq!(
        shown(source, 22),
        ["  first", "", "    second    x and ve", "  ry long", "", "  indented"]
    );
}

#[test]
fn code_has_the_colours_of_its_language() {
    let (theme, highlighter) = (theme(), Highlighter::loaded());
    let look = Look { theme: &theme, highlighter: &highlighter };
    for source in ["```rust,ignore\nfn main() {}\n```", "- x\n  ```rust\n  fn main() {}\n  ```"] {
        let rows = render(source, 40, &look);
        assert_eq!(style_of(&rows, "fn "), theme.style(Role::Keyword), "{source}");
        assert_eq!(style_of(&rows, "main"), theme.style(Role::Function), "{source}");
    }
}

#[test]
fn a_table_fits_and_is_aligned() {
    let source = "| a | num | c |\n|---|----:|:-:|\n| x | 1 | mid |\n| **long** | 22 | y |";
    assert_eq!(
        shown(source, 40),
        [
            "┌──────┬─────┬─────┐",
            "│ a    │ num │  c  │",
            "├──────┼─────┼─────┤",
            "│ x    │   1 │ mid │",
            "│ long │  22 │  y  │",
            "└──────┴─────┴─────┘",
        ]
    );
    let source = "| a | b |\n|---|---|\n| x | some words to wrap |\n| y | z<br>w |";
    assert_eq!(
        shown(source, 20),
        [
            "┌───┬──────────────┐",
            "│ a │ b            │",
            "├───┼──────────────┤",
            "│ x │ some words   │",
            "│   │ to wrap      │",
            "├───┼──────────────┤",
            "│ y │ z            │",
            "│   │ w            │",
            "└───┴──────────────┘",
        ]
    );
}

#[test]
fn a_table_that_cannot_fit_is_a_list_of_records() {
    let source = "| name | first value | |\n|---|---|---|\n| x | one | y |\n| z | two words | |";
    assert_eq!(
        shown(source, 16),
        ["name: x", "first value: one", "y", "", "name: z", "first value: two", "  words", ""]
    );
}

#[test]
fn html_is_text() {
    assert_eq!(
        shown("<div>\n  <b>x</b>\n</div>\n\na <i>b</i><br/>c &amp; \\*d\\*", 40),
        ["<div>", "  <b>x</b>", "</div>", "", "a <i>b</i>", "c & *d*"]
    );
}

#[test]
fn a_deep_nest_is_drawn() {
    for nest in [">".repeat(5000), "- ".repeat(5000), "1. > ".repeat(2000)] {
        let shown = shown(&format!("{nest}deep"), 60);
        assert!(shown.iter().any(|row| row.contains("deep")), "{shown:?}");
    }
}

#[test]
fn the_language_of_an_info_string() {
    for (info, language) in [
        ("rust", "rust"),
        ("rust,ignore", "rust"),
        ("js {1,3}", "js"),
        ("{.python .numberLines}", "python"),
        ("c++ title=\"x\"", "c++"),
        ("", ""),
    ] {
        assert_eq!(language_of_info(info), language);
    }
}

/// Documents that look like Markdown, and some that do not.
fn any_document() -> impl Strategy<Value = String> {
    let parts = [
        "# ",
        "- ",
        "1. ",
        "> ",
        "```\n",
        "\n",
        "\n\n",
        "| a | b |\n|---|---|\n| ",
        " | ",
        "**",
        "*",
        "`",
        "~~",
        "[x](",
        ")",
        "![",
        "<b>",
        "<!--",
        "    ",
        "word ",
        "日本語",
        "❤\u{fe0f}",
        "e\u{301}",
        "\t",
        "\u{1b}[31m",
        "\u{202e}",
        "\r\n",
        "&#10;",
        "&#27;",
        "---\n",
        "https://example.com/a/long/path",
        "[ ] ",
        "\u{200d}",
        "क्षि",
    ];
    prop_oneof![
        any::<String>(),
        proptest::collection::vec(proptest::sample::select(parts.to_vec()), 0..60)
            .prop_map(|parts| parts.concat()),
    ]
}

proptest! {
    #[test]
    fn any_document_fits_any_width(source in any_document(), width in 1_usize..400, narrow in 1_usize..30) {
        for width in [width, narrow] {
            for row in rows(&source, width) {
                let used: usize = row.spans.iter().map(|span| text::width(&span.content)).sum();
                prop_assert!(used <= width, "{row:?} in {width}");
                for span in &row.spans {
                    prop_assert_eq!(text::plain(&span.content), &*span.content);
                    prop_assert!(!span.content.contains('\n'), "{row:?}");
                }
            }
        }
    }
}
