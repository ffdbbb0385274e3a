//! The progress of a server's call, for the front-end.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ona_front::Event;
use ona_mcp::{OnProgress, Progress};
use ona_types::ToolUseId;

use crate::Gate;

/// At most ten steps per second are shown.
const STEP_EVERY: Duration = Duration::from_millis(100);

/// When the last step was shown.
#[derive(Default)]
struct Pace(Option<Instant>);

impl Pace {
    fn is_due(&mut self, now: Instant) -> bool {
        let due = self.0.is_none_or(|last| now.saturating_duration_since(last) >= STEP_EVERY);
        if due {
            self.0 = Some(now);
        }
        due
    }
}

impl Gate {
    /// Passes the progress that a server reports on to the front-end.
    pub fn on_progress(&self, call: &ToolUseId) -> OnProgress {
        let (front, call) = (self.front.another(), call.clone());
        let pace = Mutex::new(Pace::default());
        Arc::new(move |progress: Progress| {
            let is_last = progress.total == Some(progress.done);
            let mut pace = pace.lock().unwrap_or_else(PoisonError::into_inner);
            if !pace.is_due(Instant::now()) && !is_last {
                return;
            }
            front.tell(Event::ToolProgress {
                id: call.clone(),
                done: progress.done,
                total: progress.total,
                message: progress.message,
            });
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_told_ten_times_a_second_at_most() {
        let (mut pace, start) = (Pace::default(), Instant::now());
        let told = (0..1000_u64).filter(|at| pace.is_due(start + Duration::from_millis(*at)));
        assert_eq!(told.count(), 10);
    }
}
