//! What a server offers: tools, prompts, resources. Lists come in pages, and end somewhere.

use std::collections::HashSet;

use rmcp::RoleClient;
use rmcp::ServiceError;
use rmcp::model::{PaginatedRequestParams, Prompt, Resource, Tool};
use rmcp::service::Peer;
use serde_json::{Map, Value};
use tracing::debug;

use super::error::McpError;
use super::names::{tool_name, tool_names};

/// Pages of one list.
const MOST_PAGES: usize = 100;
/// Things in one list.
const MOST_ITEMS: usize = 10_000;
/// The longest description and the longest instructions, in bytes.
pub(crate) const LONGEST_TEXT: usize = 2 << 10;
/// The longest name of a tool.
const LONGEST_NAME: usize = 256;
/// The largest schema of a tool, in bytes: each is sent to the model with every question.
const LARGEST_SCHEMA: usize = 256 << 10;
/// The most that a tool may ask for its results, in characters.
const MOST_RESULT_CHARS: u64 = 500_000;
/// Where a tool says how long its results may be.
const RESULT_CHARS: &str = "anthropic/maxResultSizeChars";

/// A tool of a server.
#[derive(Clone, Debug, PartialEq)]
pub struct McpTool {
    /// The server.
    pub server: String,
    /// What the server calls it.
    pub name: String,
    /// What models know it by: `mcp__<server>__<tool>`.
    pub full_name: String,
    /// What humans know it by.
    pub title: Option<String>,
    /// What it is for, cut at 2 KB.
    pub description: String,
    /// The JSON schema of its arguments, an object.
    pub input_schema: Map<String, Value>,
    /// Whether the server says that it changes nothing.
    pub read_only: bool,
    /// How long its results may be, in characters, if the server says so.
    pub max_result_chars: Option<usize>,
}

/// A prompt that a server has ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpPrompt {
    /// The server.
    pub server: String,
    /// What the server calls it.
    pub name: String,
    /// What it is called as a command: `mcp__<server>__<prompt>`.
    pub full_name: String,
    /// What humans know it by.
    pub title: Option<String>,
    /// What it is for, cut at 2 KB.
    pub description: String,
    /// What it wants to know.
    pub arguments: Vec<PromptArgument>,
}

/// Something that a prompt wants to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptArgument {
    /// What it is called.
    pub name: String,
    /// What it is.
    pub description: String,
    /// Whether it has to be said.
    pub required: bool,
}

/// A resource of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpResource {
    /// The server.
    pub server: String,
    /// Its address.
    pub uri: String,
    /// What it is called.
    pub name: String,
    /// What humans know it by.
    pub title: Option<String>,
    /// What it is, cut at 2 KB.
    pub description: Option<String>,
    /// What kind it is.
    pub mime: Option<String>,
    /// How large it is, in bytes.
    pub size: Option<u64>,
}

/// Whose list is read.
#[derive(Clone, Copy)]
pub(crate) struct Whose<'a> {
    pub(crate) server: &'a str,
    pub(crate) slug: &'a str,
    pub(crate) peer: &'a Peer<RoleClient>,
}

