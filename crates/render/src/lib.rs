//! Text, Markdown, code and diffs as rows of a terminal: wrapped, coloured, and without control characters.
//!
//! Nothing here knows a screen or a session. [`stream`] gives out Markdown that is still arriving, block by block.

pub mod diff;
pub mod highlight;
pub mod markdown;
pub mod stream;
pub mod text;
pub mod theme;
