//! In which directory each command of a script runs, and each redirection is opened.
//!
//! Rules that forbid need every directory it may be; whoever needs to be certain gets it where the text and the disk fix
//! it. Both follow the same steps.

use std::path::{Path, PathBuf};

use ona_programs::files;
use ona_types::World;

use super::fixed::Fixed;
use super::values::{Place, Values};
use super::{TOPLEVEL, checkout};
use crate::path;
use crate::pattern;
use crate::shell::{Branch, Command, Script, Step, Word};

/// The limit for the directories a command line may be in; beyond it, it is not followed.
const MAX_DIRS: usize = 16;
/// The limit for those that are followed where some are sure to be denied.
const MAX_FOLLOWED: usize = 64;

/// Where a script is followed from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start<'a> {
    pub(super) world: &'a dyn World,
    pub(super) cwd: &'a Path,
    /// The user's home, where it is known.
    pub(super) home: Option<&'a Path>,
}

/// The directories of a script.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    /// Of each command.
    pub(super) commands: Vec<Vec<PathBuf>>,
    /// Of each redirection.
    pub(super) redirects: Vec<Vec<PathBuf>>,
    /// All of them, where it starts first.
    pub(super) all: Vec<PathBuf>,
    /// Why there may be others.
    pub(super) doubt: Option<String>,
    /// They are too many to be followed.
    pub(super) lost: bool,
}

/// Every directory that each part of the script may run in. Where the line says what a variable may be, that is followed
/// too.
pub(super) fn possible(start: &Start<'_>, script: &Script, values: &Values<'_>) -> Places {
    Walk { meant: Some(values), ..Walk::new(*start, script, None) }.through()
}

/// The directory that each part runs in, if it is one: a change to a directory that is there is taken to succeed as
/// long as nothing before it could have removed that directory. Variables that the line sets count, and so does the home.
pub(super) fn certain(start: &Start<'_>, script: &Script, values: &Fixed<'_>) -> Places {
    Walk::new(*start, script, Some(values)).through()
}

/// Where the script may be.
#[derive(Clone, Debug, Default)]
struct State {
    /// If the last command succeeded.
    ok: Vec<PathBuf>,
    /// If it failed.
    bad: Vec<PathBuf>,
}

impl State {
    fn all_at(dirs: Vec<PathBuf>) -> Self {
        Self { ok: dirs.clone(), bad: dirs }
    }

    fn all(&self) -> Vec<PathBuf> {
        union(self.ok.clone(), &self.bad)
    }
}

fn union(mut all: Vec<PathBuf>, further: &[PathBuf]) -> Vec<PathBuf> {
    for dir in further {
        if !all.contains(dir) {
            all.push(dir.clone());
        }
    }
    all
}

/// What is open on the way.
#[derive(Debug)]
enum Frame {
    Shell(State),
    Fork(Branch, State),
    /// A loop or a function: where it was before, and where on the trail it begins.
    Repeated(Vec<PathBuf>, usize),
}

#[derive(Clone, Copy, Debug)]
enum Part {
    Command(usize),
    Redirect(usize),
}

struct Walk<'a> {
    start: Start<'a>,
    script: &'a Script,
    /// What is there now is taken to be there then, and variables to have these values.
    values: Option<&'a Fixed<'a>>,
    /// Or may have these.
    meant: Option<&'a Values<'a>>,
    /// Nothing so far could have removed a directory.
    quiet: bool,
    state: State,
    frames: Vec<Frame>,
    trail: Vec<Part>,
    /// What runs at a time that is not known.
    deferred: Vec<Part>,
    /// Where `pushd` has come from, where that is certain.
    pushed: Vec<Option<Vec<PathBuf>>>,
    places: Places,
}

impl<'a> Walk<'a> {
    fn new(start: Start<'a>, script: &'a Script, values: Option<&'a Fixed<'a>>) -> Self {
        let here = vec![start.cwd.to_owned()];
        let places = Places {
            commands: vec![Vec::new(); script.commands.len()],
            redirects: vec![Vec::new(); script.redirects.len()],
            all: here.clone(),
            doubt: None,
            lost: false,
        };
        Self {
            start,
            script,
            values,
            meant: None,
            quiet: true,
            state: State::all_at(here),
            frames: Vec::new(),
            trail: Vec::new(),
            deferred: Vec::new(),
            pushed: Vec::new(),
            places,
        }
    }

