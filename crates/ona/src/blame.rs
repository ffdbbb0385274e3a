//! `ona blame`: the call that wrote a line, its intent, and who approved it.

use std::io;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ona_cli::output::{complain, plain};
use ona_cli::{CliError, Options, env, secrets};
use ona_files::ReadError;
use ona_intents::file::{Found, Intents};
use ona_intents::history::blame_lines;
use ona_intents::scope::locate;
use ona_store::Store;
use ona_trace::TraceEntry;
use ona_trace::blame::{Block, Certainty, Origin};
use ona_trace::ranges::{is_binary, split_lines};
use ona_trace::syntax::left_out;
use ona_types::SessionId;
use serde_json::{Value, json};

use crate::trace::{when, who};
use crate::workspace::{Location, counted, no_history, printed, runtime};

/// The largest file that is blamed, in bytes.
const MAX_FILE: u64 = 64 << 20;

pub fn run(cli: &Options, target: &Path, as_json: bool) -> Result<ExitCode, CliError> {
    let location = Location::find(cli)?;
    // The trace alone is enough; the record adds details.
    let store = env::database().and_then(|database| Ok(Store::look(&database)?));
    let store =
        store.inspect_err(|error| complain(&error.warning("continuing without the record")));
    let told = tell(&location, store.as_ref().ok(), target, as_json)?;
    printed(&secrets::redactor().mask_live(&told))?;
    Ok(ExitCode::SUCCESS)
}

/// What is known of the lines of a file.
pub fn tell(
    location: &Location,
    store: Option<&Store>,
    target: &Path,
    as_json: bool,
) -> Result<String, CliError> {
    let (file, wanted) = parse(&location.here, target)?;
    let path = locate(location.root(), &location.here, &file)
        .map_err(|outside| CliError::usage(outside.to_string()).hint(within(location)))?;
    let content = content(&location.root().join(&path), &file)?;
    let lines = split_lines(&content);
    let wanted = wanted.unwrap_or(1..=lines.len());
    if *wanted.end() > lines.len() {
        let has = counted(lines.len(), "line");
        return Err(CliError::usage(format!(
            "{path} has {has}: line {} is out of range",
            wanted.end()
        ))
        .hint("`ona blame FILE` shows all lines"));
    }
    let found = runtime()?
        .block_on(blame_lines(&location.workspace, &path, &content, numbers(&wanted)))
        .map_err(no_history)?;
    let (found, earlier) = (found.blame, found.earlier_names);
    let intents = location.intents_if_any();
    let origins: Vec<Traced> = found
        .entries
        .iter()
        .map(|entry| Traced::of(entry, &intents, store))
        .collect::<Result<_, _>>()?;
    let blocks = found.blocks();
    if let Some(language) = left_out(&path) {
        complain(&format!(
            "note: this ona was built without the grammar of {language}, so symbols are not shown; `cargo install --path \
             crates/ona --features all-grammars` builds one with it\n"
        ));
    }
    Ok(if as_json {
        let rows: Vec<Value> =
            blocks.iter().map(|block| block_json(block, &origins, &lines)).collect();
        format!("{}\n", json!({"file": path, "earlier_names": earlier, "blocks": rows}))
    } else {
        let colour = env::colour();
        let width = wanted.end().to_string().len();
        blocks.iter().map(|block| block_words(block, &origins, &lines, width, colour)).collect()
    })
}

fn within(location: &Location) -> String {
    format!("the trace covers only files in {}", location.root().display())
}

/// The file, and the lines if some are named. A file whose name ends so is meant itself.
fn parse(here: &Path, target: &Path) -> Result<(PathBuf, Option<RangeInclusive<usize>>), CliError> {
    let whole = || Ok((target.to_owned(), None));
    let text = target.to_string_lossy();
    let Some((file, lines)) = text.rsplit_once(':') else { return whole() };
    let looks_so =
        !lines.is_empty() && lines.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    if !looks_so || here.join(target).symlink_metadata().is_ok() {
        return whole();
    }
    let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
    let number = |text: &str| text.parse::<usize>().ok().filter(|line| *line > 0);
    match (number(first), number(last)) {
        (Some(first), Some(last)) if first <= last => Ok((PathBuf::from(file), Some(first..=last))),
        _ => Err(CliError::usage(format!("invalid line range `{lines}`"))
            .hint("use FILE:LINE or FILE:FIRST-LAST; lines are counted from 1")),
    }
}

