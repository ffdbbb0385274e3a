//! `ona memory`: saves and finds what later sessions should know.

mod change;
mod find;
mod import;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use ona_cli::CliError;
use ona_cli::Options;
use ona_cli::bootstrap::directory;
use ona_cli::output::complain;
use ona_cli::record;
use ona_cli::secrets;
use ona_cli::started_by::{StartedBy, started_by};

use ona_engine::memory::fields::{Fields, ID_PREFIX};
use ona_engine::memory::project_of;
use ona_store::{Author, Join, MemoryRow, Seat, Store, Within, WrittenBy};

use crate::workspace::own_session;

#[derive(Debug, Subcommand)]
pub enum Memory {
    /// Save a memory for later sessions of this project
    ///
    /// Secrets are masked first. An agent may add memories to its own project.
    #[command(
        after_help = "Examples:\n  ona memory add --type lesson --title 'Tests need a database' --content 'Run `make db`'\n  git log -5 | ona memory add --type fact --title 'Latest releases' --content -\n  ona memory add --type preference --title 'Answer in German' --all"
    )]
    Add(Box<Add>),
    /// Search memories by words, best match first
    ///
    /// Words are stemmed; there are no operators. Finds the memories with all words, or with any of them if none has
    /// all. A memory that is found ranks higher the next time.
    #[command(
        after_help = "Examples:\n  ona memory search database tests\n  ona memory search login --all --limit 3\n  ona memory search login --json | jq '.[].id'"
    )]
    Search {
        /// Words to search for
        #[arg(required = true, value_name = "WORD")]
        words: Vec<String>,
        #[command(flatten)]
        place: Place,
        /// Maximum number of results
        #[arg(long, value_name = "N", default_value = "10")]
        limit: NonZeroUsize,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List memories, newest first
    #[command(
        after_help = "Examples:\n  ona memory list\n  ona memory list --type lesson --limit 5\n  ona memory list --all --json"
    )]
    List {
        /// Only memories of this type
        #[arg(long = "type", value_name = "T")]
        kind: Option<String>,
        #[command(flatten)]
        place: Place,
        /// Maximum number of results
        #[arg(long, value_name = "N", default_value = "50")]
        limit: NonZeroUsize,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a memory
    #[command(after_help = "Examples:\n  ona memory show mem_01a1…\n  ona memory show 01a1 --json")]
    Show {
        /// Id of the memory, or its first characters
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Change a memory, with options or in an editor
    ///
    /// Without options, opens the editor VISUAL or EDITOR. An agent may only change memories that agents wrote.
    #[command(
        after_help = "Examples:\n  ona memory edit 01a1 --title 'A better title'\n  ona memory edit 01a1 --keywords tests,mysql --content - < note.md\n  ona memory edit 01a1 --content ''   (removes the text)\n  ona memory edit 01a1"
    )]
    Edit(Box<Edit>),
    /// Delete a memory; the deletion is recorded
    #[command(after_help = "Examples:\n  ona memory forget mem_01a1…\n  ona memory forget 01a1")]
    Forget {
        /// Id of the memory, or its first characters
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Import memories from Markdown files
    ///
    /// Each file is one memory, with `title`, `type`, `keywords` and `description` from its front matter; MEMORY.md
    /// is one memory per section. A file that is imported again updates its memories. Without PATH, imports the
    /// memories that Claude Code has for this project. Later changes of a file count only after another import.
    #[command(
        after_help = "Examples:\n  ona memory import\n  ona memory import docs/lessons notes.md\n  ona memory import ~/notes --all --json"
    )]
    Import {
        /// Markdown files, or directories with .md files
        #[arg(value_name = "PATH")]
        paths: Vec<PathBuf>,
        #[command(flatten)]
        place: Place,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// Which project is meant.
#[derive(Debug, Default, Args)]
pub struct Place {
    /// Use the project in this directory instead of the current one
    #[arg(long, value_name = "DIR", conflicts_with = "all")]
    pub project: Option<PathBuf>,
    /// Use all projects
    #[arg(long)]
    pub all: bool,
}

#[derive(Debug, Args)]
pub struct Add {
    /// Type, such as lesson, fact, preference or reference
    #[arg(long = "type", value_name = "T")]
    pub kind: String,
    /// Title, one line
    #[arg(long)]
    pub title: String,
    /// Text, or - for standard input
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub content: Option<String>,
    /// More words to find it by, comma-separated
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub keywords: Vec<String>,
    /// Question that it answers; can be repeated
    #[arg(long, value_name = "TEXT")]
    pub question: Vec<String>,
    #[command(flatten)]
    pub place: Place,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Edit {
    /// Id of the memory, or its first characters
    pub id: String,
    /// Type
    #[arg(long = "type", value_name = "T")]
    pub kind: Option<String>,
    /// Title, one line
    #[arg(long)]
    pub title: Option<String>,
    /// Text, or - for standard input
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub content: Option<String>,
    /// Replace the words to find it by, comma-separated
    #[arg(long, value_name = "A,B")]
    pub keywords: Option<String>,
    /// Replace the questions that it answers; can be repeated
    #[arg(long, value_name = "TEXT")]
    pub question: Vec<String>,
    #[command(flatten)]
    pub place: Place,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

impl Memory {
    /// Whether only the operator may do it: whose memories they are is found out later.
    pub fn is_the_operators(&self) -> bool {
        match self {
            Self::Import { .. } => true,
            Self::Add(add) => add.place.is_given(),
            Self::Edit(edit) => edit.place.is_given(),
            Self::Search { place, .. } | Self::List { place, .. } => place.is_given(),
            Self::Show { .. } | Self::Forget { .. } => false,
        }
    }
}

impl Place {
    fn is_given(&self) -> bool {
        self.all || self.project.is_some()
    }
}

/// Checks fields, and masks the secrets that the environment holds.
fn fields() -> Fields {
    Fields::new(secrets::redactor().clone())
}

fn warn_if_masked(fields: &Fields) {
    if fields.masked() {
        complain("warning: masked what looks like a secret as [REDACTED:…]\n");
    }
}

/// The record, and the caller.
struct Caller {
    store: Store,
    /// What started this, if not the operator.
    starter: Option<StartedBy>,
    /// In words, for the record.
    started_by: Option<String>,
    /// The session it goes on the record of, if there is one.
    seat: Option<Seat>,
    /// The project that is meant if none is named.
    project: String,
}

impl Caller {
    fn open(cli: &Options) -> Result<Self, CliError> {
        let here = directory(cli.cwd.as_deref())?;
        let store = record::open(cli.cwd.as_deref())?;
        let starter = started_by();
        let name = here.to_string_lossy();
        let seat = match (own_session(&store, starter.as_ref())?, &starter) {
            (Some(session), _) => match store.find_session(session.as_str(), &name)? {
                ona_store::Found::One(seat) => Some(seat),
                _ => None,
            },
            (None, Some(_)) => None,
            (None, None) => store.seat(&Join { project_dir: &name, conversation: None })?,
        };
        // A call may change the directory, but not whose memories it sees.
        let own = seat.as_ref().filter(|_| starter.is_some());
        let project = project_of(own.map_or(&here, |seat| seat.project_dir.as_ref()));
        let started_by = starter.as_ref().map(ToString::to_string);
        Ok(Self { store, starter, started_by, seat, project })
    }

    fn author(&self) -> Author<'_> {
        Author {
            by: if self.starter.is_some() { WrittenBy::Agent } else { WrittenBy::Human },
            started_by: self.started_by.as_deref(),
            seat: self.seat.as_ref(),
        }
    }

    /// The project that a memory is kept for: the named one, this one, or all of them.
    fn scope(&self, place: &Place) -> Result<Option<String>, CliError> {
        match &place.project {
            Some(dir) => named(dir).map(Some),
            None => Ok((!place.all).then(|| self.project.clone())),
        }
    }

    /// The memory that a word names.
    fn find(&self, word: &str) -> Result<MemoryRow, CliError> {
        const MAX_MATCHES: usize = 6;
        let word = word.trim();
        if word.is_empty() {
            return Err(CliError::usage("empty id").hint("`ona memory list` lists the memories"));
        }
        let called = |word: &str| -> Result<Vec<MemoryRow>, CliError> {
            let mut rows = self.store.memories_called(word, MAX_MATCHES)?;
            // An agent sees its own project's.
            if self.starter.is_some() {
                let own = Some(&self.project);
                rows.retain(|row| {
                    row.memory.project_scope.as_ref().is_none_or(|it| Some(it) == own)
                });
            }
            Ok(rows)
        };
        let mut rows = called(word)?;
        if rows.is_empty() {
            rows = called(&format!("{ID_PREFIX}{word}"))?;
        }
        match rows.len() {
            0 => Err(CliError::usage(format!("unknown memory `{word}`"))
                .hint("`ona memory list --all` lists all memories")),
            1 => Ok(rows.remove(0)),
            _ => {
                let mut ids: Vec<&str> = rows.iter().map(|row| row.memory.id.as_str()).collect();
                ids.truncate(MAX_MATCHES - 1);
                let more = if rows.len() == MAX_MATCHES { ", …" } else { "" };
                Err(CliError::usage(format!("`{word}` is ambiguous: {}{more}", ids.join(", ")))
                    .hint("give more characters of the id"))
            }
        }
    }
}

/// The project in a directory.
fn named(dir: &Path) -> Result<String, CliError> {
    let real = dir.canonicalize().ok().filter(|dir| dir.is_dir()).ok_or_else(|| {
        CliError::usage(format!("--project {}: directory not found", dir.display()))
            .hint("name a directory of the project, or --all for all projects")
    })?;
    Ok(project_of(&real))
}

/// Where to look.
fn within(scope: Option<&String>) -> Within<'_> {
    scope.map_or(Within::All, |project| Within::Project(project))
}

pub fn run(cli: &Options, command: &Memory) -> Result<ExitCode, CliError> {
    let caller = Caller::open(cli)?;
    match command {
        Memory::Add(add) => change::add(&caller, add),
        Memory::Search { words, place, limit, json } => {
            find::search(&caller, &words.join(" "), place, limit.get(), *json)
        }
        Memory::List { kind, place, limit, json } => {
            find::list(&caller, kind.as_deref(), place, limit.get(), *json)
        }
        Memory::Show { id, json } => find::show(&caller, id, *json),
        Memory::Edit(edit) => change::edit(&caller, edit),
        Memory::Forget { id, json } => change::forget(&caller, id, *json),
        Memory::Import { paths, place, json } => import::run(cli, &caller, paths, place, *json),
    }
}
