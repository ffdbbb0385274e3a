//! Commands that name files on their output, for another to take.

use super::{Access, Operand, Touched, operands, option};
use crate::commands::name;
use crate::shell::Word;

/// The directories whose files a command names on its output; nothing if it may name others. What only passes
/// lines on, or leaves some out, names no directory.
pub(crate) fn listed(words: &[Word]) -> Option<Vec<Option<Operand>>> {
    let name = name(words)?;
    let rest = &words[1..];
    // Behind it a word with a dash is no option, which is easy to get wrong.
    if rest.iter().any(|word| word.source == "--") {
        return None;
    }
    let has = |long: &str, letters: &[char]| {
        rest.iter().filter_map(option).any(|option| match option.strip_prefix("--") {
            Some(_) => option.starts_with(long),
            None => option.contains(letters),
        })
    };
    let mut named = Touched::default();
    operands(rest.iter(), Access::Reads, &mut named);
    let names: Vec<Operand> = named.files.into_iter().map(|(_, operand)| operand).collect();
    let lists = match name {
        "find" => !crate::commands::acts(rest) && !has("--", &['L', 'H', '0', 'f']),
        "fd" | "fdfind" => !crate::commands::acts(rest) && !has("--fo", &['L']),
        "git" => rest.first().is_some_and(|word| word.source == "ls-files"),
        "rg" => has("--files", &['l']) && !has("--follow", &['L']),
        "grep" if has("--files-with", &['l']) => !has("--deref", &['R']),
        "ls" => !has("--deref", &['L', 'H']),
        "cd" | "xargs" => return Some(Vec::new()),
        // As filters: a number or a pattern, and no file.
        "sort" | "uniq" => return names.is_empty().then(Vec::new),
        "head" | "tail" => {
            let number = |name: &Operand| matches!(name, Operand::Fixed(text) if text.parse::<u64>().is_ok());
            return names.iter().all(number).then(Vec::new);
        }
        "grep" => return (names.len() < 2 && !has("--r", &['r', 'R', 'e', 'f'])).then(Vec::new),
        _ => false,
    };
    // Without a directory they search the current one; the search text is not a directory.
    let here = names.len() < if name == "find" || name == "ls" { 1 } else { 2 };
    let roots = names.into_iter().map(Some).chain(here.then_some(None));
    (lists && named.unsure.is_none()).then(|| roots.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell;

    #[test]
    fn what_only_lists_names_is_known() {
        let lists = |source: &str| listed(&shell::parse(source).commands.remove(0).words);
        for source in [
            "find . -name '*.rs'",
            "git ls-files src",
            "rg -l x",
            "head -20",
            "sort -u",
            "grep -v x",
        ] {
            assert!(lists(source).is_some(), "{source}");
        }
        for source in
            ["echo .env", "cat names", "head names", "grep -h . names", "find . -exec echo x ';'"]
        {
            assert!(lists(source).is_none(), "{source}");
        }
    }
}
