//! `ona why`, `ona explain` and `ona log`: past calls, planned calls, and the event log.

use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use ona_cli::output::{self, plain, print_line};
use ona_cli::{CliError, Options, bootstrap, env, record};
use ona_store::{CallStory, LogLine, Store};
use ona_tools::names;
use serde_json::{Value, json};

use crate::eval;
use crate::workspace;

fn printed(result: std::io::Result<()>) -> Result<ExitCode, CliError> {
    result.map_err(|error| CliError::failed(format!("cannot print the result: {error}")))?;
    Ok(ExitCode::SUCCESS)
}

/// Tells the story of one call.
pub fn why(id: Option<&str>, as_json: bool) -> Result<ExitCode, CliError> {
    let store = record::open(None)?;
    let id = id.unwrap_or_default();
    let unknown = || {
        match id {
        "" => CliError::usage("no calls recorded yet").hint(
            "`ona -p PROMPT` and `ona --eval JSON` record calls; `ona doctor` names the record it reads",
        ),
        _ => CliError::usage(format!("unknown call `{id}`"))
            .hint("`ona log` lists the latest calls; without an id, `ona why` shows the latest"),
    }
    };
    let found = match store.story(id)? {
        Some(story) => story,
        None => {
            let like = store.calls_like(id, 2)?;
            let found = match (id, like.as_slice()) {
                ("", [latest, ..]) | (_, [latest]) => latest,
                (_, []) => return Err(unknown()),
                (_, [one, other, ..]) => {
                    return Err(CliError::usage(format!("`{id}` is ambiguous"))
                        .hint(format!("it matches {one} and {other}, for example")));
                }
            };
            store.story(found)?.ok_or_else(unknown)?
        }
    };
    if as_json {
        return printed(print_line(&story_json(&found).to_string()));
    }
    printed(output::print(&story_text(&found)))
}

fn story_json(story: &CallStory) -> Value {
    let answers: Vec<Value> = story
        .answers
        .iter()
        .map(|a| json!({"stage": a.stage, "verdict": a.verdict, "reason": a.reason, "detail": a.detail}))
        .collect();
    let decisions: Vec<Value> = story
        .decisions
        .iter()
        .map(|(decision, reason)| json!({"decision": decision, "reason": reason}))
        .collect();
    json!({
        "tool_use_id": story.tool_use_id, "session_id": story.session_id, "tool": story.tool,
        "input": story.input, "started_at": story.started_at, "answers": answers,
        "hooks": story.hooks, "decisions": decisions,
        "result": story.result.as_ref().map(|(content, is_error)| {
            json!({"content": content, "is_error": is_error})
        }),
        "finished": story.finished,
    })
}

/// Lines of a reason that are shown; `--json` has all.
const MOST_LINES: usize = 20;

fn story_text(story: &CallStory) -> String {
    let mut text = format!(
        "{} {}\n  asked    {} in {}\n",
        line(&story.tool),
        plain(&story.input.to_string()),
        story.started_at,
        story.session_id
    );
    for answer in &story.answers {
        let (stage, verdict) = (&answer.stage, &answer.verdict);
        text.push_str(&format!("  {stage:<8} {verdict:<5} {}\n", below(&answer.reason, 17)));
        text.push_str(&particulars(&answer.detail));
    }
    for hook in &story.hooks {
        let outcome = match (&hook.skipped_reason, hook.exit_code) {
            (Some(why), _) => format!("skipped: {why}"),
            (None, Some(code)) => format!("exit {code}"),
            (None, None) => "did not finish".to_owned(),
        };
        text.push_str(&format!(
            "  hook {:<3} {} [{}] {}: {outcome}\n",
            hook.hook_ordinal,
            hook.hook_event,
            line(&hook.matcher),
            line(&hook.command)
        ));
        if let Some(said) = hook.stderr_text.as_deref().filter(|said| !said.trim().is_empty()) {
            text.push_str(&format!("           said {}\n", below(said, 16)));
        }
    }
    for (decision, reason) in &story.decisions {
        text.push_str(&format!("  decision {decision} {}\n", plain(&reason.to_string())));
    }
    match &story.result {
        None => text.push_str("  result   none yet\n"),
        Some((content, is_error)) => {
            let word = if *is_error { "error" } else { "ok" };
            text.push_str(&format!("  result   {word:<5} {}\n", line(content)));
        }
    }
    text
}

