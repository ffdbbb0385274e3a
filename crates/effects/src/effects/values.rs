//! The values that a command line itself gives its variables: by assignments, and by loops over words.
//!
//! Where a value is certain, a word with the variable is as good as a fixed one. Where it is only possible, the file it
//! would name is looked at too: a rule that forbids it is about this line.

use std::path::{Path, PathBuf};

use ona_programs::files::is_glob;
use ona_types::World;

use super::assignments::Assignments;
use crate::braces;
use crate::pattern;
use crate::shell::{self, Loop, Script, Step, Word};

/// The limit for the ways in which the words of a command are read.
pub(super) const MAX_READINGS: usize = 64;
/// What a line says about its variables.
#[derive(Clone, Copy)]
pub(super) struct Values<'a> {
    pub(super) world: &'a dyn World,
    pub(super) script: &'a Script,
    /// Nothing in the line is a command line of its own.
    pub(super) one_scope: bool,
    /// Wherever the line may go.
    pub(super) dirs: &'a [PathBuf],
    /// What it assigns.
    pub(super) assigned: &'a Assignments,
}

/// The values of a variable; nothing stands for one that is not known.
type Choice = Vec<Option<String>>;

impl Values<'_> {
    /// The words in every way in which they may be meant, in one of which the command certainly runs: what is not known
    /// stands there as it is written.
    pub(super) fn readings(&self, words: &[Word], at: Place<'_>) -> Vec<Vec<Word>> {
        let words = words.iter().flat_map(braces::expanded).map(with_directory).map(with_decoded);
        // Where the line sets another home, `~` is that one.
        let sets_home = self.assigned.sets("HOME");
        let words = words.map(|word| if sets_home { with_home(word) } else { word });
        let words: Vec<Word> = words.flat_map(|word| self.options_among(word)).collect();
        let mut names: Vec<&str> = Vec::new();
        for word in words.iter().filter(|word| word.literal.is_none()) {
            for name in variables(&word.source) {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        let mut all = vec![words.clone()];
        for name in names {
            let choice = self.of(name, at);
            let read = |words: &Vec<Word>| -> Vec<Vec<Word>> {
                let set = |value: &Option<String>| match value {
                    Some(value) => words.iter().map(|word| with_value(word, name, value)).collect(),
                    None => words.clone(),
                };
                choice.iter().map(set).collect()
            };
            let more: Vec<Vec<Word>> = all.iter().flat_map(read).collect();
            // Then all of it is left open.
            if more.len() > MAX_READINGS {
                return vec![words];
            }
            all = more;
        }
        all
    }

    fn of(&self, name: &str, at: Place<'_>) -> Choice {
        if is_argument(name) {
            return self.anything();
        }
        // Nothing in the line goes elsewhere.
        if let ("PWD", [dir]) = (name, self.dirs)
            && let Some(dir) = dir.to_str().filter(|_| !self.sets(name))
        {
            return vec![Some(dir.to_owned())];
        }
        if name == "OLDPWD" {
            let dirs = self.dirs.iter().filter_map(|dir| dir.to_str());
            return std::iter::once(None).chain(dirs.map(|dir| Some(dir.to_owned()))).collect();
        }
        let looped = || {
            let all = self.script.commands.iter().flat_map(|command| &command.loops);
            let redirected = self.script.redirects.iter().flat_map(|redirect| &redirect.loops);
            all.chain(redirected).filter(|one| one.name == name)
        };
        let later = self.script.steps.contains(&Step::Later);
        if let Some(value) = self.settled(name, at.command).filter(|_| looped().next().is_none()) {
            return vec![Some(value)];
        }
        let own = at.loops.iter().rev().find(|one| one.name == name);
        let alone = !self.script.sets_beyond_loops && !later && !self.assigned.sets(name);
        if let Some(values) = own.filter(|_| alone).and_then(|one| self.words(one)) {
            return values.into_iter().map(Some).collect();
        }
        let assigned = self.assigned.texts(name).iter().cloned();
        let looped = looped().filter_map(|one| self.words(one)).flatten();
        let mut choice: Choice = vec![None];
        for value in assigned.chain(looped).map(Some) {
            if !choice.contains(&value) && choice.len() < MAX_READINGS {
                choice.push(value);
            }
        }
        choice
    }

    /// Whether the line may set a variable.
    fn sets(&self, name: &str) -> bool {
        let mut all = self.script.commands.iter().flat_map(|command| &command.assignments);
        self.script.sets_beyond_loops || all.any(|one| one.name == name)
    }

    /// What `$1` and `$@` may be: `set`, a function's call or a shell's may have given it any word of the line.
    fn anything(&self) -> Choice {
        let words = self.script.commands.iter().flat_map(|command| &command.words);
        let mut choice: Choice = vec![None];
        for value in words.filter_map(|word| word.literal.clone()).map(Some) {
            if !choice.contains(&value) && choice.len() < MAX_READINGS {
                choice.push(value);
            }
        }
        choice
    }

    /// The text that a variable certainly has in a command.
    pub(super) fn certain(&self, name: &str, command: usize) -> Option<String> {
        let all = self.script.commands.iter().flat_map(|command| &command.loops);
        let looped = all.chain(self.script.redirects.iter().flat_map(|redirect| &redirect.loops));
        let alone = looped.into_iter().all(|one| one.name != name);
        self.set_once(name, Some(command)).filter(|_| alone).and_then(|value| plain(&value))
    }

    /// What a variable is certainly set to before a command, once.
    fn settled(&self, name: &str, before: Option<usize>) -> Option<String> {
        let value = self.set_once(name, before)?;
        plain(&value).or_else(|| self.temporary(&value))
    }

    fn set_once(&self, name: &str, before: Option<usize>) -> Option<String> {
        let before = before.filter(|_| self.one_scope && !self.script.sets_beyond_loops)?;
        let mut all = self.script.commands.iter().enumerate().flat_map(|(at, command)| {
            let own = command.assignments.iter().filter(|one| one.name == name);
            own.map(move |one| (at, one))
        });
        let (at, only) = all.next()?;
        let sure = only.sure && at < before && all.next().is_none();
        sure.then(|| only.value.clone())
    }

    /// What `mktemp` makes is new.
    fn temporary(&self, value: &str) -> Option<String> {
        let mut all = self.script.commands.iter().flat_map(|command| &command.assignments);
        let bare = value.trim_matches('"');
        (matches!(bare, "$(mktemp)" | "$(mktemp -d)") && !all.any(|one| one.name == "TMPDIR"))
            .then(|| "/tmp/tmp.new".to_owned())
    }

    /// What a loop sets its variable to, if the text and the disk fix it.
    fn words(&self, one: &Loop) -> Option<Vec<String>> {
        let mut values = Vec::new();
        for word in &one.words {
            match &word.literal {
                Some(text) => values.push(is_plain(text).then(|| text.clone())?),
                None if is_glob(&word.source) => {
                    // The loop may stand elsewhere than what is in it.
                    for dir in self.dirs {
                        values.extend(self.matching(dir, &word.source)?);
                    }
                }
                None if let Some(path) = self.assigned.at_home(&word.source) => {
                    let found = match is_plain(&path) {
                        true => vec![path],
                        false if is_glob(&path) => self.matching(Path::new(""), &path)?,
                        false => return None,
                    };
                    values.extend(found);
                }
                None => {
                    let texts = braces::texts(&word.source)?;
                    let plain = texts.iter().all(|text| is_plain(text));
                    values.extend(plain.then_some(texts)?);
                }
            }
        }
        // A pattern that matches nothing stands for itself.
        (1..=MAX_READINGS).contains(&values.len()).then_some(values)
    }

    fn matching(&self, dir: &Path, pattern: &str) -> Option<Vec<String>> {
        let found = pattern::expand(self.world, dir, pattern)?;
        let found = found.iter().filter(|path| self.world.exists(path));
        let relative = found.map(|path| path.strip_prefix(dir).unwrap_or(path).to_str());
        // Bash keeps a slash at the end.
        let slash = if pattern.ends_with('/') { "/" } else { "" };
        let named =
            |name: Option<&str>| Some(format!("{}{slash}", name.filter(|name| is_plain(name))?));
        relative.map(named).collect()
    }

    /// The names that a pattern stands for, if one of them would be taken for an option.
    fn options_among(&self, word: Word) -> Vec<Word> {
        if word.literal.is_some() || !is_glob(&word.source) || word.source.starts_with(['/', '.']) {
            return vec![word];
        }
        let mut names = Vec::new();
        for dir in self.dirs {
            let found = pattern::expand(self.world, dir, &word.source).unwrap_or_default();
            let found = found.iter().filter_map(|path| path.strip_prefix(dir).ok()?.to_str());
            names.extend(found.map(str::to_owned));
        }
        match names.iter().any(|name| name.starts_with('-')) && names.len() <= MAX_READINGS {
            true => {
                let literal = |name: String| Word { source: name.clone(), literal: Some(name) };
                names.into_iter().map(literal).chain([word]).collect()
            }
            false => vec![word],
        }
    }
}

/// Where words stand.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    /// In which command, if it is one of its own.
    pub(super) command: Option<usize>,
    pub(super) loops: &'a [Loop],
}

