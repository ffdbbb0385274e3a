//! Notices that the terminal is gone, when no signal says so.

use std::future::pending;
use std::io::{Stdin, stdin};

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// The input of ona, watched for its end. The reader of keys does not tell: it repeats a read that fails without end.
pub struct Hangup(Option<AsyncFd<Stdin>>);

impl Hangup {
    /// Watches standard input. What cannot be watched never hangs up.
    pub fn watch() -> Self {
        #[allow(unsafe_code, reason = "tokio asks for a promise that the input stays open")]
        // SAFETY: nobody closes standard input.
        let input = unsafe { AsyncFd::register_with_interest(stdin(), Interest::READABLE) };
        Self(input.ok())
    }

    /// Waits until the terminal is gone.
    pub async fn wait(&self) {
        let Some(input) = &self.0 else { return pending().await };
        while let Ok(mut guard) = input.readable().await {
            if guard.ready().is_read_closed() {
                return;
            }
            guard.clear_ready();
        }
        pending().await
    }
}
