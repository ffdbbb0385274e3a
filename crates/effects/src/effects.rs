//! Effects: what a call would touch, in terms every gate understands.

mod assignments;
mod fixed;
mod git;
mod packed;
mod places;
mod texts;
mod values;
mod written;

use std::path::{Path, PathBuf};

use ona_programs::commands;
use ona_programs::files::{self, Listed, Operand, Touched};
use ona_types::World;

use crate::hidden_options::Known;
use crate::nested;
use crate::path::{PathError, Target};
use crate::pattern;
pub use crate::pattern::Wide;
use crate::read_only;
use crate::shell::{self, Direction, Script, Step};
use crate::shell_settings;
use git::Line;
pub use ona_programs::files::{Access, Skips};
use values::{Place, Values};
pub use written::Written;

/// The limit for a command line, in bytes; a longer one counts as opaque.
const MAX_COMMAND: usize = 10_000;

/// The effects a tool declares for one input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// Files and directories whose content or listing it reads.
    pub reads: Vec<Target>,
    /// Files it creates, replaces or removes.
    pub writes: Vec<Target>,
    /// Shell commands it starts, in the order they stand.
    pub commands: Vec<shell::Command>,
    /// Where each of them may run, and with which words.
    pub runs: Vec<Run>,
    /// Of the writes, those by redirection: the shell makes them, whatever the command is.
    pub redirected: Vec<Target>,
    /// And of the reads.
    pub fed: Vec<Target>,
    /// Directories it goes through with all that is in them.
    pub trees: Vec<Tree>,
    /// What git does with files that it tracks: in which checkouts, and below what.
    pub tracked: Vec<TrackedFiles>,
    /// Directories whose files are named to other commands of the line.
    pub listed: Vec<Listing>,
    /// Arguments of unknown programs that could be files.
    pub given: Vec<Given>,
    /// Hosts it speaks to.
    pub hosts: Vec<String>,
    /// Everything its words could name, programs too. No rule is about it; a permit is for what it was when it was judged.
    pub named: Vec<Target>,
    /// Directory a command line starts in.
    pub start: Option<Target>,
    /// Directories its commands may run in: where it starts, and wherever it changes to.
    pub dirs: Vec<PathBuf>,
    /// What it really writes, where it then is.
    pub written: Written,
    /// Patterns whose files are not listed.
    pub wide: Vec<Wide>,
    /// Texts of the line that may name something to a program.
    pub texts: Vec<String>,
    /// The line changes directory too often to be followed.
    pub lost: bool,
    /// The line, or a part of it, is not understood; then the whole of it is one of its texts.
    pub unread: bool,
    /// What a command reads from the text depends on variables.
    pub here_expands: bool,
    /// Set when the command line makes a link, and names further on may lead through it.
    pub links: Option<String>,
    /// Set when a command may touch files that are not listed, with the reason. It matters where a rule
    /// forbids some files.
    pub unsure: Option<String>,
    /// The same, where it can only be writing.
    pub scatters: Option<String>,
    /// The same, where it writes files whose names come from elsewhere: they may be protected ones.
    pub feeds_writer: Option<String>,
    /// The same, where it writes a file whose name only the run shows.
    pub unfixed: Option<String>,
    /// Set when the lists above may be incomplete, with the reason. Such a call counts as
    /// destructive.
    pub opaque: Option<String>,
}

/// How a command may run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// In one of these directories.
    pub dirs: Vec<PathBuf>,
    /// With its words in one of these readings.
    pub readings: Vec<Vec<shell::Word>>,
}

/// A word for a program that is not known, which could be a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// The program.
    pub program: String,
    /// The file.
    pub target: Target,
    /// It is one: it is there and no directory, or it is written like one.
    pub is_file: bool,
    /// Whether the program may write it is not known.
    pub may_write: bool,
}

/// A directory whose files a command names to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// Where it begins.
    pub root: Target,
    /// How deep it goes, if that is limited.
    pub depth: Option<usize>,
    /// Patterns of the names that are looked for; all if there are none.
    pub only: Vec<String>,
}