/// Whether a text means the same with and without quotes.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_alphanumeric() || b"_./-@+%,:=".contains(&b))
}

/// What a value is without its quotes, if it is plain.
pub(super) fn plain(value: &str) -> Option<String> {
    let quoted = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    let bare = quoted('"').or_else(|| quoted('\'')).unwrap_or(value);
    is_plain(bare).then(|| bare.to_owned())
}

/// The variables in a word.
pub(super) fn variables(source: &str) -> impl Iterator<Item = &str> {
    let name = |rest: &'_ str| {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        end.unwrap_or(rest.len())
    };
    source.match_indices('$').filter_map(move |(at, _)| {
        let rest = &source[at + 1..];
        let rest = rest.strip_prefix('{').unwrap_or(rest);
        let end = if rest.starts_with(['@', '*']) { 1 } else { name(rest) };
        Some(&rest[..end]).filter(|name| !name.is_empty())
    })
}

/// Whether this is what a script or a function is called with: `1`, `@`.
fn is_argument(name: &str) -> bool {
    matches!(name, "@" | "*") || name.bytes().all(|byte| byte.is_ascii_digit())
}

/// `~-` and `~+` are the last directory and this one.
fn with_directory(word: Word) -> Word {
    let variable = [("~-", "$OLDPWD"), ("~+", "$PWD")].iter().find_map(|(short, variable)| {
        let rest = word.source.strip_prefix(short)?;
        (rest.is_empty() || rest.starts_with('/')).then(|| format!("{variable}{rest}"))
    });
    match variable.filter(|_| word.literal.is_none()) {
        Some(source) => Word { source, literal: None },
        None => word,
    }
}

