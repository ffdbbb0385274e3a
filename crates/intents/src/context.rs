//! The `<intent_context>` block: what a model is told about its intent (S2 §2.4, S4).

use std::fmt::Write;

use crate::file::Intent;

/// S2: 4,000 tokens, counted as 16 KB of text.
pub const BUDGET: usize = 16_000;
/// S2: how many of the most recent trace entries are included.
const MAX_ENTRIES: usize = 20;
/// A single text longer than this is cut.
const MAX_TEXT: usize = 2_000;

/// An entry of the trace, as far as the model is told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceEntry {
    /// When.
    pub timestamp: String,
    /// Of which class.
    pub mutation_class: String,
    /// Which files.
    pub files: Vec<String>,
}

/// A file that was changed for the intent before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RelatedFile {
    /// Where, below the workspace.
    pub path: String,
    /// The hash it had then.
    pub last_hash: Option<String>,
    /// When.
    pub last_modified: Option<String>,
}

/// The block. Entries come in the order of the trace, the oldest first; related files the most relevant first.
/// Never longer than [`BUDGET`] bytes: the oldest entries go first, then the last of the files, and only then
/// criteria, constraints and patterns.
pub fn intent_context(intent: &Intent, files: &[RelatedFile], trace: &[TraceEntry]) -> String {
    let in_scope = |file: &&RelatedFile| {
        intent
            .scope()
            .is_ok_and(|scope| matches!(scope.holds(&file.path), crate::scope::Held::By(_)))
    };
    let mut parts = Parts {
        paths: lines("path", intent.owned_scope.iter().map(|item| item.text.as_str())),
        rules: lines("rule", intent.constraints.iter().map(String::as_str)),
        criteria: lines("item", intent.acceptance_criteria.iter().map(String::as_str)),
        requirements: lines("id", intent.related_requirements.iter().map(String::as_str)),
        files: Part::of(files.iter().filter(in_scope).map(file_line).collect()),
        entries: Part::of(trace.iter().map(entry_line).collect()),
    };
    let surplus = parts.entries.lines.len().saturating_sub(MAX_ENTRIES);
    parts.entries.lines.drain(..surplus);
    let head = head(intent);
    let mut over = parts.length(&head).saturating_sub(BUDGET);
    parts.entries.drop_until(&mut over, End::First);
    for part in [
        &mut parts.files,
        &mut parts.requirements,
        &mut parts.criteria,
        &mut parts.rules,
        &mut parts.paths,
    ] {
        part.drop_until(&mut over, End::Last);
    }
    parts.text(&head)
}

struct Parts {
    paths: Part,
    rules: Part,
    criteria: Part,
    requirements: Part,
    files: Part,
    entries: Part,
}

/// The lines of one element.
struct Part {
    lines: Vec<String>,
    left_out: usize,
}

#[derive(Clone, Copy)]
enum End {
    First,
    Last,
}

impl Part {
    fn of(lines: Vec<String>) -> Self {
        Self { lines, left_out: 0 }
    }

    /// Leaves lines out until `over` is gone.
    fn drop_until(&mut self, over: &mut usize, end: End) {
        let mut count = 0;
        let lengths: Vec<usize> = match end {
            End::First => self.lines.iter().map(String::len).collect(),
            End::Last => self.lines.iter().rev().map(String::len).collect(),
        };
        for length in lengths {
            if *over == 0 {
                break;
            }
            *over = over.saturating_sub(length);
            count += 1;
        }
        match end {
            End::First => drop(self.lines.drain(..count)),
            End::Last => self.lines.truncate(self.lines.len() - count),
        }
        self.left_out += count;
    }

    fn write(&self, out: &mut String, name: &str) {
        if self.lines.is_empty() && self.left_out == 0 {
            return;
        }
        let left_out = match self.left_out {
            0 => String::new(),
            count => format!(" left_out=\"{count}\""),
        };
        // Writing to a text cannot fail.
        let _ = write!(out, "    <{name}{left_out}>\n{}    </{name}>\n", self.lines.concat());
    }
}

