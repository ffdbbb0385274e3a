//! What a headless turn costs beside the model: against a scripted server on loopback, its own time taken off.
//! `cargo xtask bench` runs it with the binary to measure, and reads the figures.
//!
//! Every round takes each measure once, so that a busy machine slows all of them alike.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a measure"
)]

mod sessions;

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ona_provider::scripted::{Reply, Script, Server};
use ona_store::Store;
use serde_json::{Value, json};

const ROUNDS: usize = 41;
const CALLS: usize = 50;

fn main() {
    let ona = PathBuf::from(std::env::args().nth(1).unwrap());
    let world = tempfile::tempdir().unwrap();
    let world = world.path();
    std::fs::write(world.join("small.txt"), "one small file\n").unwrap();
    let bench = Bench { ona, world };
    let dir = world.canonicalize().unwrap();
    let store = Store::open(&bench.database()).unwrap();
    sessions::make(&store, &dir, "compacted", &sessions::compacted());
    sessions::make(&store, &dir, "live", &sessions::live());
    drop(store);

    let plain = || Server::start(Script::choose(|_| Reply::say("done"))).unwrap();
    let busy = Server::start(Script::choose(|request| {
        let asked = request.body["messages"].to_string().matches("\"type\":\"tool_use\"").count();
        match asked {
            CALLS => Reply::say("done"),
            _ => Reply::new().call(&format!("c{asked}"), "Read", json!({"file_path": "small.txt"})),
        }
    }))
    .unwrap();
    let mut figures = Figures::default();
    for round in 0..=ROUNDS {
        // A new one each time: a server keeps all that it was ever asked.
        let server = plain();
        let rows = [
            ("plain_ms", bench.process(&server, &[])),
            ("compacted_ms", bench.process(&server, &["--resume", "compacted"])),
            ("live_ms", bench.process(&server, &["--resume", "live"])),
            ("busy_ms", bench.process(&busy, &[])),
            ("next_plain_ms", bench.next_turn(&server, &[])),
            ("next_compacted_ms", bench.next_turn(&server, &["--resume", "compacted"])),
            ("next_live_ms", bench.next_turn(&server, &["--resume", "live"])),
        ];
        // The first round warms up.
        if round > 0 {
            figures.0.extend(rows);
        }
    }
    for label in [
        "plain_ms",
        "compacted_ms",
        "live_ms",
        "next_plain_ms",
        "next_compacted_ms",
        "next_live_ms",
    ] {
        println!("{label} {}", figures.median(label));
    }
    println!("call_ms {}", (figures.median("busy_ms") - figures.median("plain_ms")) / CALLS as f64);
    println!("busy_mb {}", bench.peak(&busy, &[]));
    println!("live_mb {}", bench.peak(&plain(), &["--resume", "live"]));
}

#[derive(Default)]
struct Figures(Vec<(&'static str, Duration)>);

impl Figures {
    /// In milliseconds.
    fn median(&self, label: &str) -> f64 {
        let of_label = self.0.iter().filter(|(own, _)| *own == label);
        let mut times: Vec<Duration> = of_label.map(|(_, time)| *time).collect();
        times.sort_unstable();
        times[times.len() / 2].as_secs_f64() * 1e3
    }
}

struct Bench<'w> {
    ona: PathBuf,
    world: &'w Path,
}

impl Bench<'_> {
    fn database(&self) -> PathBuf {
        self.world.join("agent.db")
    }

    fn command(&self, program: &Path, server: &Server) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.world)
            .env("AGENT_SDLC_DB", self.database())
            .env("ANTHROPIC_API_KEY", "key")
            .env("ANTHROPIC_BASE_URL", server.base_url())
            .current_dir(self.world)
            .stdin(Stdio::null());
        command
    }

    /// One turn, as a process of its own.
    fn process(&self, server: &Server, args: &[&str]) -> Duration {
        let mut command = self.command(&self.ona, server);
        command.args(["-p", "go"]).args(args);
        without(server, || {
            let output = command.output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        })
    }

    /// The second turn of a process that goes on.
    fn next_turn(&self, server: &Server, args: &[&str]) -> Duration {
        let mut child = self
            .command(&self.ona, server)
            .args(["-p", "--input-format", "stream-json", "--output-format", "stream-json"])
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
        let said = json!({"type": "user", "message": {"role": "user", "content": "go"}});
        let mut turn = || {
            writeln!(input, "{said}").unwrap();
            loop {
                let line: Value = serde_json::from_str(&output.next().unwrap().unwrap()).unwrap();
                if line["type"] == "result" {
                    assert_eq!(line["is_error"], false, "{line}");
                    break;
                }
            }
        };
        turn();
        let time = without(server, &mut turn);
        drop(input);
        assert!(child.wait().unwrap().success());
        time
    }

    /// Peak memory of one turn, by GNU time; nothing if that is not installed.
    fn peak(&self, server: &Server, args: &[&str]) -> f64 {
        let time = Path::new("/usr/bin/time");
        if !time.exists() {
            return f64::NAN;
        }
        let mut command = self.command(time, server);
        command.args(["-f", "%M"]).arg(&self.ona).args(["-p", "go"]).args(args);
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        let kilobytes: f64 = said.lines().last().unwrap_or_default().trim().parse().unwrap();
        kilobytes * 1024.0 / 1e6
    }
}

/// How long something takes, without the time the server took.
fn without(server: &Server, mut work: impl FnMut()) -> Duration {
    let before = server.time_spent();
    let start = Instant::now();
    work();
    let wall = start.elapsed();
    wall.saturating_sub(server.time_spent() - before)
}
