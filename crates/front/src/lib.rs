//! The contract between the core and its front ends: operations in, events out.
//!
//! The core neither prints nor reads a terminal. It holds a [`CoreEnd`]; a front end (`ona -p`, a terminal, a test)
//! holds a [`ClientHandle`], reads [`Event`]s and sends [`Op`]s. Nothing is decided here, and nothing that is sent counts
//! before it is on the record.
//!
//! ```
//! use ona_front::{Event, Human, Op, channel};
//! let (core, client, mut events) = channel(Human::Nobody);
//! core.tell(Event::Warning { text: "low on disk".to_owned() });
//! assert!(matches!(events.try_recv(), Ok(Event::Warning { .. })));
//! client.send(Op::Interrupt);
//! assert!(core.running().is_cancelled());
//! ```

mod channel;
mod diff;
mod event;
mod form;
mod listed;
mod op;
mod view;

pub use channel::{ClientHandle, CoreEnd, Human, Listener, Ops, Via, channel};
pub use diff::{DiffLine, FileDiff, FileFate, Hunk, Sign};
pub use event::{DeniedCall, Ending, Event, ModelUsed, Refused, TurnEnd, times};
pub use form::{Field, Given, Kind, Question, answered, chosen, fields, form_answer, questions};
pub use listed::listed;
pub use op::{AskRequest, HumanAnswer, Op, StageAnswer, Wants};
pub use view::{
    Choice, CommandInfo, DiffSource, Menu, MenuItem, MenuKey, Preferences, Reply, Shown,
    ShownEntry, Status, TaskInfo,
};
