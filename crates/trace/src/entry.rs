//! The record `ona.trace/1`: S2's and S4's records in one, and what ona adds.

mod dialect;
mod mode;

use ona_types::{Hasher, fresh_uuid};
use serde::{Deserialize, Serialize};

use crate::words::{lenient, words};
pub(crate) use dialect::dialect_of;
pub use dialect::{BadLine, Dialect, parse_line};
pub use mode::ModeChange;

/// The value of `schema` in ona's own lines.
pub const SCHEMA: &str = "ona.trace/1";

/// A warning: the file was changed by someone else between the check and the write (S2 §2.3).
pub const CONCURRENT_MODIFICATION: &str = "concurrent_modification";
/// A warning: hashes of lines and symbols were left out, the entry was too long.
pub const DETAILS_DROPPED: &str = "details_dropped";
/// A warning: also ranges were left out.
pub const RANGES_CUT: &str = "ranges_cut";

words! {
    /// What a change is for (S2 §2.5).
    MutationClass {
        /// Structure changed, behaviour did not.
        AstRefactor = "AST_REFACTOR",
        /// New behaviour.
        IntentEvolution = "INTENT_EVOLUTION",
        /// A defect was corrected.
        BugFix = "BUG_FIX",
        /// Comments and documents only.
        Documentation = "DOCUMENTATION",
        /// A configuration file.
        Configuration = "CONFIGURATION",
        /// A new file.
        FileCreation = "FILE_CREATION",
        /// A file removed.
        FileDeletion = "FILE_DELETION",
    }
}

words! {
    /// Where the class of a change comes from.
    ClassSource {
        /// The caller said it.
        Claimed = "claimed",
        /// It was worked out from the change.
        Inferred = "inferred",
    }
}

words! {
    /// What the scope check said (S2 §2.5).
    ScopeValidation {
        /// In the scope of the intent.
        Pass = "PASS",
        /// Outside it.
        Fail = "FAIL",
        /// Not asked.
        Exempt = "EXEMPT",
    }
}

words! {
    /// What kind of tool it was (S4).
    ToolOrigin {
        /// Built in.
        Native = "native",
        /// Of an MCP server.
        Mcp = "mcp",
        /// Of the host's user.
        Custom = "custom",
    }
}

words! {
    /// What the tool did (S4).
    AgentAction {
        /// Wrote a whole file.
        WriteFile = "WRITE_FILE",
        /// Applied a patch.
        PatchFile = "PATCH_FILE",
        /// Replaced a part.
        EditFile = "EDIT_FILE",
        /// Made something that is not text.
        GenerateAsset = "GENERATE_ASSET",
        /// Anything else that changes files.
        Mutate = "MUTATE",
    }
}

words! {
    /// Whether the symbols around a change are known (S4).
    AstStatus {
        /// A syntax tree was made.
        Ok = "ok",
        /// There is none: the language is not known, or the text was too large, too slow or not text.
        Fallback = "fallback",
    }
}

words! {
    /// What a symbol names (S4).
    NodeKind {
        /// A class, or a struct.
        Class = "class",
        /// An interface, or a trait.
        Interface = "interface",
        /// An enumeration.
        Enum = "enum",
        /// Any other type.
        Type = "type",
        /// A function or method.
        Function = "function",
        /// Anything else that has a name.
        Definition = "definition",
    }
}

