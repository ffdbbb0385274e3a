//! Reads documents in a child process of this program: a hostile document may crash the reader, but then only that
//! process ends.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use ona_sandbox::{Captured, ChildSpec, Ending};

use crate::context::ToolContext;

/// Why a document was not read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HelperError {
    /// The reader says why.
    #[error("{0}")]
    Refused(String),
    #[error("reading it took longer than {} s", .0.as_secs_f64())]
    TooSlow(Duration),
    #[error("it is damaged, and reading it crashed")]
    Crashed,
    #[error("interrupted")]
    Interrupted,
    /// It could not even be started.
    #[error("{0}")]
    NotStarted(String),
}

impl HelperError {
    /// Whether the host failed, and not the document.
    pub(crate) fn is_internal(&self) -> bool {
        matches!(self, Self::Interrupted | Self::NotStarted(_))
    }
}

/// Runs a hidden command of the program, with its arguments, to read `document` within `limit`, since a hostile one may loop for
/// ever; keeps `cap` bytes of what it prints.
pub(crate) async fn read_aside(
    cx: &ToolContext<'_>,
    command: &[&str],
    document: Vec<u8>,
    cap: usize,
    limit: Duration,
) -> Result<Captured, HelperError> {
    let spec = ChildSpec {
        program: &cx.host.program,
        args: command.iter().map(OsString::from).collect(),
        cwd: Path::new("/"),
        env: cx.host.child_env.clone(),
        inherits: ona_sandbox::Inherits::AllButCredentials,
        confined: None,
        marker: None,
        stdin: document,
        timeout: limit,
        cap,
    };
    let outcome = ona_sandbox::run(spec, cx.cancel)
        .await
        .map_err(|error| HelperError::NotStarted(error.to_string()))?;
    match outcome.ending {
        Ending::Exited(0) => Ok(outcome.stdout),
        Ending::Exited(1) => {
            let why = String::from_utf8_lossy(&outcome.stderr.bytes).trim().to_owned();
            Err(HelperError::Refused(why))
        }
        Ending::Interrupted => Err(HelperError::Interrupted),
        Ending::TimedOut => Err(HelperError::TooSlow(limit)),
        Ending::Exited(_) | Ending::Signalled(_) => Err(HelperError::Crashed),
    }
}
