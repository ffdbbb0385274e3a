//! An interactive session: what the operator types, and what becomes of it.
//!
//! [`Console`] reads operations and runs turns, calls of the operator and slash commands, also while a turn runs. It is
//! the core behind any interactive front-end: it prints nothing, and everything it says is an event. [`COMMANDS`] is
//! the table of slash commands. What only the program knows comes through the trait [`Outside`].

mod act;
mod closed;
mod console;
mod desk;
mod files;
mod mentions;
mod opened;
mod outside;
mod rewind;
mod run;
mod status;
mod table;
mod testing;

pub use closed::{CLOSED, Closed};
pub use console::{Console, Next};
pub use outside::{NotSignedIn, Outside, Printed, SigningIn};
pub use table::{COMMANDS, Command, Run, When, find};
