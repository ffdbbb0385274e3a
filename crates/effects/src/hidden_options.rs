//! Words that are options only once the line runs: `tar tf a.tar $x` with `x=--to-command=sh`, or `tar cf a.tar *` beside a
//! file of such a name. A rule about the beginning of a command must not cover what nobody sees.

use std::path::PathBuf;

use ona_programs::commands;
use ona_programs::git_options::GitCall;
use ona_types::World;

use crate::pattern;
use crate::shell::{Script, Word};

/// Commands of git with an option that runs a program or writes a file, and their options whose value is the next word.
const GIT: &[(&[&str], &[&str])] = &[
    (
        &["diff", "diff-files", "diff-index", "diff-tree", "log", "show", "whatchanged"],
        &[
            "-G",
            "-L",
            "-S",
            "-n",
            "--after",
            "--author",
            "--before",
            "--committer",
            "--grep",
            "--max-count",
            "--since",
            "--skip",
            "--until",
        ],
    ),
    (&["grep"], &["-A", "-B", "-C", "-e", "-f", "-m"]),
    (&["clone"], &["-b", "-c", "-j", "-o", "--branch", "--depth", "--origin"]),
    (
        &["fetch", "fetch-pack", "ls-remote", "pull", "push", "remote", "send-pack"],
        &["-o", "--depth"],
    ),
    (&["archive", "difftool", "format-patch", "rebase", "send-email"], &["-o", "--onto"]),
];

/// Tests of `find` and options of `fd` whose value is the next word.
#[rustfmt::skip]
const FIND_VALUES: &[&str] = &[
    "-E", "-amin", "-anewer", "-atime", "-cmin", "-cnewer", "-ctime", "-d", "-e", "-fstype", "-gid", "-group", "-ilname",
    "-iname", "-inum", "-ipath", "-iregex", "-iwholename", "-links", "-lname", "-maxdepth", "-mindepth", "-mmin", "-mtime",
    "-name", "-newer", "-path", "-perm", "-printf", "-regex", "-regextype", "-samefile", "-size", "-t", "-type", "-uid",
    "-used", "-user", "-wholename", "-xtype", "--exclude", "--extension", "--type",
];

/// What a line tells about its variables and files.
#[derive(Clone, Copy)]
pub(crate) struct Known<'a> {
    pub(crate) world: &'a dyn World,
    pub(crate) script: &'a Script,
    /// Directories the command may run in.
    pub(crate) dirs: &'a [PathBuf],
}

impl Known<'_> {
    /// Whether a command may get an option that its text does not show, and such an option could make it run a program or
    /// write a file; or works in a repository that could.
    pub(crate) fn hides_options(&self, words: &[Word]) -> bool {
        commands::all_shown(words).any(|words| {
            if self.enters_open_repository(words) {
                return true;
            }
            let seen = words.iter().position(|word| word.literal.as_deref() == Some("--"));
            // To a finder what follows is no safer.
            let seen = seen.filter(|_| !commands::name(words).is_some_and(commands::is_finder));
            let words = &words[..seen.unwrap_or(words.len())];
            // The name of an option, or what it is set to, is a file's, or several.
            let is_open = |word: &Word| {
                word.literal.is_none()
                    && word.source.starts_with('-')
                    && unquoted(&word.source).contains(['*', '?', '[', '{'])
            };
            if words.iter().any(is_open) {
                return true;
            }
            operands(words).iter().any(|word| self.may_be_option(word))
        })
    }

    fn may_be_option(&self, word: &Word) -> bool {
        if word.literal.is_some() {
            return false;
        }
        let text = word.source.trim_start_matches(['"', '\'']);
        match text.chars().next() {
            Some('$') => !self.is_set_to_an_operand(text),
            Some('`' | '{' | '\\') => true,
            Some('*' | '?' | '[') => self.dirs.iter().any(|dir| {
                let found = pattern::expand(self.world, dir, &word.source);
                // In a directory, that directory's name stands before it.
                let is_option = |path: &PathBuf| {
                    let below = path.strip_prefix(dir).unwrap_or(path);
                    below.as_os_str().as_encoded_bytes().starts_with(b"-")
                };
                found.is_none_or(|found| found.iter().any(is_option))
            }),
            _ => false,
        }
    }

    /// `$x` or `${x}…`, where all that the line sets it to begins like an operand.
    fn is_set_to_an_operand(&self, text: &str) -> bool {
        let Some(name) = text.strip_prefix("${").or_else(|| text.strip_prefix('$')) else {
            return false;
        };
        let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let (name, behind) = name.split_at(end.unwrap_or(name.len()));
        // `${x:-…}` and `${x#…}` are something else.
        if text.starts_with("${") && !behind.starts_with('}') {
            return false;
        }
        let all = self.script.commands.iter().flat_map(|command| &command.assignments);
        let mut set = all.filter(|assignment| assignment.name == name).peekable();
        let begins_like_an_operand = |value: &str| {
            let value = value.trim_start_matches(['"', '\'']);
            value.starts_with(|c: char| c.is_ascii_alphanumeric() || "/._:@%+~".contains(c))
        };
        !self.script.sets_otherwise
            && set.peek().is_some()
            && set.all(|assignment| begins_like_an_operand(&assignment.value))
    }
}