/// Who goes through the files that it is told of.
const XARGS: &str = "`xargs`";

/// Where a command line starts.
#[derive(Clone, Copy, Debug)]
pub struct Start<'a> {
    /// The directory.
    pub cwd: &'a Path,
    /// The user's home, where it is known.
    pub home: Option<&'a Path>,
}

impl<'a> From<&'a Path> for Start<'a> {
    fn from(cwd: &'a Path) -> Self {
        Self { cwd, home: None }
    }
}

impl<'a> From<&'a PathBuf> for Start<'a> {
    fn from(cwd: &'a PathBuf) -> Self {
        Self { cwd, home: None }
    }
}

/// What words could name: each of them, and the value in an option.
fn names(words: &[shell::Word]) -> Vec<String> {
    let value = |text: &str| text.split_once('=').map(|(_, value)| value.to_owned());
    let texts = words.iter().filter_map(|word| word.literal.as_deref());
    let names = texts.flat_map(|text| match text.strip_prefix('-') {
        None => [Some(text.to_owned()), value(text)],
        Some(rest) => [rest.get(1..).map(str::to_owned), value(text)],
    });
    names.flatten().filter(|name| !name.is_empty()).collect()
}

/// How scripts say where the top of their checkout is.
pub(crate) const TOPLEVEL: &str = "\"$(git rev-parse --show-toplevel)\"";

/// The top of the checkout that a directory belongs to, as text.
pub(crate) fn checkout(world: &dyn World, dir: &Path) -> Option<String> {
    world.checkout(dir)?.into_os_string().into_string().ok()
}

/// A directory with all that is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// What is done with it.
    pub access: Access,
    /// Where it begins.
    pub root: Target,
    /// What of it is left out.
    pub skips: Skips,
    /// Who goes through it.
    pub by: String,
}

impl Tree {
    /// Whether each of the files may be changed by whatever is told of it.
    pub fn is_fed_to_writer(&self) -> bool {
        self.access == Access::Writes && self.by == XARGS
    }
}

/// Files that git tracks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrackedFiles {
    /// What is done with them.
    pub access: Access,
    /// Where git runs.
    pub dir: PathBuf,
    /// Only those below one of these, if there are any.
    pub below: Vec<Target>,
}

impl Effects {
    /// Reads one path.
    pub fn read(target: Target) -> Self {
        Self { reads: vec![target], ..Self::default() }
    }

    /// Reads and replaces one path.
    pub fn replace(target: Target) -> Self {
        Self { reads: vec![target.clone()], writes: vec![target], ..Self::default() }
    }

