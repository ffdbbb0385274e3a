//! Hidden commands that ona runs in processes of its own.

use std::fs::OpenOptions;
use std::io::{Read as _, Write as _};
use std::process::ExitCode;

use ona_cli::output::{complain, print_line};
use ona_cli::{CliError, env, record};
use ona_provider::scripted::{Reply, Script, Server};
use ona_sandbox::{Owner, SupervisedEnd};
use ona_tools::TaskSpec;
use ona_tools::pdf::{self, Wanted};
use ona_types::TaskEnd;
use serde_json::{Value, json};

/// The memory limit of a reader: a few bytes of a file can expand to gigabytes.
const MAX_MEMORY: u64 = 1 << 30;

/// Supervises one background task and records how it ended.
pub fn task_host() -> Result<ExitCode, CliError> {
    ona_sandbox::leave_session();
    let spec: TaskSpec = serde_json::from_slice(&standard_input()?)
        .map_err(|error| CliError::usage(format!("the task's description: {error}")))?;
    let database = env::database()?;
    // Its processes are known by the same variable as those of ona itself.
    env::for_children(&database);
    let open = || record::open_masking(&database, spec.redactor());
    let owner = json!(Owner::current());
    // The task runs whether or not the record can be written just now.
    let _ = open()
        .and_then(|store| store.watch_task(&spec.session, &spec.call, &spec.started(), &owner));
    let wanted = || {
        let ended = open().and_then(|store| store.task_has_ended(&spec.id));
        !ended.unwrap_or(false)
    };
    let (outcome, refused) = match ona_tools::run_task(&spec, &wanted) {
        Ok((end, refused)) => (Ok(end), refused),
        Err(error) => (Err(error), Vec::new()),
    };
    let (exit_code, reason) = match &outcome {
        Ok(SupervisedEnd::Exited(code)) => (Some(*code), "exited"),
        Ok(SupervisedEnd::Signalled) => (None, "signalled"),
        Ok(SupervisedEnd::OutputLimit) => (None, "output_limit"),
        Ok(SupervisedEnd::OwnerEnded) => (None, "session_ended"),
        Ok(SupervisedEnd::FailedToStart) => (None, "failed_to_start"),
        Err(_) => (None, "supervisor_failed"),
    };
    let end = TaskEnd { exit_code, reason: reason.to_owned() };
    let recorded = open().and_then(|store| {
        store.watch_task(&spec.session, &spec.call, &spec.started(), &owner)?;
        let refused: Vec<Value> = refused.iter().map(|one| json!(one)).collect();
        store.task_refused(&spec.session, &spec.id, &refused)?;
        store.finish_task(&spec.id, &end)
    });
    if let Err(error) = recorded {
        // Nobody reads our standard error; the log of the task is read.
        if let Ok(mut log) = OpenOptions::new().append(true).open(&spec.output_path) {
            let _ = writeln!(log, "\ncannot record how the task ended: {error}");
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints a PDF's text, or says on stderr why it cannot.
pub fn pdf_text(pages: Option<&str>, bytes: Option<usize>) -> Result<ExitCode, CliError> {
    ona_sandbox::bound_memory(MAX_MEMORY);
    let wanted = match (pages, bytes) {
        (Some(pages), _) => pdf::page_range(pages).map(Wanted::Pages),
        (None, Some(bytes)) => Ok(Wanted::Bytes(bytes)),
        (None, None) => Ok(Wanted::Whole),
    };
    let document = standard_input()?;
    match wanted.and_then(|wanted| pdf::extract(&document, &wanted)) {
        Ok(text) => {
            print_line(&json!(text).to_string())
                .map_err(|error| CliError::failed(format!("cannot print the text: {error}")))?;
            Ok(ExitCode::SUCCESS)
        }
        Err(why) => {
            complain(&format!("{why}\n"));
            Ok(ExitCode::FAILURE)
        }
    }
}

/// Prints HTML as Markdown, or says on stderr why it cannot.
pub fn html_text() -> Result<ExitCode, CliError> {
    ona_sandbox::bound_memory(MAX_MEMORY);
    let html = standard_input()?;
    match ona_web::markdown(&String::from_utf8_lossy(&html)) {
        Ok(text) => {
            print_line(&text)
                .map_err(|error| CliError::failed(format!("cannot print the text: {error}")))?;
            Ok(ExitCode::SUCCESS)
        }
        Err(why) => {
            complain(&format!("{why}\n"));
            Ok(ExitCode::FAILURE)
        }
    }
}

/// Serves a model that says what a file of JSON lines tells it to, until the process is ended: each line is one
/// answer, `{"text": …, "calls": [{"id": …, "tool": …, "input": …}]}`, before whose text the model may have searched
/// the web, `"search": {"query": …, "pages": [{"title": …, "url": …}]}`. A line `{"page": {"type": …, "body": …}}` is
/// for whoever asks as a browser does. Prints where, one line for each protocol, then a line for each question: the
/// name of the credential's header and its value.
pub fn scripted_model(file: &std::path::Path) -> Result<ExitCode, CliError> {
    let wrong = |error: String| CliError::usage(format!("{}: {error}", file.display()));
    let text = ona_files::content_text(file).map_err(|error| wrong(error.to_string()))?;
    let (mut replies, mut pages, mut asides) = (Vec::new(), Vec::new(), Vec::new());
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let value: Value = serde_json::from_str(line).map_err(|error| wrong(error.to_string()))?;
        let said = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        if let Some(page) = value.get("page") {
            let status = page["status"].as_u64().and_then(|status| u16::try_from(status).ok());
            let status = status.unwrap_or(200);
            let mut reply = Reply::page(status, &said(&page["type"]), said(&page["body"]));
            for (name, header) in page["headers"].as_object().into_iter().flatten() {
                reply = reply.header(name, &said(header));
            }
            pages.push(reply);
            continue;
        }
        if let Some(aside) = value.get("aside") {
            asides.push(Reply::say(said(aside)));
            continue;
        }
        let mut reply = Reply::new();
        if let Some(search) = value.get("search") {
            let found = search["pages"].as_array().into_iter().flatten();
            let found: Vec<(String, String)> =
                found.map(|page| (said(&page["title"]), said(&page["url"]))).collect();
            let found: Vec<(&str, &str)> =
                found.iter().map(|(title, url)| (title.as_str(), url.as_str())).collect();
            reply = reply.search(&said(&search["query"]), &found);
        }
        reply = reply.text(said(&value["text"]));
        if let Some(pause) = value["pause_ms"].as_u64() {
            reply = reply.slow(std::time::Duration::from_millis(pause));
        }
        for call in value["calls"].as_array().into_iter().flatten() {
            let text = |key: &str| call[key].as_str().unwrap_or_default();
            reply = reply.call(text("id"), text("tool"), call["input"].clone());
        }
        replies.push(reply);
    }
    let (mut replies, mut pages) = (replies.into_iter(), pages.into_iter());
    let mut asides = asides.into_iter();
    let script = Script::choose(move |request| {
        if request.method == "GET" {
            return pages.next().unwrap_or_else(|| Reply::page(404, "text/plain", "no such page"));
        }
        // A question without tools, such as for a title, is beside the work and takes nothing off its script.
        let is_work = request.body["tools"].as_array().is_some_and(|tools| !tools.is_empty());
        let next = match is_work {
            true => replies.next(),
            false => Some(asides.next().unwrap_or_else(|| Reply::say("ok"))),
        };
        next.unwrap_or_else(|| Reply::error(500, "api_error", "the script has no further reply"))
    });
    let server = Server::start(script).map_err(|error| CliError::failed(error.to_string()))?;
    let unprintable = |error: std::io::Error| CliError::failed(error.to_string());
    print_line(&server.base_url()).map_err(unprintable)?;
    print_line(&server.openai_base_url()).map_err(unprintable)?;
    let mut told = 0;
    loop {
        let requests = server.requests();
        for request in &requests[told..] {
            let credential = ["x-api-key", "authorization"]
                .iter()
                .find_map(|name| Some(format!("{name} {}", request.header(name)?)));
            print_line(&credential.unwrap_or_default()).map_err(unprintable)?;
        }
        told = requests.len();
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

fn standard_input() -> Result<Vec<u8>, CliError> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .take(ona_files::MAX_WHOLE)
        .read_to_end(&mut bytes)
        .map_err(|error| CliError::failed(format!("cannot read standard input: {error}")))?;
    Ok(bytes)
}
