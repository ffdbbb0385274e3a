//! When the model's context counts as full, and whether making room helps.

use ona_gate::servers::DEFAULT_CONTEXT_WINDOW;

/// A context is full at this share of its window, in percent.
const FULL: f64 = 95.0;

/// When the context counts as full.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Room {
    /// The window, where it is not the model's own (`CLAUDE_CODE_AUTO_COMPACT_WINDOW`).
    pub window: Option<u64>,
    /// How much of it may be used (`CLAUDE_AUTOCOMPACT_PCT_OVERRIDE`).
    pub percent: Option<f64>,
    /// Never compact unasked (`DISABLE_AUTO_COMPACT`).
    pub disabled: bool,
}

impl Room {
    /// How many tokens are too many.
    pub(crate) fn full(&self, window: Option<u32>) -> u64 {
        let window = self.window.or(window.map(u64::from)).unwrap_or(DEFAULT_CONTEXT_WINDOW);
        let percent =
            self.percent.filter(|percent| (1.0..=100.0).contains(percent)).unwrap_or(FULL);
        (window as f64 * percent / 100.0) as u64
    }
}

/// What compaction has come to in a turn. Where it does not help it is not tried before every question again: each
/// try is paid for, and changes nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Squeeze {
    /// Nothing that would speak against it.
    #[default]
    Open,
    /// It was done, and how full the context is now is not known yet.
    Done,
    /// It brought nothing.
    Futile,
}

impl Squeeze {
    /// The model was asked, and said whether the context is still full.
    pub(crate) fn measured(&mut self, full: bool) {
        *self = match (*self, full) {
            (Self::Done, true) => Self::Futile,
            (Self::Done, false) => Self::Open,
            (other, _) => other,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_full_is_full() {
        let room = |window, percent| Room { window, percent, disabled: false };
        assert_eq!(room(None, None).full(Some(200_000)), 190_000);
        assert_eq!(room(None, None).full(None), 121_600);
        assert_eq!(room(Some(1000), Some(50.0)).full(Some(200_000)), 500);
        assert_eq!(room(Some(1000), Some(500.0)).full(None), 950, "a percentage that is none");
    }
}
