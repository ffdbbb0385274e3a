//! Processes the text of a file: comments are removed, imports are found, code is left alone.
//!
//! A CommonMark parser decides what is code and what is a comment.

use std::iter;
use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag};

use super::bounds::MAX_STEPS;

/// The maximum length of a path.
const MAX_PATH: usize = 4096;

/// HTML whose content is shown as it is.
const LITERAL_HTML: &[&str] = &["<pre", "<script", "<style", "<textarea"];

/// What may come right before the `@` of an import, besides white space. `user@host`, `a/@b` and `\@x` are not
/// imports.
const BEFORE: &[char] =
    &['(', '[', '{', '"', '\'', '*', '>', '|', ':', ',', '“', '‘', '«', '（', '，', '：'];

/// What always ends a path.
const NEVER_IN_PATH: &[char] = &['<', '>', '"', '|', '`', '“', '”'];

/// What is removed from the end of a path if no file has that name.
const AFTER: &[char] = &[
    '.', ',', ';', ':', '!', '?', ')', ']', '}', '\'', '*', '_', '~', '’', '»', '…', '。', '，',
    '、', '；', '：', '！', '？', '）',
];

/// A text as the model gets it, and what it imports.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Scanned {
    /// The text without block comments.
    pub(super) content: String,
    /// What follows each `@`, up to the next space; see [`candidates`].
    pub(super) imports: Vec<String>,
}

/// Reads a text.
pub(super) fn scan(source: &str) -> Scanned {
    let mut marks = Marks::default();
    for (event, range) in Parser::new_ext(source, Options::empty()).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(_)) | Event::Code(_) => marks.quiet.push(range),
            Event::Start(Tag::HtmlBlock) => marks.html_block(source, range),
            // A comment within a line stays, but nothing is imported from it.
            Event::InlineHtml(html) if html.starts_with("<!--") => marks.quiet.push(range),
            _ => {}
        }
    }
    let content: String =
        between(source, marks.comments.clone()).map(|part| &source[part]).collect();
    marks.quiet.append(&mut marks.comments);
    marks.quiet.sort_by_key(|range| range.start);
    let imports = between(source, marks.quiet).flat_map(|part| imports(source, part));
    // One more than the limit, so that exceeding it is noticed.
    let imports = imports.take(MAX_STEPS + 1).collect();
    let content = content.trim_end().trim_start_matches(['\n', '\r']).to_owned();
    Scanned { content, imports }
}

/// The paths that an import may mean, the likeliest first: a full stop at the end is part of the path only if such a
/// file exists.
pub(super) fn candidates(import: &str) -> impl Iterator<Item = &str> {
    let import = import.split("](").next().unwrap_or(import);
    let path = Some(import).filter(|path| !path.is_empty());
    iter::successors(path, |path| path.strip_suffix(AFTER).filter(|path| !path.is_empty()))
}

/// Ranges of a text that are special.
#[derive(Default)]
struct Marks {
    /// Removed.
    comments: Vec<Range<usize>>,
    /// Code, and comments that stay: nothing is imported from there.
    quiet: Vec<Range<usize>>,
}

impl Marks {
    fn html_block(&mut self, source: &str, block: Range<usize>) {
        let mut first = None;
        let mut at = block.start;
        while let Some(comment) = comment(source, at..block.end)
            && source[at..comment.start].trim().is_empty()
        {
            at = comment.end;
            first.get_or_insert(comment.start);
        }
        let rest = &source[at..block.end];
        if let Some(first) = first {
            let line = source[..first].rfind('\n').map_or(0, |newline| newline + 1);
            let leads = source[line..first].trim().is_empty();
            let kept = rest.trim_start();
            // Lines with nothing else on them are removed as a whole.
            let start = if leads { line } else { first };
            let end = if leads || !kept.is_empty() { block.end - kept.len() } else { at };
            return self.comments.push(start..end);
        }
        let tag = rest.trim_start().to_ascii_lowercase();
        if LITERAL_HTML.iter().any(|literal| tag.starts_with(literal)) {
            return self.quiet.push(block);
        }
        while let Some(comment) = comment(source, at..block.end) {
            at = comment.end;
            self.quiet.push(comment);
        }
    }
}

