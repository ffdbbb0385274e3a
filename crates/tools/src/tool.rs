//! The `Tool` trait, and the adapter that gives every built-in its validation.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;

use ona_effects::Effects;
use ona_types::{ToolOutput, ToolUseId};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::context::{Outputs, Place, ToolContext};
use crate::facts::{AlsoRuled, Facts, ModelNeed, TaskChange};
use crate::input::{self, InputError};
use crate::services::{ServiceError, SessionServices};

/// A tool's run, to be awaited.
pub type Running<'a> = Pin<Box<dyn Future<Output = ToolOutput> + Send + 'a>>;

/// Something the model, or the operator, can call.
///
/// A tool declares here everything the gate or a session needs to know; no other code compares tool names.
pub trait Tool: Send + Sync {
    /// The name in calls, rules and matchers.
    fn name(&self) -> &str;

    /// What it is for, as the model is told.
    fn description(&self) -> &str;

    /// The JSON Schema of its input.
    fn input_schema(&self) -> Value;

    /// Facts that do not depend on the input.
    fn facts(&self) -> Facts;

    /// What the model is told beside the description, in this session.
    fn more_about(&self, _services: &dyn SessionServices) -> String {
        String::new()
    }

    /// Fills in values that the session knows, and removes values that the caller must not set.
    fn complete(&self, _input: &mut Value, _services: &dyn SessionServices) {}

    /// Which check [`Tool::prepare`] makes of an input that passes it, for the record.
    fn input_check(&self) -> &'static str {
        "the input matches the tool's schema"
    }

    /// Validates an input and says what running it in `place` would touch. Changes nothing.
    fn prepare(&self, input: &Value, place: &Place) -> Result<Effects, InputError>;

    /// Why the call cannot succeed in this session, if that is certain: what it names does not exist here.
    fn unusable(&self, _input: &Value, _services: &dyn SessionServices) -> Option<String> {
        None
    }

    /// What else rules may be about in this call, beside the tool itself.
    fn also_ruled_as(&self, _input: &Value, _services: &dyn SessionServices) -> Vec<AlsoRuled> {
        Vec::new()
    }

    /// Why no question is needed, if only the permission mode would ask.
    fn needs_no_question(&self, _input: &Value, _services: &dyn SessionServices) -> Option<String> {
        None
    }

    /// Whether the input already contains the human's answer.
    fn is_answered(&self, _input: &Value) -> bool {
        false
    }

    /// The plan that the call submits.
    fn plan(&self, _input: &Value) -> Option<String> {
        None
    }

    /// The tasks that the call would create or complete.
    fn task_changes(
        &self,
        _input: &Value,
        _call: &ToolUseId,
        _services: &dyn SessionServices,
    ) -> Result<Vec<TaskChange>, ServiceError> {
        Ok(Vec::new())
    }

    /// The command line that the call would run.
    fn command(&self, _input: &Value) -> Option<String> {
        None
    }

    /// Whether the call asks that its command runs outside the sandbox.
    fn leaves_sandbox(&self, _input: &Value) -> bool {
        false
    }

    /// Whether the call starts something that keeps running after it.
    fn runs_in_background(&self, _input: &Value) -> bool {
        false
    }

    /// Whether it asks a model.
    fn model_need(&self, _services: &dyn SessionServices) -> ModelNeed {
        ModelNeed::None
    }

    /// What a file would be after the call, where the input says so.
    fn preview(&self, _input: &Value, _old: Option<&[u8]>) -> Option<Vec<u8>> {
        None
    }

    /// The file that the call shows to the model: instructions and skills may belong to it.
    fn file_shown(&self, _input: &Value) -> Option<String> {
        None
    }

    /// The skill that the call applies.
    fn skill(&self, _input: &Value) -> Option<String> {
        None
    }

    /// The result where a hook answers in the tool's place (`updatedMCPToolOutput`); nothing if that is not possible.
    fn answered_instead(&self, _answer: &Value, _outputs: &Outputs<'_>) -> Option<ToolOutput> {
        None
    }

    /// Runs it. The context has the permit, which only the gate's walk creates; one for another call is refused.
    fn run<'a>(&'a self, input: &'a Value, cx: &'a ToolContext<'a>) -> Running<'a>;
}

/// Why a run failed (S0 §7.1).
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

impl From<ServiceError> for Refusal {
    fn from(error: ServiceError) -> Self {
        Self::Internal(error.to_string())
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
            done.map_err(|error| Refusal::Internal(format!("the tool crashed: {error}")))?
        }
        () = cancel.cancelled() => Err(Refusal::Internal("interrupted".to_owned())),
    }
}