/// One line of the ledger. What a reader finds in a line of another dialect is brought into this form; what that
/// line does not say is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TraceEntry {
    /// [`SCHEMA`] in ona's lines, empty in others.
    pub schema: String,
    /// A version 4 UUID.
    pub id: String,
    /// UTC, with milliseconds. [`crate::Ledger::append`] fills it in where it is empty.
    pub timestamp: String,
    /// Number in the chain, from 1. Set by [`crate::Ledger::append`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// `entry_hash` of ona's line before; none in the first. Set by [`crate::Ledger::append`].
    pub prev_hash: Option<String>,
    /// The intent the change was made for.
    pub intent_id: Option<String>,
    /// The session that made it.
    pub session_id: Option<String>,
    /// The canonical name of the tool.
    pub tool_name: String,
    /// What kind of tool.
    #[serde(deserialize_with = "lenient")]
    pub tool_origin: Option<ToolOrigin>,
    /// What it did.
    #[serde(deserialize_with = "lenient")]
    pub agent_action: Option<AgentAction>,
    /// What the change is for.
    #[serde(deserialize_with = "lenient")]
    pub mutation_class: Option<MutationClass>,
    /// Who says so.
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub mutation_class_source: Option<ClassSource>,
    /// Set when the claimed class does not match the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mutation_class_mismatch: Option<ClassMismatch>,
    /// What the scope check said.
    #[serde(deserialize_with = "lenient")]
    pub scope_validation: Option<ScopeValidation>,
    /// Whether the tool succeeded. S4 writes only successes and does not say so.
    #[serde(default = "yes")]
    pub success: bool,
    /// Why it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The first file changed, for readers of S2's record.
    pub file: Option<FileChange>,
    /// HEAD at the time, or `unknown`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision_id: Option<String>,
    /// Requirements of the intent.
    pub related_requirements: Vec<String>,
    /// What changed, one for every hunk.
    pub modified_ranges: Vec<ModifiedRange>,
    /// Warnings: `concurrent_modification`, …
    pub warnings: Vec<String>,
    /// The conversation the session belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<String>,
    /// The bead worked on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bead_id: Option<String>,
    /// The task worked on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// The tool call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<String>,
    /// Who acted: `agent` or `human`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// The model, `provider/model`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Who allowed it, where a human was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approver: Option<String>,
    /// The host whose hook wrote it, where it was not ona's own agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Hashes of the torn lines that this one found at the end of the file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub repaired: Vec<String>,
    /// SHA-256 over the canonical JSON of all the rest. Set by [`crate::Ledger::append`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry_hash: Option<String>,
}

fn yes() -> bool {
    true
}

impl TraceEntry {
    /// An entry of ona's with a fresh id and nothing else.
    pub fn new() -> Self {
        Self { schema: SCHEMA.to_owned(), id: uuid_v4(), success: true, ..Self::default() }
    }

    /// Every file the entry speaks of, each once, the first one first.
    pub fn files(&self) -> Vec<&str> {
        let mut files: Vec<&str> = Vec::new();
        let named = self.file.iter().map(|file| file.relative_path.as_str());
        for file in named.chain(self.modified_ranges.iter().map(|range| range.file.as_str())) {
            if !files.contains(&file) {
                files.push(file);
            }
        }
        files
    }
}

/// A random UUID in the form S2 asks for. The ids of the project are version 7; the random bits of two of them
/// make one of version 4.
fn uuid_v4() -> String {
    let seed = Hasher::new().update(fresh_uuid().as_bytes()).update(fresh_uuid().as_bytes());
    let hash = seed.finish();
    let hex = hash.as_str();
    let variant = match hex.as_bytes().get(16) {
        Some(b'0'..=b'3') => '8',
        Some(b'4'..=b'7') => '9',
        Some(b'8' | b'9' | b'a' | b'b') => 'a',
        _ => 'b',
    };
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    format!(
        "{}-{}-4{}-{variant}{}-{}",
        part(0, 8),
        part(8, 12),
        part(13, 16),
        part(17, 20),
        part(20, 32)
    )
}

/// A class that was claimed and does not fit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassMismatch {
    /// What was claimed.
    pub claimed: MutationClass,
    /// What the change is.
    pub found: MutationClass,
    /// What in the change says so.
    pub why: String,
}

/// A file that changed (S2 §2.5).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FileChange {
    /// From the workspace, with `/`.
    pub relative_path: String,
    /// SHA-256 before; none if there was no file.
    pub pre_hash: Option<String>,
    /// SHA-256 after; none if the file does not exist.
    pub post_hash: Option<String>,
    /// The name it had before, where it was moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_path: Option<String>,
}

/// Lines, from 1, both included. No lines: `end_line` is one less than `start_line`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct LineRange {
    /// The first line.
    pub start_line: u64,
    /// The last line.
    pub end_line: u64,
}