impl Whose<'_> {
    /// The server's tools. What no model could be offered is left out.
    pub(crate) async fn tools(self) -> Result<Vec<McpTool>, McpError> {
        let page = |cursor| async {
            let page = self.peer.list_tools(Some(cursor)).await?;
            Ok((page.tools, page.next_cursor))
        };
        let mut found = self.pages(page).await?;
        let mut seen = HashSet::new();
        found.retain(|tool: &Tool| offered(tool) && seen.insert(tool.name.clone()));
        let names: Vec<&str> = found.iter().map(|tool| &*tool.name).collect();
        let full = tool_names(self.slug, self.server, &names);
        Ok(found.into_iter().zip(full).map(|(tool, full)| self.tool(tool, full)).collect())
    }

    /// The server's prompts.
    pub(crate) async fn prompts(self) -> Result<Vec<McpPrompt>, McpError> {
        let page = |cursor| async {
            let page = self.peer.list_prompts(Some(cursor)).await?;
            Ok((page.prompts, page.next_cursor))
        };
        let found = self.pages(page).await?;
        Ok(found.into_iter().map(|prompt| self.prompt(prompt)).collect())
    }

    /// The server's resources.
    pub(crate) async fn resources(self) -> Result<Vec<McpResource>, McpError> {
        let page = |cursor| async {
            let page = self.peer.list_resources(Some(cursor)).await?;
            Ok((page.resources, page.next_cursor))
        };
        let found = self.pages(page).await?;
        Ok(found.into_iter().map(|resource| self.resource(resource)).collect())
    }

    /// All pages; or as many as are taken of a list that does not end.
    async fn pages<T, P>(
        self,
        page: impl Fn(PaginatedRequestParams) -> P,
    ) -> Result<Vec<T>, McpError>
    where
        P: Future<Output = Result<(Vec<T>, Option<String>), ServiceError>>,
    {
        let mut items = Vec::new();
        let mut cursors = HashSet::new();
        let mut cursor = None;
        for _ in 0..MOST_PAGES {
            let mut params = PaginatedRequestParams::default();
            params.cursor = cursor;
            let (more, next) =
                page(params).await.map_err(|error| McpError::of(self.server, error))?;
            items.extend(more);
            match next {
                // A cursor that comes again would go on for ever.
                Some(next) if items.len() < MOST_ITEMS && cursors.insert(next.clone()) => {
                    cursor = Some(next);
                }
                _ => break,
            }
        }
        items.truncate(MOST_ITEMS);
        Ok(items)
    }

    fn tool(self, tool: Tool, full_name: String) -> McpTool {
        let hints = tool.annotations.unwrap_or_default();
        let result_chars = tool.meta.as_ref().and_then(|meta| meta.get(RESULT_CHARS)?.as_u64());
        let mut input_schema = (*tool.input_schema).clone();
        // Providers want it said.
        input_schema.entry("type").or_insert_with(|| "object".into());
        McpTool {
            server: self.server.to_owned(),
            name: tool.name.into_owned(),
            full_name,
            title: tool.title.or(hints.title),
            description: cut(tool.description.as_deref().unwrap_or_default()),
            input_schema,
            read_only: hints.read_only_hint.unwrap_or_default(),
            max_result_chars: result_chars
                .and_then(|chars| usize::try_from(chars.min(MOST_RESULT_CHARS)).ok()),
        }
    }

    fn prompt(self, prompt: Prompt) -> McpPrompt {
        let argument = |argument: rmcp::model::PromptArgument| PromptArgument {
            name: argument.name,
            description: cut(argument.description.as_deref().unwrap_or_default()),
            required: argument.required.unwrap_or_default(),
        };
        McpPrompt {
            server: self.server.to_owned(),
            full_name: tool_name(self.slug, &prompt.name),
            name: prompt.name,
            title: prompt.title,
            description: cut(prompt.description.as_deref().unwrap_or_default()),
            arguments: prompt.arguments.unwrap_or_default().into_iter().map(argument).collect(),
        }
    }

    fn resource(self, resource: Resource) -> McpResource {
        McpResource {
            server: self.server.to_owned(),
            uri: resource.uri,
            name: resource.name,
            title: resource.title,
            description: resource.description.as_deref().map(cut),
            mime: resource.mime_type,
            size: resource.size,
        }
    }
}

/// Whether a tool can be offered to a model.
fn offered(tool: &Tool) -> bool {
    let schema = serde_json::to_string(&*tool.input_schema).unwrap_or_default();
    let fits = (1..=LONGEST_NAME).contains(&tool.name.len()) && schema.len() <= LARGEST_SCHEMA;
    if !fits {
        let name: String = tool.name.chars().take(80).collect();
        debug!(target: "ona::mcp", tool = name, "its name or its schema is too long; left out");
    }
    fits
}

/// A text, as far as it may go.
pub(crate) fn cut(text: &str) -> String {
    if text.len() <= LONGEST_TEXT {
        return text.to_owned();
    }
    const MARK: &str = " […]";
    format!("{}{MARK}", &text[..text.floor_char_boundary(LONGEST_TEXT - MARK.len())])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(cut("short"), "short");
        let long = cut(&"é".repeat(LONGEST_TEXT));
        assert!(long.len() <= LONGEST_TEXT && long.ends_with(" […]"));
    }
}
