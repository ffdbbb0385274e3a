//! The scope against npm's minimatch, row by row. The table is made by `scripts/minimatch-table.mjs`.

use ona_intents::scope::{Glob, GlobProblem, Held, Scope};

const TABLE: &str = include_str!("fixtures/minimatch.tsv");

/// What ona refuses when it reads a pattern, and why: the table tells what minimatch makes of it.
const REFUSED: &[(&str, GlobProblem)] = &[
    // Groups are left out: they are a named error at load, never a mismatch (DESIGN §5 no. 19).
    ("+(a|b)", GlobProblem::Extglob),
    ("?(a)b", GlobProblem::Extglob),
    ("*(a|b)", GlobProblem::Extglob),
    ("@(a|b)", GlobProblem::Extglob),
    ("src/!(main).rs", GlobProblem::Extglob),
    ("src/+([a-z]).rs", GlobProblem::Extglob),
    // To minimatch this is the negation of `(a)`, to whoever writes it a group.
    ("!(a)", GlobProblem::Extglob),
    // These classes are Unicode's, which would have to be carried along.
    ("[[:alpha:]]", GlobProblem::PosixClass),
    ("[[:digit:]]*", GlobProblem::PosixClass),
    ("[![:alpha:]]", GlobProblem::PosixClass),
    // minimatch drops the rest of the name: `*[a` is `*` to it.
    ("*[a", GlobProblem::UnclosedClass),
    ("[ab][c", GlobProblem::UnclosedClass),
    ("?[", GlobProblem::UnclosedClass),
    // Means `*` to minimatch, and any depth to whoever writes it.
    ("a**", GlobProblem::PartialGlobstar),
    ("**b", GlobProblem::PartialGlobstar),
    ("src/**.rs", GlobProblem::PartialGlobstar),
    ("a**b", GlobProblem::PartialGlobstar),
    ("***", GlobProblem::PartialGlobstar),
    ("src/***", GlobProblem::PartialGlobstar),
    // Match no path that is relative and resolved.
    ("./a", GlobProblem::Dot),
    ("./src/**", GlobProblem::Dot),
    ("src/./main.rs", GlobProblem::Dot),
    (".", GlobProblem::Dot),
    ("/a", GlobProblem::Absolute),
    ("/src/**", GlobProblem::Absolute),
    ("/**", GlobProblem::Absolute),
    ("../a", GlobProblem::LeadsOut),
    ("..", GlobProblem::LeadsOut),
    ("**/../a", GlobProblem::LeadsOut),
    ("a/..", GlobProblem::Empty),
    ("", GlobProblem::Empty),
];

#[test]
fn every_row_of_the_table() {
    let (mut compared, mut refused, mut wrong) = (0, 0, Vec::new());
    for line in TABLE.lines().skip(1) {
        let columns: Vec<&str> = line.split('\t').collect();
        let &[pattern, path, expected] = &columns[..] else { panic!("{line}") };
        let known = REFUSED.iter().find(|(text, _)| *text == pattern);
        match (Glob::read(pattern), known) {
            (Err(error), Some((_, problem))) if error.problem == *problem => refused += 1,
            (Ok(glob), None) => {
                // Taken for `dir/**`; minimatch wants a slash at the end of the path, which none has here.
                if glob.as_ref().is_some_and(Glob::is_directory) {
                    assert!(pattern.ends_with('/') && expected == "false", "{line}");
                    continue;
                }
                // Negation is exclusion: from everything, it leaves what minimatch says it matches.
                let negated = glob.is_some_and(|glob| glob.excludes());
                let patterns = if negated { vec!["**", pattern] } else { vec![pattern] };
                let scope = Scope::read(&patterns);
                let found = matches!(scope.unwrap().holds(path), Held::By(_));
                compared += 1;
                if found.to_string() != expected {
                    wrong.push(line.to_owned());
                }
            }
            (other, _) => wrong.push(format!("{line}: {other:?}")),
        }
    }
    assert!(wrong.is_empty(), "{} rows differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(compared >= 300, "{compared}");
    assert!(refused >= REFUSED.len(), "{refused}");
}
