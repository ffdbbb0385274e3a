//! Lists of a server that is connected are read anew whenever it says that they changed.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::SubscriptionFilter;
use tokio::task::JoinHandle;
use tracing::debug;

use super::connect::Link;
use super::lists::Whose;
use super::server::{Server, View};
use super::stale::Lists;

/// The least time between two readings of a list, however often a server says that it changed.
const READING_PAUSE: Duration = Duration::from_millis(100);

/// A task that ends with this.
pub(crate) struct Reading(JoinHandle<()>);

impl Reading {
    pub(crate) fn start(server: &Arc<Server>, link: &Arc<Link>) -> Self {
        Self(tokio::spawn(read_anew(Arc::clone(server), Arc::clone(link))))
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Reads lists anew whenever the server says that they changed.
async fn read_anew(server: Arc<Server>, link: Arc<Link>) {
    let peer = link.running.peer();
    // Without `initialize`, change notifications must be requested.
    let subscribes = peer.peer_info().is_some_and(|info| !info.protocol_version.has_initialize());
    let listening = async {
        if subscribes {
            listen(&link).await;
        }
        std::future::pending::<()>().await;
    };
    let reading = async {
        loop {
            let lists = link.stale.next().await;
            let within = server.spec.call_timeout;
            if tokio::time::timeout(within, read(&server, &link, lists)).await.is_err() {
                debug!(target: "ona::mcp", server = server.spec.name, "its lists did not come");
            }
            link.stale.done();
            tokio::time::sleep(READING_PAUSE).await;
        }
    };
    tokio::select! { () = listening => {}, () = reading => {} }
}

/// Has the server tell of changes. What it tells is heard on the way.
async fn listen(link: &Link) {
    let filter = SubscriptionFilter::builder()
        .tools_list_changed()
        .prompts_list_changed()
        .resources_list_changed()
        .build();
    let Ok(mut news) = link.running.peer().listen(filter).await else { return };
    while let Ok(Some(_)) = news.next().await {}
}

/// Reads lists. One that cannot be read stays as it was.
async fn read(server: &Server, link: &Arc<Link>, lists: Lists) {
    let whose = Whose { server: &server.spec.name, slug: &server.slug, peer: link.running.peer() };
    // Only of the connection that there still is.
    let still = |view: &View| view.link.as_ref().is_some_and(|now| Arc::ptr_eq(now, link));
    if lists.tools
        && let Ok((tools, left_out)) = whose.tools().await
    {
        server.change(|view| {
            if still(view) {
                view.tools = Arc::new(tools);
                view.left_out = left_out;
            }
        });
    }
    if lists.prompts
        && let Ok(prompts) = whose.prompts().await
    {
        server.change(|view| {
            if still(view) {
                view.prompts = Arc::new(prompts);
            }
        });
    }
    if lists.resources
        && let Ok(templates) = whose.templates().await
    {
        server.change(|view| {
            if still(view) {
                view.templates = Arc::new(templates);
            }
        });
    }
    if lists.resources
        && let Ok(resources) = whose.resources().await
    {
        server.change(|view| {
            if still(view) {
                view.resources = Arc::new(resources);
            }
        });
    }
}
