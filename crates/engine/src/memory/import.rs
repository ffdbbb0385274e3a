//! Reading memories from Markdown files.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ona_config::trust::name_of;
use ona_files::ReadError;
use ona_store::{ImportedMemory, Memory};
use ona_types::ContentHash;
use serde_json::json;

use super::fields::{FieldError, Fields, ID_PREFIX, MAX_TITLE};
use super::markdown::{self, FrontMatterError, INDEX, Note};

/// The most files of one import.
const MAX_FILES: usize = 10_000;
/// The deepest directory that is read.
const MAX_DEPTH: usize = 16;
/// The largest file that is read, in bytes.
const MAX_FILE: u64 = 1024 * 1024;

/// Why nothing is imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A directory cannot be read.
    #[error("cannot read {}: {error}", dir.display())]
    Directory {
        /// The directory.
        dir: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// There are too many files.
    #[error("more than {MAX_FILES} files in {}", .0.display())]
    TooManyFiles(PathBuf),
}

/// Why one file or directory is not imported.
#[derive(Debug, thiserror::Error)]
pub enum Skipped {
    /// Too deep.
    #[error("it is more than {MAX_DEPTH} directories deep")]
    TooDeep,
    /// A link, a pipe or a device.
    #[error("it is not a regular file")]
    NotRegular,
    /// The file was removed in the meantime.
    #[error("file not found")]
    Missing,
    /// Not text; the byte is counted from 1.
    #[error("byte {0} is not UTF-8")]
    NotUtf8(usize),
    /// It cannot be read.
    #[error(transparent)]
    Read(ReadError),
    /// The front matter is not valid.
    #[error("invalid front matter: {0}")]
    FrontMatter(#[from] FrontMatterError),
    /// An index without text of its own.
    #[error("it only links to other files")]
    OnlyLinks,
    /// No text.
    #[error("it is empty")]
    Empty,
    /// A field is not valid.
    #[error(transparent)]
    Field(#[from] FieldError),
}

/// What an import read.
#[derive(Debug, Default)]
pub struct Import {
    /// The memories, in the order of their files.
    pub memories: Vec<ImportedMemory>,
    /// The paths that are left out, and why.
    pub skipped: Vec<(PathBuf, Skipped)>,
}

/// Reads the memories of Markdown files, and of the `.md` files in directories, for a project or for all. A memory's id
/// depends on the path, so paths should be resolved. All are looked at before the first file is read.
pub fn read(
    paths: &[PathBuf],
    scope: Option<&str>,
    fields: &mut Fields,
) -> Result<Import, ImportError> {
    let mut found = Found::default();
    for path in paths {
        if path.is_dir() {
            found.walk(path, 0)?;
        } else {
            found.files.push(path.clone());
        }
    }
    found.files.sort();
    found.files.dedup();
    let mut import = Import { memories: Vec::new(), skipped: found.skipped };
    for file in found.files {
        match memories(&file, scope, fields) {
            Ok(mut memories) => import.memories.append(&mut memories),
            Err(why) => import.skipped.push((file, why)),
        }
    }
    Ok(import)
}

/// What was found on the disk.
#[derive(Default)]
struct Found {
    files: Vec<PathBuf>,
    skipped: Vec<(PathBuf, Skipped)>,
}

impl Found {
    /// The Markdown files below a directory. Links are not followed, hidden files are left out.
    fn walk(&mut self, dir: &Path, depth: usize) -> Result<(), ImportError> {
        if depth > MAX_DEPTH {
            self.skipped.push((dir.to_owned(), Skipped::TooDeep));
            return Ok(());
        }
        let unreadable = |error| ImportError::Directory { dir: dir.to_owned(), error };
        let mut entries: Vec<_> =
            fs::read_dir(dir).and_then(Iterator::collect).map_err(unreadable)?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let (path, name) = (entry.path(), entry.file_name());
            if name.as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let kind = entry.file_type().map_err(unreadable)?;
            let is_note = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("md"));
            if kind.is_dir() {
                self.walk(&path, depth + 1)?;
            } else if is_note && kind.is_file() {
                self.files.push(path);
            } else if is_note {
                self.skipped.push((path, Skipped::NotRegular));
            }
            if self.files.len() > MAX_FILES {
                return Err(ImportError::TooManyFiles(dir.to_owned()));
            }
        }
        Ok(())
    }
}

