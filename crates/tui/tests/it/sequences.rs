//! What a terminal is told: every sequence that the screen makes is known, and nothing else acts on the terminal.

use std::collections::BTreeSet;

/// Sequences without parameters that the screen makes.
const PLAIN: [&str; 7] = ["?2026h", "?2026l", "?25h", "?25l", "?1049h", "?1049l", "H"];

/// What in these bytes acts on a terminal, and is none of what the screen makes: each with some of what follows.
pub fn foreign(bytes: &[u8]) -> Vec<String> {
    let text = std::str::from_utf8(bytes).expect("what is written is UTF-8");
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(acts) {
        let here = &rest[at..];
        let length = match here.chars().next() {
            Some('\u{1b}') => own_sequence(here),
            // A row begins or ends; no text follows a carriage return.
            Some('\r') => matches!(here.as_bytes().get(1), None | Some(b'\n' | 0x1b)).then_some(1),
            Some('\n') => text[..offset(text, here)].ends_with('\r').then_some(1),
            _ => None,
        };
        if length.is_none() {
            found.push(format!("{:?}", here.chars().take(60).collect::<String>()));
        }
        let length = length.or_else(|| here.chars().next().map(char::len_utf8));
        rest = &here[length.unwrap_or(1)..];
    }
    found
}

/// Characters that are not seen, or turn the text around them: the words that stand before them.
pub fn hidden(bytes: &[u8]) -> BTreeSet<String> {
    let text = std::str::from_utf8(bytes).expect("what is written is UTF-8");
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-');
    let word = |before: &str| -> String {
        let letters: Vec<char> = before.chars().rev().take_while(|c| is_word(*c)).collect();
        letters.into_iter().rev().collect()
    };
    text.char_indices().filter(|(_, c)| is_hidden(*c)).map(|(at, _)| word(&text[..at])).collect()
}

fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
}

/// The codes of all colours and styles that were written.
pub fn styles(bytes: &[u8]) -> Vec<String> {
    let text = std::str::from_utf8(bytes).expect("what is written is UTF-8");
    let parts = text.split("\u{1b}[").skip(1);
    let codes = parts.filter_map(|part| {
        let end = part.find(|c: char| !c.is_ascii_digit() && c != ';')?;
        part[end..].starts_with('m').then(|| part[..end].to_owned())
    });
    codes.collect()
}

fn offset(text: &str, part: &str) -> usize {
    part.as_ptr() as usize - text.as_ptr() as usize
}

fn acts(c: char) -> bool {
    c.is_control()
}

/// How the screen erases what is below the cursor.
const ERASES: &str = "\x1b[K\x1b7\x1b[B\x1b[J\x1b8";

/// The length of a sequence that the screen makes.
fn own_sequence(text: &str) -> Option<usize> {
    if text.starts_with(ERASES) {
        return Some(ERASES.len());
    }
    if let Some(command) = text.strip_prefix("\u{1b}]") {
        // The title and a notification, as the runner writes them.
        let end = command.find(acts)?;
        let own = command.starts_with("2;") || command.starts_with("9;");
        return (own && command[end..].starts_with("\u{1b}\\")).then_some(2 + end + 2);
    }
    let sequence = text.strip_prefix("\u{1b}[")?;
    if let Some(plain) = PLAIN.iter().find(|plain| sequence.starts_with(**plain)) {
        return Some(2 + plain.len());
    }
    let end = sequence.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    let (numbers, last) = (&sequence[..end], sequence[end..].chars().next()?);
    let is_number = |text: &str| text.parse::<u16>().is_ok();
    let own = match last {
        'J' | 'K' => numbers.is_empty(),
        'A' | 'B' | 'C' => is_number(numbers),
        'H' => {
            numbers.split_once(';').is_some_and(|(row, column)| is_number(row) && is_number(column))
        }
        'm' => numbers == "0" || is_style(numbers),
        _ => false,
    };
    own.then_some(2 + end + 1)
}

/// Whether these codes are those of a style that the screen makes.
pub fn is_style(codes: &str) -> bool {
    let mut codes = codes.split(';').map(|code| code.parse::<u16>().unwrap_or(u16::MAX));
    while let Some(code) = codes.next() {
        let known = match code {
            1 | 2 | 3 | 4 | 7 | 9 | 30..=37 | 40..=47 | 90..=97 | 100..=107 => true,
            38 | 48 => match codes.next() {
                Some(5) => codes.next().is_some_and(|number| number < 256),
                Some(2) => (0..3).all(|_| codes.next().is_some_and(|number| number < 256)),
                _ => false,
            },
            _ => false,
        };
        if !known {
            return false;
        }
    }
    true
}

#[test]
fn what_the_screen_makes_is_told_from_everything_else() {
    let own = "\x1b[?2026h\x1b[?25l\r\x1b[3A\x1b[Jtext\r\n\x1b[1;38;2;1;2;3mx\x1b[0m\x1b[2;5H\x1b]2;title\x1b\\";
    assert_eq!(foreign(own.as_bytes()), Vec::<String>::new());
    for evil in [
        "\x1b[2J",
        "\x1b]0;x\x07",
        "\x1b]2;x\x07",
        "\x1bPq\x1b\\",
        "\u{9b}2J",
        "a\rb",
        "a\nb",
        "\x07",
        "\x08",
        "\x1b[5m",
        "\x1b[38;5;999m",
        "\x1bc",
        "\x1b[?1000h",
        "\x1b[6n",
    ] {
        assert!(!foreign(evil.as_bytes()).is_empty(), "{evil:?}");
    }
    assert_eq!(hidden("a \u{202e}b\u{200b}".as_bytes()).len(), 2);
    assert_eq!(styles("\x1b[1;31mx\x1b[0m\x1b[2A".as_bytes()), ["1;31", "0"]);
}
