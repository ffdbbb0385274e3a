//! The tools of a session, and which of them are offered.

use std::sync::Arc;

use ona_intents::Workspace;
use ona_policy::Permissions;
use ona_tools::{PREFIX, StructuredOutput, Tool};

use super::intents::select::{ALIAS, SelectActiveIntent};
use super::servers::Connected;
use ona_extensions::AgentDefinition;

/// A tool of a session.
#[derive(Clone)]
pub enum ToolRef {
    /// One that every session has.
    BuiltIn(&'static dyn Tool),
    /// One of this session.
    Own(Arc<dyn Tool>),
}

impl std::ops::Deref for ToolRef {
    type Target = dyn Tool;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::BuiltIn(tool) => *tool,
            Self::Own(tool) => tool.as_ref(),
        }
    }
}

/// The tools of a session.
#[derive(Clone, Debug)]
pub struct Toolbox {
    /// If set, only these tools are offered.
    pub only: Option<Vec<String>>,
    /// The main agent's role, if it has one: it may exclude tools.
    pub role: Option<Arc<AgentDefinition>>,
    /// The tool for a structured answer.
    pub answers: Option<Arc<StructuredOutput>>,
    /// The MCP servers.
    pub servers: Option<Connected>,
    /// The tool that selects intents, if there are any.
    selects: Option<Arc<SelectActiveIntent>>,
    skills_off: bool,
}

impl Toolbox {
    /// The built-in tools.
    pub fn new(skills_off: bool) -> Self {
        Self { only: None, role: None, answers: None, servers: None, selects: None, skills_off }
    }

    /// The toolbox of an agent that a call starts, before its tools are chosen.
    pub(super) fn for_agent(&self) -> Self {
        Self { servers: self.servers.clone(), ..Self::new(self.skills_off) }
    }

    /// Offers the tool that selects intents, if there are any.
    pub(super) fn offer_intents(&mut self, workspace: Option<&Arc<Workspace>>) {
        let tool = |workspace| Arc::new(SelectActiveIntent { workspace });
        self.selects = workspace.cloned().map(tool);
    }

    /// The tools of this session that are neither built in nor a server's.
    fn own(&self) -> impl Iterator<Item = ToolRef> + '_ {
        let answers = self.answers.clone().map(|tool| ToolRef::Own(tool));
        let selects = self.selects.clone().map(|tool| ToolRef::Own(tool));
        answers.into_iter().chain(selects)
    }

    /// The tool of this name; names are case-sensitive.
    pub fn find(&self, name: &str) -> Option<ToolRef> {
        let is_named = |tool: &ToolRef| {
            tool.name() == name || (name == ALIAS && tool.name() == SelectActiveIntent::NAME)
        };
        let built_in = ona_tools::find(name).map(ToolRef::BuiltIn);
        let servers = || self.servers.as_ref()?.tool(name).map(ToolRef::Own);
        built_in.or_else(|| self.own().find(is_named)).or_else(servers)
    }

    /// Whether the operator and the role allow a tool. A role cannot exclude the tools for answers and intents.
    pub fn has(&self, name: &str) -> bool {
        let is_own = || self.own().any(|tool| tool.name() == name);
        self.only.as_ref().is_none_or(|only| only.iter().any(|tool| tool == name))
            && self.role.as_ref().is_none_or(|role| role.has(name) || is_own())
    }

    /// The names of all its tools.
    pub fn names(&self) -> Vec<String> {
        let built_in = ona_tools::TOOLS.iter().map(|tool| tool.name().to_owned());
        let own = self.own().map(|tool| tool.name().to_owned());
        built_in.chain(own).chain(self.server_names()).collect()
    }

    /// The names of all tools of servers.
    pub fn server_names(&self) -> Vec<String> {
        self.servers.as_ref().map(Connected::tool_names).unwrap_or_default()
    }

    /// The tools that may be called: those offered, without those that a rule forbids entirely.
    pub fn offered(&self, permissions: &Permissions) -> Vec<String> {
        let is_offered = |name: &String| {
            // Servers may have thousands of tools, and nothing about them matters here.
            let known = if name.starts_with(PREFIX) { None } else { self.find(name) };
            let facts = known.map(|tool| tool.facts());
            let is_useless = facts.is_some_and(|facts| {
                facts.needs_skills && self.skills_off
                    || facts.needs_servers && self.servers.is_none()
            });
            let rules = facts.map(|facts| facts.for_rules()).unwrap_or_default();
            !is_useless && self.has(name) && !permissions.denies_tool(name, rules)
        };
        self.names().into_iter().filter(is_offered).collect()
    }
}
