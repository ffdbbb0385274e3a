//! `transcript_entries`: the closed entry types of S0 §4.5 and the payloads of Appendix C.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{Attachment, SessionId, ToolUseId};

/// `transcript_entries.entry_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are those of S0 §4.5 and say all there is")]
pub enum EntryType {
    User,
    Assistant,
    System,
    ToolUse,
    ToolResult,
    Progress,
    Attachment,
    InternalHook,
    ContentReplacement,
    CollapseCommit,
    FileHistorySnapshot,
    AttributionSnapshot,
    QueueOperation,
    SpeculationAccept,
    AiTitle,
}

impl EntryType {
    /// Every entry type with its stored name, in the order of S0 §4.5.
    pub const ALL: [(EntryType, &'static str); 15] = [
        (EntryType::User, "user"),
        (EntryType::Assistant, "assistant"),
        (EntryType::System, "system"),
        (EntryType::ToolUse, "tool_use"),
        (EntryType::ToolResult, "tool_result"),
        (EntryType::Progress, "progress"),
        (EntryType::Attachment, "attachment"),
        (EntryType::InternalHook, "internal_hook"),
        (EntryType::ContentReplacement, "content_replacement"),
        (EntryType::CollapseCommit, "collapse_commit"),
        (EntryType::FileHistorySnapshot, "file_history_snapshot"),
        (EntryType::AttributionSnapshot, "attribution_snapshot"),
        (EntryType::QueueOperation, "queue_operation"),
        (EntryType::SpeculationAccept, "speculation_accept"),
        (EntryType::AiTitle, "ai_title"),
    ];

    /// The stored name.
    pub fn as_str(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// The entry type with this stored name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(entry_type, _)| *entry_type)
    }
}

impl fmt::Display for EntryType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A content block of a `user` or `assistant` entry (Appendix C, closed).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", try_from = "AnyBlock")]
pub enum ContentBlock {
    /// Plain text.
    Text {
        /// The text.
        text: String,
    },
    /// A call the model asks for.
    ToolUse {
        /// The call's id.
        id: ToolUseId,
        /// The tool's name.
        name: String,
        /// The tool's input, a JSON object.
        input: Value,
    },
    /// The answer to such a call.
    ToolResult {
        /// The call's id.
        tool_use_id: ToolUseId,
        /// What the model sees.
        content: String,
        /// Whether the call failed.
        is_error: bool,
    },
}

/// A block of any type. Transcripts are read often, and serde would read a tagged enum twice: first as anything,
/// then as what its tag says.
#[derive(Deserialize)]
struct AnyBlock {
    r#type: BlockType,
    text: Option<String>,
    id: Option<ToolUseId>,
    name: Option<String>,
    input: Option<Value>,
    tool_use_id: Option<ToolUseId>,
    content: Option<String>,
    is_error: Option<bool>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum BlockType {
    Text,
    ToolUse,
    ToolResult,
}

/// A block lacks a field of its type.
#[derive(Debug, thiserror::Error)]
#[error("a block of type {0:?} is incomplete")]
struct IncompleteBlock(BlockType);

impl TryFrom<AnyBlock> for ContentBlock {
    type Error = IncompleteBlock;

    fn try_from(any: AnyBlock) -> Result<Self, IncompleteBlock> {
        let block = match any.r#type {
            BlockType::Text => any.text.map(|text| Self::Text { text }),
            BlockType::ToolUse => any.id.zip(any.name).map(|(id, name)| {
                let input = any.input.unwrap_or_default();
                Self::ToolUse { id, name, input }
            }),
            BlockType::ToolResult => any.tool_use_id.zip(any.content).zip(any.is_error).map(
                |((tool_use_id, content), is_error)| Self::ToolResult {
                    tool_use_id,
                    content,
                    is_error,
                },
            ),
        };
        block.ok_or(IncompleteBlock(any.r#type))
    }
}

/// The content of a `system` entry, by its `subtype`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "subtype", rename_all = "snake_case")]
pub enum SystemNote {
    /// The system prompt from here on.
    Prompt {
        /// In blocks, the most stable first.
        blocks: Vec<String>,
    },
    /// Instruction files that came into context.
    Instructions {
        /// As the model is told.
        text: String,
        /// The files.
        files: Vec<String>,
    },
    /// Additional context for the model, from a hook or from ona itself.
    Context {
        /// As the model is told.
        text: String,
        /// Where it comes from.
        from: String,
    },
    /// Parts of the next answer that only their provider understands, such as signed thinking. Appendix C
    /// has no block for them.
    ProviderBlocks {
        /// S0 §2.1.
        provider: String,
        /// Each with its place among the answer's blocks.
        blocks: Vec<(usize, Value)>,
    },
    /// Tools whose definitions the model is given from here on.
    ToolsLoaded {
        /// Their names.
        names: Vec<String>,
    },
    /// A skill the model is to follow.
    Skill {
        /// Its name.
        name: String,
        /// As the model is told.
        text: String,
    },
    /// The user interrupted the turn.
    Interrupted,
    /// The turn ended in an error of the provider's.
    TurnFailed {
        /// The word of S0 §11.
        error: String,
        /// What went wrong.
        message: String,
    },
}

/// A file before and after a change (`file_history_snapshot`); `None` where there was no such file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileVersion {
    /// The file.
    pub path: String,
    /// What it was.
    pub before: Option<FileState>,
    /// What it became.
    pub after: Option<FileState>,
    /// How many lines were added.
    #[serde(default)]
    pub added: usize,
    /// How many lines were removed.
    #[serde(default)]
    pub removed: usize,
}

/// What is at a path, as the record has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum FileState {
    /// A file by the hash of its content, in entries of versions that did not note the mode.
    Content(String),
    /// A file.
    File {
        /// The hash of its content.
        hash: String,
        /// Its permissions.
        mode: u32,
    },
    /// A symbolic link.
    Link {
        /// Where it leads.
        link: String,
    },
    /// A directory.
    Directory {
        /// Its permissions.
        directory: u32,
    },
    /// Something that is not kept.
    Unknown {
        /// Why not.
        unknown: String,
    },
}

impl FileState {
    /// The hash of a file's content.
    pub fn hash(&self) -> Option<&str> {
        match self {
            Self::Content(hash) | Self::File { hash, .. } => Some(hash),
            _ => None,
        }
    }

