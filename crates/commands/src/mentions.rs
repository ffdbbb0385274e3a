//! What a prompt names with `@`: files, directories, resources of MCP servers and agents.

use std::path::Path;

use ona_tools::names;
use ona_types::shell_quoted;
use serde_json::{Value, json};

use crate::files::absolute;

/// Files that one prompt may attach.
const MAX_MENTIONS: usize = 50;

/// Something that a prompt names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mention {
    /// A call whose result belongs to the prompt.
    Call(&'static str, Value),
    /// An agent that is to be used.
    Agent(String),
    /// What is written like a file and is none.
    Missing(String),
}

/// What a prompt names: from a directory and the home of the user, or among these servers and agents.
pub(crate) fn mentions(
    prompt: &str,
    from: (&Path, Option<&Path>),
    servers: &[String],
    agents: &[String],
) -> Vec<Mention> {
    let mut found = Vec::new();
    for (name, quoted) in names_in(prompt) {
        let meant = meant(&name, from, servers, agents)
            .or_else(|| missing(&name, quoted, from.0).map(Mention::Missing));
        if let Some(mention) = meant
            && !found.contains(&mention)
            && found.len() < MAX_MENTIONS
        {
            found.push(mention);
        }
    }
    found
}

/// The words after an `@` that begins a word, and whether they are in quotes: then it is the text between them.
fn names_in(prompt: &str) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    let mut before = ' ';
    let mut rest = prompt;
    while let Some(at) = rest.find('@') {
        before = rest[..at].chars().next_back().unwrap_or(before);
        rest = &rest[at + 1..];
        if !(before.is_whitespace() || matches!(before, '(' | '[' | '{' | '"' | '\'' | '`')) {
            before = '@';
            continue;
        }
        let quoted = rest.strip_prefix('"');
        let name = match quoted {
            Some(quoted) => quoted.split('"').next().unwrap_or_default(),
            None => {
                let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
                &rest[..end]
            }
        };
        if !name.is_empty() {
            found.push((name.to_owned(), quoted.is_some()));
        }
        before = '@';
    }
    found
}

fn meant(
    name: &str,
    (cwd, home): (&Path, Option<&Path>),
    servers: &[String],
    agents: &[String],
) -> Option<Mention> {
    if let Some((server, uri)) = name.split_once(':')
        && servers.iter().any(|known| known == server)
        && !uri.is_empty()
    {
        let input = json!({"server": server, "uri": uri});
        return Some(Mention::Call(names::READ_MCP_RESOURCE, input));
    }
    let agent = name.strip_prefix("agent-").or(name.strip_suffix(" (agent)"));
    if let Some(agent) = agent.filter(|agent| agents.iter().any(|known| known == agent)) {
        return Some(Mention::Agent(agent.to_owned()));
    }
    // Punctuation after a name belongs to the sentence, unless a file is called so.
    [name, without_punctuation(name)].into_iter().find_map(|name| path_meant(name, cwd, home))
}

fn without_punctuation(name: &str) -> &str {
    name.trim_end_matches([',', '.', ';', ':', '!', '?', ')', ']', '}', '\'', '`', '"'])
}

/// The path that a name is written like. Names of people, packages (`@types/node`) and decorators are none.
fn missing(name: &str, quoted: bool, cwd: &Path) -> Option<String> {
    let name = without_punctuation(name);
    let path = name.split_once("#L").map_or(name, |(path, _)| path);
    if !quoted && path.contains(['(', '"', '<', '=']) {
        return None;
    }
    let from_here = path.split_once('/').is_some_and(|(first, _)| cwd.join(first).is_dir());
    let rooted = ["/", "./", "../", "~/"].iter().any(|root| path.starts_with(root));
    let extension = Path::new(path).extension().is_some_and(|extension| {
        (1..=4).contains(&extension.len())
            && extension.to_str().is_some_and(|e| e.bytes().all(|b| b.is_ascii_alphanumeric()))
    });
    (quoted || rooted || from_here || extension).then(|| path.to_owned())
}

fn path_meant(name: &str, cwd: &Path, home: Option<&Path>) -> Option<Mention> {
    let (path, lines) = match name.rsplit_once("#L") {
        Some((path, lines)) if !cwd.join(name).exists() => (path, Some(lines)),
        _ => (name, None),
    };
    if path.is_empty() {
        return None;
    }
    let whole = absolute(cwd, home, path);
    if whole.is_dir() {
        // Only what is in it, not what is below; directories end with a slash.
        let command = format!("ls -1Ap -- {}", shell_quoted(&whole.to_string_lossy()));
        let description = "List the directory that the user has named";
        let input = json!({"command": command, "description": description});
        return Some(Mention::Call(names::BASH, input));
    }
    if !whole.is_file() {
        return None;
    }
    let mut input = json!({"file_path": whole});
    if let Some((first, last)) = lines.and_then(range) {
        input["offset"] = first.into();
        input["limit"] = (last - first + 1).into();
    }
    Some(Mention::Call(names::READ, input))
}

/// `5`, `5-9` or `5-L9`.
fn range(lines: &str) -> Option<(u64, u64)> {
    let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
    let first: u64 = first.parse().ok().filter(|first| *first > 0)?;
    let last: u64 = last.trim_start_matches('L').parse().ok().filter(|last| *last >= first)?;
    Some((first, last))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_exists_is_meant_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let cwd = dir.path();
        fs::create_dir(cwd.join("src")).unwrap();
        fs::write(cwd.join("src/a b.rs"), "").unwrap();
        fs::write(cwd.join("README.md"), "").unwrap();
        let read = |name: &str| Mention::Call("Read", json!({"file_path": cwd.join(name)}));
        let found = |prompt: &str| {
            mentions(prompt, (cwd, None), &["docs".to_owned()], &["reviewer".to_owned()])
        };
        assert_eq!(found("look at @README.md, please"), [read("README.md")]);
        assert_eq!(found("(@README.md) and @README.md"), [read("README.md")]);
        assert_eq!(found("@\"src/a b.rs\""), [read("src/a b.rs")]);
        assert_eq!(found("mail me@README.md @nobody @types/node @app.route(\"/x.md\") @"), []);
        let missing = |name: &str| Mention::Missing(name.to_owned());
        assert_eq!(found("see @READNE.md, twice @READNE.md"), [missing("READNE.md")]);
        assert_eq!(
            found("@src/none @./b @\"a b\""),
            [missing("src/none"), missing("./b"), missing("a b")]
        );
        assert_eq!(found("@none.rs#L3-5"), [missing("none.rs")]);
        assert_eq!(
            found("@README.md#L2-4"),
            [Mention::Call(
                "Read",
                json!({"file_path": cwd.join("README.md"), "offset": 2, "limit": 3})
            )]
        );
        assert_eq!(
            found("@src/"),
            [Mention::Call(
                "Bash",
                json!({
                    "command": format!("ls -1Ap -- {}/src/", cwd.display()),
                    "description": "List the directory that the user has named",
                })
            )]
        );
        assert_eq!(
            found("@docs:file://a"),
            [Mention::Call("ReadMcpResource", json!({"server": "docs", "uri": "file://a"}))]
        );
        assert_eq!(found("@agent-reviewer do it"), [Mention::Agent("reviewer".to_owned())]);
    }
}
