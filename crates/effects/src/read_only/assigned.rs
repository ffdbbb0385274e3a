//! Texts with variables whose values come from the command line itself, not from the environment.

use crate::shell::Command;

/// What has certainly run before a command.
#[derive(Clone, Copy, Debug)]
pub(super) struct Assigned<'a> {
    /// The commands before it.
    pub(super) commands: &'a [Command],
}

/// How far texts within texts are followed.
const MAX_DEPTH: usize = 4;

impl Assigned<'_> {
    /// Whether a text in double quotes, or a bare `$?`, holds nothing of the environment: only what commands print
    /// that are looked at themselves, and variables that the command line has set to such texts.
    pub(super) fn is_text(&self, source: &str) -> bool {
        self.is_text_at(source, 0)
    }

    fn is_text_at(&self, source: &str, depth: usize) -> bool {
        if matches!(source, "$?" | "$#") || is_sum(source) {
            return true;
        }
        let quoted = source.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        let Some(mut rest) = quoted.filter(|_| depth < MAX_DEPTH) else { return false };
        while let Some(at) = rest.find(['$', '`', '\\', '"']) {
            let found = rest.as_bytes()[at];
            rest = &rest[at + 1..];
            match found {
                b'\\' => {
                    let mut behind = rest.chars();
                    behind.next();
                    rest = behind.as_str();
                }
                b'$' => match self.after_expansion(rest, depth) {
                    Some(behind) => rest = behind,
                    None => return false,
                },
                _ => return false,
            }
        }
        true
    }

    /// What follows an expansion that holds nothing of the environment.
    fn after_expansion<'s>(&self, rest: &'s str, depth: usize) -> Option<&'s str> {
        if let Some(behind) = rest.strip_prefix(['?', '#', ' ']) {
            return Some(behind);
        }
        // Without quotes or further parentheses inside, its end is the first one.
        if let Some(inner) = rest.strip_prefix('(') {
            let (inner, behind) = inner.split_once(')')?;
            return (!inner.contains(['(', '"', '\'', '`', '\\'])).then_some(behind);
        }
        let (braced, name) = match rest.strip_prefix('{') {
            Some(inner) => (true, inner),
            None => (false, rest),
        };
        let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(name.len());
        let (name, behind) = name.split_at(end);
        let behind = if braced { behind.strip_prefix('}')? } else { behind };
        self.is_own(name, depth).then_some(behind)
    }

    /// Whether the command line itself has set a variable, whatever happened, and only to texts of its own.
    fn is_own(&self, name: &str, depth: usize) -> bool {
        let all = self.commands.iter().flat_map(|command| &command.assignments);
        let mut values = all.filter(|assignment| assignment.name == name).peekable();
        // The first has to be certain; what comes later can only change it to another text.
        values.peek().is_some_and(|first| first.sure)
            && values.all(|assignment| {
                let value = assignment.value.as_str();
                let plain = !value.contains(['$', '`', '~', '*', '?', '[', '{', '(']);
                let wrapped = value.starts_with('$') && !value.starts_with("$((");
                plain
                    || self.is_text_at(value, depth + 1)
                    || wrapped && self.is_text_at(&format!("\"{value}\""), depth + 1)
            })
    }
}

/// `$((1 + 2))`.
fn is_sum(source: &str) -> bool {
    let inner = source.strip_prefix("$((").and_then(|rest| rest.strip_suffix("))"));
    inner.is_some_and(|inner| inner.bytes().all(|b| b.is_ascii_digit() || b" +-*/%".contains(&b)))
}
