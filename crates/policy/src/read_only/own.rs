//! Texts that hold nothing of the environment, though they hold variables.

use crate::effects::Effects;

/// Whether a text in double quotes, or a bare `$?`, holds nothing of the environment: only what commands print
/// that are looked at themselves, and variables that the command line sets to such texts.
pub(super) fn own_text(source: &str, effects: &Effects, depth: usize) -> bool {
    if matches!(source, "$?" | "$#") {
        return true;
    }
    let quoted = source.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let Some(mut rest) = quoted.filter(|_| depth < 4) else { return false };
    while let Some(at) = rest.find(['$', '`', '\\', '"']) {
        let found = rest.as_bytes()[at];
        rest = &rest[at + 1..];
        match found {
            b'\\' => rest = rest.get(1..).unwrap_or_default(),
            b'$' => match own_expansion(rest, effects, depth) {
                Some(behind) => rest = behind,
                None => return false,
            },
            _ => return false,
        }
    }
    true
}

/// What follows an expansion that holds nothing of the environment.
fn own_expansion<'s>(rest: &'s str, effects: &Effects, depth: usize) -> Option<&'s str> {
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
    is_own(name, effects, depth).then_some(behind)
}

/// Whether a variable has only been given texts by the command line itself.
fn is_own(name: &str, effects: &Effects, depth: usize) -> bool {
    let alone = effects.commands.iter().filter(|command| command.words.is_empty());
    let mut values = alone
        .flat_map(|command| &command.assignments)
        .filter(|assignment| assignment.name == name)
        .map(|assignment| assignment.value.as_str())
        .peekable();
    values.peek().is_some()
        && values.all(|value| {
            let plain = !value.contains(['$', '`', '~', '*', '?', '[', '{', '(']);
            let of_command = value.starts_with("$(") && !value.starts_with("$((");
            plain
                || own_text(value, effects, depth + 1)
                || (of_command && own_text(&format!("\"{value}\""), effects, depth + 1))
        })
}
