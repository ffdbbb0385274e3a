//! `ona intent`: pieces of work, and the files that each may change.

mod change;
mod init;
mod lint;
mod scope;
mod select;
mod show;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use ona_cli::{CliError, Options, secrets};

#[derive(Debug, Subcommand)]
pub enum Intent {
    /// Set up intents here: create .orchestration/ and the entries that git needs
    ///
    /// Existing files stay unchanged.
    #[command(after_help = "Examples:\n  ona intent init\n  ona --cwd ~/project intent init")]
    Init {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List the open intents
    #[command(
        after_help = "Examples:\n  ona intent list\n  ona intent list --all --json | jq '.[].id'"
    )]
    List {
        /// Also list completed and abandoned intents
        #[arg(long)]
        all: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show an intent: scope, constraints, criteria, requirements, sessions and latest changes
    #[command(
        after_help = "Examples:\n  ona intent show INT-001\n  ona intent show INT-001 --json"
    )]
    Show {
        /// Id of the intent
        id: String,
        /// Number of trace entries to show
        #[arg(long, value_name = "N", default_value_t = 5)]
        last: usize,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Add an intent
    #[command(
        after_help = "Examples:\n  ona intent add --name 'Rate limit the login' --scope 'src/auth/**' --scope 'tests/auth/*.rs'\n  ona intent add --id INT-014 --name Docs --scope 'docs/**' --requirement REQ-7"
    )]
    Add(Box<Add>),
    /// Change an intent; everything else in the file stays unchanged
    ///
    /// The options of `add` replace a value; --add-… and --remove-… change single items of a list.
    #[command(
        after_help = "Examples:\n  ona intent edit INT-001 --name 'A better name'\n  ona intent edit INT-001 --add-scope 'src/log/**' --remove-scope 'src/old/**'\n  ona intent edit INT-001 --constraint 'No new dependency'   (replaces all constraints)"
    )]
    Edit(Box<Edit>),
    /// Set the status of an intent
    #[command(after_help = "Examples:\n  ona intent status INT-001 COMPLETED")]
    Status {
        /// Id of the intent
        id: String,
        /// PLANNED, IN_PROGRESS, COMPLETED, BLOCKED or ABANDONED
        status: String,
    },
    /// Select the intent of a session, or the default for sessions without one
    ///
    /// A PLANNED intent becomes IN_PROGRESS. An agent may select for its own session only.
    #[command(
        after_help = "Examples:\n  ona intent select INT-001\n  ona intent select INT-001 --session fix-login --context"
    )]
    Select {
        /// Id of the intent
        id: String,
        /// Session: its id, the first characters of the id, or its name; without it, the default changes
        #[arg(long, value_name = "S")]
        session: Option<String>,
        /// Print the context that a model gets for the intent (<intent_context>)
        #[arg(long)]
        context: bool,
        /// Print JSON
        #[arg(long, conflicts_with = "context")]
        json: bool,
    },
    /// Clear the selected intent of a session, or the default
    #[command(after_help = "Examples:\n  ona intent clear\n  ona intent clear --session fix-login")]
    Clear {
        /// Session: its id, the first characters of the id, or its name; without it, the default changes
        #[arg(long, value_name = "S")]
        session: Option<String>,
    },
    /// Check active_intents.yaml, hook_policy.yaml and .intentignore; exits with 1 on errors
    #[command(after_help = "Examples:\n  ona intent lint\n  ona intent lint --strict --json")]
    Lint {
        /// Exit with 1 on warnings too
        #[arg(long)]
        strict: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Check whether files are in the scope of an intent, and by which pattern
    #[command(
        after_help = "Examples:\n  ona intent scope-check src/auth/limit.rs\n  git diff --name-only | xargs ona intent scope-check --intent INT-001 --json\n\nExit codes: 0 all in scope, 1 one or more out of scope, 2 wrong usage or configuration."
    )]
    ScopeCheck {
        /// Files, relative to the current directory; they need not exist
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<PathBuf>,
        /// Intent; default: the selected one
        #[arg(long, value_name = "ID")]
        intent: Option<String>,
        /// Use the selected intent of this session
        #[arg(long, value_name = "S")]
        session: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Request a wider scope for an intent, list the requests, or grant one
    ///
    /// An agent can only request. The request is recorded, and the operator grants it with --grant.
    #[command(
        after_help = "Examples:\n  ona intent request-scope 'src/log/**'\n  ona intent request-scope --list\n  ona intent request-scope 'src/log/**' --intent INT-001 --grant"
    )]
    RequestScope {
        /// The pattern to add, as in owned_scope
        #[arg(required_unless_present = "list")]
        glob: Option<String>,
        /// Intent; default: the selected one
        #[arg(long, value_name = "ID")]
        intent: Option<String>,
        /// Use the selected intent of this session
        #[arg(long, value_name = "S")]
        session: Option<String>,
        /// Add the pattern to the intent's owned_scope
        #[arg(long)]
        grant: bool,
        /// List the requests
        #[arg(long, conflicts_with_all = ["glob", "grant"])]
        list: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub struct Add {
    /// Id of the intent; default: the next free INT-nnn
    #[arg(long)]
    pub id: Option<String>,
    /// Name of the intent
    #[arg(long)]
    pub name: String,
    #[command(flatten)]
    pub fields: Fields,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Edit {
    /// Id of the intent
    pub id: String,
    /// Name of the intent
    #[arg(long)]
    pub name: Option<String>,
    #[command(flatten)]
    pub fields: Fields,
    /// Add a pattern to owned_scope
    #[arg(long, value_name = "GLOB")]
    pub add_scope: Vec<String>,
    /// Remove a pattern from owned_scope
    #[arg(long, value_name = "GLOB")]
    pub remove_scope: Vec<String>,
    /// Add a constraint
    #[arg(long, value_name = "TEXT")]
    pub add_constraint: Vec<String>,
    /// Remove a constraint
    #[arg(long, value_name = "TEXT")]
    pub remove_constraint: Vec<String>,
    /// Add an acceptance criterion
    #[arg(long, value_name = "TEXT")]
    pub add_criterion: Vec<String>,
    /// Remove an acceptance criterion
    #[arg(long, value_name = "TEXT")]
    pub remove_criterion: Vec<String>,
    /// Add a requirement
    #[arg(long, value_name = "REQ")]
    pub add_requirement: Vec<String>,
    /// Remove a requirement
    #[arg(long, value_name = "REQ")]
    pub remove_requirement: Vec<String>,
}

/// What both `add` and `edit` can give an intent.
#[derive(Debug, Args)]
pub struct Fields {
    /// Glob pattern of the files that it may change; can be repeated
    #[arg(long, value_name = "GLOB")]
    pub scope: Vec<String>,
    /// Constraint; can be repeated
    #[arg(long, value_name = "TEXT")]
    pub constraint: Vec<String>,
    /// Acceptance criterion; can be repeated
    #[arg(long, value_name = "TEXT")]
    pub criterion: Vec<String>,
    /// Requirement that it implements; can be repeated
    #[arg(long, value_name = "REQ")]
    pub requirement: Vec<String>,
    /// Status: PLANNED, IN_PROGRESS, COMPLETED, BLOCKED or ABANDONED
    #[arg(long)]
    pub status: Option<String>,
    /// Description
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
    /// OpenSpec change that it belongs to
    #[arg(long, value_name = "REF")]
    pub openspec_ref: Option<String>,
    /// Bead that it belongs to
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

/// Refuses a secret in what is written: intents are committed with the project.
fn no_secrets() -> Result<(), CliError> {
    let redactor = secrets::redactor();
    match std::env::args().any(|word| redactor.mask_live(&word) != word) {
        true => Err(CliError::usage("the command line holds a secret, and intents are committed")
            .hint("write it without the secret: a name, or where to find it")),
        false => Ok(()),
    }
}

pub fn run(cli: &Options, command: &Intent) -> Result<ExitCode, CliError> {
    if command.is_the_operators() {
        no_secrets()?;
    }
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
