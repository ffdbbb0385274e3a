//! `ona trace reconcile`.

use std::process::ExitCode;

use ona_hosts::project;
use ona_intents::file::INTENTS_FILE;
use ona_intents::map::MAP_PATH;
use ona_repo::git::{self, Contents, GitError};
use ona_trace::Ledger;
use ona_trace::class::Versions;
use ona_trace::entry::LineRange;
use ona_trace::ledger::LEDGER_PATH;
use ona_trace::reconcile::{ChangeKind, Ungoverned, reconcile};
use serde_json::{Value, json};

use crate::error::CliError;
use crate::output::plain;
use crate::workspace::{Workspace, counted, no_trace, printed, wait};

/// A file with its permissions before and now.
pub type Moded = (String, (u32, u32));

/// The changes since a commit, and those that no entry explains.
pub struct Changes {
    /// The commit; none before the first one.
    pub base: Option<String>,
    /// Every changed file, by its place in the workspace.
    pub files: Vec<(String, Contents)>,
    /// What no trace explains, file by file.
    pub ungoverned: Vec<Ungoverned>,
    /// Files whose permissions are other ones, before and now, and no trace says so.
    pub modes: Vec<Moded>,
}

impl Changes {
    pub fn since(workspace: &Workspace, rev: Option<&str>) -> Result<Self, CliError> {
        let root = &workspace.root;
        let (base, files, modes) = wait(async {
            let base = match rev {
                Some(rev) => Some(git::commit(root, rev).await?),
                None => git::head(root).await?,
            };
            let changed = git::changed_since(root, base.as_deref()).await?;
            let contents = git::contents(root, &changed).await?;
            let name = |file: &git::Changed| file.path.to_string_lossy().into_owned();
            let modes: Vec<Moded> =
                changed.iter().filter_map(|file| Some((name(file), file.modes?))).collect();
            let paths = changed.iter().map(name);
            Ok::<_, GitError>((base, paths.zip(contents).collect::<Vec<_>>(), modes))
        })?;
        let ledger = workspace.ledger()?;
        let modes = unexplained_modes(&ledger, modes)?;
        let is_change = |(path, contents): &(String, Contents)| {
            let same = contents.old == contents.new;
            (!same && !is_onas(path, contents)) || modes.iter().any(|(moded, _)| moded == path)
        };
        let files: Vec<_> = files.into_iter().filter(is_change).collect();
        let versions: Vec<Versions<'_>> = files.iter().map(versions).collect();
        let mut ungoverned = reconcile(&ledger, &versions).map_err(no_trace)?;
        for (path, _) in &modes {
            if !ungoverned.iter().any(|one| one.path == *path) {
                ungoverned.push(Ungoverned {
                    path: path.clone(),
                    kind: ChangeKind::Changed,
                    old_range: None,
                    new_range: None,
                    content_hash: None,
                });
            }
        }
        ungoverned.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(Self { base, files, ungoverned, modes })
    }
}

impl Changes {
    /// The files with places that no trace explains.
    pub fn unexplained(&self) -> Vec<(&String, &Contents, Vec<&Ungoverned>)> {
        let places = |path: &str| -> Vec<&Ungoverned> {
            self.ungoverned.iter().filter(|one| one.path == path).collect()
        };
        let all = self.files.iter().map(|(path, contents)| (path, contents, places(path)));
        all.filter(|(.., places)| !places.is_empty()).collect()
    }
}

/// Those of the files whose permissions no entry has changed so.
fn unexplained_modes(ledger: &Ledger, mut modes: Vec<Moded>) -> Result<Vec<Moded>, CliError> {
    if modes.is_empty() {
        return Ok(modes);
    }
    let runs = |mode: u32| mode & 0o111 != 0;
    for line in ledger.read().map_err(no_trace)? {
        let Ok((_, entry)) = line.map_err(no_trace)?.entry else { continue };
        for told in entry.warnings.iter().filter_map(|one| one.strip_prefix(MODE_CHANGED)) {
            let Some((rest, now)) = told.rsplit_once(' ') else { continue };
            let path = rest.rsplit_once(' ').map_or(rest, |(path, _)| path);
            let now = u32::from_str_radix(now, 8).unwrap_or_default();
            modes.retain(|(moded, (_, new))| moded != path || runs(*new) != runs(now));
        }
    }
    Ok(modes)
}

/// How the trace tells of permissions.
pub const MODE_CHANGED: &str = "mode_changed: ";

fn versions((path, contents): &(String, Contents)) -> Versions<'_> {
    Versions { path, old: contents.old.as_deref(), new: contents.new.as_deref() }
}

/// Whether ona writes the file itself, or it is as `ona intent init` leaves it. What else decides over changes, the
/// policy and the list of what may not be touched, is listed like any other file.
fn is_onas(path: &str, contents: &Contents) -> bool {
    let written = [INTENTS_FILE, LEDGER_PATH, MAP_PATH].contains(&path);
    let text = |bytes: &Option<Vec<u8>>| {
        bytes.as_deref().map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    };
    let set_up = project::set_up(path, text(&contents.old).as_deref());
    written || set_up.is_some() && set_up == text(&contents.new)
}

pub fn run(
    workspace: &Workspace,
    since: Option<&str>,
    as_json: bool,
) -> Result<ExitCode, CliError> {
    let changes = Changes::since(workspace, since)?;
    let text = if as_json {
        let value = json!({"base": changes.base, "changed_files": changes.files.len(),
            "ungoverned": changes.ungoverned.iter().map(self::json).collect::<Vec<_>>()});
        format!("{value}\n")
    } else {
        words(&changes)
    };
    printed(&text)?;
    Ok(ExitCode::from(u8::from(!changes.ungoverned.is_empty())))
}

fn words(changes: &Changes) -> String {
    let base = match &changes.base {
        Some(commit) => commit.get(..12).unwrap_or(commit),
        None => "the beginning",
    };
    let files = changes.files.len();
    if changes.ungoverned.is_empty() {
        return match files {
            0 => format!("no changes since {base}\n"),
            _ => format!("{} changed since {base}, all of it traced\n", counted(files, "file")),
        };
    }
    let mut text: String = changes.ungoverned.iter().map(line).collect();
    let mut bare: Vec<&str> = changes.ungoverned.iter().map(|one| one.path.as_str()).collect();
    bare.dedup();
    text.push_str(&format!(
        "{} in {} since {base} that the trace does not explain\n",
        counted(changes.ungoverned.len(), "change"),
        counted(bare.len(), "file")
    ));
    text.push_str("hint: if they are yours, `ona trace reconcile --adopt INT-…` records them\n");
    text
}

/// Where the change is, and what it is.
pub fn line(change: &Ungoverned) -> String {
    let place = match (change.new_range, change.old_range) {
        (Some(new), Some(old)) if new.is_empty() => {
            format!(":{}: {} removed", new.start_line, counted_lines(old))
        }
        (Some(new), _) if new.len() == 1 => format!(":{}", new.start_line),
        (Some(new), _) => format!(":{}-{}", new.start_line, new.end_line),
        (None, _) => String::new(),
    };
    format!("ungoverned_change  {}{place}  ({})\n", plain(&change.path), change.kind.as_str())
}

fn counted_lines(range: LineRange) -> String {
    counted(usize::try_from(range.len()).unwrap_or(usize::MAX), "line")
}

pub fn json(change: &Ungoverned) -> Value {
    json!({"type": "ungoverned_change", "path": change.path, "kind": change.kind.as_str(),
        "old_range": change.old_range, "new_range": change.new_range,
        "content_hash": change.content_hash})
}
