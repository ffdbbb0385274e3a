//! When the model's context counts as full, and whether compaction helps.

use ona_gate::servers::DEFAULT_CONTEXT_WINDOW;

/// The default limit, in percent of the context window.
const DEFAULT_PERCENT: f64 = 95.0;

/// What is put back after a compaction takes at most this part of the window.
const RESTORED_PART: u64 = 4;
/// A token is seldom shorter than this, in bytes.
const BYTES_PER_TOKEN: u64 = 3;

/// When the context counts as full.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ContextLimit {
    /// The context window, if it is not the model's own (`CLAUDE_CODE_AUTO_COMPACT_WINDOW`).
    pub window: Option<u64>,
    /// The limit in percent (`CLAUDE_AUTOCOMPACT_PCT_OVERRIDE`).
    pub percent: Option<f64>,
    /// Never compact automatically (`DISABLE_AUTO_COMPACT`).
    pub disabled: bool,
}

impl ContextLimit {
    /// The window in tokens, given the model's own.
    fn window(&self, window: Option<u32>) -> u64 {
        self.window.or(window.map(u64::from)).unwrap_or(DEFAULT_CONTEXT_WINDOW)
    }

    /// How many bytes may be put back after a compaction.
    pub(crate) fn restored_bytes(&self, window: Option<u32>) -> usize {
        let tokens = self.window(window) / RESTORED_PART;
        usize::try_from(tokens.saturating_mul(BYTES_PER_TOKEN)).unwrap_or(usize::MAX)
    }

    /// The limit in tokens.
    pub(crate) fn max_tokens(&self, window: Option<u32>) -> u64 {
        let window = self.window(window);
        let percent = self
            .percent
            .filter(|percent| (1.0..=100.0).contains(percent))
            .unwrap_or(DEFAULT_PERCENT);
        (window as f64 * percent / 100.0) as u64
    }
}

/// The state of compaction in a turn. If compaction did not help, it is not tried again before every model call: each
/// attempt costs and changes nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum CompactionState {
    /// Compaction may be tried.
    #[default]
    Open,
    /// The context was compacted; its new size is not known yet.
    Done,
    /// The context is still full after a compaction.
    Futile,
}

impl CompactionState {
    /// Updates the state after a model call.
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
        let room = |window, percent| ContextLimit { window, percent, disabled: false };
        assert_eq!(room(None, None).max_tokens(Some(200_000)), 190_000);
        assert_eq!(room(None, None).max_tokens(None), 121_600);
        assert_eq!(room(Some(1000), Some(50.0)).max_tokens(Some(200_000)), 500);
        assert_eq!(room(Some(40_000), None).restored_bytes(Some(200_000)), 30_000);
        assert_eq!(room(Some(1000), Some(500.0)).max_tokens(None), 950, "an invalid percentage");
    }
}
