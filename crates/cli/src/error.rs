//! Errors of the command line: what went wrong, why, and what to do.

use std::fmt;
use std::process::ExitCode;

use ona_engine::memory::fields::FieldError;
use ona_engine::{AgentError, RoleFrom, SeatError, StartError};
use ona_files::ReadError;
use ona_gate::call::CallError;
use ona_gate::governance::GovernanceError;
use ona_hosts::install::InstallError;
use ona_hosts::project::ChangeError;
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
    /// The exit code that tells it.
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
    /// The kind of failure.
    pub kind: Kind,
    message: String,
    hints: Vec<String>,
}

impl CliError {
    /// The command line or the configuration is wrong.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { kind: Kind::Usage, message: message.into(), hints: Vec::new() }
    }

    /// It did not work.
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

    /// What went wrong, with hints, one below the other.
    pub fn words(&self) -> String {
        let hints = self.hints.iter().map(|hint| format!("\nhint: {hint}"));
        format!("{}{}", self.message, hints.collect::<String>())
    }

    /// The same with a hint: what to do.
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
            GovernanceError::StartedByAgent { .. } => Self::usage(error.to_string())
                .hint("run the command in your own terminal")
                .hint("options that only forbid, such as permissions.deny, are allowed"),
            GovernanceError::Unread { .. } => Self::usage(error.to_string())
                .hint("fix or remove it: nothing starts without a guard that somebody set up")
                .hint("`-p --ask` asks on the terminal whether to go on without it"),
            GovernanceError::NoSandbox(_) => Self::usage(error.to_string())
                .hint("`ona sandbox status` lists the levels; bubblewrap is a package of that name")
                .hint("without failIfUnavailable, and without a minimum, commands run unconfined, and that is said"),
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
        let hint = match error {
            SeatError::Store(cause) => return cause.into(),
            // It says what to do.
            SeatError::Elsewhere { .. } => return Self::usage(error.to_string()),
            SeatError::NoneHere { .. } => {
                "remove --continue to start a new session; `ona sessions list` lists the sessions"
                    .to_owned()
            }
            SeatError::Empty | SeatError::Unknown(_) => {
                "`ona sessions list --all` lists all sessions".to_owned()
            }
            SeatError::Ambiguous { .. } => "give more characters of the id".to_owned(),
            SeatError::Foreign { ref session, ref host } => {
                format!("continue it in {host}; `ona sessions show {session}` shows it")
            }
        };
        Self::usage(error.to_string()).hint(hint)
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
            StartError::Model { cause, named_in } => {
                let error = Self::usage(cause.to_string()).hint(crate::model::ALLOWED);
                match named_in {
                    Some(file) => error.hint(format!("the model is set in {file}")),
                    None => error,
                }
            }
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

impl From<ChangeError> for CliError {
    fn from(error: ChangeError) -> Self {
        let what = error.to_string();
        let error = match error {
            ChangeError::Write { .. }
            | ChangeError::Read { cause: ReadError::Io(_), .. }
            | ChangeError::Moved { .. } => Self::failed(what),
            _ => Self::usage(what),
        };
        error.hint("nothing was changed")
    }
}

impl From<InstallError> for CliError {
    fn from(error: InstallError) -> Self {
        let what = error.to_string();
        match error {
            InstallError::Change(cause) => cause.into(),
            InstallError::File { .. } => {
                Self::usage(what).hint("nothing was changed; fix the file, then run it again")
            }
            InstallError::HoldsWork { .. } => Self::failed(what)
                .hint("nothing was changed; to remove it anyway, use git")
                .hint("with --tool, only the changes in that agent's files are removed"),
        }
    }
}

impl From<FieldError> for CliError {
    fn from(error: FieldError) -> Self {
        Self::usage(error.to_string()).hint(error.hint())
    }
}
