//! Measures, torments and draws the interactive session of a binary in a terminal.
//!
//!   terminal bench ONA            prints the figures, one a line
//!   terminal fuzz ONA SECONDS     random keys, pastes and resizes; fails if ona ends, hangs or leaves the terminal as it is not
//!   terminal pictures ONA DIR     pictures for the documentation; needs tmux
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a chore: a failure here is a failed run"
)]

mod pictures;

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use ona_testkit::pty::{Exit, Key, Pty, PtyOptions, Signal};
use ona_testkit::{Project, Store};
use serde_json::json;

/// What the prompt shows when it is usable.
const USABLE: &str = "? for shortcuts";
/// Starts that are measured.
const STARTS: usize = 15;
/// Entries of a long session.
const ENTRIES: usize = 10_000;
/// Keys that are typed while an answer streams in.
const KEYS: usize = 300;
/// Turns of a long day.
const TURNS: usize = 200;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["bench", ona] => bench(Path::new(ona)),
        ["fuzz", ona, seconds] => fuzz(Path::new(ona), seconds.parse().expect("seconds")),
        ["pictures", ona, into] => pictures::draw(Path::new(ona), Path::new(into)),
        _ => panic!(
            "usage: terminal bench ONA | terminal fuzz ONA SECONDS | terminal pictures ONA DIR"
        ),
    }
}

/// A scripted model that ends with this value.
struct Model {
    child: Child,
    url: String,
}

