//! `ona plan`: shows the plans of agents, approves and rejects them.

use std::process::ExitCode;

use clap::Subcommand;
use ona_cli::bootstrap::directory;
use ona_cli::output::{plain, print_list};
use ona_cli::{CliError, Options, record};
use ona_store::{PlanMoved, PlanRow, Store};
use serde_json::json;

#[derive(Debug, Subcommand)]
pub enum Plan {
    /// List the plans of this directory, newest first
    #[command(after_help = "Examples:\n  ona plan list\n  ona plan list --all --json")]
    List {
        /// List the plans of all directories
        #[arg(long)]
        all: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a plan
    #[command(after_help = "Examples:\n  ona plan show\n  ona plan show 3 --json")]
    Show {
        /// Number of the plan; default: the latest of this directory
        id: Option<i64>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Approve a plan: its conversation moves on to implement it
    #[command(
        after_help = "Examples:\n  ona plan show\n  ona plan approve 3 && ona -p --continue \"the plan is approved: go on\""
    )]
    Approve {
        /// Number of the plan; default: the latest draft of this directory
        id: Option<i64>,
    },
    /// Reject a plan: its conversation stays in planning
    #[command(after_help = "Examples:\n  ona plan reject 3 --reason 'Keep the old API'")]
    Reject {
        /// Number of the plan; default: the latest draft of this directory
        id: Option<i64>,
        /// Reason, for the record
        #[arg(long, value_name = "TEXT", default_value = "")]
        reason: String,
    },
}

impl Plan {
    /// Whether only the operator may do that.
    pub fn is_the_operators(&self) -> bool {
        matches!(self, Self::Approve { .. } | Self::Reject { .. })
    }
}

pub fn run(cli: &Options, command: &Plan) -> Result<ExitCode, CliError> {
    let store = record::open(cli.cwd.as_deref())?;
    let here = directory(cli.cwd.as_deref())?;
    let here = here.to_string_lossy();
    let text = match command {
        Plan::List { all, json } => {
            let plans = store.plans((!all).then_some(&*here))?;
            if *json { format!("{}\n", json!(plans)) } else { plans.iter().map(line).collect() }
        }
        Plan::Show { id, json } => {
            let plan = find(&store, *id, &here, |_| true)?;
            match json {
                true => format!("{}\n", json!(plan)),
                false => format!("{}\n{}\n", line(&plan).trim_end(), plain(&plan.content)),
            }
        }
        Plan::Approve { id } => {
            let plan = find(&store, *id, &here, is_draft)?;
            let plan = moved(&store, store.approve_plan(plan.id)?, plan.id)?;
            format!(
                "approved plan {}; conversation {} is now in {}\n",
                plan.id, plan.conversation_id, plan.phase
            )
        }
        Plan::Reject { id, reason } => {
            let plan = find(&store, *id, &here, is_draft)?;
            let plan = moved(&store, store.reject_plan(plan.id, reason)?, plan.id)?;
            format!(
                "rejected plan {}; conversation {} stays in {}\n",
                plan.id, plan.conversation_id, plan.phase
            )
        }
    };
    print_list(&text, "no plans in this directory; `ona plan list --all` lists all plans")
        .map_err(|error| CliError::failed(format!("done, but cannot print the result: {error}")))?;
    Ok(ExitCode::SUCCESS)
}

fn is_draft(plan: &PlanRow) -> bool {
    plan.status == "draft"
}

fn find(
    store: &Store,
    id: Option<i64>,
    here: &str,
    fits: impl Fn(&PlanRow) -> bool,
) -> Result<PlanRow, CliError> {
    let found = match id {
        Some(id) => store.plan(id)?,
        None => store.plans(Some(here))?.into_iter().find(fits),
    };
    found.ok_or_else(|| {
        let what = match id {
            Some(id) => format!("unknown plan {id}"),
            None => format!("no matching plan in {here}"),
        };
        CliError::usage(what).hint("`ona plan list --all` lists all plans")
    })
}

fn moved(store: &Store, moved: PlanMoved, id: i64) -> Result<PlanRow, CliError> {
    match moved {
        PlanMoved::Done(plan) => Ok(plan),
        PlanMoved::NotADraft(plan) => {
            let what = match plan.status.as_str() {
                "superseded" if store.is_rejected(id)? => "was rejected".to_owned(),
                status => format!("is no longer a draft ({status})"),
            };
            Err(CliError::usage(format!("plan {id} {what}: only a draft can be approved or rejected"))
                .hint("`ona plan list` shows which plans are drafts; the agent submits a new one with ExitPlanMode"))
        }
        PlanMoved::NotInPlanning(plan) => Err(CliError::usage(format!(
            "the conversation of plan {id} is in {}, not in planning",
            plan.phase
        ))),
        PlanMoved::Unknown => Err(CliError::usage(format!("unknown plan {id}"))),
    }
}

fn line(plan: &PlanRow) -> String {
    let first = plan.content.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let first: String = plain(first.trim_start_matches('#').trim()).chars().take(60).collect();
    format!("{:>4}  {:<10}  {}  {first}\n", plan.id, plan.status, plan.created_at)
}
