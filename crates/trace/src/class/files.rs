//! Files whose name says what they are for.

const PROSE: &[&str] =
    &["md", "mdx", "markdown", "txt", "rst", "adoc", "asciidoc", "org", "tex", "textile", "pod"];

const PROSE_NAMES: &[&str] = &[
    "readme",
    "license",
    "licence",
    "copying",
    "changelog",
    "changes",
    "authors",
    "contributing",
    "contributors",
    "notice",
    "news",
    "history",
    "todo",
];

const CONFIGURATION: &[&str] = &[
    "toml",
    "yaml",
    "yml",
    "json",
    "jsonc",
    "json5",
    "ini",
    "cfg",
    "conf",
    "config",
    "env",
    "properties",
    "lock",
    "editorconfig",
    "tf",
    "tfvars",
    "nix",
    "service",
    "plist",
    "xml",
    "csproj",
    "sln",
    "gradle",
];

const CONFIGURATION_NAMES: &[&str] = &[
    "dockerfile",
    "containerfile",
    "makefile",
    "justfile",
    "procfile",
    "codeowners",
    "gemfile",
    "rakefile",
    "vagrantfile",
    "jenkinsfile",
];

/// Comments of these start with `#` and run to the end of the line.
const HASH_COMMENTS: &[&str] = &["toml", "yaml", "yml", "ini", "cfg", "conf", "env", "properties"];

/// Text for people.
pub(super) fn is_prose(path: &str) -> bool {
    let (name, extension) = parts(path);
    // Under `docs/` what has no extension is prose too.
    let under_docs = extension.is_none() && path.split('/').rev().skip(1).any(|dir| dir == "docs");
    listed(PROSE_NAMES, &name, extension.as_deref(), PROSE) || under_docs
}

/// Settings of a program or of a build.
pub(super) fn is_configuration(path: &str) -> bool {
    let (name, extension) = parts(path);
    listed(CONFIGURATION_NAMES, &name, extension.as_deref(), CONFIGURATION)
        || name.starts_with('.') && !name[1..].contains('.')
}

/// The lines of a configuration that are neither blank nor a comment, where its comments are known.
pub(super) fn settings<'c>(path: &str, content: &'c [u8]) -> Vec<&'c [u8]> {
    let (_, extension) = parts(path);
    let hash = extension.is_some_and(|extension| HASH_COMMENTS.contains(&extension.as_str()));
    content
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::trim_ascii_end)
        .filter(|line| !hash || !(line.is_empty() || line.trim_ascii_start().starts_with(b"#")))
        .collect()
}

fn listed(names: &[&str], name: &str, extension: Option<&str>, extensions: &[&str]) -> bool {
    extension.is_some_and(|extension| extensions.contains(&extension))
        || extension.is_none() && names.contains(&name)
}

/// The name in small letters, and its extension.
fn parts(path: &str) -> (String, Option<String>) {
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    let extension = name
        .rsplit_once('.')
        .filter(|(stem, _)| !stem.is_empty())
        .map(|(_, extension)| extension.to_owned());
    (name, extension)
}
