//! What git is told on its command line: the options before its subcommand, and the arguments that make it run other
//! programs.
//!
//! Options may be cut short (`--upl` for `--upload-pack`), and letters may stand together (`-nO`). Words behind `--` are
//! looked at too: `--` may itself be the value of an option.

use ona_shell::Word;

use crate::files::is_abbreviation;

/// One call of git.
#[derive(Clone, Debug, Default)]
pub struct GitCall<'w> {
    /// Where it is told to work, one inside the other.
    pub dir: Option<String>,
    /// Configuration from the command line: `key=value`.
    pub(crate) settings: Vec<&'w str>,
    /// The other options before the subcommand.
    switches: Vec<&'w str>,
    /// The subcommand.
    pub subcommand: Option<&'w str>,
    /// The words behind it.
    pub arguments: &'w [Word],
    /// Where its repository or its files are, or what it does, is not fixed in the text or in no usual place.
    pub(crate) is_elsewhere: bool,
    /// The text does not fix where it is told to work.
    pub dir_is_open: bool,
    /// It is told of a repository that is in no `.git`, or could be.
    in_other_repository: bool,
}

/// Options before the subcommand whose value may be the next word.
const VALUED: &[&str] = &[
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--super-prefix",
    "--config-env",
    "--attr-source",
    "--shallow-file",
];

/// Of those, the ones that lead to other files.
const LEADING: &[&str] = &["--git-dir", "--work-tree", "--shallow-file", "--bare"];

impl<'w> GitCall<'w> {
    /// Reads the words behind `git`.
    pub fn of(words: &'w [Word]) -> Self {
        let mut call = Self::default();
        let mut rest = words;
        while let Some((word, behind)) = rest.split_first() {
            let Some(text) = word.literal.as_deref() else {
                (call.is_elsewhere, call.in_other_repository) = (true, true);
                break;
            };
            if !text.starts_with('-') {
                call.subcommand = Some(text);
                call.arguments = behind;
                break;
            }
            let value = behind.first().and_then(|word| word.literal.as_deref());
            rest = match text {
                "-C" => {
                    match value {
                        Some(dir) => call.enter(dir),
                        None => {
                            (call.is_elsewhere, call.dir_is_open) = (true, true);
                            // What is below the home is looked for there.
                            let dir = behind.first().map(|word| word.source.as_str());
                            if let Some(dir) = dir.filter(|dir| dir.starts_with('~')) {
                                call.enter(dir);
                            }
                        }
                    }
                    behind.get(1..).unwrap_or_default()
                }
                "-c" => {
                    // What is not fixed could be any key.
                    call.settings.push(value.unwrap_or_default());
                    behind.get(1..).unwrap_or_default()
                }
                _ => {
                    call.switches.push(text);
                    let name = text.split('=').next().unwrap_or(text);
                    call.is_elsewhere |= LEADING.contains(&name);
                    let takes_next = VALUED.contains(&text);
                    let named =
                        if takes_next { value } else { text.split_once('=').map(|it| it.1) };
                    let in_git = |path: &str| path.split('/').any(|part| part == ".git");
                    call.in_other_repository |=
                        name == "--bare" || name == "--git-dir" && !named.is_some_and(in_git);
                    if takes_next { behind.get(1..).unwrap_or_default() } else { behind }
                }
            };
        }
        call
    }

    fn enter(&mut self, dir: &str) {
        self.dir = Some(match self.dir.take() {
            Some(outer) if !dir.starts_with('/') => format!("{outer}/{dir}"),
            _ => dir.to_owned(),
        });
    }

