//! The sandbox of tests, and the signals that end a run.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use ona_cli::bootstrap::{self, Operator};
use ona_cli::{CliError, Options};
use ona_engine::{Engine, Prepared, SessionBuilder, Which, Work};
use ona_phases::room::Room;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// A session that is not on the record: for its settings and its model.
pub(crate) fn prepared<'a>(
    engine: &'a Engine,
    cli: &'a Options,
    project: &'a std::path::Path,
) -> Result<Prepared<'a, Operator<'a>>, CliError> {
    SessionBuilder {
        engine,
        starter: Operator { cli },
        cwd: project,
        which: Which::New(None),
        work: Work::Calls,
        origin: "tests",
        name: None,
    }
    .prepare()
}

/// Where the tests of a project run.
pub(crate) fn room(cli: &Options, project: &std::path::Path) -> Result<Room, CliError> {
    let engine = bootstrap::engine(cli)?;
    let prepared = prepared(&engine, cli, project)?;
    prepared.governance().test_room(project).map_err(|why| {
        CliError::failed(format!("tests do not run without a sandbox: {why}"))
            .hint("`ona sandbox status` shows what is missing; installing bubblewrap is enough on most systems")
    })
}

/// Runs something until it ends, or a signal ends it.
pub(crate) fn until_signal<T>(
    work: impl AsyncFnOnce(&CancellationToken) -> Result<T, CliError>,
) -> Result<(T, Option<ExitCode>), CliError> {
    let cancel = CancellationToken::new();
    let came = Arc::new(AtomicU8::new(0));
    let runtime = bootstrap::runtime()?;
    let result = runtime.block_on(async {
        for (kind, number) in
            [(SignalKind::interrupt(), 2), (SignalKind::terminate(), 15), (SignalKind::hangup(), 1)]
        {
            let mut signals = signal(kind)
                .map_err(|error| CliError::failed(format!("cannot listen for signals: {error}")))?;
            let (cancel, came) = (cancel.clone(), Arc::clone(&came));
            tokio::spawn(async move {
                if signals.recv().await.is_some() {
                    came.store(number, Ordering::Relaxed);
                    cancel.cancel();
                }
            });
        }
        work(&cancel).await
    });
    runtime.shutdown_background();
    let code = match came.load(Ordering::Relaxed) {
        0 => None,
        number => Some(ExitCode::from(128 + number)),
    };
    Ok((result?, code))
}
