//! The end of this process, for helpers that no session cancels.

use std::sync::LazyLock;

use tokio_util::sync::CancellationToken;

static ENDING: LazyLock<CancellationToken> = LazyLock::new(CancellationToken::new);

/// Cancelled when this process gives up its helpers because it has to end.
pub fn ending() -> &'static CancellationToken {
    &ENDING
}
