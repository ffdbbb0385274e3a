//! Which conversation a command is about: the one that is named, else the latest of the directory.

use std::path::PathBuf;

use ona_cli::bootstrap::directory;
use ona_cli::{CliError, Options};
use ona_phases::machine::Work;
use ona_store::{Join, Store};
use ona_types::ConversationId;

/// The conversation, with its project.
pub(crate) fn work<'s>(store: &'s Store, cli: &Options) -> Result<Work<'s>, CliError> {
    let named = cli.conversation.clone().map(ConversationId::from_existing);
    let here = match &named {
        // A conversation that is named may be anywhere.
        Some(_) => PathBuf::from("/"),
        None => directory(cli.cwd.as_deref())?,
    };
    let here = here.to_string_lossy();
    let join = Join { project_dir: &here, conversation: named.as_ref() };
    let (conversation, project) = store.conversation(&join)?.ok_or_else(|| {
        CliError::usage(format!("no conversation in {here} yet"))
            .hint("`ona sessions list --all` lists all sessions; --conversation ID names one")
    })?;
    Ok(Work { store, conversation, project: PathBuf::from(project) })
}
