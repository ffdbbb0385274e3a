//! Command lines within command lines, followed as if they stood in the line themselves.

use ona_programs::inner_lines;

use crate::shell::{self, Command, Script, Step};

/// How deep command lines within command lines are followed.
const MAX_DEPTH: usize = 5;

/// Adds the commands of nested command lines: `bash -c '…'` and `eval …`.
pub(crate) fn expand(script: Script) -> Script {
    let mut expanded = Script {
        commands: Vec::new(),
        redirects: Vec::new(),
        steps: Vec::new(),
        ..Script::default()
    };
    add_expanded(script, 0, &mut expanded);
    expanded
}

fn add_expanded(script: Script, depth: usize, all: &mut Script) {
    all.sets_beyond_loops |= script.sets_beyond_loops;
    all.here_texts.extend(script.here_texts);
    let Script {
        mut commands, redirects, steps, here, sets_otherwise, here_expands, opaque, ..
    } = script;
    if depth == 0 {
        (all.here, all.sets_otherwise, all.here_expands) = (here, sets_otherwise, here_expands);
    } else {
        // What it sets it sets for itself.
        let assignments = commands.iter_mut().flat_map(|one| &mut one.assignments);
        assignments.for_each(|assignment| assignment.sure = false);
    }
    all.opaque = all.opaque.take().or(opaque);
    let first_redirect = all.redirects.len();
    all.redirects.extend(redirects);
    // Commands keep the order of the text, each with what it runs behind it.
    let mut places = Vec::with_capacity(commands.len());
    let mut nested = Vec::with_capacity(commands.len());
    for command in commands {
        if command.assignments.iter().any(|one| one.name.starts_with("GIT_CONFIG")) {
            all.opaque.get_or_insert("it passes configuration to git".to_owned());
        }
        let lines = inner_lines(&command.words);
        let how = Nested::of(&command);
        let name = command.name().unwrap_or_default().to_owned();
        places.push(all.commands.len());
        all.commands.push(command);
        let own_steps = std::mem::take(&mut all.steps);
        for line in lines {
            let Some(line) = line.filter(|_| depth < MAX_DEPTH) else {
                all.opaque.get_or_insert(format!("what `{name}` runs is only known at run time"));
                continue;
            };
            let (open, close) = how.steps();
            all.steps.extend(open);
            add_expanded(shell::parse(&line), depth + 1, all);
            all.steps.extend(close);
        }
        nested.push(std::mem::replace(&mut all.steps, own_steps));
    }
    for step in steps {
        match step {
            Step::Command(at) => {
                all.steps.push(Step::Command(places[at]));
                all.steps.append(&mut nested[at]);
            }
            Step::Redirect(at) => all.steps.push(Step::Redirect(first_redirect + at)),
            step => all.steps.push(step),
        }
    }
}

/// How a command line within a command line runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Nested {
    /// In the same shell.
    Here,
    /// In the same shell, some time.
    Later,
    /// In a shell of its own.
    Apart,
}

impl Nested {
    fn of(command: &Command) -> Self {
        match command.name() {
            Some("eval") => Self::Here,
            Some("trap") => Self::Later,
            _ => Self::Apart,
        }
    }

    fn steps(self) -> (Option<Step>, Option<Step>) {
        match self {
            Self::Here => (None, None),
            Self::Later => (Some(Step::Later), Some(Step::Told)),
            Self::Apart => (Some(Step::Enter), Some(Step::Leave)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines_within_command_lines_are_found() {
        let commands = |source: &str| {
            let script = expand(shell::parse(source));
            let texts: Vec<String> = script.commands.iter().map(Command::text).collect();
            (texts, script.opaque.is_some())
        };
        assert_eq!(commands("bash -c 'ls; rm x'").0, ["bash -c 'ls; rm x'", "ls", "rm x"]);
        assert_eq!(commands("sudo bash -lc \"rm y\"").0[1], "rm y");
        assert_eq!(commands("eval rm z").0[1], "rm z");
        for hidden in [
            "bash -cx 'rm x'",
            "bash -c -- 'rm x'",
            "bash '-c' 'rm x'",
            "bash -o pipefail -c 'rm x'",
            "trap 'rm x' EXIT",
            "su -c 'rm x' user",
            "script -c 'rm x' /dev/null",
            "script -qc 'rm x' /dev/null",
            "script -qc'rm x' /dev/null",
            "script -q --comm 'rm x' /dev/null",
            "su --session-command='rm x'",
            "bash -eo pipefail -c 'rm x'",
            "bash -euo pipefail -c 'rm x'",
            "bash -co pipefail 'rm x'",
            "su --command='rm x'",
            "eval -- rm x",
            "trap -- 'rm x' EXIT",
            "watch 'true; rm x'",
        ] {
            assert!(commands(hidden).0.contains(&"rm x".to_owned()), "{hidden}");
        }
        for unsure in [
            "bash <<< 'rm x'",
            "echo rm x | sh",
            "source <(echo rm x)",
            "env -S'rm x'",
            "bash -s",
            "bash -",
        ] {
            assert!(commands(unsure).1, "{unsure}");
        }
        assert!(!commands("trap - EXIT").1);
        assert!(commands("bash -c \"$X\"").1, "not fixed in the text");
        assert!(!commands("bash script.sh").1);
        let deep =
            (0..8).fold("rm x".to_owned(), |inner, _| format!("eval {}", shell_quote(&inner)));
        assert!(commands(&deep).1, "nested deeper than is followed");
    }

    fn shell_quote(text: &str) -> String {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}
