//! `ona serve --mcp`: intents, scope, trace and blame as MCP tools, for agents without hooks.
//!
//! They read the current files of the workspace. Refusals are those of the gate, as JSON.

use std::io;
use std::path::Path;
use std::sync::Arc;

use ona_effects::Effects;
use ona_effects::path::Target as PathTarget;
use ona_files::ReadError;
use ona_intents::file::Intent;
use ona_intents::gate::Decision;
use ona_intents::refusal::Refusal;
use ona_intents::scope::locate;
use ona_intents::{Asked, Workspace};
use ona_mcp::{Answer, BoxFuture, Call, Hints, ToolSet, ToolSpec, UnknownTool};
use ona_repo::Disk;
use ona_store::{NewSession, Store, StoreError, is_foreign};
use ona_trace::blame::{Blame, Block, Origin, Target, blame};
use ona_trace::ledger::Filter;
use ona_trace::{Ledger, TraceEntry};
use ona_types::{SessionId, ToolKind, WriteAction};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio::task::spawn_blocking;

/// The number of trace entries: by default, and at most.
const DEFAULT_ENTRIES: usize = 20;
const MAX_ENTRIES: usize = 200;
/// The most paths of one call.
const MAX_PATHS: usize = 1_000;
/// The largest file that is blamed, in bytes.
const MAX_FILE: u64 = 16 << 20;

const INSTRUCTIONS: &str = "Every change in this repository belongs to an intent and stays in its scope. Call \
    select_active_intent before the first change; list_intents shows which there are, check_scope whether a path is in \
    scope. Refusals are JSON with a type and a hint: do what the hint says.";

/// The tools of one workspace.
pub struct ServedTools {
    store: Store,
    workspace: Workspace,
    /// The session of calls that name none.
    session: SessionId,
    /// Whether a call of ona's own has started it.
    governed: bool,
}

