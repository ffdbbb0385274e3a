//! What the interface needs of the system: the editor, suspending, the clipboard.

use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use ona_cli::{bootstrap, env};
use ona_sandbox::{ChildSpec, Ending};
use ona_tools::attach_picture_bytes;
use ona_tui::{OutsideError, Platform};
use ona_types::Attachment;
use tokio_util::sync::CancellationToken;

/// Programs that print the picture in the clipboard, in the order they are tried.
const PICTURES: [(&str, &[&str]); 3] = [
    ("wl-paste", &["--no-newline", "--type", "image/png"]),
    ("xclip", &["-selection", "clipboard", "-t", "image/png", "-o"]),
    ("pngpaste", &["-"]),
];
/// The largest picture.
const MAX_PICTURE: usize = 32 << 20;
/// How long one of them may take.
const WITHIN: Duration = Duration::from_secs(5);

/// The system.
pub(super) struct System;

fn failed(text: impl Into<String>) -> OutsideError {
    OutsideError(text.into())
}

impl Platform for System {
    fn edit_text(&self, text: &str) -> Result<String, OutsideError> {
        let cannot =
            |error: std::io::Error| failed(format!("cannot create a file to edit: {error}"));
        let mut file = tempfile::Builder::new()
            .prefix("ona-prompt-")
            .suffix(".md")
            .tempfile()
            .map_err(cannot)?;
        file.write_all(text.as_bytes()).and_then(|()| file.flush()).map_err(cannot)?;
        edit(file.path())?;
        // An editor may have put another file in its place.
        ona_files::content_text(file.path())
            .map_err(|error| failed(format!("cannot read the edited text: {error}")))
    }

    fn edit_file(&self, path: &str) -> Result<(), OutsideError> {
        edit(Path::new(path))
    }

    fn is_file(&self, path: &str) -> bool {
        Path::new(path).is_file()
    }

    fn suspend(&self) {
        ona_sandbox::suspend();
    }

    fn stop_signals(&self) -> (i32, i32) {
        ona_sandbox::STOP_AND_CONTINUE
    }

    fn clipboard_image(&self) -> Result<Attachment, OutsideError> {
        for (program, args) in PICTURES {
            if let Some(bytes) = printed(program, args).filter(|bytes| !bytes.is_empty()) {
                return attach_picture_bytes(&bytes)
                    .map_err(|error| failed(format!("the clipboard: {error}")));
            }
        }
        Err(failed(
            "no picture in the clipboard, or none of wl-paste, xclip and pngpaste is installed",
        ))
    }
}

fn edit(path: &Path) -> Result<(), OutsideError> {
    let editor = env::editor();
    match ona_sandbox::edit(&editor, path) {
        Ok(true) => Ok(()),
        Ok(false) => Err(failed(format!("the editor `{editor}` failed"))),
        Err(error) => Err(failed(format!("cannot start the editor `{editor}`: {error}"))),
    }
}

/// What a program prints, if it is there and succeeds.
fn printed(program: &str, args: &[&str]) -> Option<Vec<u8>> {
    let spec = ChildSpec {
        program: Path::new(program),
        args: args.iter().map(Into::into).collect(),
        cwd: Path::new("/"),
        env: Vec::new(),
        inherits: ona_sandbox::Inherits::AllButCredentials,
        confined: None,
        marker: None,
        stdin: Vec::new(),
        timeout: WITHIN,
        cap: MAX_PICTURE,
    };
    // The interface runs on a runtime of its own, and within one there can be no other.
    let run = || {
        let runtime = bootstrap::runtime().ok()?;
        runtime.block_on(ona_sandbox::run(spec, &CancellationToken::new())).ok()
    };
    let done = std::thread::scope(|scope| scope.spawn(run).join()).ok()??;
    (done.ending == Ending::Exited(0)).then_some(done.stdout.bytes)
}
