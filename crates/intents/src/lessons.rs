//! Lessons (S4): records a failed check where the next session reads it.
//!
//! A command counts as a check when a word of one of its simple commands is one of [`WORDS`], in whole: `cidr`
//! is not `ci`, and a file named `tests.txt` is not a test. Whether it failed is said by its exit code alone.

use std::path::{Path, PathBuf};

use ona_effects::shell;
use ona_files::{ReadError, ReplaceError, ReplaceOptions, read_resolved_text, replace};
use ona_policy::secrets::Redactor;

use crate::text::line_end;
use ona_trace::paths::{UnsafePath, inside};

/// The heading above the lessons.
pub const HEADING: &str = "## Lessons Learned";

/// Files that lessons go to: the first one that exists, in the order in which a session reads them.
pub const FILES: [&str; 4] = ["CLAUDE.md", ".claude/CLAUDE.md", "AGENTS.md", NEW_FILE];

/// The file for lessons where there is none of them (S4).
const NEW_FILE: &str = "AGENT.md";

/// Words that make a command a check (S4).
pub const WORDS: [&str; 5] = ["test", "lint", "typecheck", "check-types", "ci"];

/// Commands whose arguments are names or words, not checks to run: `git checkout test`, `echo test`.
const SPEAK: [&str; 24] = [
    "awk", "cat", "cd", "chmod", "cp", "echo", "find", "git", "grep", "head", "less", "ln", "ls",
    "mkdir", "mv", "printf", "pushd", "rg", "rm", "rmdir", "sed", "tail", "touch", "vim",
];

/// The shell found no such command, or could not start it: nothing was checked, so nothing failed.
const NEVER_RAN: [i32; 2] = [126, 127];

/// The limit for a file that ona rewrites, in bytes.
const MAX_FILE: u64 = 16 << 20;

/// Lines of the section that are lessons.
const MAX_LESSONS: usize = 50;

/// Characters of the failing line, and of the command.
const MAX_TEXT: usize = 200;

/// A check that failed.
#[derive(Clone, Copy, Debug)]
pub struct Lesson<'a> {
    /// When, as in the ledger.
    pub timestamp: &'a str,
    /// The intent that was worked on.
    pub intent_id: Option<&'a str>,
    /// The command line.
    pub command: &'a str,
    /// How it ended.
    pub exit_code: i32,
    /// What it printed; the first line that tells of the failure is kept.
    pub output: &'a str,
}

/// The result for a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Learned {
    /// It is not a check, or did not fail.
    Nothing,
    /// The same failure of the same command is listed already.
    Known,
    /// It was written to this file.
    Written(PathBuf),
}

