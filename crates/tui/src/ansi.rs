//! Colours of the user's own status line: sequences that only change colours are kept, all others are dropped.

use ona_render::text::{plain, truncate, width};
use ona_render::theme::{Depth, downgrade};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

/// A line with colours, cut to the width.
pub fn line(text: &str, columns: usize, depth: Depth) -> Line<'static> {
    let mut spans: Vec<Span<'static>> = Vec::new();
    let mut style = Style::new();
    let mut room = columns;
    let mut rest = text;
    while !rest.is_empty() && room > 0 {
        let (before, sequence, after) = next(rest);
        let shown = truncate(&plain(before), room);
        room = room.saturating_sub(width(&shown));
        if !shown.is_empty() {
            spans.push(Span::styled(shown, at_depth(style, depth)));
        }
        if let Some(codes) = sequence {
            style = changed(style, codes);
        }
        rest = after;
    }
    Line::from(spans)
}

/// The style in the colours that the terminal has.
fn at_depth(style: Style, depth: Depth) -> Style {
    let colour = |colour: Option<Color>| colour.and_then(|colour| downgrade(colour, depth));
    Style { fg: colour(style.fg), bg: colour(style.bg), ..style }
}

/// The text up to the next sequence, its codes if it changes colours, and what follows.
fn next(text: &str) -> (&str, Option<&str>, &str) {
    let Some(at) = text.find('\u{1b}') else { return (text, None, "") };
    let (before, rest) = (&text[..at], &text[at + 1..]);
    if let Some(sequence) = rest.strip_prefix('[') {
        let end = sequence.find(|c: char| ('\u{40}'..='\u{7e}').contains(&c));
        let Some(end) = end else { return (before, None, "") };
        let (codes, last) = sequence.split_at(end);
        let is_colour = last.starts_with('m')
            && codes.chars().all(|c| c.is_ascii_digit() || c == ';' || c == ':');
        return (before, is_colour.then_some(codes), &last[1..]);
    }
    if let Some(command) = rest.strip_prefix(']') {
        // An operating system command ends with BEL or ST.
        let bell = command.find('\u{7}').map(|at| at + 1);
        let st = command.find("\u{1b}\\").map(|at| at + 2);
        let end = [bell, st].into_iter().flatten().min().unwrap_or(command.len());
        return (before, None, &command[end..]);
    }
    let skip = rest.chars().next().map_or(0, char::len_utf8);
    (before, None, &rest[skip..])
}

fn changed(style: Style, codes: &str) -> Style {
    let numbers: Vec<u16> = codes.split([';', ':']).map(|code| code.parse().unwrap_or(0)).collect();
    let mut style = style;
    let mut at = 0;
    while let Some(code) = numbers.get(at) {
        at += 1;
        let (foreground, number) = (*code < 40 || (90..98).contains(code), *code % 10);
        let colour = match code {
            0 => {
                style = Style::new();
                continue;
            }
            1 => {
                style = style.add_modifier(Modifier::BOLD);
                continue;
            }
            2 => {
                style = style.add_modifier(Modifier::DIM);
                continue;
            }
            3 => {
                style = style.add_modifier(Modifier::ITALIC);
                continue;
            }
            4 => {
                style = style.add_modifier(Modifier::UNDERLINED);
                continue;
            }
            7 => {
                style = style.add_modifier(Modifier::REVERSED);
                continue;
            }
            22 => {
                style = style.remove_modifier(Modifier::BOLD | Modifier::DIM);
                continue;
            }
            30..=37 | 40..=47 => Color::Indexed(number as u8),
            90..=97 | 100..=107 => Color::Indexed(number as u8 + 8),
            38 | 48 => match (numbers.get(at), numbers.get(at + 1..at + 4)) {
                (Some(5), _) => {
                    at += 2;
                    Color::Indexed(numbers.get(at - 1).copied().unwrap_or(0).min(255) as u8)
                }
                (Some(2), Some([red, green, blue])) => {
                    at += 4;
                    let part = |part: u16| part.min(255) as u8;
                    Color::Rgb(part(*red), part(*green), part(*blue))
                }
                _ => continue,
            },
            39 => {
                style.fg = None;
                continue;
            }
            49 => {
                style.bg = None;
                continue;
            }
            _ => continue,
        };
        style = if foreground { style.fg(colour) } else { style.bg(colour) };
    }
    style
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_stay_and_everything_else_goes() {
        let line = line(
            "\u{1b}[31mred\u{1b}[0m \u{1b}]0;title\u{7}plain\u{1b}[2J\u{1b}cx",
            40,
            Depth::True,
        );
        let text: String = line.spans.iter().map(|span| span.content.as_ref()).collect();
        assert_eq!(text, "red plainx");
        assert_eq!(line.spans[0].style.fg, Some(Color::Indexed(1)));
        assert_eq!(line.spans[1].style, Style::new());
    }

    #[test]
    fn a_long_line_is_cut() {
        let line = line(&"\u{1b}[38;2;1;2;3mxy".repeat(50), 10, Depth::True);
        let text: String = line.spans.iter().map(|span| span.content.as_ref()).collect();
        assert_eq!(width(&text), 10);
        assert_eq!(line.spans[0].style.fg, Some(Color::Rgb(1, 2, 3)));
    }
}
