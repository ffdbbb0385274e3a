//! Chips: single units in the prompt that stand for a long paste or an image.

use std::sync::Arc;

/// A paste with more lines than this becomes a chip.
pub const MAX_PASTED_LINES: usize = 3;
/// A paste with more characters than this becomes a chip.
pub const MAX_PASTED_CHARACTERS: usize = 800;

/// One unit for moving and deleting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Chip {
    /// A long paste.
    Pasted {
        /// Which one, counted from 1 in this editor.
        number: u32,
        /// All of it; shared by every copy of the chip.
        text: Arc<str>,
        /// How many lines it has after the first.
        more_lines: usize,
    },
    /// An image. Whoever uses the editor knows what this number stands for.
    Image(u32),
}

impl Chip {
    pub(super) fn pasted(number: u32, text: &str) -> Self {
        let more_lines = text.lines().count().saturating_sub(1);
        Self::Pasted { number, text: text.into(), more_lines }
    }

    /// How it is shown.
    pub(super) fn label(&self) -> String {
        match self {
            Self::Pasted { number, more_lines: 0, .. } => format!("[Pasted text #{number}]"),
            Self::Pasted { number, more_lines: 1, .. } => {
                format!("[Pasted text #{number} +1 line]")
            }
            Self::Pasted { number, more_lines, .. } => {
                format!("[Pasted text #{number} +{more_lines} lines]")
            }
            Self::Image(number) => format!("[Image #{number}]"),
        }
    }

    /// The pasted text.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Pasted { text, .. } => Some(text),
            Self::Image(_) => None,
        }
    }

    /// The image's number.
    pub(super) fn image(&self) -> Option<u32> {
        match self {
            Self::Pasted { .. } => None,
            Self::Image(number) => Some(*number),
        }
    }
}

/// Whether a paste is too long to be shown.
pub(super) fn is_long(text: &str) -> bool {
    text.lines().nth(MAX_PASTED_LINES).is_some()
        || text.chars().nth(MAX_PASTED_CHARACTERS).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_pastes_are_told_from_short_ones() {
        assert!(!is_long("a\nb\nc\n"));
        assert!(is_long("a\nb\nc\nd"));
        assert!(!is_long(&"ü".repeat(MAX_PASTED_CHARACTERS)));
        assert!(is_long(&"ü".repeat(MAX_PASTED_CHARACTERS + 1)));
    }

    #[test]
    fn a_label_says_how_much_there_is() {
        assert_eq!(Chip::pasted(1, &"a\n".repeat(24)).label(), "[Pasted text #1 +23 lines]");
        assert_eq!(Chip::pasted(2, "long").label(), "[Pasted text #2]");
        assert_eq!(Chip::Image(7).label(), "[Image #7]");
    }
}