/// A word with what stands in `$'…'` as it is meant, where that is plain.
fn with_decoded(word: Word) -> Word {
    let mut parts = word.source.split("$'");
    if word.literal.is_some() || !word.source.contains("$'") {
        return word;
    }
    let mut source = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let decoded = part.split_once('\'').and_then(|(inner, behind)| {
            Some(format!("{}{behind}", shell::ansi_text(inner).filter(|text| is_plain(text))?))
        });
        match decoded {
            Some(text) => source.push_str(&text),
            None => return word,
        }
    }
    Word { source, literal: None }
}

/// A word with the home in front as the variable that it stands for.
pub(super) fn with_home(word: Word) -> Word {
    let rest = word.source.strip_prefix('~').filter(|_| word.literal.is_none());
    match rest.filter(|rest| rest.is_empty() || rest.starts_with('/')) {
        Some(rest) => Word { source: format!("$HOME{rest}"), literal: None },
        None => word,
    }
}

/// A word with the value of a variable in its place.
pub(super) fn with_value(word: &Word, name: &str, value: &str) -> Word {
    if word.literal.is_some() {
        return word.clone();
    }
    let mut text = word.source.replace(&format!("${{{name}}}"), value);
    let mark = format!("${name}");
    let mut from = 0;
    while let Some(at) = text[from..].find(&mark).map(|at| from + at) {
        let end = at + mark.len();
        let goes_on = !is_argument(name)
            && text[end..].starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        from = if goes_on { end } else { at + value.len() };
        if !goes_on {
            text.replace_range(at..end, value);
        }
    }
    let bare = text.replace('"', "");
    let literal = (is_plain(&bare) && text != word.source).then_some(bare);
    Word { source: text, literal }
}

