//! `ona plan`: shows the plans of agents, and lets the operator edit, approve, reject and withdraw them.

use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Subcommand;
use ona_cli::bootstrap::directory;
use ona_cli::output::{plain, print_list};
use ona_cli::{CliError, Options, env, record};
use ona_phases::criteria::{Checked, Criterion};
use ona_phases::plans;
use ona_phases::report::title;
use ona_store::{Join, PlanMoved, PlanRow, Store};
use ona_types::{ConversationId, Phase};
use serde_json::{Value, json};
use similar::TextDiff;

use crate::{
    actor, asks, check_hash, done, hash_of, humans_only, nothing_runs, room, short, shown,
};

/// The limit for a plan, as for one that an agent submits.
const MAX_PLAN: u64 = 200_000;

/// What can be done about plans.
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
    /// Show a plan, its criteria and what keeps it from being approved
    #[command(after_help = "Examples:\n  ona plan show\n  ona plan show 3 --json")]
    Show {
        /// Number of the plan; default: the newest draft, else the newest plan
        id: Option<i64>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Make a new version of a plan, in your editor or from a file
    ///
    /// The new version is a draft and takes the place of earlier drafts. An approved plan stays approved until the new
    /// version is approved.
    #[command(
        after_help = "Examples:\n  ona plan edit\n  ona plan edit 3 --file plan.md\n  sed 's/five/six/' plan.md | ona plan edit --file -"
    )]
    Edit {
        /// Number of the plan; default: the newest draft, else the newest plan
        id: Option<i64>,
        /// The new text; `-` is standard input
        #[arg(long, value_name = "FILE")]
        file: Option<PathBuf>,
    },
    /// Approve a plan: its conversation moves on to implement it
    ///
    /// Shows the criteria as they were read, and the hash that is approved. The public contracts that the plan names are
    /// kept as they are now: pages, schemas, and what commands print with --help. Tests are written from them.
    #[command(
        after_help = "Examples:\n  ona plan show\n  ona plan approve 3 && ona -p --continue \"the plan is approved: go on\"\n  ona plan approve 3 --hash 5d41402abc4b2a76"
    )]
    Approve {
        /// Number of the plan; default: the newest draft
        id: Option<i64>,
        /// Approve it without a question, if its hash begins so
        #[arg(long, value_name = "HASH")]
        hash: Option<String>,
    },
    /// Reject a plan: its conversation stays in planning
    #[command(after_help = "Examples:\n  ona plan reject 3 --reason 'Keep the old API'")]
    Reject {
        /// Number of the plan; default: the newest draft
        id: Option<i64>,
        /// Reason, for the record
        #[arg(long, value_name = "TEXT", default_value = "")]
        reason: String,
    },
    /// Show what has changed from one plan to another
    #[command(
        after_help = "Examples:\n  ona plan diff        (the newest plan against the one before)\n  ona plan diff 3 5"
    )]
    Diff {
        /// Number of the first plan; default: the one before the second
        from: Option<i64>,
        /// Number of the second plan; default: the newest
        to: Option<i64>,
    },
    /// Withdraw a plan: it counts no more, also if it was approved
    #[command(after_help = "Examples:\n  ona plan supersede 3")]
    Supersede {
        /// Number of the plan; default: the newest draft, else the newest plan
        id: Option<i64>,
    },
}

impl Plan {
    /// Whether only the operator may do that.
    pub fn is_the_operators(&self) -> bool {
        !matches!(self, Self::List { .. } | Self::Show { .. } | Self::Diff { .. })
    }
}

/// Runs `ona plan`.
pub fn run(cli: &Options, command: &Plan) -> Result<ExitCode, CliError> {
    let store = record::open(cli.cwd.as_deref())?;
    let plans = Plans { store: &store, cli };
    match command {
        Plan::List { all, json } => plans.list(*all, *json),
        Plan::Show { id, json } => plans.show(*id, *json),
        Plan::Edit { id, file } => plans.edit(*id, file.as_deref()),
        Plan::Approve { id, hash } => plans.approve(*id, hash.as_deref()),
        Plan::Reject { id, reason } => {
            let plan = plans.draft(*id)?;
            let plan =
                plans.moved(store.reject_plan(plan.id, reason, &actor().to_string())?, plan.id)?;
            done(&format!(
                "rejected plan {}; conversation {} stays in {}\n",
                plan.id, plan.conversation_id, plan.phase
            ))
        }
        Plan::Diff { from, to } => plans.diff(*from, *to),
        Plan::Supersede { id } => {
            let plan = plans.any(*id)?;
            if matches!(plan.status.as_str(), "superseded" | "completed") {
                return Err(CliError::usage(format!(
                    "plan {} is {} already",
                    plan.id, plan.status
                )));
            }
            store.supersede_plan(plan.id)?;
            done(&format!("plan {} is superseded; it was {}\n", plan.id, plan.status))
        }
    }
}

