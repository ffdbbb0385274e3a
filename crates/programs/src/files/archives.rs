//! Archives and patches that say which files a program writes: where they are, and where what is in them goes.

use ona_shell::Word;

use super::{Access, Operand, Touched, files_named};
use crate::arguments::{Arguments, Kind};

/// How an archive is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `tar`, compressed with `gzip` or not at all.
    Tar,
    /// `zip`.
    Zip,
    /// A difference between files.
    Patch,
}

/// An archive or a patch that says which files are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unpacked {
    /// Who writes them.
    pub by: String,
    /// Where it is; what is fed to the command if it does not say.
    pub archive: Option<Operand>,
    /// How to read it.
    pub format: Format,
    /// Below which directory, where it says so.
    pub into: Option<Operand>,
    /// How many leading names are taken away: some number of them, if it does not say.
    pub strips: bool,
}

/// What a program writes that takes the names from an archive or a patch.
pub(super) fn unpacks(name: &str, words: &[Word], arguments: &Arguments, touched: &mut Touched) {
    let archives: Vec<Word> = arguments.values(Kind::Archive).cloned().collect();
    let first = arguments.operands.first();
    let does = first.and_then(|word| word.literal.as_deref()).unwrap_or_default();
    let scatters = |touched: &mut Touched| {
        touched
            .scatters
            .get_or_insert(format!("which files `{name}` writes is not in the command"));
    };
    match name {
        "tar" | "bsdtar" | "gtar" => tar(name, &archives, arguments, touched),
        "unzip" => {
            let into: Vec<Word> = arguments.values(Kind::Into).cloned().collect();
            // It looks for names that fit, and may write others in small letters.
            let pattern = does.contains(['*', '?', '[', '\\']);
            if only_shows(words) {
            } else if pattern || into.len() > 1 || arguments.letters.contains('L') {
                scatters(touched);
            } else {
                unpack(name, Format::Zip, first, &into, arguments, touched);
            }
            files_named(
                first.map(std::slice::from_ref).unwrap_or_default(),
                Access::Reads,
                touched,
            );
        }
        "patch" if !arguments.has_long("dry-run") => {
            let dirs: Vec<Word> = arguments.values(Kind::Chdir).cloned().collect();
            files_named(&archives, Access::Reads, touched);
            // Of several one counts, wherever it stands.
            let files: Vec<&Word> = archives.iter().chain(arguments.operands.get(1)).collect();
            if dirs.len() > 1 {
                scatters(touched);
            }
            if files.is_empty() {
                unpack(name, Format::Patch, None, &dirs, arguments, touched);
            }
            for file in files {
                unpack(name, Format::Patch, Some(file), &dirs, arguments, touched);
            }
        }
        "cpio" => {
            let creates = arguments.letters.contains(['o', 'O']) || arguments.has_long("create");
            let access = if creates { Access::Writes } else { Access::Reads };
            files_named(&archives, access, touched);
            if !arguments.letters.contains('t') && !arguments.has_long("list") {
                scatters(touched);
            }
        }
        "7z" | "7za" | "7zr" | "unrar" | "ar" => {
            let shows = matches!(does, "l" | "t" | "h" | "i" | "lb" | "lt" | "p" | "v" | "tv");
            let packs = matches!(does, "a" | "u" | "d" | "r" | "rc" | "rcs" | "q" | "s" | "rn");
            let archive = arguments.operands.get(1).map(std::slice::from_ref).unwrap_or_default();
            files_named(archive, if packs { Access::Writes } else { Access::Reads }, touched);
            if packs {
                files_named(
                    arguments.operands.get(2..).unwrap_or_default(),
                    Access::Reads,
                    touched,
                );
            } else if !shows {
                scatters(touched);
            }
        }
        _ => {}
    }
}

/// Whether `unzip` lists, tests or prints, by the options before the archive. A dash among them takes one back, and the
/// values of some are not letters.
fn only_shows(words: &[Word]) -> bool {
    let options: Option<Vec<&str>> = words
        .iter()
        .take_while(|word| word.source.starts_with(['-', '"', '\'', '$', '\\']))
        .map(|word| word.literal.as_deref())
        .collect();
    let Some(options) = options else { return false };
    let options: Vec<&str> = options.into_iter().map_while(|text| text.strip_prefix('-')).collect();
    let plain = |text: &&str| text.chars().all(|letter| "ltvpczqonajCMhZ12".contains(letter));
    let shows = |text: &&str| text.contains(['l', 't', 'v', 'p', 'c', 'z']);
    let lists = options.first().is_some_and(|first| first.starts_with('Z'));
    options.iter().all(plain) && (lists || options.iter().any(shows))
}

