//! `cargo xtask bench build`: the cost of the first build of a clean clone.

use std::path::Path;
use std::process::Output;

use anyhow::{Context, Result};

use super::table::{Limit, Row};
use super::{TIME, cargo, succeeded};
use crate::{metadata, process};

const WALL: Limit = Limit::at_most(7.0, 4.0, "min");
const CPU: Limit = Limit::at_most(14.0, 8.0, "min");
const BINARY: Limit = Limit::at_most(50.0, 35.0, "MB");
/// The limits are for two cores.
const JOBS: &str = "2";

/// Builds ona in an empty target directory. Downloads are done before the clock starts.
pub fn rows(root: &Path) -> Result<Vec<Row>> {
    let wall = format!("the first release build, {JOBS} jobs");
    let cpu = "the same, processor time";
    let Some(time) = TIME.find() else {
        let without = |work: &str, limit| Row::without(work, TIME.how_to_install, Some(limit));
        return Ok(vec![without(&wall, WALL), without(cpu, CPU)]);
    };
    process::run(process::cargo().args(["fetch", "--locked", "--quiet"]).current_dir(root))?;
    let metadata = metadata::load(root)?;
    std::fs::create_dir_all(&metadata.target_directory)?;
    let target = tempfile::Builder::new()
        .prefix("bench-build-")
        .tempdir_in(&metadata.target_directory)
        .context("cannot make an empty target directory")?;
    eprintln!("building ona into an empty directory, which takes minutes");
    let build = cargo(root, &["build", "--package", "ona"]);
    let mut command = std::process::Command::new(time);
    command.args(["-f", FORMAT]).arg(build.get_program()).args(build.get_args());
    command.args(["--jobs", JOBS]).arg("--target-dir").arg(target.path()).current_dir(root);
    let output = process::output(&mut command)?;
    let cost = Cost::read(&output)?;
    Ok(vec![
        Row::new(wall, cost.wall / 60.0, WALL),
        Row::new(cpu, cost.cpu / 60.0, CPU),
        Row::plain("what it compiles", cost.packages as f64, "packages"),
        binary(&target.path().join("release/ona"))?,
    ])
}

/// The size of the release binary.
pub fn binary(path: &Path) -> Result<Row> {
    let size = path.metadata().with_context(|| format!("cannot find {}", path.display()))?.len();
    Ok(Row::new("the release binary", size as f64 / 1e6, BINARY))
}

/// The output of GNU time: elapsed, user and system seconds.
const FORMAT: &str = "cost %e %U %S";

struct Cost {
    wall: f64,
    cpu: f64,
    packages: usize,
}

impl Cost {
    /// Parses the standard error of cargo and GNU time.
    fn read(output: &Output) -> Result<Self> {
        succeeded(output)?;
        let said = String::from_utf8_lossy(&output.stderr);
        let compiled = said.lines().filter(|line| line.trim_start().starts_with("Compiling "));
        let packages = compiled.count();
        let line = said.lines().rev().find_map(|line| line.strip_prefix("cost "));
        let seconds: Vec<f64> =
            line.unwrap_or_default().split(' ').filter_map(|word| word.parse().ok()).collect();
        let [wall, user, system] = seconds[..] else {
            anyhow::bail!("GNU time printed no figures");
        };
        Ok(Self { wall, cpu: user + system, packages })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cost_is_read_from_what_cargo_and_time_write() -> Result<()> {
        let said = |text: &str| {
            let script = format!("printf '{text}' >&2");
            process::output(std::process::Command::new("sh").args(["-c", &script]))
        };
        let cost =
            Cost::read(&said("   Compiling a v1\\n   Compiling b v2\\ncost 60.5 100 5.25\\n")?)?;
        assert_eq!((cost.wall, cost.cpu, cost.packages), (60.5, 105.25, 2));
        assert!(Cost::read(&said("   Compiling a v1\\n")?).is_err());
        Ok(())
    }
}