/// The plans on the record, as a command sees them.
struct Plans<'a> {
    store: &'a Store,
    cli: &'a Options,
}

impl Plans<'_> {
    /// The plans to choose from, newest first: of the conversation that is named, else of the directory.
    fn here(&self) -> Result<(Vec<PlanRow>, String), CliError> {
        if let Some(id) = &self.cli.conversation {
            let id = ConversationId::from_existing(id.clone());
            let join = Join { project_dir: "/", conversation: Some(&id) };
            self.store.conversation(&join)?;
            let mut plans = self.store.conversation_plans(&id)?;
            plans.reverse();
            return Ok((plans, format!("conversation {id}")));
        }
        let here = directory(self.cli.cwd.as_deref())?;
        let here = here.to_string_lossy().into_owned();
        Ok((self.store.plans(Some(&here))?, here))
    }

    fn by_number(&self, id: i64) -> Result<PlanRow, CliError> {
        let found = self.store.plan(id)?;
        found.ok_or_else(|| unknown(format!("unknown plan {id}")))
    }

    /// The plan that is meant; by default the newest draft, else the newest.
    fn any(&self, id: Option<i64>) -> Result<PlanRow, CliError> {
        if let Some(id) = id {
            return self.by_number(id);
        }
        let (plans, here) = self.here()?;
        let newest = plans.iter().find(|plan| is_draft(plan)).or(plans.first());
        newest.cloned().ok_or_else(|| unknown(format!("no plan in {here}")))
    }

    fn draft(&self, id: Option<i64>) -> Result<PlanRow, CliError> {
        if let Some(id) = id {
            return self.by_number(id);
        }
        let (plans, here) = self.here()?;
        let draft = plans.into_iter().find(is_draft);
        draft.ok_or_else(|| unknown(format!("no draft of a plan in {here}")))
    }

    fn list(&self, all: bool, as_json: bool) -> Result<ExitCode, CliError> {
        let plans = if all { self.store.plans(None)? } else { self.here()?.0 };
        let text = match as_json {
            true => format!("{}\n", json!(plans)),
            false => plans.iter().map(line).collect(),
        };
        print_list(&text, "no plans in this directory; `ona plan list --all` lists all plans")
            .map_err(|error| CliError::failed(format!("cannot print the plans: {error}")))?;
        Ok(ExitCode::SUCCESS)
    }

    fn show(&self, id: Option<i64>, as_json: bool) -> Result<ExitCode, CliError> {
        let plan = self.any(id)?;
        let checked = plans::check(self.store, &plan)?;
        if as_json {
            let mut value = json!(plan);
            value["criteria"] = json!(checked.criteria);
            let faults = checked.faults.iter().map(|fault| Value::String(fault.to_string()));
            value["faults"] = faults.collect();
            return shown(&format!("{value}\n"));
        }
        let text =
            format!("{}\n{}\n\n{}", line(&plan).trim_end(), plan.content, told(&plan, &checked));
        shown(&plain(&text))
    }

    fn edit(&self, id: Option<i64>, file: Option<&Path>) -> Result<ExitCode, CliError> {
        let plan = self.any(id)?;
        let text = match file {
            Some(file) => given(file)?,
            None => in_editor(&plan)?,
        };
        if text.trim().is_empty() {
            return Err(CliError::usage("the plan is empty: nothing was changed"));
        }
        let counts = matches!(plan.status.as_str(), "draft" | "approved");
        if counts && text.trim_end() == plan.content.trim_end() {
            return done(&format!("plan {} is unchanged\n", plan.id));
        }
        let new = self.store.edit_plan(plan.id, &text)?;
        let new = new.ok_or_else(|| unknown(format!("unknown plan {}", plan.id)))?;
        let checked = plans::check(self.store, &new)?;
        let text = format!(
            "plan {} is a draft, made from plan {}\n{}",
            new.id,
            plan.id,
            told(&new, &checked)
        );
        done(&plain(&text))
    }

    fn approve(&self, id: Option<i64>, hash: Option<&str>) -> Result<ExitCode, CliError> {
        let command = match id {
            Some(id) => format!("ona plan approve {id}"),
            None => "ona plan approve".to_owned(),
        };
        let human = humans_only("approving a plan", &command);
        if let (Err(refused), Ok(plan)) = (&human, self.draft(id)) {
            let conversation = ConversationId::from_existing(plan.conversation_id);
            let (by, why) = (actor().to_string(), refused.words());
            self.store.phase_refused(&conversation, Phase::Implement, &by, &why)?;
        }
        human?;
        let plan = self.draft(id)?;
        nothing_runs(self.store, &plan.conversation_id)?;
        if !is_draft(&plan) || plan.phase != "planning" {
            let why = if is_draft(&plan) {
                PlanMoved::NotInPlanning(plan.clone())
            } else {
                PlanMoved::NotADraft(plan.clone())
            };
            self.moved(why, plan.id)?;
        }
        let checked = plans::check(self.store, &plan)?;
        if !checked.faults.is_empty() {
            let faults: Vec<String> = checked.faults.iter().map(ToString::to_string).collect();
            return Err(CliError::failed(format!(
                "plan {} cannot be approved: {}",
                plan.id,
                faults.join("; ")
            ))
            .hint(format!(
                "`ona plan edit {}` makes a new version, or ask the agent for one",
                plan.id
            )));
        }
        if hash_of(&plan.content).as_str() != plan.hash {
            return Err(CliError::failed(format!(
                "the text of plan {} is not the one of its hash: somebody has changed the record",
                plan.id
            ))
            .hint(format!("`ona plan edit {}` makes a new version", plan.id)));
        }
        check_hash(hash, &plan.hash, &format!("plan {}", plan.id))?;
        let project = PathBuf::from(&plan.project_dir);
        let room = room::room(self.cli, &project);
        let why = room.as_ref().err().map(CliError::words);
        let baseline = ona_cli::bootstrap::runtime()?.block_on(plans::baseline(
            &project,
            &plan.content,
            &checked.criteria,
            room.as_ref().map_err(|_| why.as_deref().unwrap_or_default()),
            &tokio_util::sync::CancellationToken::new(),
        ));
        if hash.is_none() {
            let contracts: String =
                plans::contract_lines(&baseline).iter().map(|line| format!("  {line}\n")).collect();
            let contracts = match contracts.is_empty() {
                true => "public contracts: the plan names none\n".to_owned(),
                false => {
                    format!("public contracts, as the tests' author will see them:\n{contracts}")
                }
            };
            let question = plain(&format!(
                "{}\n\n{}\n{}{contracts}Approve this plan?",
                line(&plan).trim_end(),
                plan.content.trim_end(),
                told(&plan, &checked)
            ));
            if !asks(&question)? {
                return Err(CliError::failed(format!("plan {} was not approved", plan.id)));
            }
        }
        let moved = self.store.approve_plan(plan.id, &plan.hash, &baseline)?;
        let plan = self.moved(moved, plan.id)?;
        done(&format!(
            "approved plan {} (hash {}); conversation {} is now in {}\n",
            plan.id,
            short(&plan.hash),
            plan.conversation_id,
            plan.phase
        ))
    }

    fn diff(&self, from: Option<i64>, to: Option<i64>) -> Result<ExitCode, CliError> {
        let to = match to.or(from.filter(|_| to.is_none())) {
            Some(id) => self.by_number(id)?,
            None => {
                let (plans, here) = self.here()?;
                plans.into_iter().next().ok_or_else(|| unknown(format!("no plan in {here}")))?
            }
        };
        let from = match from.filter(|id| *id != to.id) {
            Some(id) => self.by_number(id)?,
            None => {
                let conversation = ConversationId::from_existing(to.conversation_id.clone());
                let earlier = self.store.conversation_plans(&conversation)?;
                let before = earlier.into_iter().rev().find(|plan| plan.id < to.id);
                before.ok_or_else(|| unknown(format!("there is no plan before plan {}", to.id)))?
            }
        };
        let name = |plan: &PlanRow| format!("plan {} ({})", plan.id, plan.status);
        let diff = TextDiff::from_lines(&from.content, &to.content);
        let text = diff.unified_diff().header(&name(&from), &name(&to)).to_string();
        match text.is_empty() {
            true => shown(&format!("{} and {} have the same text\n", name(&from), name(&to))),
            false => shown(&plain(&text)),
        }
    }

    fn moved(&self, moved: PlanMoved, id: i64) -> Result<PlanRow, CliError> {
        match moved {
            PlanMoved::Done(plan) => Ok(plan),
            PlanMoved::NotADraft(plan) => {
                let what = match plan.status.as_str() {
                    "superseded" if self.store.is_rejected(id)? => "was rejected".to_owned(),
                    status => format!("is no longer a draft ({status})"),
                };
                Err(CliError::usage(format!(
                    "plan {id} {what}: only a draft can be approved or rejected"
                ))
                .hint("`ona plan list` shows which plans are drafts; `ona plan edit` makes a new version of one"))
            }
            PlanMoved::NotInPlanning(plan) => Err(CliError::usage(format!(
                "the conversation of plan {id} is in {}, not in planning",
                plan.phase
            ))
            .hint("`ona phase planning` starts a new round of planning")),
            PlanMoved::OtherHash(plan) => Err(CliError::failed(format!(
                "plan {id} has changed meanwhile: its hash is {}",
                short(&plan.hash)
            ))),
            PlanMoved::Unknown => Err(unknown(format!("unknown plan {id}"))),
        }
    }
}

