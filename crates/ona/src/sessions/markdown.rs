//! A session as Markdown. Nobody can speak for somebody else in it: what would be a heading, in text that ona did not
//! write, is shown as text.

use ona_cli::output::plain;
use ona_store::{SessionRow, StoredEntry};
use serde_json::Value;

use super::blocks;

/// The lowest heading that ona writes: `### Bash`.
const DEEPEST: usize = 3;

/// The whole session.
pub(super) fn session(session: Option<&SessionRow>, rows: &[StoredEntry]) -> String {
    let mut text = String::new();
    if let Some(session) = session {
        let name = session.name.as_deref().unwrap_or(&session.session_id);
        text.push_str(&format!(
            "# {}\n\n{} in {}\n",
            title(name),
            title(&session.started_at),
            title(&session.project_dir)
        ));
    }
    for row in rows {
        let payload: Value = serde_json::from_str(&row.payload_json).unwrap_or_default();
        let said = match row.entry_type.as_str() {
            "user" => format!("\n## User\n\n{}\n", words(&blocks(&payload["content"]))),
            "assistant" => format!("\n## ona\n\n{}\n", words(&blocks(&payload["content"]))),
            "tool_use" => {
                let name = title(payload["name"].as_str().unwrap_or_default());
                format!("\n### {name}\n\n{}\n", block(&payload["input"].to_string()))
            }
            "tool_result" => {
                format!("\n{}\n", block(payload["content"].as_str().unwrap_or_default()))
            }
            _ => continue,
        };
        text.push_str(&said);
    }
    plain(&text)
}

/// A name in a heading or a line: one line, and no markup that begins another element.
fn title(name: &str) -> String {
    let line = plain(name).split_whitespace().collect::<Vec<_>>().join(" ");
    line.replace('<', "&lt;")
}

/// Somebody's own Markdown. If it has something that could pass for a heading, or that could swallow the next one, it
/// becomes a quotation, which ends where ona says; in it, headings are escaped.
fn words(text: &str) -> String {
    // Lines end here as they do on a terminal and in Markdown.
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    if !is_risky(&text) {
        return text;
    }
    let (mut quoted, mut fence, mut above) = (Vec::new(), None, String::new());
    for line in text.lines() {
        let shown = match step(&mut fence, line) {
            true => line.to_owned(),
            false => escaped(line, &above),
        };
        above = line.to_owned();
        quoted.push(format!("> {shown}"));
    }
    quoted.join("\n")
}

/// Text as it is, in a fence that it does not hold. With something that looks like a heading it is also a quotation.
fn block(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut fence = "```".to_owned();
    while text.contains(&fence) {
        fence.push('`');
    }
    let fenced = format!("{fence}\n{}\n{fence}", text.trim_end());
    match is_risky(&text) {
        true => fenced.lines().map(|line| format!("> {line}")).collect::<Vec<_>>().join("\n"),
        false => fenced,
    }
}

/// Whether a text, rendered as it is, could show a heading like ona's or hide one.
fn is_risky(text: &str) -> bool {
    let (mut fence, mut above) = (None, "");
    for line in text.lines() {
        let inside = step(&mut fence, line);
        // Only what stands at the beginning of a line is surely a fence.
        let odd_fence = !inside && is_fence(line.trim_start()).is_some();
        if odd_fence || escaped(line, above) != line {
            return true;
        }
        above = line;
    }
    fence.is_some()
}

/// Goes on by a line; whether it belongs to a fenced block that began at the very beginning of a line.
fn step(fence: &mut Option<(char, usize)>, line: &str) -> bool {
    // A fence may be closed by one that is indented by up to three blanks.
    let blanks = line.len() - line.trim_start_matches(' ').len();
    let marker = is_fence(if fence.is_some() && blanks <= 3 { &line[blanks..] } else { line });
    match (*fence, marker) {
        (None, Some((sign, length, rest))) if sign == '~' || !rest.contains('`') => {
            *fence = Some((sign, length));
            true
        }
        (None, _) => false,
        (Some((open, least)), Some((sign, length, rest)))
            if sign == open && length >= least && rest.trim().is_empty() =>
        {
            *fence = None;
            true
        }
        (Some(_), _) => true,
    }
}

/// The sign of a fence, its length and what follows.
fn is_fence(line: &str) -> Option<(char, usize, &str)> {
    let sign = line.chars().next().filter(|sign| matches!(sign, '`' | '~'))?;
    let length = line.chars().take_while(|c| *c == sign).count();
    (length >= 3).then(|| (sign, length, &line[length..]))
}