    /// What a shell command line started in `cwd` would touch, as far as its text tells: redirections,
    /// and the operands of commands that are known to take files. Command lines within it, as in
    /// `bash -c '…'`, are taken apart too.
    pub fn of_shell<'a>(
        world: &'a dyn World,
        source: &str,
        start: impl Into<Start<'a>>,
    ) -> Result<Self, PathError> {
        if source.len() > MAX_COMMAND {
            return Ok(Self {
                opaque: Some(format!("the command is longer than {MAX_COMMAND} bytes")),
                texts: vec![source.to_owned()],
                unread: true,
                ..Self::default()
            });
        }
        let Start { cwd, home } = start.into();
        let start = places::Start { world, cwd, home };
        let script = shell::parse(source);
        let outermost = script.commands.len();
        let script = nested::expand(script);
        // A command line within the line has its own variables.
        let one_scope = outermost == script.commands.len();
        let here = [cwd.to_owned()];
        let assigned = &assignments::Assignments::of(&script, home);
        let values = Values { world, script: &script, one_scope, dirs: &here, assigned };
        let possible = places::possible(&start, &script, &values);
        let values = Values { dirs: &possible.all, ..values };
        let fixed = fixed::Fixed::new(source, values, home);
        let mut effects = Self {
            opaque: script.opaque.clone().or_else(|| possible.doubt.clone()),
            here_expands: script.here_expands,
            dirs: possible.all.clone(),
            lost: possible.lost,
            unread: script.opaque.is_some(),
            start: Target::of(world, cwd, ".").ok(),
            ..Self::default()
        };
        effects.doubt_commands(&script);
        effects.redirect(&values, home, &possible)?;
        effects.written = written::written(&start, &script, &fixed, &possible);
        let mut hiding = Vec::new();
        let line = Line { source, script: &script };
        let loose = shell_settings::loosens_patterns(&script);
        for (at, command) in script.commands.iter().enumerate() {
            let written = effects.writes.len();
            let dirs = &possible.commands[at];
            let scene = Scene { world, home, dirs, line, at, written, loose };
            let known = Known { world, script: &script, dirs: scene.dirs };
            let place = Place { command: Some(at), loops: &command.loops };
            // A variable such as PATH may hold directories.
            for dir in command.assignments.iter().flat_map(|one| one.value.split(':')) {
                effects.named.extend(named_from(world, home, scene.dirs, dir));
            }
            effects.assign(&scene, command);
            let mut hides_target = false;
            let readings = values.readings(&command.words, place);
            for words in &readings {
                hides_target |= effects.touch(&scene, words);
            }
            effects.runs.push(Run { dirs: scene.dirs.to_vec(), readings });
            hiding.push((known.hides_options(&command.words), hides_target));
        }
        effects.texts = texts::texts(source, &values, &effects.runs);
        effects.list(&start, &script, &fixed, &possible);
        effects.feed(&start, &script);
        effects.link(&script);
        effects.commands = script.commands;
        for (command, hides) in effects.commands.iter_mut().zip(hiding) {
            (command.hides_options, command.hides_target) = hides;
        }
        Ok(effects)
    }

    /// Whether it is seen to create, change or remove a file.
    pub fn writes_something(&self) -> bool {
        let writes = |access: Access| access == Access::Writes;
        !self.writes.is_empty()
            || self.trees.iter().any(|tree| writes(tree.access))
            || self.tracked.iter().any(|tracked| writes(tracked.access))
            || self.scatters.is_some()
            || self.feeds_writer.is_some()
            || self.unfixed.is_some()
    }

    fn doubt(&mut self, why: String) {
        self.opaque.get_or_insert(why);
    }

    /// Notes which commands the text does not fix.
    fn doubt_commands(&mut self, script: &Script) {
        for command in &script.commands {
            let Some(first) = command.words.first() else { continue };
            let Some(name) = command.name() else {
                self.doubt(format!("the value of `{}` is only known at run time", first.source));
                continue;
            };
            if commands::runs_unknown(&command.words) {
                self.doubt(format!("what `{name}` runs is only known at run time"));
            }
        }
        if script.commands.iter().any(shell_settings::changes_splitting) {
            self.doubt("IFS changes how values are split into words".to_owned());
        }
        // What is set for all that follows is no safer than what is set for one command.
        let exported = script.commands.iter().rev().skip(1).find_map(commands::unsafe_export);
        if let Some(name) = exported {
            self.doubt(format!("`{name}` is set for the commands that follow"));
        }
    }

    fn redirect(
        &mut self,
        values: &Values<'_>,
        home: Option<&Path>,
        places: &places::Places,
    ) -> Result<(), PathError> {
        let Values { world, script, .. } = *values;
        for (redirect, dirs) in script.redirects.iter().zip(&places.redirects) {
            let mut targets = Vec::new();
            match &redirect.target.literal {
                Some(target) if files::is_sink(target) && target != "-" => continue,
                Some(target) => {
                    if target.starts_with("/dev/tcp/") || target.starts_with("/dev/udp/") {
                        self.doubt(format!("{target} opens a network connection"));
                    }
                    for dir in dirs {
                        targets.push(Target::of(world, dir, target)?);
                    }
                }
                None => {
                    let source = &redirect.target.source;
                    let why = format!("the redirection target {source} is only known at run time");
                    self.doubt(why.clone());
                    if redirect.direction != Direction::Read {
                        self.unfixed.get_or_insert(why);
                    }
                    // What it may be, or a part of it, may be telling.
                    let place = Place { command: None, loops: &redirect.loops };
                    let words = values.readings(std::slice::from_ref(&redirect.target), place);
                    for word in words.iter().flatten() {
                        let parts = match &word.literal {
                            Some(text) => vec![Operand::Fixed(text.clone())],
                            None if files::is_glob(&word.source) => {
                                vec![Operand::Glob(word.source.clone())]
                            }
                            None => files::fixed_parts(&word.source)
                                .into_iter()
                                .map(Operand::Fixed)
                                .collect(),
                        };
                        let line = Line { source: "", script };
                        let loose = shell_settings::loosens_patterns(script);
                        let scene = Scene { world, home, dirs, line, at: 0, written: 0, loose };
                        for part in &parts {
                            targets.extend(self.targets(&scene, part));
                        }
                    }
                }
            }
            for target in targets {
                if redirect.direction != Direction::Write && !self.fed.contains(&target) {
                    self.fed.push(target.clone());
                }
                if redirect.direction != Direction::Read && !self.redirected.contains(&target) {
                    self.redirected.push(target);
                }
            }
        }
        self.writes.clone_from(&self.redirected);
        self.reads.clone_from(&self.fed);
        Ok(())
    }

    /// Notes the files that a variable before a command makes it use, as far as they are known.
    fn assign(&mut self, scene: &Scene<'_>, command: &shell::Command) {
        for one in command.assignments.iter().filter(|one| commands::names_files(one)) {
            let why = format!("`{}` may make it use other files", one.name);
            self.unsure.get_or_insert(why);
            let value = one.value.replace(['"', '\''], "");
            for part in files::fixed_parts(&value).iter().chain([&value]) {
                for target in named_from(scene.world, scene.home, scene.dirs, part) {
                    let program = one.name.clone();
                    self.given.push(Given { program, target, is_file: true, may_write: true });
                }
            }
        }
    }

    /// Notes the files that a command is known to take. Whether it writes one whose name only the run shows.
    fn touch(&mut self, scene: &Scene<'_>, words: &[shell::Word]) -> bool {
        let touched = files::touched(words);
        let mut hides_target = false;
        for word in &touched.unfixed {
            self.unfixed.get_or_insert(format!(
                "which file {} is, and is written, is only known at run time",
                word.source
            ));
            hides_target |= !values::begins_at_a_known_place(word, scene.line.script);
        }
        let Touched { files, patterns, trees, given, chdirs, copies, derived, .. } = touched;
        let (unpacked, unsure, scatters) = (touched.unpacked, touched.unsure, touched.scatters);
        self.touch_git(scene, touched.in_git);
        self.unsure = self.unsure.take().or(unsure);
        self.scatters = self.scatters.take().or(scatters);
        let mut dirs = scene.dirs.to_vec();
        for dir in &chdirs {
            let there = self.targets(scene, dir);
            if let Some(program) =
                commands::name(words).filter(|_| commands::may_do_anything(words))
            {
                let given = |target: &Target| {
                    let (program, target) = (program.to_owned(), target.clone());
                    Given { program, target, is_file: false, may_write: false }
                };
                self.given.extend(there.iter().map(given));
            }
            for target in there.into_iter().flat_map(|target| [target.real, target.named]) {
                if !dirs.contains(&target) {
                    dirs.push(target);
                }
            }
        }
        if !chdirs.is_empty() && commands::runs_others(words) {
            self.unsure.get_or_insert("what it runs works in another directory".to_owned());
        }
        let start = scene;
        let scene = &Scene { dirs: &dirs, ..*start };
        for name in names(words) {
            self.named.extend(named_from(scene.world, scene.home, scene.dirs, &name));
        }
        for (access, operand) in files {
            let targets = self.targets(scene, &operand);
            if targets.is_empty() && access == Access::Writes {
                self.unfixed.get_or_insert("too many files match to look at".to_owned());
            }
            match access {
                Access::Reads => self.reads.extend(targets),
                Access::Writes => self.writes.extend(targets),
            }
        }
        if commands::name(words).is_some_and(commands::prints_names)
            && !texts::only_shows(scene.line.script)
        {
            words.iter().skip(1).for_each(|word| self.print_names(scene, &word.source));
        }
        for pattern in patterns {
            self.wide.extend(scene.dirs.iter().map(|dir| Wide::new(dir, &pattern, true)));
        }
        for tree in trees {
            self.go_through(scene, &tree);
        }
        for (program, piece) in given {
            self.widen(scene, &piece, false);
            // What git is told besides files, such as a message, is seldom one.
            let takes_files = program != "git";
            let written_so = piece.contains(['/', '.']);
            for target in named_from(scene.world, scene.home, scene.dirs, &piece) {
                let is_dir = scene.world.is_dir(&target.real);
                let is_there = || scene.world.exists(&target.real);
                let is_file = takes_files && !is_dir && (written_so || is_there());
                let may_write = read_only::may_write_operands(&program);
                self.given.push(Given { program: program.clone(), target, is_file, may_write });
            }
        }
        for copied in &copies {
            self.copy(scene, copied);
        }
        for derived in &derived {
            self.derive(scene, derived);
        }
        for unpacked in &unpacked {
            self.unpack(start, unpacked);
        }
        hides_target
    }

    /// Notes which files `xargs` may be told of: those in the directories that are listed, if all the rest of
    /// the command line does is to list some.
    fn feed(&mut self, start: &places::Start<'_>, script: &Script) {
        let fed = script.commands.iter().find_map(|command| files::touched(&command.words).fed);
        let Some(access) = fed else { return };
        let listed: Option<Vec<Vec<Listed>>> =
            script.commands.iter().map(|command| files::listed(&command.words)).collect();
        let listed = listed.filter(|roots| {
            script.redirects.is_empty()
                && !script.here
                && roots.iter().any(|roots| !roots.is_empty())
        });
        let Some(listed) = listed else {
            let why = "`xargs` takes names from its input".to_owned();
            if access == Access::Writes {
                self.feeds_writer.get_or_insert(why.clone());
            }
            self.unsure.get_or_insert(why);
            return;
        };
        let dirs = self.dirs.clone();
        let line = Line { source: "", script };
        let written = self.writes.len();
        let (world, home) = (start.world, start.home);
        let loose = shell_settings::loosens_patterns(script);
        let scene = Scene { world, home, dirs: &dirs, line, at: 0, written, loose };
        for Listed { root, skips } in listed.into_iter().flatten() {
            for access in [Access::Reads, access] {
                let by = XARGS.to_owned();
                let (root, skips) = (root.clone(), skips.clone());
                self.go_through(&scene, &files::Tree { access, root, skips, by });
            }
        }
    }

    /// Notes which directories are searched for names that something else in the line may act on.
    fn list(
        &mut self,
        start: &places::Start<'_>,
        script: &Script,
        fixed: &fixed::Fixed<'_>,
        places: &places::Places,
    ) {
        let only_shows = texts::only_shows(script);
        for (at, command) in script.commands.iter().enumerate() {
            let words = fixed.command(command, at).words;
            let is_finder = commands::name(&words).is_some_and(commands::is_finder);
            let acts = is_finder && commands::acts(&words[1..]);
            if !commands::lists_files(&words) || only_shows && !acts {
                continue;
            }
            let (depth, only) = (files::depth(&words), files::one_name(&words));
            for root in files::searched(&words) {
                let root = match &root {
                    Some(Operand::Fixed(root) | Operand::Glob(root)) => root.as_str(),
                    None => ".",
                };
                let roots = named_from(start.world, start.home, &places.commands[at], root);
                let listing = |root| Listing { root, depth, only: only.clone() };
                self.listed.extend(roots.into_iter().map(listing));
            }
        }
    }

    /// A link that the line makes leads somewhere only once it runs: what is named behind it is not certain.
    fn link(&mut self, script: &Script) {
        let loops = script.steps.iter().any(|step| matches!(step, Step::Again | Step::Later));
        let made = script.commands.iter().position(|command| commands::makes_links(&command.words));
        let Some(made) = made else { return };
        let uses = |(at, command): (usize, &shell::Command)| {
            (at > made || loops && at != made)
                && commands::name(&command.words).is_some_and(commands::follows_links)
        };
        let used = script.commands.iter().enumerate().any(uses);
        let redirected = script
            .redirects
            .iter()
            .any(|redirect| !redirect.target.literal.as_deref().is_some_and(files::is_sink));
        if used || redirected {
            self.links.get_or_insert("the command makes a link and then uses names".to_owned());
        }
    }

    fn go_through(&mut self, scene: &Scene<'_>, tree: &files::Tree) {
        let here = Operand::Fixed(".".to_owned());
        if let Some(Operand::Glob(root) | Operand::Fixed(root)) = &tree.root {
            self.widen(scene, root, true);
        }
        for root in self.targets(scene, tree.root.as_ref().unwrap_or(&here)) {
            let files::Tree { access, skips, by, .. } = tree.clone();
            let tree = Tree { access, root, skips, by };
            if !self.trees.contains(&tree) {
                self.trees.push(tree);
            }
        }
    }

    /// Notes what a pattern may match whose names are printed for something else in the line.
    fn print_names(&mut self, scene: &Scene<'_>, text: &str) {
        let bare = text.replace(['"', '\''], "");
        if !bare.contains(['*', '?', '[']) {
            return;
        }
        let home = places::below_home(&bare, scene.home);
        let below_home = home.iter().filter_map(|path| Some((Path::new("/"), path.to_str()?)));
        let here = scene.dirs.iter().map(|dir| (dir.as_path(), bare.as_str()));
        let wide = here.chain(below_home).map(|(dir, text)| Wide::new(dir, text, scene.loose));
        self.wide.extend(wide);
    }

    /// Notes what a text may match that is not listed.
    fn widen(&mut self, scene: &Scene<'_>, text: &str, whole: bool) {
        if !text.contains(['*', '?', '[']) {
            return;
        }
        let loose = scene.loose;
        let home = places::below_home(text, scene.home);
        let below_home = home.iter().filter_map(|path| Some((Path::new("/"), path.to_str()?)));
        let here = scene.dirs.iter().map(|dir| (dir.as_path(), text));
        for (dir, pattern) in here.chain(below_home) {
            let wide = Wide::new(dir, pattern, loose).with_all_below(whole);
            let listed = || pattern::expand(scene.world, dir, pattern).is_some();
            if !self.wide.contains(&wide) && (loose || !listed()) {
                self.wide.push(wide);
            }
        }
    }

    /// What an operand names, wherever the command may be.
    fn targets(&mut self, scene: &Scene<'_>, operand: &Operand) -> Vec<Target> {
        let Scene { world, home, dirs, .. } = *scene;
        match operand {
            Operand::Fixed(file) => {
                self.widen(scene, file, false);
                named_from(world, home, dirs, file)
            }
            Operand::Glob(pattern) => {
                self.widen(scene, pattern, false);
                let mut targets = Vec::new();
                for dir in dirs {
                    match pattern::expand(world, dir, pattern) {
                        Some(found) => targets.extend(
                            found.iter().filter_map(|file| Target::of(world, dir, file).ok()),
                        ),
                        None => {
                            self.unsure.get_or_insert(format!("{pattern} matches too many files"));
                        }
                    }
                }
                targets
            }
        }
    }
}