fn unknown(what: String) -> CliError {
    CliError::usage(what).hint("`ona plan list --all` lists all plans")
}

fn is_draft(plan: &PlanRow) -> bool {
    plan.status == "draft"
}

/// What a check says of a plan, and its hash.
fn told(plan: &PlanRow, checked: &Checked) -> String {
    let mut text = format!("{}\n", checked.summary());
    for Criterion { id, text: what, surface, inferred } in &checked.criteria {
        let guessed = if *inferred { ", inferred" } else { "" };
        let _ = writeln!(text, "  {id} [{surface}{guessed}] {what}");
    }
    let _ = writeln!(text, "hash: {}", plan.hash);
    if hash_of(&plan.content).as_str() != plan.hash {
        text.push_str(
            "warning: the text is not the one of this hash: somebody has changed the record\n",
        );
    }
    text
}

fn line(plan: &PlanRow) -> String {
    let first: String = plain(&title(&plan.content)).chars().take(60).collect();
    format!("{:>4}  {:<10}  {}  {first}\n", plan.id, plan.status, plan.created_at)
}

/// A text from a file, or from standard input.
fn given(file: &Path) -> Result<String, CliError> {
    let refused = |why: String| CliError::usage(format!("cannot read {}: {why}", file.display()));
    if file == Path::new("-") {
        let mut text = String::new();
        std::io::stdin()
            .take(MAX_PLAN + 1)
            .read_to_string(&mut text)
            .map_err(|error| refused(error.to_string()))?;
        return match text.len() as u64 > MAX_PLAN {
            true => Err(refused(format!("it is longer than {MAX_PLAN} bytes"))),
            false => Ok(text),
        };
    }
    let text =
        ona_files::read_text_at_most(file, MAX_PLAN).map_err(|error| refused(error.to_string()))?;
    text.ok_or_else(|| refused("no such file".to_owned()))
}

/// The text of a plan after the operator has edited it.
fn in_editor(plan: &PlanRow) -> Result<String, CliError> {
    use std::io::IsTerminal as _;
    if !std::io::stdin().is_terminal() {
        return Err(
            CliError::usage("no terminal for an editor").hint("give the new text with --file FILE")
        );
    }
    let failed =
        |why: &dyn std::fmt::Display| CliError::failed(format!("cannot edit the plan: {why}"));
    let file = tempfile::Builder::new()
        .prefix("plan-")
        .suffix(".md")
        .tempfile()
        .map_err(|error| failed(&error))?;
    std::fs::write(file.path(), &plan.content).map_err(|error| failed(&error))?;
    let editor = env::editor();
    match ona_sandbox::edit(&editor, file.path()) {
        Ok(true) => given(file.path()),
        Ok(false) => Err(failed(&format!("`{editor}` did not end well; nothing was changed"))),
        Err(error) => Err(failed(&error)),
    }
}