    /// Whether both are the same, as far as it is known.
    pub fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Content(_), _) | (_, Self::Content(_)) => self.hash() == other.hash(),
            _ => self == other,
        }
    }
}

/// Where a transcript was compacted (`collapse_commit`). Earlier entries stay, but are no longer sent to the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Collapse {
    /// `manual` or `auto`.
    pub trigger: String,
    /// The model's summary of the earlier entries.
    pub summary: String,
    /// Plan, to-do list and other state, restored from the record.
    pub restored: String,
    /// How full the context was.
    pub pre_tokens: u64,
}

/// One row to be appended to a transcript: its type, payload and, where it belongs to a tool call,
/// that call's id.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// `entry_type`.
    pub entry_type: EntryType,
    /// `payload_json`, with the discriminator `_t` first.
    pub payload: Value,
    /// `tool_use_id`.
    pub tool_use_id: Option<ToolUseId>,
}

impl Entry {
    /// The row for a tool call.
    pub fn tool_use(id: &ToolUseId, name: &str, input: &Value) -> Self {
        Self {
            entry_type: EntryType::ToolUse,
            payload: json!({"_t": "tool_use", "id": id, "name": name, "input": input}),
            tool_use_id: Some(id.clone()),
        }
    }

    /// The row for a tool result.
    pub fn tool_result(id: &ToolUseId, content: &str, is_error: bool) -> Self {
        Self {
            entry_type: EntryType::ToolResult,
            payload: json!({
                "_t": "tool_result", "tool_use_id": id, "content": content, "is_error": is_error,
            }),
            tool_use_id: Some(id.clone()),
        }
    }

    /// An image or document that a tool result could not carry in its text.
    pub fn attachment(id: &ToolUseId, attachment: &Attachment) -> Self {
        Self { tool_use_id: Some(id.clone()), ..Self::shown(attachment) }
    }

    /// An image or document that a prompt could not carry in its text.
    pub fn shown(attachment: &Attachment) -> Self {
        Self {
            entry_type: EntryType::Attachment,
            payload: json!({"_t": "attachment", "attachment": attachment}),
            tool_use_id: None,
        }
    }

    /// A hook's message to the model about a call.
    pub fn hook_context(id: &ToolUseId, content: &str) -> Self {
        Self {
            entry_type: EntryType::InternalHook,
            payload: json!({"_t": "internal_hook", "tool_use_id": id, "content": content}),
            tool_use_id: Some(id.clone()),
        }
    }

    /// A message from ona itself.
    pub fn system(note: &SystemNote) -> Self {
        Self { entry_type: EntryType::System, payload: tagged("system", note), tool_use_id: None }
    }

    /// What files were before a call changed them, and why there may be others. Their content is kept by this session.
    pub fn file_history(kept_by: &SessionId, files: &[FileVersion], unsure: Option<&str>) -> Self {
        let mut payload =
            json!({"_t": "file_history_snapshot", "kept_by": kept_by, "files": files});
        if let Some(unsure) = unsure {
            payload["unsure"] = unsure.into();
        }
        Self { entry_type: EntryType::FileHistorySnapshot, payload, tool_use_id: None }
    }

    /// Where the transcript was compacted.
    pub fn collapse(collapse: &Collapse) -> Self {
        let payload = tagged("collapse_commit", collapse);
        Self { entry_type: EntryType::CollapseCommit, payload, tool_use_id: None }
    }

