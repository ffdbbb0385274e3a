//! What a start costs in a record that has grown, against an empty one: 5,000 sessions with a million entries, half of
//! them in the directory where it starts. `cargo xtask bench` runs it with the binary to measure, and reads the figures.
//!
//! Every round takes each measure once, so that a busy machine slows all of them alike.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a measure"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ona_provider::scripted::{Reply, Script, Server};
use ona_store::{NewSession, Store};
use ona_types::{ContentBlock, Entry, EntryType, SessionId, ToolUseId};
use serde_json::json;

const SESSIONS: usize = 5_000;
/// A prompt, then calls: an answer, the call's start and its result.
const ENTRIES: usize = 200;
const ROUNDS: usize = 31;

fn main() {
    let ona = PathBuf::from(std::env::args().nth(1).unwrap());
    let world = tempfile::tempdir().unwrap();
    let world = world.path();
    let project = world.join("project");
    std::fs::create_dir(&project).unwrap();
    std::fs::write(project.join("small.txt"), "one small file\n").unwrap();
    let project = project.canonicalize().unwrap();
    let (empty, grown) = (world.join("empty.db"), world.join("grown.db"));
    fill(&Store::open(&grown).unwrap(), &project);
    drop(Store::open(&empty).unwrap());

    let call = json!({"tool": "Read", "input": {"file_path": "small.txt"}}).to_string();
    // The session that `--continue` goes on with is as long in both.
    let first = Server::start(Script::choose(|_| Reply::say("done"))).unwrap();
    for database in [&empty, &grown] {
        start(&ona, &project, database, &first, &["-p", "go"]);
    }
    let mut times: Vec<(&str, Duration)> = Vec::new();
    for round in 0..=ROUNDS {
        // A new one each time: a server keeps all that it was ever asked.
        let server = Server::start(Script::choose(|_| Reply::say("done"))).unwrap();
        let time = |database: &Path, args: &[&str]| start(&ona, &project, database, &server, args);
        let rows = [
            ("eval_empty_ms", time(&empty, &["--eval", &call])),
            ("eval_grown_ms", time(&grown, &["--eval", &call])),
            ("continue_empty_ms", time(&empty, &["-p", "go", "--continue"])),
            ("continue_grown_ms", time(&grown, &["-p", "go", "--continue"])),
        ];
        // The first round warms up.
        if round > 0 {
            times.extend(rows);
        }
    }
    for what in ["eval", "continue"] {
        for record in ["empty", "grown"] {
            let label = format!("{what}_{record}_ms");
            println!("{label} {}", median(&times, &label));
        }
    }
}

/// In milliseconds.
fn median(times: &[(&str, Duration)], label: &str) -> f64 {
    let mut of_label: Vec<Duration> =
        times.iter().filter(|(own, _)| *own == label).map(|(_, time)| *time).collect();
    of_label.sort_unstable();
    of_label[of_label.len() / 2].as_secs_f64() * 1e3
}

/// One process from start to end, without the time the server took.
fn start(ona: &Path, dir: &Path, database: &Path, server: &Server, args: &[&str]) -> Duration {
    let mut command = Command::new(ona);
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", dir.parent().unwrap())
        .env("AGENT_SDLC_DB", database)
        .env("ANTHROPIC_API_KEY", "key")
        .env("ANTHROPIC_BASE_URL", server.base_url())
        .current_dir(dir)
        .stdin(Stdio::null())
        .args(args);
    let before = server.time_spent();
    let started = Instant::now();
    let output = command.output().unwrap();
    let wall = started.elapsed();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    wall.saturating_sub(server.time_spent() - before)
}

/// Sessions of many conversations, each second one in this directory.
fn fill(store: &Store, here: &Path) {
    let here = here.to_string_lossy();
    for n in 0..SESSIONS {
        let id = SessionId::from_existing(format!("session-{n}"));
        let elsewhere = format!("/elsewhere/{}", n % 50);
        let new = NewSession {
            project_dir: if n % 2 == 0 { &here } else { &elsewhere },
            conversation: None,
            id: Some(&id),
            origin: "headless",
            name: None,
        };
        let seat = store.new_session(&new).unwrap();
        store.append(&seat.session, &transcript(n)).unwrap();
    }
}

fn transcript(session: usize) -> Vec<Entry> {
    let text = |text: &str| ContentBlock::Text { text: text.into() };
    let mut entries = vec![Entry::message(EntryType::User, "u", &[text("look at the next file")])];
    for call in 0.. {
        if entries.len() >= ENTRIES {
            break;
        }
        let id = ToolUseId::from_existing(format!("toolu_{session}_{call}"));
        let input = json!({"file_path": format!("src/file_{call}.rs")});
        let asked =
            ContentBlock::ToolUse { id: id.clone(), name: "Read".into(), input: input.clone() };
        entries.push(Entry::message(EntryType::Assistant, "u", &[text("I look."), asked]));
        entries.push(Entry::tool_use(&id, "Read", &input));
        entries.push(Entry::tool_result(&id, "    let name = \"a value\";\n", false));
    }
    entries.truncate(ENTRIES);
    entries
}
