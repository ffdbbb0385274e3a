//! The public contracts that a plan names (S0 §8.5.1): pages, schemas and the help of commands, as they are when the plan is
//! approved. Nothing of what is written afterwards is in them.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Component, Path, PathBuf};

use pulldown_cmark::{Event, Parser, Tag};
use serde::{Deserialize, Serialize};

/// The limits: for one contract, for all, and for their number.
const MAX_CONTRACT: u64 = 64 << 10;
const MAX_ALL: usize = 256 << 10;
const MAX_NUMBER: usize = 40;
/// The limit for commands whose help is asked for.
const MAX_COMMANDS: usize = 10;

/// What pages and schemas end with.
const PAGES: [&str; 6] = ["md", "txt", "rst", "adoc", "1", "html"];
const SCHEMAS: [&str; 7] = ["json", "yaml", "yml", "proto", "graphql", "xsd", "sql"];

/// Where pages and schemas lie. Elsewhere a file is taken for source.
const PAGE_DIRS: [&str; 4] = ["docs", "doc", "man", "documentation"];
const SCHEMA_DIRS: [&str; 4] = ["schemas", "schema", "api", "contracts"];

/// A public contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contract {
    /// Its path in the project, or the command.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// Its text, or why there is none.
    pub text: Result<String, Absent>,
}

/// What a contract is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A page of documentation.
    Page,
    /// A published schema.
    Schema,
    /// What a command prints when it is asked for help.
    Help,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Page => "page",
            Self::Schema => "schema",
            Self::Help => "output",
        })
    }
}

/// Why a contract that the plan names has no text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Absent {
    /// Nothing is there.
    #[error("it did not exist when the plan was approved")]
    Missing,
    /// Too large, no text, not to be read.
    #[error("it could not be read: {0}")]
    Unreadable(String),
    /// The command failed.
    #[error("the command failed: {0}")]
    Failed(String),
    /// There was no sandbox to run it in.
    #[error("the command was not run: {0}")]
    NotRun(String),
    /// There are too many.
    #[error("there is no room for it (limit: {MAX_NUMBER} contracts, 256 KB)")]
    NoRoom,
}

/// What a plan names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// Pages and schemas, below the project.
    pub files: Vec<(PathBuf, Kind)>,
    /// Commands that print their help.
    pub commands: Vec<String>,
}

/// The contracts that a plan names: in code spans, links and as words.
pub fn named(plan: &str) -> Named {
    let mut found = Named::default();
    let mut seen = BTreeSet::new();
    let mut in_block = false;
    let mut look = |text: &str, found: &mut Named| {
        for word in text.split_whitespace() {
            let word = word.trim_matches(|c: char| {
                !c.is_alphanumeric() && !matches!(c, '.' | '/' | '_' | '-')
            });
            let word = word.trim_end_matches('.').trim_start_matches("./");
            let path = Path::new(word);
            if let Some(kind) = kind_of(path)
                && seen.insert(word.to_owned())
                && found.files.len() < MAX_NUMBER
            {
                found.files.push((path.to_owned(), kind));
            }
        }
    };
    let mut commands = BTreeSet::new();
    for event in Parser::new(plan) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => in_block = true,
            Event::End(pulldown_cmark::TagEnd::CodeBlock) => in_block = false,
            Event::Code(code) => {
                let code = code.trim().trim_start_matches("$ ");
                if asks_for_help(code) {
                    if found.commands.len() < MAX_COMMANDS && commands.insert(code.to_owned()) {
                        found.commands.push(code.to_owned());
                    }
                } else {
                    look(code, &mut found);
                }
            }
            Event::Text(text) if in_block => {
                for line in text.lines().map(|line| line.trim().trim_start_matches("$ ")) {
                    if asks_for_help(line)
                        && found.commands.len() < MAX_COMMANDS
                        && commands.insert(line.to_owned())
                    {
                        found.commands.push(line.to_owned());
                    }
                }
            }
            Event::Text(text) => look(&text, &mut found),
            Event::Start(Tag::Link { dest_url, .. }) => look(&dest_url, &mut found),
            _ => {}
        }
    }
    found
}

/// Whether a command line is one command that is asked for its help, and nothing else.
fn asks_for_help(line: &str) -> bool {
    let is_help = ["--help", "-h"].iter().any(|end| line.ends_with(&format!(" {end}")));
    let script = ona_shell::parse(line);
    is_help
        && script.opaque.is_none()
        && script.redirects.is_empty()
        && matches!(script.commands.as_slice(), [one] if one.assignments.is_empty())
}

/// Whether a file is a page or a schema, by its place and its name: what is public, not how it is made.
pub(crate) fn is_public(path: &Path) -> bool {
    kind_of(path).is_some()
}