    fn doubt(&mut self, why: String) {
        self.places.doubt.get_or_insert(why);
    }

    fn through(mut self) -> Places {
        for step in &self.script.steps {
            self.step(*step);
        }
        for part in std::mem::take(&mut self.deferred) {
            *self.dirs_of(part) = self.places.all.clone();
        }
        // What the steps do not reach may run anywhere.
        let all = self.places.all.clone();
        let every = self.places.commands.iter_mut().chain(&mut self.places.redirects);
        every.filter(|dirs| dirs.is_empty()).for_each(|dirs| dirs.clone_from(&all));
        self.places
    }

    fn dirs_of(&mut self, part: Part) -> &mut Vec<PathBuf> {
        match part {
            Part::Command(at) => &mut self.places.commands[at],
            Part::Redirect(at) => &mut self.places.redirects[at],
        }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Command(at) => {
                self.note(Part::Command(at));
                self.run(at);
            }
            Step::Redirect(at) => self.note(Part::Redirect(at)),
            Step::Enter => self.frames.push(Frame::Shell(self.state.clone())),
            Step::Leave => {
                if let Some(Frame::Shell(before)) = self.frames.pop() {
                    self.state = State::all_at(before.all());
                }
            }
            Step::Fork(branch) => {
                let before = self.state.clone();
                self.state = State::all_at(match branch {
                    Branch::And => before.ok.clone(),
                    Branch::Or => before.bad.clone(),
                    Branch::Maybe => before.all(),
                });
                self.frames.push(Frame::Fork(branch, before));
            }
            Step::Else => {
                if let Some(Frame::Fork(_, before)) = self.frames.last() {
                    self.state = State::all_at(union(self.state.all(), &before.all()));
                }
            }
            Step::Join => {
                let Some(Frame::Fork(branch, before)) = self.frames.pop() else { return };
                let after = std::mem::take(&mut self.state);
                self.state = match branch {
                    Branch::And => State { ok: after.ok, bad: union(before.bad, &after.bad) },
                    Branch::Or => State { ok: union(before.ok, &after.ok), bad: after.bad },
                    Branch::Maybe => State::all_at(union(before.all(), &after.all())),
                };
            }
            Step::Not => std::mem::swap(&mut self.state.ok, &mut self.state.bad),
            Step::Again | Step::Later => {
                self.frames.push(Frame::Repeated(self.state.all(), self.trail.len()));
            }
            Step::Done | Step::Told => {
                let Some(Frame::Repeated(before, start)) = self.frames.pop() else { return };
                self.repeated(before, start, step == Step::Told);
            }
        }
    }

    /// A loop or a function ends that began here.
    fn repeated(&mut self, before: Vec<PathBuf>, start: usize, called: bool) {
        let after = self.state.all();
        let parts = self.trail[start.min(self.trail.len())..].to_vec();
        if after.iter().any(|dir| !before.contains(dir)) {
            self.doubt("it changes directory in a loop or a function".to_owned());
            let mut all = union(before.clone(), &after);
            for part in &parts {
                all = union(all, &self.dirs_of(*part).clone());
            }
            for part in &parts {
                self.dirs_of(*part).clone_from(&all);
            }
        }
        if called {
            self.deferred.extend(parts);
        }
        self.state = State::all_at(union(before, &after));
    }

    fn note(&mut self, part: Part) {
        let dirs = self.state.all();
        *self.dirs_of(part) = dirs;
        self.trail.push(part);
    }

    fn run(&mut self, at: usize) {
        let command = &self.script.commands[at];
        let command =
            &self.values.map_or_else(|| command.clone(), |known| known.command(command, at));
        let all = self.state.all();
        self.state = State::all_at(all.clone());
        let words = shell_words(command);
        let name = words.first().and_then(|word| word.literal.as_deref());
        match name {
            Some("cd" | "pushd") => self.change(command, at, name == Some("pushd"), all),
            Some("popd") => {
                let back = self
                    .pushed
                    .pop()
                    .flatten()
                    .filter(|_| self.values.is_some() && self.is_straight());
                let back = back.unwrap_or_else(|| self.places.all.clone());
                self.state =
                    State { ok: back, bad: if self.values.is_some() { Vec::new() } else { all } };
            }
            // A script of its own may go anywhere.
            Some("source" | ".") if self.values.is_some() => {
                self.doubt("it runs a script that may change directory".to_owned());
            }
            Some("exit") if self.script.steps.iter().all(|step| *step != Step::Later) => {
                self.state = State::default();
            }
            None => {}
            Some(name) => self.quiet &= files::only_reads(ona_programs::commands::base_name(name)),
        }
    }

    /// Whether what runs here runs in any case, unless something before it failed.
    fn is_straight(&self) -> bool {
        self.frames.iter().all(|frame| matches!(frame, Frame::Fork(Branch::And, _)))
    }

    fn change(&mut self, command: &Command, at: usize, pushes: bool, from: Vec<PathBuf>) {
        let place = Place { command: Some(at), loops: &command.loops };
        let readings = match self.meant {
            Some(values) => values.readings(&command.words, place),
            None => vec![command.words.clone()],
        };
        let (mut there, mut sure) = (Vec::new(), true);
        for words in readings {
            let command = Command { words, ..Command::default() };
            match self.destinations(&command, &from, pushes) {
                Some((dirs, fixed)) => {
                    there = union(there, &dirs);
                    sure &= fixed;
                }
                None => sure = false,
            }
        }
        if !sure {
            self.doubt(format!("where `{}` leads is only known at run time", command.text()));
        }
        if there.is_empty() {
            return;
        }
        if pushes {
            let straight = self.is_straight();
            self.pushed.push(Some(from.clone()).filter(|_| straight));
            // From here on it is not certain what lies on top.
            if !straight {
                self.pushed.clear();
            }
        }
        let is_there = |dir: &PathBuf| self.start.world.is_dir(dir);
        let crowded = union(self.places.all.clone(), &there).len() > MAX_DIRS;
        if crowded {
            self.doubt("it changes directory too often to follow".to_owned());
            // From here on only directories that are there now are followed, as if nothing failed.
            there.retain(is_there);
        }
        let are_there = !there.is_empty() && there.iter().all(is_there);
        let succeeds = crowded || self.values.is_some() && self.quiet;
        let fails = if succeeds && are_there { Vec::new() } else { from };
        self.places.all = union(std::mem::take(&mut self.places.all), &there);
        if self.places.all.len() > MAX_FOLLOWED {
            self.places.lost = true;
            self.places.all.truncate(MAX_FOLLOWED);
            return;
        }
        if there.is_empty() {
            return;
        }
        self.state = State { ok: there, bad: fails };
    }

    /// Where else a directory of this name is looked for: what the line sets `CDPATH` to.
    fn searched(&self, operand: Option<&Word>, from: &[PathBuf]) -> Vec<PathBuf> {
        let relative = operand.is_some_and(|word| !word.source.starts_with(['/', '.', '~']));
        let Some(values) = self.meant.filter(|_| relative) else { return Vec::new() };
        let paths = values.assigned.texts("CDPATH");
        let dirs = paths.iter().flat_map(|path| path.split(':')).filter(|dir| !dir.is_empty());
        dirs.flat_map(|dir| from.iter().map(move |base| base.join(dir))).collect()
    }

    /// Where a command that changes directory leads from these, and whether that is certain.
    fn destinations(
        &self,
        command: &Command,
        from: &[PathBuf],
        pushes: bool,
    ) -> Option<(Vec<PathBuf>, bool)> {
        let words = shell_words(command);
        let mut rest = words[1..].iter();
        let operand = loop {
            match rest.next() {
                Some(word) if word.source == "--" => break rest.next(),
                // Without an operand they exchange directories, or take one from the stack.
                Some(word) if pushes && word.source.starts_with(['-', '+']) => return None,
                Some(word) if word.source.starts_with('-') && word.source.len() > 1 => {}
                operand => break operand,
            }
        };
        let world = self.start.world;
        let to: Vec<(String, bool)> = match operand {
            None if pushes => return None,
            None => match self.values.and_then(Fixed::home) {
                Some(home) => vec![(home.to_owned(), true)],
                None => {
                    let set = self.meant.map_or(&[][..], |values| values.assigned.texts("HOME"));
                    let set = set.iter().map(|home| (home.clone(), true));
                    set.chain([("~".to_owned(), false)]).collect()
                }
            },
            Some(word) => match word.literal.as_deref() {
                // It may be any that the line was in before.
                Some("-") if self.meant.is_some() => return Some((self.places.all.clone(), false)),
                Some("-") => return None,
                Some(text) => vec![(text.to_owned(), true)],
                None if word.source == TOPLEVEL => {
                    let top = checkout(world, from.first()?)?;
                    let one = |dir: &PathBuf| checkout(world, dir).as_ref() == Some(&top);
                    from.iter().all(one).then_some(vec![(top, true)])?
                }
                None if self.meant.is_some() && files::is_glob(&word.source) => {
                    vec![(word.source.clone(), false)]
                }
                None => {
                    let parts = files::fixed_parts(&word.source).into_iter();
                    parts.filter(|part| part.starts_with('~')).map(|part| (part, false)).collect()
                }
            },
        };
        let searched = self.searched(operand, from);
        let mut there = Vec::new();
        let mut sure = !to.is_empty();
        for (to, fixed) in to {
            sure &= fixed;
            let base = match below_home(&to, self.start.home).filter(|_| !fixed) {
                Some(dir) => matching(world, Path::new("/"), dir),
                None if fixed => from.iter().chain(&searched).map(|dir| dir.join(&to)).collect(),
                None => {
                    from.iter().flat_map(|dir| matching(world, dir, to.clone().into())).collect()
                }
            };
            for dir in base {
                // Bash takes `..` away in the text, before it follows links; `cd -P` after.
                let real = world.resolve(Path::new("/"), &dir).ok();
                there = union(
                    there,
                    &real.into_iter().chain([path::in_words(&dir)]).collect::<Vec<_>>(),
                );
            }
        }
        (!there.is_empty()).then_some((there, sure))
    }
}

