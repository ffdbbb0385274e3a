//! Which levels work on this machine: each is tried with a command of the shape that it is used for.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use ona_types::SandboxLevel;
use serde::{Deserialize, Serialize};

use super::{ConfineError, Confined, Confinement, Limits, bwrap};

/// What was found out about a level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probed {
    /// The level.
    pub level: SandboxLevel,
    /// The program that it needs.
    pub helper: Option<PathBuf>,
    /// Why it does not work here; `None` if it does.
    pub problem: Option<String>,
}

/// What has to work, and what is wrong otherwise.
const WORKS: [(&str, &str); 4] = [
    ("echo a >made", "a command cannot write in the work tree"),
    ("echo a >\"$TMPDIR/made\"", "a command cannot write temporary files"),
    ("cat /etc/passwd", "a command cannot read system files"),
    ("! cat ../secret/key", "a command can read what is hidden"),
];
/// What must not be there afterwards, and what is wrong otherwise. A command has temporary files of its own, so that it
/// may believe to have written.
const FAILS: [(&str, &str); 3] = [
    ("outside", "a command can write outside the work tree"),
    ("work/.git/made", "a command can write what is protected"),
    ("work/runs", "a command can make a protected name"),
];

/// Why a level does not work.
#[derive(Debug, thiserror::Error)]
enum ProbeError {
    #[error("{0}")]
    Start(#[from] io::Error),
    #[error(transparent)]
    Confine(#[from] ConfineError),
    #[error("{0}")]
    Step(String),
}

/// Tries the levels of this system, the strongest first, with a helper on this path and with this program inside. The last,
/// none, always works.
pub fn probe(path: &OsStr, writable: &[PathBuf], own_program: Option<&Path>) -> Vec<Probed> {
    let helper = bwrap::find(path, writable);
    let levels = [SandboxLevel::Bwrap, SandboxLevel::BwrapNoproc, SandboxLevel::Landlock];
    let mut found: Vec<Probed> = Vec::new();
    for level in levels {
        let words = |error: ProbeError| error.to_string();
        let (helper, problem) = match (level, &helper) {
            (SandboxLevel::Landlock, _) => (None, tried(level, None, own_program).err().map(words)),
            (_, Ok(helper)) => {
                (Some(helper.clone()), tried(level, Some(helper), own_program).err().map(words))
            }
            (_, Err(error)) => (None, Some(error.to_string())),
        };
        found.push(Probed { level, helper, problem });
    }
    found.push(Probed { level: SandboxLevel::None, helper: None, problem: None });
    found
}

/// Runs the steps at a level.
fn tried(
    level: SandboxLevel,
    helper: Option<&PathBuf>,
    own_program: Option<&Path>,
) -> Result<(), ProbeError> {
    let scratch = tempfile::TempDir::with_prefix("ona-probe-")?;
    let root = scratch.path().canonicalize()?;
    for name in ["work", "work/.git", "tmp", "secret"] {
        fs::create_dir(root.join(name))?;
    }
    fs::write(root.join("secret/key"), "key")?;
    let work = root.join("work");
    let wanted = Confinement {
        protected: vec![work.join(".git"), work.join("runs")],
        hidden: vec![root.join("secret")],
        temporary: root.join("tmp"),
        writable: vec![work.clone()],
        ..Confinement::default()
    };
    let confined = Confined {
        level,
        helper: helper.cloned(),
        own_program: own_program.map(Path::to_owned),
        confinement: wanted.resolved().0,
        limits: Limits::default(),
    };
    let args = ["-c".into(), script().into()];
    let (mut command, held) = confined.command(Path::new("/bin/sh"), &args, &work)?;
    let done = command.envs(confined.variables()).stdin(Stdio::null()).output()?;
    let started = held.has_started();
    drop((command, held));
    if !started {
        return Err(ProbeError::Step(first_line(&done)));
    }
    if !done.status.success() {
        return Err(ProbeError::Step(first_line(&done)));
    }
    // Without namespaces what is protected cannot be told from the directory that it is in.
    let most = if level == SandboxLevel::Landlock { 1 } else { FAILS.len() };
    match FAILS.iter().take(most).find(|(name, _)| root.join(name).exists()) {
        Some((_, wrong)) => Err(ProbeError::Step((*wrong).to_owned())),
        None => Ok(()),
    }
}

/// A script that prints what is wrong, and then tries what must fail.
fn script() -> String {
    let works = WORKS.iter().map(|(command, wrong)| {
        format!("( {command} ) >/dev/null 2>&1 || {{ echo '{wrong}'; exit 1; }}\n")
    });
    let tries = ["echo a >../outside", "echo a >.git/made", "mkdir runs"];
    let tries = tries.iter().map(|command| format!("( {command} ) 2>/dev/null\n"));
    works.chain(tries).chain(["exit 0\n".to_owned()]).collect()
}

/// What is wrong: what a step says, else what the helper says.
fn first_line(done: &Output) -> String {
    let said = |bytes: &[u8]| -> Option<String> {
        let text = String::from_utf8_lossy(bytes);
        text.lines().find(|line| !line.trim().is_empty()).map(|line| line.trim().to_owned())
    };
    let said = said(&done.stdout).or_else(|| said(&done.stderr));
    said.unwrap_or_else(|| format!("it ended with {}", done.status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_is_told_of() {
        let found = probe(OsStr::new("/no/such/dir"), &[], None);
        let levels: Vec<SandboxLevel> = found.iter().map(|one| one.level).collect();
        assert!(levels.windows(2).all(|pair| pair[0] > pair[1]), "{levels:?}");
        assert_eq!(found[0].problem.as_deref(), Some("bwrap is not installed"));
        assert_eq!(found.last().unwrap().problem, None);
    }

    #[test]
    fn the_levels_of_this_machine_do_what_they_promise() {
        let found = probe(OsStr::new("/usr/bin:/bin"), &[], None);
        for one in &found {
            eprintln!("{}: {}", one.level, one.problem.as_deref().unwrap_or("works"));
        }
        // A level that does not work says why; none of them half works.
        for one in found.iter().filter(|one| one.problem.is_some()) {
            assert!(!one.problem.as_deref().unwrap_or_default().is_empty());
        }
    }
}