/// A word without what is quoted, expanded as a variable or escaped in it.
fn unquoted(source: &str) -> String {
    let (mut shown, mut quote) = (String::new(), None);
    let mut characters = source.chars().peekable();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(character),
            (None, '\\') => drop(characters.next()),
            (None, '$') if characters.peek() == Some(&'{') => quote = Some('}'),
            (None, '$') if characters.peek() == Some(&'(') => quote = Some(')'),
            (None, _) => shown.push(character),
        }
    }
    shown
}

/// The words that may be options or operands, if an option of the program could do more than its operands say.
fn operands(words: &[Word]) -> Vec<Word> {
    let Some((_, rest)) = words.split_first() else { return Vec::new() };
    match commands::name(words) {
        Some("git") => git_operands(rest),
        Some(name) if commands::is_finder(name) => {
            let is_test = |word: &Word| {
                word.literal.as_deref().is_some_and(|text| FIND_VALUES.contains(&text))
            };
            let pairs = words.iter().zip(rest).filter(|(before, _)| !is_test(before));
            pairs.map(|(_, word)| word.clone()).collect()
        }
        Some(name) => ona_programs::known(name)
            .filter(|program| program.has_risky_options())
            .map_or_else(Vec::new, |program| program.read(rest).operands),
        None => Vec::new(),
    }
}

fn git_operands(words: &[Word]) -> Vec<Word> {
    let call = GitCall::of(words);
    let Some((_, valued)) = GIT.iter().find(|(names, _)| call.is(names)) else { return Vec::new() };
    let mut found = Vec::new();
    let mut words = call.arguments.iter();
    while let Some(word) = words.next() {
        match &word.literal {
            Some(text) if valued.contains(&text.as_str()) => drop(words.next()),
            _ => found.push(word.clone()),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use ona_testkit::Disk;

    use crate::Effects;

    fn hides(source: &str, dir: &Path) -> bool {
        let effects = Effects::of_shell(&Disk, source, dir).unwrap();
        effects.commands.iter().any(|command| command.hides_options)
    }

    #[test]
    fn variables_may_be_options_unless_the_line_says_otherwise() {
        let dir = Path::new("/");
        for source in [
            "x=--to-command=sh; tar tf a.tar $x",
            "tar tf a.tar \"$x\"",
            "sort ${x:-a} b",
            "rg $(cat p) src",
            "git log $x",
            "git grep $x",
            "x=a; x=-Osh; git grep $x",
            "timeout 5 sort $x",
            "sudo sort $x",
            "env A=b sort $x",
            "o=--ext-diff; git log $o",
            "find . $x",
            "for x in a; do sort $x; done",
            "sort {--compress-program=sh,a}",
            "sort --{compress-program=sh,stable} a",
            "tar cf x --checkpoint{=1,-action=exec=sh} a",
            "git grep -{Osh,n} x",
            "git diff --outp*",
            "sort -o.mcp.js?n a",
            "find . -ex* sh ';'",
        ] {
            assert!(hides(source, dir), "{source}");
        }
        for source in [
            "x=main; git log $x",
            "u=http://h/?a=b; curl -s \"$u\"",
            "git log -- $x",
            "git log -S \"$x\"",
            "rg -e \"$x\" src",
            "sort ./$x",
            "find src -name \"$x\"",
            "git commit -m \"$(cat <<'E'\n-a\nE\n)\"",
            "git add $x",
            "echo $x",
            "cat $x",
            "tar cf x --exclude='*.o' a",
            "tar cf x --exclude=\"*.o\" a",
            "sort --key=$((1 + 2)) a",
            "git log --since=\"$(date)\"",
        ] {
            assert!(!hides(source, dir), "{source}");
        }
    }

    #[test]
    fn files_that_a_pattern_finds_may_be_options() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a.txt"), "").unwrap();
        assert!(!hides("tar cf /tmp/a.tar *", dir.path()));
        assert!(!hides("sed -n p *", dir.path()));
        fs::write(dir.path().join("--checkpoint=1"), "").unwrap();
        assert!(hides("sed -n p *", dir.path()));
        assert!(hides("tar cf /tmp/a.tar *", dir.path()));
        assert!(!hides("tar cf /tmp/a.tar *.txt", dir.path()));
        assert!(!hides("tar cf /tmp/a.tar ./*", dir.path()));
        assert!(!hides("tar cf /tmp/a.tar -- *", dir.path()));
    }
}
