//! The usage of model calls.

use std::time::Instant;

use ona_front::ModelUsed;
use ona_provider::Answer;
use ona_store::ModelCall;

use crate::model_handle::ModelHandle;

/// The record's row for a model call.
pub(crate) fn call_row(
    model_handle: &ModelHandle,
    purpose: &'static str,
    answer: &Answer,
    duration_ms: u64,
) -> ModelCall {
    ModelCall {
        turn: 0,
        purpose,
        provider: model_handle.model.provider.as_str(),
        model: model_handle.model.wire.clone(),
        duration_ms: i64::try_from(duration_ms).unwrap_or(i64::MAX),
        used: answer.usage,
        cost_usd: model_handle
            .model
            .cost(&answer.usage)
            .map(|tokens| tokens + answer.searches_usd()),
        stop_reason: answer.stop_reason.as_str().to_owned(),
        response_id: answer.id.clone(),
    }
}

/// The usage of a model call for the front-end.
pub(crate) fn usage_of(call: &ModelCall) -> ModelUsed {
    let cost_usd = call.cost_usd.unwrap_or_default();
    ModelUsed { model: call.model.clone(), used: call.used, cost_usd, web_searches: 0 }
}

/// Milliseconds since `since`.
pub(crate) fn millis(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}
