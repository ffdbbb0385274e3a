//! The terminal interface: views over [`ona_front::Op`] and [`ona_front::Event`].
//!
//! Nothing is decided here. Everything that is shown comes as an event, and everything that the user does becomes an
//! operation, so that any other front-end could do the same. [`App`] is the state and draws itself; [`run`] is the loop
//! around it and the terminal; [`line_mode`] is the line mode for terminals that cannot move a cursor.

pub mod ansi;
pub mod app;
pub mod background;
pub mod blocks;
mod clipboard;
pub mod dialog;
pub mod diff_view;
mod dropped;
pub mod field;
mod hangup;
pub mod line_mode;
pub mod live;
pub mod menu;
pub mod pager;
pub mod platform;
pub mod popup;
mod runner;
pub mod screen;
pub mod status_bar;
pub mod terminal;
pub mod tool_view;

pub use app::{App, Effect};
pub use platform::{Facts, Notifies, OutsideError, Platform};
pub use runner::{Ended, run};