/// The memories of a file. A file that is imported again gives the same ids.
fn memories(
    file: &Path,
    scope: Option<&str>,
    fields: &mut Fields,
) -> Result<Vec<ImportedMemory>, Skipped> {
    let text = match ona_files::read_text_at_most(file, MAX_FILE) {
        Ok(Some(text)) => text,
        Ok(None) => return Err(Skipped::Missing),
        Err(ReadError::NotUtf8 { at }) => return Err(Skipped::NotUtf8(at + 1)),
        Err(error) => return Err(Skipped::Read(error)),
    };
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let notes = markdown::notes(&name, &text)?;
    if notes.is_empty() {
        return Err(if name == INDEX { Skipped::OnlyLinks } else { Skipped::Empty });
    }
    let source = name_of(file);
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut memories = Vec::new();
    for note in notes {
        // The section of an index that a memory comes from. Any other file is one memory, whatever its title is.
        let section = (name == INDEX).then(|| {
            let nth = seen.entry(note.title.clone()).or_default();
            *nth += 1;
            (note.title.clone(), *nth)
        });
        let key = json!([scope, source, section]).to_string();
        let id = format!("{ID_PREFIX}{}", &ContentHash::of(key.as_bytes()).as_str()[..32]);
        let hash = ContentHash::of(markdown::to_markdown(&note).as_bytes()).to_string();
        let memory = checked(id, &note, scope, fields)?;
        memories.push(ImportedMemory { memory, source: source.clone(), source_hash: hash });
    }
    Ok(memories)
}

/// The memory of a note. A title that is too long is cut.
fn checked(
    id: String,
    note: &Note,
    scope: Option<&str>,
    fields: &mut Fields,
) -> Result<Memory, FieldError> {
    let title = fields.first_chars(&note.title.replace(char::is_control, " "), MAX_TITLE);
    Ok(Memory {
        id,
        kind: fields.kind(&note.kind)?,
        title: fields.title(&title)?,
        content: fields.content(&note.content)?,
        keywords: fields.keywords(note.keywords.iter().map(String::as_str))?,
        anticipated_queries: fields.questions(note.description.as_deref())?,
        project_scope: scope.map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use ona_policy::secrets::Redactor;

    use super::*;

    #[test]
    fn files_are_found_read_and_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir(root.join("deep")).unwrap();
        for (name, text) in [
            ("a.md", "# First\n\ntext\n"),
            ("deep/b.MD", "# Second\n"),
            ("empty.md", "\n"),
            ("other.txt", "no"),
            (".hidden.md", "# Hidden\n"),
        ] {
            fs::write(root.join(name), text).unwrap();
        }
        fs::write(root.join("bytes.md"), b"ok\xff").unwrap();
        symlink(root.join("a.md"), root.join("link.md")).unwrap();
        let mut fields = Fields::new(Redactor::default());
        let paths = [root.clone(), root.join("a.md")];
        let import = read(&paths, Some("/p"), &mut fields).unwrap();
        let titles: Vec<&str> =
            import.memories.iter().map(|one| one.memory.title.as_str()).collect();
        assert_eq!(titles, ["First", "Second"]);
        let skipped: Vec<(String, String)> = import
            .skipped
            .iter()
            .map(|(path, why)| (name_of(path.strip_prefix(&root).unwrap()), why.to_string()))
            .collect();
        for (path, why) in [
            ("link.md", "it is not a regular file"),
            ("bytes.md", "byte 3 is not UTF-8"),
            ("empty.md", "it is empty"),
        ] {
            assert!(skipped.contains(&(path.to_owned(), why.to_owned())), "{skipped:?}");
        }
        assert_eq!(skipped.len(), 3);
        let again = read(&paths[1..], Some("/p"), &mut fields).unwrap();
        assert_eq!(again.memories[0], import.memories[0], "the same id and hash");
        let other = read(&paths[1..], None, &mut fields).unwrap();
        assert_ne!(other.memories[0].memory.id, import.memories[0].memory.id);
        let missing = read(&[root.join("nowhere.md")], None, &mut fields).unwrap();
        assert!(matches!(missing.skipped[..], [(_, Skipped::Missing)]), "{missing:?}");
    }
}
