//! How a process finds its configuration: directories, and what the command line and the environment add.

use std::fmt;
use std::path::{Path, PathBuf};

use ona_hooks::Timeouts;
use ona_policy::secrets::{LearnedSecrets, Redactor};
use ona_types::PermissionMode;

use crate::servers::GivenServers;
use crate::settings::{Given, Roots};
use crate::trust::RunTrust;

/// How settings are found, and what the command line adds to them.
#[derive(Clone)]
pub struct Config {
    /// The user's home.
    pub home: PathBuf,
    /// Claude Code's own directory.
    pub claude_dir: PathBuf,
    /// ona's own directory.
    pub ona_config: PathBuf,
    /// The organisation's directories.
    pub managed_dirs: Vec<PathBuf>,
    /// `--settings` and `--setting-sources`.
    pub given: Given,
    /// `--mcp-config` and the other options about servers.
    pub servers: GivenServers,
    /// What started this process, if not the operator. It may only give settings that forbid something.
    pub started_by: Option<String>,
    /// `--plugin-dir`: plugins for this run.
    pub plugin_dirs: Vec<PathBuf>,
    /// `--agents`: agents for this run, as JSON.
    pub agents: Option<String>,
    /// `--disable-slash-commands`: skills and commands are off.
    pub skills_off: bool,
    /// The room for the listing of skills, in characters, if the operator sets it.
    pub skill_listing_room: Option<usize>,
    /// `--permission-mode`.
    pub mode: Option<PermissionMode>,
    /// `--trust`: trust in the folder for this run.
    pub trust: RunTrust,
    /// `SDLC_DISABLE_ALL_HOOKS`.
    pub hooks_disabled: bool,
    /// How long hooks may take.
    pub hook_timeouts: Timeouts,
    /// Whether `LANG` or `LC_ALL` is set.
    pub has_locale: bool,
    /// Secrets that are known at the start.
    pub secrets: Vec<String>,
    /// Secrets that become known later.
    pub learned_secrets: LearnedSecrets,
    /// Looks an environment variable up.
    pub variable: fn(&str) -> Option<String>,
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // It holds secrets.
        f.debug_struct("Config").field("home", &self.home).finish_non_exhaustive()
    }
}

impl Config {
    /// Whether only the command line counts (`--bare`).
    pub fn is_bare(&self) -> bool {
        self.given.sources.as_ref().is_some_and(Vec::is_empty)
    }

    /// Masks the secrets that are known, and those that will be.
    pub fn redactor(&self) -> Redactor {
        Redactor::knowing(self.secrets.clone()).and_later(self.learned_secrets.clone())
    }

    /// Where settings are for a project.
    pub fn roots(&self, project_dir: &Path, cwd: &Path) -> Roots {
        Roots {
            project_dir: project_dir.to_owned(),
            home: self.home.clone(),
            claude_dir: self.claude_dir.clone(),
            ona_config: self.ona_config.clone(),
            managed_dirs: self.managed_dirs.clone(),
            cwd: cwd.to_owned(),
        }
    }
}
