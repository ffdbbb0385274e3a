//! `ona phase`, and `ona --transition`.

use std::fmt::Write as _;
use std::process::ExitCode;

use clap::Args;
use ona_cli::bootstrap::directory;
use ona_cli::output::plain;
use ona_cli::{CliError, Options, record};
use ona_phases::coverage::Matrix;
use ona_phases::machine::{self, Needs, Refused, State};
use ona_phases::report::title;
use ona_store::Join;
use ona_types::Phase;
use serde_json::{Value, json};

use crate::{actor, conversation, done, shown};

/// How much of the history is shown.
const HISTORY: u32 = 12;

/// Show the phase of a conversation, what comes next and what is missing for it; or change it.
#[derive(Debug, Args)]
pub struct PhaseArgs {
    /// The phase to move to: planning, implement, test, verify or done
    pub to: Option<String>,
    /// Print JSON
    #[arg(long, conflicts_with = "to")]
    pub json: bool,
}

impl PhaseArgs {
    /// Whether only the operator may do that.
    pub fn is_the_operators(&self) -> bool {
        self.to.is_some()
    }
}

/// Runs `ona phase`.
pub fn run(cli: &Options, args: &PhaseArgs) -> Result<ExitCode, CliError> {
    match &args.to {
        Some(to) => transition(to, cli),
        None => show(cli, args.json),
    }
}

/// Moves a conversation to another phase.
pub fn transition(phase: &str, cli: &Options) -> Result<ExitCode, CliError> {
    let to: Phase = phase.parse().map_err(|error: ona_types::UnknownPhase| {
        CliError::usage(error.to_string()).hint("`ona help phases` has the table")
    })?;
    let store = record::open(cli.cwd.as_deref())?;
    if to == Phase::Planning && cli.conversation.is_none() {
        // The first thing that happens in a directory may be its planning.
        let here = directory(cli.cwd.as_deref())?;
        store.join(&Join { project_dir: &here.to_string_lossy(), conversation: None })?;
    }
    let work = conversation::work(&store, cli)?;
    match work.transition(to, actor())? {
        Ok(from) if from == to => done(&format!("{}: already in {to}\n", work.conversation)),
        Ok(from) => done(&format!("{}: {from} → {to}\n", work.conversation)),
        Err(refused) => Err(refusal(&refused)),
    }
}

/// Records an attempt of an agent that was refused before anything was looked at. Where there is no record or no conversation, there
/// is nothing to record it in.
pub fn note_refused(cli: &Options, to: Phase, refused: &CliError) {
    let noted = || -> Result<(), CliError> {
        let store = record::open(cli.cwd.as_deref())?;
        let work = conversation::work(&store, cli)?;
        let by = actor().to_string();
        store.phase_refused(&work.conversation, to, &by, &refused.words())?;
        Ok(())
    };
    // The refusal itself is told in any case.
    let _ = noted();
}

/// A refused transition, with the command that supplies what is missing.
pub(crate) fn refusal(refused: &Refused) -> CliError {
    CliError::failed(refused.to_string()).hint(refused.remedy())
}

fn show(cli: &Options, as_json: bool) -> Result<ExitCode, CliError> {
    let store = record::open(cli.cwd.as_deref())?;
    let work = conversation::work(&store, cli)?;
    let state = work.state()?;
    let history = store.phase_history(&work.conversation, HISTORY)?;
    let steps: Vec<(Phase, String)> = machine::next(state.standing.phase)
        .filter(|(phase, _)| *phase != state.standing.phase)
        .map(|(phase, needs)| (phase, missing(needs, &state)))
        .collect();
    if as_json {
        let next: Vec<Value> = steps
            .iter()
            .map(|(phase, missing)| {
                let missing = Some(missing).filter(|missing| !missing.is_empty());
                json!({"phase": phase, "missing": missing})
            })
            .collect();
        let plan = state.facts.plan.as_ref();
        let plan = plan
            .map(|plan| json!({"id": plan.id, "hash": plan.hash, "title": title(&plan.content)}));
        let value = json!({
            "conversation": work.conversation, "project": work.project, "phase": state.standing.phase,
            "plan": plan, "next": next, "history": history,
        });
        return shown(&format!("{value}\n"));
    }
    let mut text = format!(
        "phase         {}\nconversation  {}\nproject       {}\n",
        state.standing.phase,
        work.conversation,
        work.project.display()
    );
    let plan = match &state.facts.plan {
        Some(plan) => format!("{}  {} (approved)", plan.id, title(&plan.content)),
        None => "none is approved".to_owned(),
    };
    let _ = writeln!(text, "plan          {plan}");
    for (phase, missing) in &steps {
        let missing = match missing.as_str() {
            "" => String::new(),
            missing => format!("  missing: {missing}"),
        };
        let _ = writeln!(text, "next          {phase}{missing}");
    }
    for event in history.iter().rev() {
        let by = event.by.as_deref().map(|by| format!("  by {by}")).unwrap_or_default();
        let (arrow, why) = match &event.missing {
            Some(why) if event.refused => ("refused", format!("  {why}")),
            _ => ("moved", String::new()),
        };
        let _ = writeln!(text, "{}  {} → {}  {arrow}{by}{why}", event.at, event.from, event.to);
    }
    shown(&plain(&text))
}

/// What is missing for a transition; empty if nothing is.
fn missing(needs: Needs, state: &State) -> String {
    match needs {
        Needs::Nothing => String::new(),
        Needs::ApprovedPlan if state.standing.approved_plan => String::new(),
        Needs::ApprovedPlan => machine::Missing::ApprovedPlan.to_string(),
        Needs::Coverage => match state.approved() {
            Err(missing) => missing.to_string(),
            Ok((_, approved)) => {
                let gaps = Matrix::of(&state.facts, &approved.criteria, &state.tree).gaps();
                let gaps: Vec<String> = gaps.iter().map(ToString::to_string).collect();
                match gaps.is_empty() {
                    true => String::new(),
                    false => machine::Missing::Coverage(gaps).to_string(),
                }
            }
        },
        Needs::Approval => machine::Missing::ReportApproval.to_string(),
    }
}
