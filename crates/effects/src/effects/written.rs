//! Where a command line writes: what is certain, what is possible, and what its text does not tell.
//!
//! [`Effects::writes`](super::Effects::writes) holds every file that a rule could be about. Who judges a line by what it
//! changes has to know which of them it really writes, in the directory that it has then gone to.

use std::path::{Path, PathBuf};

use ona_programs::commands;
use ona_programs::files::{self, Operand, Output};
use ona_types::World;

use super::fixed::Fixed;
use super::places::{self, Places, Start};
use crate::path::Target;
use crate::pattern;
use crate::shell::{Command, Direction, Script, Step, Word};

/// What a command line is seen to write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Files that it writes if it gets that far.
    pub certain: Vec<Target>,
    /// Files that it may write, or directories that it may write in.
    pub possible: Vec<Target>,
    /// Why it writes files that its text does not name.
    pub unnamed: Option<String>,
    /// Commands of which it is not known what they write, and the directories they work in.
    pub unknown: Vec<(String, Vec<PathBuf>)>,
}

impl Written {
    /// Why there may be other files than those that are certain.
    pub fn more(&self) -> Option<String> {
        let program = |(text, _): &(String, Vec<PathBuf>)| {
            format!("what `{}` writes is not known", ona_types::whole_words(text, 80))
        };
        let possible = |target: &Target| {
            format!("it is not certain whether it writes {}", target.named.display())
        };
        let unknown = self.unnamed.clone().or_else(|| self.unknown.first().map(program));
        unknown.or_else(|| self.possible.first().map(possible))
    }
}

/// What is written, by all that is known of the line.
pub(super) fn written(
    start: &Start<'_>,
    script: &Script,
    values: &Fixed<'_>,
    possible: &Places,
) -> Written {
    let certain = places::certain(start, script, values);
    let loops = script.steps.iter().any(|step| matches!(step, Step::Again | Step::Later));
    let mut line = Line {
        world: start.world,
        home: start.home,
        certain: &certain,
        possible,
        loops,
        links: Vec::new(),
        found: Vec::new(),
        out: Written::default(),
    };
    for (at, redirect) in script.redirects.iter().enumerate() {
        if redirect.direction != Direction::Read {
            let owner = owner(script, at);
            line.redirect(&values.word(&redirect.target, owner), at, owner);
        }
    }
    for (at, command) in script.commands.iter().enumerate() {
        line.command(&values.command(command, at), at);
    }
    line.finish()
}

/// The command that a redirection is opened for, or the next one.
fn owner(script: &Script, redirect: usize) -> usize {
    let behind = script.steps.iter().skip_while(|step| **step != Step::Redirect(redirect));
    let next = behind.into_iter().find_map(|step| match step {
        Step::Command(at) => Some(*at),
        _ => None,
    });
    next.unwrap_or(script.commands.len())
}

/// A command line that is followed.
struct Line<'a> {
    world: &'a dyn World,
    home: Option<&'a Path>,
    certain: &'a Places,
    possible: &'a Places,
    /// What stands behind may run before.
    loops: bool,
    links: Vec<Made>,
    found: Vec<Found>,
    out: Written,
}

/// A file that is written.
struct Found {
    target: Target,
    sure: bool,
    /// The command that writes it.
    by: usize,
    /// It is taken as a name: where a link of this name leads does not matter.
    itself: bool,
}

/// A link that the line makes.
struct Made {
    /// Its name, with links above it followed or not.
    at: [PathBuf; 2],
    /// Where it leads, if that is known.
    to: Option<PathBuf>,
    by: usize,
}

/// Where a command runs.
struct Place {
    certain: Option<PathBuf>,
    possible: Vec<PathBuf>,
}

