//! What a command may touch: the working directories, without what other programs act on, without credentials, and
//! without what is ona's own.

use std::fs;
use std::path::{Path, PathBuf};

use ona_policy::Permissions;
use ona_sandbox::confine::{Confinement, LeftOut};

use crate::governance::Governance;

/// What in a working directory may only be read, also if it does not exist yet: other programs act on it.
const PROTECTED: [&str; 5] = [".git", ".claude", ".ona", ".orchestration", "runs"];
/// The same where it exists.
const PROTECTED_IF_THERE: [&str; 7] =
    [".vscode", ".idea", ".husky", ".mcp.json", ".gitmodules", ".envrc", "decision_ledger.jsonl"];
/// What in `.git` stays protected if the settings open it: it runs with the next git.
const PROTECTED_IN_GIT: [&str; 3] = ["hooks", "config", "config.worktree"];

/// Credentials below the home.
const CREDENTIALS: [&str; 24] = [
    ".ssh",
    ".aws",
    ".azure",
    ".gnupg",
    ".netrc",
    ".git-credentials",
    ".config/git/credentials",
    ".claude/.credentials.json",
    ".config/gh",
    ".config/glab-cli",
    ".config/gcloud",
    ".config/ona",
    ".docker",
    ".config/containers/auth.json",
    ".kube",
    ".pypirc",
    ".cargo/credentials.toml",
    ".cargo/credentials",
    ".password-store",
    ".local/share/keyrings",
    ".local/state/ona",
    ".terraform.d/credentials.tfrc.json",
    ".vault-token",
    ".pgpass",
];
/// The same of the system, for those who could read it.
const SYSTEM_SECRETS: [&str; 4] = ["/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/sudoers.d"];

/// Caches of package managers below the home.
const CACHES: [&str; 13] = [
    ".cache",
    ".cargo/registry",
    ".cargo/git",
    ".npm/_cacache",
    ".local/share/pnpm",
    ".yarn/cache",
    ".yarn/berry/cache",
    ".bun/install/cache",
    ".gradle/caches",
    ".gradle/wrapper/dists",
    ".m2/repository",
    "go/pkg",
    ".nuget/packages",
];

/// The limit for files that patterns of rules are looked for among, and for those that are found.
const MAX_LOOKED_AT: usize = 20_000;
const MAX_FOUND: usize = 200;
/// Directories in which nobody looks: they are large, and their files are other people's.
const SKIPPED: [&str; 4] = [".git", "node_modules", "target", ".venv"];

/// What a command of a session may touch.
pub(super) fn confinement(
    governance: &Governance,
    temporary: PathBuf,
) -> (Confinement, Option<LeftOut>) {
    let (terms, place) = (&governance.sandbox, governance.place());
    let home = &governance.roots().home;
    let rules = governance.permissions.paths();
    let writable = writable(governance);
    let (mut protected, mut closed) = (Vec::<PathBuf>::new(), Vec::<PathBuf>::new());
    // In a file there is nothing to protect.
    for root in writable.iter().filter(|root| !root.is_file()) {
        // What lies in another one is as any directory in it: a command could put a link there meanwhile.
        if writable.iter().any(|other| other != root && root.starts_with(other))
            && !root.ends_with(".git")
        {
            continue;
        }
        protected.extend(hooks_of(root));
        if root.ends_with(".git") {
            closed.extend(PROTECTED_IN_GIT.iter().map(|name| root.join(name)));
            continue;
        }
        let always = PROTECTED.iter().map(|name| root.join(name));
        let there = PROTECTED_IF_THERE.iter().map(|name| root.join(name));
        let all = always.chain(there.filter(|path| path.exists()));
        // What the settings open by its name is open.
        protected.extend(all.filter(|path| !terms.allow_write.contains(path)));
    }
    let mut forbidden: Vec<PathBuf> =
        terms.deny_write.iter().chain(&rules.unwritable).cloned().collect();
    let mut hidden: Vec<PathBuf> = CREDENTIALS.iter().map(|name| home.join(name)).collect();
    hidden.extend(terms.deny_read.iter().chain(&rules.unreadable).cloned());
    hidden.extend(governance.core().machine.hidden().iter().cloned());
    hidden.extend(SYSTEM_SECRETS.iter().map(PathBuf::from));
    hidden.retain(|path| !terms.allow_read.iter().any(|open| path.starts_with(open)));
    let mut found_all = true;
    if rules.more_unreadable || rules.more_unwritable {
        let work: Vec<PathBuf> =
            std::iter::once(&place.project_dir).chain(&place.additional_dirs).cloned().collect();
        found_all = find(&work, &governance.permissions, &mut forbidden, &mut hidden);
    }
    protected.extend(forbidden.iter().chain(&closed).cloned());
    hidden.extend(own(governance, &writable));
    let readable = terms.allow_read.clone();
    let confinement = Confinement {
        writable,
        protected,
        forbidden,
        closed,
        hidden,
        readable,
        temporary,
        network: terms.network.clone(),
        sockets: terms.sockets.clone(),
    };
    (
        confinement,
        (!found_all).then_some(LeftOut::Files { looked_at: MAX_LOOKED_AT, found: MAX_FOUND }),
    )
}

