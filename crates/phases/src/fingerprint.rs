//! Recognising parts of one text in another, also in disguise: another layout, quotes, diff markers, line numbers, other
//! upper and lower case, Base64 or hexadecimal digits.
//!
//! A text is known by its runs: every [`RUN`] tokens in a row, by their words alone too, and every [`LETTERS`] letters and
//! digits in a row, whatever stands between them.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// So many tokens in a row are recognised.
pub const RUN: usize = 8;

/// A run of tokens counts if so many different words are in it: brackets and dots are in every text.
const WORDS: usize = 3;

/// So many letters and digits in a row are recognised, whatever stands between them: about as much as eight words.
const LETTERS: usize = 40;

/// So many tokens in a row, with so many signs among them that prose does not have, are code.
const CODE_RUN: usize = 24;
const CODE_SIGNS: usize = 4;

/// A shorter piece is not looked into for an encoded text.
const ENCODED: usize = 24;

/// How often an encoded text may be encoded again.
const DEPTH: usize = 3;

/// The runs of one text or several.
#[derive(Clone, Debug, Default)]
pub struct Fingerprint {
    runs: HashSet<u64>,
}

impl Fingerprint {
    /// The runs of a text.
    pub fn of(text: &str) -> Self {
        let mut print = Self::default();
        print.add(text);
        print
    }

    /// Adds those of another text.
    pub fn add(&mut self, text: &str) {
        each_run(text, |_, run, _| {
            self.runs.insert(run);
        });
    }

    /// Takes away what another has.
    pub fn without(mut self, other: &Self) -> Self {
        self.runs.retain(|run| !other.runs.contains(run));
        self
    }

    /// Whether there is nothing to recognise.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// The first part of a text that is recognised, as it stands there.
    pub fn first_in(&self, text: &str) -> Option<String> {
        self.find(text, DEPTH)
    }

    /// The first part of a text that is recognised and is code: words that a page and a program share, such as how a program
    /// is used, are none.
    pub fn first_code_in(&self, text: &str) -> Option<String> {
        let tokens = tokens(text);
        let mut known = vec![false; tokens.len()];
        runs_of(&tokens, Kind::Tokens, &mut |_, run, (start, end)| {
            if self.runs.contains(&run) {
                let inside = |token: &Token| token.place.0 >= start && token.place.1 <= end;
                let first = tokens.partition_point(|token| token.place.0 < start);
                let run = tokens[first..].iter().take_while(|token| inside(token)).count();
                known[first..first + run].fill(true);
            }
        });
        let is_sign = |token: &Token| match text.get(token.place.0..token.place.1) {
            Some("=" | ";") => true,
            // A call; in prose a blank stands before a bracket.
            Some("(") => text[..token.place.0].ends_with(char::is_alphanumeric),
            _ => false,
        };
        let mut start = 0;
        while start < tokens.len() {
            let length = known[start..].iter().take_while(|known| **known).count();
            let run = &tokens[start..start + length];
            if length >= CODE_RUN && run.iter().filter(|token| is_sign(token)).count() >= CODE_SIGNS
            {
                return text.get(run[0].place.0..run[length - 1].place.1).map(str::to_owned);
            }
            start += length.max(1);
        }
        None
    }

    fn find(&self, text: &str, depth: usize) -> Option<String> {
        if self.runs.is_empty() {
            return None;
        }
        let mut found: Option<(usize, usize)> = None;
        // Behind the same words two texts may go on with the same few letters.
        let mut rows = 0;
        each_run(text, |kind, run, place| {
            let is_known = self.runs.contains(&run);
            if kind == Kind::Letters {
                rows = if is_known { rows + 1 } else { 0 };
            }
            let counts = is_known && (kind != Kind::Letters || rows >= ROWS);
            if counts && found.is_none_or(|(start, _)| place.0 < start) {
                found = Some(place);
            }
        });
        if let Some((start, end)) = found {
            return text.get(start..end).map(str::to_owned);
        }
        if depth == 0 {
            return None;
        }
        decoded(text).iter().find_map(|inner| self.find(inner, depth - 1))
    }
}

/// What a run is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Tokens = 1,
    Words = 2,
    Letters = 3,
}

/// So many rows of letters, each one letter further, are recognised.
const ROWS: usize = 8;

/// A piece of a text: where it stands, and what it is compared as.
struct Token {
    place: (usize, usize),
    hash: u64,
    /// Whether it is a word, not a sign.
    word: bool,
}

