//! What the gate costs, in one process: a Read all the way to its durable commit, and hooks against the
//! same shell started alone. `cargo xtask bench` reads the figures.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a measure"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ona_engine::{
    AgentOptions, Engine, ModelAccess, ModelHandle, ModelWords, ServerOptions, Session,
    SessionBuilder, StartError, Starter, Which, Work,
};
use ona_front::{Human, Via, channel};
use ona_gate::core::Core;
use ona_provider::Model;
use ona_store::Store;
use ona_tools::{Host, ToolSettings};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

const READS: usize = 300;
const HOOKED: usize = 31;

fn main() {
    let world = tempfile::tempdir().unwrap();
    let world = world.path().canonicalize().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let none = Bench::new(&world, "none", 0);
        let one = Bench::new(&world, "one", 1);
        let ten = Bench::new(&world, "ten", 10);
        let reads = none.session().await.times(READS).await;
        println!("read_ms {}", ms(median(reads)));
        let (mut alone, mut bare, mut with_one, mut with_ten) = (vec![], vec![], vec![], vec![]);
        let (mut none, mut one, mut ten) =
            (none.session().await, one.session().await, ten.session().await);
        // In turns, so that whatever else the machine does weighs on all of them.
        for _ in 0..HOOKED {
            alone.push(shell(&world));
            bare.extend(none.times(1).await);
            with_one.extend(one.times(1).await);
            with_ten.extend(ten.times(1).await);
        }
        let (alone, bare) = (median(alone), median(bare));
        let added = |with: Vec<Duration>| median(with).saturating_sub(bare).as_secs_f64();
        println!("shell_ms {}", ms(alone));
        println!("one_hook_ratio {}", added(with_one) / alone.as_secs_f64());
        println!("ten_hooks_ratio {}", added(with_ten) / alone.as_secs_f64() / 10.0);
    });
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// The shell a hook runs in, with nothing around it.
fn shell(world: &Path) -> Duration {
    let start = Instant::now();
    let status = Command::new("/bin/bash")
        .args(["-lc", "true"])
        .env("HOME", world)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .output();
    assert!(status.unwrap().status.success());
    start.elapsed()
}

/// A project with so many hooks, and a record of its own.
struct Bench {
    engine: Engine,
    dir: PathBuf,
}

impl Bench {
    fn new(world: &Path, name: &str, hooks: usize) -> Self {
        let dir = world.join(name);
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("small.txt"), "one small file\nof two lines\n").unwrap();
        // Two that are the same and stand side by side would run once.
        let command = |n: usize| if n.is_multiple_of(2) { "true" } else { "true " };
        let hooks: Vec<Value> = (0..hooks)
            .map(|n| json!({"hook_event_name": "PreToolUse", "command": command(n)}))
            .collect();
        let config = ona_config::testing::config(world, &json!({"hooks": hooks}));
        let engine = Engine::new(Core {
            store: Store::open(&dir.join("agent.db")).unwrap(),
            settings: ToolSettings::default(),
            host: Host {
                program: std::env::current_exe().unwrap(),
                child_env: vec![("HOME".into(), world.into())],
                outputs: dir.join("outputs"),
                stores: Vec::new(),
                web: Arc::default(),
            },
            config,
            moved: Default::default(),
            machine: Default::default(),
        });
        Self { engine, dir }
    }

    async fn session(&self) -> Measured {
        let prepared = SessionBuilder {
            engine: &self.engine,
            starter: NoModel,
            cwd: &self.dir,
            which: Which::Join(None),
            work: Work::Call("Read"),
            origin: "eval",
            name: None,
        }
        .prepare();
        let (front, ..) = channel(Human::Operator(Via::Eval));
        Measured(prepared.unwrap().session(front, AgentOptions::default()).await.unwrap())
    }
}

/// Starts sessions whose calls need neither a model nor servers.
struct NoModel;

impl Starter for NoModel {
    type Error = StartError;

    fn warn(&self, warning: &str) {
        panic!("{warning}");
    }

    fn warn_without(&self, error: &StartError, without: &str) {
        panic!("{without}: {error}");
    }

    fn trusts(&self, _: &Path, _: &[String], _: &[String]) -> bool {
        false
    }

    fn goes_on_without(&self, _: &[String]) -> bool {
        false
    }

    fn model_words(&self) -> Result<ModelWords, StartError> {
        Ok(ModelWords::default())
    }

    fn connect_model(&self, _: Model, _: &ModelAccess) -> Result<ModelHandle, StartError> {
        unreachable!("Read needs no model")
    }

    fn message(&self, error: &StartError) -> String {
        error.to_string()
    }

    fn server_options(&self) -> Result<ServerOptions, StartError> {
        unreachable!("Read needs no servers")
    }
}

struct Measured(Session);

impl Measured {
    /// How long each of so many Reads takes, from asked for to committed.
    async fn times(&mut self, runs: usize) -> Vec<Duration> {
        let input = json!({"file_path": "small.txt"});
        let cancel = CancellationToken::new();
        let mut times = Vec::with_capacity(runs);
        for _ in 0..runs {
            let start = Instant::now();
            let report = self.0.gate.call("Read", &input, &cancel).await.unwrap();
            times.push(start.elapsed());
            assert!(!report.is_error, "{}", report.content);
        }
        times
    }
}
