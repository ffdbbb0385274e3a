//! The hook plane (S0 §5): which hooks an event fires, in which order, and how their answers are merged.
//!
//! [`collect`] reads hooks from settings, in any of the three shapes they come in, and gives each its
//! ordinal. [`HookPlane::fire`] runs those that match an event one at a time in that order, under the
//! spawn contract of S0 §5.11, and merges their answers as §5.6 says. Nothing runs in parallel, so the
//! same hooks and the same input always give the same verdict.
//!
//! It neither writes the record nor decides about the call: it returns a row for every run and every skip
//! in [`Fired`], and the engine does the rest.

mod config;
mod handler;
mod http;
mod judge;
mod matcher;
mod output;
pub mod own_gate;
mod plane;

pub use config::{Condition, Handler, HookEntry, HookLayer, HookWarning, Shell, collect};
pub use judge::{Judge, Judging, Question};
pub use matcher::Matcher;
pub use output::{Stdout, parse_stdout};
#[doc(hidden)]
pub use plane::merge_outcome;
pub use plane::{About, Fired, HOOK_RUN, HookHost, HookPlane, Lookup, Timeouts, runs_of};
