//! Reads what a server offers: tools, prompts and resources, page by page and with limits.

use std::collections::HashSet;

use ona_types::whole_words;
use rmcp::RoleClient;
use rmcp::ServiceError;
use rmcp::model::{
    ClientRequest, PaginatedRequestParams, Prompt, RequestOptionalParam, Resource,
    ResourceTemplate, Tool,
};
use rmcp::service::Peer;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tracing::debug;

use super::error::McpError;
use super::names::{tool_name, tool_names};

/// Pages of one list.
const MAX_PAGES: usize = 100;
/// Things in one list.
const MAX_ITEMS: usize = 10_000;
/// The longest description and the longest instructions, in bytes.
pub(crate) const MAX_TEXT: usize = 2 << 10;
/// The longest name of a tool.
const MAX_NAME: usize = 256;
/// What is shown of a name.
const SHOWN_NAME: usize = 80;
/// The limit for warnings about tools that are left out.
const MAX_WARNINGS: usize = 20;
/// The largest schema of a tool, in bytes: each is sent to the model with every question.
const MAX_SCHEMA: usize = 256 << 10;
/// The upper limit for a tool's own result limit, in characters.
const MAX_RESULT_CHARS: u64 = 500_000;
/// Where a tool says how long its results may be.
const RESULT_CHARS: &str = "anthropic/maxResultSizeChars";

/// A tool of a server.
#[derive(Clone, Debug, PartialEq)]
pub struct McpTool {
    /// The server.
    pub server: String,
    /// What the server calls it.
    pub name: String,
    /// Its name for models: `mcp__<server>__<tool>`.
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

/// The shape of addresses of a server's resources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpTemplate {
    /// The server.
    pub server: String,
    /// The shape (RFC 6570).
    pub uri_template: String,
    /// What it is called.
    pub name: String,
    /// What is there, cut at 2 KB.
    pub description: Option<String>,
    /// What kind it is.
    pub mime: Option<String>,
}

/// Whose list is read.
#[derive(Clone, Copy)]
pub(crate) struct Whose<'a> {
    pub(crate) server: &'a str,
    pub(crate) slug: &'a str,
    pub(crate) peer: &'a Peer<RoleClient>,
}

impl Whose<'_> {
    /// The server's tools, and warnings about those that are left out because no model could use them.
    pub(crate) async fn tools(self) -> Result<(Vec<McpTool>, Vec<String>), McpError> {
        let request = |params| ClientRequest::ListToolsRequest(with(params));
        let Listed { items, mut left_out } = self.list::<Tool>("tools", request).await?;
        let mut seen = HashSet::new();
        let mut found = Vec::new();
        for tool in items {
            let why = match unfit(&tool) {
                None if !seen.insert(tool.name.clone()) => Some("another tool has the same name"),
                why => why,
            };
            match why {
                None => found.push(tool),
                Some(why) => left_out.push(format!("`{}` is left out: {why}", short(&tool.name))),
            }
        }
        let names: Vec<&str> = found.iter().map(|tool| &*tool.name).collect();
        let full = tool_names(self.slug, self.server, &names);
        let tools = found.into_iter().zip(full).map(|(tool, full)| self.tool(tool, full));
        let said = left_out.into_iter().take(MAX_WARNINGS).map(|said| format!("the tool {said}"));
        Ok((tools.collect(), said.collect()))
    }

    /// The server's prompts.
    pub(crate) async fn prompts(self) -> Result<Vec<McpPrompt>, McpError> {
        let request = |params| ClientRequest::ListPromptsRequest(with(params));
        let found = self.list("prompts", request).await?;
        Ok(found.items.into_iter().map(|prompt| self.prompt(prompt)).collect())
    }

    /// The server's resources.
    pub(crate) async fn resources(self) -> Result<Vec<McpResource>, McpError> {
        let request = |params| ClientRequest::ListResourcesRequest(with(params));
        let found = self.list("resources", request).await?;
        Ok(found.items.into_iter().map(|resource| self.resource(resource)).collect())
    }

    /// The shapes of addresses that the server has more resources at.
    pub(crate) async fn templates(self) -> Result<Vec<McpTemplate>, McpError> {
        let request = |params| ClientRequest::ListResourceTemplatesRequest(with(params));
        let found = self.list("resourceTemplates", request).await?;
        Ok(found.items.into_iter().map(|template| self.template(template)).collect())
    }

    /// All pages of a list, up to a limit. It is parsed item by item: an invalid item
    /// does not affect the others.
    async fn list<T: DeserializeOwned>(
        self,
        key: &str,
        request: impl Fn(PaginatedRequestParams) -> ClientRequest,
    ) -> Result<Listed<T>, McpError> {
        let refused = |error| McpError::of(self.server, error);
        let mut list = Listed { items: Vec::new(), left_out: Vec::new() };
        let mut cursors = HashSet::new();
        let mut cursor = None;
        for _ in 0..MAX_PAGES {
            let mut params = PaginatedRequestParams::default();
            params.cursor = cursor;
            let page = self.peer.send_request(request(params)).await.map_err(refused)?;
            let mut page = serde_json::to_value(page).unwrap_or_default();
            let Some(Value::Array(things)) = page.get_mut(key).map(Value::take) else {
                return Err(refused(ServiceError::UnexpectedResponse));
            };
            for thing in things {
                list.add(thing);
            }
            match page.get("nextCursor").and_then(Value::as_str) {
                // A repeated cursor would loop forever.
                Some(next) if list.items.len() < MAX_ITEMS && cursors.insert(next.to_owned()) => {
                    cursor = Some(next.to_owned());
                }
                _ => break,
            }
        }
        list.items.truncate(MAX_ITEMS);
        Ok(list)
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
                .and_then(|chars| usize::try_from(chars.min(MAX_RESULT_CHARS)).ok()),
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

    fn template(self, template: ResourceTemplate) -> McpTemplate {
        McpTemplate {
            server: self.server.to_owned(),
            uri_template: template.uri_template,
            name: template.name,
            description: template.description.as_deref().map(cut),
            mime: template.mime_type,
        }
    }
}

