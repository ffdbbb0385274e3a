//! The `Tool` trait, and the adapter that gives every built-in its validation.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;

use ona_mcp::Hints;
use ona_policy::{Effects, ToolPermit};
use ona_types::ToolOutput;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::context::{Place, ToolContext};
use crate::input::{self, InputError};

/// A tool's run, to be awaited.
pub type Running<'a> = Pin<Box<dyn Future<Output = ToolOutput> + Send + 'a>>;

/// Who has to be asked before a tool runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Asks {
    /// Whoever the rules name.
    #[default]
    ByRules,
    /// A human, whatever rules, modes and hooks say.
    AHuman,
    /// A human for an answer, unless a hook has given it.
    AnAnswer,
}

/// Something the model, or the operator, can call.
pub trait Tool: Send + Sync {
    /// The name in calls, rules and matchers.
    fn name(&self) -> &str;

    /// What it is for, as the model is told.
    fn description(&self) -> &str;

    /// The JSON Schema of its input.
    fn input_schema(&self) -> Value;

    /// Who has to be asked.
    fn asks(&self) -> Asks {
        Asks::ByRules
    }

    /// What it may do, as clients of other agents are told. What nothing is known of may do anything.
    fn hints(&self) -> Hints {
        Hints::ANYTHING
    }

    /// Validates an input and says what running it in `place` would touch. Changes nothing.
    fn prepare(&self, input: &Value, place: &Place) -> Result<Effects, InputError>;

    /// Runs it, with the permit that only the gate gives. An invalid input is refused here too.
    fn run<'a>(
        &'a self,
        permit: ToolPermit,
        input: &'a Value,
        cx: &'a ToolContext<'a>,
    ) -> Running<'a>;
}

/// Why a run ended without its contract fulfilled (S0 §7.1).
#[derive(Debug)]
pub(crate) enum Refusal {
    /// `tool_rejected`: the caller can do something about it.
    Rejected(String),
    /// `internal_failure`: the host failed.
    Internal(String),
}

impl Refusal {
    pub(crate) fn rejected(message: impl Into<String>) -> Self {
        Self::Rejected(message.into())
    }
}

/// Runs work that may wait for a slow disk off the async threads. An interrupt does not wait for it: the
/// thread is left to itself.
pub(crate) async fn blocking<T: Send + 'static>(
    cancel: &CancellationToken,
    work: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    tokio::select! {
        biased;
        done = tokio::task::spawn_blocking(work) => {
            done.map_err(|error| Refusal::Internal(format!("the tool broke off: {error}")))?
        }
        () = cancel.cancelled() => Err(Refusal::Internal("interrupted".to_owned())),
    }
}

/// A built-in: its parts are known at compile time, its state lives in the context.
pub(crate) trait BuiltIn: Send + Sync + 'static {
    const NAME: &'static str;
    const DESCRIPTION: &'static str;
    const ASKS: Asks = Asks::ByRules;
    /// What it may do, whatever its input.
    const HINTS: Hints;
    type Input: DeserializeOwned + JsonSchema + Send;

    fn effects(input: &Self::Input, place: &Place) -> Result<Effects, InputError>;

    fn run(
        input: Self::Input,
        cx: &ToolContext<'_>,
    ) -> impl Future<Output = Result<ToolOutput, Refusal>> + Send;
}

/// Makes a [`Tool`] of a [`BuiltIn`].
pub(crate) struct Adapter<T>(PhantomData<fn() -> T>);

impl<T> Adapter<T> {
    pub(crate) const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T: BuiltIn> Tool for Adapter<T> {
    fn name(&self) -> &str {
        T::NAME
    }

    fn description(&self) -> &str {
        T::DESCRIPTION
    }

    fn input_schema(&self) -> Value {
        schemars::schema_for!(T::Input).to_value()
    }

    fn asks(&self) -> Asks {
        T::ASKS
    }

    fn hints(&self) -> Hints {
        T::HINTS
    }

    fn prepare(&self, input: &Value, place: &Place) -> Result<Effects, InputError> {
        T::effects(&input::parse::<T::Input>(T::NAME, input)?, place)
    }

    fn run<'a>(
        &'a self,
        permit: ToolPermit,
        input: &'a Value,
        cx: &'a ToolContext<'a>,
    ) -> Running<'a> {
        Box::pin(async move {
            // Used up: one permit, one run.
            let ToolPermit { .. } = permit;
            let input = match input::parse::<T::Input>(T::NAME, input) {
                Ok(input) => input,
                Err(error) => return ToolOutput::rejected(error.to_string()),
            };
            match T::run(input, cx).await {
                Ok(output) => output,
                Err(Refusal::Rejected(message)) => ToolOutput::rejected(message),
                Err(Refusal::Internal(message)) => ToolOutput::internal(message),
            }
        })
    }
}