/// Where a command is looked at.
#[derive(Clone, Copy)]
struct Scene<'a> {
    world: &'a dyn World,
    home: Option<&'a Path>,
    /// Where it may run.
    dirs: &'a [PathBuf],
    /// What it is part of.
    line: Line<'a>,
    /// Which of the commands it is.
    at: usize,
    /// How many of the files that the line writes are written before it.
    written: usize,
    /// Patterns match more names than usual.
    loose: bool,
}

/// What a text names, from any of these directories; with a `~` in front it may be below the user's home.
fn named_from(world: &dyn World, home: Option<&Path>, dirs: &[PathBuf], text: &str) -> Vec<Target> {
    let mut targets: Vec<Target> =
        dirs.iter().filter_map(|dir| Target::of(world, dir, text).ok()).collect();
    if let Some(path) = places::below_home(text, home) {
        let found = match path.to_str().filter(|path| path.contains(['*', '?', '['])) {
            Some(pattern) => pattern::expand(world, Path::new("/"), pattern).unwrap_or_default(),
            None => vec![path],
        };
        let found = found.iter().filter_map(|path| Target::of(world, Path::new("/"), path).ok());
        targets.extend(found);
    }
    targets
}

#[cfg(test)]
mod tests {
    use ona_testkit::Disk;

