//! What is given out draws the same as the whole, however it arrived.

use proptest::prelude::*;
use ratatui::text::Line;

use super::*;
use crate::highlight::{Highlighter, Look};
use crate::markdown::{Painter, render, render_at_once};
use crate::theme::{Depth, Theme, ThemeName};

/// Documents of all kinds.
const DOCUMENTS: [&str; 14] = [
    "Just one line",
    "# Title\n\nA paragraph over\ntwo lines with **bold** and `code`.\n\n## Next\nText right below.\n***\nend\n",
    "Here is the plan:\n- first\n- second\n  with a second line\n- third\n\nDone.\n",
    "1. one\n2. two\n\n   more of two\n\n3. three\n4. four\n\n\n\nAfter.\n",
    "1. all\n1. ones\n1. here\n\nText\n\n7) seven\n8) eight\n",
    "Before\n```rust\nfn main() {\n\n    let x = \"``\";\n}\n```\nafter\n~~~\nplain ``` inside\n~~~\n",
    "- item\n\n  ```sh\n  ls -l\n\n  # not a heading\n  ```\n\n- next\n  1. sub\n  2. sub\n\n     ```\n     deep\n     ```\n- last\n",
    "> quoted\nlazy\n>\n> > deeper\n> - in a list\n> - of two\n\n> another\n",
    "| a | b |\n|:--|--:|\n| 1 | 2 |\n| *x* | `y` |\n\nText\n\n|only|\n|-|\n",
    "<div>\n\n*not html* any more\n\n</div>\n\n<!-- a\n\ncomment # x\n\n-->\n\ntext <b>bold</b><br>x\n",
    "    indented code\n\n    more of it\n\ntext\n\n\ttabbed\n",
    "Setext\n===\n\nOther\n---\n\ntext\n\n- - -\n* * *\n- a\n* b\n+ c\n",
    "- [x] done\n- [ ] not done\n\n\n- loose\n\n  para\n\n\n      code in item\n\nend [link](http://x.y) <http://z> ![i](p.png)\n",
    "日本語の文章です。\n\n- 項目\n- 👨\u{200d}👩\u{200d}👧 emoji\n\n```\nunclosed\n\n  code\n\n",
];

/// Lines that make a document when put together at random. None is the definition of a link: those are shown as they
/// are, which the whole would not do.
const LINES: [&str; 56] = [
    "",
    "",
    "",
    "",
    "para",
    "text with `code` and *marks*",
    "word  ",
    "   three",
    "     five",
    "\ttab",
    "    code",
    "- item",
    "- other",
    "-",
    "- ",
    "* star",
    "+ plus",
    "  - nested",
    "   - three",
    "    - four",
    " - one",
    "- - x",
    "1. one",
    "2. two",
    "1. again",
    "7. seven",
    "3) paren",
    "10. ten",
    "   1. sub",
    "- ```",
    "  ```",
    "1.",
    "> quote",
    "> - item",
    ">",
    ">> deep",
    "> ```",
    "```",
    "```rust",
    "~~~",
    "````",
    "   ```",
    "# head",
    "#",
    "---",
    "***",
    "- - -",
    "===",
    "| a | b |",
    "|---|---|",
    "<div>",
    "</div>",
    "<b>",
    "<!-- c",
    "-->",
    "<script>",
];

fn theme() -> Theme {
    Theme::new(ThemeName::Dark, Depth::True, false)
}

