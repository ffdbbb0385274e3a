//! Markdown in plain lines: no styles, no frames.

use ona_render::highlight::{Highlighter, Look};
use ona_render::markdown;
use ona_render::theme::{Depth, Theme, ThemeName};
use ratatui::text::Line;

/// Lines are not wrapped here: the terminal or the reader does that.
const WIDTH: usize = 2_000;
/// What a line across the screen becomes.
const RULE: &str = "---";

/// A text in Markdown as plain lines. The columns of a table stay below each other; what draws its frame is left out.
pub(super) fn lines(text: &str) -> String {
    let theme = Theme::new(ThemeName::Dark, Depth::None, false);
    let highlighter = Highlighter::new();
    let look = Look { theme: &theme, highlighter: &highlighter };
    let rows = markdown::render(text, WIDTH, &look);
    rows.iter().filter_map(plain_row).collect::<Vec<_>>().join("\n")
}

fn plain_row(row: &Line<'_>) -> Option<String> {
    let text: String = row.spans.iter().map(|span| span.content.as_ref()).collect();
    let mut shown = text.trim_end();
    if shown.len() > RULE.len() && shown.chars().all(|c| c == '─') {
        return Some(RULE.to_owned());
    }
    if !shown.is_empty() && shown.trim_start().chars().all(|c| "┌┬┐├┼┤└┴┘─".contains(c))
    {
        return None;
    }
    let is_cells = row.spans.iter().any(|span| span.content == "│ ");
    if !is_cells {
        return Some(shown.to_owned());
    }
    shown = shown.strip_suffix('│').unwrap_or(shown);
    let cells = shown.replacen("│ ", "", 1).replace(" │ ", "  ");
    // The header of a table without one.
    Some(cells.trim_end().to_owned()).filter(|cells| !cells.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_columns_without_a_frame() {
        let text = "**Use**\n\n| Name | Value |\n|---|--:|\n| a | 1 |\n| `b\\|c` | 20 |\n";
        let shown = lines(text);
        assert_eq!(shown, "Use\n\nName   Value\na          1\n`b|c`     20");
    }

    #[test]
    fn a_table_without_a_header_begins_with_its_first_row() {
        assert_eq!(lines("| | |\n|---|---|\n| a | b |\n"), "a  b");
    }

    #[test]
    fn long_lines_stay_one_line() {
        let long = "word ".repeat(100);
        assert_eq!(lines(&long), long.trim_end());
        assert_eq!(lines("a\n\n---\n\nb"), "a\n\n---\n\nb");
    }

    #[test]
    fn nothing_acts_on_the_terminal() {
        assert!(!lines("a\u{1b}[31m\n\n```\n\u{1b}[2J\n```").contains('\u{1b}'));
    }
}
