//! `ona report`: what was tested and what came of it, and the operator's approval.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};
use ona_cli::bootstrap::directory;
use ona_cli::output::plain;
use ona_cli::{CliError, Options, record};
use ona_files::{ReplaceOptions, replace};
use ona_phases::machine::{NotDone, State};
use ona_phases::report::Report;
use ona_types::Phase;

use crate::{
    actor, asks, check_hash, conversation, done, humans_only, nothing_runs, phase, short, shown,
};

/// Show the report on the tests of a conversation's plan, or approve it.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// What is done about it; shown if nothing.
    #[command(subcommand)]
    pub command: Option<ReportCommand>,
    /// How it is written
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Write it to this file
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// What else can be done about a report.
#[derive(Debug, Subcommand)]
pub enum ReportCommand {
    /// Approve the report: the work is done
    ///
    /// Needs a human at a terminal, and is bound to the hash of the report. It is refused if code, plan or tests have changed
    /// since the tests ran.
    #[command(
        after_help = "Examples:\n  ona report approve\n  ona report approve --hash 5d41402abc4b2a76"
    )]
    Approve {
        /// Approve it without a question, if its hash begins so
        #[arg(long, value_name = "HASH")]
        hash: Option<String>,
    },
}

/// How a report is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For a terminal
    Text,
    /// For programs
    Json,
    /// A page that needs nothing else
    Html,
}

impl ReportArgs {
    /// Whether only the operator may do that.
    pub fn is_the_operators(&self) -> bool {
        self.command.is_some()
    }
}

/// Runs `ona report`.
pub fn run(cli: &Options, args: &ReportArgs) -> Result<ExitCode, CliError> {
    match &args.command {
        Some(ReportCommand::Approve { hash }) => approve(cli, hash.as_deref()),
        None => show(cli, args),
    }
}

fn show(cli: &Options, args: &ReportArgs) -> Result<ExitCode, CliError> {
    let store = record::open(cli.cwd.as_deref())?;
    let work = conversation::work(&store, cli)?;
    let state = work.state()?;
    let text = match of(&state) {
        Ok(report) => match args.format {
            Format::Text => {
                let hash = report.hash();
                plain(&format!("{}\nhash: {hash}\n", report.text()))
            }
            Format::Json => format!("{}\n", report.json()),
            Format::Html => report.html(),
        },
        // What was approved stays to be read.
        Err(error) => match store.approved_report(&work.conversation)? {
            Some(row) if args.format == Format::Json => format!("{}\n", row.body),
            Some(row) => {
                let text = format!(
                    "plan {} is done: its report was approved by a {} at {}\nhash: {}\nhint: `ona report --format json` prints it\n",
                    row.plan_id, row.approved_by, row.approved_at, row.report_hash
                );
                return shown(&text);
            }
            None => return Err(error),
        },
    };
    let Some(file) = &args.output else { return shown(&text) };
    let file = &ona_files::resolve(&directory(cli.cwd.as_deref())?, file)
        .map_err(|error| CliError::usage(format!("{}: {error}", file.display())))?;
    replace(file, text.as_bytes(), &ReplaceOptions::default().resolved())
        .map_err(|error| CliError::failed(format!("cannot write {}: {error}", file.display())))?;
    let root = ona_phases::plans::work_tree(&work.project);
    let note = match file.starts_with(&root) {
        true => {
            "note: it lies in the work tree, so the results of the tests are stale now, unless git ignores it\n"
        }
        false => "",
    };
    done(&format!("wrote {}\n{note}", file.display()))
}

fn of(state: &State) -> Result<Report, CliError> {
    let (plan, approved) = state.approved().map_err(|missing| {
        CliError::failed(format!("no report: {missing}")).hint(missing.remedy())
    })?;
    Ok(Report::of(plan, &approved.criteria, &state.facts, &state.tree))
}

fn approve(cli: &Options, hash: Option<&str>) -> Result<ExitCode, CliError> {
    let human = humans_only("approving a report", "ona report approve");
    let store = record::open(cli.cwd.as_deref())?;
    let work = conversation::work(&store, cli)?;
    if let Err(refused) = &human {
        let by = actor().to_string();
        store.phase_refused(&work.conversation, Phase::Done, &by, &refused.words())?;
    }
    let actor = human?;
    nothing_runs(&store, work.conversation.as_str())?;
    let state = work.state()?;
    let report = of(&state)?;
    let is = report.hash().to_string();
    check_hash(hash, &is, "the report")?;
    // What would be refused is not asked about.
    let open = report.uncovered.is_empty() && state.standing.phase == Phase::Verify;
    if hash.is_none() && open {
        let question =
            format!("{}\nhash: {is}\nApprove this report? The work is done then.", report.text());
        if !asks(&question)? {
            return Err(CliError::failed("the report was not approved"));
        }
    }
    match work.approve_report(&is, actor)? {
        Ok(report) => done(&format!(
            "approved the report on plan {} (hash {}); conversation {} is {}\n",
            report.plan.id,
            short(&is),
            work.conversation,
            Phase::Done
        )),
        Err(NotDone::Refused(refused)) => Err(phase::refusal(&refused)),
        Err(other) => {
            Err(CliError::failed(other.to_string())
                .hint("`ona report` shows the report as it is now"))
        }
    }
}
