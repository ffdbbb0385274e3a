//! The environment variables and options for MCP servers.

use std::time::Duration;

use ona_config::servers::{GivenServers, refuses};
use ona_config::settings;
use ona_gate::servers::Deferral;

use super::{Variable, number, text};
use crate::bootstrap::directory;
use crate::error::CliError;
use crate::options::Options;

const MCP_START: Variable = Variable {
    name: "MCP_TIMEOUT",
    default: "30000",
    meaning: "How long an MCP server may take until it is ready, in milliseconds.",
};
const MCP_CALL: Variable = Variable {
    name: "MCP_TOOL_TIMEOUT",
    default: "120000",
    meaning: "How long a call of an MCP server's tool may take, in milliseconds.",
};

const MCP_WAIT: Variable = Variable {
    name: "ONA_MCP_WAIT_MS",
    default: "5000",
    meaning: "How long the first question to the model waits for MCP servers, in milliseconds. A server that is ready later is used from the next question on.",
};
const TOOL_SEARCH: Variable = Variable {
    name: "ENABLE_TOOL_SEARCH",
    default: "auto:10",
    meaning: "When tools of MCP servers are kept from the model until it looks for them with ToolSearch: `true` always, \
              `false` never, `auto:N` if they would fill more than N percent of its context.",
};
const MCP_OUTPUT: Variable = Variable {
    name: "MAX_MCP_OUTPUT_TOKENS",
    default: "25000",
    meaning: "About how many tokens of an MCP tool's answer the model sees; the whole answer is in a file.",
};

/// Read by ona.
#[cfg(test)]
pub(super) const READ: &[&Variable] =
    &[&MCP_START, &MCP_CALL, &MCP_WAIT, &TOOL_SEARCH, &MCP_OUTPUT];

/// The servers of the command line. A file that cannot be used is an error before anything starts.
pub(super) fn given(cli: &Options) -> Result<GivenServers, CliError> {
    let millis = |variable: &Variable, default: Duration| {
        Ok::<_, CliError>(number(variable)?.map_or(default, Duration::from_millis))
    };
    let mut servers =
        GivenServers { strict: cli.agent.strict_mcp_config, ..GivenServers::default() };
    servers.start_timeout = millis(&MCP_START, servers.start_timeout)?;
    servers.call_timeout = millis(&MCP_CALL, servers.call_timeout)?;
    if cli.agent.mcp_config.is_empty() {
        return Ok(servers);
    }
    let here = directory(cli.cwd.as_deref())?;
    for given in &cli.agent.mcp_config {
        let is_text = settings::is_text(given);
        if let Some(why) = refuses(given, &here) {
            let name = if is_text { String::new() } else { format!(" {given}") };
            return Err(CliError::usage(format!("--mcp-config{name}: {why}"))
                .hint(r#"expected {"mcpServers": {…}}, or a file with it"#));
        }
        servers.configs.push(match is_text {
            true => given.clone(),
            false => here.join(given).to_string_lossy().into_owned(),
        });
    }
    Ok(servers)
}

/// How long the first question waits for servers.
pub fn wait() -> Result<Duration, CliError> {
    Ok(Duration::from_millis(number(&MCP_WAIT)?.unwrap_or(5_000)))
}

/// The output limit in characters, at about four per token.
pub(super) fn output_chars() -> Result<Option<usize>, CliError> {
    let tokens = number(&MCP_OUTPUT)?;
    Ok(tokens.and_then(|tokens| usize::try_from(tokens.saturating_mul(4)).ok()))
}

/// When tools of servers are kept from the model until it looks for them.
pub fn deferral() -> Result<Deferral, CliError> {
    let Some(word) = text(&TOOL_SEARCH)? else { return Ok(Deferral::default()) };
    let percent = |word: &str| word.parse().ok().filter(|percent| *percent <= 100);
    match word.as_str() {
        "true" | "1" => Ok(Deferral::Always),
        "false" | "0" => Ok(Deferral::Never),
        "auto" => Ok(Deferral::default()),
        _ => match word.strip_prefix("auto:").and_then(percent) {
            Some(percent) => Ok(Deferral::Above(percent)),
            None => Err(CliError::usage(format!("ENABLE_TOOL_SEARCH: invalid value `{word}`"))
                .hint("expected true, false, auto, or auto:0 to auto:100")),
        },
    }
}
