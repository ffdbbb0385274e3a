//! What kinds of agents a session can start, and what each may use of what the session has.

use ona_tools::Tool;

use crate::extensions::{AgentDefinition, tools_for};
use crate::mcp::PREFIX;
use crate::session::Session;

/// As much of what an agent is for is told, and of all of them together, in characters: files of a repository must not
/// fill the context.
const LONGEST_DESCRIPTION: usize = 1_000;
const ALL_KINDS: usize = 20_000;

/// What no agent has that a call started: plans are made and approved where the user is.
const NOT_FOR_AGENTS: &[&str] = &["EnterPlanMode", "ExitPlanMode"];

impl Session {
    /// What a tool is for, as the model is told: of some, what there is in this session.
    pub(crate) fn describe(&self, tool: &dyn Tool) -> String {
        let mut text = tool.description().to_owned();
        if tool.name() == "Agent" {
            text.push_str("\nThe kinds of agents:");
            for kind in self.extensions_now().agents.iter().filter(|kind| self.may_start(kind)) {
                let about: String = kind.description.chars().take(LONGEST_DESCRIPTION).collect();
                if text.len() + about.len() > ALL_KINDS {
                    text.push_str("\n(and others, which `ona agents` lists)");
                    break;
                }
                text.push_str(&format!("\n- {}: {about}", kind.name));
            }
        }
        if tool.name() == "ToolSearch" {
            text.push_str(&self.servers_to_search());
        }
        text
    }

    /// The kind of this name.
    pub(crate) fn kind(&self, name: &str) -> Result<AgentDefinition, String> {
        let extensions = self.extensions_now();
        let found = extensions.agent(name).map_err(|error| error.to_string()).and_then(|kind| {
            let why =
                || format!("the agent {} may not start it", self.kind_here().unwrap_or("here"));
            if self.may_start(kind) { Ok(kind.clone()) } else { Err(why()) }
        });
        found.map_err(|error| {
            let kinds = extensions.agents.iter().filter(|kind| self.may_start(kind));
            let names: Vec<&str> = kinds.map(|kind| kind.name.as_str()).collect();
            format!("{error}; there are {}", names.join(", "))
        })
    }

    /// Whether the role leaves this kind to be started: `Agent(a, b)` names the only ones.
    fn may_start(&self, kind: &AgentDefinition) -> bool {
        let only = self.role.as_ref().and_then(|role| role.may_start.as_ref());
        only.is_none_or(|only| only.contains(&kind.name))
    }

    /// The tools of an agent of this kind, which works in that session: what this one has, and what servers of its own
    /// bring.
    pub(crate) fn tools_of(&self, kind: &AgentDefinition, theirs: &Self) -> Vec<String> {
        let mine = self.offered();
        let has = |tool: &String| match self.server_tool(tool) {
            Some(_) => mine.contains(tool),
            None => !self.denies_tool(tool),
        };
        let built_in = mine.iter().filter(|tool| !tool.starts_with(PREFIX)).cloned();
        let all: Vec<String> =
            built_in.chain(theirs.server_tools().into_iter().filter(has)).collect();
        let mut tools = tools_for(kind, &all);
        tools.retain(|tool| !NOT_FOR_AGENTS.contains(&tool.as_str()));
        tools
    }
}