    /// The arguments that the text fixes.
    pub(crate) fn literals(&self) -> Vec<&'w str> {
        self.arguments.iter().filter_map(|word| word.literal.as_deref()).collect()
    }

    /// Whether it is one of these subcommands.
    pub fn is(&self, subcommands: &[&str]) -> bool {
        self.subcommand.is_some_and(|name| subcommands.contains(&name))
    }

    /// Whether one of these long options is given, whole, cut short or with a value.
    pub(crate) fn has(&self, options: &[&str]) -> bool {
        self.literals().iter().any(|text| is_long(text, options))
    }

    /// Whether one of these letters is given, alone or among others. A letter with a value ends the word's letters.
    pub(crate) fn has_letter(&self, letters: &str, valued: &str) -> bool {
        self.literals().iter().any(|text| is_among(text, letters, valued))
    }

    /// Whether all that it is configured to do on the command line is harmless.
    pub(crate) fn settings_are_harmless(&self) -> bool {
        self.settings.iter().all(|setting| is_harmless_setting(setting))
    }

    /// Whether paths match more, or less, than they say: `--icase-pathspecs`.
    pub(crate) fn matches_strangely(&self) -> bool {
        self.switches.iter().any(|text| text.ends_with("-pathspecs"))
    }

    /// Whether one of the arguments is a program, or a command line, that git then runs.
    pub(crate) fn names_program(&self) -> bool {
        let literals = self.literals();
        let alias = |setting: &&str| setting.starts_with("alias.") && setting.contains("=!");
        let told = self.switches.iter().any(|text| {
            ["--config-env", "--exec-path="].iter().any(|option| text.starts_with(option))
        });
        if told
            || self.settings.iter().any(alias)
            || self.is(TAKES_ADDRESS) && literals.iter().any(|text| is_helper_address(text))
        {
            return true;
        }
        let Some(name) = self.subcommand else { return false };
        match name {
            "grep" => self.has_letter("O", "efABCm") || self.has(&["--open-files-in-pager"]),
            "difftool" => self.has_letter("x", "t") || self.has(&["--extcmd"]),
            "clone" => self.has_letter("u", "bocj") || self.has(&["--upload-pack"]),
            "fetch" | "pull" | "ls-remote" | "fetch-pack" | "remote" => {
                self.has(&["--upload-pack", "--exec"])
            }
            "push" | "send-pack" => self.has(&["--receive-pack", "--exec"]),
            "archive" => self.has(&["--exec"]),
            "rebase" => self.has_letter("x", "sXCS") || self.has(&["--exec"]),
            "send-email" => self.has(SENDERS),
            "bisect" => literals.first() == Some(&"run"),
            "submodule" | "submodule--helper" => literals.contains(&"foreach"),
            _ => RUNNERS.contains(&name),
        }
    }

    /// Whether no rule about the beginning of the command may allow it: its arguments make git run a program, named there
    /// or configured, or could do so.
    pub(crate) fn needs_exact_rule(&self) -> bool {
        if self.names_program()
            || self.in_other_repository
            || self.switches.iter().any(|text| matches!(*text, "-p" | "--paginate"))
            || !self.settings_are_harmless()
        {
            return true;
        }
        let Some(name) = self.subcommand else { return false };
        // A variable or a file's name could be such an option.
        let open = |word: &Word| {
            word.literal.is_none()
                && word.source.trim_start_matches('"').starts_with(['$', '`', '*', '?', '[', '{'])
        };
        if TAKES_PROGRAM.contains(&name) && self.arguments.iter().any(open) {
            return true;
        }
        if self.literals().iter().any(|text| text.contains("file://")) {
            return true;
        }
        let signs = |valued: &str| self.has_letter("S", valued) || self.has(&["--gpg-sign"]);
        match name {
            "difftool" | "mergetool" | "verify-commit" | "verify-tag" => true,
            "commit" => signs("mFCctu"),
            "merge" | "pull" => signs("msXF") || self.has_strange_strategy(),
            "rebase" => signs("sXC") || self.has_strange_strategy(),
            "cherry-pick" | "revert" => signs("mX") || self.has_strange_strategy(),
            "am" => signs("pC"),
            "commit-tree" => signs("pmF"),
            "tag" => self.has_letter("sv", "muFn") || self.has(&["--sign", "--verify"]),
            "clone" => {
                self.has(&["--template"])
                    || !self
                        .values("c", "--config", "bouj")
                        .iter()
                        .all(|setting| setting.as_deref().is_some_and(is_harmless_setting))
            }
            "init" => self.has(&["--template"]),
            "bisect" => matches!(self.literals().first(), Some(&("visualize" | "view"))),
            "archive" => self
                .values("", "--format", "o")
                .iter()
                .any(|format| !matches!(format.as_deref(), Some("tar" | "zip" | "tgz" | "tar.gz"))),
            _ => self.has(&["--ext-diff", "--textconv", "--filters", "--show-signature"]),
        }
    }

    /// The repositories that something is sent to, or that are asked for more than their objects: their own hooks and
    /// configuration then run programs. Those that get a name for later are among them.
    pub fn receivers(&self) -> Vec<String> {
        let given =
            |long: &str| self.values("", long, "").into_iter().map(Option::unwrap_or_default);
        let verb = self.literals().iter().find(|text| !text.starts_with('-')).copied();
        match self.subcommand {
            Some("push" | "send-pack") => {
                let first =
                    self.operands("o", &["--push-option", "--repo", "--exec", "--receive-pack"]);
                first.into_iter().take(1).chain(given("--repo")).collect()
            }
            Some("archive") => given("--remote").collect(),
            Some("remote") if matches!(verb, Some("add" | "set-url")) => {
                let operands = self.operands("tm", &[]);
                operands.into_iter().skip(2).filter(|text| is_path(text)).collect()
            }
            Some("subtree") if verb == Some("push") => {
                let operands = self.operands("Pmb", &["--prefix", "--message", "--branch"]);
                operands.into_iter().skip(1).take(1).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The words that are neither options nor their values.
    fn operands(&self, valued: &str, long: &[&str]) -> Vec<String> {
        let mut found = Vec::new();
        let mut words = self.arguments.iter();
        while let Some(word) = words.next() {
            let text = word.literal.as_deref().unwrap_or(&word.source);
            let takes_next = match text.strip_prefix('-') {
                Some("" | "-") => false,
                Some(_) if text.starts_with("--") => !text.contains('=') && is_long(text, long),
                Some(letters) => letters.ends_with(|letter| valued.contains(letter)),
                None => {
                    found.push(text.to_owned());
                    false
                }
            };
            if takes_next {
                words.next();
            }
        }
        found
    }

    /// Whether a strategy is named that is a program of its own.
    fn has_strange_strategy(&self) -> bool {
        let known = ["ort", "recursive", "resolve", "octopus", "ours", "subtree"];
        let given = self.values("s", "--strategy", "mXFSCx");
        given.iter().any(|name| !name.as_deref().is_some_and(|name| known.contains(&name)))
    }

    /// The values of an option, in its word or in the next; nothing for one that the text does not fix.
    pub(crate) fn values(&self, letter: &str, long: &str, valued: &str) -> Vec<Option<String>> {
        let mut found = Vec::new();
        for (at, word) in self.arguments.iter().enumerate() {
            let next = || self.arguments.get(at + 1).and_then(|word| word.literal.clone());
            let Some(text) = word.literal.as_deref() else {
                // `--output="$file"`.
                let name = word.source.split('=').next().unwrap_or_default();
                if word.source.contains('=') && is_long(name, &[long]) {
                    found.push(None);
                }
                continue;
            };
            if text.starts_with("--") {
                match text.split_once('=') {
                    Some((name, value)) if is_long(name, &[long]) => {
                        found.push(Some(value.to_owned()));
                    }
                    None if is_long(text, &[long]) => found.push(next()),
                    _ => {}
                }
            } else if !letter.is_empty() && is_among(text, letter, valued) {
                let behind = text.split_once(letter).map_or("", |(_, behind)| behind);
                found.push(if behind.is_empty() { next() } else { Some(behind.to_owned()) });
            }
        }
        found
    }
}

/// Subcommands that exist to run something.
const RUNNERS: &[&str] = &[
    "credential",
    "daemon",
    "filter-branch",
    "for-each-repo",
    "hook",
    "http-backend",
    "instaweb",
    "merge-index",
    "quiltimport",
    "receive-pack",
    "remote-ext",
    "remote-fd",
    "shell",
    "upload-archive",
    "web--browse",
];

/// Options of `send-email` that are programs, or may be.
const SENDERS: &[&str] =
    &["--smtp-server", "--sendmail-cmd", "--to-cmd", "--cc-cmd", "--header-cmd"];

/// Subcommands with an option that names a program.
const TAKES_PROGRAM: &[&str] = &[
    "archive",
    "clone",
    "fetch",
    "fetch-pack",
    "grep",
    "ls-remote",
    "pull",
    "push",
    "rebase",
    "send-email",
    "send-pack",
];

/// Subcommands that take the address of a repository.
const TAKES_ADDRESS: &[&str] = &[
    "archive",
    "clone",
    "fetch",
    "fetch-pack",
    "ls-remote",
    "pull",
    "push",
    "remote",
    "send-pack",
    "submodule",
];

/// What configuration on the command line may say under a rule about the beginning of a command, in small letters; any
/// value where none is written.
const HARMLESS_SETTINGS: &[&str] = &[
    "advice.",
    "color.",
    "commit.gpgsign=false",
    "core.abbrev=",
    "core.autocrlf=",
    "core.editor=:",
    "core.editor=true",
    "core.eol=",
    "core.filemode=",
    "core.pager=cat",
    "core.quotepath=",
    "diff.algorithm=",
    "diff.context=",
    "diff.mnemonicprefix=",
    "diff.noprefix=",
    "diff.renamelimit=",
    "diff.renames=",
    "fetch.prune=",
    "gc.auto=",
    "init.defaultbranch=",
    "log.date=",
    "log.decorate=",
    "merge.conflictstyle=",
    "merge.renamelimit=",
    "pull.ff=",
    "pull.rebase=",
    "push.default=",
    "rebase.autosquash=",
    "rebase.autostash=",
    "sequence.editor=:",
    "sequence.editor=true",
    "submodule.recurse=",
    "tag.gpgsign=false",
    "user.email=",
    "user.name=",
];

fn is_harmless_setting(setting: &str) -> bool {
    let setting = setting.to_ascii_lowercase();
    HARMLESS_SETTINGS.iter().any(|known| match known.ends_with(['.', '=']) {
        true => setting.starts_with(known),
        false => setting == *known,
    })
}

/// Whether a word is one of these options, whole, cut short or with a value.
fn is_long(text: &str, options: &[&str]) -> bool {
    let name = text.split('=').next().unwrap_or(text);
    text.starts_with("--") && options.iter().any(|option| is_abbreviation(name, option))
}

/// Whether a word has one of these letters as an option.
fn is_among(text: &str, letters: &str, valued: &str) -> bool {
    let Some(given) = text.strip_prefix('-').filter(|given| !given.starts_with('-')) else {
        return false;
    };
    for letter in given.chars() {
        if letters.contains(letter) {
            return true;
        }
        if valued.contains(letter) {
            return false;
        }
    }
    false
}

/// Whether the address of a repository is a path; the one that git is in has protected hooks.
pub fn is_path(address: &str) -> bool {
    let address = address.trim_matches(['"', '\'']);
    let host = address.split('/').next().unwrap_or(address);
    let is_path = address.contains('/') || address.starts_with(['.', '~']);
    address != "." && is_path && !host.contains(':')
}

/// Whether a word is, or ends in, an address for a program: `ext::sh -c …`.
fn is_helper_address(text: &str) -> bool {
    let address = text.rsplit('=').next().unwrap_or(text);
    let plain = |name: &str| {
        name.len() > 1
            && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    };
    [text, address].iter().any(|text| text.split_once("::").is_some_and(|(name, _)| plain(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(source: &str) -> Vec<Word> {
        ona_shell::parse(source).commands.remove(0).words
    }

    #[test]
    fn programs_among_the_arguments_are_seen_in_every_spelling() {
        for source in [
            "git grep -Oevil x",
            "git grep -O x",
            "git grep -nOevil x",
            "git grep --open-files-in-pager=evil x",
            "git grep --open x",
            "git grep --op=evil x",
            "git grep -e -- -Oevil",
            "git -C sub grep '-O' x",
            "git difftool -x evil",
            "git difftool -yx evil",
            "git difftool --extc=evil",
            "git fetch --upload-pack=evil o",
            "git fetch --upl evil o",
            "git pull --upload-pack evil",
            "git ls-remote --exec=evil .",
            "git clone -u evil a b",
            "git clone -qu evil a b",
            "git clone --u=evil a b",
            "git push --receive-pack=evil o",
            "git push --rec=evil o",
            "git push --ex evil o",
            "git archive --remote=x --exec=evil HEAD",
            "git archive --remote='ext::evil' HEAD",
            "git rebase -x evil main",
            "git rebase -ix evil main",
            "git rebase --exe evil main",
            "git bisect run evil",
            "git submodule --quiet foreach evil",
            "git filter-branch --tree-filter evil",
            "git clone 'ext::sh -c evil' x",
            "git fetch ext::evil",
            "git remote add x ext::evil",
            "git -c alias.x='!evil' x",
            "git --config-env=core.pager=E log",
            "git --exec-path=. status",
            "git send-email --smtp-server=./evil x",
            "git hook run pre-commit",
            "git merge-index evil -a",
            "git remote-ext a evil",
            "git receive-pack evil",
        ] {
            assert!(GitCall::of(&words(source)[1..]).names_program(), "{source}");
        }
        for source in [
            "git grep -n O x",
            "git grep -eO x",
            "git fetch -u origin",
            "git push -u origin main",
            "git rebase -i main",
            "git rebase -Xours main",
            "git log --author=a::b",
            "git log -S 'std::fs'",
            "git grep Vec::new",
            "git bisect good",
            "git submodule update --init",
            "git --exec-path",
        ] {
            assert!(!GitCall::of(&words(source)[1..]).names_program(), "{source}");
        }
    }

    #[test]
    fn what_runs_a_configured_program_needs_a_rule_of_its_own() {
        for source in [
            "git -c core.pager=evil log",
            "git -c core.fsmonitor=evil status",
            "git -c core.editor=evil commit",
            "git -c \"$x\" log",
            "git -p log",
            "git --paginate log",
            "git difftool",
            "git mergetool",
            "git commit -S -m x",
            "git commit -qS",
            "git merge --gpg-sign x",
            "git tag -s v1",
            "git merge -s evil x",
            "git rebase --strategy=evil x",
            "git diff --ext-diff",
            "git log --textc -p",
            "git cat-file --filters HEAD:a",
            "git archive --format=evil HEAD",
            "git clone -c core.hooksPath=x a b",
            "git clone --config core.sshCommand=x a b",
            "git clone --template=x a b",
            "git init --templ=x",
            "git push file:///x main",
            "git grep $x",
            "git grep x *",
            "git bisect view",
            "git --git-dir evil --work-tree . diff y",
            "git --git-dir=evil diff y",
            "git --git-dir=\"$d\" diff y",
            "git --bare diff y",
            "git $x diff",
        ] {
            assert!(GitCall::of(&words(source)[1..]).needs_exact_rule(), "{source}");
        }
        for source in [
            "git commit -m Sign",
            "git commit -mS",
            "git commit -am \"$message\"",
            "git log -S text",
            "git -c user.name=x -c commit.gpgsign=false commit -m x",
            "git -c core.pager=cat log",
            "git -c core.editor=true rebase --continue",
            "git -c color.ui=false diff",
            "git merge -s ours x",
            "git archive --format=tar.gz HEAD",
            "git clone -c core.autocrlf=false a b",
            "git grep \"a b\" -- src",
            "git diff $base",
            "git tag v1",
            "git pull --rebase",
            "git --git-dir=.git --work-tree=. diff",
            "git --git-dir sub/.git log",
        ] {
            assert!(!GitCall::of(&words(source)[1..]).needs_exact_rule(), "{source}");
        }
    }

    #[test]
    fn options_before_the_subcommand_are_read_as_git_reads_them() {
        let words = words("git -C a --no-pager -C b -c x.y=z --git-dir q log -p");
        let call = GitCall::of(&words[1..]);
        assert_eq!(call.dir.as_deref(), Some("a/b"));
        assert_eq!((call.subcommand, call.settings.as_slice()), (Some("log"), &["x.y=z"][..]));
        assert!(call.is_elsewhere);
        assert_eq!(call.literals(), ["-p"]);
    }
}
