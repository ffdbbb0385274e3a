//! Options for the model besides the prompt: the system prompt, and the JSON Schema of the answer.

use std::fs::File;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use ona_cli::agent_args::{AgentArgs, TAKES_WORDS};
use ona_cli::{CliError, secrets};
use ona_engine::{PromptOptions, Shape};
use ona_files::ReadError;
use ona_tools::StructuredOutput;
use ona_types::SessionId;

/// As much may stand in a file of first words; more would leave no room for the work.
const MAX_WORDS: u64 = 1024 * 1024;

/// And how long it may take to read them.
const WORDS_WITHIN: Duration = Duration::from_secs(10);

/// `--system-prompt` and `--append-system-prompt`, or their files, which are meant from `here`.
pub(super) fn first_words(args: &AgentArgs, here: &Path) -> Result<PromptOptions, CliError> {
    let from = |text: &Option<String>, option: &str, file: Option<&Path>| match (text, file) {
        (Some(text), _) => Ok(Some(text.clone())),
        (None, Some(file)) => words(option, file, here).map(Some),
        (None, None) => Ok(None),
    };
    Ok(PromptOptions {
        replace: from(
            &args.system_prompt,
            "--system-prompt-file",
            args.system_prompt_file.as_deref(),
        )?,
        append: from(
            &args.append_system_prompt,
            "--append-system-prompt-file",
            args.append_system_prompt_file.as_deref(),
        )?,
    })
}

fn words(option: &str, file: &Path, here: &Path) -> Result<String, CliError> {
    let wrong = |why: String| {
        CliError::usage(format!("{option} {}: {why}", file.display()))
            .hint("expected a file with UTF-8 text")
    };
    let path = here.join(file);
    if path.is_dir() {
        return Err(wrong(ReadError::Directory.to_string()));
    }
    // What is given may be a pipe: `<(command)`. Nobody may be there to write into it.
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let read = File::open(&path).map_err(ReadError::Io);
        let _ = sender.send(read.and_then(|file| ona_files::read_open(&file, MAX_WORDS)));
    });
    let read = receiver
        .recv_timeout(WORDS_WITHIN)
        .map_err(|_| wrong(format!("nothing came of it within {} s", WORDS_WITHIN.as_secs())))?;
    let bytes = read.map_err(|error| match error {
        ReadError::Io(error) => wrong(error.to_string()),
        error => wrong(error.to_string()),
    })?;
    String::from_utf8(bytes).map_err(|error| {
        wrong(format!("byte {} is not UTF-8", error.utf8_error().valid_up_to() + 1))
    })
}

/// The tool for `--json-schema`.
pub(super) fn answers(args: &AgentArgs) -> Result<Option<Arc<StructuredOutput>>, CliError> {
    let Some(schema) = &args.json_schema else { return Ok(None) };
    let tool = StructuredOutput::new(schema).map_err(|error| {
        CliError::usage(format!("--json-schema: {error}")).hint(
            "expected a JSON Schema, such as \
             '{\"type\":\"object\",\"properties\":{\"ok\":{\"type\":\"boolean\"}},\"required\":[\"ok\"]}'; \
             --json-schema \"$(cat FILE)\" takes one from a file",
        )
    })?;
    Ok(Some(Arc::new(tool)))
}

/// The shape with its limit.
pub(super) fn shape(tool: Option<Arc<StructuredOutput>>, retries: u32) -> Option<Shape> {
    tool.map(|tool| Shape { tool, retries })
}

/// `--session-id`. What was given may be a secret by mistake, so it is not repeated.
pub(super) fn session_id(text: &str) -> Result<SessionId, CliError> {
    let holds_secret = secrets::redactor().mask(text) != text;
    SessionId::from_uuid(text).filter(|_| !holds_secret).ok_or_else(|| {
        CliError::usage("invalid --session-id: it is not a UUID")
            .hint("`uuidgen` makes one; --name gives a session a name of your own")
    })
}

/// Refuses directories that could not be used.
pub(super) fn check(args: &AgentArgs, cwd: &Path) -> Result<(), CliError> {
    for dir in &args.add_dir {
        if !cwd.join(dir).is_dir() {
            let error =
                CliError::usage(format!("--add-dir {}: directory not found", dir.display()));
            // A word that was meant as the prompt.
            return Err(match dir.to_string_lossy().contains(' ') {
                true => error.hint(TAKES_WORDS),
                false => error.hint(format!("a relative path starts at {}", cwd.display())),
            });
        }
    }
    Ok(())
}
