//! Programs that a task needs.

use std::process::Command;

use anyhow::{Result, bail};

use crate::process;

/// A program, and its Debian package.
pub type Need = (&'static str, &'static str);

/// Finds the programs; installs missing ones if possible.
pub fn provide(needs: &[Need]) -> Result<()> {
    let missing = missing(needs);
    if missing.is_empty() {
        println!("found {}", names(needs, ", "));
        return Ok(());
    }
    let may_install = process::find_program("apt-get").is_some() && is_root();
    if !may_install {
        bail!("{}", how_to_install(&missing));
    }
    let packages = missing.iter().map(|(_, package)| package);
    println!("installing {}", names(&missing, ", "));
    process::run(apt_get().arg("update"))?;
    process::run(apt_get().args(["install", "-y", "--no-install-recommends"]).args(packages))?;
    match self::missing(needs) {
        still if still.is_empty() => Ok(()),
        still => bail!("{}", how_to_install(&still)),
    }
}

/// The same for programs without which some tests are skipped.
pub fn provide_if_possible(wanted: &[Need]) {
    if missing(wanted).is_empty() {
        println!("found {}", names(wanted, ", "));
    } else if let Err(error) = provide(wanted) {
        println!("some tests will be skipped: {error}");
    }
}

fn missing(needs: &[Need]) -> Vec<Need> {
    needs.iter().copied().filter(|(program, _)| process::find_program(program).is_none()).collect()
}

fn names(needs: &[Need], separator: &str) -> String {
    needs.iter().map(|(program, _)| *program).collect::<Vec<_>>().join(separator)
}

fn apt_get() -> Command {
    let mut command = Command::new("apt-get");
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command
}

fn is_root() -> bool {
    process::capture(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}

fn how_to_install(missing: &[Need]) -> String {
    let packages = missing.iter().map(|(_, package)| *package).collect::<Vec<_>>().join(" ");
    // Other distributions have other package names for these two.
    let fedora = packages.replace("sqlite3", "sqlite").replace("bsdutils", "util-linux");
    format!(
        "this needs {}, which PATH does not find. Install with one of\n  \
         sudo apt-get install {packages}\n  \
         sudo dnf install {fedora}",
        names(missing, " and "),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_is_missing_and_how_to_get_it() {
        let text = how_to_install(&[("git", "git"), ("sqlite3", "sqlite3")]);
        assert!(text.starts_with("this needs git and sqlite3, which PATH does not find."));
        assert!(text.contains("apt-get install git sqlite3\n"));
        assert!(text.contains("dnf install git sqlite"));
    }
}
