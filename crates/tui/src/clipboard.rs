//! The user's clipboard, through the terminal.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The sequence that puts a text into the clipboard (OSC 52).
pub fn osc52(text: &str) -> String {
    format!("\x1b]52;c;{}\x1b\\", STANDARD.encode(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_becomes_base64() {
        assert_eq!(osc52("hi"), "\x1b]52;c;aGk=\x1b\\");
    }
}
