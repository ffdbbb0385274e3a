//! Markdown as plain text for a terminal: enough of it for our own pages.

/// How wide a line may get.
const WIDTH: usize = 88;
/// The indentation of code.
const INDENT: &str = "    ";
/// Stands for a space inside a code span, where no line is broken.
const FIXED: char = '\u{1}';

/// What to write for a link, given its target.
type Linked<'l> = &'l dyn Fn(&str) -> Option<String>;

/// A page as plain text. Code stays unchanged; paragraphs and tables are wrapped.
pub fn page(markdown: &str, linked: Linked<'_>) -> String {
    let mut lines = markdown.lines().peekable();
    let mut blocks: Vec<String> = Vec::new();
    while let Some(line) = lines.next() {
        // Pictures are for the documentation in a browser.
        if line.trim().is_empty() || line.starts_with("<!--") || line.starts_with("![") {
            continue;
        }
        if line.starts_with("```") {
            let code = lines.by_ref().take_while(|line| !line.starts_with("```"));
            let code: Vec<String> = code.map(|line| format!("{INDENT}{line}")).collect();
            blocks.push(code.join("\n"));
        } else if let Some(heading) = line.strip_prefix('#') {
            let text = inline(heading.trim_start_matches('#').trim(), linked);
            let under = if heading.starts_with('#') { "-" } else { "=" };
            blocks.push(format!("{text}\n{}", under.repeat(text.chars().count())));
        } else if line.starts_with('|') {
            let mut rows = vec![cells(line, linked)];
            while let Some(row) = lines.next_if(|line| line.starts_with('|')) {
                rows.push(cells(row, linked));
            }
            blocks.push(table(&rows));
        } else {
            let mut text = line.to_owned();
            while let Some(more) = lines.next_if(|line| continues(line)) {
                text.push(' ');
                text.push_str(more.trim());
            }
            let (mark, text) = item(&text);
            let block = wrapped(&inline(text, linked), mark, &" ".repeat(mark.len()));
            let listed =
                !mark.is_empty() && blocks.last().is_some_and(|last| !item(last).0.is_empty());
            match blocks.last_mut().filter(|_| listed) {
                Some(list) => list.push_str(&format!("\n{block}")),
                None => blocks.push(block),
            }
        }
    }
    let text = blocks.join("\n\n").replace(FIXED, " ");
    format!("{text}\n")
}

/// Whether a line goes on with the paragraph or item before it.
fn continues(line: &str) -> bool {
    let starts = line.starts_with(['#', '|']) || line.starts_with("```");
    !line.trim().is_empty() && !starts && item(line).0.is_empty()
}

/// The mark of a list item, such as `- ` or `1. `, and the rest.
fn item(line: &str) -> (&str, &str) {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let mark = match &line[digits..] {
        rest if digits > 0 && rest.starts_with(". ") => digits + 2,
        rest if digits == 0 && rest.starts_with("- ") => 2,
        _ => 0,
    };
    line.split_at(mark)
}

/// Text without the marks of links and emphasis. Code spans stay as they are.
pub fn inline(text: &str, linked: Linked<'_>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['`', '[', '*']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if rest.starts_with('`') {
            let (code, behind) = rest.split_at(code_span(rest));
            out.push_str(&fixed(code));
            rest = behind;
        } else if let Some((label, target, behind)) = link(rest) {
            let command = linked(target).map(|command| fixed(&command));
            out.push_str(&match command {
                Some(command) if label.ends_with(".md") => command,
                Some(command) => format!("{} ({command})", inline(label, linked)),
                None => inline(label, linked),
            });
            rest = behind;
        } else if let Some(behind) = rest.strip_prefix("**") {
            rest = behind;
        } else {
            let (mark, behind) = rest.split_at(1);
            out.push_str(mark);
            rest = behind;
        }
    }
    out.push_str(rest);
    out
}

/// Text in which no line is broken.
fn fixed(text: &str) -> String {
    text.replace(' ', &FIXED.to_string())
}

/// The length of the code span that `text` begins with, or of its backticks where none ends it.
fn code_span(text: &str) -> usize {
    let ticks = text.bytes().take_while(|byte| *byte == b'`').count();
    let mut at = ticks;
    while let Some(found) = text[at..].find('`') {
        let start = at + found;
        let run = text[start..].bytes().take_while(|byte| *byte == b'`').count();
        at = start + run;
        if run == ticks {
            return at;
        }
    }
    ticks
}

/// The label and target of the link that `text` begins with, and what follows it.
fn link(text: &str) -> Option<(&str, &str, &str)> {
    let (label, rest) = text.strip_prefix('[')?.split_once("](")?;
    let (target, behind) = rest.split_once(')')?;
    let whole = !label.contains(['[', ']', '`']);
    whole.then_some((label, target, behind))
}