fn tar(name: &str, archives: &[Word], arguments: &Arguments, touched: &mut Touched) {
    let told = |letters: &[char], long: &[&str]| {
        arguments.letters.contains(letters) || long.iter().any(|long| arguments.has_long(long))
    };
    let packs = told(
        &['c', 'r', 'u', 'A'],
        &["create", "append", "update", "catenate", "concatenate", "delete"],
    );
    let extracts = told(&['x'], &["extract", "get"]);
    let shows = told(&['t', 'd'], &["list", "diff", "compare"]);
    if packs || !(extracts || shows) {
        files_named(archives, Access::Writes, touched);
        files_named(&arguments.operands, Access::Reads, touched);
    } else {
        files_named(archives, Access::Reads, touched);
    }
    if told(&[], &["remove-files"]) {
        touched.unsure.get_or_insert("`tar` removes what it packs".to_owned());
        files_named(&arguments.operands, Access::Writes, touched);
    }
    if told(&['O'], &["to-stdout"]) || shows && !extracts || packs && !extracts {
        return;
    }
    // Which names these make is too much to follow.
    let renames = [
        "transform",
        "xform",
        "one-top-level",
        "listed-incremental",
        "incremental",
        "backup",
        "suffix",
    ];
    let renames = renames.iter().any(|long| arguments.has_long(long))
        || arguments.letters.contains(['g', 'G', 's']);
    // A list of names may hold options, and another volume other members.
    let told_more = arguments.has(Kind::List) || told(&['M'], &["multi-volume"]);
    let remote = |word: &Word| word.literal.as_deref().is_some_and(|text| text.contains(':'));
    let dirs: Vec<Word> = arguments.values(Kind::Chdir).cloned().collect();
    if renames || told_more || archives.iter().any(remote) || dirs.len() > 1 {
        touched
            .scatters
            .get_or_insert(format!("which files `{name}` writes is not in the command"));
        return;
    }
    files_named(&dirs, Access::Writes, touched);
    let all: Vec<Option<&Word>> = match archives {
        [] => vec![None],
        archives => archives.iter().map(Some).collect(),
    };
    for archive in all {
        unpack(name, Format::Tar, archive, &dirs, arguments, touched);
        // Members that stand before the directory go where it starts.
        if !arguments.operands.is_empty() && !dirs.is_empty() {
            unpack(name, Format::Tar, archive, &[], arguments, touched);
        }
    }
}

fn unpack(
    name: &str,
    format: Format,
    archive: Option<&Word>,
    into: &[Word],
    arguments: &Arguments,
    touched: &mut Touched,
) {
    let fixed = |word: &Word| word.literal.clone().map(Operand::Fixed);
    let archive = archive.filter(|word| word.literal.as_deref() != Some("-"));
    let (from, to) = (archive.map(fixed), into.first().map(fixed));
    if from == Some(None) || to == Some(None) {
        touched
            .scatters
            .get_or_insert(format!("which files `{name}` writes is not in the command"));
        return;
    }
    let strips = format == Format::Patch
        || arguments.has_long("strip-components")
        || name == "unzip" && arguments.letters.contains('j');
    touched.unpacked.push(Unpacked {
        by: name.to_owned(),
        archive: from.flatten(),
        format,
        into: to.flatten(),
        strips,
    });
}

#[cfg(test)]
mod tests {
    use super::super::touched;
    use super::*;

    fn of(source: &str) -> Touched {
        touched(&ona_shell::parse(source).commands.remove(0).words)
    }

    #[test]
    fn what_only_shows_an_archive_writes_nothing() {
        for source in [
            "unzip -l a.zip",
            "unzip -qt a.zip",
            "unzip -p a.zip x",
            "unzip -Z1 a.zip",
            "tar tf a.tar",
            "tar -xOf a.tar",
        ] {
            let touched = of(source);
            assert!(touched.scatters.is_none() && touched.unpacked.is_empty(), "{source}");
        }
        for source in [
            "unzip -l-l -o a.zip",
            "unzip -o-t--t a.zip",
            "unzip -o a.zip .mcp.json -l",
            "unzip -P -l a.zip",
            "unzip -d l a.zip",
            "unzip -o -- a.zip -l",
            "unzip $x a.zip",
            "unzip -oZ a.zip",
            "patch -i --dry-run",
        ] {
            let touched = of(source);
            assert!(touched.scatters.is_some() || !touched.unpacked.is_empty(), "{source}");
        }
    }

    #[test]
    fn what_else_says_where_members_go_makes_them_unknown() {
        for source in [
            "tar xf a.tar -T list",
            "tar xf a.tar --files-fr=list",
            "tar xMf a.tar",
            "bsdtar -xf a.tar -s ,^,.git/hooks/,",
            "unzip -L a.zip",
            "unzip '*.zip'",
            "patch -d a -d b -i p",
        ] {
            assert!(of(source).scatters.is_some(), "{source}");
        }
        assert_eq!(of("tar xf a.tar -f b.tar").unpacked.len(), 2);
        assert_eq!(of("patch -i a -i b").unpacked.len(), 2);
        assert_eq!(of("patch x b -i a").unpacked.len(), 2);
        let into: Vec<_> = of("tar xf a.tar m -C d").unpacked;
        assert!(into.iter().any(|one| one.into.is_none()), "{into:?}");
    }
}
