//! What a headless turn costs beside the model: whole processes against a scripted server on loopback, its own time
//! taken off. `cargo xtask bench` runs it with the binary to measure, and reads the figures.
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
use ona_types::{ContentBlock, Entry, EntryType, SessionId};
use serde_json::json;

const RUNS: usize = 21;
const CALLS: usize = 50;
const ENTRIES: usize = 10_000;

fn main() {
    let ona = PathBuf::from(std::env::args().nth(1).unwrap());
    let world = tempfile::tempdir().unwrap();
    let world = world.path();
    std::fs::write(world.join("small.txt"), "one small file\n").unwrap();
    let bench = Bench { ona, world };

    let plain = Server::start(Script::choose(|_| Reply::say("done"))).unwrap();
    let busy = Server::start(Script::choose(|request| {
        let asked = request.body["messages"].to_string().matches("\"type\":\"tool_use\"").count();
        match asked {
            CALLS => Reply::say("done"),
            _ => Reply::new().call(&format!("c{asked}"), "Read", json!({"file_path": "small.txt"})),
        }
    }))
    .unwrap();
    let long = bench.long_session();
    let (mut short_times, mut busy_times, mut long_times) = (vec![], vec![], vec![]);
    for run in 0..=RUNS {
        let short = bench.turn(&plain, &["--session-id", &format!("short-{run}")]);
        let again = bench.turn(&plain, &["--resume", long.as_str()]);
        let many = bench.turn(&busy, &["--session-id", &format!("busy-{run}")]);
        // The first warms up.
        if run > 0 {
            short_times.push(short);
            long_times.push(again);
            busy_times.push(many);
        }
    }
    let plain_ms = ms(median(short_times));
    println!("plain_ms {plain_ms}");
    println!("call_ms {}", (ms(median(busy_times)) - plain_ms) / CALLS as f64);
    println!("long_ms {}", ms(median(long_times)));
    println!("peak_mb {}", bench.peak(&busy));
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
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

    /// One turn, without the time the server took.
    fn turn(&self, server: &Server, args: &[&str]) -> Duration {
        let before = server.time_spent();
        let start = Instant::now();
        let output =
            self.command(&self.ona, server).args(["-p", "go"]).args(args).output().unwrap();
        let wall = start.elapsed();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        wall.saturating_sub(server.time_spent() - before)
    }

    /// A session that has been going on for long.
    fn long_session(&self) -> SessionId {
        let store = Store::open(&self.database()).unwrap();
        let id = SessionId::from_existing("long");
        let dir = self.world.canonicalize().unwrap();
        let seat = store
            .new_session(&NewSession {
                project_dir: &dir.to_string_lossy(),
                conversation: None,
                id: Some(&id),
                origin: "headless",
                name: None,
            })
            .unwrap();
        let entries: Vec<Entry> = (0..ENTRIES)
            .map(|n| {
                let kind = if n % 2 == 0 { EntryType::User } else { EntryType::Assistant };
                let text = format!("entry {n} says a few words, as entries do");
                Entry::message(kind, "u", &[ContentBlock::Text { text }])
            })
            .collect();
        store.append(&seat.session, &entries).unwrap();
        id
    }

    /// Peak memory of the busy turn, by GNU time; nothing if that is not installed.
    fn peak(&self, server: &Server) -> f64 {
        let time = Path::new("/usr/bin/time");
        if !time.exists() {
            return f64::NAN;
        }
        let output = self
            .command(time, server)
            .args(["-f", "%M"])
            .arg(&self.ona)
            .args(["-p", "go", "--session-id", "peak"])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        let kilobytes: f64 = said.lines().last().unwrap_or_default().trim().parse().unwrap();
        kilobytes * 1024.0 / 1e6
    }
}
