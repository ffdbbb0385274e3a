//! How long 1,000 rules take to judge one call. `cargo xtask bench` reads the figures.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a measure")]

use std::path::Path;
use std::time::{Duration, Instant};

use ona_effects::path::Target;
use ona_effects::{Effects, Surroundings};
use ona_policy::{
    Anchors, Call, Confines, Permissions, Rule, RuleFacts, RuleSubject, Scope, Source,
};
use ona_testkit::Disk;
use ona_types::{Behavior, PermissionMode};
use serde_json::json;

const RUNS: usize = 501;

fn main() {
    let around = Surroundings {
        cwd: "/w/app".into(),
        project_dir: "/w/app".into(),
        home: "/home/u".into(),
        working_dirs: vec!["/w/app".into()],
        outputs: None,
        protected: Vec::new(),
        stores: Vec::new(),
        world: &Disk,
    };
    let behaviors = [Behavior::Allow, Behavior::Ask, Behavior::Deny];
    let rules = (0..1000).map(|n| {
        let text = match n % 4 {
            0 => format!("Bash(tool{n} sub *)"),
            1 => format!("Edit(/src/part{n}/**/*.rs)"),
            2 => format!("Read(//data/{n}/*.csv)"),
            _ => format!("WebFetch(domain:host{n}.example.com)"),
        };
        let source = Source::of(Scope::User);
        Rule::parse(&text, behaviors[n % 3], source, &Anchors::of(&around)).unwrap().0
    });
    let permissions = Permissions::new(rules.collect(), PermissionMode::Default, around);

    let command = "git status && cargo test --workspace 2>&1 | tail -5";
    let bash = Effects::of_shell(&Disk, command, Path::new("/w/app")).unwrap();
    let input = json!({"command": command});
    println!(
        "bash_us {}",
        judged(
            &permissions,
            &Call {
                tool: "Bash",
                facts: RuleFacts::COMMAND,
                input: &input,
                effects: &bash,
                confines: Confines::Nothing
            }
        )
    );
    let edit = Effects::replace(Target::of(&Disk, Path::new("/w/app"), "src/main.rs").unwrap());
    let input = json!({"file_path": "src/main.rs"});
    let edits = RuleFacts { subject: RuleSubject::Writes, ..RuleFacts::default() };
    println!(
        "edit_us {}",
        judged(
            &permissions,
            &Call {
                tool: "Edit",
                facts: edits,
                input: &input,
                effects: &edit,
                confines: Confines::Nothing
            }
        )
    );
}

/// The median time of a judgement, in microseconds.
fn judged(permissions: &Permissions, call: &Call<'_>) -> f64 {
    let mut times: Vec<Duration> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            assert_eq!(permissions.judge(call).behavior, Behavior::Ask);
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[RUNS / 2].as_secs_f64() * 1e6
}