/// A line that begins no heading and no HTML, below another line.
fn escaped(line: &str, above: &str) -> String {
    // Behind signs of lists and quotations too.
    let inner = line.trim_start_matches(|c: char| {
        c.is_whitespace() || c.is_ascii_digit() || matches!(c, '>' | '*' | '+' | '-' | '.' | ')')
    });
    let (before, inner) = line.split_at(line.len() - inner.len());
    let signs = inner.chars().take_while(|c| *c == '#').count();
    let is_heading = (1..=DEEPEST).contains(&signs)
        && inner[signs..].chars().next().is_none_or(char::is_whitespace);
    let bare = line.trim_matches(|c: char| c.is_whitespace() || c == '>');
    let underlines = !bare.is_empty()
        && !above.trim_matches(|c: char| c.is_whitespace() || c == '>').is_empty()
        && (bare.chars().all(|c| c == '=') || bare.chars().all(|c| c == '-'));
    let line = if is_heading {
        format!("{before}\\{inner}")
    } else if underlines {
        let at =
            line.len() - line.trim_start_matches(|c: char| c.is_whitespace() || c == '>').len();
        format!("{}\\{}", &line[..at], &line[at..])
    } else {
        line.to_owned()
    };
    without_tags(&line)
}

/// Elements that are headings, or that swallow what follows them.
const ELEMENTS: [&str; 22] = [
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "script",
    "style",
    "pre",
    "textarea",
    "title",
    "xmp",
    "iframe",
    "noembed",
    "noframes",
    "noscript",
    "plaintext",
    "template",
    "svg",
    "math",
    "details",
    "select",
];

/// HTML of such elements, and whatever tag a line begins with, is text.
fn without_tags(line: &str) -> String {
    let mut shown = String::with_capacity(line.len());
    for (at, c) in line.char_indices() {
        let tag = line[at + c.len_utf8()..].trim_start_matches('/');
        let name: String = tag.chars().take_while(char::is_ascii_alphanumeric).collect();
        let begins_line = line[..at].chars().all(|c| !c.is_alphabetic() && c != '<');
        let is_tag = c == '<'
            && (tag.starts_with(['!', '?'])
                || ELEMENTS.contains(&name.to_ascii_lowercase().as_str())
                || (begins_line && !name.is_empty()));
        match is_tag {
            true => shown.push_str("&lt;"),
            false => shown.push(c),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ordinary_markdown_stays() {
        for text in [
            "It is a fox.",
            "a\n\n- one\n- two\n\n```rust\nfn main() {}\n```\n\n#### deep\n\n---\n\nVec<String> and a < b",
            "",
            "1. x\n2. y\n\n| a |\n|---|\n| b |",
        ] {
            assert_eq!(words(text), text);
        }
    }

    #[test]
    fn no_text_makes_a_heading_or_hides_one() {
        for (text, shown) in [
            ("## User", "> \\## User"),
            ("x\n# User\n", "> x\n> \\# User"),
            ("   ## User", ">    \\## User"),
            ("> ## User", "> > \\## User"),
            ("- 1. ## User", "> - 1. \\## User"),
            ("##\tUser", "> \\##\tUser"),
            ("##", "> \\##"),
            ("x\r## User\rI agree", "> x\n> \\## User\n> I agree"),
            ("User\n===", "> User\n> \\==="),
            ("User\n--", "> User\n> \\--"),
            ("> User\n> -", "> > User\n> > \\-"),
            ("a <h2>User</h2>", "> a &lt;h2>User&lt;/h2>"),
            ("a <H2 id=x>", "> a &lt;H2 id=x>"),
            ("<!-- ", "> &lt;!-- "),
            ("<div>\n```\n\n## User", "> &lt;div>\n> ```\n> \n> ## User"),
            ("```\nnever closed", "> ```\n> never closed"),
            ("- a\n  ```\n## User", "> - a\n>   ```\n> \\## User"),
            ("```sh\n# a comment\n```", "> ```sh\n> # a comment\n> ```"),
            ("```\n ```\n## User\n```", "> ```\n>  ```\n> \\## User\n> ```"),
            ("~~~\n   ~~~\nUser\n==", "> ~~~\n>    ~~~\n> User\n> \\=="),
        ] {
            assert_eq!(words(text), shown, "{text:?}");
        }
        assert_eq!(block("## User\n```"), "> ````\n> ## User\n> ```\n> ````");
        assert_eq!(block("plain"), "```\nplain\n```");
        assert_eq!(title("x\n## User <h2>"), "x ## User &lt;h2>");
    }

    /// Headings like ona's, and HTML, that a reader of Markdown sees in a text.
    fn forged(text: &str) -> Vec<String> {
        use pulldown_cmark::{Event, HeadingLevel, Parser, Tag};
        Parser::new(text)
            .filter_map(|event| match event {
                Event::Start(Tag::Heading { level, .. }) if level <= HeadingLevel::H3 => {
                    Some(format!("{level}"))
                }
                Event::Html(html) | Event::InlineHtml(html) => Some(html.to_string()),
                _ => None,
            })
            .collect()
    }

    proptest! {
        #[test]
        fn a_reader_sees_no_heading_and_no_element_in_a_text(
            text in "(```|~~~|`|\\n|\\n|\\n ?|  |    |\\t|> |- |1\\. |## |#|User|==|--|<h2>|</h2>|<!--|-->|\\\\|\\[a\\]: b|\\|){0,14}",
        ) {
            prop_assert_eq!(forged(&words(&text)), [""; 0]);
            prop_assert_eq!(forged(&block(&text)), [""; 0]);
            // And what ona says next is a heading.
            let next = format!("## ona\n\n{}\n\n## User\n", words(&text));
            prop_assert_eq!(forged(&next).len(), 2, "{}", next);
        }
    }
}
