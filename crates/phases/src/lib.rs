//! S0 §8: the phases of a conversation, plans with their success criteria, and behavioural tests whose author has not
//! seen the code.
//!
//! - [`criteria`] reads the success criteria of a plan and says why it cannot be approved.
//! - [`surface`] is the closed set of what a test may look at.
//!
//! It asks no model: whoever does gets the questions here and brings the answers back. It decides about no tool call: that
//! is the gate's.

pub mod criteria;
pub mod surface;
