//! The real git, for tests.

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
