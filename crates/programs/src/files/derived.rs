//! Files whose names a program makes from others: backups, what it unpacks beside a packed file, parts of a file, what it
//! fetches.

use ona_shell::Word;

use super::{Access, Copied, Operand, Touched, files_named};
use crate::arguments::{Arguments, Kind};
use crate::commands::base_name;

/// A file that is written because another is changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Derived {
    /// The other.
    pub from: Operand,
    /// How its name is made.
    pub how: Naming,
}

/// How a name is made from another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Naming {
    /// This is put behind it; or a `*` in this stands for it.
    Backup(String),
    /// A file is packed or unpacked, and this is the ending of packed ones.
    Packed(String),
}

/// Endings of packed files that stand without a dot.
const BARE_ENDINGS: &[&str] = &["-gz", "-z", "_z"];

impl Naming {
    /// The names that a name may become. With a slash one is from where the program runs, else it is beside the other.
    pub fn names(&self, name: &str) -> Vec<String> {
        match self {
            Self::Backup(pattern) if pattern.contains('*') => vec![pattern.replace('*', name)],
            Self::Backup(suffix) => vec![format!("{name}{suffix}")],
            Self::Packed(suffix) => {
                let mut names = vec![format!("{name}{suffix}")];
                // Others than the usual ending are known too, and some stand for two.
                if let Some((stem, _)) = name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty())
                {
                    names.extend([stem.to_owned(), format!("{stem}.tar")]);
                }
                let endings = BARE_ENDINGS.iter().copied().chain([suffix.as_str()]);
                names.extend(endings.filter_map(|it| name.strip_suffix(it)).map(str::to_owned));
                names
            }
        }
    }
}

/// Programs that put a packed file in the place of another or the other way round, and the ending of packed ones.
const PACKERS: &[(&[&str], &str)] = &[
    (&["gzip", "gunzip", "pigz", "unpigz"], ".gz"),
    (&["compress", "uncompress"], ".Z"),
    (&["bzip2", "bunzip2", "lbzip2", "pbzip2"], ".bz2"),
    (&["xz", "unxz"], ".xz"),
    (&["lzma", "unlzma"], ".lzma"),
    (&["zstd", "unzstd", "zstdmt"], ".zst"),
    (&["lz4", "unlz4"], ".lz4"),
    (&["lzip"], ".lz"),
    (&["lzop"], ".lzo"),
    (&["brotli"], ".br"),
];

/// Whether a program that writes is told to look only, or to print what it would write.
pub(super) fn only_looks(name: &str, arguments: &Arguments) -> bool {
    if PACKERS.iter().any(|(names, _)| names.contains(&name)) {
        // `lz4 -l` packs, in another format.
        let lists = !matches!(name, "lz4" | "unlz4") && told(arguments, &['l'], &["list"]);
        return lists || told(arguments, &['c', 't'], &["stdout", "to-stdout", "test"]);
    }
    match name {
        "rsync" => told(arguments, &['n'], &["dry-run"]),
        "patch" => arguments.has_long("dry-run"),
        _ => false,
    }
}

/// Notes the files whose names a program makes up.
pub(super) fn derived(name: &str, in_place: bool, arguments: &Arguments, touched: &mut Touched) {
    if let Some((_, ending)) = PACKERS.iter().find(|(names, _)| names.contains(&name)) {
        return packed(name, ending, arguments, touched);
    }
    match name {
        "sed" if in_place => {
            let files = arguments.files(super::Operands::ReadAfterText);
            for suffix in arguments.values(Kind::Optional).filter(|word| !word.source.is_empty()) {
                match &suffix.literal {
                    Some(suffix) => {
                        beside(name, files, &Naming::Backup(suffix.clone()), touched);
                    }
                    None => scatters(name, touched),
                }
            }
        }
        // What it backs up is in the patch.
        "patch" if arguments.has(Kind::Suffix) => scatters(name, touched),
        "cp" | "mv" | "ln" | "install" => {
            backups(name, arguments, touched);
            if arguments.has_long("parents") {
                with_parents(name, arguments, touched);
            }
        }
        "rsync" | "scp" => {
            backups(name, arguments, touched);
            fetched(name, arguments, touched);
            if name == "rsync" && told(arguments, &['R'], &["relative"]) {
                with_parents(name, arguments, touched);
            }
        }
        "split" => {
            // It is not the input, which need not be there.
            let prefix = arguments
                .operands
                .get(1)
                .map_or("x", |word| word.literal.as_deref().unwrap_or("."));
            parts(name, prefix, arguments, touched);
        }
        "csplit" => {
            let given = arguments.values(Kind::Prefix).last();
            let prefix = given.map_or("xx", |word| word.literal.as_deref().unwrap_or("."));
            parts(name, prefix, arguments, touched);
            // It is made with this, which may hold a directory.
            if arguments.has(Kind::Suffix) {
                scatters(name, touched);
            }
        }
        "yq" if told(arguments, &['s'], &["split-exp"]) => scatters(name, touched),
        "curl" | "wget" => downloads(name, arguments, touched),
        _ => {}
    }
}

