//! The terminal interface on a terminal that is only imagined: every view and dialog at three sizes, and what must
//! hold whatever comes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod answers;
mod bounds;
mod calls;
mod chips;
mod colours;
mod full_screen;
mod hostile;
mod hostile_text;
mod keys;
mod menus;
mod notes;
mod offers;
mod permission;
mod plan;
mod prompt;
mod questions;
mod random;
mod resizing;
mod scenes;
mod script;
mod sequences;
mod stage;
mod status;
mod streaming;
mod terminal;
mod vim;
