//! The map as Markdown.

use std::fmt::Write;

use super::{IntentMap, MapRow};
use crate::text::line_end;
use ona_trace::entry::MutationClass;

/// The line before the generated part.
pub const BEGIN: &str = "<!-- ona:begin generated -->";
/// The line after it.
pub const END: &str = "<!-- ona:end generated -->";

const HEAD: &str = "| file | symbols | last class | last hash | last change |";
const RULE: &str = "|---|---|---|---|---|";

/// The new text of the file whose text is `old`.
pub(super) fn render(
    map: &IntentMap,
    old: Option<&str>,
    name: impl Fn(&str) -> Option<String>,
) -> String {
    let old = old.unwrap_or("# Intent Map\n\n");
    let end_of_line = line_end(old);
    let block = block(map, name).replace('\n', end_of_line);
    let lines: Vec<&str> = old.split_inclusive('\n').collect();
    let (begin, end) = markers(&lines);
    match (begin, end) {
        (Some(begin), Some(end)) => lines[..begin].concat() + &block + &lines[end + 1..].concat(),
        // One of the markers is missing: what was generated is unknown, so all of the text stays.
        (Some(begin), None) => lines[..begin].concat() + &block + &lines[begin + 1..].concat(),
        (None, _) => {
            let gap = match old {
                "" => "",
                text if text.ends_with("\n\n") || text.ends_with("\r\n\r\n") => "",
                text if text.ends_with('\n') => end_of_line,
                _ => return format!("{old}{end_of_line}{end_of_line}{block}"),
            };
            format!("{old}{gap}{block}")
        }
    }
}

fn markers(lines: &[&str]) -> (Option<usize>, Option<usize>) {
    let at = |marker: &str, from: usize| {
        let rest = lines.get(from..).unwrap_or_default();
        rest.iter().position(|line| line.trim() == marker).map(|at| at + from)
    };
    let begin = at(BEGIN, 0);
    (begin, begin.and_then(|begin| at(END, begin)))
}

fn block(map: &IntentMap, name: impl Fn(&str) -> Option<String>) -> String {
    let mut text = format!("{BEGIN}\n");
    for (intent, rows) in &map.intents {
        let name = name(intent).map(|name| format!(" {}", cell(&name))).unwrap_or_default();
        let _ = writeln!(text, "## {}{name}\n{HEAD}\n{RULE}", cell(intent));
        for (path, row) in rows {
            let symbols: Vec<String> = row.symbols.iter().map(|symbol| cell(symbol)).collect();
            let class = row.class.map_or("", MutationClass::as_str);
            let hash = row.hash.as_deref().unwrap_or("");
            let _ = writeln!(
                text,
                "| {} | {} | {class} | {} | {} |",
                cell(path),
                symbols.join(", "),
                cell(hash),
                cell(&row.changed)
            );
        }
    }
    text + END + "\n"
}

/// Text that cannot end its cell, its line, or the generated part.
fn cell(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '|' => safe.push_str("&#124;"),
            ',' => safe.push_str("&#44;"),
            other if other.is_control() => {
                let _ = write!(safe, "&#{};", u32::from(other));
            }
            other => safe.push(other),
        }
    }
    safe
}

fn plain(cell: &str) -> String {
    let mut text = String::new();
    let mut rest = cell.trim();
    while let Some((before, after)) = rest.split_once('&') {
        text.push_str(before);
        let (entity, next) = after.split_once(';').unwrap_or((after, ""));
        match entity {
            "amp" => text.push('&'),
            "lt" => text.push('<'),
            other => {
                let code = other.strip_prefix('#').and_then(|code| code.parse::<u32>().ok());
                text.extend(code.and_then(char::from_u32));
            }
        }
        rest = next;
    }
    text + rest
}

/// The map between the markers of a page; none if there is none, or it has another form.
pub(super) fn parse(page: &str) -> Option<IntentMap> {
    let lines: Vec<&str> = page.lines().collect();
    let (begin, end) = markers(&lines);
    let mut map = IntentMap::default();
    let mut intent = None;
    for line in lines.get(begin? + 1..end?)? {
        if let Some(heading) = line.strip_prefix("## ") {
            intent = Some(plain(heading.split(' ').next()?));
        } else if !line.is_empty() && *line != HEAD && *line != RULE {
            let cells: Vec<&str> = line.strip_prefix('|')?.strip_suffix('|')?.split('|').collect();
            let [path, symbols, class, hash, changed] = cells.try_into().ok()?;
            let row = MapRow {
                symbols: symbols.split(',').map(plain).filter(|s| !s.is_empty()).collect(),
                class: MutationClass::from_name(class.trim()),
                hash: Some(plain(hash)).filter(|hash| !hash.is_empty()),
                changed: plain(changed),
            };
            map.intents.entry(intent.clone()?).or_default().insert(plain(path), row);
        }
    }
    Some(map)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_lost_marker_costs_no_text() {
        let text = format!("before\n{BEGIN}\nkept?\nafter\n");
        let new = render(&IntentMap::default(), Some(&text), |_| None);
        assert_eq!(new, format!("before\n{BEGIN}\n{END}\nkept?\nafter\n"));
        assert_eq!(parse(&text), None);
        assert_eq!(
            render(&IntentMap::default(), Some("x"), |_| None),
            format!("x\n\n{BEGIN}\n{END}\n")
        );
    }

    proptest! {
        #[test]
        fn reads_back_what_it_wrote(
            rows in prop::collection::vec(("[^ \n\r]{1,8}", "\\PC{1,12}", "[a-z<>|,& ]{0,8}"), 0..6),
            around in "[a-z\n]{0,20}",
        ) {
            let mut map = IntentMap::default();
            for (intent, path, symbol) in rows {
                let symbol = symbol.trim().to_owned();
                // Blanks around a path would be lost in a table.
                if intent.contains(char::is_whitespace) || path.trim() != path { continue; }
                let row = MapRow {
                    symbols: Some(symbol).filter(|s| !s.is_empty()).into_iter().collect(),
                    class: Some(MutationClass::AstRefactor),
                    hash: None,
                    changed: "2026".to_owned(),
                };
                map.intents.entry(intent).or_default().insert(path, row);
            }
            let page = render(&map, Some(&around), |_| Some("a <name>".to_owned()));
            prop_assert!(page.starts_with(&around));
            prop_assert_eq!(parse(&page), Some(map.clone()));
            prop_assert_eq!(render(&map, Some(&page), |_| Some("a <name>".to_owned())), page);
        }
    }
}
