//! `ona sessions`: lists, shows, exports, renames, deletes and searches sessions.

mod markdown;
mod prune;

use std::process::ExitCode;

use clap::Subcommand;
use ona_cli::bootstrap::{directory, remove_outputs};
use ona_cli::output::{complain, json_text, plain, print_list};
use ona_cli::{CliError, Options, record};
use ona_engine::find_session;
use ona_gate::settle::is_gone;
use ona_store::{SessionRow, StoredEntry};
use serde_json::{Value, json};

use crate::print::session_name;

use prune::Pruning;
pub use prune::clean_up;

#[derive(Debug, Subcommand)]
pub enum Sessions {
    /// List the sessions of this directory, newest first
    #[command(
        after_help = "Examples:\n  ona sessions list\n  ona sessions list --most 0\n  ona sessions list --all --json | jq '.[].session_id'"
    )]
    List {
        /// List the sessions of all directories
        #[arg(long)]
        all: bool,
        /// Maximum number of sessions; 0 for all
        #[arg(long, value_name = "N", default_value_t = 50)]
        most: u32,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show the transcript of a session
    #[command(
        after_help = "Examples:\n  ona sessions show fix-login\n  ona sessions show 019a8d5f… --json | jq .entry_type"
    )]
    Show {
        /// Id of the session, its first characters, or its name
        session: String,
        /// Print JSON, one entry per line
        #[arg(long)]
        json: bool,
    },
    /// Print a whole session as Markdown or JSON
    #[command(
        after_help = "Examples:\n  ona sessions export fix-login > fix-login.md\n  ona sessions export fix-login --json > fix-login.json"
    )]
    Export {
        /// Id of the session, its first characters, or its name
        session: String,
        /// Print one JSON object with all recorded entries
        #[arg(long)]
        json: bool,
    },
    /// Rename a session
    #[command(after_help = "Examples:\n  ona sessions rename 019a8d5f… fix-login")]
    Rename {
        /// Id of the session, its first characters, or its name
        session: String,
        /// The new name
        name: String,
    },
    /// Delete a session and everything that belongs to it; the deletion is recorded
    #[command(after_help = "Examples:\n  ona sessions delete fix-login --yes")]
    Delete {
        /// Id of the session, its first characters, or its name
        session: String,
        /// Confirm; without it nothing is deleted
        #[arg(long)]
        yes: bool,
    },
    /// Remove old sessions and everything that belongs to them
    ///
    /// A session is removed together with the sessions of the agents that it started, and a conversation together with
    /// its last session. Sessions in use are kept: an ona process drives them, or they have a running call, a task or a
    /// worktree. The trace and the memories are kept. One event records how many sessions were removed, the age limit
    /// and the reason (`ona log`). The setting cleanupPeriodDays does the same once a day; it is off by default, because
    /// the record is evidence.
    #[command(
        after_help = "Examples:\n  ona sessions prune --older-than 90d --dry-run\n  ona sessions prune --older-than 26w\n  ona config set cleanupPeriodDays 365 --scope user"
    )]
    Prune(Pruning),
    /// Search the transcripts of all sessions
    #[command(
        after_help = "Examples:\n  ona sessions search 'rate limit'\n  ona sessions search login --most 5 --json"
    )]
    Search {
        /// Text to search for; case is ignored
        text: String,
        /// Maximum number of results
        #[arg(long, value_name = "N", default_value_t = 20)]
        most: u32,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

impl Sessions {
    /// Whether it changes what is on record of others.
    pub fn is_the_operators(&self) -> bool {
        match self {
            Self::Rename { .. } | Self::Delete { .. } => true,
            Self::Prune(pruning) => !pruning.dry_run,
            _ => false,
        }
    }
}

pub fn run(cli: &Options, command: &Sessions) -> Result<ExitCode, CliError> {
    let store = record::open(cli.cwd.as_deref())?;
    let cwd = directory(cli.cwd.as_deref())?;
    let here = cwd.to_string_lossy();
    let text = match command {
        Sessions::List { all, most, json } => {
            let limit = (*most > 0).then_some(*most);
            let rows = store.sessions((!all).then_some(&*here), limit)?;
            if limit.is_some_and(|limit| rows.len() == limit as usize) {
                complain("note: there may be more; `ona sessions list --most 0` lists all\n");
            }
            if *json { format!("{}\n", json_text(&json!(rows))) } else { table(&rows, *all) }
        }
        Sessions::Show { session, json } => {
            let seat = find_session(&store, session, &cwd)?;
            let rows = store.transcript(&seat.session)?;
            let shown = rows.iter().map(|row| if *json { json_line(row) } else { shown(row) });
            shown.collect()
        }
        Sessions::Export { session, json } => {
            let seat = find_session(&store, session, &cwd)?;
            let row = store.session(&seat.session)?;
            let rows = store.transcript(&seat.session)?;
            match (json, row) {
                (true, row) => {
                    let entries: Vec<Value> = rows.iter().map(entry).collect();
                    let spent = store.spent(&seat.session)?;
                    let whole = json!({"session": row, "usage": spent, "entries": entries});
                    format!("{}\n", json_text(&whole))
                }
                (false, row) => markdown::session(row.as_ref(), &rows),
            }
        }
        Sessions::Rename { session, name } => {
            let seat = find_session(&store, session, &cwd)?;
            let name = session_name(name)?;
            store.rename_session(&seat, Some(&name))?;
            format!("renamed {} to {}\n", seat.session, plain(&name))
        }
        Sessions::Delete { session, yes } => {
            let seat = find_session(&store, session, &cwd)?;
            if !yes {
                return Err(CliError::usage(format!(
                    "this would delete {} permanently",
                    seat.session
                ))
                .hint("confirm with --yes; `ona sessions export` saves a copy"));
            }
            // What its agents did belongs to it.
            let mut all = Vec::new();
            for agent in store.agents_below(&seat.session)? {
                all.extend(store.seat_of(&agent)?.map(|(seat, _)| seat));
            }
            all.push(seat);
            let mut text = String::new();
            for seat in &all {
                store.delete_session(seat, is_gone)?;
                remove_outputs(store.path(), &seat.session);
                text.push_str(&format!("deleted {}\n", seat.session));
            }
            text
        }
        Sessions::Prune(pruning) => prune::run(&store, pruning)?,
        Sessions::Search { text, most, json } => {
            if text.trim().is_empty() {
                return Err(CliError::usage("empty search"));
            }
            let hits = store.search(text, i64::from(*most))?;
            if *json {
                format!("{}\n", json_text(&json!(hits)))
            } else {
                let line = |hit: &ona_store::Hit| {
                    format!(
                        "{}  {:>5}  {:<11}  {}\n",
                        plain(&hit.session_id),
                        hit.sequence,
                        hit.entry_type,
                        plain(&hit.excerpt.replace('\n', " "))
                    )
                };
                hits.iter().map(line).collect()
            }
        }
    };
    print_list(&text, "no results")
        .map_err(|error| CliError::failed(format!("cannot print the result: {error}")))?;
    Ok(ExitCode::SUCCESS)
}

fn table(rows: &[SessionRow], with_dir: bool) -> String {
    let line = |row: &SessionRow| {
        let what = row.name.as_deref().or(row.first_prompt.as_deref()).unwrap_or("–");
        let what: String =
            plain(what).lines().next().unwrap_or_default().chars().take(60).collect();
        let dir = if with_dir {
            format!("  {}", plain(&row.project_dir.replace('\n', " ")))
        } else {
            String::new()
        };
        let cost =
            if row.cost_usd > 0.0 { format!("${:.4}", row.cost_usd) } else { "–".to_owned() };
        let turns = if row.turns == 1 { "turn" } else { "turns" };
        format!(
            "{}  {}  {:<11}  {:>3} {turns:<5}  {:>8}  {what}{dir}\n",
            plain(&row.session_id),
            plain(&row.started_at),
            plain(&row.origin),
            row.turns,
            cost
        )
    };
    if rows.is_empty() {
        return "no sessions here; `ona sessions list --all` lists the sessions of all directories\n".to_owned();
    }
    rows.iter().map(line).collect()
}

/// An entry as it is on the record.
fn entry(row: &StoredEntry) -> Value {
    let payload =
        serde_json::from_str(&row.payload_json).unwrap_or_else(|_| json!(row.payload_json));
    json!({"sequence": row.sequence, "entry_type": row.entry_type, "payload": payload})
}

fn json_line(row: &StoredEntry) -> String {
    format!("{}\n", json_text(&entry(row)))
}

/// An entry in words.
fn shown(row: &StoredEntry) -> String {
    let payload: Value = serde_json::from_str(&row.payload_json).unwrap_or_default();
    let text = match row.entry_type.as_str() {
        "user" | "assistant" => blocks(&payload["content"]),
        "tool_use" => {
            format!("{} {}", payload["name"].as_str().unwrap_or_default(), payload["input"])
        }
        "tool_result" => payload["content"].as_str().unwrap_or_default().to_owned(),
        "attachment" => {
            let attachment = &payload["attachment"];
            let what = [&attachment["type"], &attachment["media_type"], &attachment["url"]];
            what.iter().filter_map(|word| word.as_str()).collect::<Vec<_>>().join(" ")
        }
        "collapse_commit" => payload["summary"].as_str().unwrap_or_default().to_owned(),
        "system" => {
            let subtype = payload["subtype"].as_str().unwrap_or_default();
            let text = payload["text"].as_str().or(payload["message"].as_str()).unwrap_or_default();
            format!("{subtype} {text}")
        }
        _ => payload["content"].as_str().unwrap_or_default().to_owned(),
    };
    let failed = if payload["is_error"] == true { " (error)" } else { "" };
    let text = plain(text.trim_end()).replace('\n', "\n      ");
    format!("{:>5} {}{failed}\n      {text}\n", row.sequence, row.entry_type)
}

fn blocks(content: &Value) -> String {
    let said = content.as_array().into_iter().flatten().filter_map(|block| match &block["type"] {
        kind if kind == "text" => block["text"].as_str().map(str::to_owned),
        kind if kind == "tool_use" => {
            Some(format!("→ {}", block["name"].as_str().unwrap_or_default()))
        }
        _ => None,
    });
    said.collect::<Vec<_>>().join("\n")
}
