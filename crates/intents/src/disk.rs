//! Files of the workspace that are read and replaced whole.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use nix::fcntl::OFlag;
use ona_types::fresh_uuid;

/// Larger files are none that ona would rewrite.
const LARGEST: u64 = 16 << 20;

/// S2 §3.3: a second try after this long, and then it is given up.
const PATIENCE: Duration = Duration::from_millis(100);

/// Between looks at a lock within the patience: it is held for a fraction of a millisecond.
const LOOK_AGAIN: Duration = Duration::from_micros(500);

/// Takes the lock that is the file at `path`; nothing if somebody else has it for longer than the patience. The
/// kernel gives it back when the process ends, however it ends.
pub(crate) fn lock(path: &Path) -> io::Result<Option<File>> {
    let started = Instant::now();
    loop {
        let file = open(path, OpenOptions::new().write(true).create(true))?;
        match file.try_lock() {
            Ok(()) if is_still(&file, path)? => return Ok(Some(file)),
            // Somebody cleaned up between opening and locking: that lock keeps nobody out.
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => thread::sleep(LOOK_AGAIN),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        if started.elapsed() > PATIENCE {
            return Ok(None);
        }
    }
}

fn is_still(file: &File, path: &Path) -> io::Result<bool> {
    let ours = file.metadata()?;
    Ok(fs::symlink_metadata(path)
        .is_ok_and(|there| (there.dev(), there.ino()) == (ours.dev(), ours.ino())))
}

/// Opens a regular file that is where its real path says: a link put there since is not followed, and a pipe
/// does not make the caller wait.
pub(crate) fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    let file = options.truncate(false).custom_flags(flags.bits()).open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"))
    }
}

/// The text of a regular file; nothing if there is none.
pub(crate) fn read_text(path: &Path) -> io::Result<Option<String>> {
    let file = match open(path, OpenOptions::new().read(true)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let refused = |why: &str| io::Error::new(io::ErrorKind::InvalidData, why.to_owned());
    let meta = file.metadata()?;
    if meta.len() > LARGEST {
        return Err(refused("it is larger than 16 MB"));
    }
    let mut text = String::new();
    file.take(LARGEST).read_to_string(&mut text)?;
    Ok(Some(text))
}

/// Replaces a file in one step: after a crash there is the old one or the new one. The mode stays.
pub(crate) fn replace(path: &Path, text: &str) -> io::Result<()> {
    let dir = path.parent().ok_or(io::ErrorKind::IsADirectory)?;
    fs::create_dir_all(dir)?;
    let temporary = dir.join(format!(".ona-{}.tmp", fresh_uuid()));
    let written = (|| {
        let mut file = OpenOptions::new().write(true).create_new(true).open(&temporary)?;
        if let Ok(meta) = fs::symlink_metadata(path) {
            file.set_permissions(fs::Permissions::from_mode(meta.permissions().mode() & 0o7777))?;
        }
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&temporary, path)?;
        File::open(dir)?.sync_all()
    })();
    if written.is_err() {
        // The file is as it was; what is left of the new one is of no use.
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// The line end a text uses.
pub(crate) fn line_end(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}