/// What hooks did besides answering: who spoke, what they put in the input's place, what went wrong.
fn particulars(detail: &Value) -> String {
    let mut text = String::new();
    let mut add = |what: &str| text.push_str(&format!("                 {what}\n"));
    for hook in detail["sources"].as_array().into_iter().flatten() {
        let word = |key: &str| line(hook[key].as_str().unwrap_or_default());
        let (ordinal, command, source) = (&hook["ordinal"], word("command"), word("source"));
        add(&format!("by hook {ordinal}: {command} of {source}"));
    }
    if let Some(input) = detail.get("updated_input").filter(|input| !input.is_null()) {
        // Not cut: this is what ran.
        add(&format!("a hook replaced the input: {}", plain(&input.to_string())));
    }
    for warning in detail["warnings"].as_array().into_iter().flatten() {
        add(&format!("warning: {}", plain(warning.as_str().unwrap_or_default())));
    }
    text
}

/// The beginning of a text's first line, as it can be shown.
fn line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(200) {
        Some((end, _)) => plain(&format!("{}…", &line[..end])),
        None => plain(line),
    }
}

/// A text whose further lines stand below its first, up to a limit.
fn below(text: &str, column: usize) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let indent = format!("\n{}", " ".repeat(column));
    let mut shown: Vec<String> = lines.iter().take(MOST_LINES).map(|one| line(one)).collect();
    if lines.len() > MOST_LINES {
        shown.push(format!("… {} more lines", lines.len() - MOST_LINES));
    }
    shown.join(&indent)
}

/// Says what would become of a call.
pub fn explain(
    cli: &Options,
    call: Option<&str>,
    bash: Option<&str>,
    as_json: bool,
) -> Result<ExitCode, CliError> {
    let (tool, input) = match (bash, call) {
        (Some(command), _) => (names::BASH.to_owned(), json!({"command": command})),
        (None, Some(call)) => {
            let call = eval::parse(call)?;
            (call.tool, call.input)
        }
        (None, None) => {
            return Err(CliError::usage("missing call").hint("see `ona explain --help`"));
        }
    };
    let engine = bootstrap::engine_with(cli, Store::look(&env::database()?)?)?;
    let mut session = bootstrap::look(&engine, cli)?;
    // What a call starts or reads may be an extension's: skills, agents, servers of plugins.
    session.load_extensions()?;
    let found = workspace::runtime()?.block_on(session.explain(&tool, &input))?;
    if as_json {
        return printed(print_line(&json!(found).to_string()));
    }
    let mut text = format!("{}\n", found.verdict);
    for because in &found.because {
        text.push_str(&format!("  because  {because}\n"));
    }
    for hook in &found.hooks {
        text.push_str(&format!("  hook     {hook} would run first; its answer is not known yet\n"));
    }
    for change in &found.to_change_it {
        text.push_str(&format!("  change   {change}\n"));
    }
    printed(output::print(&plain(&text)))
}

/// Prints what happened, newest last.
pub fn log(
    cli: &Options,
    session: Option<&str>,
    follow: bool,
    as_json: bool,
    last: u32,
) -> Result<ExitCode, CliError> {
    let store = record::open(cli.cwd.as_deref())?;
    // Events may name a session that nothing else on the record knows.
    let session = match session {
        Some(word) if word.trim().is_empty() || store.log(0, Some(word), 1)?.is_empty() => {
            let here = bootstrap::directory(cli.cwd.as_deref())?;
            let seat = ona_engine::find_session(&store, word, &here)?;
            Some(seat.session.to_string())
        }
        other => other.map(str::to_owned),
    };
    let mut after = 0;
    let mut most = i64::from(last);
    loop {
        let lines = store.log(after, session.as_deref(), most)?;
        if lines.is_empty() && !follow {
            output::complain("no events\n");
        }
        for line in lines {
            after = line.id;
            let text = if as_json { json!(line).to_string() } else { plain(&log_text(&line)) };
            printed(print_line(&text))?;
        }
        if !follow {
            return Ok(ExitCode::SUCCESS);
        }
        most = i64::MAX;
        thread::sleep(Duration::from_millis(200));
    }
}

fn log_text(line: &LogLine) -> String {
    let word = |key: &str| line.detail.get(key).and_then(Value::as_str).unwrap_or_default();
    let session = line.session_id.as_deref().unwrap_or("-");
    let what = match line.event_type.as_str() {
        "tool.started" | "tool.interrupted" => {
            format!("{} {}", word("tool_name"), word("tool_use_id"))
        }
        "tool.finished" => {
            let denied = match (word("denied_by"), word("decided_by")) {
                ("", _) => String::new(),
                (_, "headless") => ", denied: no user available".to_owned(),
                (stage, "") => format!(", denied by {stage}"),
                (_, who) => format!(", denied by {who}"),
            };
            format!("{} {} {}{denied}", word("tool_name"), word("tool_use_id"), word("class"))
        }
        "phase.changed" => format!("{} → {}", word("from"), word("to")),
        _ => line.detail.to_string(),
    };
    format!("{} {session} {:<16} {what}", line.timestamp, line.event_type)
}
