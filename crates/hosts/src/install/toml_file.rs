//! ona's server in Codex' `config.toml`.
//!
//! The table is added at the end of the file, between marks, where it cannot change the meaning of what comes before
//! it. The file must be valid TOML before and after.

use serde_json::json;

use super::Refused;
use super::section::{Comment, Section};

fn part(body: &str) -> Section<'_> {
    Section { comment: Comment::Hash, name: "codex", body }
}

fn read(text: &str) -> Result<toml::Table, Refused> {
    text.parse::<toml::Table>().map_err(|error| {
        let place = error.span().map(|span| {
            let before = &text[..span.start.min(text.len())];
            let line = before.matches('\n').count() + 1;
            (line, before.chars().rev().take_while(|c| *c != '\n').count() + 1)
        });
        let why = error.message().lines().next().unwrap_or_default();
        Refused { place, why: format!("invalid TOML: {why}") }
    })
}

fn command(table: &toml::Table) -> Option<&str> {
    table.get("mcp_servers")?.get("ona")?.get("command")?.as_str()
}

/// The file with ona's server.
pub fn put(text: Option<&str>, program: &str) -> Result<String, Refused> {
    // JSON's strings are TOML's.
    let body =
        format!("[mcp_servers.ona]\ncommand = {}\nargs = [\"serve\", \"--mcp\"]\n", json!(program));
    let old = text.unwrap_or_default();
    read(old)?;
    let others = part("").take(old)?.unwrap_or_default();
    if read(&others)?.get("mcp_servers").is_some_and(|servers| servers.get("ona").is_some()) {
        return Err(Refused::name_is_taken());
    }
    let new = part(&body).put(text)?;
    match read(&new) {
        Ok(table) if command(&table) == Some(program) => Ok(new),
        Ok(_) => {
            Err(Refused { place: None, why: "another entry would override ona's server".into() })
        }
        Err(Refused { why, .. }) => Err(Refused {
            place: None,
            why: format!("ona's server cannot be added at the end of the file ({why})"),
        }),
    }
}

/// The file without it; nothing if it was made for that and holds nothing else.
pub fn take(text: &str) -> Result<Option<String>, Refused> {
    read(text)?;
    let left = part("").take(text)?;
    read(left.as_deref().unwrap_or_default())?;
    Ok(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_is_added_behind_everything_and_taken_back_to_the_byte() {
        for text in ["", "model = \"x\"\n", "[mcp_servers.db]\ncommand = \"db\"", "# only\n"] {
            let with = put(Some(text), "/a \"b\"/ona").unwrap();
            assert_eq!(command(&read(&with).unwrap()), Some("/a \"b\"/ona"));
            assert_eq!(put(Some(&with), "/a \"b\"/ona").unwrap(), with);
            assert_eq!(take(&with).unwrap().as_deref(), Some(text), "{with}");
        }
        assert_eq!(take(&put(None, "ona").unwrap()).unwrap(), None);
    }

    #[test]
    fn what_does_not_fit_is_refused_with_its_place() {
        let refused = put(Some("a = 1\nb = \n"), "ona").unwrap_err();
        assert_eq!(refused.place, Some((2, 5)), "{refused:?}");
        let inline = put(Some("mcp_servers = {db = {command = \"x\"}}\n"), "ona").unwrap_err();
        assert!(inline.why.contains("cannot be added"), "{inline:?}");
        let own = "[mcp_servers.ona]\ncommand = \"theirs\"\n";
        assert!(put(Some(own), "ona").unwrap_err().why.contains("rename it"));
    }
}
