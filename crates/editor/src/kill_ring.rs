//! What was killed, to be yanked.

use super::content::Content;

/// How many kills are kept.
const MAX_KILLS: usize = 60;

/// Kills, the newest last.
#[derive(Debug, Clone, Default)]
pub(super) struct KillRing {
    kills: Vec<Content>,
    /// Which one was yanked last, counted from the newest.
    back: usize,
}

/// On which side of the cursor something was killed. Kills in a row make one text, in its order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Before,
    After,
}

impl KillRing {
    /// Keeps a kill; with `join`, as part of the last one.
    pub(super) fn push(&mut self, killed: Content, side: Side, join: bool) {
        self.back = 0;
        match self.kills.last_mut() {
            Some(last) if join && side == Side::After => last.append(&killed),
            Some(last) if join => {
                let after = std::mem::replace(last, killed);
                last.append(&after);
            }
            _ => {
                self.kills.push(killed);
                let surplus = self.kills.len().saturating_sub(MAX_KILLS);
                self.kills.drain(..surplus);
            }
        }
    }

    /// The newest kill.
    pub(super) fn newest(&mut self) -> Option<Content> {
        self.back = 0;
        self.kills.last().cloned()
    }

    /// The one before the one that was given last; after the oldest, the newest again.
    pub(super) fn older(&mut self) -> Option<Content> {
        self.back = (self.back + 1) % self.kills.len().max(1);
        self.kills.iter().rev().nth(self.back).cloned()
    }
}
