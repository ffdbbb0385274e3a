//! What the terminal interface needs of the system besides the terminal itself.

use ona_types::Attachment;

/// Why something outside did not work.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct OutsideError(pub String);

/// The system around the terminal.
pub trait Platform: Send + Sync {
    /// Lets the user edit a text in their editor. The terminal is theirs meanwhile.
    fn edit_text(&self, text: &str) -> Result<String, OutsideError>;

    /// Lets the user edit a file.
    fn edit_file(&self, path: &str) -> Result<(), OutsideError>;

    /// Whether a path names a file.
    fn is_file(&self, path: &str) -> bool;

    /// Stops this process until the user continues it.
    fn suspend(&self);

    /// The numbers of the signals that ask a process to stop, and that let it go on.
    fn stop_signals(&self) -> (i32, i32);

    /// The picture in the clipboard, if there is one.
    fn clipboard_image(&self) -> Result<Attachment, OutsideError>;
}

/// What the terminal can do, and what the user wants of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// How many colours it shows.
    pub depth: ona_render::theme::Depth,
    /// Whether its background is light, as far as the environment says.
    pub light: bool,
    /// Whether it may be asked for its background.
    pub ask_background: bool,
    /// Whether it wraps old rows anew when it is resized.
    pub reflow: crate::screen::Reflow,
    /// The home directory, to shorten paths.
    pub home: Option<String>,
    /// The version of ona.
    pub version: &'static str,
    /// Whether notifications are sent to the terminal, and how, where the settings say `auto`.
    pub notifies: Notifies,
    /// How long it takes to see a dialog: keys before that are not for it. Zero for a program that types.
    pub reaction: std::time::Duration,
    /// The first prompt, from the command line.
    pub first_prompt: Option<String>,
    /// A command line that runs first, as if it was chosen.
    pub first_command: Option<String>,
    /// Whether text that begins with a slash is a command; otherwise it is a prompt like any other.
    pub slash_commands: bool,
}

/// How a terminal is told to notify the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notifies {
    /// It rings.
    Bell,
    /// With a sequence of iTerm2, which many know (OSC 9).
    Osc9,
    /// With a sequence of kitty (OSC 99).
    Kitty,
    /// Not at all.
    Never,
}
