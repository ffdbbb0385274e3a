//! Where tests and commands for help run: an empty directory of their own, in the sandbox, with the project to be read only.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ona_sandbox::confine::{Confined, Network, Sockets};
use ona_sandbox::{ChildOutcome, ChildSpec, Inherits, Marker, SpawnError};
use ona_store::Store;
use ona_types::{SandboxLevel, ToolUseId};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// The shells that are looked for.
const BASH: [&str; 3] = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"];

/// What a test gets of the operator's environment: where programs are, and what language they speak. Anything else could be a
/// secret.
const INHERITED: [&str; 24] = [
    "PATH",
    "LANG",
    "LC_CTYPE",
    "TERM",
    "SHELL",
    "USER",
    "LOGNAME",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "GOROOT",
    "GOPATH",
    "GOFLAGS",
    "JAVA_HOME",
    "ANDROID_HOME",
    "DOTNET_ROOT",
    "NVM_DIR",
    "NODE_PATH",
    "PYENV_ROOT",
    "VIRTUAL_ENV",
    "GEM_HOME",
    "GEM_PATH",
    "RBENV_ROOT",
    "ASDF_DIR",
];

/// The limit for a file that a test writes, in MB, where the settings have none.
const MAX_FILE_MB: u64 = 1024;

/// How tests are confined on this machine, and what they are about.
#[derive(Clone, Debug)]
pub struct Room {
    /// The sandbox, with what is hidden in it.
    pub confined: Confined,
    /// The project.
    pub project: PathBuf,
    /// Variables of the operator's settings.
    pub env: Vec<(OsString, OsString)>,
}

/// What is run in the room.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// A bash script.
    pub script: &'a str,
    /// Where it starts; in its own directory if `None`.
    pub cwd: Option<&'a Path>,
    /// Whether it needs a record of its own.
    pub record: bool,
    /// How long it may run.
    pub timeout: Duration,
    /// How much of each stream is kept.
    pub cap: usize,
}

/// Why nothing was run.
#[derive(Debug, thiserror::Error)]
pub enum RoomError {
    /// There is no room for a directory.
    #[error("cannot make a directory for the test: {0}")]
    Directory(#[from] io::Error),
    /// The program did not start.
    #[error(transparent)]
    Start(#[from] SpawnError),
    /// There is no shell.
    #[error("there is no bash on this machine")]
    NoBash,
    /// Its own record.
    #[error("cannot make a record for the test: {0}")]
    Record(#[from] ona_store::StoreError),
}

impl Room {
    /// The level of the sandbox.
    pub fn level(&self) -> SandboxLevel {
        self.confined.level
    }

    /// Runs something in a new directory, which is removed afterwards.
    pub async fn run(
        &self,
        job: Job<'_>,
        cancel: &CancellationToken,
    ) -> Result<ChildOutcome, RoomError> {
        let bash = BASH.iter().map(Path::new).find(|path| path.exists());
        let bash = bash.ok_or(RoomError::NoBash)?;
        let dir = Directory::new()?;
        let record = dir.home.join("agent.db");
        if job.record {
            Store::make_empty(&record)?;
        }
        let variables: [(&str, OsString); 11] = [
            ("PROJECT", self.project.clone().into()),
            ("HOME", dir.home.clone().into()),
            ("TMPDIR", dir.temporary.clone().into()),
            ("XDG_CONFIG_HOME", dir.home.join(".config").into()),
            ("XDG_STATE_HOME", dir.home.join(".local/state").into()),
            ("XDG_DATA_HOME", dir.home.join(".local/share").into()),
            ("XDG_CACHE_HOME", dir.home.join(".cache").into()),
            ("AGENT_SDLC_DB", record.into()),
            ("LC_ALL", "C.UTF-8".into()),
            ("TZ", "UTC".into()),
            // A cache beside the source could not be written, and says nothing.
            ("PYTHONDONTWRITEBYTECODE", "1".into()),
        ];
        let mut env = self.env.clone();
        env.extend(variables.map(|(name, value)| (OsString::from(name), value)));
        let confined = self.around(&dir);
        // In a file, because what a test runs may read its standard input.
        let script = dir.home.join("test.sh");
        std::fs::write(&script, job.script)?;
        let spec = ChildSpec {
            program: bash,
            args: vec![script.into()],
            cwd: job.cwd.unwrap_or(&dir.work),
            env,
            inherits: Inherits::Only(&INHERITED),
            confined: Some(&confined),
            marker: Some(Marker::of_call(&ToolUseId::generate())),
            stdin: Vec::new(),
            timeout: job.timeout,
            cap: job.cap,
        };
        Ok(ona_sandbox::run(spec, cancel).await?)
    }

    /// The sandbox around one directory: all else can be read at most, and there is no network.
    fn around(&self, dir: &Directory) -> Confined {
        let mut confined = self.confined.clone();
        let confinement = &mut confined.confinement;
        confinement.writable = vec![dir.home.clone(), dir.work.clone()];
        confinement.protected.clear();
        confinement.forbidden.clear();
        confinement.readable.push(self.project.clone());
        confinement.temporary = dir.temporary.clone();
        confinement.network = Network::default();
        confinement.sockets = Sockets::default();
        confined.limits.file_size_mb.get_or_insert(MAX_FILE_MB);
        confined
    }
}

/// A new directory, with its parts.
struct Directory {
    _whole: TempDir,
    work: PathBuf,
    home: PathBuf,
    temporary: PathBuf,
}

impl Directory {
    fn new() -> io::Result<Self> {
        let whole = tempfile::Builder::new().prefix("ona-test-").tempdir()?;
        // Links on the way to it are resolved: the sandbox knows places, not names.
        let root = whole.path().canonicalize()?;
        let part = |name: &str| {
            let dir = root.join(name);
            std::fs::create_dir(&dir).map(|()| dir)
        };
        Ok(Self {
            work: part("work")?,
            home: part("home")?,
            temporary: part("tmp")?,
            _whole: whole,
        })
    }
}