    use super::*;

    fn of(source: &str) -> Effects {
        Effects::of_shell(&Disk, source, Path::new("/")).unwrap()
    }

    #[test]
    fn whatever_words_could_name_is_known() {
        let named = |source| -> Vec<String> {
            let named = of(source).named;
            named.iter().map(|target| target.named.display().to_string()).collect()
        };
        assert_eq!(named("./a; cd /usr && bin/b"), ["/a", "/cd", "/usr", "/usr/bin/b"]);
        let all = named("make -Csub --file=x.mk");
        assert!(
            ["/sub", "/sub/x.mk"].iter().all(|name| all.iter().any(|one| one == name)),
            "{all:?}"
        );
        assert_eq!(named("PATH=p:/q run"), ["/p", "/q", "/run"]);
        assert_eq!(of("true").start.unwrap().real, Path::new("/"));
    }

    #[test]
    fn redirections_are_reads_and_writes() {
        let effects = of("sort < /in >> /out 2>/err; echo x >/dev/null");
        let at = |path: &str| Target::real(path.into());
        assert_eq!(effects.reads, [at("/in")]);
        assert_eq!(effects.writes, [at("/out"), at("/err")]);
        assert_eq!(effects.commands.len(), 2);
        assert_eq!(effects.opaque, None);
    }