impl LineRange {
    /// How many lines.
    pub fn len(self) -> u64 {
        self.end_line.saturating_add(1).saturating_sub(self.start_line)
    }

    /// Whether it is empty.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }
}

/// One hunk of a change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModifiedRange {
    /// From the workspace, with `/`.
    pub file: String,
    /// The lines it replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_range: Option<LineRange>,
    /// The lines it put there. None where only the whole file is known to have changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_range: Option<LineRange>,
    /// SHA-256 of the new lines, joined with a newline.
    pub content_hash: Option<String>,
    /// SHA-256 of the whole file before.
    pub before_hash: Option<String>,
    /// SHA-256 of the whole file after.
    pub after_hash: Option<String>,
    /// Eight hexadecimal digits for every new line: what blame recognises a line by when it has moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line_hashes: Option<String>,
    /// Whether the symbols are known.
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub ast_status: Option<AstStatus>,
    /// The symbols the new lines belong to.
    #[serde(deserialize_with = "known_nodes", skip_serializing_if = "Vec::is_empty")]
    pub ast_nodes: Vec<AstNode>,
}

/// The symbols that are written as ona writes them; others say nothing that blame could use.
fn known_nodes<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<AstNode>, D::Error> {
    let nodes = Vec::<serde_json::Value>::deserialize(deserializer)?;
    Ok(nodes.into_iter().filter_map(|node| serde_json::from_value(node).ok()).collect())
}

/// A symbol that a change touched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AstNode {
    /// Its name.
    pub symbol: String,
    /// What it names.
    #[serde(rename = "type")]
    pub kind: NodeKind,
    /// Its first line.
    pub start_line: u64,
    /// Its last line.
    pub end_line: u64,
    /// SHA-256 of its source bytes.
    pub node_hash: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_the_form_of_version_4_and_differ() {
        let (one, two) = (uuid_v4(), uuid_v4());
        assert_ne!(one, two);
        for id in [one, two] {
            let parts: Vec<usize> = id.split('-').map(str::len).collect();
            assert_eq!(parts, [8, 4, 4, 4, 12]);
            assert_eq!(id.as_bytes()[14], b'4');
            assert!(b"89ab".contains(&id.as_bytes()[19]), "{id}");
        }
    }

    #[test]
    fn the_example_of_the_format_reads_and_writes_back() {
        let text = r#"{"schema":"ona.trace/1","id":"6a2f","timestamp":"2026-05-02T09:14:03.120Z","seq":41,"prev_hash":"sha256:90","intent_id":"INT-014","session_id":"s-7","tool_name":"Edit","tool_origin":"native","agent_action":"EDIT_FILE","mutation_class":"BUG_FIX","scope_validation":"PASS","success":true,"file":{"relative_path":"src/auth/limit.rs","pre_hash":"sha256:aa","post_hash":"sha256:bb"},"related_requirements":["REQ-AUTH-3"],"modified_ranges":[{"file":"src/auth/limit.rs","old_range":{"start_line":12,"end_line":12},"new_range":{"start_line":12,"end_line":15},"content_hash":"sha256:cc","before_hash":"sha256:aa","after_hash":"sha256:bb","ast_status":"ok","ast_nodes":[{"symbol":"allow","type":"function","start_line":8,"end_line":21,"node_hash":"sha256:dd"}]}],"warnings":[],"entry_hash":"sha256:ee"}"#;
        let entry: TraceEntry = serde_json::from_str(text).unwrap();
        assert_eq!(entry.files(), ["src/auth/limit.rs"]);
        assert_eq!(serde_json::to_string(&entry).unwrap(), text);
    }

    #[test]
    fn an_unknown_word_costs_its_field_only() {
        let entry: TraceEntry =
            serde_json::from_str(r#"{"mutation_class":"REWRITE","tool_origin":7,"id":"x"}"#)
                .unwrap();
        assert_eq!((entry.mutation_class, entry.tool_origin), (None, None));
        assert!(entry.success, "S4 records successes only");
    }
}
