//! Facts about a tool that rules and modes need. Each tool declares them; no rule compares tool names.

/// What a rule with a pattern, such as `Bash(git *)`, is matched against in a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RuleSubject {
    /// Nothing: rules can only name the tool.
    #[default]
    Name,
    /// The files that it reads: `Read(path)`. Rules that name `Read` alone are about it too.
    Reads,
    /// The files that it writes: `Edit(path)`. Rules that name `Edit` alone are about it too.
    Writes,
    /// The command line: `Bash(pattern)`.
    Command,
    /// The hosts that it reaches: `WebFetch(domain:host)`.
    Domain,
    /// One field of its input: `Agent(type)`, `Skill(name)`.
    Field {
        /// Which one.
        key: &'static str,
        /// What is meant where the input leaves it out.
        default: &'static str,
        /// The field with what is said beside it: a rule that allows the name alone does not allow arguments.
        arguments: Option<&'static str>,
    },
}

/// Facts about a tool that rules and modes need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RuleFacts {
    /// What rules with a pattern are matched against.
    pub subject: RuleSubject,
    /// The mode `plan` denies it (S0 §5.12).
    pub denied_in_plan: bool,
    /// The mode `acceptEdits` allows it inside the working directories (S0 §5.12).
    pub free_in_accept_edits: bool,
}

impl RuleFacts {
    /// A tool that runs command lines.
    pub const COMMAND: Self =
        Self { subject: RuleSubject::Command, denied_in_plan: true, free_in_accept_edits: false };
}

#[cfg(test)]
impl RuleFacts {
    /// The facts of the built-in tool of this name; a test in `ona-tools` keeps them in step.
    pub(crate) fn of_tool(name: &str) -> Self {
        let field = |key, default, arguments| RuleSubject::Field { key, default, arguments };
        let (subject, denied_in_plan, free_in_accept_edits) = match name {
            "Bash" => return Self::COMMAND,
            "Read" => (RuleSubject::Reads, false, true),
            "Glob" | "Grep" => (RuleSubject::Reads, false, false),
            "Write" | "Edit" => (RuleSubject::Writes, true, true),
            "NotebookEdit" => (RuleSubject::Writes, true, false),
            "WebFetch" => (RuleSubject::Domain, false, false),
            "Agent" => (field("subagent_type", "general-purpose", None), false, false),
            "Skill" => (field("skill", "", Some("args")), false, false),
            _ => (RuleSubject::Name, false, false),
        };
        Self { subject, denied_in_plan, free_in_accept_edits }
    }
}