    #[test]
    fn files_are_looked_for_wherever_the_command_may_be() {
        let effects = of("cd /a && cd b && cat f");
        let reads: Vec<_> =
            effects.reads.iter().map(|target| target.named.display().to_string()).collect();
        assert_eq!(reads, ["/a/b/f"]);
        let effects = of("cd /a; cd b; cat f");
        let reads: Vec<_> =
            effects.reads.iter().map(|target| target.named.display().to_string()).collect();
        assert_eq!(reads, ["/a/b/f", "/b/f", "/a/f", "/f"]);
        for source in [
            "c=rm; env $c -f x",
            "timeout 5 $c x",
            "xargs $c",
            "env {rm,x}",
            "cd \"-\"",
            "sudo \"$@\"",
        ] {
            assert!(of(source).opaque.is_some(), "{source}");
        }
    }

    #[test]
    fn what_the_text_does_not_tell_is_opaque() {
        assert!(of("echo > $OUT").opaque.is_some());
        assert!(of("echo > ~/x").opaque.is_some());
        assert!(of("cd $SUB && echo > x").opaque.is_some());
        assert!(of("cd sub && echo > x").opaque.is_none());
        assert!(of("$CMD && echo > x").opaque.is_some());
        assert!(of("echo 'unterminated").opaque.is_some());
        assert!(of(&"a".repeat(10_001)).opaque.is_some());
        assert!(of("cd /sub && echo > /x").opaque.is_none());
        for source in ["$X x", "$(echo rm) x", "\"$x\"rm x", "rm${IFS}x", "cd -", "cd", "cd $X"] {
            assert!(of(source).opaque.is_some(), "{source}");
        }
    }
}
