//! A tree of files to search: the size and depth of a large repository, with
//! text like source code, and the same bytes on every machine.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// The number of files [`make`] creates.
pub const FILES: usize = AREAS * PARTS * LAYERS.len() * FILES_PER_DIRECTORY;

/// A pattern that matches one line of every hundredth file.
pub const NEEDLE: &str = r"fn recover_\w+_lease\(";

const AREAS: usize = 25;
const PARTS: usize = 8;
const LAYERS: [&str; 5] = ["src", "src/inner", "src/inner/wire", "tests", "docs/notes"];
const FILES_PER_DIRECTORY: usize = 50;
const FILE_BYTES: usize = 2000;
const EXTENSIONS: [&str; 5] = ["rs", "md", "py", "toml", "ts"];

const WORDS: [&str; 40] = [
    "account", "append", "batch", "branch", "buffer", "cache", "cargo", "channel", "client",
    "commit", "config", "context", "cursor", "entry", "error", "event", "field", "filter",
    "handle", "header", "index", "input", "ledger", "limit", "merge", "message", "offset",
    "option", "output", "packet", "parser", "policy", "query", "record", "region", "result",
    "session", "status", "stream", "token",
];

/// Fills `root`, which must not exist, with [`FILES`] files of about 2 KB.
pub fn make(root: &Path) -> Result<()> {
    fs::create_dir(root).with_context(|| format!("cannot make {}", root.display()))?;
    let mut number = 0;
    for area in 0..AREAS {
        for part in 0..PARTS {
            let package = root.join(format!("{}_{area}/{}", word(area), word(part + AREAS)));
            for layer in LAYERS {
                let directory = package.join(layer);
                fs::create_dir_all(&directory)?;
                for _ in 0..FILES_PER_DIRECTORY {
                    fs::write(directory.join(name(number)), text(number))?;
                    number += 1;
                }
            }
        }
    }
    Ok(())
}

fn word(number: usize) -> &'static str {
    WORDS[number % WORDS.len()]
}

fn name(number: usize) -> String {
    let extension = EXTENSIONS[number % EXTENSIONS.len()];
    format!("{}_{}_{number}.{extension}", word(number), word(number / 7))
}

/// The text of file `number`; every hundredth has one line that [`NEEDLE`] matches.
fn text(number: usize) -> String {
    let mut random = Random::new(number);
    let mut text = format!("// {} {number}\n", word(number));
    let mut wants_needle = number.is_multiple_of(100);
    while text.len() < FILE_BYTES {
        if wants_needle && text.len() > FILE_BYTES / 2 {
            text.push_str("pub fn recover_stale_lease(region: &Region) -> Option<Token> {\n");
            wants_needle = false;
        }
        let [a, b, c, d] = [random.word(), random.word(), random.word(), random.word()];
        let line = match random.next() % 4 {
            0 => writeln!(text, "// The {a} of a {b} is kept until its {c} has seen the {d}."),
            1 => writeln!(text, "    let {a} = self.{b}.{c}({d}, {});", random.next() % 1000),
            2 => writeln!(text, "pub fn {a}_{b}({c}: &str) -> Option<usize> {{"),
            _ => writeln!(text, "    if {a}.is_empty() {{ return Err({b}_{c}(\"{d}\")); }}"),
        };
        // Writing to a String cannot fail.
        line.ok();
    }
    text
}

/// Xorshift: reproducible, and enough for filler text.
struct Random(u64);

impl Random {
    fn new(seed: usize) -> Self {
        Self((seed as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    fn next(&mut self) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize
    }

    fn word(&mut self) -> &'static str {
        word(self.next())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn there_are_fifty_thousand_files_of_different_names() {
        assert_eq!(FILES, 50_000);
        assert_eq!((0..FILES).map(name).collect::<HashSet<_>>().len(), FILES);
    }

    #[test]
    fn texts_are_of_one_size_and_always_the_same() {
        for number in [0, 1, 99, 49_999] {
            let text = text(number);
            assert!((FILE_BYTES..FILE_BYTES + 200).contains(&text.len()), "{}", text.len());
            assert_eq!(text, super::text(number));
        }
        assert_ne!(text(1), text(2));
    }

    #[test]
    fn every_hundredth_file_holds_the_needle_once() {
        for number in 0..300 {
            let hits = text(number).matches("fn recover_stale_lease(").count();
            assert_eq!(hits, usize::from(number % 100 == 0), "file {number}");
        }
    }
}