    /// A prompt, and what was typed where that is not the prompt itself: `/review` for the text it stands for.
    pub fn prompt(uuid: &str, content: &[ContentBlock], typed: Option<&str>) -> Self {
        let mut entry = Self::message(EntryType::User, uuid, content);
        if let Some(typed) = typed {
            entry.payload["typed"] = typed.into();
        }
        entry
    }

    /// A `user` or `assistant` message; `uuid` is the caller's, so that a replay can keep it.
    pub fn message(entry_type: EntryType, uuid: &str, content: &[ContentBlock]) -> Self {
        Self {
            entry_type,
            payload: json!({"_t": entry_type.as_str(), "uuid": uuid, "content": content}),
            tool_use_id: None,
        }
    }
}

/// A payload with the discriminator first.
fn tagged(name: &str, content: &impl Serialize) -> Value {
    let mut payload = json!({"_t": name});
    if let (Value::Object(payload), Ok(Value::Object(content))) =
        (&mut payload, serde_json::to_value(content))
    {
        payload.extend(content);
    }
    payload
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_closed_set() {
        for (entry_type, name) in EntryType::ALL {
            assert_eq!(entry_type.as_str(), name);
            assert_eq!(EntryType::from_name(name), Some(entry_type));
        }
        assert_eq!(EntryType::from_name("tool-use"), None);
    }

    #[test]
    fn payloads_are_compact_and_in_appendix_c_order() {
        let id = ToolUseId::from_existing("t1");
        let call = Entry::tool_use(&id, "Read", &json!({"file_path": "/a"}));
        assert_eq!(
            call.payload.to_string(),
            r#"{"_t":"tool_use","id":"t1","name":"Read","input":{"file_path":"/a"}}"#
        );
        let result = Entry::tool_result(&id, "ok", false);
        assert_eq!(
            result.payload.to_string(),
            r#"{"_t":"tool_result","tool_use_id":"t1","content":"ok","is_error":false}"#
        );
    }

    #[test]
    fn what_ona_says_comes_back_as_it_was() {
        let notes = [
            SystemNote::Prompt { blocks: vec!["a".into()] },
            SystemNote::ProviderBlocks {
                provider: "p".into(),
                blocks: vec![(1, json!({"type": "thinking"}))],
            },
            SystemNote::Interrupted,
        ];
        for note in notes {
            let payload = Entry::system(&note).payload;
            assert!(payload.to_string().starts_with(r#"{"_t":"system","subtype":""#), "{payload}");
            assert_eq!(serde_json::from_value::<SystemNote>(payload).unwrap(), note);
        }
        let collapse = Collapse {
            trigger: "auto".into(),
            summary: "s".into(),
            restored: "r".into(),
            pre_tokens: 7,
        };
        let payload = Entry::collapse(&collapse).payload;
        assert_eq!(payload["_t"], "collapse_commit");
        assert_eq!(serde_json::from_value::<Collapse>(payload).unwrap(), collapse);
    }

    #[test]
    fn blocks_keep_their_published_shape() {
        let id = ToolUseId::from_existing("t");
        for (block, shape) in [
            (ContentBlock::Text { text: "hi".into() }, r#"{"type":"text","text":"hi"}"#),
            (
                ContentBlock::ToolUse {
                    id: id.clone(),
                    name: "Read".into(),
                    input: json!({"a": 1}),
                },
                r#"{"type":"tool_use","id":"t","name":"Read","input":{"a":1}}"#,
            ),
            (
                ContentBlock::ToolResult { tool_use_id: id, content: "x".into(), is_error: false },
                r#"{"type":"tool_result","tool_use_id":"t","content":"x","is_error":false}"#,
            ),
        ] {
            assert_eq!(serde_json::to_string(&block).unwrap(), shape);
            assert_eq!(serde_json::from_str::<ContentBlock>(shape).unwrap(), block);
        }
        for bad in [r#"{"type":"image"}"#, r#"{"type":"text"}"#, r#"{"type":"tool_use","id":"t"}"#]
        {
            assert!(serde_json::from_str::<ContentBlock>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_hash_alone_is_a_file_of_an_earlier_version() {
        let old = r#"{"path": "/a", "before": "h", "after": null}"#;
        let version: FileVersion = serde_json::from_str(old).unwrap();
        assert_eq!(version.before, Some(FileState::Content("h".to_owned())));
        let new = FileState::File { hash: "h".to_owned(), mode: 0o644 };
        assert!(version.before.unwrap().is_like(&new));
        let states = [
            new,
            FileState::Link { link: "to".to_owned() },
            FileState::Directory { directory: 0o755 },
            FileState::Unknown { unknown: "why".to_owned() },
        ];
        for state in states {
            let json = serde_json::to_string(&state).unwrap();
            assert_eq!(serde_json::from_str::<FileState>(&json).unwrap(), state, "{json}");
        }
    }
}
