//! A token that the parent hands over by an open descriptor (S0 §2.8).

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::RawFd;
use std::sync::{OnceLock, mpsc};
use std::thread;
use std::time::Duration;

use secrecy::SecretString;

use super::model::OAUTH_DESCRIPTOR;
use super::text;
use crate::error::CliError;

/// The limit for a token, and for the time in which it is handed over.
const MAX_TOKEN: u64 = 64 * 1024;
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
    #[error("names descriptor {0}, which holds no token")]
    Empty(RawFd),
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
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let _ = sender.send(content(number));
    });
    let read = receiver.recv_timeout(WITHIN);
    let _ = nix::unistd::close(number);
    let text = read
        .map_err(|_| DescriptorError::Endless(number))?
        .map_err(|error| DescriptorError::Unreadable(number, error.to_string()))?;
    match text.trim() {
        "" => Err(DescriptorError::Empty(number)),
        token => Ok(SecretString::from(token)),
    }
}

fn content(number: RawFd) -> io::Result<String> {
    let file = File::open(format!("/proc/self/fd/{number}"))?;
    let mut text = String::new();
    file.take(MAX_TOKEN).read_to_string(&mut text)?;
    Ok(text)
}
