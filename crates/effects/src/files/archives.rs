//! Archives and patches: which files they make a program write.
//!
//! The names are in the archive, not on the command line. Where it can be read, they are known; where not, a human
//! has to decide, because some paths are protected.

mod names;

use super::{Access, Operand, Touched, files_named};
use crate::programs::{Arguments, Kind};
use crate::shell::Word;

pub(crate) use names::{Format, members};

/// An archive or a patch that says which files are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unpacked {
    /// Who writes them.
    pub(crate) by: String,
    /// Where it is; what is fed to the command if it does not say.
    pub(crate) archive: Option<Operand>,
    /// How to read it.
    pub(crate) format: Format,
    /// Below which directory, where it says so.
    pub(crate) into: Option<Operand>,
    /// How many leading names are taken away: some number of them, if it does not say.
    pub(crate) strips: bool,
}

/// What a program writes that takes the names from an archive or a patch.
pub(super) fn unpacks(name: &str, arguments: &Arguments, touched: &mut Touched) {
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
            // It lists, tests or prints.
            if !arguments.letters.contains(['l', 't', 'v', 'p', 'c', 'z', 'Z']) {
                let into: Vec<Word> = arguments.values(Kind::Into).cloned().collect();
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
            let file = archives.first().or_else(|| arguments.operands.get(1));
            files_named(&archives, Access::Reads, touched);
            unpack(name, Format::Patch, file, &dirs, arguments, touched);
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
        || arguments.letters.contains(['g', 'G']);
    let dirs: Vec<Word> = arguments.values(Kind::Chdir).cloned().collect();
    if renames || dirs.len() > 1 {
        touched
            .scatters
            .get_or_insert(format!("which files `{name}` writes is not in the command"));
        return;
    }
    files_named(&dirs, Access::Writes, touched);
    unpack(name, Format::Tar, archives.first(), &dirs, arguments, touched);
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