/// The directories that a pattern matches; whatever else is named, as it is.
fn matching(world: &dyn World, dir: &Path, path: PathBuf) -> Vec<PathBuf> {
    match path.to_str().filter(|text| text.contains(['*', '?', '['])) {
        Some(pattern) => {
            let found = pattern::expand(world, dir, pattern).unwrap_or_default();
            found.into_iter().filter(|path| world.is_dir(path)).collect()
        }
        None => vec![dir.join(path)],
    }
}

/// The words of a command that runs in the shell itself.
fn shell_words(command: &Command) -> &[Word] {
    let mut words = command.words.as_slice();
    while let [first, second, ..] = words
        && matches!(first.literal.as_deref(), Some("command" | "builtin"))
        && !second.source.starts_with('-')
    {
        words = &words[1..];
    }
    words
}

/// The path that a text with a `~` in front stands for.
pub(super) fn below_home(text: &str, home: Option<&Path>) -> Option<PathBuf> {
    let (user, rest) = match text.strip_prefix('~')? {
        rest if rest.is_empty() || rest.starts_with('/') => ("", rest),
        rest => rest.split_at(rest.find('/').unwrap_or(rest.len())),
    };
    let home = home?;
    let own = user.is_empty() || home.file_name().is_some_and(|name| name == user);
    own.then(|| home.join(rest.trim_start_matches('/')))
}