/// Whether a word begins where the home or the directory is that the line starts in, and is fixed apart from that.
pub(super) fn begins_at_a_known_place(word: &Word, script: &Script) -> bool {
    let set = |name: &str| {
        let mut all = script.commands.iter().flat_map(|command| &command.assignments);
        script.sets_beyond_loops || all.any(|one: &shell::Assignment| one.name == name)
    };
    let bare = word.source.replace('"', "");
    let behind = |prefix: &str| {
        bare.strip_prefix(prefix).filter(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let known =
        [("~", "HOME"), ("$HOME", "HOME"), ("${HOME}", "HOME"), ("$PWD", "PWD"), ("${PWD}", "PWD")];
    known.iter().any(|(prefix, name)| behind(prefix).is_some_and(is_plain) && !set(name))
}

#[cfg(test)]
mod tests {
    use ona_testkit::Disk;

    use super::*;

    /// The readings of the last command, a `?` before each word that is not fixed.
    fn readings(source: &str) -> Vec<String> {
        let script = shell::parse(source);
        let at = script.commands.len() - 1;
        let command = &script.commands[at];
        let dirs = ["/a".into(), "/b".into()];
        let assigned = &Assignments::of(&script, Some(Path::new("/home/u")));
        let values =
            Values { world: &Disk, script: &script, one_scope: true, dirs: &dirs, assigned };
        let place = Place { command: Some(at), loops: &command.loops };
        let shown = |word: &Word| match &word.literal {
            Some(text) => text.clone(),
            None => format!("?{}", word.source),
        };
        let read = values.readings(&command.words, place);
        read.iter().map(|words| words.iter().map(shown).collect::<Vec<_>>().join(" ")).collect()
    }

    #[test]
    fn words_are_read_in_every_way_they_may_be_meant() {
        for (source, expected) in [
            ("f=a; cat \"$f\" ${f}b $fb", &["cat a ab ?$fb"][..]),
            ("for f in a b; do cat $f; done", &["cat a", "cat b"]),
            ("for f in a; do for g in x y; do cat $f/$g; done; done", &["cat a/x", "cat a/y"]),
            ("for i in {1..3}; do cat f$i; done", &["cat f1", "cat f2", "cat f3"]),
            ("for i in {08..09}; do cat $i; done", &["cat 08", "cat 09"]),
            ("cat a{b,c} {}", &["cat ab ac ?{}"]),
            ("cat ~/{a,b}", &["cat ?~/a ?~/b"]),
            ("cat ~-/x", &["cat ?$OLDPWD/x", "cat /a/x", "cat /b/x"]),
            ("set a; cat $1", &["cat ?$1", "cat set", "cat a", "cat cat"]),
            ("f() { cat \"$@\"; }; f a", &["f a"]),
            ("for f in $x; do cat $f; done", &["cat ?$f"]),
            // Only possible: it may also be something else.
            ("true && f=a; cat $f", &["cat ?$f", "cat a"]),
            ("for f in a; do true; done; cat $f", &["cat ?$f", "cat a"]),
            ("for f in a; do f=b; cat $f; done", &["cat ?$f", "cat b", "cat a"]),
            ("for f in a; do read f; cat $f; done", &["cat ?$f", "cat a"]),
            ("f='a b'; cat $f", &["cat ?$f"]),
            ("cat '$f'", &["cat $f"]),
            // Values that are made of others, and another home.
            ("f=~/a; g=\"$f/b\"; cat $g/c", &["cat ?$g/c", "cat /home/u/a/b/c"]),
            ("for f in ~/a; do cat $f; done", &["cat /home/u/a"]),
            ("cat $x/$'\\x61b'", &["cat ?$x/ab"]),
            ("export f=a; cat $f", &["cat ?$f", "cat a"]),
            ("env f=a sh x; cat $f", &["cat ?$f", "cat a"]),
            ("HOME=/x; cat ~/y", &["cat /x/y"]),
            ("h=/x; HOME=$h/y; cat ~/z", &["cat ?$HOME/z", "cat /x/y/z"]),
            ("f=a; cat \"$f\"'$f'", &["cat ?\"a\"'a'"]),
        ] {
            let found = readings(source);
            let expected: Vec<&str> = expected.to_vec();
            assert_eq!(found, expected, "{source}");
        }
    }
}