/// The cells of a row. `\|` is a pipe inside a cell.
fn cells(line: &str, linked: Linked<'_>) -> Vec<String> {
    let line = line.trim().replace("\\|", "\u{2}");
    let line = line.strip_prefix('|').unwrap_or(&line);
    let line = line.strip_suffix('|').unwrap_or(line);
    line.split('|').map(|cell| inline(&cell.trim().replace('\u{2}', "|"), linked)).collect()
}

/// A table in columns where it fits, otherwise row by row with what each cell is.
fn table(rows: &[Vec<String>]) -> String {
    let is_line = |row: &Vec<String>| {
        row.iter().all(|cell| cell.chars().all(|c| "-: ".contains(c)) && cell.contains('-'))
    };
    let rows: Vec<&Vec<String>> = rows.iter().filter(|row| !is_line(row)).collect();
    let Some((header, body)) = rows.split_first() else { return String::new() };
    let columns = header.len();
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    if widths.iter().sum::<usize>() + 2 * columns <= WIDTH {
        let line = |row: &&Vec<String>| {
            let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        };
        let head = std::iter::once(header).filter(|row| row.iter().any(|cell| !cell.is_empty()));
        return head.chain(body).map(line).collect::<Vec<_>>().join("\n");
    }
    let entry = |row: &&Vec<String>| {
        let (first, others) = row.split_first()?;
        if let [text] = others
            && first.chars().count() < INDENT.len()
        {
            return Some(wrapped(text, &format!("{first:<4}"), INDENT));
        }
        let mut lines = vec![wrapped(first, "", INDENT)];
        for (name, cell) in header.iter().skip(1).zip(others).filter(|(_, cell)| !cell.is_empty()) {
            let named = columns > 2 && !name.is_empty();
            let text = if named { format!("{name}: {cell}") } else { cell.clone() };
            lines.push(wrapped(&text, INDENT, &INDENT.repeat(1 + usize::from(named))));
        }
        Some(lines.join("\n"))
    };
    body.iter().filter_map(entry).collect::<Vec<_>>().join("\n")
}

/// Words in lines of at most [`WIDTH`], where they can be broken.
fn wrapped(text: &str, first: &str, others: &str) -> String {
    let mut lines = vec![first.to_owned()];
    let mut length = first.chars().count();
    let mut empty = true;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let more = word.chars().count();
        if !empty && length + 1 + more > WIDTH {
            lines.push(others.to_owned());
            (length, empty) = (others.chars().count(), true);
        }
        if let Some(line) = lines.last_mut() {
            if !empty {
                line.push(' ');
            }
            line.push_str(word);
        }
        length += more + usize::from(!empty);
        empty = false;
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn linked(target: &str) -> Option<String> {
        (target == "WEB.md").then(|| "`ona help web`".to_owned())
    }

    #[test]
    fn a_page_is_laid_out_as_text() {
        let markdown = "<!-- made -->\n# The web\n\nTwo tools\nreach it **always**.\n\n- one `a b`\n  more\n- two\n\n## More\n\n\
                        ```sh\n# not a heading\nona help\n```\n\n| a | b |\n|---|:-:|\n| `x \\| y` | 2 |\n";
        let expected = "The web\n=======\n\nTwo tools reach it always.\n\n- one `a b` more\n- two\n\nMore\n----\n\n    \
                        # not a heading\n    ona help\n\na        b\n`x | y`  2\n";
        assert_eq!(page(markdown, &linked), expected);
    }

    #[test]
    fn links_name_the_topic_they_lead_to() {
        for (text, expected) in [
            ("see [WEB.md](WEB.md).", "see `ona help web`."),
            ("see [the web](WEB.md)", "see the web (`ona help web`)"),
            ("[elsewhere](X.md) and a[0]", "elsewhere and a[0]"),
            ("`[a](WEB.md) **b**`", "`[a](WEB.md) **b**`"),
            ("``a ` b`` c", "``a ` b`` c"),
            ("2 * 3 `open", "2 * 3 `open"),
        ] {
            assert_eq!(inline(text, &linked).replace(FIXED, " "), expected, "{text}");
        }
    }

    #[test]
    fn wide_tables_become_lists() {
        let long = "word ".repeat(30);
        let markdown = format!("| a | b | c |\n|---|---|---|\n| x | | {long} |\n");
        let text = page(&markdown, &linked);
        assert!(text.starts_with("x\n    c: word word"), "{text}");
        let numbered = page(&format!("| | b |\n|---|---|\n| 1 | {long} |\n"), &linked);
        assert!(numbered.starts_with("1   word word"), "{numbered}");
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
    }
}