/// The items of a list, and warnings about invalid ones.
struct Listed<T> {
    items: Vec<T>,
    left_out: Vec<String>,
}

impl<T: DeserializeOwned> Listed<T> {
    fn add(&mut self, thing: Value) {
        let name = thing.get("name").and_then(Value::as_str).map(short);
        match serde_json::from_value(thing) {
            Ok(item) => self.items.push(item),
            Err(error) => {
                let at = self.items.len() + self.left_out.len() + 1;
                let which = name.map_or(format!("no. {at}"), |name| format!("`{name}`"));
                debug!(target: "ona::mcp", which, %error, "left out of a list");
                self.left_out.push(format!("{which} is left out: {error}"));
            }
        }
    }
}

/// A request for a page.
fn with<M: Default>(
    params: PaginatedRequestParams,
) -> RequestOptionalParam<M, PaginatedRequestParams> {
    RequestOptionalParam { params: Some(params), ..Default::default() }
}

/// Why a tool cannot be offered to a model.
fn unfit(tool: &Tool) -> Option<&'static str> {
    let schema = || serde_json::to_string(&*tool.input_schema).unwrap_or_default();
    match tool.name.len() {
        0 => Some("it has no name"),
        length if length > MAX_NAME => Some("its name is too long"),
        _ if schema().len() > MAX_SCHEMA => Some("its schema is too large"),
        _ => None,
    }
}

/// A name as it is shown.
fn short(name: &str) -> String {
    name.chars().take(SHOWN_NAME).collect()
}

/// A text, as far as it may go.
pub(crate) fn cut(text: &str) -> String {
    if text.len() <= MAX_TEXT {
        return text.to_owned();
    }
    const MARK: &str = " […]";
    let cut = &text[..text.floor_char_boundary(MAX_TEXT - MARK.len())];
    let whole = whole_words(text, cut.chars().count());
    format!("{}{MARK}", whole.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(cut("short"), "short");
        let long = cut(&"é".repeat(MAX_TEXT));
        assert!(long.len() <= MAX_TEXT && long.ends_with(" […]"));
        let key = "sk-ant-0123456789";
        let told = cut(&format!("{} {key}", "word ".repeat(MAX_TEXT / 5 - 2)));
        assert!(!told.contains("sk-"), "part of a key would not be recognised later: {told}");
    }
}
