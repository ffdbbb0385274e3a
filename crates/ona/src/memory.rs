//! `ona memory`: what is worth knowing in a later session.

mod change;
mod fields;
mod find;
mod import;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};

use ona_engine::memory::project_of;
use ona_store::{Author, Join, MemoryRow, Seat, Store, Within, WrittenBy};

use crate::args::Cli;
use crate::env;
use crate::error::CliError;
use crate::eval::directory;
use crate::governed::{self, Starter};
use crate::workspace::own_session;

#[derive(Debug, Subcommand)]
pub enum Memory {
    /// Keep something for later sessions of this project
    ///
    /// Secrets are masked before it is kept. An agent may add to its own project.
    #[command(
        after_help = "Examples:\n  ona memory add --type lesson --title 'Tests need a database' --content 'Start it with `make db`' --keywords tests,postgres\n  git log -5 | ona memory add --type fact --title 'Latest releases' --content -\n  ona memory add --type preference --title 'Answer in German' --all"
    )]
    Add(Box<Add>),
    /// Find memories by words, the best first
    ///
    /// Words are stemmed, and no sign means anything but itself. What holds all words is found, or what holds any of
    /// them if nothing holds all. What is found gets attention: it comes earlier the next time.
    #[command(
        after_help = "Examples:\n  ona memory search database tests\n  ona memory search login --all --limit 3\n  ona memory search login --json | jq '.[].id'"
    )]
    Search {
        /// What to look for
        #[arg(required = true, value_name = "WORD")]
        words: Vec<String>,
        #[command(flatten)]
        place: Place,
        /// How many at most
        #[arg(long, value_name = "N", default_value = "10")]
        limit: NonZeroUsize,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// List memories, the latest first
    #[command(
        after_help = "Examples:\n  ona memory list\n  ona memory list --type lesson --limit 5\n  ona memory list --all --json"
    )]
    List {
        /// Only of this type
        #[arg(long = "type", value_name = "T")]
        kind: Option<String>,
        #[command(flatten)]
        place: Place,
        /// How many at most
        #[arg(long, value_name = "N", default_value = "50")]
        limit: NonZeroUsize,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Show all of a memory
    #[command(after_help = "Examples:\n  ona memory show mem_01a1…\n  ona memory show 01a1 --json")]
    Show {
        /// Its id, or the beginning of it
        id: String,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Change a memory: with options, or in an editor if none is given
    ///
    /// The editor is VISUAL or EDITOR. An agent may change what agents wrote.
    #[command(
        after_help = "Examples:\n  ona memory edit 01a1 --title 'A better title'\n  ona memory edit 01a1 --keywords tests,mysql --content - < note.md\n  ona memory edit 01a1 --content ''   (takes the text away)\n  ona memory edit 01a1"
    )]
    Edit(Box<Edit>),
    /// Forget a memory; that there was one stays on the record
    #[command(after_help = "Examples:\n  ona memory forget mem_01a1…\n  ona memory forget 01a1")]
    Forget {
        /// Its id, or the beginning of it
        id: String,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Take memories from Markdown files into the record
    ///
    /// A file is one memory, with `title`, `type`, `keywords` and `description` from its front matter; MEMORY.md is
    /// one for each section. Files that are imported again correct what they made the last time. Without PATH it takes
    /// what Claude Code keeps for this project. The record is the authority: files are never read in between.
    #[command(
        after_help = "Examples:\n  ona memory import\n  ona memory import docs/lessons notes.md\n  ona memory import ~/notes --all --json"
    )]
    Import {
        /// Files, and directories with .md files in them
        #[arg(value_name = "PATH")]
        paths: Vec<PathBuf>,
        #[command(flatten)]
        place: Place,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
}

/// Which project is meant.
#[derive(Debug, Default, Args)]
pub struct Place {
    /// The project in this directory, instead of the current one
    #[arg(long, value_name = "DIR", conflicts_with = "all")]
    pub project: Option<PathBuf>,
    /// All projects: look in all of them, or keep it for all of them
    #[arg(long)]
    pub all: bool,
}