fn kind_of(path: &Path) -> Option<Kind> {
    let parts: Option<Vec<&str>> = path
        .components()
        .map(|part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        })
        .collect();
    let parts = parts?;
    let (name, dirs) = parts.split_last()?;
    let end = Path::new(name).extension()?.to_str()?;
    let lies_in = |known: &[&str]| dirs.iter().any(|dir| known.contains(dir));
    let is_page = PAGES.contains(&end)
        && (lies_in(&PAGE_DIRS) || dirs.is_empty() && name.to_uppercase().starts_with("README"));
    let is_schema = SCHEMAS.contains(&end)
        && (lies_in(&SCHEMA_DIRS)
            || name.contains(".schema.")
            || name.to_lowercase().starts_with("openapi")
            || matches!(end, "proto" | "graphql" | "xsd"));
    match (is_page, is_schema) {
        (true, _) => Some(Kind::Page),
        (_, true) => Some(Kind::Schema),
        _ => None,
    }
}

/// Reads the files that a plan names. A link that leads out of the project is not followed.
pub fn read(project: &Path, files: &[(PathBuf, Kind)]) -> Vec<Contract> {
    let root = project.canonicalize().unwrap_or_else(|_| project.to_owned());
    let text = |path: &Path| -> Result<String, Absent> {
        let real = root.join(path).canonicalize().map_err(|_| Absent::Missing)?;
        let Ok(below) = real.strip_prefix(&root) else {
            return Err(Absent::Unreadable("it leads out of the project".to_owned()));
        };
        // A page may be a link, but not to the source.
        if !is_public(below) {
            return Err(Absent::Unreadable(format!("it leads to {}", below.display())));
        }
        if ona_files::link_count(&real) > 1 {
            return Err(Absent::Unreadable("the file has another name (a hard link)".to_owned()));
        }
        let read = ona_files::read_text_at_most(&real, MAX_CONTRACT);
        read.map_err(|error| Absent::Unreadable(error.to_string()))?.ok_or(Absent::Missing)
    };
    let files = files.iter();
    files
        .map(|(path, kind)| Contract {
            name: path.display().to_string(),
            kind: *kind,
            text: text(path),
        })
        .collect()
}

/// Leaves out the texts for which there is no room.
pub fn fit(contracts: &mut [Contract]) {
    let mut room = MAX_ALL;
    for contract in contracts {
        let length = contract.text.as_ref().map_or(0, String::len);
        match length <= room {
            true => room -= length,
            false => contract.text = Err(Absent::NoRoom),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_schemas_and_help_are_named_anywhere_in_the_plan() {
        let plan = "# Plan\nSee docs/usage.md, [the API](api/openapi.yaml) and `schemas/todo.json`.\n\
            The command is `./todo --help` and `python3 todo.py add -h`, see README.md.\n\n\
            ```\n$ todo done --help\ntodo add x\n```\n\
            Not `src/main.py`, `/etc/passwd`, `docs/../src/a.md`, `rm -rf / --help; ls`, `a --help > b`, `config.json`.";
        let Named { files, commands } = named(plan);
        let files: Vec<String> = files.iter().map(|(path, _)| path.display().to_string()).collect();
        assert_eq!(files, ["docs/usage.md", "api/openapi.yaml", "schemas/todo.json", "README.md"]);
        assert_eq!(commands, ["./todo --help", "python3 todo.py add -h", "todo done --help"]);
    }

    #[test]
    fn files_are_read_as_far_as_they_are_in_the_project() {
        let dir = tempfile::tempdir().unwrap();
        let (project, outside) = (dir.path().join("p"), dir.path().join("secret.md"));
        std::fs::create_dir_all(project.join("docs")).unwrap();
        std::fs::write(project.join("docs/a.md"), "A page").unwrap();
        std::fs::write(project.join("docs/big.md"), vec![b'x'; 70 << 10]).unwrap();
        std::fs::write(&outside, "no").unwrap();
        std::os::unix::fs::symlink(&outside, project.join("docs/link.md")).unwrap();
        std::fs::write(project.join("main.py"), "code").unwrap();
        std::os::unix::fs::symlink("../main.py", project.join("docs/code.md")).unwrap();
        std::fs::hard_link(project.join("main.py"), project.join("docs/same.md")).unwrap();
        std::os::unix::fs::symlink("a.md", project.join("docs/also.md")).unwrap();
        let page = |name: &str| (PathBuf::from(name), Kind::Page);
        let names = [
            "docs/a.md",
            "docs/big.md",
            "docs/link.md",
            "docs/no.md",
            "docs/code.md",
            "docs/same.md",
            "docs/also.md",
        ];
        let read = read(&project, &names.map(page));
        let told: Vec<String> =
            read.into_iter().map(|one| one.text.unwrap_or_else(|why| why.to_string())).collect();
        assert_eq!(told[0], "A page");
        assert!(told[1].contains("64 KiB"), "{}", told[1]);
        assert!(told[2].contains("out of the project"), "{}", told[2]);
        assert!(told[3].contains("did not exist"), "{}", told[3]);
        assert!(told[4].contains("it leads to main.py"), "{}", told[4]);
        assert!(told[5].contains("hard link"), "{}", told[5]);
        assert_eq!(told[6], "A page");
    }

    #[test]
    fn there_is_room_for_so_much() {
        let text = "x".repeat(60 << 10);
        let one = Contract { name: "docs/a.md".into(), kind: Kind::Page, text: Ok(text) };
        let mut all = vec![one; 6];
        fit(&mut all);
        assert_eq!(all.iter().filter(|one| one.text.is_ok()).count(), 4);
    }
}
