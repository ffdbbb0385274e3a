//! Repositories that stand open among the files: a directory with `HEAD`, `objects` and a configuration of its own, or one
//! whose `hooks` run when something is pushed to it. No path in it is protected as those in `.git` are, so a rule about the
//! beginning of a git command does not cover one that works there.

use std::path::{Path, PathBuf};

use ona_programs::commands;
use ona_programs::git_options::{GitCall, is_path};

use crate::effects::TOPLEVEL;
use crate::hidden_options::Known;
use crate::shell::Word;

/// The limit for a directory that is looked at.
const MAX_NAMES: usize = 10_000;

/// Programs that can put a whole repository in place before git comes to it.
const PLACERS: &[&str] =
    &["7z", "bsdtar", "cp", "cpio", "install", "ln", "mv", "rsync", "tar", "unzip"];

/// Subcommands that make a repository, or look at none.
const WITHOUT: &[&str] = &["clone", "config", "help", "init", "version"];

impl Known<'_> {
    /// Whether git works in such a repository, or may, or sends something to one.
    pub(crate) fn enters_open_repository(&self, words: &[Word]) -> bool {
        if commands::name(words) != Some("git") {
            return false;
        }
        let call = GitCall::of(&words[1..]);
        let to_top = |word: &Word| word.source == TOPLEVEL;
        if call.is(WITHOUT) && call.dir.is_none() {
            return false;
        }
        if call.dir_is_open && !words.iter().any(to_top) {
            return true;
        }
        let below = call.dir.as_deref().unwrap_or(".");
        let dirs =
            self.dirs.iter().filter_map(|dir| self.world.resolve(dir, Path::new(below)).ok());
        let dirs: Vec<PathBuf> = dirs.collect();
        let is_repository = |dir: &PathBuf, name: &str| {
            [name.to_owned(), format!("{name}.git")].iter().any(|name| {
                let path = dir.join(name);
                ["HEAD", ".git"].iter().any(|inner| self.world.exists(&path.join(inner)))
            })
        };
        let mut sent = call.receivers();
        sent.retain(|name| name != ".");
        dirs.iter().any(|dir| self.is_open(dir))
            || sent
                .iter()
                .any(|name| is_path(name) || dirs.iter().any(|dir| is_repository(dir, name)))
            || !dirs.iter().any(|dir| self.world.is_dir(dir)) && self.places_repositories()
    }

    /// Whether git takes a directory, or the next one above it that is a repository, for one that stands open.
    fn is_open(&self, dir: &Path) -> bool {
        let has = |dir: &Path, name: &str| self.world.exists(&dir.join(name));
        for dir in dir.ancestors() {
            if has(dir, ".git") {
                return false;
            }
            // A `HEAD` that leads nowhere counts.
            let is_head = |name: &std::ffi::OsString| name == "HEAD";
            if ["commondir", "objects", "refs"].iter().any(|name| has(dir, name))
                && self.world.names(dir, MAX_NAMES).is_none_or(|names| names.iter().any(is_head))
            {
                // The inside of a `.git` is protected.
                return !dir.components().any(|part| part.as_os_str() == ".git");
            }
        }
        false
    }

    /// Whether the line may make such a repository before git comes to it.
    fn places_repositories(&self) -> bool {
        let places = |words: &[Word]| match commands::name(words) {
            Some("git") => {
                let bare = |word: &Word| {
                    let text = word.source.as_str();
                    ["--b", "--mir", "--sep"].iter().any(|begin| text.starts_with(begin))
                };
                words.iter().any(bare)
            }
            Some(name) => PLACERS.contains(&name),
            None => false,
        };
        let parts = ["HEAD", "config", "commondir"];
        let writes = |source: &str| parts.iter().any(|part| source.ends_with(part));
        self.script.commands.iter().any(|command| places(&command.words))
            || self.script.redirects.iter().any(|redirect| writes(&redirect.target.source))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use ona_testkit::Disk;

    use crate::Effects;

    #[test]
    fn git_in_or_towards_a_repository_among_the_files_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        for path in [".git/refs", "evil/refs", "evil/objects", "evil/deep", "sub", "new"] {
            fs::create_dir_all(top.join(path)).unwrap();
        }
        fs::write(top.join(".git/HEAD"), "").unwrap();
        fs::write(top.join("evil/HEAD"), "").unwrap();
        let hides = |source: &str| {
            let effects = Effects::of_shell(&Disk, source, &top).unwrap();
            effects.commands.iter().any(|command| command.hides_options)
        };
        for source in [
            "git push ./evil HEAD:refs/heads/y",
            "git push evil HEAD:refs/heads/y",
            "git push -u -o x ../evil main",
            "git push --repo=./evil",
            "git push --repo evil",
            "git push -- ./evil main",
            "timeout 5 git push ./evil main",
            "git archive --remote=./evil --format=tgz x",
            "git archive --rem evil x",
            "git remote add x ./evil",
            "git remote set-url origin /srv/evil",
            "git subtree push --prefix a/b ./evil main",
            "git -C evil diff x",
            "git -C evil/deep diff x",
            "git -C \"$d\" diff x",
            "cd evil && git diff x",
            "git init -q --bare e2; git -C e2 diff x",
            "cp -r evil e2; git -C e2 diff x",
            "mkdir -p e2/objects e2/refs; echo x > e2/HEAD; cd e2 && git diff",
        ] {
            assert!(hides(source), "{source}");
        }
        for source in [
            "git push",
            "git push origin main",
            "git push -u origin feature/x",
            "git push -o ci.skip origin feature/x",
            "git push git@host:a/b.git main",
            "git push https://x.example/y main",
            "git push . HEAD:main",
            "git remote add x https://x.example/y",
            "git remote add x git@host:a/b",
            "git archive HEAD -o x.tar",
            "git subtree push --prefix a/b origin main",
            "git -C sub diff",
            "git -C .git log",
            "git fetch ../other main",
            "cd sub && git status",
            "mkdir x && cd x && git init && git add .",
            "git clone https://x.example/y z && git -C z log",
            "cd \"$(git rev-parse --show-toplevel)\" && git status",
        ] {
            assert!(!hides(source), "{source}");
        }
    }
}