#[derive(Debug, Args)]
pub struct Add {
    /// What kind of memory it is, such as lesson, fact, preference or reference
    #[arg(long = "type", value_name = "T")]
    pub kind: String,
    /// What it says, in one line
    #[arg(long)]
    pub title: String,
    /// All it says, or - for standard input
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub content: Option<String>,
    /// Further words to find it by, with commas between them
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub keywords: Vec<String>,
    /// A question that it answers; may be given more than once
    #[arg(long, value_name = "TEXT")]
    pub question: Vec<String>,
    #[command(flatten)]
    pub place: Place,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Edit {
    /// Its id, or the beginning of it
    pub id: String,
    /// What kind of memory it is
    #[arg(long = "type", value_name = "T")]
    pub kind: Option<String>,
    /// What it says, in one line
    #[arg(long)]
    pub title: Option<String>,
    /// All it says, or - for standard input
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub content: Option<String>,
    /// Further words to find it by, in place of those it has
    #[arg(long, value_name = "A,B")]
    pub keywords: Option<String>,
    /// A question that it answers, in place of those it has; may be given more than once
    #[arg(long, value_name = "TEXT")]
    pub question: Vec<String>,
    #[command(flatten)]
    pub place: Place,
    /// As JSON
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

/// The record, and who asks it.
struct Desk {
    store: Store,
    /// What started this, if not the operator.
    starter: Option<Starter>,
    /// In words, for the record.
    started_by: Option<String>,
    /// The session it goes on the record of, if there is one.
    seat: Option<Seat>,
    /// The project that is meant if none is named.
    project: String,
}

impl Desk {
    fn open(cli: &Cli) -> Result<Self, CliError> {
        let here = directory(cli.cwd.as_ref())?;
        let store = Store::open(&env::database()?)?;
        let starter = governed::started_by();
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
        const MANY: usize = 6;
        let word = word.trim();
        if word.is_empty() {
            return Err(CliError::usage("the id is empty").hint("`ona memory list` shows all"));
        }
        let called = |word: &str| -> Result<Vec<MemoryRow>, CliError> {
            let mut rows = self.store.memories_called(word, MANY)?;
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
            rows = called(&format!("{}{word}", fields::ID))?;
        }
        match rows.len() {
            0 => Err(CliError::usage(format!("there is no memory `{word}`"))
                .hint("`ona memory list --all` shows all of them")),
            1 => Ok(rows.remove(0)),
            _ => {
                let mut ids: Vec<&str> = rows.iter().map(|row| row.memory.id.as_str()).collect();
                ids.truncate(MANY - 1);
                let more = if rows.len() == MANY { ", …" } else { "" };
                Err(CliError::usage(format!("`{word}` could be any of {}{more}", ids.join(", ")))
                    .hint("give more of the id"))
            }
        }
    }
}

/// The project in a directory.
fn named(dir: &Path) -> Result<String, CliError> {
    let real = dir.canonicalize().ok().filter(|dir| dir.is_dir()).ok_or_else(|| {
        CliError::usage(format!("--project {}: there is no such directory", dir.display()))
            .hint("name a directory of the project, or --all for all projects")
    })?;
    Ok(project_of(&real))
}

/// Where to look.
fn within(scope: Option<&String>) -> Within<'_> {
    scope.map_or(Within::All, |project| Within::Project(project))
}

pub fn run(cli: &Cli, command: &Memory) -> Result<ExitCode, CliError> {
    let desk = Desk::open(cli)?;
    match command {
        Memory::Add(add) => change::add(&desk, add),
        Memory::Search { words, place, limit, json } => {
            find::search(&desk, &words.join(" "), place, limit.get(), *json)
        }
        Memory::List { kind, place, limit, json } => {
            find::list(&desk, kind.as_deref(), place, limit.get(), *json)
        }
        Memory::Show { id, json } => find::show(&desk, id, *json),
        Memory::Edit(edit) => change::edit(&desk, edit),
        Memory::Forget { id, json } => change::forget(&desk, id, *json),
        Memory::Import { paths, place, json } => import::run(cli, &desk, paths, place, *json),
    }
}
