//! The hook plane (S0 §5): which hooks an event fires, in which order, and how their answers are merged.
//!
//! [`collect`] reads hooks from settings, in any of the three shapes they come in, and gives each its
//! ordinal. [`HookPlane::fire`] runs those that match an event one at a time in that order, under the
//! spawn contract of S0 §5.11, and merges their answers as §5.6 says. Nothing runs in parallel, so the
//! same hooks and the same input always give the same verdict.
//!
//! It returns the hooks' merged decision and a row for every run and every skip in [`Fired`]; the gate acts on them and
//! records them.

mod config;
mod decision;
mod handler;
mod http;
mod judge;
mod matcher;
pub mod own_gate;
mod plane;
mod stdout;

pub use config::{Condition, Handler, HookEntry, HookLayer, HookWarning, Shell, collect};
pub use decision::Fired;
#[doc(hidden)]
pub use decision::merge_outcome;
pub use judge::{Judge, Judging, Question};
pub use matcher::Matcher;
pub use plane::{About, HOOK_RUN, HookHost, HookPlane, Lookup, Timeouts, runs_of};
pub use stdout::{Stdout, parse_stdout};