#[cfg(test)]
mod tests {
    use ona_testkit::Disk;

    use super::super::assignments::Assignments;
    use super::*;
    use crate::shell;

    fn places(source: &str, certainly: bool) -> (Vec<Vec<String>>, Vec<Vec<String>>, bool) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for sub in ["a/b", "c"] {
            std::fs::create_dir_all(root.join(sub)).unwrap();
        }
        let script = crate::nested::expand(shell::parse(source));
        let start = Start { world: &Disk, cwd: &root, home: None };
        let assigned = &Assignments::default();
        let values =
            Values { world: &Disk, script: &script, one_scope: false, dirs: &[], assigned };
        let found = match certainly {
            true => certain(&start, &script, &Fixed::new(source, values, None)),
            false => possible(&start, &script, &values),
        };
        let shown = |all: Vec<Vec<PathBuf>>| -> Vec<Vec<String>> {
            let short =
                |dir: &PathBuf| dir.strip_prefix(&root).unwrap_or(dir).display().to_string();
            all.iter().map(|dirs| dirs.iter().map(short).collect()).collect()
        };
        (shown(found.commands), shown(found.redirects), found.doubt.is_some())
    }

    #[test]
    fn the_directory_is_followed_where_the_text_fixes_it() {
        for (source, last, certain) in [
            ("cd a && ls", &["a"][..], &["a"][..]),
            ("cd a && cd b && ls", &["a/b"], &["a/b"]),
            ("cd a; ls", &["a", ""], &["a"]),
            ("cd gone; ls", &["gone", ""], &["gone", ""]),
            ("cd gone && ls", &["gone"], &["gone"]),
            ("make; cd a; ls", &["a", ""], &["a", ""]),
            ("cd a || exit 1; ls", &["a"], &["a"]),
            ("cd a || true; ls", &["a", ""], &["a"]),
            ("! cd a && ls", &[""], &["a", ""]),
            ("(cd a && pwd); ls", &[""], &[""]),
            ("cd a | cat; ls", &[""], &[""]),
            ("cd a & ls", &[""], &[""]),
            ("x=$(cd a; pwd); ls", &[""], &[""]),
            ("bash -c 'cd a'; ls", &[""], &[""]),
            ("eval 'cd a' && ls", &["a"], &["a"]),
            ("command cd a && ls", &["a"], &["a"]),
            ("pushd a && ls", &["a"], &["a"]),
            ("pushd a && popd && ls", &["", "a"], &[""]),
            ("if true; then pushd a; fi; popd && ls", &["", "a"], &["", "a"]),
            ("if true; then cd a; fi; ls", &["", "a"], &["", "a"]),
            ("{ cd a; } && ls", &["a"], &["a"]),
            ("cd -- a && ls", &["a"], &["a"]),
            ("cd -P a && ls", &["a"], &["a"]),
        ] {
            let (found, _, _) = places(source, false);
            let mut found = found.last().unwrap().clone();
            found.sort();
            let mut expected = last.to_vec();
            expected.sort_unstable();
            assert_eq!(found, expected, "{source}");
            let (found, _, _) = places(source, true);
            let mut found = found.last().unwrap().clone();
            found.sort();
            let mut expected = certain.to_vec();
            expected.sort_unstable();
            if !source.contains('!') {
                assert_eq!(found, expected, "{source}, certainly");
            }
        }
    }

    #[test]
    fn redirections_are_opened_before_what_they_are_for() {
        for (source, dirs) in [
            ("cd a > f", &[""][..]),
            (">f cd a", &[""]),
            ("(cd a; make) > f", &[""]),
            ("{ cd a; make; } > f", &[""]),
            ("cd a && echo > f", &["a"]),
            ("cd a && { make; } > f", &["a"]),
        ] {
            assert_eq!(places(source, true).1, [dirs], "{source}");
        }
    }

    #[test]
    fn what_cannot_be_followed_is_doubted() {
        for source in [
            "cd $X && ls",
            "cd - && ls",
            "popd; pushd; ls",
            "for i in 1 2; do cd a; done; ls",
            "f() { cd a; }; f; ls",
            "cd && ls",
        ] {
            assert!(places(source, false).2, "{source}");
        }
        for source in [
            "for i in 1 2; do (cd a && ls); done",
            "f() { ls; }; cd a; f",
            "cd a && for i in 1; do ls; done",
        ] {
            assert!(!places(source, false).2, "{source}");
        }
        let (found, _, _) = places("f() { ls; }; cd a; f", false);
        assert_eq!(found[0], ["", "a"], "it runs from where it is called");
    }
}
