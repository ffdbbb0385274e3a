//! Commands about who is signed in.

use ona_front::Reply;
use tokio_util::sync::CancellationToken;

use crate::act::Act;
use crate::desk::Desk;
use crate::outside::Outside;

/// `/login`.
pub(super) async fn login<O: Outside>(desk: &Desk<O>, cancel: &CancellationToken) -> Act {
    let layers = desk.session.gate.layers().to_vec();
    match desk.outside.sign_in(layers, &desk.front, cancel).await {
        Ok(text) => Act::Reconnect(Reply::Plain { text }),
        Err(error) => Act::error(error.to_string()),
    }
}

/// `/logout`.
pub(super) async fn logout<O: Outside>(desk: &Desk<O>) -> Act {
    let printed = desk.printed(&["auth", "logout"]).await;
    let text = printed.text.trim_end().to_owned();
    match printed.ok {
        true => Act::Reconnect(Reply::Plain { text }),
        false => Act::error(text),
    }
}
