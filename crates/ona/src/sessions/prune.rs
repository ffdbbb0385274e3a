//! `ona sessions prune`, and the automatic clean-up of the setting `cleanupPeriodDays`.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use ona_cli::CliError;
use ona_cli::bootstrap;
use ona_cli::output::plain;
use ona_cli::started_by::started_by;
use ona_config::settings::Settings;
use ona_gate::settle::is_gone;
use ona_store::{Prunable, Prune, Pruned, Selected, Store, StoreError};
use ona_types::SessionId;
use serde_json::json;

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// Sessions that a list names.
const SHOWN: usize = 50;

#[derive(Debug, Args)]
pub struct Pruning {
    /// Minimum age of the last activity, in days or weeks, such as 90d or 12w
    #[arg(long, value_name = "AGE")]
    older_than: String,
    /// Only list what would be removed
    #[arg(long)]
    pub dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Removes old sessions, or says which would be removed.
pub fn run(store: &Store, pruning: &Pruning) -> Result<String, CliError> {
    let days = days(&pruning.older_than)?;
    let cutoff = cutoff(days)
        .ok_or_else(|| CliError::usage(format!("`{}` is too long ago", pruning.older_than)))?;
    let prune = Prune { before_ms: cutoff, keep: None, asked_by: "operator" };
    if pruning.dry_run {
        let selected = store.prunable(&prune, is_gone)?;
        return Ok(if pruning.json {
            let entries = entries(&selected);
            format!(
                "{}\n",
                json!({"dry_run": true, "idle_since_before_ms": cutoff, "sessions": selected.sessions,
                    "entries": entries, "in_use": selected.in_use})
            )
        } else {
            would_go(&selected)
        });
    }
    let gone = store.prune(&prune, is_gone)?;
    remove_outputs(store.path(), &gone.sessions);
    Ok(if pruning.json {
        format!(
            "{}\n",
            json!({"dry_run": false, "idle_since_before_ms": cutoff, "sessions": gone.sessions,
                "entries": gone.entries, "conversations": gone.conversations, "in_use": gone.in_use})
        )
    } else {
        went(&gone)
    })
}

/// Removes old sessions if the settings say so: at most once a day, and never for an agent.
pub fn clean_up(store: &Store, settings: &Settings, own: &SessionId) -> Result<(), StoreError> {
    let Some(days) = settings.cleanup_period_days else { return Ok(()) };
    let days = i64::from(days.0.get());
    // A record in memory has nothing old in it.
    if !store.path().is_absolute() || started_by().is_some() {
        return Ok(());
    }
    let Some(cutoff) = cutoff(days) else { return Ok(()) };
    if !store.claim_cleanup(cutoff + days * DAY_MS, DAY_MS)? {
        return Ok(());
    }
    let asked_by = format!("cleanupPeriodDays: {days}");
    let prune = Prune { before_ms: cutoff, keep: Some(own), asked_by: &asked_by };
    remove_outputs(store.path(), &store.prune(&prune, is_gone)?.sessions);
    Ok(())
}

/// The moment so many days ago, in milliseconds since 1970.
fn cutoff(days: i64) -> Option<i64> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_millis();
    let cutoff = i64::try_from(now).ok()?.checked_sub(days.checked_mul(DAY_MS)?)?;
    (cutoff > 0).then_some(cutoff)
}

/// An age in days.
fn days(text: &str) -> Result<i64, CliError> {
    let unit = |letter, days: i64| {
        let number: i64 = text.strip_suffix(letter)?.parse().ok()?;
        number.checked_mul(days).filter(|days| *days > 0)
    };
    unit('d', 1).or_else(|| unit('w', 7)).ok_or_else(|| {
        CliError::usage(format!("--older-than: invalid age `{text}`"))
            .hint("give days or weeks, at least one: 90d, 12w")
    })
}

/// What a session's calls printed lies beside the record.
fn remove_outputs(record: &Path, sessions: &[SessionId]) {
    sessions.iter().for_each(|session| bootstrap::remove_outputs(record, session));
}

fn entries(selected: &Selected) -> i64 {
    selected.sessions.iter().map(|session| session.entries).sum()
}

fn would_go(selected: &Selected) -> String {
    let Selected { sessions, in_use } = selected;
    let line = |session: &Prunable| {
        let name = session.name.as_deref().map(plain).unwrap_or_default();
        format!(
            "{}  {:>6} entries  {}  {name}\n",
            session.session_id,
            session.entries,
            plain(&session.project_dir)
        )
    };
    let mut text: String = sessions.iter().take(SHOWN).map(line).collect();
    if sessions.len() > SHOWN {
        text.push_str(&format!("… and {} more\n", sessions.len() - SHOWN));
    }
    text.push_str(&format!(
        "would remove {} with {}{}\n",
        counted(sessions.len(), "session"),
        counted(usize::try_from(entries(selected)).unwrap_or(usize::MAX), "entry"),
        staying(in_use)
    ));
    text
}

fn went(gone: &Pruned) -> String {
    let hint = match gone.sessions.is_empty() {
        true => "",
        false => "`ona doctor --compact` gives the space back to the file system\n",
    };
    format!(
        "removed {} with {}{}\n{hint}",
        counted(gone.sessions.len(), "session"),
        counted(gone.entries, "entry"),
        staying(&gone.in_use)
    )
}

fn staying(in_use: &[String]) -> String {
    match in_use {
        [] => String::new(),
        some => format!("; in use, not removed: {}", some.join(", ")),
    }
}

fn counted(number: usize, what: &str) -> String {
    match (number, what) {
        (1, _) => format!("1 {what}"),
        (_, "entry") => format!("{number} entries"),
        _ => format!("{number} {what}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_days_and_weeks() {
        assert_eq!(days("90d").unwrap(), 90);
        assert_eq!(days("2w").unwrap(), 14);
        for bad in ["", "d", "90", "-1d", "0d", "0w", "1.5d", "9223372036854775807w", "3m", "d90"] {
            assert!(days(bad).is_err(), "{bad}");
        }
        assert!(cutoff(90).is_some());
        for ago in [i64::MAX, 1_000_000] {
            assert_eq!(cutoff(ago), None, "before 1970");
        }
    }
}
