//! Which files git is seen to write.

use ona_shell::Word;

use super::super::tables::GIT_READERS;
use super::super::{Access, Operand, Touched, git};
use super::Written;
use crate::arguments::Arguments;
use crate::git_options::GitCall;

impl Written {
    pub(super) fn of_git(&mut self, words: &[Word]) {
        let call = GitCall::of(words);
        let below = |path: &str| match &call.dir {
            Some(dir) if !path.starts_with(['/', '~']) => format!("{dir}/{path}"),
            _ => path.to_owned(),
        };
        let name = call.subcommand.unwrap_or_default();
        let is_operand = |word: &&Word| !word.source.starts_with('-');
        let operands: Vec<Word> = call
            .arguments
            .iter()
            .filter(is_operand)
            .map(|word| Word { literal: word.literal.as_deref().map(below), ..word.clone() })
            .collect();
        let looks = call.has(&["--dry-run", "--cached"]) || call.has_letter("n", "");
        match name {
            "mv" if !looks => {
                let mut arguments = Arguments::default();
                arguments.operands = operands;
                return self.of_placed("mv", &arguments);
            }
            "rm" if !looks => return self.writes_below(&operands),
            "restore" if !call.has(&["--staged"]) && !call.has_letter("S", "s") => {
                // Behind `-s` stands what they are taken from.
                let of_source = |at: usize| {
                    let before = at.checked_sub(1).and_then(|at| call.arguments.get(at));
                    before.is_some_and(|word| matches!(word.source.as_str(), "-s" | "--source"))
                };
                let places =
                    (0..call.arguments.len()).filter(|at| is_operand(&&call.arguments[*at]));
                let named = operands.iter().zip(places).filter(|(_, at)| !of_source(*at));
                return self.writes_below(named.map(|(word, _)| word));
            }
            // The address comes first.
            "clone" => match &operands[..] {
                [_, .., to] => self.writes([to]),
                _ => self.maybe.push(Operand::Fixed(below("."))),
            },
            "worktree" if operands.first().is_some_and(|word| word.source == "add") => {
                self.may_write(operands.get(1));
            }
            _ => {}
        }
        let mut touched = Touched::default();
        git::git(words, &mut touched);
        let writes = |access: &Access| *access == Access::Writes;
        let is_place = |file: &str| !file.starts_with("//");
        if !matches!(name, "clone" | "worktree") {
            let files = touched.files.iter().filter(|(access, _)| writes(access));
            self.maybe.extend(
                files
                    .map(|(_, operand)| operand.clone())
                    .filter(|operand| !matches!(operand, Operand::Fixed(file) if !is_place(file))),
            );
        }
        let trees = touched.trees.iter().filter(|tree| writes(&tree.access)).count();
        let tracked = touched.in_git.tracked.iter().filter(|one| writes(&one.access)).count();
        if trees + tracked + touched.in_git.patches.len() > 0 {
            self.maybe.push(Operand::Fixed(below(".")));
        }
        let of_user = call.has(&["--global"]) && name == "config" && !self.maybe.is_empty();
        if of_user {
            self.maybe.push(Operand::Fixed("~/.gitconfig".to_owned()));
        }
        self.unnamed = self.unnamed.take().or(touched.in_git.writes_unknown);
        self.unknown |= !GIT_READERS.contains(&name) && name != "status";
        if let Some(dir) = call.dir {
            self.works_in.push(Word { source: dir.clone(), literal: Some(dir) });
        }
    }
}
