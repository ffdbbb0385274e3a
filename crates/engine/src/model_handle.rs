//! The model of a session, and its cost.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ona_front::ModelUsed;
use ona_provider::{Client, Model, ModelError};
use ona_types::Effort;

/// The thinking budget where thinking is on and no budget is given, in tokens.
pub const USUAL_THINKING: u32 = 10_000;

/// Finds a model of the same provider by name.
pub type FindModel = Arc<dyn Fn(&str) -> Result<Model, ModelError> + Send + Sync>;

/// A model, and how to call it.
#[derive(Clone)]
pub struct ModelHandle {
    /// The client of the provider.
    pub client: Arc<Client>,
    /// The model.
    pub model: Model,
    /// The output token limit of one answer.
    pub max_output: u32,
    /// The part of it for thinking.
    pub thinking: Option<u32>,
    /// The reasoning effort.
    pub effort: EffortSetting,
    /// Finds other models of the same provider.
    pub find: FindModel,
    /// Usage outside the turn's own model calls: by hooks, compactions and subagents.
    pub side_usage: Arc<Mutex<Vec<ModelUsed>>>,
    /// The cost of everything that works on the same prompt.
    pub budget: Arc<SharedBudget>,
}

/// The requested reasoning effort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EffortSetting {
    /// Set by the operator for this run; files do not override it.
    Fixed(Effort),
    /// Set by the settings, or not at all; a file may override it.
    Open(Option<Effort>),
}

impl EffortSetting {
    /// The effort, if one is set.
    pub fn effort(self) -> Option<Effort> {
        match self {
            Self::Fixed(effort) => Some(effort),
            Self::Open(effort) => effort,
        }
    }

    /// The effort with an override from a file, if the file has one.
    fn or(self, file: Option<Effort>) -> Self {
        match (self, file) {
            (Self::Open(_), Some(effort)) => Self::Open(Some(effort)),
            (setting, _) => setting,
        }
    }
}

/// The shared cost of an agent and its subagents.
#[derive(Debug, Default)]
pub struct SharedBudget(Mutex<f64>);

impl SharedBudget {
    pub(crate) fn spend(&self, cost_usd: f64) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) += cost_usd;
    }

    pub(crate) fn spent(&self) -> f64 {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for ModelHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelHandle").field("model", &self.model).finish_non_exhaustive()
    }
}

impl ModelHandle {
    /// The same handle for another model.
    pub(crate) fn for_model(&self, name: &str) -> Result<Self, ModelError> {
        let model = (self.find)(name)?;
        let max_output = model.max_output.map_or(self.max_output, |most| most.min(self.max_output));
        let thinking = self.thinking.and_then(|budget| model.thinking(budget, max_output));
        Ok(Self { model, max_output, thinking, ..self.clone() })
    }

    /// Another model in its place. What was spent so far counts on.
    pub(crate) fn replaced_by(&self, new: Self) -> Self {
        let (side_usage, budget) = (Arc::clone(&self.side_usage), Arc::clone(&self.budget));
        Self { side_usage, budget, ..new }
    }

    /// Another effort, chosen by the operator.
    pub(crate) fn set_effort(&mut self, effort: Option<Effort>) {
        self.effort = EffortSetting::Open(effort);
    }

    /// Another thinking budget, as far as the model takes it.
    pub(crate) fn set_thinking(&mut self, budget: Option<u32>) {
        self.thinking = budget.and_then(|budget| self.model.thinking(budget, self.max_output));
    }

    /// The same handle with the effort from a file, if the file has one.
    pub(crate) fn with_effort(self, file: Option<Effort>) -> Self {
        Self { effort: self.effort.or(file), ..self }
    }

    /// The warning if the operator's effort is not supported by the model.
    pub(crate) fn unsupported_effort(&self) -> Option<String> {
        let EffortSetting::Fixed(given) = self.effort else { return None };
        let instead = match self.model.effort(given) {
            Some(taken) if taken == given => return None,
            Some(taken) => format!("supports at most {0}; using {0}", taken.as_str()),
            None => "does not support reasoning effort; ignored".to_owned(),
        };
        Some(format!("--effort {}: {} {instead}", given.as_str(), self.model.wire))
    }

    fn side_usage(&self) -> MutexGuard<'_, Vec<ModelUsed>> {
        self.side_usage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts the cost of a side query against the budget, and adds its usage.
    pub(crate) fn spend_on_side_query(&self, used: ModelUsed) {
        self.budget.spend(used.cost_usd);
        self.add_side_usage(used);
    }

    /// Adds usage whose cost is already counted.
    pub(crate) fn add_side_usage(&self, used: ModelUsed) {
        used.add_to(&mut self.side_usage());
    }

    /// Removes and returns the usage outside the turn.
    pub(crate) fn take_side_usage(&self) -> Vec<ModelUsed> {
        std::mem::take(&mut *self.side_usage())
    }
}