fn content(real: &Path, named: &Path) -> Result<Vec<u8>, CliError> {
    let named = named.display();
    let unreadable = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            CliError::usage(format!("file not found: {named}"))
        }
        _ => CliError::failed(format!("cannot read {named}: {error}")),
    };
    let content = match ona_files::read_at_most(real, MAX_FILE) {
        Ok(Some(content)) => content,
        Ok(None) => return Err(unreadable(io::ErrorKind::NotFound.into())),
        Err(ReadError::Io(error)) => return Err(unreadable(error)),
        Err(ReadError::Directory) => {
            return Err(
                CliError::usage(format!("{named} is a directory")).hint("give a file in it")
            );
        }
        Err(error) => return Err(CliError::usage(format!("{named}: {error}"))),
    };
    if is_binary(&content) {
        return Err(CliError::usage(format!("{named} is a binary file"))
            .hint("`ona trace list --file` lists its changes"));
    }
    Ok(content)
}

/// An entry, and what the file of intents and the record add to it.
struct Traced {
    entry: TraceEntry,
    intent_name: Option<String>,
    intent_status: Option<String>,
    requirements: Vec<String>,
    criteria: Vec<String>,
    model: Option<String>,
    approver: Option<String>,
}

impl Traced {
    fn of(entry: &TraceEntry, intents: &Intents, store: Option<&Store>) -> Result<Self, CliError> {
        let mut traced = Self {
            entry: entry.clone(),
            intent_name: None,
            intent_status: None,
            requirements: entry.related_requirements.clone(),
            criteria: Vec::new(),
            model: entry.model.clone(),
            approver: entry.approver.clone(),
        };
        if let Found::One(intent) = intents.find(entry.intent_id.as_deref().unwrap_or_default()) {
            traced.intent_name = intent.name.clone();
            traced.intent_status = Some(intent.status().as_str().to_owned());
            traced.criteria.clone_from(&intent.acceptance_criteria);
            if traced.requirements.is_empty() {
                traced.requirements.clone_from(&intent.related_requirements);
            }
        }
        if let (Some(call), Some(store)) = (&entry.tool_use_id, store)
            && let Some(story) = store.story(call)?
        {
            traced.approver = traced.approver.or_else(|| story.approver().map(str::to_owned));
            if traced.model.is_none() {
                let answered = store.last_model(&SessionId::from_existing(&story.session_id))?;
                traced.model = answered.map(|(provider, model)| format!("{provider}/{model}"));
            }
        }
        Ok(traced)
    }

    fn json(&self) -> Value {
        let entry = &self.entry;
        json!({
            "entry_id": entry.id, "seq": entry.seq, "timestamp": entry.timestamp,
            "tool_name": entry.tool_name, "tool_use_id": entry.tool_use_id,
            "mutation_class": entry.mutation_class, "actor": entry.actor, "host": entry.host,
            "session_id": entry.session_id, "conversation_id": entry.conversation_id,
            "bead_id": entry.bead_id, "model": self.model, "approver": self.approver,
            "revision_id": entry.revision_id,
            "intent": entry.intent_id.as_ref().map(|id| json!({
                "id": id, "name": self.intent_name, "status": self.intent_status,
                "related_requirements": self.requirements, "acceptance_criteria": self.criteria,
            })),
        })
    }