/// Every run of a text, with its place.
fn each_run(text: &str, mut found: impl FnMut(Kind, u64, (usize, usize))) {
    let tokens = tokens(text);
    runs_of(&tokens, Kind::Tokens, &mut found);
    let words: Vec<Token> = tokens.into_iter().filter(|token| token.word).collect();
    runs_of(&words, Kind::Words, &mut found);
    each_row_of_letters(text, &mut found);
}

fn runs_of(tokens: &[Token], kind: Kind, found: &mut impl FnMut(Kind, u64, (usize, usize))) {
    for run in tokens.windows(RUN) {
        let words: HashSet<u64> =
            run.iter().filter(|token| token.word).map(|token| token.hash).collect();
        if words.len() < WORDS {
            continue;
        }
        let mut hasher = DefaultHasher::new();
        (kind as u8).hash(&mut hasher);
        run.iter().for_each(|token| token.hash.hash(&mut hasher));
        found(kind, hasher.finish(), (run[0].place.0, run[RUN - 1].place.1));
    }
}

/// Letters and digits of the lines, in one row. A rolling hash, because every letter begins a row.
fn each_row_of_letters(text: &str, found: &mut impl FnMut(Kind, u64, (usize, usize))) {
    const BASE: u64 = 0x0100_0000_01b3;
    let letters: Vec<(usize, char)> = lines(text)
        .flat_map(|(at, line)| line.char_indices().map(move |(offset, c)| (at + offset, c)))
        .filter(|(_, c)| c.is_alphanumeric())
        .collect();
    let value = |c: char| u64::from(u32::from(c.to_ascii_lowercase())) + 1;
    let top = (1..LETTERS).fold(1_u64, |power, _| power.wrapping_mul(BASE));
    let mut hash = 0_u64;
    for (at, (place, c)) in letters.iter().enumerate() {
        if at >= LETTERS {
            let gone = value(letters[at - LETTERS].1).wrapping_mul(top);
            hash = hash.wrapping_sub(gone);
        }
        hash = hash.wrapping_mul(BASE).wrapping_add(value(*c));
        if at + 1 >= LETTERS {
            let row = &letters[at + 1 - LETTERS..=at];
            let distinct: HashSet<char> = row.iter().map(|(_, c)| *c).collect();
            // A row of dashes or of one digit is in every text.
            if distinct.len() > WORDS {
                found(Kind::Letters, hash ^ 3, (row[0].0, place + c.len_utf8()));
            }
        }
    }
}

/// The lines without what a listing or a diff puts before them.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split_inclusive('\n').scan(0, |at, line| {
        let start = *at;
        *at += line.len();
        let numbered = line.trim_start();
        let rest = numbered.trim_start_matches(|c: char| c.is_ascii_digit());
        let behind = rest.trim_start_matches([' ', '\t']);
        let is_numbered = rest.len() < numbered.len()
            && behind.starts_with(['|', ':', '→', ')', '\u{2502}'])
            || rest.starts_with('\t') && rest.len() < numbered.len();
        let kept = if is_numbered {
            behind.trim_start_matches(['|', ':', '→', ')', '\u{2502}'])
        } else {
            line
        };
        let kept = kept.trim_start().trim_start_matches(['+', '-', '>', '<']);
        // Which interpreter runs a script is nobody's work.
        let kept = if kept.starts_with("#!/") { "" } else { kept };
        Some((start + (line.len() - kept.len()), kept))
    })
}

fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    for (at, line) in lines(text) {
        let mut word: Option<usize> = None;
        let mut last = ' ';
        let mut chars = line.char_indices().peekable();
        while let Some((offset, c)) = chars.next() {
            // In a quoted text a line break is two characters.
            if c == '\\' && matches!(chars.peek(), Some((_, 'n' | 't' | 'r' | '"' | '\'' | '\\'))) {
                end_word(line, at, word.take(), offset, &mut tokens);
                chars.next();
                last = ' ';
                continue;
            }
            let is_hump = c.is_uppercase() && last.is_lowercase();
            if is_hump || !c.is_alphanumeric() {
                end_word(line, at, word.take(), offset, &mut tokens);
            }
            if c.is_alphanumeric() {
                word.get_or_insert(offset);
            } else if !c.is_whitespace() && c != '_' {
                let place = (at + offset, at + offset + c.len_utf8());
                tokens.push(Token {
                    place,
                    hash: hash_of(c.encode_utf8(&mut [0; 4])),
                    word: false,
                });
            }
            last = c;
        }
        end_word(line, at, word.take(), line.len(), &mut tokens);
    }
    tokens
}

