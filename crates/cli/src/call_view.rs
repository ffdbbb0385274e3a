//! A call as a question shows it: few enough rows that nothing is scrolled away, and nothing pushed out of sight by
//! blanks.

use serde_json::Value;

use crate::output::{is_ignorable, plain};

/// The columns of a row.
const COLUMNS: usize = 80;
/// The rows of a call. With the reason and the choices a question has at most 60.
const CALL_ROWS: usize = 46;
/// A longer run of blanks is folded.
const MAX_BLANKS: usize = 24;

/// A call, for a question.
pub(crate) fn call(tool: &str, input: &Value) -> String {
    let whole = ["command", "plan"].iter().find_map(|key| input.get(key)?.as_str());
    let said = whole.map_or_else(|| input.to_string(), str::to_owned);
    rows(&format!("{tool} {said}"), CALL_ROWS)
}

/// A text in at most so many rows of 80 columns. Says what was left out.
pub(crate) fn rows(text: &str, most: usize) -> String {
    let rows: Vec<String> = folded(&plain(text)).lines().flat_map(wrapped).collect();
    if rows.len() <= most {
        return rows.join("\n");
    }
    // The end of a command says as much as its beginning.
    let (first, last) = (most * 2 / 3, most - most * 2 / 3 - 1);
    let hidden = &rows[first..rows.len() - last];
    let chars: usize = hidden.iter().map(|row| row.chars().count()).sum();
    let note = format!("[{} rows with {chars} characters are not shown]", hidden.len());
    let shown = rows[..first].iter().chain([&note]).chain(&rows[rows.len() - last..]);
    shown.map(String::as_str).collect::<Vec<_>>().join("\n")
}

/// Whether a character shows nothing.
fn is_blank(c: char) -> bool {
    // The last two: a braille pattern without dots, and what stands in the place of a hidden character.
    c.is_whitespace() || is_ignorable(c) || matches!(c, '\u{2800}' | '\u{fffd}')
}

/// Blank lines and runs of blanks, replaced by their number.
fn folded(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut blank = 0;
    let tell = |blank: usize, lines: &mut Vec<String>| match blank {
        0 => {}
        1 => lines.push(String::new()),
        many => lines.push(format!("[{many} blank lines]")),
    };
    for line in text.lines() {
        if line.chars().all(is_blank) {
            blank += 1;
            continue;
        }
        tell(blank, &mut lines);
        blank = 0;
        lines.push(line_folded(line));
    }
    tell(blank, &mut lines);
    lines.join("\n")
}

fn line_folded(line: &str) -> String {
    let mut shown = String::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c| is_blank(c) != is_blank(first)).unwrap_or(rest.len());
        let (run, behind) = rest.split_at(end);
        let count = run.chars().count();
        match is_blank(first) && count > MAX_BLANKS {
            true => shown.push_str(&format!(" [{count} blanks] ")),
            // A tab is as wide as the terminal likes.
            false => shown.push_str(&run.replace('\t', "    ")),
        }
        rest = behind;
    }
    shown
}

/// The rows of a line.
fn wrapped(line: &str) -> Vec<String> {
    let (mut rows, mut row, mut width) = (Vec::new(), String::new(), 0);
    for c in line.chars() {
        // Some characters take two columns; none takes more.
        let wide = if c.is_ascii() { 1 } else { 2 };
        if width + wide > COLUMNS {
            rows.push(std::mem::take(&mut row));
            width = 0;
        }
        row.push(c);
        width += wide;
    }
    rows.push(row);
    rows
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fits(text: &str) {
        assert!(text.lines().count() <= CALL_ROWS, "{text}");
        assert!(text.lines().all(|row| row.chars().count() <= COLUMNS), "{text}");
    }

    #[test]
    fn what_stands_behind_a_flood_of_blanks_is_seen() {
        for flood in [
            "\n".repeat(5000),
            " ".repeat(50_000),
            "\t\n \u{3164}\n".repeat(999),
            "\u{2800}".repeat(9999),
            "\n\u{17b4}".repeat(300),
            "\n\u{34f}\u{fe0f}".repeat(300),
            "\n\u{180e}\u{e0020}".repeat(300),
        ] {
            let shown = call("Bash", &json!({"command": format!("ls{flood}; rm -rf ~")}));
            fits(&shown);
            assert!(shown.contains("rm -rf ~") && shown.contains("blank"), "{shown}");
        }
    }

    #[test]
    fn a_long_call_shows_its_two_ends_and_says_what_is_missing() {
        for long in ["x".repeat(100_000), "echo x;\n".repeat(5000), "日本".repeat(20_000)] {
            let command = format!("first; {long}; last");
            for input in
                [json!({"command": command}), json!({"plan": command}), json!({"any": command})]
            {
                let shown = call("Tool", &input);
                fits(&shown);
                assert!(shown.starts_with("Tool ") && shown.contains("last"), "{shown}");
                assert!(shown.contains("first") && shown.contains("are not shown]"), "{shown}");
            }
        }
    }

    #[test]
    fn an_ordinary_call_is_shown_as_it_is() {
        let command = "if true; then\n    echo a\n\n    echo b\nfi";
        assert_eq!(call("Bash", &json!({"command": command})), format!("Bash {command}"));
    }
}
