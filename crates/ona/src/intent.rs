//! `ona intent`: what is worked on, and which files each piece of work may touch.

mod change;
mod init;
mod lint;
mod scope;
mod select;
mod show;

pub use init::place;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::args::Cli;
use crate::error::CliError;

#[derive(Debug, Subcommand)]
pub enum Intent {
    /// Set intents up here: .orchestration/ with its files, and what git has to know of them
    ///
    /// What is there already stays as it is.
    #[command(after_help = "Examples:\n  ona intent init\n  ona --cwd ~/project intent init")]
    Init {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// List the intents that are not done yet
    #[command(
        after_help = "Examples:\n  ona intent list\n  ona intent list --all --json | jq '.[].id'"
    )]
    List {
        /// Those that are completed or abandoned too
        #[arg(long)]
        all: bool,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Show an intent: scope, constraints, criteria, requirements, who works for it, what was changed last
    #[command(
        after_help = "Examples:\n  ona intent show INT-001\n  ona intent show INT-001 --json"
    )]
    Show {
        /// Its id
        id: String,
        /// How many entries of the trace
        #[arg(long, value_name = "N", default_value_t = 5)]
        last: usize,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Add an intent
    #[command(
        after_help = "Examples:\n  ona intent add --name 'Rate limit the login' --scope 'src/auth/**' --scope 'tests/auth/*.rs'\n  ona intent add --id INT-014 --name Docs --scope 'docs/**' --criterion 'Every command is described' --requirement REQ-7"
    )]
    Add(Box<Add>),
    /// Change an intent; everything else in the file stays as it is written
    ///
    /// The options of `add` give a key its value, those with --add- and --remove- change a list.
    #[command(
        after_help = "Examples:\n  ona intent edit INT-001 --name 'A better name'\n  ona intent edit INT-001 --add-scope 'src/log/**' --remove-scope 'src/old/**'\n  ona intent edit INT-001 --constraint 'No new dependency'   (the only one from now on)"
    )]
    Edit(Box<Edit>),
    /// Set the status of an intent: PLANNED, IN_PROGRESS, COMPLETED, BLOCKED or ABANDONED
    #[command(after_help = "Examples:\n  ona intent status INT-001 COMPLETED")]
    Status {
        /// Its id
        id: String,
        /// The status
        status: String,
    },
    /// Select the intent that a session works for, or the default of sessions that have none
    ///
    /// A PLANNED intent becomes IN_PROGRESS. An agent may select for its own session only.
    #[command(
        after_help = "Examples:\n  ona intent select INT-001\n  ona intent select INT-001 --session fix-login --context"
    )]
    Select {
        /// Its id
        id: String,
        /// The session: its id, the beginning of it, or its name
        #[arg(long, value_name = "S")]
        session: Option<String>,
        /// Print what a model is told of the intent (<intent_context>)
        #[arg(long)]
        context: bool,
        /// As JSON
        #[arg(long, conflicts_with = "context")]
        json: bool,
    },
    /// Select no intent: for a session, or take the default back
    #[command(after_help = "Examples:\n  ona intent clear\n  ona intent clear --session fix-login")]
    Clear {
        /// The session: its id, the beginning of it, or its name
        #[arg(long, value_name = "S")]
        session: Option<String>,
    },
    /// Look over active_intents.yaml, hook_policy.yaml and .intentignore; exits 1 on errors
    #[command(after_help = "Examples:\n  ona intent lint\n  ona intent lint --strict --json")]
    Lint {
        /// Exit 1 on warnings too
        #[arg(long)]
        strict: bool,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Say whether files are in an intent's scope, by which pattern, or in whose else
    #[command(
        after_help = "Examples:\n  ona intent scope-check src/auth/limit.rs\n  git diff --name-only | xargs ona intent scope-check --intent INT-001 --json\n\nExit codes: 0 all are in scope, 1 one is not, 2 wrong usage or configuration."
    )]
    ScopeCheck {
        /// Files, from the current directory; they need not exist
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<PathBuf>,
        /// The intent; the selected one if left out
        #[arg(long, value_name = "ID")]
        intent: Option<String>,
        /// The session whose selection counts
        #[arg(long, value_name = "S")]
        session: Option<String>,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Ask for a wider scope, list what was asked for, or grant it
    ///
    /// An agent can only ask. What it asks for is on the record; the operator grants it with --grant.
    #[command(
        after_help = "Examples:\n  ona intent request-scope 'src/log/**'\n  ona intent request-scope --list\n  ona intent request-scope 'src/log/**' --intent INT-001 --grant"
    )]
    RequestScope {
        /// The pattern, as in owned_scope
        #[arg(required_unless_present = "list")]
        glob: Option<String>,
        /// The intent; the selected one if left out
        #[arg(long, value_name = "ID")]
        intent: Option<String>,
        /// The session whose selection counts
        #[arg(long, value_name = "S")]
        session: Option<String>,
        /// Add the pattern to the intent's owned_scope
        #[arg(long)]
        grant: bool,
        /// List what was asked for
        #[arg(long, conflicts_with_all = ["glob", "grant"])]
        list: bool,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub struct Add {
    /// Its id; the next free INT-nnn if left out
    #[arg(long)]
    pub id: Option<String>,
    /// What it is called
    #[arg(long)]
    pub name: String,
    #[command(flatten)]
    pub fields: Fields,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Edit {
    /// Its id
    pub id: String,
    /// What it is called
    #[arg(long)]
    pub name: Option<String>,
    #[command(flatten)]
    pub fields: Fields,
    /// Add a pattern to owned_scope
    #[arg(long, value_name = "GLOB")]
    pub add_scope: Vec<String>,
    /// Take a pattern out of owned_scope
    #[arg(long, value_name = "GLOB")]
    pub remove_scope: Vec<String>,
    /// Add a constraint
    #[arg(long, value_name = "TEXT")]
    pub add_constraint: Vec<String>,
    /// Take a constraint out
    #[arg(long, value_name = "TEXT")]
    pub remove_constraint: Vec<String>,
    /// Add an acceptance criterion
    #[arg(long, value_name = "TEXT")]
    pub add_criterion: Vec<String>,
    /// Take an acceptance criterion out
    #[arg(long, value_name = "TEXT")]
    pub remove_criterion: Vec<String>,
    /// Add a requirement
    #[arg(long, value_name = "REQ")]
    pub add_requirement: Vec<String>,
    /// Take a requirement out
    #[arg(long, value_name = "REQ")]
    pub remove_requirement: Vec<String>,
}

/// What both `add` and `edit` can give an intent.
#[derive(Debug, Args)]
pub struct Fields {
    /// A pattern of the files it may change; may be given more than once
    #[arg(long, value_name = "GLOB")]
    pub scope: Vec<String>,
    /// Something to keep to; may be given more than once
    #[arg(long, value_name = "TEXT")]
    pub constraint: Vec<String>,
    /// When it is done; may be given more than once
    #[arg(long, value_name = "TEXT")]
    pub criterion: Vec<String>,
    /// A requirement it serves; may be given more than once
    #[arg(long, value_name = "REQ")]
    pub requirement: Vec<String>,
    /// PLANNED, IN_PROGRESS, COMPLETED, BLOCKED or ABANDONED
    #[arg(long)]
    pub status: Option<String>,
    /// More words about it
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
    /// The OpenSpec change it belongs to
    #[arg(long, value_name = "REF")]
    pub openspec_ref: Option<String>,
    /// The bead it belongs to
    #[arg(long, value_name = "ID")]
    pub bead: Option<String>,
}

impl Intent {
    /// Whether only the operator may do it. What an agent may do is look, ask, and say what its own session is for.
    pub fn is_the_operators(&self) -> bool {
        match self {
            Self::Init { .. } | Self::Add(_) | Self::Edit(_) | Self::Status { .. } => true,
            Self::RequestScope { grant, .. } => *grant,
            // Whose session it is decides, and the record knows that.
            Self::Select { .. } | Self::Clear { .. } => false,
            Self::List { .. } | Self::Show { .. } | Self::Lint { .. } | Self::ScopeCheck { .. } => {
                false
            }
        }
    }
}

pub fn run(cli: &Cli, command: &Intent) -> Result<ExitCode, CliError> {
    match command {
        Intent::Init { json } => init::run(cli, *json),
        Intent::List { all, json } => show::list(cli, *all, *json),
        Intent::Show { id, last, json } => show::show(cli, id, *last, *json),
        Intent::Add(new) => change::add(cli, new),
        Intent::Edit(edit) => change::edit(cli, edit),
        Intent::Status { id, status } => change::status(cli, id, status),
        Intent::Select { id, session, context, json } => {
            select::select(cli, id, session.as_deref(), *context, *json)
        }
        Intent::Clear { session } => select::clear(cli, session.as_deref()),
        Intent::Lint { strict, json } => lint::run(cli, *strict, *json),
        Intent::ScopeCheck { paths, intent, session, json } => {
            scope::check(cli, paths, (intent.as_deref(), session.as_deref()), *json)
        }
        Intent::RequestScope { glob: None, json, .. } => scope::requests(cli, *json),
        Intent::RequestScope { glob: Some(glob), intent, session, grant, json, .. } => {
            let meant = (intent.as_deref(), session.as_deref());
            scope::request(cli, glob, meant, *grant, *json)
        }
    }
}
