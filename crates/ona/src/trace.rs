//! `ona trace`: the recorded changes, and the changes that no entry explains.

mod adopt;
mod export;
mod reconcile;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Subcommand, ValueEnum};
use ona_cli::output::{complain, plain};
use ona_cli::{CliError, Options, env};
use ona_store::{Store, StoreError};
use ona_trace::TraceEntry;
use ona_trace::ledger::{Filter, LEDGER_PATH, Lookup, Verification};
use serde_json::{Value, json};

use crate::workspace::{Location, entries, no_trace, printed};

#[derive(Debug, Subcommand)]
pub enum Trace {
    /// List the entries of the trace, newest last
    #[command(
        after_help = "Examples:\n  ona trace list\n  ona trace list --intent INT-001 --limit 5\n  ona trace list --file src/auth/limit.rs --json | jq '.[].id'"
    )]
    List {
        /// Only entries of this intent
        #[arg(long, value_name = "ID")]
        intent: Option<String>,
        /// Only entries that changed this file
        #[arg(long, value_name = "PATH")]
        file: Option<PathBuf>,
        /// Only entries of this session: its id, or the first characters of it
        #[arg(long, value_name = "S")]
        session: Option<String>,
        /// Maximum number of entries
        #[arg(long, value_name = "N", default_value_t = 50)]
        limit: usize,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show one entry
    #[command(after_help = "Examples:\n  ona trace show 41\n  ona trace show 6a2f0c1e --json")]
    Show {
        /// Number of the entry, its id, or the first characters of the id
        entry: String,
        /// Print the entry as JSON
        #[arg(long)]
        json: bool,
    },
    /// Check that no entry was changed, removed, moved or repeated; exits with 1 and names the first bad line
    ///
    /// Warns if the record knows an entry that is missing: the trace is of another branch, or lines were removed.
    #[command(after_help = "Examples:\n  ona trace verify\n  ona trace verify --json | jq .head")]
    Verify {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Export the trace for other tools
    ///
    /// agent-trace: one agent-trace 0.1.0 record per line. git-ai-note: the Git AI note of HEAD, for
    /// `git notes --ref ai add -F`. json: the entries unchanged, one per line.
    #[command(
        after_help = "Examples:\n  ona trace export --format agent-trace -o trace.jsonl\n  ona trace export --format git-ai-note | git notes --ref ai add -f -F - HEAD\n  ona trace export --format json --since main"
    )]
    Export {
        /// Format of the export
        #[arg(long)]
        format: Format,
        /// Only changes since this commit; without it, the note covers only HEAD
        #[arg(long, value_name = "REV")]
        since: Option<String>,
        /// Write to a file instead of standard output
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// List the changes in the work tree that the trace does not explain; exits with 1 if there are any
    ///
    /// Compares with HEAD, or with the commit of --since: staged, unstaged and untracked files, also in submodules.
    #[command(
        after_help = "Examples:\n  ona trace reconcile\n  ona trace reconcile --since main --json\n  ona trace reconcile --adopt INT-001   (records the listed changes as made by hand)\n\nExit codes: 0 all changes are explained, 1 some are not, 2 wrong usage or configuration."
    )]
    Reconcile {
        /// Compare with this commit instead of HEAD
        #[arg(long, value_name = "COMMIT")]
        since: Option<String>,
        /// Record the listed changes as made by a human for this intent
        #[arg(long, value_name = "ID")]
        adopt: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// The formats of `export`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    AgentTrace,
    GitAiNote,
    Json,
}

impl Trace {
    /// Whether only the operator may do it.
    pub fn is_the_operators(&self) -> bool {
        matches!(self, Self::Reconcile { adopt: Some(_), .. })
    }
}

pub fn run(cli: &Options, command: &Trace) -> Result<ExitCode, CliError> {
    let location = Location::find(cli)?;
    match command {
        Trace::List { intent, file, session, limit, json } => {
            let file = file.as_deref().map(|file| {
                ona_intents::scope::locate(location.root(), &location.here, file)
                    .map_err(|outside| CliError::usage(outside.to_string()))
            });
            let file = file.transpose()?;
            let filter = Filter {
                intent: intent.as_deref(),
                file: file.as_deref(),
                session: session.as_deref(),
            };
            list(&location, &filter, *limit, *json)
        }
        Trace::Show { entry, json } => show(&location, entry, *json),
        Trace::Verify { json } => verify(&location, *json),
        Trace::Export { format, since, output } => {
            export::run(&location, *format, since.as_deref(), output.as_deref())
        }
        Trace::Reconcile { since, adopt: None, json } => {
            reconcile::run(&location, since.as_deref(), *json)
        }
        Trace::Reconcile { since, adopt: Some(intent), json } => {
            adopt::run(&location, since.as_deref(), intent, *json)
        }
    }
}

