//! The model that a session asks, and what asking it has cost.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ona_front::ModelUsed;
use ona_provider::{Client, Model, ModelError};
use ona_types::Effort;

/// Finds a model of the same provider by its name.
pub type FindModel = Arc<dyn Fn(&str) -> Result<Model, ModelError> + Send + Sync>;

/// Whom to ask, and how.
#[derive(Clone)]
pub struct ModelHandle {
    /// The line to them.
    pub client: Arc<Client>,
    /// Who it is.
    pub model: Model,
    /// How much may be written in one answer.
    pub max_output: u32,
    /// How much of that may be spent on thinking.
    pub thinking: Option<u32>,
    /// How hard they are to think.
    pub effort: EffortWish,
    /// Others who can be reached on the same line.
    pub find: FindModel,
    /// What was spent beside the turns' own questions: on hooks', on compactions and by agents that calls started.
    pub aside: Arc<Mutex<Vec<ModelUsed>>>,
    /// What everybody spends who works for the same prompt.
    pub budget: Arc<SharedBudget>,
}

/// How hard a model is to think, if anybody has said so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EffortWish {
    /// The operator has said it for this run, whatever files say.
    Fixed(Effort),
    /// Settings have said it, or nobody; a file may say otherwise.
    Open(Option<Effort>),
}

impl EffortWish {
    /// What is wished for.
    pub fn effort(self) -> Option<Effort> {
        match self {
            Self::Fixed(effort) => Some(effort),
            Self::Open(effort) => effort,
        }
    }

    /// The same where a file says something, or nothing.
    fn or(self, file: Option<Effort>) -> Self {
        match (self, file) {
            (Self::Open(_), Some(effort)) => Self::Open(Some(effort)),
            (wish, _) => wish,
        }
    }
}

/// What an agent and those it started have spent together.
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
    /// The same line, to a model of another name.
    pub(crate) fn called(&self, name: &str) -> Result<Self, ModelError> {
        let model = (self.find)(name)?;
        let max_output = model.max_output.map_or(self.max_output, |most| most.min(self.max_output));
        let thinking = self.thinking.and_then(|budget| model.thinking(budget, max_output));
        Ok(Self { model, max_output, thinking, ..self.clone() })
    }

    /// The same model, which thinks as hard as a file says, if it says so.
    pub(crate) fn trying(self, file: Option<Effort>) -> Self {
        Self { effort: self.effort.or(file), ..self }
    }

    /// What to warn of if the operator names an effort that the model does not support.
    pub(crate) fn unsupported_effort(&self) -> Option<String> {
        let EffortWish::Fixed(given) = self.effort else { return None };
        let instead = match self.model.effort(given) {
            Some(taken) if taken == given => return None,
            Some(taken) => format!("supports at most {0}; using {0}", taken.as_str()),
            None => "does not support reasoning effort; ignored".to_owned(),
        };
        Some(format!("--effort {}: {} {instead}", given.as_str(), self.model.wire))
    }

    fn aside(&self) -> MutexGuard<'_, Vec<ModelUsed>> {
        self.aside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Spends beside the turn.
    pub(crate) fn add_aside(&self, used: ModelUsed) {
        self.budget.spend(used.cost_usd);
        self.tell_aside(used);
    }

    /// Tells of what was spent beside the turn, and paid already.
    pub(crate) fn tell_aside(&self, used: ModelUsed) {
        used.add_to(&mut self.aside());
    }

    /// What was spent beside since this was last asked.
    pub(crate) fn take_aside(&self) -> Vec<ModelUsed> {
        std::mem::take(&mut *self.aside())
    }
}
