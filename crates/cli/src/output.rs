//! Printing, also to a pipe that is already closed.

use std::borrow::Cow;
use std::cell::RefCell;
use std::io::{self, IsTerminal as _, Write};
use std::sync::{PoisonError, RwLock};

use serde_json::Value;

use crate::secrets::{masked_message, masked_panic};

/// Prints a line on standard output. A closed pipe is not an error.
pub fn print_line(line: &str) -> io::Result<()> {
    print(&format!("{line}\n"))
}

thread_local! {
    /// What this thread prints, if somebody else shows it.
    static CAPTURED: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Shows messages, if not standard error does.
type Sink = Box<dyn Fn(&str) + Send + Sync>;

/// Where messages go while the terminal belongs to an interface.
static SINK: RwLock<Option<Sink>> = RwLock::new(None);

/// Runs something whose output is not printed, and returns that.
pub fn capture<T>(work: impl FnOnce() -> T) -> (T, String) {
    CAPTURED.set(Some(String::new()));
    let done = work();
    (done, CAPTURED.take().unwrap_or_default())
}

/// Whether what this thread prints is captured.
pub fn is_captured() -> bool {
    CAPTURED.with_borrow(Option::is_some)
}

/// Keeps a text if this thread's output is captured; otherwise `false`.
fn captured(text: &str) -> bool {
    CAPTURED.with_borrow_mut(|captured| match captured {
        Some(all) => {
            all.push_str(text);
            true
        }
        None => false,
    })
}

/// From now on, messages of this process go there: the terminal belongs to an interface. `None` ends it.
pub fn send_messages_to(sink: Option<Sink>) {
    *SINK.write().unwrap_or_else(PoisonError::into_inner) = sink;
}

/// Gives a message to whoever shows messages; `false` if nobody does.
fn shown_elsewhere(text: &str) -> bool {
    match &*SINK.read().unwrap_or_else(PoisonError::into_inner) {
        Some(sink) => {
            sink(text.trim_end());
            true
        }
        None => false,
    }
}

/// Prints text on standard output, as [`print_line`]. Whatever it is, on a terminal it is only text.
pub fn print(text: &str) -> io::Result<()> {
    if captured(text) || shown_elsewhere(text) {
        return Ok(());
    }
    let mut stdout = io::stdout().lock();
    let text = if stdout.is_terminal() { Cow::Owned(for_terminal(text)) } else { text.into() };
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Prints a list on standard output. If it is empty, `note` says so on standard error.
pub fn print_list(text: &str, note: &str) -> io::Result<()> {
    if text.is_empty() {
        complain(&format!("{note}\n"));
    }
    print(text)
}

/// Prints on standard error, without secrets; if that fails, only the exit code tells.
pub fn complain(text: &str) {
    let text = plain(&masked_message(text));
    if !captured(&text) && !shown_elsewhere(&text) {
        let _ = io::stderr().write_all(text.as_bytes());
    }
}

/// From now on a panic is told as an error of ona, without secrets: what it says may hold one.
pub fn tell_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(|place| format!(" at {}:{}", place.file(), place.line()));
        let said = panic.payload_as_str().and_then(masked_panic);
        let text = format!(
            "error: internal error{}: {}\nhint: this is a fault of ona; what is on the record stays\n",
            place.unwrap_or_default(),
            said.unwrap_or_default()
        );
        let text = plain(&text);
        if !shown_elsewhere(&text) {
            let _ = io::stderr().write_all(text.as_bytes());
        }
    }));
}

/// The colours that ona itself uses.
const STYLES: [&str; 5] = ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[31m", "\u{1b}[32m", "\u{1b}[33m"];

/// Text with no other sequences than ona's own colours.
fn for_terminal(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        shown.push_str(&plain(&rest[..at]));
        rest = &rest[at..];
        let style = STYLES.into_iter().find(|style| rest.starts_with(style)).unwrap_or("");
        match style {
            "" => shown.push('\u{fffd}'),
            style => shown.push_str(style),
        }
        rest = &rest[style.len().max(1)..];
    }
    shown + &plain(rest)
}

/// JSON in which no character acts on a terminal: those that JSON leaves as they are, are escaped.
pub fn json_text(value: &Value) -> String {
    let text = value.to_string();
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match is_hidden(c) {
            true => shown.push_str(&format!("\\u{:04x}", u32::from(c))),
            false => shown.push(c),
        }
    }
    shown
}

fn is_hidden(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || is_ignorable(c)
            // These choose how the character before them looks, such as that of an emoji.
            && !matches!(c, '\u{ad}' | '\u{34f}' | '\u{180b}'..='\u{180d}' | '\u{fe00}'..='\u{fe0f}')
        || matches!(c, '\u{fff9}'..='\u{fffb}')
}

/// Whether a terminal shows nothing for a character: those that Unicode calls default ignorable.
pub(crate) fn is_ignorable(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// Text without characters that could move the cursor, change colours or reverse the text:
/// what a tool, a hook or a file said must not pass for what ona says.
pub fn plain(text: &str) -> String {
    text.chars().map(|c| if is_hidden(c) { '\u{fffd}' } else { c }).collect()
}

/// A model's words on standard output: as they are for a program, plain for a terminal.
pub fn for_reader(text: &str) -> Cow<'_, str> {
    match io::stdout().is_terminal() {
        true => plain(text).into(),
        false => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_onas_own_colours_and_nothing_else() {
        let said = "\u{1b}[31merror\u{1b}[0m\u{1b}]0;title\u{7}\u{1b}[2J\u{1b}[8mhidden\u{9b}1m";
        assert_eq!(
            for_terminal(said),
            "\u{1b}[31merror\u{1b}[0m\u{fffd}]0;title\u{fffd}\u{fffd}[2J\u{fffd}[8mhidden\u{fffd}1m"
        );
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "only a process of its own can end in a panic")]
    fn a_panic_tells_no_secret() {
        const PANICS: &str = "ONA_TEST_PANICS";
        if std::env::var_os(PANICS).is_some() {
            crate::secrets::learned().learn(["marker-of-a-panic".to_owned()]);
            tell_panics();
            complain("");
            panic!("left: marker-of-a-panic");
        }
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        let child = child.args(["--exact", "output::tests::a_panic_tells_no_secret"]);
        let output = child.arg("--nocapture").env(PANICS, "1").output().unwrap();
        let printed = [output.stdout, output.stderr].concat();
        let printed = String::from_utf8_lossy(&printed);
        assert!(printed.contains(": left: [REDACTED:live]\nhint: "), "{printed}");
        assert!(!printed.contains("marker-of-a-panic"), "{printed}");
    }

    #[test]
    fn json_says_the_same_without_control_characters() {
        let value = serde_json::json!({"a": "x\u{1b}\u{7f}\u{9b}\u{202e}é\n"});
        let text = json_text(&value);
        assert!(!text.chars().any(is_hidden), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }

    #[test]
    fn nothing_moves_the_cursor_or_turns_the_text() {
        assert_eq!(plain("a\u{1b}[31mb\rc\u{9b}d\n"), "a\u{fffd}[31mb\u{fffd}c\u{fffd}d\n");
        assert_eq!(plain("x\u{202e}y\u{200b}z\té 日本"), "x\u{fffd}y\u{fffd}z\té 日本");
    }
}
