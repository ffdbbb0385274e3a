//! The files a command line is certain to write.
//!
//! [`Effects::writes`] holds every file a command may write, which is right where a rule forbids files and too much
//! here: a copy would be refused for the file it copies from. What is certain is judged before the run, the rest by
//! comparing the work tree after it.

use std::path::Path;

use ona_effects::Effects;
use ona_effects::path::Target;
use ona_effects::shell::{Command, Word};
use ona_repo::Disk;

/// Which operands of a command are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Written {
    /// All.
    Every,
    /// The last, or what lies in it under the names of the others.
    Last,
    /// The last likewise, and the others go away.
    Moved,
    /// None.
    Nothing,
}

/// The commands that are known, and the letters of their options that take a value.
const COMMANDS: &[(&str, Written, &str)] = &[
    ("rm", Written::Every, ""),
    ("rmdir", Written::Every, ""),
    ("unlink", Written::Every, ""),
    ("touch", Written::Every, "dtr"),
    ("mkdir", Written::Every, "m"),
    ("tee", Written::Every, ""),
    ("truncate", Written::Every, "sr"),
    ("cp", Written::Last, "S"),
    ("mv", Written::Moved, "S"),
    ("echo", Written::Nothing, ""),
    ("printf", Written::Nothing, ""),
    ("cat", Written::Nothing, ""),
    ("true", Written::Nothing, ""),
    (":", Written::Nothing, ""),
    ("cd", Written::Nothing, ""),
    ("exit", Written::Nothing, ""),
    ("ls", Written::Nothing, ""),
    ("popd", Written::Nothing, ""),
    ("pushd", Written::Nothing, ""),
    ("pwd", Written::Nothing, ""),
];

/// The files that a command line with these effects is certain to write, and why there may be more.
pub fn written(effects: &Effects) -> (Vec<Target>, Option<String>) {
    let mut files: Vec<Target> = Vec::new();
    let mut add = |target: Target| {
        if !files.contains(&target) {
            files.push(target);
        }
    };
    let mut unknown = effects.opaque.clone().or_else(|| effects.wanders.clone());
    effects.certainly_redirected.iter().cloned().for_each(&mut add);
    let places = effects.command_dirs.iter().chain(std::iter::repeat(&None));
    for (command, dir) in effects.commands.iter().zip(places) {
        match operands(command, dir.as_deref()) {
            Some(targets) => targets.into_iter().for_each(&mut add),
            None => {
                unknown.get_or_insert_with(|| {
                    format!("what `{}` writes is not known", shown(command))
                });
            }
        }
    }
    (files, unknown)
}

fn shown(command: &Command) -> String {
    ona_types::whole_words(&command.text(), 80).to_owned()
}

/// What a command writes, if that is certain: in this directory, if it is certain which one.
fn operands(command: &Command, dir: Option<&Path>) -> Option<Vec<Target>> {
    let name = command.name()?;
    let (_, written, valued) = COMMANDS.iter().find(|(known, ..)| *known == name)?;
    if *written == Written::Nothing {
        return Some(Vec::new());
    }
    let operands = plain_operands(&command.words[1..], valued)?;
    // From wherever it runs, an absolute path is the same.
    let absolute = operands.iter().all(|path| path.starts_with('/'));
    let dir = dir.or_else(|| Some(Path::new("/")).filter(|_| absolute))?;
    let target = |path: &str| Target::of(&Disk, dir, path).ok();
    let (last, others) = operands.split_last()?;
    if *written == Written::Every {
        return operands.iter().map(|path| target(path)).collect();
    }
    let to = target(last)?;
    let mut targets = Vec::new();
    for other in others {
        let file = Path::new(other).file_name().filter(|_| to.real.is_dir() || others.len() > 1);
        targets.push(match file {
            Some(file) => Target::of(&Disk, &to.named, file).ok()?,
            None => to.clone(),
        });
        if *written == Written::Moved {
            targets.push(target(other)?);
        }
    }
    Some(targets)
}

