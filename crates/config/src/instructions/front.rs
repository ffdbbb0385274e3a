//! The front matter of a rule: which paths it is for.

use serde::Deserialize;

/// The parts of a rule's file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Front<'a> {
    /// The globs of the paths it is for; none if it is for all.
    pub(super) globs: Vec<String>,
    /// Why `paths` is invalid, if it is.
    pub(super) problem: Option<String>,
    /// What follows the front matter.
    pub(super) body: &'a str,
}

/// The one field that ona uses.
#[derive(Deserialize)]
struct Fields {
    #[serde(default)]
    paths: Option<Paths>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Paths {
    List(Vec<String>),
    Text(String),
}

/// Splits the front matter off.
pub(super) fn split(text: &str) -> Front<'_> {
    let Some((yaml, body)) = fenced(text) else {
        return Front { body: text, ..Front::default() };
    };
    if yaml.trim().is_empty() {
        return Front { body, ..Front::default() };
    }
    let options = serde_saphyr::options! { strict_booleans: true, with_snippet: false };
    match serde_saphyr::from_str_with_options::<Fields>(yaml, options) {
        Ok(fields) => {
            let globs = match fields.paths {
                None => Vec::new(),
                Some(Paths::List(list)) => tidy(list.iter().map(String::as_str)),
                Some(Paths::Text(text)) => commas(&text),
            };
            Front { globs, problem: None, body }
        }
        Err(error) => match as_written(yaml) {
            // There is no `paths`; other fields do not matter.
            None => Front { body, ..Front::default() },
            Some(globs) if globs.is_empty() => {
                Front { globs, problem: Some(error.to_string()), body }
            }
            Some(globs) => Front { globs, problem: None, body },
        },
    }
}

/// The text between a first line `---` and the next such line, and the text after it.
pub fn fenced(text: &str) -> Option<(&str, &str)> {
    let (first, rest) = text.split_once('\n')?;
    if first.trim_end() != "---" {
        return None;
    }
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Some((&rest[..at], &rest[at + line.len()..]));
        }
        at += line.len();
    }
    None
}

/// Reads `paths` line by line. Globs are often written without quotes, and `*` and `{` have a meaning in YAML. A
/// mistake in another field should not make a rule apply everywhere.
fn as_written(yaml: &str) -> Option<Vec<String>> {
    let mut lines = yaml.lines();
    let first = lines.by_ref().find_map(|line| line.strip_prefix("paths:"))?;
    let first = uncommented(first);
    let listed = first.strip_prefix('[').and_then(|list| list.strip_suffix(']'));
    let mut globs = commas(listed.unwrap_or(first));
    for line in lines {
        let line = line.trim_start();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let Some(item) = line.strip_prefix("- ") else { break };
        globs.extend(tidy([uncommented(item)]));
    }
    Some(globs)
}

fn uncommented(value: &str) -> &str {
    let value = value.trim();
    if value.starts_with('#') {
        return "";
    }
    value.split_once(" #").map_or(value, |(value, _)| value.trim_end())
}

/// Splits at the commas that are not in braces.
pub fn commas(text: &str) -> Vec<String> {
    let mut depth = 0_usize;
    let parts = text.split(|c| {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    });
    tidy(parts)
}

fn tidy<'a>(globs: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let globs = globs.into_iter().map(|glob| {
        let glob = glob.trim();
        let quoted =
            ['"', '\''].iter().find_map(|quote| glob.strip_prefix(*quote)?.strip_suffix(*quote));
        quoted.unwrap_or(glob).to_owned()
    });
    globs.filter(|glob| !glob.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_may_be_written_in_many_ways() {
        let cases: &[(&str, &[&str])] = &[
            ("paths:\n  - \"src/**/*.ts\"\n  - lib/*.ts\n", &["src/**/*.ts", "lib/*.ts"]),
            ("paths: [a/*, 'b/*']\n", &["a/*", "b/*"]),
            ("paths: src/**/*.{ts,tsx}, lib/**\n", &["src/**/*.{ts,tsx}", "lib/**"]),
            ("description: x\npaths: a\nother: [1, {b: 2}]\n", &["a"]),
            // Not valid YAML, but accepted.
            ("paths: **/*.ts\n", &["**/*.ts"]),
            ("paths: {src,lib}/**/*.ts, tests/**\n", &["{src,lib}/**/*.ts", "tests/**"]),
            ("paths:\n- **/*.ts # why\n\n- *.md\nnext: x\n", &["**/*.ts", "*.md"]),
            ("paths: [**/*.ts, \"b\"]\r\n", &["**/*.ts", "b"]),
            ("description: Do this: always\npaths:\n  - a/**\n", &["a/**"]),
            // For all paths.
            ("paths:\n", &[]),
            ("paths: []\n", &[]),
            ("paths: \"\"\n", &[]),
            ("description: Do this: always\n", &[]),
            ("\n", &[]),
            ("", &[]),
            ("just text\n", &[]),
        ];
        for (yaml, globs) in cases {
            for text in [format!("---\n{yaml}---\nbody\n"), format!("---\r\n{yaml}---\r\nbody\n")] {
                let front = split(&text);
                assert_eq!(front.globs, *globs, "{text:?}");
                assert_eq!((front.body, front.problem), ("body\n", None), "{text:?}");
            }
        }
    }

    #[test]
    fn text_without_front_matter_stays_text() {
        for text in ["", "---", "---\npaths: a\n", "text\n---\npaths: a\n---\n", "----\na\n---\n"] {
            assert_eq!(split(text), Front { body: text, ..Front::default() }, "{text:?}");
        }
    }

    #[test]
    fn paths_that_make_no_sense_are_named() {
        for yaml in ["paths: {a: 1\n", "paths:\n  src: true\n", "paths: [[a], {b: c}\n"] {
            let text = format!("---\n{yaml}---\nbody");
            let front = split(&text);
            assert!(
                front.problem.is_some() || !front.globs.is_empty(),
                "{yaml:?} must not pass for a rule without paths: {front:?}"
            );
        }
        assert!(split("---\npaths:\n  src: true\n---\n").problem.is_some());
    }

    #[test]
    fn a_bomb_of_aliases_ends() {
        let mut yaml = "---\na0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let below = format!("*a{}", level - 1);
            yaml += &format!("a{level}: &a{level} [{}]\n", [below.as_str(); 9].join(", "));
        }
        yaml += "paths: *a11\n---\nbody";
        assert_eq!(split(&yaml).body, "body");
    }
}
