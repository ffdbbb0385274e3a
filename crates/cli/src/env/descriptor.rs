//! A token that the parent hands over by an open descriptor (S0 §2.8).

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{FromRawFd as _, RawFd};
use std::path::Path;
use std::sync::{OnceLock, mpsc};
use std::thread;
use std::time::Duration;

use ona_auth::{MAX_CREDENTIAL, is_usable};
use secrecy::SecretString;

use super::model::OAUTH_DESCRIPTOR;
use super::text;
use crate::error::CliError;

/// The time in which a token must be handed over.
const WITHIN: Duration = Duration::from_secs(10);

/// What came of the descriptor.
static DESCRIPTOR: OnceLock<Result<Option<SecretString>, DescriptorError>> = OnceLock::new();

/// Why there is no token.
#[derive(Clone, Debug, thiserror::Error)]
enum DescriptorError {
    #[error("must be the number of a descriptor above 2")]
    NoNumber,
    #[error("names descriptor {0}, which cannot be read: {1}")]
    Unreadable(RawFd, String),
    #[error("names descriptor {0}, which does not end")]
    Endless(RawFd),
    #[error("names descriptor {0}, which is not open")]
    Closed(RawFd),
    #[error(
        "names descriptor {0}, which holds no token: expected one line of printable characters"
    )]
    NoToken(RawFd),
}

/// Reads the token from the descriptor that the parent left open, to its end, and closes it. To be called first of all: later
/// the number may be that of another file.
pub fn take_oauth_descriptor() {
    let number = text(&OAUTH_DESCRIPTOR).unwrap_or_default();
    let _ = DESCRIPTOR.set(number.map(|number| token_of(number.trim())).transpose());
}

/// The token from the descriptor.
pub fn oauth_descriptor() -> Result<Option<SecretString>, CliError> {
    let token = DESCRIPTOR.get().cloned().unwrap_or(Ok(None));
    token.map_err(|why| OAUTH_DESCRIPTOR.refuse(why))
}

fn token_of(number: &str) -> Result<SecretString, DescriptorError> {
    let number: Option<RawFd> = number.parse().ok();
    let number = number.filter(|number| *number > 2).ok_or(DescriptorError::NoNumber)?;
    // Where there is no such directory, reading tells.
    let open = Path::new("/proc/self/fd");
    if open.is_dir() && open.join(number.to_string()).symlink_metadata().is_err() {
        return Err(DescriptorError::Closed(number));
    }
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let _ = sender.send(content(number));
    });
    let text = receiver
        .recv_timeout(WITHIN)
        .map_err(|_| DescriptorError::Endless(number))?
        .map_err(|error| DescriptorError::Unreadable(number, error.to_string()))?;
    match String::from_utf8(text).unwrap_or_default().trim() {
        token if is_usable(token) => Ok(SecretString::from(token)),
        _ => Err(DescriptorError::NoToken(number)),
    }
}

/// What comes from a descriptor, which is closed then.
#[allow(
    unsafe_code,
    reason = "only so a descriptor's own file is read, from where it stands; a socket has no name to open"
)]
fn content(number: RawFd) -> io::Result<Vec<u8>> {
    // SAFETY: the number is that of a descriptor the parent left open for this program, which has opened nothing of its
    // own yet and uses it nowhere else.
    let file = unsafe { File::from_raw_fd(number) };
    let mut text = Vec::new();
    file.take(MAX_CREDENTIAL as u64 + 1).read_to_end(&mut text)?;
    Ok(text)
}
