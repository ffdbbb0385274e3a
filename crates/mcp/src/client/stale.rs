//! Which lists of a server are no longer what they were.

use rmcp::model::ServerNotification;
use tokio::sync::watch;

/// What the server has said of its lists, and what was made of it.
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

    /// Waits until something is stale, and says what is to be read. However often that was said, it is one thing to
    /// do.
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