fn list(
    location: &Location,
    filter: &Filter<'_>,
    limit: usize,
    as_json: bool,
) -> Result<ExitCode, CliError> {
    let last = entries(location.ledger()?.last(filter, limit))?.entries;
    let text = if as_json {
        format!("{}\n", Value::Array(last.iter().map(ona_trace::export::json).collect()))
    } else if last.is_empty() {
        "no matching entries in the trace\n".to_owned()
    } else {
        last.iter().map(|entry| format!("{}\n", line(entry))).collect()
    };
    printed(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// An entry in one line.
pub fn line(entry: &TraceEntry) -> String {
    let number = entry.seq.map_or_else(|| "–".to_owned(), |seq| format!("#{seq}"));
    let class = entry.mutation_class.map_or("–", |class| class.as_str());
    let files = entry.files();
    let named = match &files[..] {
        [] => "no file".to_owned(),
        [one] => (*one).to_owned(),
        [one, rest @ ..] => format!("{one} and {} more", rest.len()),
    };
    let failed = if entry.success { "" } else { "  failed" };
    let line = format!(
        "{number:<6} {}  {:<8}  {class:<16}  {}  {named}{failed}",
        when(entry),
        entry.intent_id.as_deref().unwrap_or("–"),
        who(entry),
    );
    plain(&line.replace(['\n', '\t'], " "))
}

/// The time to the second.
pub fn when(entry: &TraceEntry) -> &str {
    entry.timestamp.get(..19).unwrap_or(&entry.timestamp)
}

/// The tool and who used it.
pub fn who(entry: &TraceEntry) -> String {
    let actor = entry.actor.as_deref().unwrap_or("agent");
    match &entry.host {
        Some(host) => format!("{} by {actor} ({host})", entry.tool_name),
        None => format!("{} by {actor}", entry.tool_name),
    }
}

fn show(location: &Location, word: &str, as_json: bool) -> Result<ExitCode, CliError> {
    let all = entries(location.ledger()?.entries())?;
    let entry = match all.lookup(word) {
        Lookup::One(entry) => entry,
        Lookup::None => {
            return Err(CliError::usage(format!("unknown trace entry `{word}`"))
                .hint("`ona trace list` lists the latest entries"));
        }
        Lookup::Ambiguous(one, other) => {
            return Err(CliError::usage(format!("`{word}` is ambiguous"))
                .hint(format!("it matches {} and {}, for example", one.id, other.id)));
        }
    };
    let text = match as_json {
        true => format!("{}\n", ona_trace::export::json(entry)),
        false => words(entry),
    };
    printed(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn words(entry: &TraceEntry) -> String {
    let mut text = format!("{}\n", line(entry));
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            text.push_str(&format!("  {name:<12} {}\n", plain(&value.replace('\n', " "))));
        }
    };
    add("id", Some(entry.id.clone()));
    add("session", entry.session_id.clone());
    add("call", entry.tool_use_id.clone());
    add("model", entry.model.clone());
    add("approver", entry.approver.clone());
    add("revision", entry.revision_id.clone());
    add("requirements", Some(entry.related_requirements.join(", ")));
    add("scope", entry.scope_validation.map(|scope| scope.to_string()));
    let source = entry.mutation_class_source.map(|source| source.to_string());
    add("class is", source);
    add(
        "mismatch",
        entry.mutation_class_mismatch.as_ref().map(|mismatch| {
            format!("claimed {}, found {}: {}", mismatch.claimed, mismatch.found, mismatch.why)
        }),
    );
    add("error", entry.error.clone());
    add("warnings", Some(entry.warnings.join(", ")));
    for range in &entry.modified_ranges {
        let lines = match range.new_range {
            None => "the whole file".to_owned(),
            Some(lines) if lines.is_empty() => format!(
                "{} removed before line {}",
                number(range.old_range.map_or(0, |old| old.len()), "line", "lines"),
                lines.start_line
            ),
            Some(lines) => format!("lines {}–{}", lines.start_line, lines.end_line),
        };
        let symbols: Vec<&str> = range.ast_nodes.iter().map(|node| node.symbol.as_str()).collect();
        let within = match symbols.is_empty() {
            true => String::new(),
            false => format!(", in {}", symbols.join(", ")),
        };
        add("changed", Some(format!("{}: {lines}{within}", range.file)));
    }
    add("hash", entry.entry_hash.clone());
    text
}

fn verify(location: &Location, as_json: bool) -> Result<ExitCode, CliError> {
    let ledger = location.ledger()?;
    let found = ledger.verify().map_err(no_trace)?;
    let clean = found.is_clean();
    // What the record remembers cannot be removed with a line of the file.
    let known = env::database()
        .and_then(|database| Ok(known_entries(&Store::look(&database)?, location)?))
        .unwrap_or_else(|error| {
            complain(&error.warning("entries that are gone from the trace cannot be noticed"));
            Vec::new()
        });
    let mut missing = Vec::new();
    for Known { entries, here } in &known {
        let lacks =
            ledger.lacks(entries.iter().map(|(_, hash)| hash.as_str())).map_err(no_trace)?;
        // The project may have been moved: then some of the entries are the same.
        if *here || lacks.len() < entries.len() {
            missing.extend(entries.iter().filter(|(_, hash)| lacks.contains(hash.as_str())));
        }
    }
    let text = if as_json {
        let first = found.first_bad.as_ref().map(|bad| json!({"line": bad.line, "why": bad.why}));
        let value = json!({"clean": clean, "entries": found.entries, "foreign": found.foreign,
            "torn": found.torn, "torn_tail": found.torn_tail, "forks": found.forks, "roots": found.roots,
            "bad": found.bad, "first_bad": first, "head": found.head,
            "missing": missing.iter()
                .map(|(seq, hash)| json!({"seq": seq, "entry_hash": hash})).collect::<Vec<_>>()});
        format!("{value}\n")
    } else {
        verdict(&found)
    };
    printed(&text)?;
    if let Some((seq, hash)) = missing.first() {
        let (more, are) = match missing.len() - 1 {
            0 => (String::new(), "is"),
            more => (format!(" and {more} more"), "are"),
        };
        complain(&format!(
            "warning: the record has entry #{seq} ({hash}){more}, which {are} missing here: this is the trace of another \
             branch, or lines were removed\n"
        ));
    }
    Ok(ExitCode::from(u8::from(!clean)))
}

/// The entries that the record knows of one place.
struct Known {
    entries: Vec<(u64, String)>,
    /// The place is the workspace; otherwise it is gone.
    here: bool,
}

fn known_entries(store: &Store, location: &Location) -> Result<Vec<Known>, StoreError> {
    let name = location.name();
    let mut known = vec![Known { entries: store.traced(&name)?, here: true }];
    for place in store.traced_workspaces()? {
        if place != name && !Path::new(&place).exists() {
            known.push(Known { entries: store.traced(&place)?, here: false });
        }
    }
    Ok(known)
}

/// `1 entry`, `2 entries`.
fn number(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn verdict(found: &Verification) -> String {
    let mut text = match &found.first_bad {
        Some(bad) => format!(
            "{LEDGER_PATH}:{}: {}\n{} bad of {}\n",
            bad.line,
            plain(&bad.why),
            found.bad,
            number(found.entries, "entry", "entries")
        ),
        None if found.entries == 1 => "1 entry, unchanged\n".to_owned(),
        None => format!("{} entries, all unchanged\n", found.entries),
    };
    let mut add = |line: String| text.push_str(&format!("  {line}\n"));
    if found.foreign > 0 {
        let lines = number(found.foreign, "line", "lines");
        add(format!("{lines} of other programs, outside the chain"));
    }
    if found.torn > 0 {
        add(format!("{}, noted by a later entry", number(found.torn, "torn line", "torn lines")));
    }
    if found.torn_tail {
        add("the last line is incomplete: a writer was killed, and the next entry will note it"
            .to_owned());
    }
    if !found.forks.is_empty() {
        let places = number(found.forks.len() as u64, "place", "places");
        add(format!("{places} where branches were merged"));
    }
    if !found.roots.is_empty() {
        let lines: Vec<String> = found.roots.iter().map(u64::to_string).collect();
        let begin = number(
            found.roots.len() as u64,
            "entry begins a new chain, at line",
            "entries begin a new chain, at lines",
        );
        add(format!("{begin} {}", lines.join(", ")));
    }
    if let Some(head) = &found.head {
        add(format!("the last entry is {head}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use ona_trace::ledger::Finding;

    use super::*;

    #[test]
    fn one_is_not_many() {
        let one = Verification {
            entries: 1,
            foreign: 1,
            torn: 1,
            forks: vec![7],
            roots: vec![7],
            ..Verification::default()
        };
        assert_eq!(
            verdict(&one),
            "1 entry, unchanged\n  1 line of other programs, outside the chain\n  1 torn line, noted by a later \
             entry\n  1 place where branches were merged\n  1 entry begins a new chain, at line 7\n"
        );
        let bad = Some(Finding { line: 1, why: "w".to_owned() });
        let bad =
            verdict(&Verification { bad: 1, entries: 1, first_bad: bad, ..Default::default() });
        assert!(bad.ends_with("1 bad of 1 entry\n"), "{bad}");
        let many = verdict(&Verification { entries: 2, foreign: 2, ..Default::default() });
        assert!(many.starts_with("2 entries, all") && many.contains("2 lines of"), "{many}");
    }
}
