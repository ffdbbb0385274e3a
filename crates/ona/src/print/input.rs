//! What the user says: the prompt, standard input, and lines of JSON.

use std::io::{BufRead, IsTerminal as _, Read as _};

use ona_cli::CliError;
use ona_cli::agent_args::{AgentArgs, InputFormat, TAKES_WORDS};
use ona_cli::output::{complain, print_line};
use ona_front::{ClientHandle, Op};
use ona_types::hook::StartSource;

use super::prompt::Prompt;
use super::{control, json};

/// The limit of standard input in bytes.
const MAX_INPUT: u64 = 10 * 1024 * 1024;

/// What to begin with; nothing where lines of JSON will say, or an unfinished turn goes on. Beside it what is said
/// before that: `first`, unless it is all there is.
pub(super) fn first_prompt(
    args: &AgentArgs,
    source: StartSource,
    first: Option<&str>,
) -> Result<(Option<String>, Option<String>), CliError> {
    let first = first.map(str::to_owned);
    if args.init_only {
        return Ok((None, None));
    }
    if args.input_format == InputFormat::StreamJson {
        return match args.prompt {
            None => Ok((None, first)),
            Some(_) => {
                Err(CliError::usage("PROMPT cannot be combined with --input-format stream-json")
                    .hint("send the prompt as a line of JSON on standard input"))
            }
        };
    }
    let mut piped = String::new();
    if !std::io::stdin().is_terminal() {
        let bytes = piped_in(args.prompt.is_some() || first.is_some())?;
        if bytes.len() as u64 > MAX_INPUT {
            return Err(CliError::usage("standard input is too long, limit: 10 MB")
                .hint("write it to a file and name the file in the prompt"));
        }
        piped = String::from_utf8_lossy(&bytes).into_owned();
    }
    let parts = [args.prompt.clone().unwrap_or_default(), piped];
    let parts: Vec<&str> =
        parts.iter().map(String::as_str).filter(|part| !part.trim().is_empty()).collect();
    match (parts.is_empty(), source, first) {
        (false, _, first) => Ok((Some(parts.join("\n\n")), first)),
        (true, StartSource::Resume, _) => Ok((None, None)),
        (true, _, Some(first)) => Ok((Some(first), None)),
        (true, _, None) => Err(CliError::usage("missing prompt").hint(match args.takes_words() {
            true => TAKES_WORDS,
            false => "use ona -p 'PROMPT', or pipe the prompt to ona -p",
        })),
    }
}

/// How long standard input is waited for where there is a prompt already: it may be one that somebody left open.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(3);

/// What comes on standard input, unless nothing does and there is no need of it.
fn piped_in(optional: bool) -> Result<Vec<u8>, CliError> {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut input = std::io::stdin().lock();
        let _ = sender.send(input.fill_buf().map(|_| Vec::new()));
        let mut bytes = Vec::new();
        let read = input.take(MAX_INPUT + 1).read_to_end(&mut bytes);
        let _ = sender.send(read.map(|_| bytes));
    });
    let unreadable =
        |error: std::io::Error| CliError::usage(format!("cannot read standard input: {error}"));
    let gone = |_| CliError::failed("cannot read standard input");
    let first = match optional {
        true => receiver.recv_timeout(PATIENCE).ok(),
        false => Some(receiver.recv().map_err(gone)?),
    };
    match first {
        Some(first) => drop(first.map_err(unreadable)?),
        None => {
            complain("warning: no data on standard input; continuing without it\n");
            return Ok(Vec::new());
        }
    }
    receiver.recv().map_err(gone)?.map_err(unreadable)
}

/// The limit for a line of JSON: images are in it.
const MAX_LINE: u64 = 64 * 1024 * 1024;

/// The next line; nothing at the end, or where it cannot go on.
fn next_line(input: &mut impl BufRead) -> Option<String> {
    let mut line = Vec::new();
    let read = input.take(MAX_LINE + 1).read_until(b'\n', &mut line).ok()?;
    if read as u64 > MAX_LINE {
        complain(&format!(
            "error: a line of standard input is longer than {} MiB; nothing more is read\n",
            MAX_LINE >> 20
        ));
        return None;
    }
    let text = String::from_utf8(line).ok().filter(|_| read > 0)?;
    Some(text.trim_end_matches(['\n', '\r']).to_owned())
}

/// Sends prompts to the core; the last of them is followed by the end.
pub(super) fn feed(
    args: &AgentArgs,
    prompt: Option<String>,
    session_id: &str,
    remote: &ClientHandle,
) -> Option<std::thread::JoinHandle<()>> {
    match (args.input_format, prompt) {
        _ if args.init_only => {}
        (InputFormat::Text, Some(prompt)) => {
            remote.send(Op::Submit { prompt, attachments: Vec::new(), mentions: false });
        }
        (InputFormat::Text, None) => remote.send(Op::Continue),
        (InputFormat::StreamJson, _) => {
            let remote = remote.clone();
            let replays = args.replay_user_messages.then(|| session_id.to_owned());
            // Standard input may never end; the process does not wait for this thread.
            return Some(std::thread::spawn(move || {
                let mut input = std::io::stdin().lock();
                while let Some(line) = next_line(&mut input) {
                    if let Some(answer) = control::answer(&line, &remote) {
                        let _ = print_line(&answer.to_string());
                        continue;
                    }
                    match Prompt::read(&line) {
                        Ok(Some(Prompt { text, attachments, content })) => {
                            if let Some(session_id) = &replays {
                                let said = json::replay(session_id, &content);
                                let _ = print_line(&said.to_string());
                            }
                            remote.send(Op::Submit { prompt: text, attachments, mentions: false });
                        }
                        Ok(None) => {}
                        Err(why) => complain(&format!("warning: skipped a line of input: {why}\n")),
                    }
                }
                remote.send(Op::End);
            }));
        }
    }
    remote.send(Op::End);
    None
}
