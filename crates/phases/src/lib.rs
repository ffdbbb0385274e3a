//! S0 §8: the phases of a conversation, plans with their success criteria, and behavioural tests whose author has not
//! seen the code.
//!
//! - [`machine`] is the one table of phases, and the one way to move.
//! - [`criteria`] reads the success criteria of a plan and says why it cannot be approved; [`surface`] is the closed set of what
//!   a test may look at; [`plans`] keeps what is there at the approval, with the public [`contracts`] of that time.
//! - [`brief`] is all that the author of the tests is given, and [`blindness`] shows that nothing written since is in it, by
//!   [`fingerprint`]. [`generation`] takes the author's [`answer`]s; [`lint`] refuses tests that show nothing.
//! - [`run`] runs tests, each in a [`room`] of its own; [`coverage`] is the gate, [`report`] what a human approves.
//!
//! It asks no model: whoever does takes the questions from here and brings the answers back. It decides about no tool call: that
//! is the gate's.

pub mod answer;
pub mod blindness;
pub mod brief;
pub mod contracts;
pub mod coverage;
pub mod criteria;
pub mod fingerprint;
pub mod generation;
pub mod lint;
pub mod machine;
pub mod plans;
pub mod report;
pub mod room;
pub mod run;
pub mod surface;
