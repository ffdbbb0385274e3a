//! The configuration of a repository: whether it says only what is harmless when git reads.

/// What is not harmless, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Oddity(pub(crate) String);

/// What matters of a configuration whose keys are all harmless by themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Config {
    /// Where hooks are.
    pub(crate) hooks_paths: Vec<String>,
    /// Objects that are missing are fetched when they are needed.
    pub(crate) fetches_lazily: bool,
    /// A program is asked for passwords.
    pub(crate) has_helper: bool,
    /// Some commands go through submodules too.
    pub(crate) recurses: bool,
}

/// What a repository's configuration may say, in lower case: section and key; `*` is any.
#[rustfmt::skip]
const HARMLESS: &[(&str, &[&str])] = &[
    ("advice", &["*"]),
    ("alias", &["*"]),
    ("branch", &["*"]),
    ("color", &["*"]),
    ("core", &[
        "repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase", "precomposeunicode",
        "symlinks", "autocrlf", "eol", "safecrlf", "quotepath", "abbrev", "compression", "sharedrepository",
        "preloadindex", "longpaths", "protecthfs", "protectntfs", "commitgraph", "multipackindex",
        "editor", "untrackedcache", "sparsecheckout", "sparsecheckoutcone", "checkstat", "trustctime", "whitespace",
        "fscache", "hidedotfiles", "splitindex", "commentchar", "commentstring", "warnambiguousrefs", "bigfilethreshold",
    ]),
    ("commit", &["gpgsign", "template", "verbose"]),
    ("credential", &["helper", "username", "usehttppath"]),
    ("diff", &[
        "renames", "algorithm", "colormoved", "colormovedws", "noprefix", "mnemonicprefix", "context", "interhunkcontext",
        "ignoresubmodules", "submodule", "wserrorhighlight", "tool", "guitool",
    ]),
    ("difftool", &["*"]),
    ("extensions", &["worktreeconfig", "objectformat", "refstorage", "partialclone", "preciousobjects", "relativeworktrees"]),
    ("feature", &["*"]),
    ("fetch", &["*"]),
    ("gc", &["*"]),
    ("gitflow", &["*"]),
    ("gpg", &["format"]),
    ("gui", &["*"]),
    ("http", &["extraheader", "postbuffer", "version", "lowspeedlimit", "lowspeedtime", "proxy", "sslverify", "sslcainfo"]),
    ("index", &["version", "threads", "sparse", "skiphash"]),
    ("init", &["defaultbranch"]),
    ("lfs", &["repositoryformatversion", "access", "url", "locksverify", "fetchinclude", "fetchexclude"]),
    ("log", &["date", "abbrevcommit", "decorate", "follow"]),
    ("maintenance", &["*"]),
    ("merge", &["conflictstyle", "tool", "guitool", "ff", "log"]),
    ("mergetool", &["*"]),
    ("pack", &["*"]),
    ("protocol", &["version"]),
    ("pull", &["*"]),
    ("push", &["*"]),
    ("rebase", &["*"]),
    ("receive", &["*"]),
    ("remote", &[
        "url", "pushurl", "fetch", "tagopt", "prune", "gh-resolved", "promisor", "partialclonefilter", "pushdefault",
        "mirror", "skipdefaultupdate", "skipfetchall", "followremotehead",
    ]),
    ("rerere", &["*"]),
    ("status", &["showuntrackedfiles", "short", "branch"]),
    ("submodule", &["url", "active", "branch", "recurse", "fetchjobs", "fetchrecursesubmodules", "ignore", "shallow"]),
    ("tag", &["*"]),
    ("transfer", &["fsckobjects", "unpacklimit"]),
    ("url", &["insteadof", "pushinsteadof"]),
    ("user", &["name", "email", "signingkey", "useconfigonly"]),
    ("worktree", &["guessremote", "userelativepaths"]),
];

/// Where a user's own list of ignored files is, as a rule.
const IGNORE_LISTS: &[&str] = &["~/.gitignore", "~/.gitignore_global", "~/.config/git/ignore"];

impl Config {
    /// Reads a file in the plain form that git itself writes; otherwise says what in it is not harmless. `leads_back` says
    /// of a work tree it names whether that is the checkout's own.
    pub(crate) fn read(
        &mut self,
        text: &str,
        leads_back: &dyn Fn(&str) -> bool,
    ) -> Result<(), Oddity> {
        let (mut section, mut title) = (String::new(), String::new());
        for line in text.lines().map(str::trim) {
            if line.is_empty() || line.starts_with(['#', ';']) {
                continue;
            }
            if let Some(head) = line.strip_prefix('[') {
                let head = head.strip_suffix(']').filter(|head| !head.contains(']'));
                let Some(head) = head else { return Err(Oddity(format!("{} is", shown(line)))) };
                let (name, below) = head.split_once([' ', '\t', '.']).unwrap_or((head, ""));
                section = name.to_ascii_lowercase();
                title = match below.trim().trim_matches('"') {
                    "" => section.clone(),
                    below => format!("{section}.{}", shown(below)),
                };
                // An address may name a program.
                if below.contains("::") {
                    return Err(Oddity(format!("{title} is")));
                }
                continue;
            }
            let (key, value) = line.split_once('=').unwrap_or((line, "true"));
            let (key, value) = (key.trim(), value.trim());
            if !self.note(&section, &key.to_ascii_lowercase(), value, leads_back) {
                return Err(Oddity(format!("{title}.{} is set", shown(key))));
            }
        }
        Ok(())
    }

