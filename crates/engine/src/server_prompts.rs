//! Prompts of MCP servers: `/mcp__server__prompt` and one word per argument.

use ona_mcp::{Body, ContentPart, McpError, PromptArgument, ResourceContent};
use tokio_util::sync::CancellationToken;

use crate::session::SessionRef;

/// Why a prompt of a server cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PromptError {
    #[error("no MCP server is connected")]
    NoServers,
    #[error("unknown prompt `{0}`: no server has prompts")]
    NoPrompts(String),
    #[error("unknown prompt `{name}`; the prompts are {known}")]
    Unknown { name: String, known: String },
    #[error("{name} {missing}")]
    Missing { name: String, missing: String },
    #[error(transparent)]
    Server(#[from] McpError),
}

impl SessionRef<'_> {
    /// The text of a server's prompt.
    pub(crate) async fn expand_server_prompt(
        self,
        name: &str,
        args: &str,
        cancel: &CancellationToken,
    ) -> Result<String, PromptError> {
        let pool = self.gate.pool().ok_or(PromptError::NoServers)?;
        let prompts = pool.prompts();
        let Some(prompt) = prompts.iter().find(|prompt| prompt.full_name == name) else {
            let names: Vec<&str> = prompts.iter().map(|prompt| prompt.full_name.as_str()).collect();
            return Err(match names.is_empty() {
                true => PromptError::NoPrompts(name.to_owned()),
                false => PromptError::Unknown { name: name.to_owned(), known: names.join(", ") },
            });
        };
        let words = ona_extensions::words(args);
        if let Some(missing) = missing(&prompt.arguments, words.len()) {
            return Err(PromptError::Missing { name: name.to_owned(), missing });
        }
        let given = prompt.arguments.iter().zip(words);
        let given = given.map(|(argument, word)| (argument.name.clone(), word)).collect();
        let messages = pool.prompt(&prompt.server, &prompt.name, given, cancel.clone()).await?;
        let texts = messages.into_iter().map(|message| match message.part {
            ContentPart::Text(text) => text,
            ContentPart::Resource(ResourceContent { uri, body: Body::Text(text), .. }) => {
                format!("[{uri}]\n{text}")
            }
            _ => "[content that is not text was left out]".to_owned(),
        });
        Ok(texts.collect::<Vec<_>>().join("\n\n"))
    }
}

/// The missing required arguments, and the optional ones; `None` if all required ones are given.
fn missing(arguments: &[PromptArgument], given: usize) -> Option<String> {
    let names = |required: bool| -> Vec<&str> {
        let rest = arguments.iter().skip(given).filter(|one| one.required == required);
        rest.map(|one| one.name.as_str()).collect()
    };
    let (wanted, optional) = (names(true), names(false));
    match (wanted.is_empty(), optional.is_empty()) {
        (true, _) => None,
        (false, true) => Some(format!("requires {}", wanted.join(", "))),
        (false, false) => {
            Some(format!("requires {} (optional: {})", wanted.join(", "), optional.join(", ")))
        }
    }
}
