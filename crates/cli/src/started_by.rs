//! Who runs this command: the operator, or a process that an agent's call has started (DESIGN §5, no. 12).

use std::fmt;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;

/// What everything that a call starts carries in its environment.
const MARKER: &str = "ONA_TOOL_USE_ID";

/// What other agents put into the environment of what they start.
const OTHERS: [(&str, &str); 4] = [
    ("CLAUDECODE", "Claude Code"),
    ("CODEX_SANDBOX", "Codex"),
    ("CODEX_SANDBOX_NETWORK_DISABLED", "Codex"),
    ("CODEX_THREAD_ID", "Codex"),
];

/// Who started this process, if it was not the operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartedBy {
    /// A call, by its id.
    Call(String),
    /// Another agent, by its name.
    Host(&'static str),
    /// Another ona, by its process.
    Ona(String),
    /// Unknown: a parent process cannot be seen.
    Unseen,
}

impl fmt::Display for StartedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call(id) => write!(f, "the call {id}"),
            Self::Host(name) => f.write_str(name),
            Self::Ona(pid) => write!(f, "another ona (process {pid})"),
            Self::Unseen => f.write_str("a process that /proc does not show"),
        }
    }
}

/// What this process was started by, if not by the operator: the call in its own environment or in that of a
/// process above it, or an ona above it. An environment can be cleaned, and what forks away is adopted by the ona
/// that governs the call; whose child one is, one cannot choose.
pub fn started_by() -> Option<StartedBy> {
    if let Some(starter) = started_with(|name| std::env::var(name).ok()) {
        return Some(starter);
    }
    let own = fs::metadata("/proc/self/exe").ok();
    for pid in ancestors() {
        let Ok(pid) = pid else { return Some(StartedBy::Unseen) };
        if let Some(starter) = marked(&pid) {
            return Some(starter);
        }
        if let Some(host) = host(&pid) {
            return Some(StartedBy::Host(host));
        }
        if is_ona(&pid, own.as_ref()) {
            return Some(StartedBy::Ona(pid));
        }
    }
    None
}

/// No process has more ancestors.
const MAX_ANCESTORS: usize = 100;

/// One of them cannot be seen.
struct Hidden;

/// The processes above this one, the nearest first, in the numbers of this `/proc`, which need not be those of our own
/// namespace.
fn ancestors() -> impl Iterator<Item = Result<String, Hidden>> {
    let above = |pid: &str| {
        let stat = ona_files::content_text(format!("/proc/{pid}/stat")).ok()?;
        Some(stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.to_owned())
    };
    let mut last = Some("self".to_owned());
    let mut count = 0;
    std::iter::from_fn(move || {
        let pid = above(&last.take()?);
        count += 1;
        match pid {
            Some(pid) if pid == "0" => None,
            Some(pid) if count <= MAX_ANCESTORS => {
                last = Some(pid.clone());
                Some(Ok(pid))
            }
            _ => Some(Err(Hidden)),
        }
    })
}

/// Variables that say where an ona finds what governs it.
const GUARDS: [&str; 6] = [
    "HOME",
    "XDG_CONFIG_HOME",
    "CLAUDE_CONFIG_DIR",
    "ONA_MANAGED_DIRS",
    "SDLC_DISABLE_ALL_HOOKS",
    "ONA_TRUST",
];

/// The variable that a call has set to something else than the ona has that governs it, if there is one.
pub fn changed_guard() -> Option<&'static str> {
    let own = fs::metadata("/proc/self/exe").ok();
    let mut above = ancestors().map_while(Result::ok);
    let ona = above.find(|pid| is_ona(pid, own.as_ref()))?;
    let environment = ona_files::content(format!("/proc/{ona}/environ")).ok()?;
    let there = |name: &str| {
        let mut entries = environment.split(|byte| *byte == 0);
        entries.find_map(|entry| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
    };
    let set = |value: &[u8]| !value.is_empty();
    GUARDS.into_iter().find(|name| {
        let here = std::env::var_os(name);
        let here = here.as_ref().map(|value| value.as_encoded_bytes()).filter(|value| set(value));
        here != there(name).filter(|value| set(value))
    })
}