/// The rows of a document that arrives in pieces of these sizes, in characters.
fn streamed(source: &str, sizes: &[usize], look: &Look<'_>, width: usize) -> Vec<Line<'static>> {
    let mut stream = MarkdownStream::new();
    let mut painter = Painter::new(width);
    let mut rows = Vec::new();
    let chars: Vec<char> = source.chars().collect();
    let mut from = 0;
    for size in sizes.iter().cycle() {
        if from >= chars.len() {
            break;
        }
        let to = (from + size).min(chars.len());
        stream.push(&chars[from..to].iter().collect::<String>());
        from = to;
        for piece in stream.take_finished() {
            rows.extend(painter.paint(&piece, look));
        }
        // What is drawn for now changes nothing.
        if let Some(piece) = stream.open_piece() {
            painter.clone().paint(&piece, look);
        }
    }
    stream.finish();
    for piece in stream.take_finished() {
        rows.extend(painter.paint(&piece, look));
    }
    assert_eq!(stream.open(), "");
    rows
}

fn shown(rows: &[Line<'static>]) -> String {
    rows.iter().map(|row| format!("{row}\n")).collect()
}

fn pieces_of(source: &str) -> Vec<Piece> {
    let mut stream = MarkdownStream::new();
    stream.push(source);
    stream.take_finished()
}

#[test]
fn the_documents_draw_the_same_in_pieces() {
    let (theme, highlighter) = (theme(), Highlighter::loaded());
    let look = Look { theme: &theme, highlighter: &highlighter };
    for source in DOCUMENTS {
        for width in [20, 80] {
            let whole = render(source, width, &look);
            assert_eq!(whole, render_at_once(source, width, &look), "{source}\n{}", shown(&whole));
            for size in [1, 2, 3, 7] {
                let rows = streamed(source, &[size], &look, width);
                assert_eq!(shown(&rows), shown(&whole), "{source}");
                assert_eq!(rows, whole, "{source}");
            }
        }
    }
}

#[test]
fn a_block_is_given_out_when_it_is_closed() {
    let block = |source: &str| Piece::Block(source.to_owned());
    assert_eq!(pieces_of("text\nmore"), []);
    assert_eq!(pieces_of("text\nmore\n\n"), [block("text\nmore\n\n")]);
    assert_eq!(pieces_of("text\n# head\nx"), [block("text\n# head\n")]);
    assert_eq!(pieces_of("text\n- item\n"), [block("text\n")]);
    assert_eq!(pieces_of("***\n"), [block("***\n")]);
    assert_eq!(pieces_of("| a |\n|---|\n| b |\n"), []);
    assert_eq!(pieces_of("> quote\n\n"), [block("> quote\n\n")]);
    assert_eq!(pieces_of("<div>\n\n"), []);
    assert_eq!(pieces_of("- item\n\ntext"), []);
    assert_eq!(pieces_of("- item\n\ntext\n"), [block("- item\n\n")]);
}

#[test]
fn the_items_of_a_list_are_given_out() {
    let items =
        |source: &str, start, spaced| Piece::Items { source: source.to_owned(), start, spaced };
    assert_eq!(
        pieces_of("4. a\n4. b\n\n4. c\n   - x\n   - y\n\n   z\n4. d\n"),
        [
            Piece::Block("4. a\n".to_owned()),
            items("4. b\n\n", Some(5), false),
            items("4. c\n   - x\n   - y\n\n   z\n", Some(6), true),
        ]
    );
    assert_eq!(pieces_of("- a\n- b\n"), [Piece::Block("- a\n".to_owned())]);
}

#[test]
fn code_is_given_out_line_by_line() {
    let line = |text: &str| Piece::CodeLine(text.to_owned());
    let start = |language: &str| Piece::CodeStart { language: language.to_owned() };
    assert_eq!(
        pieces_of("x\n  ```rust,ignore\n  a\n\n b\n    c\n``\n  ```\n~~~\r\nd\r\ne"),
        [
            Piece::Block("x\n".to_owned()),
            start("rust"),
            line("a"),
            line(""),
            line("b"),
            line("  c"),
            line("``"),
            Piece::CodeEnd,
            start(""),
            line("d"),
        ]
    );
}

#[test]
fn the_end_of_a_code_block_is_not_shown_while_it_arrives() {
    let mut stream = MarkdownStream::new();
    stream.push("```\ncode\n``");
    assert_eq!(stream.open_piece(), None);
    stream.push("x");
    assert_eq!(stream.open_piece(), Some(Piece::CodeLine("``x".to_owned())));
}

/// A long answer of the usual kind: what the parser reads is counted, and how much waits.
#[test]
fn the_work_is_in_proportion_to_what_arrives() {
    let code = "    let value = compute(1, 2); // a line of code\n".repeat(400);
    let list = "1. An item with some words\n\n   and a second paragraph.\n".repeat(200);
    let nested = "- An item\n  - with one below\n  - and another\n".repeat(200);
    let text = "A paragraph with words enough to fill more than a row of a terminal, or two.\n\n"
        .repeat(200);
    let source =
        format!("# Title\n\n{text}```rust\n{code}```\n\n{list}\n{text}{nested}\n## End\n{text}");
    assert!(source.len() > 80_000);
    let mut stream = MarkdownStream::new();
    let mut waiting = 0;
    for token in source.as_bytes().chunks(4) {
        stream.push(std::str::from_utf8(token).unwrap());
        waiting = waiting.max(stream.open().len());
    }
    assert!(stream.parsed < 3 * source.len(), "{} of {}", stream.parsed, source.len());
    assert!(waiting < 200, "{waiting}");
}

/// Texts that begin and end nothing, for which the parser would be asked again and again.
#[test]
fn no_text_makes_the_work_grow_faster_than_it() {
    for line in [
        "<!-- x\n\n",
        "- x\n  - y\n\n",
        "<div>\n",
        "> # x\n",
        "# x\n",
        "    x\n\ny",
        "```\n",
        "-\n",
        "1.\n",
    ] {
        let source = format!("<!--\n{}", line.repeat(20_000));
        for source in [&source, &source[5..]] {
            let mut stream = MarkdownStream::new();
            stream.push(source);
            stream.finish();
            let most = CREDIT_PER_BYTE * source.len() + FIRST_CREDIT;
            assert!(stream.parsed <= most, "{} of {}", stream.parsed, source.len());
        }
    }
}

proptest! {
    #[test]
    fn a_document_draws_the_same_in_any_pieces(
        at in 0..DOCUMENTS.len(),
        sizes in proptest::collection::vec(1_usize..30, 1..20),
        width in 1_usize..100,
    ) {
        let (theme, highlighter) = (theme(), Highlighter::new());
        let look = Look { theme: &theme, highlighter: &highlighter };
        let rows = streamed(DOCUMENTS[at], &sizes, &look, width);
        prop_assert_eq!(rows, render(DOCUMENTS[at], width, &look));
    }

    #[test]
    fn any_lines_draw_as_the_parser_reads_the_whole(
        lines in proptest::collection::vec(proptest::sample::select(&LINES[..]), 0..24),
        size in 1_usize..40,
    ) {
        let (theme, highlighter) = (theme(), Highlighter::new());
        let look = Look { theme: &theme, highlighter: &highlighter };
        let source = lines.join("\n") + "\n";
        let whole = render_at_once(&source, 60, &look);
        let rows = streamed(&source, &[size], &look, 60);
        prop_assert_eq!(shown(&rows), shown(&whole), "{}", source);
        prop_assert_eq!(rows, whole);
    }

    #[test]
    fn any_text_draws_the_same_in_any_pieces(source in "(\\PC|[\r\n#>*`~ -]){0,80}", sizes in proptest::collection::vec(1_usize..9, 1..9)) {
        let (theme, highlighter) = (theme(), Highlighter::new());
        let look = Look { theme: &theme, highlighter: &highlighter };
        prop_assert_eq!(streamed(&source, &sizes, &look, 40), render(&source, 40, &look));
    }
}
