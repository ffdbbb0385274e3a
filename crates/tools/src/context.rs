//! What a tool is given besides its input.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use nix::unistd::geteuid;
use ona_effects::Effects;
use ona_policy::secrets::Redactor;
use ona_sandbox::confine::Confined;
use ona_types::gate::Permit;
use ona_types::{BoxError, FileView, SessionId, ToolUseId};
use ona_web::Web;
use tokio_util::sync::CancellationToken;

use crate::services::{Calling, SessionServices};
use crate::tool::Refusal;

/// Where a call happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Relative paths and shell commands start here.
    pub cwd: PathBuf,
    /// The project's own directory.
    pub project_dir: PathBuf,
    /// Further working directories.
    pub additional_dirs: Vec<PathBuf>,
    /// The user's home, where it is known: what `~` stands for in a shell command.
    pub home: Option<PathBuf>,
}

impl Place {
    /// A place whose current and project directory are the same.
    pub fn at(dir: impl Into<PathBuf>) -> Self {
        let dir = dir.into();
        Self { cwd: dir.clone(), project_dir: dir, additional_dirs: Vec::new(), home: None }
    }

    /// Whether a resolved path lies in a working directory.
    pub fn contains(&self, path: &Path) -> bool {
        path.starts_with(&self.project_dir)
            || self.additional_dirs.iter().any(|dir| path.starts_with(dir))
    }
}

/// What the session already knows about files, by resolved path.
pub trait Views: Sync {
    /// The file's content as the session last saw it, if it did.
    fn last_view(&self, path: &Path) -> Result<Option<FileView>, BoxError>;
}

/// What the operator can adjust. The binary fills it from the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolSettings {
    /// A file larger than this is read only through a window.
    pub read_max_bytes: u64,
    /// A read that would fill more tokens than this is refused.
    pub read_max_tokens: u64,
    /// How long a shell command may run if the call does not say.
    pub bash_timeout: Duration,
    /// The upper limit for that time.
    pub bash_max_timeout: Duration,
    /// Every shell command starts in the project directory.
    pub bash_keep_project_dir: bool,
    /// Why `run_in_background` is refused, if it is.
    pub no_background: Option<&'static str>,
    /// A background command goes on when this process has ended. Otherwise it ends with it, however that ends.
    pub background_stays: bool,
    /// A background task is stopped when it has printed this much.
    pub background_output_limit: u64,
    /// The default limit for an MCP tool's result, in characters.
    pub mcp_output_chars: usize,
    /// The limit for an agent's answer, in characters.
    pub agent_output_chars: usize,
    /// A file to source before every shell command.
    pub bash_env_file: Option<PathBuf>,
    /// The user's own `BASH_ENV`, which shells still get.
    pub inherited_bash_env: Option<PathBuf>,
    /// Glob lists hidden files.
    pub glob_hidden: bool,
    /// Glob lists files that `.gitignore` excludes.
    pub glob_ignored: bool,
    /// How long a Glob or Grep may take.
    pub search_timeout: Duration,
    /// The time limit for fetching a page, for reading it, and for a search backend.
    pub web_timeout: Duration,
}

impl Default for ToolSettings {
    fn default() -> Self {
        Self {
            read_max_bytes: 256 * 1024,
            read_max_tokens: 25_000,
            bash_timeout: Duration::from_millis(120_000),
            bash_max_timeout: Duration::from_millis(600_000),
            bash_keep_project_dir: false,
            no_background: None,
            background_stays: false,
            background_output_limit: 5_000_000_000,
            mcp_output_chars: 100_000,
            agent_output_chars: 32_000,
            bash_env_file: None,
            inherited_bash_env: None,
            glob_hidden: true,
            glob_ignored: true,
            search_timeout: Duration::from_secs(20),
            web_timeout: Duration::from_secs(60),
        }
    }
}

/// What the process around the tools provides.
#[derive(Clone, Debug)]
pub struct Host {
    /// The path of this program: it starts itself again to supervise background tasks and to read PDFs, so
    /// that neither can take the session down.
    pub program: PathBuf,
    /// Variables every child gets on top of the inherited environment.
    pub child_env: Vec<(OsString, OsString)>,
    /// Where sessions keep output that is too large, or comes too late, for a result.
    pub outputs: PathBuf,
    /// Directories with stored credentials: no call reads or writes them.
    pub stores: Vec<PathBuf>,
    /// The web, and what was fetched of it lately; sessions of one process share it.
    pub web: Arc<Web>,
}