impl Line<'_> {
    fn place(&self, certain: &[PathBuf], possible: &[PathBuf]) -> Place {
        let one = match (certain, &self.certain.doubt) {
            ([dir], None) => Some(dir.clone()),
            // Bash keeps the name of a link that it went through.
            ([dir, other], None)
                if self.world.resolve(Path::new("/"), other).as_ref() == Ok(dir) =>
            {
                Some(other.clone())
            }
            _ => None,
        };
        let mut all = certain.to_vec();
        all.extend(possible.iter().filter(|dir| !certain.contains(dir)).cloned());
        // Where it is certain, it is nowhere else.
        Place { possible: one.clone().map_or(all, |dir| vec![dir]), certain: one }
    }

    fn add(&mut self, target: Target, sure: bool, by: usize, itself: bool) {
        self.found.push(Found { target, sure, by, itself });
    }

    fn redirect(&mut self, word: &Word, at: usize, by: usize) {
        let place = self.place(&self.certain.redirects[at], &self.possible.redirects[at]);
        match &word.literal {
            Some(file) if files::is_sink(file) => {}
            // What is done there is looked at by itself.
            None if word.source.starts_with(['<', '>']) => {}
            Some(file) => self.output(&Output::File(file.clone()), &place, by, false),
            None => {
                let why =
                    format!("the redirection target {} is only known at run time", word.source);
                self.out.unnamed.get_or_insert(why);
                self.may_write(&Operand::Fixed(".".to_owned()), &place, by);
                for part in files::fixed_parts(&word.source) {
                    self.may_write(&Operand::Fixed(part), &place, by);
                }
            }
        }
    }

    fn command(&mut self, command: &Command, by: usize) {
        let place = self.place(&self.certain.commands[by], &self.possible.commands[by]);
        let written = files::written(&command.words);
        let place = written.dirs.iter().fold(place, |place, dir| self.enter(&place, dir));
        let name = commands::name(&command.words);
        let itself = name.is_some_and(|name| matches!(name, "rm" | "unlink" | "ln" | "mv"));
        for output in &written.sure {
            self.output(output, &place, by, itself);
        }
        for operand in &written.maybe {
            self.may_write(operand, &place, by);
        }
        for link in &written.links {
            let target = |dir: &PathBuf| self.resolve(&link.at, dir).into_iter().next();
            let made: Vec<(PathBuf, Target)> = place
                .possible
                .iter()
                .filter_map(|dir| Some((dir.clone(), target(dir)?.0)))
                .collect();
            for (dir, target) in made {
                let above = target.named.parent().unwrap_or(Path::new("/")).to_owned();
                let real = self.world.resolve(Path::new("/"), &above).unwrap_or(above.clone());
                let name = target.named.file_name().map(PathBuf::from).unwrap_or_default();
                let from = if link.symbolic { above } else { dir };
                let to = link.to.as_ref().map(|to| from.join(to));
                self.links.push(Made { at: [target.named, real.join(name)], to, by });
            }
        }
        if let Some(why) = written.unnamed {
            // It writes something: where it is, as far as anyone knows.
            self.may_write(&Operand::Fixed(".".to_owned()), &place, by);
            self.out.unnamed.get_or_insert(why);
        }
        if written.unknown {
            let mut dirs = place.possible.clone();
            for dir in &written.works_in {
                dirs.extend(self.enter(&place, dir).possible);
            }
            self.out.unknown.push((command.text(), dirs));
        }
    }

    /// Where a command is that goes to another directory first.
    fn enter(&self, place: &Place, dir: &Word) -> Place {
        let to = |from: &PathBuf, dir: &str| {
            Target::of(self.world, from, dir).map_or_else(|_| from.join(dir), |dir| dir.named)
        };
        match &dir.literal {
            Some(dir) => Place {
                certain: self.base(dir, place).map(|from| to(&from, dir)),
                possible: place.possible.iter().map(|from| to(from, dir)).collect(),
            },
            None => Place { certain: None, possible: place.possible.clone() },
        }
    }

    /// The directory that a name is taken from, where it is certain: an absolute one is the same from anywhere.
    fn base(&self, name: &str, place: &Place) -> Option<PathBuf> {
        place.certain.clone().or_else(|| name.starts_with('/').then(|| "/".into()))
    }

    fn output(&mut self, output: &Output, place: &Place, by: usize, itself: bool) {
        let (Output::File(name)
        | Output::Glob(name)
        | Output::Below(name)
        | Output::Into { dir: name, .. }) = output;
        let base = self.base(name, place);
        let sure = base.is_some();
        for dir in base.map_or_else(|| place.possible.clone(), |dir| vec![dir]) {
            for (target, exact) in self.resolve(output, &dir) {
                self.add(target, sure && exact, by, itself);
            }
        }
    }

    /// The files that are meant from a directory, and whether exactly these are.
    fn resolve(&self, output: &Output, from: &Path) -> Vec<(Target, bool)> {
        let target = |from: &Path, name: &str| Target::of(self.world, from, name).ok();
        match output {
            Output::File(file) => target(from, file).map(|file| (file, true)).into_iter().collect(),
            Output::Below(file) => {
                let file = target(from, file).map(|file| {
                    let exact = !self.world.is_dir(&file.real);
                    (file, exact)
                });
                file.into_iter().collect()
            }
            Output::Glob(pattern) => {
                let mut found = pattern::expand(self.world, from, pattern).unwrap_or_default();
                // What matches nothing stands for itself.
                found.retain(|path| self.world.exists(path));
                let found = found.iter().filter_map(|file| Target::of(self.world, from, file).ok());
                // A `?` is not followed to the letter.
                found.map(|file| (file, !pattern.contains('?'))).collect()
            }
            Output::Into { dir, name, always } => {
                let Some(dir) = target(from, dir) else { return Vec::new() };
                if !always && !self.world.is_dir(&dir.real) {
                    return vec![(dir, true)];
                }
                // What is in the directory, not itself.
                if matches!(name.as_str(), "" | "." | "..") {
                    return vec![(dir, false)];
                }
                target(&dir.named, name).map(|file| (file, true)).into_iter().collect()
            }
        }
    }

    fn may_write(&mut self, operand: &Operand, place: &Place, by: usize) {
        let targets = match operand {
            Operand::Fixed(file) => super::named_from(self.world, self.home, &place.possible, file),
            Operand::Glob(pattern) => {
                let output = Output::Glob(pattern.clone());
                let found = place.possible.iter().flat_map(|dir| self.resolve(&output, dir));
                found.map(|(target, _)| target).collect()
            }
        };
        targets.into_iter().for_each(|target| self.add(target, false, by, false));
    }

    fn finish(mut self) -> Written {
        for Found { target, sure, by, itself } in std::mem::take(&mut self.found) {
            let (target, known) = self.through_links(target, by, itself);
            if !known {
                self.out.unnamed.get_or_insert(format!(
                    "where {} leads is only known at run time",
                    target.named.display()
                ));
            }
            let list = if sure && known { &mut self.out.certain } else { &mut self.out.possible };
            if !list.contains(&target) {
                list.push(target);
            }
        }
        self.out
    }

    /// Where a file is once the line has made its links, and whether that is known.
    fn through_links(&self, mut target: Target, by: usize, itself: bool) -> (Target, bool) {
        let mut left: Vec<&Made> =
            self.links.iter().filter(|link| link.by < by || self.loops && link.by != by).collect();
        while let Some((at, rest)) = left.iter().enumerate().find_map(|(at, link)| {
            let below = |path: &Path| {
                link.at.iter().find_map(|link| path.strip_prefix(link).ok().map(Path::to_owned))
            };
            let rest = below(&target.real).or_else(|| below(&target.named))?;
            (!itself || !rest.as_os_str().is_empty()).then_some((at, rest))
        }) {
            let Some(to) = &left.remove(at).to else { return (target, false) };
            match Target::of(self.world, to, &rest)
                .or_else(|_| Target::of(self.world, Path::new("/"), to))
            {
                Ok(there) => target.real = there.real,
                Err(_) => return (target, false),
            }
        }
        (target, true)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use ona_testkit::Disk;

    use super::*;
    use crate::{Effects, Start};

    /// What a line writes below a directory with `d`, `src` and some files, where the home is `home` next to it: paths
    /// outside the directory begin with `..`.
    fn written(line: &str) -> (Vec<String>, Vec<String>, Written) {
        let dir = tempfile::tempdir().unwrap();
        let above = dir.path().canonicalize().unwrap();
        let (root, home) = (above.join("w"), above.join("home"));
        for dir in [&root.join("d"), &root.join("src"), &home, &above.join("else")] {
            fs::create_dir_all(dir).unwrap();
        }
        for file in ["a", "b", "src/x.o", "src/y.o"] {
            fs::write(root.join(file), "").unwrap();
        }
        // A sign that is in no path.
        let line = line.replace("../../else", "\u{1}");
        let line = line.replace("/else", above.join("else").to_str().unwrap());
        let line = line.replace('\u{1}', "../../else");
        let start = Start { cwd: &root, home: Some(&home) };
        let written = Effects::of_shell(&Disk, &line, start).unwrap().written;
        let shown = |targets: &[Target]| -> Vec<String> {
            let short = |target: &Target| match target.real.strip_prefix(&root) {
                Ok(below) => below.display().to_string(),
                Err(_) => format!(
                    "../{}",
                    target.real.strip_prefix(&above).unwrap_or(&target.real).display()
                ),
            };
            targets.iter().map(short).collect()
        };
        (shown(&written.certain), shown(&written.possible), written)
    }

    #[test]
    fn what_programs_certainly_write() {
        for (line, files) in [
            ("sort -o out a", &["out"][..]),
            ("dd if=a of=out", &["out"]),
            ("install -m 644 a out", &["out"]),
            ("install -d x/y", &["x/y"]),
            ("install -Dt src a", &["src/a"]),
            ("ln -s a out", &["out"]),
            ("ln -s /else d", &["d/else"]),
            ("ln -s d/else", &["else"]),
            ("curl -so out https://h/x", &["out"]),
            ("curl --output-dir d -o out https://h/x", &["d/out"]),
            ("curl -O https://h/x?y", &["x"]),
            ("wget -P d https://h/x", &["d/x"]),
            ("tar cf out.tar a b", &["out.tar"]),
            ("tar -C /else -czf out.tgz x", &["out.tgz"]),
            ("awk 'BEGIN{print > \"out\"}'", &["out"]),
            ("gawk -i inplace '{print}' a", &["a"]),
            ("split a", &["xaa"]),
            ("split -l1 a d/p", &["d/paa"]),
            ("csplit a 1", &["xx00"]),
            ("find . -fprint out", &["out"]),
            ("timeout 3 touch out", &["out"]),
            ("timeout -s KILL 3 env -u X Y=1 touch out", &["out"]),
            ("env touch out", &["out"]),
            ("env -C d touch out", &["d/out"]),
            ("env --chdir=d sort -o out a", &["d/out"]),
            ("sudo -u me tee out", &["out"]),
            ("setsid touch out", &["out"]),
            ("sed -i p a", &["a"]),
            ("sed -n 'w out' a", &["out"]),
            ("sed -es/i/j/ a", &[]),
            ("sed p a", &[]),
            ("git mv a d", &["a", "d/a"]),
            ("git -C d mv x y", &["d/x", "d/y"]),
            ("git rm -q a", &["a"]),
            ("git rm --cached a", &[]),
            ("git restore a", &["a"]),
            ("git clone https://h/x d/x", &["d/x"]),
            ("git restore -s HEAD src d/x", &["d/x"]),
            ("mkdir -p src && tee src/f", &["src/f"]),
            ("cat a > >(sort -o out)", &["out"]),
            ("cp a /dev/null", &[]),
            ("uniq a out", &["out"]),
            ("zip -r out.zip src", &["out.zip"]),
            ("gzip -c a", &[]),
            ("gzip a", &["a"]),
            ("chmod 755 a", &["a"]),
            ("chmod -x a", &["a"]),
            ("cp /else/f d", &["d/f"]),
            ("cp -t d a b", &["d/a", "d/b"]),
            ("mv a b d", &["a", "b", "d/a", "d/b"]),
            ("rsync -a /else/x host:y", &[]),
            ("rsync -a host:y d/y", &["d/y"]),
            ("rm src/*.o", &["src/x.o", "src/y.o"]),
            ("yq -i '.a = 1' a", &["a"]),
            ("cat a | xargs grep x", &[]),
            ("bash -c 'cd d && sort -o out'", &["d/out"]),
        ] {
            assert_eq!(written(line).0, files, "{line}");
        }
    }

    #[test]
    fn it_is_written_where_the_command_then_is() {
        for (line, file) in [
            ("cd ~ && echo x > f", "../home/f"),
            ("cd && echo x > f", "../home/f"),
            ("cd $HOME && echo x > f", "../home/f"),
            ("cd \"$HOME/s\" && echo x > f", "../home/s/f"),
            ("touch ~/f", "../home/f"),
            ("echo x > ~/f", "../home/f"),
            ("echo x > $HOME/f", "../home/f"),
            ("echo x > \"${HOME}/f\"", "../home/f"),
            ("d=/else; cd $d && echo x > f", "../else/f"),
            ("F=/else/f; echo x > $F", "../else/f"),
            ("F=/else/f; touch \"$F\"", "../else/f"),
            ("cd /else && sort -o f x", "../else/f"),
            ("cd /else && install a f", "../else/f"),
            ("cd /else && split x", "../else/xaa"),
            ("cd /else && env touch f", "../else/f"),
            ("env -C /else touch f", "../else/f"),
            ("sort -o /else/f a", "../else/f"),
            ("make; cd d; sort -o /else/f", "../else/f"),
            ("ln -s /else src/l && echo x > src/l/f", "../else/f"),
            ("ln -s ../../else src/l && cd src && touch l/f", "../else/f"),
            ("cd src && ln -s ../../else l && cd .. && cp a src/l/f", "../else/f"),
            ("ln -s /else src/l && cd src/l && touch f", "../else/f"),
            ("ln -s /else src/l; ln -s l src/m; echo > src/m/f", "../else/f"),
            ("ln /else/h src/l && echo x > src/l", "../else/h"),
            ("cp -s /else/h src/l && echo x > src/l", "../else/h"),
            ("for i in 1 2; do echo x > src/l/f; ln -s /else src/l; done", "../else/f"),
        ] {
            let (certain, ..) = written(line);
            assert!(certain.iter().any(|one| one == file), "{line}: {certain:?}");
        }
        let (certain, possible, _) = written("rm -f src/l && ln -s /else src/l");
        assert_eq!((certain, possible), (vec!["src/l".to_owned()], vec![]));
        let (certain, ..) = written("ln -sfn /else src/l && rm src/l");
        assert_eq!(certain, ["src/l"], "the link itself");
    }

    #[test]
    fn what_is_not_certain_is_possible_or_owned_up_to() {
        for (line, file) in [
            ("cd gone; touch f", "gone/f"),
            ("cd gone; touch f", "f"),
            ("cd /else; make; cd -; touch f", "../else/f"),
            ("HOME=/else; echo x > ~/f", "../home/f"),
            ("cd /else && xargs touch <<< f", "../else"),
            ("cd /else && touch $X", "../else"),
            ("cd /else && tar xf x.tar", "../else"),
            ("tar xf x.tar -C /else", "../else"),
            ("cd /else && patch -p1 -i x", "../else"),
            ("cp src/* /else", "../else"),
            ("strace -f touch /else/f", "../else/f"),
            ("find /else -name x -delete", "../else"),
            ("find /else -exec rm {} +", "../else"),
            ("git -C /else pull", "../else"),
            ("cd /else && git checkout .", "../else"),
            ("git config --global a.b c", "../home/.gitconfig"),
            ("git log --output=/else/f", "../else/f"),
            ("perl -pi -e '/x/ && s/a/b/' /else/f", "../else/f"),
        ] {
            let (certain, possible, written) = written(line);
            assert!(possible.iter().any(|one| one == file), "{line}: {possible:?} {certain:?}");
            assert!(written.more().is_some(), "{line}");
        }
        // And nothing outside where there is nothing.
        for line in [
            "ln -s /else/x src/x",
            "cp /else/x src/x",
            "zip out.zip /else/x",
            "gzip -c /else/x > x.gz",
            "tar -C /else -cf out.tar x",
            "find /else -exec unknown {} +",
            "find /else -exec grep x {} +",
            "git clone https://h/x src/x",
            "git fetch https://h/x",
            "perl -pi -e '/x/ && s/a/b/' src/x",
            "rsync -a /else/ src/",
            "sudo apt install nano",
            "npm install --save x",
            "for f in src/*; do sed -i p $f; done",
            "cd /else && cat x; grep -r y . | sort",
        ] {
            let (certain, possible, _) = written(line);
            let outside = |one: &&String| one.starts_with("..");
            assert_eq!(certain.iter().chain(&possible).find(outside), None, "{line}");
        }
        for line in ["touch $F", "echo > $F", "xargs rm < list", "ln -s $X src/l && tee src/l/f"] {
            assert!(written(line).2.unnamed.is_some(), "{line}");
        }
        let unknown = written("cd /else && make").2.unknown;
        assert!(unknown[0].1[0].ends_with("else"), "{unknown:?}");
        let unknown = written("make -C /else").2.unknown;
        assert!(unknown[0].1.iter().any(|dir| dir.ends_with("else")), "{unknown:?}");
    }
}
