//! What a test must not do (S0 §8.5.3): load the product's modules, read its source, change it, run its own tests, or put
//! something else in its place.

use super::LintFault;
use super::tables::{self, Role, SYSTEM_DIRS, Variable};

/// One word of a command, as far as the rules want to know it.
#[derive(Clone, Debug)]
pub(super) struct Word {
    /// Without its quotes.
    pub(super) plain: String,
    /// It leads into the product.
    pub(super) product: bool,
}

/// A simple command.
#[derive(Debug)]
pub(super) struct Simple<'w> {
    pub(super) line: usize,
    pub(super) program: &'w str,
    pub(super) role: Option<Role>,
    pub(super) words: &'w [Word],
}

/// Everything that is wrong with a command.
pub(super) fn faults(command: &Simple<'_>) -> Vec<LintFault> {
    let Simple { line, program, role, words } = *command;
    let plain: Vec<&str> = words.iter().map(|word| word.plain.as_str()).collect();
    let text = || format!("{program} {}", plain.join(" ")).trim_end().to_owned();
    let mut faults = Vec::new();
    if matches!(program, "source" | ".") {
        faults.push(LintFault::Sources { line, text: text() });
    }
    if program == "alias" || matches!(program, "enable" | "hash") && !words.is_empty() {
        faults.push(LintFault::Mocks { line, text: text() });
    }
    if program == "export" && words.iter().any(|word| word.plain == "-f") {
        faults.push(LintFault::Mocks { line, text: text() });
    }
    if tables::runs_tests(program, &plain) {
        faults.push(LintFault::Framework { line, text: text() });
    }
    let is_operand = |word: &&Word| !word.plain.starts_with('-');
    if matches!(role, Some(Role::Compares | Role::Filters))
        && !in_place(program, words)
        && program != "xargs"
    {
        // Whether a file is there says nothing of what is in it.
        let reads = program != "test" && program != "[";
        let source = |word: &&Word| word.product && tables::is_source(&word.plain);
        if let Some(word) = words.iter().filter(is_operand).find(source).filter(|_| reads) {
            faults.push(LintFault::ReadsSource { line, text: word.plain.clone() });
        }
    }
    let changed = match (program, role) {
        ("cp" | "install" | "ln" | "rsync", _) => words.iter().rfind(|word| is_operand(word)),
        ("mktemp", _) => None,
        // A directory that a copy of the product's files may lie in.
        ("mkdir", _) if !words.iter().any(|word| word.plain.starts_with("$PROJECT")) => None,
        (_, Some(Role::Changes)) => words.iter().find(|word| is_operand(word) && word.product),
        ("tee", _) => words.iter().find(|word| is_operand(word) && word.product),
        _ if in_place(program, words) => words.iter().find(|word| is_operand(word) && word.product),
        _ => None,
    };
    if program == "patch" {
        faults.push(LintFault::ChangesProduct { line, text: text() });
    } else if let Some(word) = changed.filter(|word| word.product) {
        faults.push(changes(line, &word.plain));
    }
    faults
}

/// Something of the product is written.
pub(super) fn changes(line: usize, path: &str) -> LintFault {
    LintFault::ChangesProduct { line, text: path.to_owned() }
}

fn in_place(program: &str, words: &[Word]) -> bool {
    matches!(program, "sed" | "perl") && words.iter().any(|word| word.plain.starts_with("-i"))
}

/// What is wrong with a value for a variable.
pub(super) fn variable(
    line: usize,
    name: &str,
    value: &str,
    leads_to_product: impl Fn(&str) -> bool,
) -> Option<LintFault> {
    let fits = match tables::variable(name) {
        Variable::Plain => true,
        Variable::Loads => false,
        // Only the product, the system, and what was there before.
        Variable::Searches => without(name, value)
            .split(':')
            .all(|dir| dir.is_empty() || SYSTEM_DIRS.contains(&dir) || leads_to_product(dir)),
    };
    (!fits).then(|| LintFault::Loads { line, name: name.to_owned() })
}

/// A value without its quotes, and without what the variable had before: `$NAME`, `${NAME:+:$NAME}`.
fn without(name: &str, value: &str) -> String {
    let mut value = value.replace(['"', '\''], "");
    while let Some(start) = value.find(&format!("${{{name}")) {
        let mut depth = 0;
        let end = value[start..].find(|c| {
            depth += i32::from(c == '{') - i32::from(c == '}');
            c == '}' && depth == 0
        });
        value.replace_range(start..end.map_or(value.len(), |end| start + end + 1), "");
    }
    value.replace(&format!("${name}"), "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn searched_directories_are_those_of_the_product_and_the_system() {
        for (name, value, fits) in [
            ("PATH", "\"$PROJECT/bin:$PATH\"", true),
            ("PATH", "$PATH", true),
            ("PATH", "/usr/bin:/bin", true),
            ("PATH", "\"$PWD/bin:$PATH\"", false),
            ("PATH", ".:$PATH", false),
            ("PYTHONPATH", "\"$PROJECT/src${PYTHONPATH:+:$PYTHONPATH}\"", true),
            ("PYTHONPATH", "stubs", false),
            ("LD_PRELOAD", "\"$PROJECT/x.so\"", false),
            ("NODE_OPTIONS", "--require ./x.js", false),
            ("NAME", "./x", true),
        ] {
            let found = variable(1, name, value, |dir| dir.contains("$PROJECT"));
            assert_eq!(found.is_none(), fits, "{name}={value}");
        }
    }
}