impl Host {
    /// Where a session keeps such output; it may read there what it likes.
    pub fn outputs_of(&self, session: &SessionId) -> PathBuf {
        self.outputs.join(session.file_name())
    }

    /// Where the old content of files is kept that the session has changed. The session itself may not read there: it
    /// need not have read those files.
    pub fn pre_images_of(&self, session: &SessionId) -> PathBuf {
        self.outputs.join("before").join(session.file_name())
    }

    /// Makes a directory below that of outputs, which others may not read.
    pub fn private_dir<'d>(&self, dir: &'d Path) -> io::Result<&'d Path> {
        DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        // A file there may contain what only looks like a secret, unmasked.
        for dir in [self.outputs.as_path(), dir] {
            make_private(dir)?;
        }
        Ok(dir)
    }

    /// A new file for such output, which others may not read.
    pub fn new_output(&self, session: &SessionId, name: &str) -> io::Result<(PathBuf, File)> {
        let dir = self.outputs_of(session);
        let path = self.private_dir(&dir)?.join(name);
        let file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&path)?;
        Ok((path, file))
    }
}

/// Makes a directory private. One that belongs to another user is refused, because that user could read it.
fn make_private(dir: &Path) -> io::Result<()> {
    let meta = fs::metadata(dir)?;
    let me = geteuid();
    if meta.uid() != me.as_raw() && !me.is_root() {
        let why = format!("{} belongs to another user: remove it, or use another", dir.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    if meta.mode() & 0o077 != 0 {
        fs::set_permissions(dir, Permissions::from_mode(meta.mode() & 0o700))?;
    }
    Ok(())
}

/// Tells whether a path must be hidden from searches.
pub type Hides = Arc<dyn Fn(&Path) -> bool + Send + Sync>;

/// What a tool is given for one run.
pub struct ToolContext<'a> {
    /// The permit for the call.
    pub permit: Permit,
    /// The call's id.
    pub tool_use_id: &'a ToolUseId,
    /// The session it belongs to.
    pub session: &'a SessionId,
    /// Where it happens.
    pub place: &'a Place,
    /// What it would touch, as the gate has judged it.
    pub judged: &'a Effects,
    /// What the session knows of files.
    pub views: &'a dyn Views,
    /// What searches leave out.
    pub hides: &'a Hides,
    /// The services of the session.
    pub services: &'a dyn SessionServices,
    /// Masks secrets.
    pub redactor: &'a Redactor,
    /// What the operator adjusted.
    pub settings: &'a ToolSettings,
    /// What the process provides.
    pub host: &'a Host,
    /// How its command is confined, if it has one.
    pub confined: Option<&'a Arc<Confined>>,
    /// Cancelled when the user interrupts.
    pub cancel: &'a CancellationToken,
}

/// Where output goes that is too large for a result, or no text.
#[derive(Clone, Copy)]
pub struct Outputs<'a> {
    /// The session it belongs to.
    pub session: &'a SessionId,
    /// Masks secrets.
    pub redactor: &'a Redactor,
    /// What the operator adjusted.
    pub settings: &'a ToolSettings,
    /// What the process provides.
    pub host: &'a Host,
}

impl ToolContext<'_> {
    /// Where its output goes.
    pub(crate) fn outputs(&self) -> Outputs<'_> {
        let Self { session, redactor, settings, host, .. } = *self;
        Outputs { session, redactor, settings, host }
    }

    /// The file or directory that the gate has judged. The input's path is not resolved again: it may lead elsewhere
    /// by now.
    pub(crate) fn judged_path(&self) -> Result<PathBuf, Refusal> {
        let judged = self.judged.reads.first().map(|target| target.real.clone());
        judged
            .ok_or_else(|| Refusal::Internal("no path was judged; this is a bug in ona".to_owned()))
    }

    /// The call, for what the session starts on its behalf.
    pub fn calling(&self) -> Calling<'_> {
        Calling { permit: &self.permit, id: self.tool_use_id, cancel: self.cancel }
    }
}
