//! What a value, a file or a condition depends on.

use std::ops::{BitOr, BitOrAssign};

use crate::surface::Surface;

/// A set of things that are seen from outside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Facts(u8);

impl Facts {
    /// Nothing: the value stands in the script.
    pub(super) const NONE: Self = Self(0);
    /// How a program ended.
    pub(super) const EXIT: Self = Self(1);
    /// What the product printed.
    pub(super) const OUTPUT: Self = Self(2);
    /// A file.
    pub(super) const FILE: Self = Self(4);
    /// Rows of a database.
    pub(super) const ROWS: Self = Self(8);
    /// The result of a tool.
    pub(super) const TOOL: Self = Self(16);
    /// The record of a hook.
    pub(super) const HOOK: Self = Self(32);

    pub(super) fn is_none(self) -> bool {
        self == Self::NONE
    }

    pub(super) fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether a surface is among them.
    pub(super) fn show(self, surface: Surface) -> bool {
        self.has(match surface {
            Surface::DbState => Self::ROWS,
            Surface::FileState => Self::FILE,
            Surface::ProcessOutput => Self::OUTPUT,
            Surface::ToolResult => Self::TOOL,
            Surface::HookRecord => Self::HOOK,
        })
    }
}

impl BitOr for Facts {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Facts {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}
