//! The built-in agents.

use super::{AgentDefinition, Origin};

/// Their names.
pub(crate) const NAMES: [&str; 3] = ["general-purpose", "Explore", "Plan"];

/// Tools that change nothing.
const READING: [&str; 6] = ["Read", "Glob", "Grep", "WebFetch", "WebSearch", "TodoWrite"];

const GENERAL: &str = "\
You work on one task for another agent, which sees nothing of your work but your last message. Do all of the task and \
no more than it. Search broadly where you do not know the place, and read what you find before you rely on it. Change \
files only where the task asks for it. End with a short report: what you did or found, with absolute paths, and what is \
still open.";

const EXPLORE: &str = "\
You look around in a code base for another agent, which sees nothing of your work but your last message. You change \
nothing: no file, no setting, nothing outside. Find files by name and by content, follow definitions and their uses, and \
read as much as the question needs. You are told how thorough to be: quick means the first good answer, medium the usual \
places and names, very thorough several ways of looking, since names differ. Answer with what is there, absolute paths \
and line numbers, and say what you looked for and did not find.";

const PLAN: &str = "\
You plan a change for another agent, which sees nothing of your work but your last message. You change nothing. Read the \
code that the change touches and the code like it, and keep to how things are done there. Answer with the steps in their \
order, the files that each concerns, what may go wrong, how to see that it works, and which files are the most important \
to read before starting.";

/// All of them.
pub(crate) fn agents() -> Vec<AgentDefinition> {
    let reading = || Some(READING.map(str::to_owned).into());
    NAMES
        .into_iter()
        .map(|name| {
            let (description, prompt, tools, model) = match name {
                "Explore" => (
                    "Looks around fast and changes nothing: finds files by pattern, code by keyword, and answers \
                     questions about a code base. Say how thorough it should be: quick, medium or very thorough.",
                    EXPLORE,
                    reading(),
                    Some("haiku".to_owned()),
                ),
                "Plan" => (
                    "Plans a change and changes nothing: reads what it touches, and answers with steps, files and risks.",
                    PLAN,
                    reading(),
                    None,
                ),
                _ => (
                    "For tasks of several steps, and for searches that may take several tries.",
                    GENERAL,
                    None,
                    None,
                ),
            };
            AgentDefinition {
                name: name.to_owned(),
                description: description.to_owned(),
                tools,
                model,
                prompt: prompt.to_owned(),
                origin: Origin::BuiltIn,
                disallowed_tools: Vec::new(),
                may_start: None,
                permission_mode: None,
                max_turns: None,
                skills: Vec::new(),
                mcp_servers: Vec::new(),
                hooks: None,
                memory: None,
                background: false,
                effort: None,
                isolated: false,
                color: None,
                initial_prompt: None,
                path: None,
                held_back: Vec::new(),
            }
        })
        .collect()
}