impl Parts {
    fn each(&self) -> [(&'static str, &Part); 6] {
        [
            ("owned_scope", &self.paths),
            ("constraints", &self.rules),
            ("acceptance_criteria", &self.criteria),
            ("related_requirements", &self.requirements),
            ("related_files", &self.files),
            ("recent_trace", &self.entries),
        ]
    }

    /// The largest length the text could have.
    fn length(&self, head: &str) -> usize {
        // Both tags, and the note of how many are left out.
        let frame = |name: &str| 2 * name.len() + 50;
        self.each()
            .iter()
            .map(|(name, part)| frame(name) + part.lines.iter().map(String::len).sum::<usize>())
            .sum::<usize>()
            + head.len()
            + FOOT.len()
    }

    fn text(&self, head: &str) -> String {
        let mut out = head.to_owned();
        for (name, part) in self.each() {
            part.write(&mut out, name);
        }
        out + FOOT
    }
}

const FOOT: &str = "  </intent>\n</intent_context>";

fn head(intent: &Intent) -> String {
    let name = text(intent.title());
    let mut head = format!(
        "<intent_context>\n  <intent id=\"{}\" status=\"{}\">\n    <name>{name}</name>\n",
        escaped(&intent.id, 200),
        escaped(intent.status().as_str(), 50),
    );
    if let Some(description) = &intent.description {
        let _ = writeln!(head, "    <description>{}</description>", text(description));
    }
    head
}

fn lines<'t>(name: &str, texts: impl Iterator<Item = &'t str>) -> Part {
    Part::of(texts.map(|one| format!("      <{name}>{}</{name}>\n", text(one))).collect())
}

fn file_line(file: &RelatedFile) -> String {
    let mut line = format!("      <file path=\"{}\"", text(&file.path));
    for (name, value) in [("last_hash", &file.last_hash), ("last_modified", &file.last_modified)] {
        if let Some(value) = value {
            let _ = write!(line, " {name}=\"{}\"", escaped(value, 100));
        }
    }
    line + "/>\n"
}

fn entry_line(entry: &TraceEntry) -> String {
    format!(
        "      <entry timestamp=\"{}\" mutation_class=\"{}\" files=\"{}\"/>\n",
        escaped(&entry.timestamp, 50),
        escaped(&entry.mutation_class, 50),
        text(&entry.files.join(" ")),
    )
}

fn text(text: &str) -> String {
    escaped(text, MAX_TEXT)
}