    /// The heading of the lines.
    fn head(&self, certainty: Certainty) -> String {
        let entry = &self.entry;
        let id = entry.intent_id.as_deref().unwrap_or("no intent");
        let mut head = match &self.intent_name {
            Some(name) => format!("{id} {name}\n"),
            None => format!("{id}\n"),
        };
        let mut add = |name: &str, value: String| {
            if !value.is_empty() {
                head.push_str(&format!("    {name:<12} {}\n", value.replace('\n', " ")));
            }
        };
        add(
            "certainty",
            match certainty {
                Certainty::Exact => "exact".to_owned(),
                Certainty::Content => {
                    "recognised by content: the file was later changed outside the trace".to_owned()
                }
            },
        );
        add("requirements", self.requirements.join(", "));
        add("criteria", self.criteria.join("; "));
        let entry_number = entry.seq.map_or_else(|| entry.id.clone(), |seq| format!("#{seq}"));
        let call = entry.tool_use_id.as_ref().map(|call| format!(", call {call}"));
        add("entry", format!("{entry_number}, {}{}", who(entry), call.unwrap_or_default()));
        add("session", entry.session_id.clone().unwrap_or_default());
        add("model", self.model.clone().unwrap_or_default());
        add("approver", self.approver.clone().unwrap_or_default());
        plain(&head)
    }
}

fn numbers(lines: &RangeInclusive<usize>) -> RangeInclusive<u64> {
    *lines.start() as u64..=*lines.end() as u64
}

/// The texts of a block's lines, each with its number.
fn texts(block: &Block<'_>, lines: &[&[u8]]) -> Vec<(u64, String)> {
    let text = |number: u64| {
        let at = usize::try_from(number).unwrap_or_default();
        let line = lines.get(at - 1).copied().unwrap_or_default();
        String::from_utf8_lossy(line).trim_end_matches(['\n', '\r']).to_owned()
    };
    (block.start_line..=block.end_line).map(|number| (number, text(number))).collect()
}

fn block_json(block: &Block<'_>, origins: &[Traced], lines: &[&[u8]]) -> Value {
    let texts: Vec<String> = texts(block, lines).into_iter().map(|(_, text)| text).collect();
    let mut value = match block.origin {
        Origin::Entry(index, certainty) => {
            let mut value = origins.get(*index).map(Traced::json).unwrap_or_default();
            value["certainty"] = json!(certainty.as_str());
            value
        }
        Origin::Unknown(why) => {
            json!({"certainty": "unknown", "why": why.to_string(), "commit": block.commit})
        }
    };
    value["start_line"] = json!(block.start_line);
    value["end_line"] = json!(block.end_line);
    value["lines"] = json!(texts);
    value
}

fn block_words(
    block: &Block<'_>,
    origins: &[Traced],
    lines: &[&[u8]],
    width: usize,
    colour: bool,
) -> String {
    let (head, columns) = match block.origin {
        Origin::Entry(index, certainty) => match origins.get(*index) {
            Some(traced) => {
                let entry = &traced.entry;
                let class = entry.mutation_class.map_or("–", |class| class.as_str());
                let id = entry.intent_id.as_deref().unwrap_or("–");
                let actor = entry.actor.as_deref().unwrap_or("agent");
                let columns = format!("{id}  {class}  {}  {actor}", when(entry));
                (traced.head(*certainty), columns)
            }
            None => (String::new(), String::new()),
        },
        Origin::Unknown(why) => {
            let commit = match block.commit {
                Some(commit) => format!("commit {}", commit.get(..12).unwrap_or(commit)),
                None => "not committed, or not known to git".to_owned(),
            };
            (
                format!("unknown\n    {:<12} {why}\n    {:<12} {commit}\n", "why", "git"),
                "unknown".to_owned(),
            )
        }
    };
    let head = match colour {
        true => format!("\x1b[1m{}", head.replacen('\n', "\x1b[0m\n", 1)),
        false => head,
    };
    let columns = plain(&columns);
    let shown = texts(block, lines)
        .into_iter()
        .map(|(line, text)| format!("  {line:>width$}  {columns}  | {}\n", plain(&text)));
    head + &shown.collect::<String>()
}