/// A built-in: its parts are known at compile time, its state lives in the context. The methods that are not said here
/// are those of [`Tool`].
pub(crate) trait BuiltIn: Send + Sync + 'static {
    const NAME: &'static str;
    const DESCRIPTION: &'static str;
    const FACTS: Facts;
    type Input: DeserializeOwned + JsonSchema + Send;

    fn more_about(_services: &dyn SessionServices) -> String {
        String::new()
    }

    fn complete(_input: &mut Value, _services: &dyn SessionServices) {}

    fn effects(input: &Self::Input, place: &Place) -> Result<Effects, InputError>;

    fn unusable(_input: &Self::Input, _services: &dyn SessionServices) -> Option<String> {
        None
    }

    fn also_ruled_as(_input: &Self::Input, _services: &dyn SessionServices) -> Vec<AlsoRuled> {
        Vec::new()
    }

    fn needs_no_question(_input: &Self::Input, _services: &dyn SessionServices) -> Option<String> {
        None
    }

    fn is_answered(_input: &Self::Input) -> bool {
        false
    }

    fn plan(_input: &Self::Input) -> Option<String> {
        None
    }

    fn task_changes(
        _input: Self::Input,
        _call: &ToolUseId,
        _services: &dyn SessionServices,
    ) -> Result<Vec<TaskChange>, ServiceError> {
        Ok(Vec::new())
    }

    fn command(_input: &Self::Input) -> Option<String> {
        None
    }

    fn leaves_sandbox(_input: &Self::Input) -> bool {
        false
    }

    fn runs_in_background(_input: &Self::Input) -> bool {
        false
    }

    fn model_need(_services: &dyn SessionServices) -> ModelNeed {
        ModelNeed::None
    }

    fn preview(_input: &Self::Input, _old: Option<&[u8]>) -> Option<Vec<u8>> {
        None
    }

    fn file_shown(_input: &Self::Input) -> Option<String> {
        None
    }

    fn skill(_input: &Self::Input) -> Option<String> {
        None
    }

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

impl<T: BuiltIn> Adapter<T> {
    /// The input as the tool reads it; nothing where it is invalid, which [`Tool::prepare`] tells.
    fn read(input: &Value) -> Option<T::Input> {
        input::parse::<T::Input>(T::NAME, input).ok()
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

    fn facts(&self) -> Facts {
        T::FACTS
    }

    fn more_about(&self, services: &dyn SessionServices) -> String {
        T::more_about(services)
    }

    fn complete(&self, input: &mut Value, services: &dyn SessionServices) {
        T::complete(input, services);
    }

    fn prepare(&self, input: &Value, place: &Place) -> Result<Effects, InputError> {
        T::effects(&input::parse::<T::Input>(T::NAME, input)?, place)
    }

    fn unusable(&self, input: &Value, services: &dyn SessionServices) -> Option<String> {
        T::unusable(&Self::read(input)?, services)
    }

    fn also_ruled_as(&self, input: &Value, services: &dyn SessionServices) -> Vec<AlsoRuled> {
        Self::read(input).map(|input| T::also_ruled_as(&input, services)).unwrap_or_default()
    }

    fn needs_no_question(&self, input: &Value, services: &dyn SessionServices) -> Option<String> {
        T::needs_no_question(&Self::read(input)?, services)
    }

    fn is_answered(&self, input: &Value) -> bool {
        Self::read(input).is_some_and(|input| T::is_answered(&input))
    }

    fn plan(&self, input: &Value) -> Option<String> {
        T::plan(&Self::read(input)?)
    }

    fn task_changes(
        &self,
        input: &Value,
        call: &ToolUseId,
        services: &dyn SessionServices,
    ) -> Result<Vec<TaskChange>, ServiceError> {
        match Self::read(input) {
            Some(input) => T::task_changes(input, call, services),
            None => Ok(Vec::new()),
        }
    }

    fn command(&self, input: &Value) -> Option<String> {
        T::command(&Self::read(input)?)
    }

    fn leaves_sandbox(&self, input: &Value) -> bool {
        Self::read(input).is_some_and(|input| T::leaves_sandbox(&input))
    }

    fn runs_in_background(&self, input: &Value) -> bool {
        Self::read(input).is_some_and(|input| T::runs_in_background(&input))
    }

    fn model_need(&self, services: &dyn SessionServices) -> ModelNeed {
        T::model_need(services)
    }

    fn preview(&self, input: &Value, old: Option<&[u8]>) -> Option<Vec<u8>> {
        T::preview(&Self::read(input)?, old)
    }

    fn file_shown(&self, input: &Value) -> Option<String> {
        T::file_shown(&Self::read(input)?)
    }

    fn skill(&self, input: &Value) -> Option<String> {
        T::skill(&Self::read(input)?)
    }

    fn run<'a>(&'a self, input: &'a Value, cx: &'a ToolContext<'a>) -> Running<'a> {
        Box::pin(async move {
            if let Err(wrong) = cx.permit.check(T::NAME, input) {
                return ToolOutput::internal(wrong.to_string());
            }
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
