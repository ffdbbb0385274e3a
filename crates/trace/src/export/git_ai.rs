//! Git AI authorship notes, v3.0.0 (`refs/notes/ai`).

use std::collections::BTreeMap;
use std::fmt::Write;

use ona_types::ContentHash;
use serde_json::{Map, Value, json};

use super::is_human;
use crate::blame::Blame;
use crate::entry::TraceEntry;

/// A file of the commit, and who wrote the lines that the note is to speak of.
#[derive(Clone, Copy, Debug)]
pub struct NoteFile<'a> {
    /// From the root of the repository, with `/`.
    pub path: &'a str,
    /// Its blame. Lines without a known author are left out of the note.
    pub blame: &'a Blame,
}

/// The note of a commit. `author` is the git identity of the committer. `None` if no line of it is known.
pub fn git_ai_note(
    base_commit_sha: &str,
    author: &str,
    ona_version: &str,
    files: &[NoteFile<'_>],
) -> Option<String> {
    let mut note = String::new();
    let mut sessions: BTreeMap<String, Session<'_>> = BTreeMap::new();
    let mut humans = Map::new();
    for file in files {
        let mut keys: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        for line in &file.blame.lines {
            let Some(entry) = file.blame.entry(line) else { continue };
            let key = if is_human(entry) {
                let identity = entry.approver.as_deref().unwrap_or(author);
                let key = format!("h_{}", short(identity));
                humans.insert(key.clone(), json!({"author": identity}));
                key
            } else {
                let session = Session::of(entry);
                let id = format!("s_{}", short(&format!("{}:{}", session.tool, session.id)));
                let key = format!("{id}::t_{}", short(&entry.id));
                sessions.entry(id).or_insert(session).add(entry);
                key
            };
            keys.entry(key).or_default().push(line.line);
        }
        if !keys.is_empty() {
            let _ = writeln!(note, "{}", quoted(file.path));
            for (key, lines) in keys {
                let _ = writeln!(note, "  {key} {}", ranges(lines));
            }
        }
    }
    if note.is_empty() {
        return None;
    }
    let sessions: Map<String, Value> =
        sessions.into_iter().map(|(id, session)| (id, session.json(author))).collect();
    let metadata = json!({
        "schema_version": "authorship/3.0.0",
        "git_ai_version": format!("ona-{ona_version}"),
        "base_commit_sha": base_commit_sha,
        "prompts": {},
        "humans": humans,
        "sessions": sessions,
    });
    let metadata = serde_json::to_string_pretty(&metadata).unwrap_or_default();
    Some(format!("{note}---\n{metadata}\n"))
}

/// A session of an agent, and what it worked on.
struct Session<'a> {
    tool: &'a str,
    id: &'a str,
    model: &'a str,
    intents: Vec<&'a str>,
    beads: Vec<&'a str>,
}

impl<'a> Session<'a> {
    fn of(entry: &'a TraceEntry) -> Self {
        let id = entry.conversation_id.as_deref().or(entry.session_id.as_deref());
        Self {
            tool: entry.host.as_deref().unwrap_or("ona"),
            id: id.unwrap_or("unknown"),
            model: entry.model.as_deref().unwrap_or("unknown"),
            intents: Vec::new(),
            beads: Vec::new(),
        }
    }

    fn add(&mut self, entry: &'a TraceEntry) {
        for (list, id) in [(&mut self.intents, &entry.intent_id), (&mut self.beads, &entry.bead_id)]
        {
            if let Some(id) = id.as_deref().filter(|id| !list.contains(id)) {
                list.push(id);
            }
        }
    }

    fn json(&self, author: &str) -> Value {
        let mut attributes = Map::new();
        for (key, ids) in [("ona_intent_ids", &self.intents), ("ona_bead_ids", &self.beads)] {
            if !ids.is_empty() {
                attributes.insert(key.to_owned(), ids.join(",").into());
            }
        }
        let mut session = json!({
            "agent_id": {"tool": self.tool, "id": self.id, "model": self.model},
            "human_author": author,
        });
        if let Some(session) = session.as_object_mut().filter(|_| !attributes.is_empty()) {
            session.insert("custom_attributes".to_owned(), attributes.into());
        }
        session
    }
}

/// The first 14 digits of the SHA-256.
fn short(text: &str) -> String {
    ContentHash::of(text.as_bytes()).as_str().chars().take(14).collect()
}

/// A path as the attestation writes it. A line end in it would start a line of its own.
fn quoted(path: &str) -> String {
    let path: String = path.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    if path.contains([' ', '\t', '"']) { format!("\"{path}\"") } else { path }
}

/// `1-4,9,12-14`
fn ranges(mut lines: Vec<u64>) -> String {
    lines.sort_unstable();
    lines.dedup();
    let runs: Vec<String> = lines
        .chunk_by(|one, two| *two == one + 1)
        .map(|run| match run {
            [only] => only.to_string(),
            [first, .., last] => format!("{first}-{last}"),
            [] => String::new(),
        })
        .collect();
    runs.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blame::{BlamedLine, Certainty, Origin, Unknown};

    fn blame(entries: Vec<TraceEntry>, owners: &[Option<usize>]) -> Blame {
        let lines = owners.iter().enumerate().map(|(at, owner)| BlamedLine {
            line: at as u64 + 1,
            origin: owner.map_or(Origin::Unknown(Unknown::Outside), |owner| {
                Origin::Entry(owner, Certainty::Exact)
            }),
            commit: None,
        });
        Blame { lines: lines.collect(), entries }
    }

    #[test]
    fn both_parts() {
        let mut agent = TraceEntry::new();
        agent.id = "e1".into();
        agent.conversation_id = Some("conv_1".into());
        agent.intent_id = Some("INT-1".into());
        agent.model = Some("anthropic/m".into());
        let mut human = TraceEntry::new();
        human.actor = Some("human".into());
        let blame =
            blame(vec![agent, human], &[Some(0), Some(0), None, Some(0), Some(1), None, Some(0)]);
        let file = NoteFile { path: "src/a b.rs", blame: &blame };
        let note = git_ai_note("abc", "Dev <d@e.f>", "0.1.0", &[file]).unwrap();
        let (attestation, metadata) = note.split_once("---\n").unwrap();
        let session = format!("s_{}", short("ona:conv_1"));
        let person = format!("h_{}", short("Dev <d@e.f>"));
        assert_eq!(
            attestation,
            format!("\"src/a b.rs\"\n  {person} 5\n  {session}::t_{} 1-2,4,7\n", short("e1"))
        );
        let metadata: Value = serde_json::from_str(metadata).unwrap();
        assert_eq!(metadata["schema_version"], "authorship/3.0.0");
        assert_eq!(metadata["humans"][&person]["author"], "Dev <d@e.f>");
        let session = &metadata["sessions"][&session];
        assert_eq!(session["agent_id"], json!({"tool":"ona","id":"conv_1","model":"anthropic/m"}));
        assert_eq!(session["custom_attributes"]["ona_intent_ids"], "INT-1");
        assert_eq!(short("x").len(), 14);
    }

    #[test]
    fn nothing_known_is_no_note() {
        let blame = blame(Vec::new(), &[None, None]);
        assert_eq!(git_ai_note("abc", "x", "0", &[NoteFile { path: "a", blame: &blame }]), None);
    }
}