fn end_word(line: &str, at: usize, word: Option<usize>, end: usize, tokens: &mut Vec<Token>) {
    if let Some(start) = word {
        let hash = hash_of(&line[start..end].to_lowercase());
        tokens.push(Token { place: (at + start, at + end), hash, word: true });
    }
}

fn hash_of(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// What pieces of a text stand for, where they are an encoded text.
fn decoded(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    // An encoded text may be broken into lines.
    let mut glued = String::with_capacity(text.len());
    for line in text.lines().map(str::trim) {
        let is_encoded = line.len() >= ENCODED && line.chars().all(is_digit_of_base64);
        if !is_encoded {
            glued.push('\n');
        }
        glued.push_str(line);
        if !is_encoded {
            glued.push('\n');
        }
    }
    // A dump has something between the digits: blanks, commas, `0x`, `\\x`.
    for line in text.lines() {
        let plain = line.replace("0x", " ").replace("\\x", " ").replace([',', ':', '"', '\''], " ");
        let words: Vec<&str> = plain.split_whitespace().collect();
        let pairs = words.iter().filter(|one| is_pairs(one)).count();
        let is_spaced =
            words.len() > 2 && words.iter().all(|one| one.chars().all(is_digit_of_base64));
        if pairs >= 8 {
            glued.extend(words.into_iter().filter(|one| is_pairs(one)));
        } else if is_spaced {
            glued.push('\n');
            glued.extend(words);
            glued.push('\n');
        } else {
            glued.push('\n');
        }
    }
    for piece in glued.split(|c: char| !is_digit_of_base64(c)) {
        let piece = piece.trim_end_matches('=');
        if piece.len() < ENCODED {
            continue;
        }
        let bytes = STANDARD_NO_PAD.decode(piece).or_else(|_| URL_SAFE_NO_PAD.decode(piece)).ok();
        found.extend([bytes, from_hex(piece)].into_iter().flatten());
    }
    found
        .into_iter()
        .filter_map(|bytes| String::from_utf8(bytes).ok())
        .filter(|text| !text.contains('\0'))
        .collect()
}

/// Whether a word is one or a few bytes in hexadecimal digits.
fn is_pairs(word: &str) -> bool {
    matches!(word.len(), 2 | 4 | 8) && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_digit_of_base64(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '-' | '_' | '=')
}

fn from_hex(piece: &str) -> Option<Vec<u8>> {
    let digits: Vec<u32> = piece.chars().map(|c| c.to_digit(16)).collect::<Option<_>>()?;
    Some(digits.chunks_exact(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect())
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::STANDARD;
    use proptest::prelude::*;

    use super::*;

    const CODE: &str = "def total_price(items):\n    \"\"\"Adds up.\"\"\"\n    return sum(item.price * item.count for item in items)\n";

    #[test]
    fn a_part_is_found_in_every_disguise() {
        let print = Fingerprint::of(CODE);
        let hex: String = CODE.bytes().map(|byte| format!("{byte:02x}")).collect();
        let wrapped: String = STANDARD
            .encode(CODE)
            .as_bytes()
            .chunks(60)
            .map(|line| format!("{}\n", std::str::from_utf8(line).unwrap()))
            .collect();
        for (disguise, text) in [
            ("as it is", CODE.to_owned()),
            ("one line of it", "See: return sum(item.price * item.count for item in items)".into()),
            ("in a diff", CODE.lines().map(|line| format!("+{line}\n")).collect()),
            (
                "with line numbers",
                CODE.lines().zip(1..).map(|(line, n)| format!("{n:>6}\t{line}\n")).collect(),
            ),
            (
                "with bars",
                CODE.lines().zip(1..).map(|(line, n)| format!("{n} | {line}\n")).collect(),
            ),
            ("as JSON", serde_json::to_string(CODE).unwrap()),
            ("in one line", CODE.replace('\n', " ")),
            ("wrapped", CODE.replace(' ', "\n")),
            ("upper case", CODE.to_uppercase()),
            (
                "camel case",
                CODE.replace("total_price", "totalPrice").replace("item.count", "itemCount"),
            ),
            ("without signs", CODE.replace(|c: char| !c.is_alphanumeric(), " ")),
            ("glued", CODE.replace(|c: char| !c.is_alphanumeric(), "")),
            ("spaced out", CODE.chars().flat_map(|c| [c, ' ']).collect()),
            ("quoted", CODE.lines().map(|line| format!("> {line}\n")).collect()),
            ("Base64", STANDARD.encode(CODE)),
            ("Base64 in lines", wrapped),
            ("Base64 for addresses", URL_SAFE_NO_PAD.encode(CODE)),
            ("Base64 twice", STANDARD.encode(STANDARD.encode(CODE))),
            (
                "hexadecimal with blanks",
                CODE.as_bytes()
                    .chunks(16)
                    .map(|row| {
                        let bytes: Vec<String> =
                            row.iter().map(|byte| format!("{byte:02x}")).collect();
                        format!("{}\n", bytes.join(" "))
                    })
                    .collect(),
            ),
            (
                "hexadecimal as in a program",
                CODE.bytes().map(|byte| format!("0x{byte:02x}, ")).collect(),
            ),
            ("Base64 with blanks", {
                let encoded = STANDARD.encode(CODE);
                let pieces: Vec<&str> = encoded
                    .as_bytes()
                    .chunks(8)
                    .map(|piece| std::str::from_utf8(piece).unwrap())
                    .collect();
                pieces.join(" ")
            }),
            ("hexadecimal", hex),
        ] {
            let text =
                format!("# Plan\nThe shop shows a total.\n\n{text}\nAnd more words behind it.");
            assert!(print.first_in(&text).is_some(), "{disguise}");
        }
    }

    #[test]
    fn a_short_function_is_found() {
        let print = Fingerprint::of("def add(a, b): return a + b\n");
        assert!(print.first_in("It is `def add(a, b): return a + b` there").is_some());
    }

    #[test]
    fn other_texts_are_not_it() {
        let print = Fingerprint::of(CODE);
        for text in [
            "",
            "# Plan\nThe shop shows the total price of all items, each with its count.",
            "def total(x):\n    return x",
            "| --- | --- | --- | --- | --- | --- |\n((((((((((((((",
            "- SC-1 `shop total` prints the price of the items\n- SC-2 it exits with 2 for an unknown item",
        ] {
            assert_eq!(print.first_in(text), None, "{text}");
        }
        assert!(
            Fingerprint::of("----------------\n0000000000000000000000000000000000000000000000")
                .is_empty()
        );
    }

    #[test]
    fn code_is_told_from_words_that_a_page_and_a_program_share() {
        let usage = "usage: todo add TEXT (adds an item to the list of things to do), todo list (prints all items with \
            their numbers), todo done NUMBER (marks the item with this number as done and keeps it)";
        let code = format!(
            "const USAGE = '{usage}';\nfunction add(list, item) {{\n  const number = list.push(item);\n  \
             return write(list.map((one, index) => format(index, one)).join(separator), number);\n}}\n"
        );
        let print = Fingerprint::of(&code);
        assert!(print.first_in(usage).is_some());
        assert_eq!(print.first_code_in(&format!("# Usage\n\n    {usage}\n")), None);
        assert!(print.first_code_in(&format!("# How it works\n\n{code}")).is_some());
        assert_eq!(
            Fingerprint::of("#!/usr/bin/env python3\nx").first_in("#!/usr/bin/env python3"),
            None
        );
    }

    #[test]
    fn what_is_known_anyway_can_be_taken_away() {
        let help =
            "usage: shop total [--currency CODE]  print the total price of all items in the shop";
        let code =
            format!("HELP = '{help}'\ndef f(first, second, third): return first * second + third");
        let print = Fingerprint::of(&code).without(&Fingerprint::of(help));
        assert_eq!(print.first_in(help), None);
        assert!(
            print.first_in("def f(first, second, third): return first * second + third").is_some()
        );
    }

    #[test]
    fn the_place_is_told() {
        let print = Fingerprint::of(CODE);
        let found = print
            .first_in("Before.\nreturn sum(item.price * item.count for item in items)")
            .unwrap();
        assert!(found.starts_with("return sum(item"), "{found}");
    }

    proptest! {
        #[test]
        fn never_panics(text in "\\PC{0,200}", other in "[a-z0-9+\\-\\n\\\\|:é ]{0,120}") {
            let _ = Fingerprint::of(&text).first_in(&other);
            let _ = Fingerprint::of(&other).first_in(&other);
        }

        #[test]
        fn every_text_of_eight_words_finds_itself(words in proptest::collection::vec("[a-z]{3,8}", 12..20)) {
            let text = words.join(" ");
            let distinct: HashSet<&String> = words.iter().collect();
            prop_assume!(distinct.len() > 8);
            prop_assert!(Fingerprint::of(&text).first_in(&text).is_some());
        }
    }
}
