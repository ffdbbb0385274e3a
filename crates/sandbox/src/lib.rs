//! Child processes: run with capped capture and a deadline, killed with everything they started.
//!
//! [`run`] starts a program in a process group of its own, without the user's terminal ([`own_session`]), keeps at most a cap of each stream and
//! drains the rest, and ends the whole tree on timeout or interrupt. A child that forks away is found
//! by the [`Marker`] in its environment, and leftovers at our own end by the parent relation
//! ([`end_leftovers`]). [`Owner`] names a process so that a later one can tell whether
//! it still lives.
//!
//! It is not the place for policy: whether something may run is decided before it gets here.
#![allow(clippy::disallowed_methods, reason = "this is the crate that starts processes")]

mod child;
pub mod confine;
mod editor;
mod ending;
mod handover;
mod kill;
mod leftover;
mod own_session;
mod owner;
mod supervise;

pub use child::{
    Captured, ChildOutcome, ChildSpec, Ending, Inherits, OnOutput, SpawnError, run, run_observed,
    start_detached,
};
pub use editor::{STOP_AND_CONTINUE, edit, end_editor, suspend};
pub use ending::ending;
pub use handover::{hand_over, handed_over, take_over};
pub use kill::{Marker, adopt_orphans, children_have, is_worked_in, kill_marked, kill_tree};
pub use leftover::end_leftovers;
pub use own_session::own_session;
pub use owner::{Liveness, Owner};
pub use supervise::{
    Supervised, SupervisedEnd, bound_memory, leave_session, no_core_dumps, supervise,
};
