//! Maps of other writers.

/// A file that a map of another writer gives to an intent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The intent.
    pub intent_id: String,
    /// The file as written there.
    pub file: String,
    /// When, where it says so.
    pub timestamp: Option<String>,
}

/// Reads both public forms: blocks `## <time> - <intent>` with lines `- <file>`, and lists `- <intent>: <file>,
/// <file>`. Other lines are ignored.
pub fn import(page: &str) -> Vec<Imported> {
    let mut found = Vec::new();
    let mut block: Option<(String, String)> = None;
    for line in page.lines().map(str::trim_end) {
        if line.starts_with('#') {
            block = line.strip_prefix("## ").and_then(|heading| {
                let (time, intent) = heading.rsplit_once(" - ")?;
                let is_time = time.starts_with(|c: char| c.is_ascii_digit());
                is_time.then(|| (time.trim().to_owned(), intent.trim().to_owned()))
            });
            continue;
        }
        let Some(item) = line.trim_start().strip_prefix(['-', '*']).map(str::trim) else {
            continue;
        };
        let listed = item.split_once(": ").filter(|(intent, _)| is_intent(intent));
        if let Some((intent, files)) = listed {
            found.extend(files.split(',').filter_map(file).map(|file| Imported {
                intent_id: intent.trim_matches(['*', '`']).to_owned(),
                file,
                timestamp: None,
            }));
        } else if let (Some((time, intent)), Some(file)) = (&block, file(item)) {
            found.push(Imported { intent_id: intent.clone(), file, timestamp: Some(time.clone()) });
        }
    }
    found
}

fn is_intent(word: &str) -> bool {
    let word = word.trim_matches(['*', '`']);
    word.contains('-') && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

/// A path without the decoration that some writers put around it.
fn file(item: &str) -> Option<String> {
    let item = item.trim();
    let quoted = item.strip_prefix('`').and_then(|rest| rest.split_once('`'));
    let path = quoted.map_or_else(|| item.split(" (").next().unwrap_or(item), |(path, _)| path);
    (!path.is_empty()).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_public_forms() {
        let page = "# Map\n\n## 2026-02-20T10:00:00Z - INT-001\n- src/a.ts\n- `src/b c.ts` (f, g)\n\n\
                    ## Notes\n- not a file\n\n- INT-002: x.ts, `y.ts`\n* **INT-003**: z.ts\n- a: b\n";
        let found: Vec<_> = import(page)
            .into_iter()
            .map(|found| (found.intent_id, found.file, found.timestamp.is_some()))
            .collect();
        let row = |intent: &str, file: &str, dated| (intent.to_owned(), file.to_owned(), dated);
        assert_eq!(
            found,
            [
                row("INT-001", "src/a.ts", true),
                row("INT-001", "src/b c.ts", true),
                row("INT-002", "x.ts", false),
                row("INT-002", "y.ts", false),
                row("INT-003", "z.ts", false),
            ]
        );
    }
}