/// Why a lesson was not written.
#[derive(Debug, thiserror::Error)]
pub enum LessonError {
    /// The file lies outside the workspace.
    #[error(transparent)]
    Path(#[from] UnsafePath),
    /// The file cannot be read.
    #[error("{file}: cannot save the lesson: {error}")]
    Read {
        /// The file.
        file: &'static str,
        /// Why.
        error: ReadError,
    },
    /// The file was not replaced.
    #[error("{file}: cannot save the lesson: {error}")]
    Write {
        /// The file.
        file: &'static str,
        /// Why.
        error: ReplaceError,
    },
}

/// Whether a command line runs a check. A line that cannot be parsed does not: a wrong lesson costs more than a
/// missing one.
pub fn is_check(command: &str) -> bool {
    let script = shell::parse(command);
    script.commands.iter().any(|command| {
        // The shell's own `test` asks about files.
        let name = command.name().unwrap_or_default();
        let mut words = command.words.iter().filter_map(|word| word.literal.as_deref());
        name != "test" && !SPEAK.contains(&name) && words.any(is_check_word)
    })
}

/// Whether a word is one of [`WORDS`], or the name of a script or runner made of one: `test:unit`, `run-ci`,
/// `./scripts/test.sh`, `pytest`. `check-types` holds a `-` itself.
fn is_check_word(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    let last = word.rsplit('/').next().unwrap_or_default();
    // `cargo nextest`, `pytest`, `vitest` and their like are the test runners of their languages.
    const RUNNERS: [&str; 9] =
        ["pytest", "nextest", "vitest", "jest", "rspec", "phpunit", "eslint", "tsc", "clippy"];
    if RUNNERS.contains(&last) || WORDS.contains(&last) {
        return true;
    }
    // A name with a dot is a file: `test.txt`. A script is `run.sh test` or `./test.sh`.
    let stem = match last.rsplit_once('.') {
        Some((stem, "sh" | "bash" | "py" | "js" | "ts" | "mjs" | "rb")) if word.contains('/') => {
            stem
        }
        Some(_) => return false,
        None => last,
    };
    if stem.starts_with('-') {
        return false;
    }
    let whole = |part: &str| WORDS.contains(&part);
    whole(stem)
        || stem.split(':').any(|part| whole(part) || part.split(['-', '_']).any(whole))
        || stem.contains("check-types")
}

/// Notes a failed check in the workspace's instructions, without the secrets that `redactor` knows.
pub fn learn(
    workspace: &Path,
    lesson: &Lesson<'_>,
    redactor: &Redactor,
) -> Result<Learned, LessonError> {
    if lesson.exit_code == 0 || NEVER_RAN.contains(&lesson.exit_code) || !is_check(lesson.command) {
        return Ok(Learned::Nothing);
    }
    let mut chosen = None;
    for file in FILES {
        let path = inside(workspace, file)?;
        let text = read_resolved_text(&path, MAX_FILE);
        if let Some(text) = text.map_err(|error| LessonError::Read { file, error })? {
            chosen = Some((file, path, text));
            break;
        }
    }
    let (file, path, text) = match chosen {
        Some(chosen) => chosen,
        None => (NEW_FILE, inside(workspace, NEW_FILE)?, String::new()),
    };
    let (command, output) = (redactor.mask(lesson.command), redactor.mask(lesson.output));
    let masked = Lesson { command: &command, output: &output, ..*lesson };
    match add(&text, &masked) {
        Some(new) => {
            replace(&path, new.as_bytes(), &ReplaceOptions::default())
                .map_err(|error| LessonError::Write { file, error })?;
            Ok(Learned::Written(path))
        }
        None => Ok(Learned::Known),
    }
}

/// The text with the lesson at the end of its section; none if the section has it.
fn add(text: &str, lesson: &Lesson<'_>) -> Option<String> {
    let end_of_line = line_end(text);
    let what = what(lesson);
    let intent = lesson.intent_id.unwrap_or("none");
    let line = format!("- {} [{}] {what}{end_of_line}", lesson.timestamp, one_line(intent));
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    let Some((first, mut end)) = section(&lines) else {
        let gap = match text {
            "" => String::new(),
            text if text.ends_with('\n') => end_of_line.to_owned(),
            _ => end_of_line.repeat(2),
        };
        return Some(format!("{text}{gap}{HEADING}{end_of_line}{end_of_line}{line}"));
    };
    // The same failure, at any time and for any intent.
    let known = |line: &&&str| {
        line.trim_end().strip_suffix(&what).is_some_and(|before| before.ends_with("] "))
    };
    if lines[first..end].iter().any(|line| known(&line)) {
        return None;
    }
    let lessons: Vec<usize> = (first..end).filter(|at| lines[*at].starts_with("- ")).collect();
    let surplus = (lessons.len() + 1).saturating_sub(MAX_LESSONS);
    for at in lessons.into_iter().take(surplus).rev() {
        lines.remove(at);
        end -= 1;
    }
    // Blank lines before the next heading stay there.
    while end > first && lines[end - 1].trim().is_empty() {
        end -= 1;
    }
    let before = lines[..end].concat();
    let ended = before.ends_with('\n');
    // A blank line separates the heading from the first lesson.
    let gap = if end == first { end_of_line } else { "" };
    let missing = if ended { "" } else { end_of_line };
    let rest = lines[end..].concat();
    let rest = if end == first { rest.trim_start_matches(['\r', '\n']) } else { &rest };
    let next = if end == first && !rest.is_empty() { end_of_line } else { "" };
    Some(format!("{before}{missing}{gap}{line}{next}{rest}"))
}

/// The lines of the section, without its heading. Headings in fenced code do not count.
fn section(lines: &[&str]) -> Option<(usize, usize)> {
    let mut fenced = false;
    let mut first = None;
    for (at, line) in lines.iter().enumerate() {
        let line = line.trim_end();
        if line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~") {
            fenced = !fenced;
        }
        if fenced {
            continue;
        }
        if first.is_some() && (line.starts_with("# ") || line.starts_with("## ")) {
            return first.map(|first| (first, at));
        }
        if first.is_none() && line.eq_ignore_ascii_case(HEADING) {
            first = Some(at + 1);
        }
    }
    first.map(|first| (first, lines.len()))
}

/// `<command>: exit <n>. <first failing line>`
fn what(lesson: &Lesson<'_>) -> String {
    let failing = failing_line(lesson.output).map(one_line).unwrap_or_default();
    format!("{}: exit {}. {failing}", one_line(lesson.command), lesson.exit_code)
        .trim_end()
        .to_owned()
}

/// The first line about a failure, else the first with text.
fn failing_line(output: &str) -> Option<&str> {
    const SIGNS: [&str; 6] = ["error", "fail", "panicked", "assert", "exception", "not ok"];
    let mut lines = output.lines().map(str::trim).filter(|line| says_something(line));
    let speaks = |line: &&str| {
        let line = line.to_lowercase();
        SIGNS.iter().any(|sign| line.contains(sign))
    };
    lines.clone().find(speaks).or_else(|| lines.next())
}

/// Whether a line is the check's own: not a separator, as the Bash tool puts one before standard error, nor the script
/// that npm (`> name@1.0.0 test`, `> vitest run`) or yarn (`$ vitest run`) says it runs.
fn says_something(line: &str) -> bool {
    let inner = line.trim_matches(|c: char| !c.is_alphanumeric());
    let separator = inner.is_empty() || line.starts_with("---") && inner == "stderr";
    !separator && !line.starts_with("> ") && !line.starts_with("$ ")
}

/// Text on one line, cut to the limit.
fn one_line(text: &str) -> String {
    let text: String = text
        .chars()
        .map(|character| if character.is_control() { ' ' } else { character })
        .collect();
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    words.chars().take(MAX_TEXT).collect()
}

#[cfg(test)]
mod tests;