impl Drop for Model {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Model {
    fn start(project: &Project, replies: &[serde_json::Value]) -> Self {
        let lines: Vec<String> = replies.iter().map(ToString::to_string).collect();
        let file = project.file("../replies.jsonl", lines.join("\n"));
        let mut command = project.ona(["scripted-model", &file]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut url = String::new();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut url).unwrap();
        // What it says of requests must not fill the pipe.
        std::thread::spawn(move || std::io::copy(&mut output, &mut std::io::sink()));
        Self { child, url: url.trim().to_owned() }
    }
}

fn options(url: &str) -> PtyOptions {
    PtyOptions::default()
        .env("ANTHROPIC_API_KEY", "k")
        .env("ANTHROPIC_BASE_URL", url)
        .deadline(Duration::from_secs(120))
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

fn bench(ona: &Path) {
    let project = Project::new(ona);
    let start = || {
        let began = Instant::now();
        let pty = project.pty([""; 0], options("http://127.0.0.1:9"));
        pty.wait_for(USABLE);
        let took = milliseconds(began);
        leave(&pty);
        took
    };
    start();
    let start_ms = median((0..STARTS).map(|_| start()).collect());
    let open_ms = open_long_session(&project);
    let (key_median_ms, key_p99_ms) = keys_while_streaming(&project, &paragraphs());
    let (_, table_key_p99_ms) = keys_while_streaming(&project, &table());
    let (first_mb, last_mb) = long_day(&project);
    println!("start_ms {start_ms}\nopen_ms {open_ms}");
    println!("key_median_ms {key_median_ms}\nkey_p99_ms {key_p99_ms}");
    println!("table_key_p99_ms {table_key_p99_ms}");
    println!("early_mb {first_mb}\nlate_mb {last_mb}");
}

fn leave(pty: &Pty) {
    pty.key(Key::Ctrl('d'));
    pty.wait_for("Ctrl-D again");
    pty.key(Key::Ctrl('d'));
    assert_eq!(pty.wait_exit(), Exit::Code(0));
}

/// Opens a session of 10,000 entries.
fn open_long_session(project: &Project) -> f64 {
    let store = Store::open(&project.database()).unwrap();
    let dir = project.dir();
    let seat = store
        .new_session(&ona_store::NewSession {
            project_dir: dir.to_str().unwrap(),
            conversation: None,
            id: None,
            origin: "interactive",
            name: Some("long"),
        })
        .unwrap();
    let entry = |number: usize| {
        let text = format!("entry {number}: some words that stand for what was said");
        let blocks = [ona_types::ContentBlock::Text { text }];
        let kind = match number % 2 {
            0 => ona_types::EntryType::User,
            _ => ona_types::EntryType::Assistant,
        };
        ona_types::Entry::message(kind, "u", &blocks)
    };
    let entries: Vec<_> = (0..ENTRIES).map(entry).collect();
    store.append(&seat.session, &entries).unwrap();
    drop(store);
    let open = || {
        let began = Instant::now();
        let pty = project.pty(["--resume", "long"], options("http://127.0.0.1:9"));
        pty.wait_until(|screen| {
            screen.contains(&format!("entry {}", ENTRIES - 1)) && screen.contains(USABLE)
        });
        let took = milliseconds(began);
        leave(&pty);
        took
    };
    median((0..5).map(|_| open()).collect())
}

/// A long answer of many paragraphs.
fn paragraphs() -> String {
    let words: String = (0..20_000).map(|number| format!("word{number} ")).collect();
    let parts = words.as_bytes().chunks(400);
    parts.map(|part| format!("{}\n\n", String::from_utf8_lossy(part))).collect()
}

/// An answer that is one long table.
fn table() -> String {
    let rows = (0..10_000).map(|number| format!("| word{number} | about {number} | `x` |\n"));
    format!("| word | what | code |\n|---|---|---|\n{}", rows.collect::<String>())
}

/// Types while 500 tokens a second stream in: the median and the 99th percentile of the time until a key is seen.
fn keys_while_streaming(project: &Project, text: &str) -> (f64, f64) {
    let model = Model::start(project, &[json!({"text": text, "pause_ms": 2})]);
    let pty = project.pty([""; 0], options(&model.url));
    pty.wait_for(USABLE);
    pty.line("go");
    pty.wait_for("word20 ");
    let mut took = Vec::new();
    let mut typed = String::new();
    for number in 0..KEYS {
        let letter = char::from(b'a' + u8::try_from(number % 26).unwrap());
        if typed.len() >= 60 {
            pty.key(Key::Ctrl('u'));
            pty.wait_until(|screen| !screen.contains(&format!("> {typed}")));
            typed.clear();
        }
        typed.push(letter);
        let wanted = format!("> {typed}");
        let began = Instant::now();
        pty.send(&letter.to_string());
        pty.wait_until(|screen| screen.contains(&wanted));
        took.push(milliseconds(began));
    }
    pty.kill(Signal::SIGTERM);
    took.sort_by(f64::total_cmp);
    (took[took.len() / 2], took[took.len() * 99 / 100])
}

/// The resident memory after 20 and after 200 turns, in MB.
fn long_day(project: &Project) -> (f64, f64) {
    let answer = "Some **words** about it.\n\n```rust\nfn main() {}\n```\n\n".repeat(20);
    let replies: Vec<_> =
        (0..TURNS).map(|number| json!({"text": format!("{answer}answer {number}.")})).collect();
    let model = Model::start(project, &replies);
    let pty = project.pty([""; 0], options(&model.url));
    pty.wait_for(USABLE);
    let mut first = 0.0;
    for number in 0..TURNS {
        pty.line(&format!("prompt {number}"));
        pty.wait_for(&format!("answer {number}."));
        pty.wait_for(USABLE);
        if number == 19 {
            first = resident(pty.pid());
        }
    }
    let last = resident(pty.pid());
    leave(&pty);
    (first, last)
}

fn resident(pid: i32) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    let kilobytes: f64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kilobytes / 1e3
}

/// Keys and what else may come from a terminal.
const BYTES: &[&str] = &[
    "\r",
    "\n",
    "\t",
    "\x1b",
    "\x1b[A",
    "\x1b[B",
    "\x1b[C",
    "\x1b[D",
    "\x1b[H",
    "\x1b[F",
    "\x1b[5~",
    "\x1b[6~",
    "\x1b[Z",
    "\x7f",
    "\x1b[3~",
    "\x01",
    "\x02",
    "\x05",
    "\x06",
    "\x07",
    "\x0b",
    "\x0c",
    "\x0e",
    "\x0f",
    "\x10",
    "\x12",
    "\x13",
    "\x14",
    "\x15",
    "\x17",
    "\x18",
    "\x19",
    "\x1bb",
    "\x1bf",
    "\x1by",
    "\x1bp",
    "\x1bt",
    "\x1bm",
    "\x1b\r",
    "\x1f",
    "y",
    "n",
    "a",
    "1",
    "2",
    "3",
    "9",
    "/",
    "/help\r",
    "/status\r",
    "/config\r",
    "/permissions\r",
    "/rewind\r",
    "/resume\r",
    "/diff\r",
    "/clear\r",
    "/vim\r",
    "/context\r",
    "/stats\r",
    "/plan\r",
    "!echo hi\r",
    "#note\r",
    "@",
    "hello ",
    "日本語",
    "👩‍👩‍👧",
    "e\u{301}",
    "\u{202e}",
    "\x1b[200~pasted\ntext\x1b[201~",
    "\x1b]11;rgb:ffff/ffff/ffff\x1b\\",
    "\x1b[I",
    "\x1b[O",
    "\x1b[27;5;9~",
    "\x1b[57u",
    "\\\r",
    "?",
    "q",
    "j",
    "k",
    "go\r",
    "\x1b\x1b",
];

fn fuzz(ona: &Path, seconds: u64) {
    let until = Instant::now() + Duration::from_secs(seconds);
    let mut seed = 20_261_118_u64;
    let mut random = move |most: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % most
    };
    let (mut sessions, mut keys) = (0, 0);
    while Instant::now() < until {
        let project = Project::new(ona);
        project.file("README.md", "# A project\n");
        let replies: Vec<_> = (0..400).map(reply).collect();
        let model = Model::start(&project, &replies);
        let options = options(&model.url).env("EDITOR", "true").size(24, 80);
        let pty = project.pty([""; 0], options);
        pty.wait_for(USABLE);
        sessions += 1;
        let end = (Instant::now() + Duration::from_secs(30)).min(until);
        while Instant::now() < end {
            keys += 1;
            match random(40) {
                0 => pty.resize(
                    5 + u16::try_from(random(60)).unwrap(),
                    10 + u16::try_from(random(300)).unwrap(),
                ),
                1 => pty.send(&"long line ".repeat(random(300))),
                _ => pty.send(BYTES[random(BYTES.len())]),
            }
            std::thread::sleep(Duration::from_millis(random(15) as u64));
            if !pty.is_running() {
                break;
            }
        }
        // It still answers, and gives the terminal back.
        if pty.is_running() {
            pty.resize(40, 120);
            pty.kill(Signal::SIGTERM);
            assert_eq!(pty.wait_exit(), Exit::Code(143), "{}", pty.screen());
        } else {
            // The keys may have chosen a command that leaves.
            let left = ["> /exit", "> /quit"].iter().any(|line| pty.whole().contains(line));
            assert!(left && pty.wait_exit() == Exit::Code(0), "it has ended:\n{}", pty.screen());
        }
        let raw = pty.raw();
        let tail = String::from_utf8_lossy(&raw[raw.len().saturating_sub(2_000)..]).into_owned();
        assert!(
            tail.contains("\x1b[?2004l") && tail.contains("\x1b[?25h"),
            "the terminal was not given back: {tail:?}"
        );
        assert!(
            !String::from_utf8_lossy(&raw).contains("internal error"),
            "a panic: {}",
            pty.whole()
        );
    }
    println!("{sessions} sessions, {keys} inputs, no panic, no hang");
}

