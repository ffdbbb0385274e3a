//! What only the program that runs the console knows.

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;

use ona_config::settings::Layer;
use ona_engine::Starter;
use ona_front::CoreEnd;
use tokio_util::sync::CancellationToken;

/// What one of ona's own command lines has printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Printed {
    /// Standard output and standard error, in their order.
    pub text: String,
    /// Whether it succeeded.
    pub ok: bool,
}

/// Why nobody is signed in: what went wrong, with hints.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotSignedIn(pub String);

/// A sign-in under way; the answer is a line about it.
pub type SigningIn<'a> = Pin<Box<dyn Future<Output = Result<String, NotSignedIn>> + Send + 'a>>;

/// The program around a console.
pub trait Outside: Starter + Clone + Send + Sync + 'static {
    /// Runs one of ona's own command lines, such as `why`, and returns what it prints.
    fn run(&self, words: &[String]) -> Printed;

    /// Signs in: opens the browser, and asks the front-end for the code in case that the browser is elsewhere.
    fn sign_in<'a>(
        &'a self,
        layers: Vec<Layer>,
        front: &'a CoreEnd,
        cancel: &'a CancellationToken,
    ) -> SigningIn<'a>;

    /// An error with its hints, one below the other.
    fn words(&self, error: &Self::Error) -> String;

    /// The file with the user's key bindings.
    fn keybindings(&self) -> PathBuf;

    /// What is wrong with a file of key bindings.
    fn keybindings_problems(&self, text: &str) -> Vec<String>;

    /// What has changed in which release.
    fn release_notes(&self) -> &'static str;

    /// A file with all key bindings as they are by default.
    fn default_keybindings(&self) -> String;

    /// Whether a word begins a command line: the name of a program, a path, or something of the shell's own.
    fn is_command(&self, word: &str) -> bool;

    /// The environment variable that switches off a slash command.
    fn switched_off_by(&self, command: &str) -> Option<&'static str>;

    /// Whether a signal ends the program.
    fn is_ended_by_signal(&self) -> bool;

    /// The version.
    fn version(&self) -> &'static str;
}
