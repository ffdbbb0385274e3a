//! Tracks which lists of a server are stale.

use rmcp::model::ServerNotification;
use tokio::sync::watch;

/// Notifications about changed lists, and how far they are handled.
#[derive(Default)]
pub(crate) struct Stale(watch::Sender<State>);

#[derive(Default)]
struct State {
    stale: Lists,
    reading: Lists,
}

/// Lists of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lists {
    pub(crate) tools: bool,
    pub(crate) prompts: bool,
    pub(crate) resources: bool,
}

impl Stale {
    /// Hears what a server says, before anything that it says later is acted on.
    pub(crate) fn hear(&self, said: &ServerNotification) {
        self.0.send_if_modified(|state| {
            match said {
                ServerNotification::ToolListChangedNotification(_) => state.stale.tools = true,
                ServerNotification::PromptListChangedNotification(_) => state.stale.prompts = true,
                ServerNotification::ResourceListChangedNotification(_) => {
                    state.stale.resources = true;
                }
                _ => return false,
            }
            true
        });
    }

    /// Waits until something is stale, and returns what to read. Repeated notifications count as
    /// one.
    pub(crate) async fn next(&self) -> Lists {
        self.until(|state| state.stale != Lists::default()).await;
        let mut lists = Lists::default();
        self.0.send_modify(|state| {
            lists = std::mem::take(&mut state.stale);
            state.reading = lists;
        });
        lists
    }

    /// What was to be read is read, or cannot be.
    pub(crate) fn done(&self) {
        self.0.send_modify(|state| state.reading = Lists::default());
    }

    /// Waits until the tools are known as they are.
    pub(crate) async fn tools_known(&self) {
        self.until(|state| !state.stale.tools && !state.reading.tools).await;
    }

    async fn until(&self, reached: impl FnMut(&State) -> bool) {
        // It cannot fail: the sender is here.
        let _ = self.0.subscribe().wait_for(reached).await;
    }
}
