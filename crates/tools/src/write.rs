//! Write: creates or overwrites a whole file.

use std::fs::File;
use std::io;
use std::path::Path;

use ona_effects::Effects;
use ona_effects::path::Target;
use ona_files::{Links, MAX_WHOLE, ReadError, ReplaceError, ReplaceOptions, replace};
use ona_mcp::Hints;
use ona_policy::RuleSubject;
use ona_policy::secrets;
use ona_repo::Disk;
use ona_types::{ContentHash, FileView, Seen, ToolKind, ToolOutput, WriteAction};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::context::{Place, ToolContext};
use crate::facts::Facts;
use crate::input::InputError;
use crate::text;
use crate::tool::{BuiltIn, Refusal};

pub(crate) struct Write;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WriteInput {
    /// The file to create or overwrite, as an absolute path.
    file_path: String,
    /// Its whole new content.
    content: String,
}

impl BuiltIn for Write {
    const NAME: &'static str = "Write";
    const DESCRIPTION: &'static str = "Creates a file, or overwrites one with new content. A file that \
        exists must have been read in this session first, all of it, and be unchanged since. Parent \
        directories are created. To change a part of a file use Edit.";
    const FACTS: Facts = Facts {
        kind: ToolKind::Write(WriteAction::Write),
        rules: RuleSubject::Writes,
        denied_in_planning: true,
        free_in_accept_edits: true,
        ..Facts::plain(Hints::CHANGES.once())
    };
    type Input = WriteInput;

    fn effects(input: &WriteInput, place: &Place) -> Result<Effects, InputError> {
        Ok(Effects::replace(target::<Self>(place, "file_path", &input.file_path)?))
    }

    fn preview(input: &WriteInput, _: Option<&[u8]>) -> Option<Vec<u8>> {
        Some(input.content.clone().into_bytes())
    }

    async fn run(input: WriteInput, cx: &ToolContext<'_>) -> Result<ToolOutput, Refusal> {
        let path = cx.judged_path()?;
        let lines = text::count(text::line_count(&input.content), "line");
        let shown = path.display();
        let Some(old) = existing(&path)? else {
            let hash = ContentHash::of(input.content.as_bytes());
            let new_file = ReplaceOptions::new_file().resolved();
            replace(&path, input.content.as_bytes(), &new_file).map_err(|e| refused(&path, e))?;
            return Ok(ToolOutput::success(format!("Created {shown} ({lines})"))
                .with_view(FileView { path, hash, seen: Seen::Whole }));
        };
        let known = known(cx, &path)?;
        if known.seen != Seen::Whole {
            return Err(Refusal::rejected(format!(
                "{shown} has been read only in part ({}): read the rest before overwriting all of it, \
                 or use Edit",
                known.seen
            )));
        }
        no_mask(&path, &input.content, || ona_files::content_text(&path).unwrap_or_default())?;
        let content = in_style_of(&old, input.content);
        let hash = ContentHash::of(content.as_bytes());
        let expected = ReplaceOptions::expecting(&known.hash).resolved();
        replace(&path, content.as_bytes(), &expected).map_err(|e| refused(&path, e))?;
        Ok(ToolOutput::success(format!("Updated {shown} ({lines})")).with_view(FileView {
            path,
            hash,
            seen: Seen::Whole,
        }))
    }
}

/// What an input's key names, for effects.
pub(crate) fn target<T: BuiltIn>(
    place: &Place,
    key: &str,
    given: &str,
) -> Result<Target, InputError> {
    Target::of(&Disk, &place.cwd, given).map_err(|error| InputError::path(T::NAME, key, &error))
}

/// Opens the file at a resolved path if there is one; anything that is not a regular file is refused, and so is a link
/// that was put into the path since.
pub(crate) fn existing(path: &Path) -> Result<Option<File>, Refusal> {
    let shown = path.display();
    ona_files::open(path, Links::RefuseAll).map_err(|error| match error {
        ReadError::Directory => {
            Refusal::rejected(format!("{shown} is a directory: name a file in it"))
        }
        ReadError::Io(error) => unreadable(path, &error),
        _ => Refusal::rejected(format!("{shown} is not a regular file (a device, pipe or socket)")),
    })
}

/// A mask replaced a secret when the file was shown. It must not overwrite the secret in the file.
pub(crate) fn no_mask(path: &Path, new: &str, old: impl FnOnce() -> String) -> Result<(), Refusal> {
    if secrets::masks(new).next().is_none() {
        return Ok(());
    }
    let old = old();
    match secrets::masks(new).find(|mask| !old.contains(mask)) {
        None => Ok(()),
        Some(mask) => Err(Refusal::rejected(format!(
            "{} was not changed: {mask} stands for a secret that was not shown, and writing it would destroy \
             the secret. Use Edit for the lines around it",
            path.display()
        ))),
    }
}

/// What the session knows of a file it wants to change.
pub(crate) fn known(cx: &ToolContext<'_>, path: &Path) -> Result<FileView, Refusal> {
    let seen = cx.views.last_view(path).map_err(|error| Refusal::Internal(error.to_string()))?;
    seen.ok_or_else(|| {
        Refusal::rejected(format!(
            "{} has not been read in this session: Read it before writing to it",
            path.display()
        ))
    })
}

pub(crate) fn unreadable(path: &Path, error: &io::Error) -> Refusal {
    let shown = path.display();
    Refusal::rejected(match error.kind() {
        io::ErrorKind::PermissionDenied => format!("{shown}: permission denied"),
        io::ErrorKind::NotFound => format!("{shown} does not exist"),
        io::ErrorKind::WouldBlock => format!("{shown} has nothing to read right now"),
        io::ErrorKind::NotADirectory => {
            format!("{shown}: a part of the path is a file, not a directory")
        }
        _ => format!("{shown} cannot be read: {error}"),
    })
}

/// Says why a file was not replaced.
pub(crate) fn refused(path: &Path, error: ReplaceError) -> Refusal {
    let shown = path.display();
    Refusal::rejected(match error {
        ReplaceError::Changed => format!(
            "Stale File: {shown} has changed since it was read; nothing was written. Read it again, \
             then repeat the change"
        ),
        ReplaceError::Exists => {
            format!("Stale File: {shown} exists now; nothing was written. Read it first")
        }
        ReplaceError::Locked => {
            format!("{shown} is locked by another process; nothing was written. Try again")
        }
        ReplaceError::Io(error) => match error.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                format!("{shown} cannot be written: {error}")
            }
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => {
                format!("{shown} cannot be written: {error}; the file is as it was")
            }
            _ => format!("{shown} cannot be written: {error}"),
        },
    })
}

/// New content with the byte order mark and the line ends of the file it replaces.
fn in_style_of(old: &File, content: String) -> String {
    let Ok(bytes) = ona_files::read_open(old, MAX_WHOLE) else { return content };
    let Ok(old) = String::from_utf8(bytes) else { return content };
    let content = if text::is_crlf(&old) { text::to_crlf(&content) } else { content };
    if old.starts_with('\u{feff}') && !content.starts_with('\u{feff}') {
        return format!("\u{feff}{content}");
    }
    content
}