/// Answers of all kinds.
fn reply(number: usize) -> serde_json::Value {
    let call = |tool: &str, input: serde_json::Value| json!([{"id": format!("c{number}"), "tool": tool, "input": input}]);
    match number % 6 {
        0 => {
            json!({"text": "# Title\n\nSome **bold** text and `code`.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n", "pause_ms": 1})
        }
        1 => {
            json!({"text": "I run it.", "calls": call("Bash", json!({"command": "echo one; touch made"}))})
        }
        2 => {
            json!({"text": "I write.", "calls": call("Write", json!({"file_path": "made.txt", "content": "a\nb\n"}))})
        }
        3 => {
            json!({"text": "I ask.", "calls": call("AskUserQuestion", json!({"questions": [{"question": "Which?", "header": "H", "multiSelect": number.is_multiple_of(4), "options": [{"label": "A", "description": "a"}, {"label": "B", "description": "b"}]}]}))})
        }
        4 => json!({"text": "\u{1b}]0;evil\u{7}\u{1b}[2J日本語 👩‍👩‍👧 ".repeat(20), "pause_ms": 1}),
        _ => {
            json!({"text": "done", "calls": call("TodoWrite", json!({"todos": [{"content": "a", "activeForm": "doing a", "status": "in_progress"}]}))})
        }
    }
}