/// The operands; `None` if one is only known at run time, or an option could change what they are.
fn plain_operands<'w>(words: &'w [Word], valued: &str) -> Option<Vec<&'w str>> {
    let mut operands = Vec::new();
    let mut options = true;
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let text = word.literal.as_deref()?;
        match text.strip_prefix('-').filter(|letters| options && !letters.is_empty()) {
            None => operands.push(text),
            Some("-") => options = false,
            // `-t DIR` and its long form turn the operands around, and long options may take a value.
            Some(letters) if letters.starts_with('-') && letters.contains('=') => {
                if letters.starts_with("-t") {
                    return None;
                }
            }
            Some(letters) if letters.starts_with('-') => {
                let harmless = ["-parents", "-force", "-recursive", "-verbose", "-append"];
                harmless.contains(&letters).then_some(())?;
            }
            Some(letters) if letters.contains('t') && !valued.contains('t') => return None,
            // A value may follow the letter at once; behind the last letter it is the next word.
            Some(letters) => {
                if letters.find(|letter| valued.contains(letter)) == Some(letters.len() - 1) {
                    words.next()?;
                }
            }
        }
    }
    Some(operands)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_is_certain_is_named_and_the_rest_is_owned_up_to() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir(root.join("d")).unwrap();
        for (line, files, complete) in [
            ("echo a > src/b", &["src/b"][..], true),
            ("rm -rf lib 'src/a b'", &["lib", "src/a b"], true),
            ("touch -d yesterday x -- -y", &["x", "-y"], true),
            ("mkdir -pm 755 a/b", &["a/b"], true),
            ("truncate -s0 a", &["a"], true),
            ("cat x | tee -a y > z", &["z", "y"], true),
            ("cp README.md src/x", &["src/x"], true),
            ("cp -r a b d", &["d/a", "d/b"], true),
            ("cp a d", &["d/a"], true),
            ("mv a d", &["d/a", "a"], true),
            ("cp -t d a", &[], false),
            ("cp --target-directory=d a", &[], false),
            ("rm $X", &[], false),
            ("rm *.o", &[], false),
            ("make", &[], false),
            ("make > log", &["log"], false),
            ("sed -i s/a/b/ src/x", &[], false),
            ("rm a; make", &["a"], false),
            ("cd d && rm a", &["d/a"], true),
            ("cd d && echo hi > new.rs", &["d/new.rs"], true),
            ("cd d; echo hi > new.rs", &["d/new.rs"], true),
            ("pushd d && echo hi > new.rs && popd && echo > x", &["d/new.rs", "x"], true),
            ("(cd d && echo hi > new.rs); echo > x", &["d/new.rs", "x"], true),
            ("cd gone; echo hi > new.rs", &[], false),
            ("cd gone && echo hi > new.rs", &["gone/new.rs"], true),
            ("make; cd d; echo hi > new.rs", &[], false),
            ("cd $X && echo hi > new.rs", &[], false),
            ("cd gone; rm $ROOT/a b", &[], false),
            ("cd gone; rm $ROOT/a", &["a"], true),
            ("cd d && echo hi > ../new.rs > $ROOT/lib", &["new.rs", "lib"], true),
            ("cd d; (cd .. && make) > $ROOT/d/log", &["d/log"], false),
            ("bash -c 'cd d; echo > $ROOT/x; echo > y'", &["x"], false),
            ("bash -c 'cd d && echo > y'", &["d/y"], false),
            ("cd . && echo hi > new.rs", &["new.rs"], true),
            ("bash -c 'rm a'", &["a"], false),
            ("echo 'open", &[], false),
        ] {
            let line = &line.replace("$ROOT", root.to_str().unwrap());
            let effects = Effects::of_shell(&Disk, line, root.as_path()).unwrap();
            let (found, unknown) = written(&effects);
            let names: Vec<_> = found
                .iter()
                .map(|target| target.real.strip_prefix(&root).unwrap().display().to_string())
                .collect();
            assert_eq!(names, files, "{line}");
            assert_eq!(unknown.is_none(), complete, "{line}: {unknown:?}");
        }
    }
}