fn scatters(name: &str, touched: &mut Touched) {
    touched.scatters.get_or_insert(format!("which files `{name}` writes is not in the command"));
}

fn told(arguments: &Arguments, letters: &[char], long: &[&str]) -> bool {
    arguments.letters.contains(letters) || long.iter().any(|long| arguments.has_long(long))
}

fn named(words: &[Word]) -> Option<Vec<Operand>> {
    let mut named = Touched::default();
    files_named(words, Access::Reads, &mut named);
    let files = named.files.into_iter().map(|(_, operand)| operand);
    named.unsure.is_none().then(|| files.collect())
}

/// Files beside those that are changed.
fn beside(name: &str, files: &[Word], how: &Naming, touched: &mut Touched) {
    match named(files) {
        Some(files) => {
            touched.derived.extend(files.into_iter().map(|from| Derived { from, how: how.clone() }))
        }
        None => scatters(name, touched),
    }
}

fn packed(name: &str, ending: &str, arguments: &Arguments, touched: &mut Touched) {
    let mut suffixes = vec![ending];
    for suffix in arguments.values(Kind::Suffix) {
        match &suffix.literal {
            Some(suffix) => suffixes.push(suffix),
            None => scatters(name, touched),
        }
    }
    for suffix in suffixes {
        beside(name, &arguments.operands, &Naming::Packed(suffix.to_owned()), touched);
    }
    let unpacks = name.starts_with("un")
        || name.starts_with("bun")
        || name.starts_with("gun")
        || told(arguments, &['d'], &["decompress", "uncompress"]);
    // Names from within, from directories or for other places.
    let elsewhere = told(arguments, &['N', 'r'], &["name", "recursive"])
        || told(arguments, &['P'], &["path"]) && name == "lzop";
    if unpacks && elsewhere || arguments.has(Kind::Into) || arguments.has(Kind::List) {
        scatters(name, touched);
    }
}

/// Where something is put, and what: the last operand or the value of an option, and the others.
fn places(arguments: &Arguments) -> Option<(Vec<Operand>, Vec<Operand>)> {
    let into: Vec<Word> = arguments.values(Kind::Into).cloned().collect();
    match arguments.operands.split_last() {
        Some((last, sources)) if into.is_empty() => {
            Some((named(std::slice::from_ref(last))?, named(sources)?))
        }
        _ => Some((named(&into)?, named(&arguments.operands)?)),
    }
}

/// Backups of what is replaced.
fn backups(name: &str, arguments: &Arguments, touched: &mut Touched) {
    for suffix in arguments.values(Kind::Suffix) {
        let fixed = suffix.literal.as_deref().zip(places(arguments));
        let Some((suffix, (to, from))) = fixed else {
            scatters(name, touched);
            continue;
        };
        for to in &to {
            let Operand::Fixed(to) = to else {
                scatters(name, touched);
                continue;
            };
            let mut written = vec![format!("{to}{suffix}")];
            for from in &from {
                match from {
                    Operand::Fixed(from) => {
                        let base = base_name(from.trim_end_matches('/'));
                        written.push(format!("{to}/{base}{suffix}"));
                    }
                    Operand::Glob(_) => scatters(name, touched),
                }
            }
            let written = written.into_iter().map(|file| (Access::Writes, Operand::Fixed(file)));
            touched.files.extend(written);
        }
        // Of a directory, all that is in it.
        let whole = told(arguments, &['a', 'r', 'R'], &["archive", "recursive"]);
        if whole {
            scatters(name, touched);
        }
    }
}

/// What is copied keeps the directories of its name.
fn with_parents(name: &str, arguments: &Arguments, touched: &mut Touched) {
    let Some((to, from)) = places(arguments) else { return scatters(name, touched) };
    for to in &to {
        for from in &from {
            match (to, from) {
                (Operand::Fixed(to), Operand::Fixed(from)) => {
                    let from = from.split_once(':').map_or(from.as_str(), |(_, path)| path);
                    let file = format!("{to}/{}", from.trim_start_matches('/'));
                    touched.files.push((Access::Writes, Operand::Fixed(file)));
                }
                _ => scatters(name, touched),
            }
        }
    }
}

