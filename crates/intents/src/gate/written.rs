//! What a command line would write, as the gate judges it: what is certain before the run, what is in the workspace by
//! comparing the work tree after it. Elsewhere nothing is compared, so there a possible write counts too.

use std::path::Path;

use ona_effects::Effects;
use ona_effects::path::Target;

/// The files that a command line with these effects is certain to write, and why there may be more.
pub fn written(effects: &Effects) -> (Vec<Target>, Option<String>) {
    let unknown = effects.opaque.clone().or_else(|| effects.written.more());
    (effects.written.certain.clone(), unknown)
}

/// What a command line may do outside the workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Elsewhere {
    /// Why it may write there, although that is not certain.
    pub possible: Option<String>,
    /// Why other files may be written there that nobody sees.
    pub unseen: Vec<String>,
}

impl Elsewhere {
    /// By its effects, for the workspace with this root.
    pub fn of(effects: &Effects, root: &Path) -> Self {
        let written = &effects.written;
        let outside = written.possible.iter().find(|target| !target.real.starts_with(root));
        let possible = outside.map(|target| {
            let place = target.named.display();
            format!("it may write {place}, which is outside the workspace")
        });
        let mut unseen: Vec<String> = written.unnamed.iter().cloned().collect();
        for (command, dirs) in &written.unknown {
            if let Some(dir) = dirs.iter().find(|dir| !dir.starts_with(root)) {
                let command = ona_types::whole_words(command, 80);
                unseen.push(format!("`{command}` runs in {}", dir.display()));
            }
        }
        Self { possible, unseen }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use ona_repo::Disk;

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
            ("mv a d", &["a", "d/a"], true),
            ("cp -t d a", &["d/a"], true),
            ("cp --target-directory=d a", &["d/a"], true),
            ("rm $X", &[], false),
            ("rm *.o", &[], true),
            ("make", &[], false),
            ("make > log", &["log"], false),
            ("sed -i s/a/b/ src/x", &["src/x"], true),
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
            ("cd gone; rm $ROOT/a b", &["a"], false),
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
