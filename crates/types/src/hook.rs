//! Types of the hook contract: S0 §3 (events), §6 and Appendix A (stdin), Appendix B (stdout).

mod event;
mod input;
mod invocation;
mod output;

pub use event::{HookEvent, UnknownEvent};
pub use input::{
    CompactTrigger, ConfigSource, ElicitationAction, ElicitationMode, FileEvent, HookBase,
    HookDetail, HookInput, LoadReason, MemoryType, SessionEndReason, SetupTrigger, StartSource,
    StopError,
};
pub use invocation::HookInvocation;
pub use output::{
    Decision, HookOutput, HookSpecificOutput, PermissionDecision, RequestDecision, SyncOutput,
};