    /// Notes what a key says; whether it is harmless.
    fn note(
        &mut self,
        section: &str,
        key: &str,
        value: &str,
        leads_back: &dyn Fn(&str) -> bool,
    ) -> bool {
        let is_false = ["false", "no", "off", "0"].iter().any(|no| value.eq_ignore_ascii_case(no));
        match (section, key) {
            ("core", "worktree") => return leads_back(value),
            ("core", "fsmonitor") | ("log", "showsignature") => return is_false,
            ("core", "pager") => return matches!(value, "" | "cat" | "less"),
            ("core", "excludesfile") => return IGNORE_LISTS.contains(&value),
            ("core", "hookspath") => {
                self.hooks_paths.push(value.to_owned());
                let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/".contains(&byte);
                return !value.is_empty() && value.bytes().all(plain);
            }
            // git runs it when it tidies up.
            ("gc", "recentobjectshook") => return false,
            ("remote", "promisor" | "partialclonefilter") | ("extensions", "partialclone") => {
                self.fetches_lazily = true;
            }
            ("credential", "helper") => self.has_helper = true,
            ("submodule", "recurse") => self.recurses |= !is_false,
            _ => {}
        }
        let known = HARMLESS.iter().find(|(name, _)| *name == section);
        let known = known.is_some_and(|(_, keys)| keys.contains(&"*") || keys.contains(&key));
        // `ext::…` names a program, and a bare repository has no files of its own.
        let bare = key == "bare" && !value.eq_ignore_ascii_case("false");
        known && !value.contains("::") && !value.ends_with('\\') && !bare
    }
}

/// A part of a configuration as it can be shown.
fn shown(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(60).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_make_git_run_something_is_not_plain() {
        for (text, plain) in [
            ("[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://x.example/y\n", true),
            (
                "[branch \"a.b\"]\n\tremote = origin\n# comment\n; another\n[user]\n\tname = x\n",
                true,
            ),
            ("[core]\n\tfsmonitor = ./evil\n", false),
            ("[core]\n\tworktree = /etc\n", false),
            ("[core] fsmonitor = ./evil\n", false),
            ("[core]\n\tbare = true\n", false),
            ("[CORE]\n\tFsMonitor\n", false),
            ("[include]\n\tpath = x\n", false),
            ("[gpg]\n\tprogram = ./evil\n", false),
            ("[log]\n\tshowSignature = true\n", false),
            ("[blame]\n\tignoreRevsFile = /etc/passwd\n", false),
            ("[remote \"o\"]\n\turl = ext::sh -c evil\n", false),
            ("[remote \"o\"]\n\tpromisor = true\n", true),
            ("[remote \"o\"]\n\tuploadpack = ./evil\n", false),
            ("[gc]\n\trecentObjectsHook = ./evil\n", false),
            ("[core]\n\thooksPath = \"x\"\n", false),
            ("[core]\n\tfsmonitor = false\n", true),
            ("[merge \"x\"]\n\tdriver = ./evil\n", false),
            ("[submodule \"x\"]\n\tupdate = !evil\n", false),
            ("[man \"x\"]\n\tcmd = evil\n", false),
            ("[diff \"x\"]\n\ttextconv = evil\n", false),
            ("[user]\n\tname = x\\\n", false),
            ("[log]\n\tshowSignature = false\n", true),
            ("[core]\n\tpager = cat\n\texcludesFile = ~/.gitignore_global\n", true),
            ("[core]\n\tpager = ./evil\n", false),
            ("[core]\n\texcludesFile = ~/.ssh/id_rsa\n", false),
            ("[feature]\n\tmanyFiles = true\n[gitflow \"branch\"]\n\tmaster = main\n", true),
            ("[http]\n\tproxy = http://p.example\n[receive]\n\tdenyDeletes = true\n", true),
            ("[url \"https://x.example/\"]\n\tinsteadOf = x:\n", true),
            ("[url \"ext::sh -c evil \"]\n\tinsteadOf = https://\n", false),
            ("[url \"x\"]\n\tprogram = y\n", false),
        ] {
            assert_eq!(Config::default().read(text, &|_| false).is_ok(), plain, "{text}");
        }
    }

    #[test]
    fn the_key_is_named() {
        let read = |text: &str| Config::default().read(text, &|_| false).unwrap_err().0;
        assert_eq!(read("[Core]\n\tpager = delta\n"), "core.pager is set");
        assert_eq!(read("[filter \"lfs\"]\n\tclean = x\n"), "filter.lfs.clean is set");
        assert_eq!(read("[core] pager = less\n"), "[core] pager = less is");
    }
}
