//! What known programs do with their arguments.
//!
//! The words of one command go in. Out come the files that it reads and writes, as the words name them, the command
//! lines that it runs, and what its options mean. All of that comes from tables. A program that is not in them is
//! said to be unknown; nothing is guessed in its favour.
//!
//! The crate is pure, and knows neither the disk nor the rest of the command line: which directory a command runs in,
//! what its variables hold and which files are there is up to `ona-effects`.

mod arguments;
pub mod commands;
pub mod files;
pub mod git_options;
mod inner_lines;
mod wrappers;

pub use arguments::{Arguments, Kind, Operands, Program, does_more, known, runs};
pub use inner_lines::inner_lines;