/// What the environment of a process says.
fn marked(pid: &str) -> Option<StartedBy> {
    let environment = ona_files::content(format!("/proc/{pid}/environ")).ok()?;
    started_with(|name| {
        environment.split(|byte| *byte == 0).find_map(|entry| {
            let entry = std::str::from_utf8(entry).ok()?;
            entry.strip_prefix(name)?.strip_prefix('=').map(str::to_owned)
        })
    })
}

/// Whom an environment belongs to.
fn started_with(variable: impl Fn(&str) -> Option<String>) -> Option<StartedBy> {
    let other =
        || OTHERS.iter().find(|(name, _)| variable(name).is_some_and(|set| !set.is_empty()));
    match variable(MARKER) {
        Some(call) => Some(StartedBy::Call(call)),
        None => other().map(|(_, host)| StartedBy::Host(host)),
    }
}

/// Whether a process runs this program, or one of its name: another version, or a file that was replaced.
fn is_ona(pid: &str, own: Option<&Metadata>) -> bool {
    let exe = format!("/proc/{pid}/exe");
    let file = |meta: &Metadata| (meta.dev(), meta.ino());
    let same = fs::metadata(&exe).is_ok_and(|meta| own.map(file) == Some(file(&meta)));
    let named = match fs::read_link(&exe) {
        Ok(path) => is_called_ona(path.as_os_str().as_encoded_bytes()),
        // A process in a user namespace of its own may not read the link, but everybody may read the name.
        Err(_) => {
            ona_files::content(format!("/proc/{pid}/comm")).is_ok_and(|name| name == b"ona\n")
        }
    };
    same || named
}

/// The agent that a process is, by the program it runs: an environment can be cleaned, an ancestor cannot.
fn host(pid: &str) -> Option<&'static str> {
    const PROGRAMS: [(&str, &str); 2] = [("claude", "Claude Code"), ("codex", "Codex")];
    const PACKAGES: [(&str, &str); 2] =
        [("@anthropic-ai/claude-code", "Claude Code"), ("@openai/codex", "Codex")];
    let line = ona_files::content(format!("/proc/{pid}/cmdline")).ok()?;
    let exe = fs::read_link(format!("/proc/{pid}/exe")).ok();
    let exe = exe.map(|exe| exe.to_string_lossy().into_owned());
    // The program, and the script that it runs if it is an interpreter.
    let mut words =
        line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
    let program = words.next().unwrap_or_default();
    let interprets = ["node", "bun", "deno", "sh", "bash", "python3"]
        .iter()
        .any(|name| program.rsplit('/').next() == Some(*name));
    let script = words.next().filter(|_| interprets);
    let words: Vec<String> = [Some(program), script, exe].into_iter().flatten().collect();
    let named = |word: &String, name: &str| word.rsplit('/').next() == Some(name);
    let program = PROGRAMS.iter().find(|(name, _)| words.iter().any(|word| named(word, name)));
    let package = || PACKAGES.iter().find(|(name, _)| words.iter().any(|word| word.contains(name)));
    program.or_else(package).map(|(_, host)| *host)
}

fn is_called_ona(path: &[u8]) -> bool {
    // The kernel says so of a file that is no longer there.
    let path = path.strip_suffix(b" (deleted)").unwrap_or(path);
    path.rsplit(|byte| *byte == b'/').next() == Some(b"ona")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_known_by_its_name_wherever_it_stands() {
        for path in ["/usr/bin/ona", "ona", "/x/ona (deleted)"] {
            assert!(is_called_ona(path.as_bytes()), "{path}");
        }
        for path in ["/usr/bin/onan", "/ona/sh", "/x/sh (deleted)", ""] {
            assert!(!is_called_ona(path.as_bytes()), "{path}");
        }
    }
}
