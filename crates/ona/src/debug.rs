//! `--debug`: debug messages, one per line, on standard error or in a file.
//!
//! The other crates emit `tracing` events whose target is `ona::` and a category; this module prints them. Events of
//! other libraries are left out, because they may contain secrets.

use std::fmt::{self, Write as _};
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use ona_cli::bootstrap::directory;
use ona_cli::output::{complain, plain};
use ona_cli::{CliError, Options, secrets};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// What can be chosen.
const CATEGORIES: [&str; 5] = ["api", "gate", "hooks", "settings", "store"];

/// From here on lines are written, if they are wanted.
pub fn listen(cli: &Options) -> Result<(), CliError> {
    let args = &cli.agent;
    if args.debug.is_none() && args.debug_file.is_none() {
        return Ok(());
    }
    let filter = Filter::parse(args.debug.as_deref().unwrap_or_default())?;
    let file = match &args.debug_file {
        Some(path) => Some(Mutex::new(open(path, &directory(cli.cwd.as_deref())?)?)),
        None => None,
    };
    let lines = Lines { filter, file };
    tracing::subscriber::set_global_default(lines)
        .map_err(|error| CliError::failed(format!("--debug: {error}")))
}

fn open(path: &Path, here: &Path) -> Result<File, CliError> {
    // Nobody may be there to read from a pipe; those of the process itself are read.
    let is_pipe = std::fs::metadata(here.join(path)).is_ok_and(|meta| meta.file_type().is_fifo());
    if is_pipe && !path.starts_with("/dev") && !path.starts_with("/proc") {
        return Err(CliError::usage(format!("--debug-file {}: it is a pipe", path.display()))
            .hint("give a file that can be written; messages are appended"));
    }
    // It shows what was done and where: its owner's alone, as the record is.
    OpenOptions::new().append(true).create(true).mode(0o600).open(here.join(path)).map_err(
        |error| {
            CliError::usage(format!("--debug-file {}: {error}", path.display()))
                .hint("give a file that can be written; messages are appended")
        },
    )
}

/// Which categories are wanted.
#[derive(Debug, Default, PartialEq, Eq)]
struct Filter {
    /// None: all.
    only: Vec<&'static str>,
    without: Vec<String>,
}

impl Filter {
    /// `api,hooks` is these two, `!store` all but that one.
    fn parse(text: &str) -> Result<Self, CliError> {
        let mut filter = Self::default();
        for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            match word.strip_prefix('!') {
                // What is not there is left out already.
                Some(word) => filter.without.push(word.to_owned()),
                None => match CATEGORIES.iter().find(|known| **known == word) {
                    Some(known) => filter.only.push(known),
                    None => {
                        return Err(CliError::usage(format!("--debug: unknown category `{word}`"))
                            .hint(format!("the categories are {}; `!store` means all except store", CATEGORIES.join(", ")))
                            .hint("the word after --debug is its filter: put a prompt or a command before it"));
                    }
                },
            }
        }
        Ok(filter)
    }

    fn wants(&self, category: &str) -> bool {
        (self.only.is_empty() || self.only.contains(&category))
            && !self.without.iter().any(|word| word == category)
    }
}

fn category(metadata: &Metadata<'_>) -> Option<&'static str> {
    let name = metadata.target().strip_prefix("ona::")?;
    CATEGORIES.into_iter().find(|known| *known == name)
}

/// Makes lines of events.
struct Lines {
    filter: Filter,
    file: Option<Mutex<File>>,
}

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        category(metadata).is_some_and(|category| self.filter.wants(category))
    }

    fn event(&self, event: &Event<'_>) {
        let Some(category) = category(event.metadata()) else { return };
        let mut said = Said::default();
        event.record(&mut said);
        let line = format!("{} [{category}] {}{}", now(), said.message, said.fields);
        // One line per event; secrets are masked also in paths.
        let line = plain(&secrets::masked_message(&line)).replace('\n', " ") + "\n";
        match &self.file {
            Some(file) => {
                let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
                // On a full disk the file just ends.
                let _ = file.write_all(line.as_bytes());
            }
            None => complain(&line),
        }
    }

    // There are no spans of ours.
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// An event in words: what, then ` name=value` each.
#[derive(Default)]
struct Said {
    message: String,
    fields: String,
}

impl Said {
    fn add(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            self.message.push_str(value);
            return;
        }
        let bare = !value.is_empty() && !value.contains(|c: char| c.is_whitespace() || c == '"');
        // Writing to a text cannot fail.
        let _ = match bare {
            true => write!(self.fields, " {field}={value}"),
            false => write!(self.fields, " {field}={}", serde_json::Value::from(value)),
        };
    }
}

impl Visit for Said {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field, &format!("{value:?}"));
    }
}

/// The time, in UTC.
fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let (seconds, millis) = (since.as_secs(), since.subsec_millis());
    let (day, rest) = (seconds / 86_400, seconds % 86_400);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    let day = ona_types::date(i64::try_from(day).unwrap_or_default());
    format!("{day}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters() {
        let wanted = |text: &str| -> Vec<&str> {
            let filter = Filter::parse(text).unwrap();
            CATEGORIES.into_iter().filter(|category| filter.wants(category)).collect()
        };
        assert_eq!(wanted(""), CATEGORIES);
        assert_eq!(wanted("api, hooks"), ["api", "hooks"]);
        assert_eq!(wanted("!store,!file"), ["api", "gate", "hooks", "settings"]);
        assert_eq!(wanted("api,store,!store"), ["api"]);
        let refused = Filter::parse("fix the bug").unwrap_err().to_string();
        assert!(refused.contains("unknown category `fix the bug`"), "{refused}");
    }
}