/// The text as XML, cut so that it takes no more than `most` bytes once it is escaped. XML has no way to write most
/// control characters, not even escaped.
fn escaped(text: &str, most: usize) -> String {
    let mut out = String::with_capacity(text.len().min(most));
    let mut buffer = [0; 4];
    for character in text.chars() {
        let piece = match character {
            '&' => "&amp;",
            '<' => "&lt;",
            '>' => "&gt;",
            '"' => "&quot;",
            '\'' => "&apos;",
            '\n' | '\t' => character.encode_utf8(&mut buffer),
            control if control.is_control() || matches!(control, '\u{fffe}' | '\u{ffff}') => {
                "\u{fffd}"
            }
            other => other.encode_utf8(&mut buffer),
        };
        if out.len() + piece.len() + '…'.len_utf8() > most {
            out.push('…');
            break;
        }
        out += piece;
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::file::Intents;

    fn intent(text: &str) -> Intent {
        Intents::read(text).unwrap().all.remove(0)
    }

    fn entry(n: usize) -> TraceEntry {
        TraceEntry {
            timestamp: format!("2026-05-{n:02}"),
            mutation_class: "BUG_FIX".into(),
            files: vec!["src/a.rs".into(), "src/b.rs".into()],
        }
    }

    #[test]
    fn the_block_holds_the_intent_and_nothing_else() {
        let intent = intent(
            "- id: INT-1\n  name: 'a <b> & \"c\"'\n  status: active\n  owned_scope: [src/**]\n  constraints: [no </rule>]\n  acceptance_criteria: [works]\n  related_requirements: [R-1]\n",
        );
        let file = |path: &str| RelatedFile {
            path: path.into(),
            last_hash: Some("sha256:aa".into()),
            last_modified: None,
        };
        let block = intent_context(&intent, &[file("src/a.rs"), file("lib/b.rs")], &[entry(1)]);
        assert_eq!(
            block,
            "<intent_context>\n  <intent id=\"INT-1\" status=\"IN_PROGRESS\">\n    <name>a &lt;b&gt; &amp; &quot;c&quot;</name>\n    <owned_scope>\n      <path>src/**</path>\n    </owned_scope>\n    <constraints>\n      <rule>no &lt;/rule&gt;</rule>\n    </constraints>\n    <acceptance_criteria>\n      <item>works</item>\n    </acceptance_criteria>\n    <related_requirements>\n      <id>R-1</id>\n    </related_requirements>\n    <related_files>\n      <file path=\"src/a.rs\" last_hash=\"sha256:aa\"/>\n    </related_files>\n    <recent_trace>\n      <entry timestamp=\"2026-05-01\" mutation_class=\"BUG_FIX\" files=\"src/a.rs src/b.rs\"/>\n    </recent_trace>\n  </intent>\n</intent_context>"
        );
    }

    #[test]
    fn the_oldest_entries_go_first_then_files() {
        let intent = intent("- id: INT-1\n  owned_scope: ['**']\n");
        let trace: Vec<_> = (1..=30).map(entry).collect();
        let block = intent_context(&intent, &[], &trace);
        assert!(
            !block.contains("2026-05-10")
                && block.contains("2026-05-11")
                && block.contains("2026-05-30")
        );
        let files: Vec<_> = (0..130)
            .map(|n| RelatedFile {
                path: format!("src/{n}{}", "x".repeat(80)),
                ..RelatedFile::default()
            })
            .collect();
        let block = intent_context(&intent, &files, &trace);
        assert!(block.contains("src/129"), "files stay while entries can go");
        assert!(
            !block.contains("2026-05-11")
                && block.contains("2026-05-30")
                && block.contains("recent_trace left_out")
        );
        let many: Vec<_> = (0..1000)
            .map(|n| RelatedFile { path: format!("src/{n}"), ..RelatedFile::default() })
            .collect();
        let block = intent_context(&intent, &many, &trace);
        assert!(
            block.contains("<recent_trace left_out=\"20\">")
                && block.contains("related_files left_out")
        );
        assert!(block.contains("\"src/0\"") && !block.contains("\"src/999\""));
    }

    proptest! {
        // The texts are long, and a few are enough.
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn never_over_the_budget(
            name in "[<&a\u{1}é]{0,4000}", rules in prop::collection::vec("[<\"a]{0,3000}", 0..12),
            scope in 0..400usize, count in 0..60usize, files in 0..60usize, long in 0..900usize,
        ) {
            let mut one = Intent::default();
            one.id.clone_from(&name);
            one.name = Some(name.clone());
            one.description = Some(name);
            one.constraints.clone_from(&rules);
            one.acceptance_criteria = rules;
            one.owned_scope = (0..scope).map(|n| crate::file::Item { text: format!("{n}/**"), place: Default::default() }).collect();
            let trace: Vec<_> = (0..count).map(|n| TraceEntry { files: vec!["&".repeat(long)], ..entry(n) }).collect();
            let files: Vec<_> = (0..files).map(|n| RelatedFile { path: format!("{n}/{}", "<".repeat(long)), ..RelatedFile::default() }).collect();
            let block = intent_context(&one, &files, &trace);
            prop_assert!(block.len() <= BUDGET, "{}", block.len());
            prop_assert!(block.ends_with("</intent_context>"));
            prop_assert_eq!(block.matches('<').count(), block.matches('>').count());
        }
    }
}