/// The first comment within a range. It must be closed.
fn comment(source: &str, range: Range<usize>) -> Option<Range<usize>> {
    let start = range.start + source[range.clone()].find("<!--")?;
    // `<!-->` is a whole comment.
    let body = start + 2;
    let end = body + source[body..range.end].find("-->")? + 3;
    Some(start..end)
}

/// The gaps between ranges that are sorted by their start.
fn between(source: &str, ranges: Vec<Range<usize>>) -> impl Iterator<Item = Range<usize>> {
    let end = source.len();
    let mut at = 0;
    ranges.into_iter().chain(iter::once(end..end)).filter_map(move |range| {
        let part = at..range.start;
        at = at.max(range.end);
        (!part.is_empty()).then_some(part)
    })
}

fn imports(source: &str, part: Range<usize>) -> impl Iterator<Item = String> {
    let text = &source[part.clone()];
    text.match_indices('@').filter_map(move |(at, _)| {
        let before = source[..part.start + at].chars().next_back();
        begins(before).then(|| path(&text[at + 1..])).flatten()
    })
}

/// Whether an `@` after this character starts an import.
fn begins(before: Option<char>) -> bool {
    before.is_none_or(|c| c.is_whitespace() || BEFORE.contains(&c))
}

/// A path at the start of a text. A space in it is written as `\ `.
fn path(text: &str) -> Option<String> {
    let mut path = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\\' && chars.next_if_eq(&' ').is_some() {
            path.push(' ');
        } else if c.is_whitespace()
            || c.is_control()
            || NEVER_IN_PATH.contains(&c)
            // In `@a,@b` the next one starts.
            || c == '@' && !path.is_empty() && begins(path.chars().next_back())
        {
            break;
        } else {
            path.push(c);
        }
        if path.len() > MAX_PATH {
            return None;
        }
    }
    (!path.is_empty()).then_some(path)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn imports_are_found_in_text_only() {
        let cases: &[(&str, &[&str])] = &[
            ("@a.md", &["a.md"]),
            ("See @docs/a.md and (@../b.md), \"@~/c.md\".", &["docs/a.md", "../b.md),", "~/c.md"]),
            ("- **@a.md**\n> @b.md\n| @c.md |\n", &["a.md**", "b.md", "c.md"]),
            ("@a.md,@b.md (@c@d.md)", &["a.md,", "b.md", "c@d.md)"]),
            ("@with\\ space.md", &["with space.md"]),
            ("[@a.md](x) <important>\n@b.md\n</important>", &["a.md](x)", "b.md"]),
            ("user@host a/@b \\@c x.@d @", &[]),
            ("`@a` ``x ` @b`` <!-- @c --> `@d\n@e`", &[]),
            ("```\n@a\n```\n~~~~ md\n@b\n~~~\n@c\n~~~~\n", &[]),
            ("```\n@never-closed", &[]),
            ("    @indented\n", &[]),
            ("- x\n\n  ```\n  @a\n  ```\n> ~~~\n> @b\n", &[]),
            ("<pre>\n@a\n</pre>\n<div>\n<!-- @b -->\n@c\n</div>", &["c"]),
            ("<!-- @a -->\n@b <!--\n\n@c", &["b", "c"]),
            // A backtick that is never closed opens nothing.
            ("a ` @b", &["b"]),
            ("```a`b\n@c", &["c"]),
        ];
        for (text, imports) in cases {
            assert_eq!(scan(text).imports, *imports, "{text:?}");
        }
    }

    #[test]
    fn a_text_full_of_imports_is_read_in_one_pass() {
        for (unit, least) in [("(@", 1), ("@a ", MAX_STEPS), ("@", 0), ("a@", 0), ("[@a](", 1)] {
            let started = std::time::Instant::now();
            let scanned = scan(&unit.repeat((1 << 20) / unit.len()));
            assert!(started.elapsed().as_secs() < 20, "{unit}: {:?}", started.elapsed());
            assert!((least..=MAX_STEPS + 1).contains(&scanned.imports.len()), "{unit}");
        }
    }

    #[test]
    fn punctuation_is_tried_as_part_of_the_path_first() {
        let all = |import| candidates(import).collect::<Vec<_>>();
        assert_eq!(all("a.md"), ["a.md"]);
        assert_eq!(all("a.md**)."), ["a.md**).", "a.md**)", "a.md**", "a.md*", "a.md"]);
        assert_eq!(all("a.md](https://x)"), ["a.md"]);
        assert_eq!(all("..."), ["...", "..", "."]);
    }

    #[test]
    fn block_comments_go() {
        let cases = [
            ("<!-- a -->\ntext", "text"),
            ("one\n<!-- a\n\nb -->\ntwo", "one\ntwo"),
            ("one\n  <!-- a -->\ntwo", "one\ntwo"),
            ("<!-- a --> <!-- b --> rest\nx", "rest\nx"),
            ("<!-->\nx", "x"),
            ("> <!-- a -->\n> b", "> \n> b"),
            ("in a <!-- line --> it stays", "in a <!-- line --> it stays"),
            ("`<!-- a -->`", "`<!-- a -->`"),
            ("```html\n<!-- a -->\n```", "```html\n<!-- a -->\n```"),
            ("    <!-- a -->", "    <!-- a -->"),
            ("<pre>\n<!-- a -->\n</pre>", "<pre>\n<!-- a -->\n</pre>"),
            ("x\n\n<!-- never closed\n\ny", "x\n\n<!-- never closed\n\ny"),
            ("<!-- only -->", ""),
            ("\r\n\r\na\r\n<!-- b -->\r\nc\r\n", "a\r\nc"),
        ];
        for (text, content) in cases {
            assert_eq!(scan(text).content, content, "{text:?}");
        }
    }

    /// One block of a document, and what it imports.
    fn block() -> impl Strategy<Value = (String, Vec<String>)> {
        let name = "[a-z]{1,6}(/[a-z]{1,4})?\\.md";
        let text = prop::collection::vec((name, 0..4), 1..4).prop_map(|words| {
            let mut text = String::new();
            let mut imports = Vec::new();
            for (name, kind) in words {
                match kind {
                    0 => text += &format!("see `@code/{name}` "),
                    1 => text += &format!("mail me@{name} "),
                    2 => text += &format!("``` @code/{name} `` ``` "),
                    _ => {
                        text += &format!("see @{name} ");
                        imports.push(name);
                    }
                }
            }
            // Only a word may begin it: three backticks would open a block.
            (format!("so {text}"), imports)
        });
        let fence = (prop::sample::select(vec!['`', '~']), 3..6_usize, name, "[ a-z`~<!\n-]{0,20}");
        let code = fence.prop_map(|(mark, length, name, noise)| {
            let fence = mark.to_string().repeat(length);
            let noise = noise.replace(mark, " ");
            (format!("{fence}\n{noise}\n@code/{name}\n{fence}"), Vec::new())
        });
        prop_oneof![text, code]
    }

    proptest! {
        #[test]
        fn nothing_is_imported_from_code(blocks in prop::collection::vec(block(), 0..8)) {
            let text: Vec<_> = blocks.iter().map(|(text, _)| text.as_str()).collect();
            let expected: Vec<_> = blocks.iter().flat_map(|(_, imports)| imports.clone()).collect();
            prop_assert_eq!(scan(&text.join("\n\n")).imports, expected);
        }

        #[test]
        fn any_text_can_be_read(text in "[`~@<!>a. \n\r\t\\\\()*é\\[\\]-]{0,80}") {
            let scanned = scan(&text);
            prop_assert!(scanned.content.len() <= text.len());
            for import in &scanned.imports {
                prop_assert!(candidates(import).all(|path| !path.is_empty()));
            }
        }

        #[test]
        fn a_fence_that_stays_open_hides_the_rest(text in "[@a.<!> \n-]{0,60}") {
            prop_assert_eq!(scan(&format!("```\n{text}")).imports, Vec::<String>::new());
        }
    }
}