/// The directory in a work tree from which git takes its hooks, if its configuration says so.
fn hooks_of(root: &Path) -> Option<PathBuf> {
    let text = ona_files::read_text_at_most(&root.join(".git/config"), 1 << 20).ok()??;
    let value = text.lines().find_map(|line| {
        let (key, value) = line.split_once('=')?;
        key.trim().eq_ignore_ascii_case("hookspath").then(|| value.trim().trim_matches('"'))
    })?;
    let dir = root.join(value);
    (dir.starts_with(root) && dir != root && dir.exists()).then_some(dir)
}

/// The directories that a command of a session may write.
pub(super) fn writable(governance: &Governance) -> Vec<PathBuf> {
    let (terms, place) = (&governance.sandbox, governance.place());
    let mut writable = vec![place.project_dir.clone()];
    writable.extend(place.additional_dirs.iter().cloned());
    writable.extend(terms.allow_write.iter().cloned());
    let by_rules = governance.permissions.paths().writable;
    writable.extend(by_rules.into_iter().filter(|path| path.is_dir()));
    if terms.caches {
        let home = &governance.roots().home;
        let caches = CACHES.iter().map(|name| home.join(name)).filter(|dir| dir.is_dir());
        writable.extend(caches);
    }
    writable
}

/// What is ona's own: settings, stored credentials, output of other calls, and the record with what lies beside it.
fn own(governance: &Governance, writable: &[PathBuf]) -> Vec<PathBuf> {
    let core = governance.core();
    let record = core.store.path();
    let mut all = vec![governance.roots().ona_config.clone(), core.host.outputs.clone()];
    all.extend(core.host.stores.iter().cloned());
    if !record.is_absolute() {
        return all;
    }
    let beside = record.parent().filter(|dir| {
        // Somebody else's directory: only what is ona's in it.
        dir.ends_with("ona") && !writable.iter().any(|root| root.starts_with(dir))
    });
    match beside {
        Some(dir) => all.push(dir.to_owned()),
        None => {
            let name = record.to_string_lossy();
            all.extend(["", "-wal", "-shm", "-journal"].map(|end| format!("{name}{end}").into()));
        }
    }
    all
}

/// Files in the working directories that rules with patterns keep from being read or written. Whether all of them were found.
fn find(
    roots: &[PathBuf],
    permissions: &Permissions,
    forbidden: &mut Vec<PathBuf>,
    hidden: &mut Vec<PathBuf>,
) -> bool {
    let (mut looked_at, mut found) = (0, 0);
    let mut open: Vec<PathBuf> = roots.to_vec();
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            looked_at += 1;
            if looked_at > MAX_LOOKED_AT || found > MAX_FOUND {
                return false;
            }
            let path = entry.path();
            if permissions.hides(&path) {
                hidden.push(path);
                found += 1;
            } else if permissions.keeps(&path) {
                forbidden.push(path);
                found += 1;
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) && !is_skipped(&path) {
                open.push(path);
            }
        }
    }
    true
}

fn is_skipped(dir: &Path) -> bool {
    dir.file_name().is_some_and(|name| SKIPPED.iter().any(|skipped| name == *skipped))
}