/// What comes from another machine has the name that it has there.
fn fetched(name: &str, arguments: &Arguments, touched: &mut Touched) {
    let is_remote = |word: &Word| {
        let text = word.literal.as_deref().unwrap_or(&word.source);
        text.split('/').next().is_some_and(|host| host.contains(':'))
    };
    let Some((to, from)) = arguments.operands.split_last() else { return };
    if !from.iter().any(is_remote) || is_remote(to) {
        return;
    }
    if told(arguments, &['a', 'r', 'R', 'd'], &["archive", "recursive", "relative", "dirs"])
        || arguments.has(Kind::List)
    {
        return scatters(name, touched);
    }
    let Some(places) = named(std::slice::from_ref(to)) else { return scatters(name, touched) };
    for from in from.iter().filter(|word| is_remote(word)) {
        // The other machine's shell may have its say.
        let plain =
            |text: &&str| !text.contains(['*', '?', '[', '{', '$', '`', '~', '\\', '\'', '"', ' ']);
        let path = from.literal.as_deref().filter(plain).and_then(|text| text.rsplit(':').next());
        let Some(path) = path else { return scatters(name, touched) };
        for to in &places {
            let from = Operand::Fixed(path.to_owned());
            touched.copies.push(Copied { from, to: to.clone(), whole: false });
        }
    }
}

/// The parts of a file are called by a beginning and a number or letters.
fn parts(name: &str, prefix: &str, arguments: &Arguments, touched: &mut Touched) {
    let why = format!("`{name}` makes up the names of the files that it writes");
    touched.files.push((Access::Writes, Operand::Fixed(format!("{prefix}00"))));
    // What other programs act on is hidden as a rule, and the rest of the name may be anything.
    let slash = |word: &Word| word.literal.as_deref().is_none_or(|text| text.contains('/'));
    if base_name(prefix).starts_with('.') || arguments.values(Kind::Suffix).any(slash) {
        touched.scatters.get_or_insert(why.clone());
    }
    touched.unsure.get_or_insert(why);
}

