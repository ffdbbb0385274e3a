//! What the probe has found, kept until the machine starts again: trying every level takes a tenth of a second.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::bwrap;
use super::probe::{Probed, probe};

/// The file, in the directory of ona's state.
const FILE: &str = "sandbox.json";

/// What the levels depend on. If any of it differs, they are tried again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Circumstances {
    ona: String,
    boot: String,
    user: u32,
    /// A container has its own.
    namespaces: Vec<PathBuf>,
    helper: Option<Helper>,
    /// Why there is none.
    #[serde(default)]
    no_helper: Option<String>,
}

/// The helper program, as it was then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Helper {
    path: PathBuf,
    device: u64,
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

#[derive(Serialize, Deserialize)]
struct Kept {
    circumstances: Circumstances,
    found: Vec<Probed>,
}

/// Which levels work: as kept in `state`, or by trying them.
pub fn known(state: &Path, path: &OsStr, writable: &[PathBuf], own_program: &Path) -> Vec<Probed> {
    // What commands can write is not believed.
    let is_safe = state.is_absolute() && !writable.iter().any(|dir| state.starts_with(dir));
    let Some(now) = Circumstances::of(path, writable).filter(|_| is_safe) else {
        return probe(path, writable, Some(own_program));
    };
    match read(state) {
        Some(kept) if kept.circumstances == now => kept.found,
        _ => probed_anew(state, path, writable, own_program, now),
    }
}

/// The same, tried now in any case.
pub fn anew(state: &Path, path: &OsStr, writable: &[PathBuf], own_program: &Path) -> Vec<Probed> {
    match Circumstances::of(path, writable) {
        Some(now) => probed_anew(state, path, writable, own_program, now),
        None => probe(path, writable, Some(own_program)),
    }
}

fn probed_anew(
    state: &Path,
    path: &OsStr,
    writable: &[PathBuf],
    own_program: &Path,
    circumstances: Circumstances,
) -> Vec<Probed> {
    let kept = Kept { circumstances, found: probe(path, writable, Some(own_program)) };
    // It is only kept to save time.
    let _ = write(state, &kept);
    kept.found
}

impl Circumstances {
    /// `None` where it cannot be told whether the machine has started again.
    fn of(path: &OsStr, writable: &[PathBuf]) -> Option<Self> {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        let namespaces = ["/proc/self/ns/user", "/proc/self/ns/mnt"];
        let helper = bwrap::find(path, writable);
        Some(Self {
            ona: env!("CARGO_PKG_VERSION").to_owned(),
            boot: boot.trim().to_owned(),
            user: nix::unistd::geteuid().as_raw(),
            namespaces: namespaces.iter().filter_map(|name| fs::read_link(name).ok()).collect(),
            no_helper: helper.as_ref().err().map(ToString::to_string),
            helper: helper.ok().and_then(|path| Helper::of(path).ok()),
        })
    }
}

impl Helper {
    fn of(path: PathBuf) -> io::Result<Self> {
        let meta = fs::metadata(&path)?;
        Ok(Self {
            path,
            device: meta.dev(),
            inode: meta.ino(),
            size: meta.len(),
            changed: (meta.ctime(), meta.ctime_nsec()),
        })
    }
}

fn read(state: &Path) -> Option<Kept> {
    serde_json::from_slice(&fs::read(state.join(FILE)).ok()?).ok()
}

/// Writes the whole file or nothing: another ona may read it at the same time.
fn write(state: &Path, kept: &Kept) -> io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(state)?;
    file.write_all(serde_json::to_string_pretty(kept)?.as_bytes())?;
    file.persist(state.join(FILE))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = "/no/such/dir";
    const OWN: &str = "/no/such/program";

    #[test]
    fn what_was_found_is_kept_until_something_differs() {
        let state = tempfile::tempdir().unwrap();
        let path = OsStr::new(PATH);
        let found = known(state.path(), path, &[], OWN.as_ref());
        let Some(mut kept) = read(state.path()) else { return };
        kept.found[0].problem = Some("kept".to_owned());
        write(state.path(), &kept).unwrap();
        assert_eq!(
            known(state.path(), path, &[], OWN.as_ref())[0].problem.as_deref(),
            Some("kept")
        );
        kept.circumstances.boot = "another".to_owned();
        write(state.path(), &kept).unwrap();
        assert_eq!(known(state.path(), path, &[], OWN.as_ref()), found);
        kept.circumstances = Circumstances::of(path, &[]).unwrap();
        write(state.path(), &kept).unwrap();
        assert_eq!(anew(state.path(), path, &[], OWN.as_ref()), found, "tried in any case");
        assert_eq!(read(state.path()).unwrap().found, found, "and kept");
    }

    #[test]
    fn a_damaged_file_or_none_only_takes_time() {
        let state = tempfile::tempdir().unwrap();
        let path = OsStr::new(PATH);
        fs::write(state.path().join(FILE), "{").unwrap();
        let found = known(state.path(), path, &[], OWN.as_ref());
        assert_eq!(known(&state.path().join("none"), path, &[], OWN.as_ref()), found);
    }
}