/// Selects the intent that changes are made for from now on.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Select {
    /// The intent's id, such as INT-001.
    intent_id: String,
    /// The session that works for it from now on; by default this server's own.
    #[serde(default)]
    session: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct List {}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CheckScope {
    /// The paths, from the root of the workspace or absolute. They need not exist.
    paths: Vec<String>,
    /// The intent; by default the one that is selected.
    #[serde(default)]
    intent_id: Option<String>,
    /// The session whose selection counts; by default this server's own.
    #[serde(default)]
    session: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TraceRecent {
    /// Only entries of this intent.
    #[serde(default)]
    intent_id: Option<String>,
    /// Only entries that changed this file.
    #[serde(default)]
    file: Option<String>,
    /// How many, 20 by default and 200 at most; the newest come last.
    #[serde(default)]
    limit: Option<usize>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct BlameLines {
    /// The file, from the root of the workspace or absolute.
    file: String,
    /// The first line, counted from 1; by default all lines.
    #[serde(default)]
    line: Option<u64>,
    /// The last line; by default the same.
    #[serde(default)]
    end_line: Option<u64>,
}

/// Why a tool cannot do what it was asked for.
enum Problem {
    /// The gate's no.
    Refused(Refusal),
    /// Anything else: its type, and what to say.
    Other(&'static str, String),
}

impl Problem {
    fn to_json(&self) -> Value {
        match self {
            Self::Refused(refusal) => refusal.to_json(),
            Self::Other(kind, message) => {
                json!({"status": "error", "type": kind, "message": message})
            }
        }
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        Self::Other("record_failed", format!("{error} ({})", error.hint()))
    }
}

type Told = Result<Vec<String>, Problem>;

impl ToolSet for ServedTools {
    fn name(&self) -> &str {
        "ona"
    }

    fn version(&self) -> &str {
        env!("CARGO_PKG_VERSION")
    }

    fn instructions(&self) -> &str {
        INSTRUCTIONS
    }

    fn tools(&self) -> Vec<ToolSpec> {
        let spec = |name: &'static str, schema, description: &'static str| {
            let hints = match name {
                "select_active_intent" => Hints::ADDS.once(),
                _ => Hints::READS,
            };
            ToolSpec { name: name.into(), description: description.into(), schema, hints }
        };
        vec![
            spec(
                "select_active_intent",
                schema_of::<Select>(),
                "Select the intent that changes are made for from now on. Call it before the first change. Answers with \
                 the intent's context: its scope, constraints, acceptance criteria, and what was changed for it lately.",
            ),
            spec(
                "list_intents",
                schema_of::<List>(),
                "List the intents of this repository: id, name, status, scope, and which one is selected.",
            ),
            spec(
                "check_scope",
                schema_of::<CheckScope>(),
                "Tell whether paths may be changed for an intent, before they are. Changes nothing.",
            ),
            spec(
                "trace_recent",
                schema_of::<TraceRecent>(),
                "Show the latest changes on the trace: when, for which intent, which files, of which class.",
            ),
            spec(
                "blame",
                schema_of::<BlameLines>(),
                "Tell for which intent, and by which change, lines of a file were written.",
            ),
        ]
    }

    fn call(self: Arc<Self>, call: Call) -> BoxFuture<'static, Result<Answer, UnknownTool>> {
        Box::pin(async move {
            // Files and the record are read: that is for a thread that may wait.
            let answered = spawn_blocking(move || self.answer(&call.name, call.arguments)).await;
            answered.unwrap_or_else(|error| {
                let why = Problem::Other("internal_error", error.to_string());
                Ok(Answer { texts: vec![why.to_json().to_string()], is_error: true })
            })
        })
    }
}

/// Parses the arguments; an error goes to the model like any other.
fn read<T: DeserializeOwned>(arguments: Map<String, Value>) -> Result<T, Problem> {
    serde_json::from_value(Value::Object(arguments))
        .map_err(|error| Problem::Other("invalid_arguments", error.to_string()))
}

fn schema_of<T: JsonSchema>() -> Map<String, Value> {
    let mut schema = schemars::schema_for!(T).to_value();
    match &mut schema {
        Value::Object(schema) => {
            // The name and the dialect are of no use to a model.
            schema.shift_remove("$schema");
            schema.shift_remove("title");
            schema.shift_remove("description");
            schema.entry("properties").or_insert_with(|| json!({}));
            std::mem::take(schema)
        }
        _ => Map::new(),
    }
}

impl ServedTools {
    /// The tools of a workspace, for one session. `governed` says that a call of ona's own has started the server.
    pub fn new(store: Store, workspace: Workspace, session: SessionId, governed: bool) -> Self {
        Self { store, workspace, session, governed }
    }

    fn answer(&self, name: &str, arguments: Map<String, Value>) -> Result<Answer, UnknownTool> {
        let told = match name {
            "select_active_intent" => read(arguments).and_then(|asked| self.select(&asked)),
            "list_intents" => read(arguments).and_then(|List {}| self.list()),
            "check_scope" => read(arguments).and_then(|asked| self.check_scope(&asked)),
            "trace_recent" => read(arguments).and_then(|asked| self.trace_recent(&asked)),
            "blame" => read(arguments).and_then(|asked| self.blame(&asked)),
            _ => return Err(UnknownTool),
        };
        Ok(match told {
            Ok(texts) => Answer { texts, is_error: false },
            Err(problem) => Answer { texts: vec![problem.to_json().to_string()], is_error: true },
        })
    }

    fn workspace_name(&self) -> String {
        self.workspace.root().to_string_lossy().into_owned()
    }

    /// The session that is meant.
    fn session(&self, named: Option<&str>) -> Result<SessionId, Problem> {
        match named.map(str::trim) {
            None => Ok(self.session.clone()),
            // A server that a call of ona has started may only act for its own session.
            Some(_) if self.governed => {
                let why = "`session` is not allowed inside a call of ona".to_owned();
                Err(Problem::Other("invalid_arguments", why))
            }
            Some("") => Err(Problem::Other("invalid_arguments", "`session` is empty".into())),
            Some(id) => {
                let id = SessionId::from_existing(id.to_owned());
                // What ona's own sessions work for is not to be had by naming them.
                match self.store.session(&id)? {
                    Some(row) if !is_foreign(&row.origin) => {
                        let why =
                            format!("session {id} does not belong to an agent that ona serves");
                        Err(Problem::Other("invalid_arguments", why))
                    }
                    _ => Ok(id),
                }
            }
        }
    }

    fn select(&self, asked: &Select) -> Told {
        let session = self.session(asked.session.as_deref())?;
        let selected = self.workspace.select(&asked.intent_id)?;
        if session == self.session {
            self.have_session()?;
        }
        let (workspace, intent) = (self.workspace_name(), selected.intent.id.as_str());
        self.store.select_intent(&workspace, Some(&session), Some(intent), "agent")?;
        ona_gate::intents::vouch(&self.store, &self.workspace)?;
        let mut texts = vec![selected.context];
        texts.extend(selected.warnings.into_iter().map(|warning| format!("warning: {warning}")));
        Ok(texts)
    }

    /// Makes the server's own session, the first time it is needed: a server without calls leaves no session behind.
    fn have_session(&self) -> Result<(), Problem> {
        let made = self.store.new_session(&NewSession {
            project_dir: &self.workspace_name(),
            conversation: None,
            id: Some(&self.session),
            origin: "mcp",
            name: None,
        });
        match made {
            Ok(_) | Err(StoreError::SessionExists(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn selected(&self, session: &SessionId) -> Result<Option<String>, Problem> {
        let selection = self.store.selected_intent(&self.workspace_name(), Some(session))?;
        Ok(selection.and_then(|selection| selection.intent_id))
    }

    fn list(&self) -> Told {
        let intents = self.workspace.intents().map_err(|error| Refusal::of_load(&error))?;
        let ignore = self.workspace.ignore();
        let row = |intent: &Intent| {
            let may = intent.status().is_open() && ignore.blocks_intent(&intent.id).is_none();
            let scope: Vec<&str> =
                intent.owned_scope.iter().map(|item| item.text.as_str()).collect();
            json!({
                "id": intent.id, "name": intent.title(), "status": intent.status().as_str(),
                "owned_scope": scope, "selectable": may,
            })
        };
        let rows: Vec<Value> = intents.all.iter().map(row).collect();
        let warnings: Vec<String> = intents.warnings.iter().map(ToString::to_string).collect();
        let said = json!({
            "intents": rows, "selected": self.selected(&self.session)?, "warnings": warnings,
        });
        Ok(vec![said.to_string()])
    }

    fn check_scope(&self, asked: &CheckScope) -> Told {
        if asked.paths.is_empty() || asked.paths.len() > MAX_PATHS {
            let why = format!("`paths` must have 1 to {MAX_PATHS} items");
            return Err(Problem::Other("invalid_arguments", why));
        }
        let intent = match &asked.intent_id {
            Some(id) => Some(id.trim().to_owned()),
            None => self.selected(&self.session(asked.session.as_deref())?)?,
        };
        let rows = asked.paths.iter().map(|path| self.in_scope(path, intent.as_deref()));
        let rows: Vec<Value> = rows.collect::<Result<_, _>>()?;
        let all = rows.iter().all(|row| row["in_scope"] == true);
        let said = json!({"intent_id": intent, "all_in_scope": all, "paths": rows});
        Ok(vec![said.to_string()])
    }

    /// What the gate would say to a change of a file. What is wrong with the intent itself is the whole answer.
    fn in_scope(&self, path: &str, intent: Option<&str>) -> Result<Value, Problem> {
        let outside = |refusal: &Refusal| {
            let mut row = json!({"path": path, "in_scope": false});
            row["type"] = refusal.kind().into();
            row["message"] = refusal.message().into();
            row
        };
        let target = match PathTarget::of(&Disk, self.workspace.root(), path) {
            Ok(target) => target,
            Err(why) => {
                let id = intent.unwrap_or_default().to_owned();
                let refusal = Refusal::ScopeValidationFailed { id, why: why.to_string() };
                return Ok(outside(&refusal));
            }
        };
        let policy = self.workspace.policy();
        let effects = Effects { writes: vec![target], ..Effects::default() };
        let judged = self.workspace.judge(&Asked {
            tool: "Write",
            kind: ToolKind::Write(WriteAction::Write),
            command: None,
            effects: &effects,
            selected: intent,
            intent_id: intent,
            // What a write has to say of itself is not what is asked about here.
            mutation_class: policy.classes().first().copied(),
            stale: &[],
        });
        match judged.decision {
            Decision::Allow(allowed) => {
                let file = allowed.files.first();
                Ok(json!({
                    "path": path, "in_scope": true,
                    "file": file.map(|file| file.path.as_str()),
                    "pattern": file.map(|file| file.pattern.as_str()),
                }))
            }
            Decision::Refuse(
                refusal @ (Refusal::ScopeViolation { .. } | Refusal::PathBlocked { .. }),
            ) => Ok(outside(&refusal)),
            Decision::Refuse(refusal) | Decision::Degraded(refusal) => Err(refusal.into()),
        }
    }

    fn ledger(&self) -> Result<Ledger, Problem> {
        Ledger::of(self.workspace.root()).map_err(|error| unreadable(error.to_string()))
    }

    /// The path of a file relative to the workspace.
    fn place(&self, file: &str) -> Result<String, Problem> {
        let root = self.workspace.root();
        locate(root, root, file)
            .map_err(|outside| Problem::Other("invalid_arguments", format!("`{file}`: {outside}")))
    }

    fn trace_recent(&self, asked: &TraceRecent) -> Told {
        let limit = asked.limit.unwrap_or(DEFAULT_ENTRIES).clamp(1, MAX_ENTRIES);
        let intent = asked.intent_id.as_deref().map(str::trim);
        let ledger = self.ledger()?;
        let failed = |error: io::Error| unreadable(error.to_string());
        let entries = match &asked.file {
            None => ledger.recent(intent, limit).map_err(failed)?.entries,
            Some(file) => {
                let file = self.place(file)?;
                let filter = Filter { intent, file: Some(&file), ..Filter::default() };
                ledger.last(&filter, limit).map_err(failed)?.entries
            }
        };
        let rows: Vec<Value> = entries.iter().map(trace_row).collect();
        Ok(vec![json!({"entries": rows}).to_string()])
    }

    fn blame(&self, asked: &BlameLines) -> Told {
        let path = self.place(&asked.file)?;
        let content = read_file(&self.workspace.root().join(&path))
            .map_err(|error| Problem::Other("unreadable", format!("`{path}`: {error}")))?;
        let target = Target { path: &path, content: &content, earlier_names: &[], commits: None };
        let mut found =
            blame(&self.ledger()?, &target).map_err(|error| unreadable(error.to_string()))?;
        let last = found.lines.len() as u64;
        let (from, to) = match (asked.line, asked.end_line) {
            (None, None) => (1, last),
            (None, Some(to)) => (1, to),
            (Some(from), to) => (from, to.unwrap_or(from)),
        };
        if from == 0 || from > to || (from > last && last > 0) {
            let why = format!("`{path}` has lines 1 to {last}; {from} to {to} is out of range");
            return Err(Problem::Other("invalid_arguments", why));
        }
        found.keep(from..=to);
        let stretches: Vec<Value> = found.blocks().iter().map(|one| stretch(&found, one)).collect();
        Ok(vec![json!({"file": path, "lines": last, "stretches": stretches}).to_string()])
    }
}

fn unreadable(why: String) -> Problem {
    Problem::Other("trace_unreadable", why)
}

fn trace_row(entry: &TraceEntry) -> Value {
    let mut row = json!({
        "id": entry.id, "timestamp": entry.timestamp, "intent_id": entry.intent_id,
        "mutation_class": entry.mutation_class, "tool_name": entry.tool_name,
        "files": entry.files(), "success": entry.success, "session_id": entry.session_id,
    });
    if let Some(error) = &entry.error {
        row["error"] = json!(error);
    }
    if !entry.warnings.is_empty() {
        row["warnings"] = json!(entry.warnings);
    }
    row
}

/// Neighbouring lines of one origin.
fn stretch(found: &Blame, block: &Block<'_>) -> Value {
    let mut row = match block.origin {
        Origin::Unknown(why) => json!({"unknown": why.to_string()}),
        Origin::Entry(index, certainty) => {
            let entry = found.entries.get(*index);
            let mut row = entry.map(trace_row).unwrap_or_default();
            row["certainty"] = json!(certainty.as_str());
            row["related_requirements"] = json!(entry.map(|entry| &entry.related_requirements));
            row
        }
    };
    row["start_line"] = json!(block.start_line);
    row["end_line"] = json!(block.end_line);
    row
}

/// A regular file that is not too long.
fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    match ona_files::read_at_most(path, MAX_FILE) {
        Ok(Some(content)) => Ok(content),
        Ok(None) => Err(io::ErrorKind::NotFound.into()),
        Err(ReadError::Io(error)) => Err(error),
        Err(error) => Err(io::Error::new(io::ErrorKind::InvalidInput, error)),
    }
}
