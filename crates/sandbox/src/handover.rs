//! Credentials leave the environment of this process.
//!
//! `/proc` shows what a program was started with for as long as it runs, to every process of the same user: a command would
//! only have to look at its parent. So ona starts itself again, as the same process, without its credentials, and
//! hands them over in a file that is only in memory.

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::sync::OnceLock;

use nix::fcntl::{FcntlArg, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use ona_types::{CREDENTIAL_DESCRIPTOR, CREDENTIAL_HANDOVER, CREDENTIAL_VARIABLES};
use secrecy::{ExposeSecret as _, SecretString};
use zeroize::Zeroizing;

/// What the file is called.
const NAME: &str = "ona-credentials";
/// The limit for the file.
const MOST: u64 = 1 << 20;

/// What was handed over.
static TAKEN: OnceLock<Vec<(&'static str, SecretString)>> = OnceLock::new();

/// The credential variables that this process was started with and no longer has.
pub fn handed_over() -> impl Iterator<Item = (&'static str, &'static str)> {
    let taken = TAKEN.get().map(Vec::as_slice).unwrap_or_default();
    taken.iter().map(|(name, value)| (*name, value.expose_secret()))
}

/// Starts this program again without the credentials of its environment; the new one takes them over. To be called
/// before anything is opened or read. Where that cannot be done, the program goes on as it is.
pub fn hand_over() {
    // Once: what cannot be taken over would be handed over for ever.
    if std::env::var_os(CREDENTIAL_HANDOVER).is_none()
        && CREDENTIAL_VARIABLES.iter().any(|name| is_set(name))
    {
        let _ = started_again();
    }
}

/// Takes over what the program handed over that this one has replaced. To be called first of all.
pub fn take_over() {
    let number = std::env::var(CREDENTIAL_HANDOVER).ok().and_then(|text| text.parse::<i32>().ok());
    let Some(number) = number.filter(|number| *number > 2) else { return };
    let path = format!("/proc/self/fd/{number}");
    // Nothing else is read, which might never end.
    let is_ours =
        fs::read_link(&path).is_ok_and(|file| file.starts_with(format!("/memfd:{NAME} (deleted)")));
    if !is_ours {
        return;
    }
    let mut bytes = Zeroizing::new(Vec::new());
    let file = File::open(path);
    let read = file.and_then(|file| file.take(MOST).read_to_end(&mut bytes));
    let _ = nix::unistd::close(number);
    if read.is_ok() {
        let _ = TAKEN.set(entries(&bytes));
    }
}

/// The number of a descriptor is no secret, and the program that is started again has to read it.
fn is_set(name: &str) -> bool {
    !matches!(name, CREDENTIAL_DESCRIPTOR | CREDENTIAL_HANDOVER)
        && std::env::var(name).is_ok_and(|value| !value.is_empty())
}

fn started_again() -> io::Result<Infallible> {
    let program = std::env::current_exe()?;
    let mut file = File::from(memfd_create(NAME, MFdFlags::MFD_CLOEXEC)?);
    let mut command = Command::new(program);
    for name in CREDENTIAL_VARIABLES.iter().filter(|name| is_set(name)) {
        let value = Zeroizing::new(std::env::var(name).unwrap_or_default());
        file.write_all(&entry(name, &value))?;
        command.env_remove(name);
    }
    // Not the number of the descriptor that a token is to be read from: it may not be open.
    let other = std::env::var(CREDENTIAL_DESCRIPTOR).ok().and_then(|text| text.parse().ok());
    let least =
        other.filter(|number: &i32| (0..1000).contains(number)).map_or(3, |number| number + 1);
    let number = fcntl(&file, FcntlArg::F_DUPFD(least))?;
    let mut words = std::env::args_os();
    command.arg0(words.next().unwrap_or_else(|| OsString::from("ona"))).args(words);
    Err(command.env(CREDENTIAL_HANDOVER, OsStr::new(&number.to_string())).exec())
}

fn entry(name: &str, value: &str) -> Zeroizing<Vec<u8>> {
    Zeroizing::new(format!("{name}={value}\0").into_bytes())
}

/// No value holds a NUL: it comes from an environment.
fn entries(bytes: &[u8]) -> Vec<(&'static str, SecretString)> {
    let text = std::str::from_utf8(bytes).unwrap_or_default();
    text.split_terminator('\0')
        .filter_map(|entry| {
            let (name, value) = entry.split_once('=')?;
            let name = CREDENTIAL_VARIABLES.iter().find(|known| **known == name)?;
            Some((*name, SecretString::from(value)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_handed_over_arrives() {
        let written = [
            entry("OPENAI_API_KEY", "k=1\n"),
            entry("HOME", "/x"),
            entry("ANTHROPIC_API_KEY", "k2"),
        ];
        let bytes: Vec<u8> = written.iter().flat_map(|entry| entry.iter().copied()).collect();
        let found = entries(&bytes);
        let found: Vec<_> =
            found.iter().map(|(name, value)| (*name, value.expose_secret())).collect();
        assert_eq!(found, [("OPENAI_API_KEY", "k=1\n"), ("ANTHROPIC_API_KEY", "k2")]);
        assert!(entries(b"").is_empty() && entries(b"\xff\0").is_empty());
    }
}
