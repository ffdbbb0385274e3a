//! Errors of the command line: what went wrong, why, and what to do.

use std::fmt;
use std::process::ExitCode;

use ona_engine::{AgentError, RoleFrom, SeatError, StartError};
use ona_gate::call::CallError;
use ona_gate::governance::GovernanceError;
use ona_store::StoreError;
use ona_tools::STRUCTURED_OUTPUT;

/// The kinds of failure the exit code tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It did not work.
    Failed,
    /// The command line or the configuration is wrong; nothing was tried.
    Usage,
}

impl Kind {
    pub fn exit_code(self) -> ExitCode {
        ExitCode::from(match self {
            Self::Failed => 1,
            Self::Usage => 2,
        })
    }
}

/// The one error of the command line.
#[derive(Debug)]
pub struct CliError {
    pub kind: Kind,
    message: String,
    hints: Vec<String>,
}

impl CliError {
    pub fn usage(message: impl Into<String>) -> Self {
        Self { kind: Kind::Usage, message: message.into(), hints: Vec::new() }
    }

    pub fn failed(message: impl Into<String>) -> Self {
        Self { kind: Kind::Failed, message: message.into(), hints: Vec::new() }
    }

    /// What went wrong, without hints.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The error as a warning, where ona continues without what failed.
    pub fn warning(&self, so: &str) -> String {
        let hints: String = self.hints.iter().map(|hint| format!("hint: {hint}\n")).collect();
        format!("warning: {so}: {}\n{hints}", self.message)
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "error: {}", self.message)?;
        for hint in &self.hints {
            writeln!(f, "hint: {hint}")?;
        }
        Ok(())
    }
}

impl From<CallError> for CliError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::NotStarted(cause) => cause.into(),
            CallError::OutcomeLost { .. } => Self::failed(error.to_string()).hint(
                "check what it did before you repeat it; `ona doctor` lists it as interrupted",
            ),
        }
    }
}

impl From<GovernanceError> for CliError {
    fn from(error: GovernanceError) -> Self {
        match error {
            GovernanceError::Store(cause) => cause.into(),
            GovernanceError::NotTheOperators { .. } => Self::usage(error.to_string())
                .hint("run the command in your own terminal")
                .hint("options that only forbid, such as permissions.deny, are allowed"),
            GovernanceError::Untrusted { .. } => Self::usage(error.to_string())
                .hint("review them, then trust them with `ona trust`")
                .hint("`--trust` or ONA_TRUST=1 trusts them for this run only"),
        }
    }
}

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> Self {
        let kind = if error.is_configuration() { Kind::Usage } else { Kind::Failed };
        Self { kind, message: error.to_string(), hints: vec![error.hint().to_owned()] }
    }
}

impl From<SeatError> for CliError {
    fn from(error: SeatError) -> Self {
        let hint = match &error {
            SeatError::Store(_) => String::new(),
            SeatError::NoneHere { .. } => {
                "remove --continue to start a new session; `ona sessions list` lists the sessions"
                    .to_owned()
            }
            SeatError::Empty | SeatError::Unknown(_) => {
                "`ona sessions list --all` lists all sessions".to_owned()
            }
            SeatError::Ambiguous { .. } => "give more characters of the id".to_owned(),
            SeatError::Foreign { session, host } => {
                format!("continue it in {host}; `ona sessions show {session}` shows it")
            }
        };
        match error {
            SeatError::Store(cause) => cause.into(),
            error => Self::usage(error.to_string()).hint(hint),
        }
    }
}

impl From<AgentError> for CliError {
    fn from(error: AgentError) -> Self {
        match error {
            AgentError::Store(cause) => cause.into(),
            AgentError::InUse { .. } => Self::failed(error.to_string())
                .hint("wait for it to end, or continue in a copy with --fork-session"),
        }
    }
}

impl From<StartError> for CliError {
    fn from(error: StartError) -> Self {
        match error {
            StartError::Seat(cause) => cause.into(),
            StartError::Governance(cause) => cause.into(),
            StartError::Agent(cause) => cause.into(),
            StartError::Store(cause) => cause.into(),
            StartError::RoleSetup(cause) => Self::failed(cause.to_string()),
            StartError::Role { from, .. } => Self::usage(error.to_string()).hint(match from {
                RoleFrom::Session => {
                    "`--agent NAME` continues as another agent; general-purpose has all tools"
                }
                RoleFrom::Option | RoleFrom::Setting => {
                    "`ona agents` lists the agents and their sources"
                }
            }),
            StartError::AnswerDenied => Self::usage(error.to_string()).hint(format!(
                "`ona config list` lists the rules; remove {STRUCTURED_OUTPUT} from permissions.deny and --disallowedTools"
            )),
        }
    }
}
