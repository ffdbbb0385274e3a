//! What a level adds to a command, and to a command that writes many files. Needs the path of `ona`.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement")]
#![allow(clippy::disallowed_methods, reason = "it starts programs")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;

use ona_sandbox::confine::probe::probe;
use ona_sandbox::confine::{Confined, Confinement, Limits};
use ona_types::SandboxLevel;

const RUNS: usize = 61;
const LARGE_RUNS: usize = 7;
const FILES: usize = 2_000;

fn main() {
    let ona = PathBuf::from(std::env::args().nth(1).unwrap());
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    for name in ["work", "work/.git", "tmp", "secret"] {
        fs::create_dir(root.join(name)).unwrap();
    }
    let wanted = Confinement {
        writable: vec![root.join("work")],
        protected: vec![root.join("work/.git")],
        hidden: vec![root.join("secret")],
        temporary: root.join("tmp"),
        ..Confinement::default()
    };
    let confinement = wanted.resolved().0;
    let path = std::env::var_os("PATH").unwrap();
    let found = probe(&path, &[], Some(&ona));
    let levels: Vec<Confined> = found
        .into_iter()
        .filter(|one| one.problem.is_none())
        .map(|one| Confined {
            level: one.level,
            helper: one.helper,
            own_program: Some(ona.clone()),
            confinement: confinement.clone(),
            limits: Limits::default(),
        })
        .collect();
    let work = root.join("work");
    let short = measured(&levels, &work, "true", RUNS);
    let script = format!("for ((i = 0; i < {FILES}; i++)); do : >f$i; done");
    let many = measured(&levels, &work, &script, LARGE_RUNS);
    for (level, time) in short {
        println!("{level}_ms {time:.3}");
    }
    for (level, time) in many {
        println!("{level}_files_ms {time:.3}");
    }
}

/// The median time of a command at each level, taken in turns.
fn measured(levels: &[Confined], work: &Path, line: &str, runs: usize) -> Vec<(SandboxLevel, f64)> {
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); levels.len()];
    for _ in 0..runs {
        for (confined, times) in levels.iter().zip(&mut times) {
            let start = Instant::now();
            let args = ["-c".into(), line.into()];
            let (mut command, held) =
                confined.command(Path::new("/bin/bash"), &args, work).unwrap();
            let status = command
                .envs(confined.variables())
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .status()
                .unwrap();
            assert!(status.success());
            times.push(start.elapsed().as_secs_f64() * 1e3);
            drop((command, held));
        }
    }
    let median = |mut times: Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    levels.iter().zip(times).map(|(confined, times)| (confined.level, median(times))).collect()
}
