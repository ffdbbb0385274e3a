//! The names of servers' tools for a model: `mcp__<server>__<tool>`.
//!
//! Providers accept 64 characters of `[A-Za-z0-9_-]`; servers name their tools freely. Names depend only on what
//! servers say, never on the order: the same servers give the same names in every session.

use std::collections::BTreeMap;

use ona_types::ContentHash;

/// The longest name that all providers take.
const MAX_NAME: usize = 64;
/// Digits of a hash that stand for what a name cannot say.
const DIGITS: usize = 8;

/// A server's name as it stands in names of tools: lower case, and `_` for everything outside `[a-z0-9_-]`.
pub fn slug(server: &str) -> String {
    let plain = |c: char| match c.to_ascii_lowercase() {
        c @ ('a'..='z' | '0'..='9' | '_' | '-') => c,
        _ => '_',
    };
    server.chars().map(plain).collect()
}

/// The name of a tool as a model reads it. What is too long ends in a hash of the whole.
pub fn tool_name(server: &str, tool: &str) -> String {
    named(&slug(server), server, tool, false)
}

fn named(slug: &str, server: &str, tool: &str, marked: bool) -> String {
    let plain = |c: char| match c {
        'A'..='Z' | 'a'..='z' | '0'..='9' | '_' | '-' => c,
        _ => '_',
    };
    let mut name = format!("mcp__{slug}__");
    name.extend(tool.chars().map(plain));
    if marked || name.len() > MAX_NAME {
        name.truncate(MAX_NAME - DIGITS - 1);
        name.push('_');
        name.push_str(&digits(&format!("{server}\0{tool}")));
    }
    name
}

fn digits(of: &str) -> String {
    ContentHash::of(of.as_bytes()).as_str()[..DIGITS].to_owned()
}

/// The slugs of servers that are there together, in their order. One that another has already, or with which names
/// could be read in two ways (`a` with the tool `b__c`, `a__b` with the tool `c`), gets a hash of the server's name.
pub(crate) fn slugs<'a>(servers: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut taken: Vec<String> = Vec::new();
    for server in servers {
        let plain = slug(server);
        let free = taken.iter().all(|other| !unclear(other, &plain) && !unclear(&plain, other));
        taken.push(match free {
            true => plain,
            false => {
                let words: Vec<&str> = plain.split('_').filter(|word| !word.is_empty()).collect();
                format!("{}_{}", words.join("_"), digits(server))
            }
        });
    }
    taken
}

/// Whether a name of a tool of the second could be one of the first.
fn unclear(first: &str, second: &str) -> bool {
    format!("{second}__").starts_with(&format!("{first}__"))
}

/// The full names of a server's tools, in their order. Where several would be the same, the one that is called so keeps
/// it and the others get a hash.
pub(crate) fn tool_names(slug: &str, server: &str, tools: &[&str]) -> Vec<String> {
    let mut holders: BTreeMap<String, usize> = BTreeMap::new();
    for tool in tools {
        *holders.entry(named(slug, server, tool, false)).or_default() += 1;
    }
    let name = |tool: &&str| {
        let plain = named(slug, server, tool, false);
        let alone = holders.get(&plain) == Some(&1);
        let so_called = plain == format!("mcp__{slug}__{tool}");
        if alone || so_called { plain } else { named(slug, server, tool, true) }
    };
    tools.iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slug_is_lower_case_and_plain() {
        assert_eq!(slug("My Server.v2"), "my_server_v2");
        assert_eq!(slug("git-hub_x"), "git-hub_x");
        assert_eq!(slug("é"), "_");
    }

    #[test]
    fn names_are_what_providers_take() {
        assert_eq!(tool_name("GitHub", "create_issue"), "mcp__github__create_issue");
        assert_eq!(tool_name("a", "say.Hello/now"), "mcp__a__say_Hello_now");
        let long = tool_name("server", &"x".repeat(200));
        assert_eq!(long.len(), MAX_NAME);
        assert_ne!(long, tool_name("server", &"x".repeat(201)), "a hash tells them apart");
        assert_eq!(long, tool_name("server", &"x".repeat(200)));
        assert_eq!(tool_name("日本", "日本"), format!("mcp{}", "_".repeat(8)));
    }

    #[test]
    fn servers_that_would_share_names_are_told_apart() {
        let plain = slugs(["a", "b"]);
        assert_eq!(plain, ["a", "b"]);
        let same = slugs(["My Server", "my_server"]);
        assert_eq!(same[0], "my_server");
        assert!(same[1].starts_with("my_server_") && same[1].len() == "my_server_".len() + DIGITS);
        let inside = slugs(["a", "a__b"]);
        assert_eq!(inside[0], "a");
        assert!(inside[1].starts_with("a_b_"), "{}", inside[1]);
        let ending = slugs(["a_", "a"]);
        assert_ne!(ending[1], "a", "the tool _b of a would be the tool b of a_");
    }

    #[test]
    fn tools_that_would_share_a_name_are_told_apart() {
        let names = tool_names("s", "s", &["a.b", "a_b", "a/b"]);
        assert_eq!(names[1], "mcp__s__a_b", "the one that is called so keeps it");
        assert!(names[0].starts_with("mcp__s__a_b_") && names[2].starts_with("mcp__s__a_b_"));
        assert_ne!(names[0], names[2]);
        let back = tool_names("s", "s", &["a/b", "a_b", "a.b"]);
        assert_eq!((&names[0], &names[2]), (&back[2], &back[0]), "whatever their order");
    }
}
