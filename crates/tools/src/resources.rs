//! ListMcpResources and ReadMcpResource: the resources of MCP servers.

use ona_effects::Effects;
use ona_mcp::{Hints, McpError, ServerState};
use ona_policy::RuleFacts;
use ona_types::ToolOutput;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::context::{Place, ToolContext};
use crate::facts::{AlsoRuled, Counts, Facts};
use crate::input::InputError;
use crate::mcp::result::{bounded, of_resources};
use crate::mcp::{PREFIX, failed};
use crate::services::SessionServices;
use crate::tool::{BuiltIn, Refusal};

pub(crate) struct ListMcpResources;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListInput {
    /// Only of this server.
    server: Option<String>,
}

impl BuiltIn for ListMcpResources {
    const NAME: &'static str = "ListMcpResources";
    const DESCRIPTION: &'static str = "Lists the resources of one MCP server, or of all: URI, name, type, description. A resource with a uriTemplate instead of a URI can be read at any URI that matches the template.";
    const FACTS: Facts = Facts { needs_servers: true, ..Facts::plain(Hints::READS.far()) };
    type Input = ListInput;

    fn effects(_: &ListInput, _: &Place) -> Result<Effects, InputError> {
        Ok(Effects::default())
    }

    fn unusable(input: &ListInput, services: &dyn SessionServices) -> Option<String> {
        unusable(input.server.as_deref(), services)
    }

    fn also_ruled_as(input: &ListInput, services: &dyn SessionServices) -> Vec<AlsoRuled> {
        match &input.server {
            Some(server) => vec![list_rules(server, Counts::Rules)],
            None => {
                let all = services.server_names().into_iter();
                all.map(|server| list_rules(&server, Counts::UnlessLeftOut)).collect()
            }
        }
    }

    async fn run(input: ListInput, cx: &ToolContext<'_>) -> Result<ToolOutput, Refusal> {
        let pool = cx.services.servers().ok_or_else(none)?;
        let server = input.server.as_deref();
        let refused = |error: McpError| Refusal::rejected(error.to_string());
        let mut resources = pool.resources(server).map_err(refused)?;
        let mut templates = pool.templates(server).map_err(refused)?;
        // What a rule denies is not named either.
        let is_denied =
            |server: &str| cx.services.denies(&list_rules(server, Counts::UnlessLeftOut));
        resources.retain(|one| !is_denied(&one.server));
        templates.retain(|one| !is_denied(&one.server));
        // Their resources are unknown, which is not the same as none.
        let away = pool.statuses().into_iter().filter(|status| {
            server.is_none()
                && !matches!(status.state, ServerState::Connected | ServerState::Disabled)
                && !is_denied(&status.name)
        });
        let away: Vec<String> =
            away.map(|status| format!("The MCP server {} is not available", status.name)).collect();
        if resources.is_empty() && templates.is_empty() && away.is_empty() {
            return Ok(ToolOutput::success("No resources found"));
        }
        let listed = resources.iter().map(|one| {
            json!({
                "uri": one.uri, "name": one.name, "mimeType": one.mime,
                "description": one.description, "server": one.server,
            })
        });
        let shapes = templates.iter().map(|one| {
            json!({
                "uriTemplate": one.uri_template, "name": one.name, "mimeType": one.mime,
                "description": one.description, "server": one.server,
            })
        });
        let lines: Vec<String> =
            listed.chain(shapes).map(|line| line.to_string()).chain(away).collect();
        let text = bounded(lines.join("\n"), cx.settings.mcp_output_chars, &cx.outputs());
        Ok(ToolOutput::success(text).with_detail("resources", resources.len()))
    }
}

pub(crate) struct ReadMcpResource;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadInput {
    /// The server.
    server: String,
    /// The address, as ListMcpResources gives it.
    uri: String,
}

impl BuiltIn for ReadMcpResource {
    const NAME: &'static str = "ReadMcpResource";
    const DESCRIPTION: &'static str = "Reads a resource of an MCP server. Text is returned as it is; anything else is saved to a file.";
    const FACTS: Facts = Facts { needs_servers: true, ..Facts::plain(Hints::READS.far()) };
    type Input = ReadInput;

    fn effects(input: &ReadInput, _: &Place) -> Result<Effects, InputError> {
        for (key, text) in [("server", &input.server), ("uri", &input.uri)] {
            if text.trim().is_empty() {
                return Err(InputError::new(Self::NAME, format!("`{key}` is empty")));
            }
        }
        Ok(Effects::default())
    }

    fn unusable(input: &ReadInput, services: &dyn SessionServices) -> Option<String> {
        unusable(Some(&input.server), services)
    }

    /// A resource that the server has not listed is asked about like its tools: a URI can contain anything. So is one
    /// of a server that is not connected, which cannot tell. What no server has says so itself.
    fn also_ruled_as(input: &ReadInput, services: &dyn SessionServices) -> Vec<AlsoRuled> {
        let listed = services.servers().and_then(|pool| pool.resources(Some(&input.server)).ok());
        let is_listed = listed.is_some_and(|listed| listed.iter().any(|one| one.uri == input.uri));
        let is_free = is_listed || unusable(Some(&input.server), services).is_some();
        let counts = if is_free { Counts::Rules } else { Counts::RulesAndMode };
        let asked = json!({"server": input.server, "uri": input.uri});
        vec![server_rules(&input.server, asked, counts)]
    }

    async fn run(input: ReadInput, cx: &ToolContext<'_>) -> Result<ToolOutput, Refusal> {
        let pool = cx.services.servers().ok_or_else(none)?;
        let read = pool.read(&cx.permit, &input.server, &input.uri, cx.cancel.clone()).await;
        match read {
            Ok(contents) => Ok(of_resources(&contents, &cx.outputs())),
            Err(error) => Ok(failed(&error)),
        }
    }
}

/// Why there are no resources of this server, or of any, in this session.
fn unusable(server: Option<&str>, services: &dyn SessionServices) -> Option<String> {
    let known = services.server_names();
    match server {
        _ if known.is_empty() => Some(NO_SERVER.to_owned()),
        Some(name) if !known.iter().any(|known| known == name) => {
            let (name, known) = (name.to_owned(), known.join(", "));
            Some(McpError::UnknownServer { name, known }.to_string())
        }
        _ => None,
    }
}

/// Rules about a server apply to the list of its resources.
fn list_rules(server: &str, counts: Counts) -> AlsoRuled {
    server_rules(server, json!({ "server": server }), counts)
}

/// Rules about a server apply to its resources.
fn server_rules(server: &str, input: Value, counts: Counts) -> AlsoRuled {
    AlsoRuled {
        name: format!("{PREFIX}{}__resources", ona_mcp::slug(server)),
        facts: RuleFacts::default(),
        input,
        used: "it reads from an MCP server",
        counts,
    }
}

const NO_SERVER: &str = "this session has no MCP server";

fn none() -> Refusal {
    Refusal::rejected(NO_SERVER)
}
