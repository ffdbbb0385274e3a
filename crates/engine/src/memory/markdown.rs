//! Import of memories from Markdown: a file is one memory, and an index (`MEMORY.md`) has one per section.
//!
//! Front matter may have `title` (or `name`), `type`, `keywords` (or `tags`) and `description`; the rest is derived from
//! the text. Nothing here touches the disk.

use serde::Deserialize;

use ona_config::instructions::front::fenced;

/// The index file.
pub const INDEX: &str = "MEMORY.md";

/// The default type of a memory.
const KIND: &str = "note";

/// Front matter is not valid YAML, or a field has a value of another type.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct FrontMatterError(#[from] serde_saphyr::Error);

/// A memory in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Note {
    /// Its type.
    pub kind: String,
    /// Its title, one line.
    pub title: String,
    /// Its text.
    pub content: String,
    /// Search keywords.
    pub keywords: Vec<String>,
    /// The questions it answers, or its subject.
    pub description: Option<String>,
}

/// The front matter fields that ona reads.
#[derive(Debug, Default, Deserialize)]
struct Fields {
    #[serde(alias = "name")]
    title: Option<String>,
    r#type: Option<String>,
    #[serde(alias = "tags")]
    keywords: Option<Keywords>,
    description: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Keywords {
    List(Vec<String>),
    Text(String),
}

impl Keywords {
    fn list(self) -> Vec<String> {
        let list = match self {
            Self::List(list) => list,
            Self::Text(text) => text.split(',').map(str::to_owned).collect(),
        };
        list.iter().map(|word| word.trim().to_owned()).filter(|word| !word.is_empty()).collect()
    }
}

/// The memories of a file; none if it is empty.
pub fn notes(name: &str, text: &str) -> Result<Vec<Note>, FrontMatterError> {
    // Byte order mark and line ends of other systems.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
    if name == INDEX {
        return Ok(sections(&text));
    }
    Ok(note(name, &text)?.into_iter().collect())
}

/// A file as one memory; `None` if it is empty.
pub fn note(name: &str, text: &str) -> Result<Option<Note>, FrontMatterError> {
    let (fields, body) = match fenced(text) {
        Some((yaml, body)) => (read(yaml)?, body),
        None => (Fields::default(), text),
    };
    let (heading, rest) = match heading(body.trim_start()) {
        Some((heading, rest)) => (Some(heading), rest),
        None => (None, body),
    };
    // A heading that repeats the title is not part of the content.
    let (title, content) = match (fields.title, heading) {
        (Some(title), Some(heading)) if title.trim() != heading => (title, body),
        (Some(title), Some(_)) => (title, rest),
        (Some(title), None) => (title, body),
        (None, Some(heading)) => (heading.to_owned(), rest),
        (None, None) => (stem(name), body),
    };
    let content = content.trim();
    if content.is_empty() && heading.is_none() && fields.description.is_none() {
        return Ok(None);
    }
    Ok(Some(Note {
        kind: fields.r#type.unwrap_or_else(|| KIND.to_owned()),
        title: title.trim().to_owned(),
        content: content.to_owned(),
        keywords: fields.keywords.map(Keywords::list).unwrap_or_default(),
        description: fields.description.map(|text| text.trim().to_owned()),
    }))
}

/// The sections of an index that have text of their own. A line that only links to another file is skipped: that file
/// is imported too.
fn sections(text: &str) -> Vec<Note> {
    let body = fenced(text).map_or(text, |(_, body)| body);
    let mut notes: Vec<Note> = Vec::new();
    let mut open = Note { title: stem(INDEX), ..Note::default() };
    let mut in_code = false;
    for line in body.lines() {
        in_code ^= line.trim_start().starts_with("```");
        match heading(line).filter(|_| !in_code) {
            Some((title, _)) => {
                let done = std::mem::replace(
                    &mut open,
                    Note { title: title.to_owned(), ..Note::default() },
                );
                notes.push(done);
            }
            None if is_pointer(line) && !in_code => {}
            None => {
                open.content.push_str(line);
                open.content.push('\n');
            }
        }
    }
    notes.push(open);
    for note in &mut notes {
        note.kind = KIND.to_owned();
        note.content = note.content.trim().to_owned();
    }
    notes.retain(|note| !note.content.is_empty());
    notes
}

/// `- [Title](file.md)`, with or without a remark.
fn is_pointer(line: &str) -> bool {
    let item = line.trim_start();
    let Some(item) = ["- ", "* ", "+ "].iter().find_map(|mark| item.strip_prefix(mark)) else {
        return false;
    };
    let target = item.trim_start().strip_prefix('[').and_then(|rest| rest.split_once("]("));
    let target = target.and_then(|(_, rest)| rest.split_once(')')).map(|(target, _)| target);
    target.is_some_and(|target| target.ends_with(".md") && !target.contains("://"))
}

/// The heading at the start of a text, and the rest.
fn heading(text: &str) -> Option<(&str, &str)> {
    let (line, rest) = text.split_once('\n').unwrap_or((text, ""));
    let title = line.trim_start_matches('#');
    let level = line.len() - title.len();
    let title = title.strip_prefix([' ', '\t'])?.trim().trim_end_matches('#').trim_end();
    ((1..=6).contains(&level) && !title.is_empty()).then_some((title, rest))
}

/// The title from a file name: `fix-login.md` is "fix login".
fn stem(name: &str) -> String {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    stem.replace(['-', '_'], " ").trim().to_owned()
}

fn read(yaml: &str) -> Result<Fields, FrontMatterError> {
    if yaml.trim().is_empty() {
        return Ok(Fields::default());
    }
    let options = serde_saphyr::options! { strict_booleans: true, with_snippet: false };
    Ok(serde_saphyr::from_str_with_options(yaml, options)?)
}

/// A memory as Markdown that [`note`] reads back, for an editor.
pub fn to_markdown(note: &Note) -> String {
    // A JSON string is valid YAML.
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let mut text = format!("---\ntype: {}\ntitle: {}\n", quoted(&note.kind), quoted(&note.title));
    text.push_str(&format!("keywords: {}\n", quoted(&note.keywords.join(", "))));
    text.push_str(&format!("description: {}\n", quoted(note.description.as_deref().unwrap_or(""))));
    text.push_str(&format!("---\n{}\n", note.content));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Note {
        note("fix-login.md", text).unwrap().unwrap()
    }

    #[test]
    fn a_file_is_one_memory() {
        let plain = one("The token expires.\n");
        assert_eq!((plain.kind.as_str(), plain.title.as_str()), ("note", "fix login"));
        assert_eq!(plain.content, "The token expires.");
        let headed = one("# Login #\n\nThe token\nexpires.\n\n## More\n");
        assert_eq!(
            (headed.title.as_str(), headed.content.as_str()),
            ("Login", "The token\nexpires.\n\n## More")
        );
        let full = one(
            "---\nname: Login\ntype: feedback\ntags: [a, ' b ']\ndescription: how to log in\nother: 1\n---\n# Login\nText",
        );
        assert_eq!(
            full,
            Note {
                kind: "feedback".into(),
                title: "Login".into(),
                content: "Text".into(),
                keywords: vec!["a".into(), "b".into()],
                description: Some("how to log in".into()),
            }
        );
        assert_eq!(one("---\ntitle: A\nkeywords: x, y,\n---\n# B\nText").content, "# B\nText");
        assert_eq!(one("---\ntitle: A\nkeywords: x, y,\n---\nText").keywords, ["x", "y"]);
    }

    #[test]
    fn empty_files_are_skipped_and_invalid_ones_are_errors() {
        for text in ["", "  \n\n", "---\ntitle: A\n---\n", "---\n---\n"] {
            assert_eq!(note("a.md", text).unwrap(), None, "{text:?}");
        }
        assert!(note("a.md", "---\ntitle: [\n---\nText").is_err());
        assert!(note("a.md", "---\ntitle: {a: b}\n---\nText").is_err());
        // No front matter.
        for text in ["---\ntitle: A\nText", "----\nText", "#Text", "-- -\n"] {
            assert_eq!(note("a.md", text).unwrap().unwrap().content, text.trim(), "{text:?}");
        }
    }

    #[test]
    fn an_index_is_split_into_sections_without_links() {
        let text = "\u{feff}# Memory\r\n\r\n- [Login](login.md) — how it works\r\n* [B](topics/b.md)\r\n\r\n\
                    ## Build\r\nneeds cmake\r\n- [Site](https://x.y/a.md)\r\n```\r\n# no heading\r\n```\r\n## Empty\r\n";
        let found = notes(INDEX, text).unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].title, "Build");
        assert_eq!(
            found[0].content,
            "needs cmake\n- [Site](https://x.y/a.md)\n```\n# no heading\n```"
        );
        let loose = notes(INDEX, "- uses pnpm\n- [x](x.md)\n").unwrap();
        assert_eq!((loose[0].title.as_str(), loose[0].content.as_str()), ("MEMORY", "- uses pnpm"));
    }

    #[test]
    fn markdown_for_an_editor_is_read_back() {
        let note_ = Note {
            kind: "lesson".into(),
            title: "a: \"b\" #c\u{7}".into(),
            content: "---\nnot front matter\n\n# nor a title".into(),
            keywords: vec!["x".into(), "y z".into()],
            description: Some("- ? {".into()),
        };
        assert_eq!(note("x.md", &to_markdown(&note_)).unwrap(), Some(note_));
    }
}