/// What is fetched is called as the address says, or the server.
fn downloads(name: &str, arguments: &Arguments, touched: &mut Touched) {
    let outputs: Vec<&Word> = arguments.values(Kind::Write).collect();
    let texts = |words: &[&Word]| -> Vec<String> {
        words
            .iter()
            .map(|word| word.literal.clone().unwrap_or_else(|| word.source.clone()))
            .collect()
    };
    let files = texts(&outputs);
    // Its file goes below that directory.
    for into in texts(&arguments.values(Kind::Into).collect::<Vec<_>>()) {
        for file in &files {
            touched.files.push((Access::Writes, Operand::Fixed(format!("{into}/{file}"))));
        }
    }
    let addresses = texts(&arguments.operands.iter().collect::<Vec<_>>());
    let last = |address: &String| address.rsplit('/').next().unwrap_or_default().to_owned();
    let made_up = match name {
        // `#1` stands for a part of the address.
        "curl" => {
            let numbered = |file: &String| {
                file.match_indices('#')
                    .any(|(at, _)| file[at + 1..].starts_with(|next: char| next.is_ascii_digit()))
            };
            let named = told(arguments, &['O'], &["remote-name", "remote-name-all"]);
            let pattern = |address: &String| last(address).contains(['{', '[', '\\']);
            files.iter().any(numbered) || named && addresses.iter().any(pattern)
        }
        // It takes signs like `%2e` for what they stand for, and may fetch more than it is told of.
        _ => {
            let is_told = told(arguments, &['O'], &["output-document"]);
            let more =
                told(arguments, &['r', 'm', 'p'], &["recursive", "mirror", "page-requisites"])
                    || told(
                        arguments,
                        &['x'],
                        &["force-directories", "trust-server-names", "default-page", "metalink"],
                    )
                    || arguments.has(Kind::List);
            !is_told && (more || addresses.iter().any(|address| last(address).contains('%')))
        }
    };
    if made_up {
        scatters(name, touched);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::touched;

    fn of(source: &str) -> Touched {
        touched(&ona_shell::parse(source).commands.remove(0).words)
    }

    #[test]
    fn names_are_made_from_others() {
        let backup = |pattern: &str| Naming::Backup(pattern.to_owned()).names("a");
        assert_eq!(backup(".json"), ["a.json"]);
        assert_eq!(backup(".git/hooks/*"), [".git/hooks/a"]);
        let packed = |name: &str| Naming::Packed(".json".to_owned()).names(name);
        for (name, other) in [
            (".mcp.json.gz", ".mcp.json"),
            (".envrc-gz", ".envrc"),
            (".envrc_z", ".envrc"),
            (".mcp", ".mcp.json"),
            (".envrc.json", ".envrc"),
            ("a.tgz", "a.tar"),
        ] {
            assert!(packed(name).contains(&other.to_owned()), "{name}: {:?}", packed(name));
        }
    }

    #[test]
    fn what_is_made_up_is_written() {
        for (source, file) in [
            ("cp -b -S .json a .mcp", ".mcp.json"),
            ("cp -bS.json x/.mcp .", "./.mcp.json"),
            ("mv --backup=simple --suf=.json a .mcp", ".mcp.json"),
            ("install -b --suffix .json a .mcp", ".mcp.json"),
            ("ln -b -S .json -t d x/.mcp", "d/.mcp.json"),
            ("cp --parents .git/hooks/x ..", "../.git/hooks/x"),
            ("cp --par .git/hooks/x ..", "../.git/hooks/x"),
            ("rsync -R .git/hooks/x ..", "../.git/hooks/x"),
            ("split many src/x", "src/x00"),
            ("split many", "x00"),
            ("csplit -k five 6", "xx00"),
            ("csplit --pref=src/y five 6", "src/y00"),
            ("curl --output-dir .git -o config u", ".git/config"),
        ] {
            let written = (Access::Writes, Operand::Fixed(file.to_owned()));
            let files = of(source).files;
            assert!(files.contains(&written), "{source}: {files:?}");
        }
        for source in [
            "sed -i.json p .mcp",
            "sed -Ei.json p .mcp",
            "sed -n --in-pl='.git/hooks/*' p x",
            "gunzip .mcp.json.gz",
            "gzip -dk .mcp.json.gz",
            "unxz .mcp.json.xz",
            "gzip -S .json .mcp",
            "xz --suf=.json .mcp",
        ] {
            assert!(!of(source).derived.is_empty(), "{source}");
        }
        assert!(of("sed -i p a").derived.is_empty());
        assert!(of("sed -n.json p a").derived.is_empty());
    }

    #[test]
    fn names_that_nobody_can_tell_are_said_to_be_so() {
        for source in [
            "gunzip -N y.gz",
            "gzip -dN y.gz",
            "gzip --dec --na y.gz",
            "gunzip -r .",
            "gunzip $f",
            "xz -d --files=list",
            "zstd -d --output-dir-flat=.claude x.zst",
            "sed -i\"$s\" p a",
            "cp -S \"$s\" -b a b",
            "cp -rbS .json a b",
            "patch -b -z .json -i p",
            "patch -b -B .git/hooks/ -i p",
            "patch --pref=.git/hooks/ -i p",
            "patch -Y. -i p",
            "split many .env",
            "split many \"$p\"",
            "split --additional-suffix=/../.envrc many x",
            "csplit -f .mcp five 6",
            "csplit -b '/../.envrc%.0d' five 6",
            "curl -o '#1' 'http://h/{.mcp.json}'",
            "curl -o 'x#2y' u",
            "curl -O 'http://h/{.mcp.json}'",
            "curl --remote-na 'http://h/[a-z]'",
            "wget http://h/%2emcp.json",
            "wget -r http://h/",
            "wget -i list",
            "rsync -a h:x .",
            "scp -r h:x .",
            "scp 'h:.m*' .",
            "rsync h:$x .",
            "yq -s .a x",
        ] {
            assert!(of(source).scatters.is_some(), "{source}");
        }
        for source in [
            "gunzip y.gz",
            "gzip -r dir",
            "sed -i.bak p a",
            "cp -b a b",
            "split -l 10 many part-",
            "csplit -f part five 6",
            "curl -o x u#1",
            "curl -O http://h/x",
            "wget http://h/x",
            "wget -qO- http://h/%20x",
            "rsync -a x h:y",
            "scp h:x .",
            "cp -r a b",
        ] {
            assert_eq!(of(source).scatters, None, "{source}");
        }
        let copies = of("scp u@h:d/.mcp.json .").copies;
        assert!(
            copies.iter().any(|copied| copied.from == Operand::Fixed("d/.mcp.json".to_owned()))
        );
    }
}
