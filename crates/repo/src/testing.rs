//! The real git and real pipes, for tests.

use std::path::Path;
use std::process::Command;

/// Runs git, which must succeed.
#[allow(clippy::disallowed_methods, reason = "only git writes an index as git does")]
pub(crate) fn git(dir: &Path, args: &[&str]) {
    let done = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@t", "-c", "protocol.file.allow=always"])
        .args(args)
        .current_dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
}

/// Creates a named pipe, in the place of what is there.
#[allow(clippy::disallowed_methods, reason = "a real pipe")]
pub(crate) fn pipe(path: &Path) {
    let _ = std::fs::remove_file(path);
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}
