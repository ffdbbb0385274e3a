//! Signals that end a session: Ctrl-C, a polite kill and a closed terminal.
//!
//! They end the tool, not the record: what runs is cancelled, and its outcome is still written. A thread of their own
//! listens, so that they also act while the session's thread waits for something that never comes. What does not end
//! then is given up in steps: first the git that ona itself started, at last the process.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use ona_front::{ClientHandle, Op};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::time::sleep;

use crate::error::CliError;

/// How long the start of a session may still take after a signal.
const START_GRACE: Duration = Duration::from_secs(2);

/// How long git may still answer.
const GIT_GRACE: Duration = Duration::from_secs(3);

/// How long the rest may take: hooks, background commands, servers.
const LAST_GRACE: Duration = Duration::from_secs(17);

/// Two interrupts within this time end the program, whatever the first one does.
const PAIR: Duration = Duration::from_millis(1500);

/// What an interrupt does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstInterrupt {
    /// It ends the program.
    Ends,
    /// It ends what runs; two in a row end the program.
    Interrupts,
}

/// Listens for the signals.
#[derive(Clone)]
pub struct Interrupts {
    /// The number of the signal that came, or 0.
    came: watch::Receiver<u8>,
}

impl Interrupts {
    /// Listens from here on; the first signal ends what runs. `give_up` ends the process if nothing else does.
    pub fn listen(remote: &ClientHandle, give_up: fn(u8)) -> Result<Self, CliError> {
        Self::listen_with(remote, give_up, FirstInterrupt::Ends)
    }

    /// The same; an interrupt (Ctrl-C) may end only what runs.
    pub fn listen_with(
        remote: &ClientHandle,
        give_up: fn(u8),
        first: FirstInterrupt,
    ) -> Result<Self, CliError> {
        let failed = |error: &dyn std::fmt::Display| {
            CliError::failed(format!("cannot listen for signals: {error}"))
        };
        let (sender, came) = watch::channel(0);
        let (ready, is_ready) = mpsc::channel();
        let remote = remote.clone();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime = match runtime {
                Ok(runtime) => runtime,
                Err(error) => return drop(ready.send(Err(error))),
            };
            runtime.block_on(async {
                let mut signals = match Signals::new() {
                    Ok(signals) => signals,
                    Err(error) => return drop(ready.send(Err(error))),
                };
                let _ = ready.send(Ok(()));
                let number = match first {
                    FirstInterrupt::Ends => signals.next().await,
                    FirstInterrupt::Interrupts => signals.next_after_interrupts(&remote).await,
                };
                sender.send_replace(number);
                remote.send(Op::Quit);
                // The interface waits for it.
                ona_sandbox::end_editor();
                sleep(GIT_GRACE).await;
                ona_repo::git::give_up();
                sleep(LAST_GRACE).await;
                give_up(number);
            });
        });
        match is_ready.recv() {
            Ok(Ok(())) => Ok(Self { came }),
            Ok(Err(error)) => Err(failed(&error)),
            Err(error) => Err(failed(&error)),
        }
    }

    /// The number of the signal, if one came.
    pub fn signal(&self) -> Option<u8> {
        Some(*self.came.borrow()).filter(|number| *number > 0)
    }

    /// Waits for the start of a session; not much longer once a signal came.
    pub async fn starting<T>(&self, start: impl Future<Output = T>) -> Option<T> {
        let mut came = self.came.clone();
        let too_long = async {
            if came.wait_for(|number| *number > 0).await.is_err() {
                std::future::pending::<()>().await;
            }
            sleep(START_GRACE).await;
        };
        tokio::select! {
            biased;
            started = start => Some(started),
            () = too_long => None,
        }
    }
}

struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
    quit: Signal,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
            quit: signal(SignalKind::quit())?,
        })
    }

    /// The number of the next one that ends the program. Until then an interrupt ends only what runs.
    async fn next_after_interrupts(&mut self, remote: &ClientHandle) -> u8 {
        let mut last: Option<Instant> = None;
        loop {
            let number = self.next().await;
            let again = last.replace(Instant::now()).is_some_and(|last| last.elapsed() < PAIR);
            if number != 2 || again {
                return number;
            }
            remote.send(Op::Interrupt);
        }
    }

    /// The number of the next one.
    async fn next(&mut self) -> u8 {
        tokio::select! {
            _ = self.interrupt.recv() => 2,
            _ = self.terminate.recv() => 15,
            _ = self.hangup.recv() => 1,
            _ = self.quit.recv() => 3,
        }
    }
}
