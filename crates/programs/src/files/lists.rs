//! Commands that name files on their output, for another to take.

use ona_shell::Word;

use super::{Access, Operand, Skips, Touched, operands, option};
use crate::commands::name;

/// A directory whose files are named; where the command runs if it does not say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The directory, where it is named.
    pub root: Option<Operand>,
    /// What is left out.
    pub skips: Skips,
}

/// The directories whose files a command names on its output; nothing if it may name others. What only passes
/// lines on, or leaves some out, names no directory.
pub fn listed(words: &[Word]) -> Option<Vec<Listed>> {
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
        // A pattern is git's own, and may match more than it would in the shell.
        "git" => {
            let plain = |word: &Word| {
                word.literal
                    .as_deref()
                    .is_some_and(|text| !text.contains([':', '*', '?', '[', '\\']))
            };
            rest.first().is_some_and(|word| word.source == "ls-files")
                && rest.iter().all(plain)
                && !has("--fo", &[])
        }
        "rg" => has("--files", &['l']) && !has("--follow", &['L']),
        // It may be told what to call its input.
        "grep" if has("--files-with", &['l']) => !has("--deref", &['R']) && !has("--la", &[]),
        "ls" => !has("--deref", &['L', 'H']),
        "cd" | "xargs" => return Some(Vec::new()),
        // As filters: a number or a pattern, and no file.
        "sort" | "uniq" => return names.is_empty().then(Vec::new),
        "head" | "tail" => {
            let number = |name: &Operand| matches!(name, Operand::Fixed(text) if text.parse::<u64>().is_ok());
            // Bytes would cut a name short.
            let lines = !has("--b", &['c', 'b']) && names.iter().all(number);
            return lines.then(Vec::new);
        }
        // Parts of a line are other names.
        "grep" => {
            let whole = !has("--o", &['o']) && !has("--r", &['r', 'R', 'e', 'f']);
            return (names.len() < 2 && whole).then(Vec::new);
        }
        _ => false,
    };
    // Without a directory they search the current one; the search text is not a directory.
    let here = names.len() < if name == "find" || name == "ls" { 1 } else { 2 };
    let roots = names.into_iter().map(Some).chain(here.then_some(None));
    let skips = skips(name, rest, has);
    let roots = roots.map(|root| Listed { root, skips: skips.clone() });
    (lists && named.unsure.is_none()).then(|| roots.collect())
}

/// Where a searching command may begin, whatever else it is told: every word could be a directory. Nothing is where it runs.
pub fn searched(words: &[Word]) -> Vec<Option<Operand>> {
    let mut named = Touched::default();
    operands(words.iter().skip(1), Access::Reads, &mut named);
    let leads = |word: &&Word| {
        let text = word.source.as_str();
        matches!(text, "-H" | "-L" | "-P" | "-D") || text.starts_with("-O")
    };
    let first = words.iter().skip(1).find(|word| !leads(word));
    let here = first.is_none_or(|word| word.source.starts_with(['-', '(', '!', '\\']));
    let names = named.files.into_iter().map(|(_, operand)| Some(operand));
    names.chain(here.then_some(None)).collect()
}

/// How deep a searching command is told to go.
pub fn depth(words: &[Word]) -> Option<usize> {
    let options = ["-maxdepth", "--max-depth", "-d"];
    let at = words.iter().position(|word| options.contains(&word.source.as_str()))?;
    words.get(at + 1)?.literal.as_deref()?.parse().ok()
}

/// What of its directories a command does not name.
fn skips(name: &str, words: &[Word], has: impl Fn(&str, &[char]) -> bool) -> Skips {
    let hidden = match name {
        "rg" => !has("--h", &['.', 'u']) && !has("--un", &[]) && !has("--no-", &[]),
        "ls" => !has("--a", &['a', 'A', 'f']),
        "fd" | "fdfind" => !has("--h", &['H', 'u']) && !has("--un", &[]) && !has("--no-", &[]),
        _ => false,
    };
    match name {
        "find" => Skips { only: super::trees::one_name(words), ..Skips::default() },
        // It never names its own files.
        "git" => Skips { except: vec![".git".to_owned()], ..Skips::default() },
        "grep" => super::trees::left_out(words),
        _ => Skips { hidden, ..Skips::default() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_may_be_told_how_deep_to_go() {
        let depth = |source: &str| depth(&ona_shell::parse(source).commands.remove(0).words);
        assert_eq!(depth("find . -maxdepth 2 -name x"), Some(2));
        assert_eq!(depth("fd -d 3 x"), Some(3));
        assert_eq!(depth("find . -maxdepth $n"), None);
    }

    #[test]
    fn what_only_lists_names_is_known() {
        let lists = |source: &str| listed(&ona_shell::parse(source).commands.remove(0).words);
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
        for source in [
            "echo .env",
            "cat names",
            "head names",
            "head -c 9",
            "grep -h . names",
            "grep -o x",
            "grep -l --label=.mcp.json x -",
            "git ls-files --format=.mcp.json",
            "find . -exec echo x ';'",
        ] {
            assert!(lists(source).is_none(), "{source}");
        }
    }
}
