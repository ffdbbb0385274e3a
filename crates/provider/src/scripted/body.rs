//! A response body that follows a plan: bytes, pauses, and a cut.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Bytes, Frame};
use tokio::time::Sleep;

/// One step of a plan.
#[derive(Debug)]
pub(super) enum Step {
    Send(Bytes),
    Pause(Duration),
    /// The connection is closed in the middle of the response.
    Cut,
}

/// The plan, and how far it has got.
#[derive(Debug)]
pub(super) struct Body {
    steps: VecDeque<Step>,
    sleep: Option<Pin<Box<Sleep>>>,
    flushed: bool,
}

impl Body {
    pub(super) fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        Self { steps: steps.into_iter().collect(), sleep: None, flushed: false }
    }

    /// How long its pauses are together.
    pub(super) fn pauses(&self) -> Duration {
        let pauses = self.steps.iter().filter_map(|step| match step {
            Step::Pause(pause) => Some(*pause),
            _ => None,
        });
        pauses.sum()
    }
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        loop {
            if let Some(sleep) = &mut self.sleep {
                if sleep.as_mut().poll(cx).is_pending() {
                    return Poll::Pending;
                }
                self.sleep = None;
            }
            match self.steps.pop_front() {
                None => return Poll::Ready(None),
                Some(Step::Send(bytes)) => return Poll::Ready(Some(Ok(Frame::data(bytes)))),
                Some(Step::Pause(pause)) => self.sleep = Some(Box::pin(tokio::time::sleep(pause))),
                Some(Step::Cut) if self.flushed => {
                    return Poll::Ready(Some(Err(io::ErrorKind::ConnectionAborted.into())));
                }
                // hyper sends what it holds only when there is nothing more to get at the moment.
                Some(Step::Cut) => {
                    self.flushed = true;
                    self.steps.push_front(Step::Cut);
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
            }
        }
    }
}
