//! From rows to messages: the model's context is built from the committed transcript and nothing else (S0 §2.5,
//! step 2). The same rows give the same messages, whether they are read at once or one by one.

use std::collections::HashMap;

use ona_provider::{
    Block, History, JsonText, Message, Part, ProviderKind, Role, ToolInput, Written,
};
use ona_store::EntryView;
use ona_tools::STRUCTURED_OUTPUT;
use ona_types::{Attachment, Collapse, ContentBlock, EntryType, SystemNote, ToolUseId};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// The result of a call that never started.
pub(crate) const NOT_RUN: &str = "not run: the turn was interrupted before this call";
/// The note where the user interrupted.
const INTERRUPTED: &str = "[the user interrupted here]";
/// The note before calls of the operator: a conversation must start with the user.
const OPERATOR: &str = "[the operator called tools directly]";

/// This many messages are not in the history yet: the last one may grow, and the last two user messages carry cache
/// marks for the provider.
const RECENT_MESSAGES: usize = 4;

/// The conversation as the model sees it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ModelContext {
    provider: ProviderKind,
    system: Vec<String>,
    history: History,
    /// The last messages; not empty if there are any messages.
    recent: Vec<Message>,
    /// The maximum length of `recent`.
    max_recent: usize,
    /// The calls of the last message, while their results arrive.
    open: Option<OpenCalls>,
    /// Provider blocks for the next answer.
    opaque: Vec<(usize, Block)>,
    /// Instruction files in the context.
    files: Vec<String>,
    /// Applied skills: name and text.
    skills: Vec<(String, String)>,
    /// Tools that were found by search.
    loaded: Vec<String>,
    /// The sequence number of the next row.
    next: i64,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct OpenCalls {
    calls: Vec<ToolUseId>,
    results: HashMap<ToolUseId, (Vec<Part>, bool)>,
    /// What hooks added about them.
    after: Vec<Block>,
}

#[derive(Deserialize)]
struct MessageRow {
    content: Vec<ContentBlock>,
}

#[derive(Deserialize)]
struct CallRow {
    id: ToolUseId,
    name: String,
    input: Map<String, Value>,
}

#[derive(Deserialize)]
struct ResultRow<'r> {
    tool_use_id: ToolUseId,
    #[serde(borrow)]
    content: &'r RawValue,
    is_error: bool,
}

#[derive(Deserialize)]
struct AttachmentRow {
    attachment: Attachment,
}

#[derive(Deserialize)]
struct HookRow {
    tool_use_id: Option<ToolUseId>,
    content: String,
}

impl ModelContext {
    /// An empty conversation with this provider.
    pub(crate) fn new(provider: ProviderKind) -> Self {
        Self {
            provider,
            system: Vec::new(),
            history: History::new(provider),
            recent: Vec::new(),
            max_recent: RECENT_MESSAGES,
            open: None,
            opaque: Vec::new(),
            files: Vec::new(),
            skills: Vec::new(),
            loaded: Vec::new(),
            next: 0,
        }
    }

    /// Reads the next row.
    pub(crate) fn read(&mut self, row: EntryView<'_>) {
        self.apply(row);
        self.next = row.sequence + 1;
    }

    /// The sequence number of the first unread row.
    pub(crate) fn next(&self) -> i64 {
        self.next
    }

    /// Applied skills, the latest last.
    pub(crate) fn skills(&self) -> &[(String, String)] {
        &self.skills
    }

    /// Tools whose definitions the model gets because it searched for them, in that order.
    pub(crate) fn loaded(&self) -> &[String] {
        &self.loaded
    }

    /// Instruction files in the context.
    pub(crate) fn instruction_files(&self) -> &[String] {
        &self.files
    }

    /// The system prompt.
    pub(crate) fn system(&self) -> &[String] {
        &self.system
    }

    /// Calls of the last answer without a result.
    pub(crate) fn unanswered(&self) -> Vec<ToolUseId> {
        let Some(open) = &self.open else { return Vec::new() };
        open.calls.iter().filter(|id| !open.results.contains_key(*id)).cloned().collect()
    }

    /// A call of the last answer.
    pub(crate) fn call(&self, id: &ToolUseId) -> Option<(&str, &Map<String, Value>)> {
        self.recent.last()?.content.iter().find_map(|block| match block {
            Block::ToolUse { id: own, name, input: ToolInput::Json(input) } if own == id => {
                Some((name.as_str(), input))
            }
            _ => None,
        })
    }

    /// Whether there are no messages.
    pub(crate) fn is_empty(&self) -> bool {
        self.recent.is_empty()
    }

    /// The last structured answer, if the model made no other call and nothing was added since.
    pub(crate) fn shaped_answer(&self) -> Option<Value> {
        let open = self.open.as_ref().filter(|open| open.after.is_empty())?;
        let calls = open.calls.iter().map(|id| (self.call(id), open.results.get(id)));
        let calls: Vec<_> = calls.collect();
        let is_answer =
            |call: Option<(&str, _)>| call.is_some_and(|(name, _)| name == STRUCTURED_OUTPUT);
        if !calls.iter().all(|(call, _)| is_answer(*call)) {
            return None;
        }
        let fits = |result: Option<&(_, bool)>| result.is_some_and(|(_, is_error)| !is_error);
        let (call, _) = calls.into_iter().rev().find(|(_, result)| fits(*result))?;
        call.map(|(_, input)| Value::Object(input.clone()))
    }

    /// Whether the model must answer next.
    pub(crate) fn awaits_answer(&self) -> bool {
        (self.open.is_some() && self.shaped_answer().is_none())
            || self.recent.last().is_some_and(|last| last.role == Role::User)
    }

    /// The messages up to the open calls. [`Self::results`] answers those.
    pub(crate) fn messages(&self) -> (Written<'_>, &[Message]) {
        (self.history.whole(), &self.recent)
    }

    /// The number of messages.
    pub(crate) fn len(&self) -> usize {
        self.history.len() + self.recent.len()
    }

    /// The messages from the first possible cut at or after `from`, with the number of that message.
    pub(crate) fn suffix_from(&self, from: usize) -> Option<(usize, Written<'_>, &[Message])> {
        if let Some((number, part)) = self.history.later(from) {
            return Some((number, part, &self.recent));
        }
        let from = from.saturating_sub(self.history.len());
        let at = (from..self.recent.len()).find(|at| self.recent[*at].can_begin())?;
        Some((self.history.len() + at, Written::default(), &self.recent[at..]))
    }

    /// The results of the open calls; every call has one.
    pub(crate) fn results(&self) -> Option<Message> {
        self.open.clone().map(OpenCalls::close)
    }

    /// Applies a row. A row that cannot be parsed was inserted by hand and is skipped.
    fn apply(&mut self, row: EntryView<'_>) {
        let json = row.payload_json;
        match EntryType::from_name(row.entry_type) {
            Some(EntryType::User) => {
                if let Ok(MessageRow { content }) = serde_json::from_str(json) {
                    for block in content.into_iter().filter_map(block) {
                        self.push_user_block(block);
                    }
                }
            }
            Some(EntryType::Assistant) => {
                if let Ok(MessageRow { content }) = serde_json::from_str(json) {
                    self.push_answer(content.into_iter().filter_map(block).collect());
                }
            }
            Some(EntryType::ToolUse) => {
                if let Ok(CallRow { id, name, input }) = serde_json::from_str(json)
                    && !self.open.as_ref().is_some_and(|open| open.calls.contains(&id))
                {
                    // It was not in an answer: the operator called it.
                    let input = ToolInput::Json(input);
                    self.push_answer(vec![Block::ToolUse { id, name, input }]);
                }
            }
            Some(EntryType::ToolResult) => {
                if let (Some(open), Ok(ResultRow { tool_use_id, content, is_error })) =
                    (&mut self.open, serde_json::from_str(json))
                    && let Some(part) = result(content)
                {
                    open.results.insert(tool_use_id, (vec![part], is_error));
                }
            }
            Some(EntryType::Attachment) => {
                let Ok(AttachmentRow { attachment }) = serde_json::from_str(json) else { return };
                let id = row.tool_use_id.map(ToolUseId::from_existing);
                let result = id.and_then(|id| self.open.as_mut()?.results.get_mut(&id));
                match result {
                    Some((parts, _)) => parts.push(Part::Attachment(attachment)),
                    None => self.push_user_block(Block::Attachment(attachment)),
                }
            }
            Some(EntryType::InternalHook) => {
                let Ok(HookRow { tool_use_id, content }) = serde_json::from_str(json) else {
                    return;
                };
                let text = Block::Text(format!("<hook>\n{content}\n</hook>"));
                match (&mut self.open, tool_use_id) {
                    (Some(open), Some(id)) if open.calls.contains(&id) => open.after.push(text),
                    _ => self.push_user_block(text),
                }
            }
            Some(EntryType::System) => {
                if let Ok(note) = serde_json::from_str(json) {
                    self.apply_note(note);
                }
            }
            Some(EntryType::CollapseCommit) => {
                if let Ok(Collapse { summary, restored, .. }) = serde_json::from_str(json) {
                    (self.recent, self.open, self.opaque) = (Vec::new(), None, Vec::new());
                    self.history = History::new(self.provider);
                    self.files.clear();
                    self.loaded.clear();
                    self.push_user_block(Block::Text(summary));
                    if !restored.is_empty() {
                        self.push_user_block(Block::Text(restored));
                    }
                }
            }
            _ => {}
        }
    }

    fn apply_note(&mut self, note: SystemNote) {
        if let SystemNote::Instructions { files, .. } = &note {
            self.files.extend_from_slice(files);
        }
        if let SystemNote::Skill { name, text } = &note {
            self.skills.retain(|(known, _)| known != name);
            self.skills.push((name.clone(), text.clone()));
        }
        match note {
            SystemNote::Prompt { blocks } => self.system = blocks,
            // Only results may follow the calls of an answer.
            SystemNote::Instructions { text, .. }
            | SystemNote::Context { text, .. }
            | SystemNote::Skill { text, .. } => match &mut self.open {
                Some(open) => open.after.push(Block::Text(text)),
                None => self.push_user_block(Block::Text(text)),
            },
            SystemNote::ProviderBlocks { provider, blocks } => {
                if let Ok(provider) = provider.parse::<ProviderKind>() {
                    let opaque = |(at, value)| (at, Block::Opaque { provider, value });
                    self.opaque = blocks.into_iter().map(opaque).collect();
                }
            }
            SystemNote::ToolsLoaded { names } => {
                self.loaded.retain(|known| !names.contains(known));
                self.loaded.extend(names);
            }
            SystemNote::Interrupted => self.push_user_block(Block::Text(INTERRUPTED.to_owned())),
            SystemNote::TurnFailed { .. } => {}
        }
    }

    /// Adds a block to the user's side.
    fn push_user_block(&mut self, block: Block) {
        self.close();
        if matches!(&block, Block::Text(text) if text.trim().is_empty()) {
            return;
        }
        match self.recent.last_mut() {
            Some(last) if last.role == Role::User => last.content.push(block),
            _ => self.push(Message { role: Role::User, content: vec![block] }),
        }
    }

    /// Adds an answer of the model. Empty blocks are left out: providers reject them.
    fn push_answer(&mut self, content: Vec<Block>) {
        self.close();
        let mut content: Vec<Block> = content
            .into_iter()
            .filter(|block| !matches!(block, Block::Text(text) if text.trim().is_empty()))
            .collect();
        for (at, block) in self.opaque.drain(..) {
            content.insert(at.min(content.len()), block);
        }
        if content.is_empty() {
            return;
        }
        let calls: Vec<ToolUseId> = content
            .iter()
            .filter_map(|block| match block {
                Block::ToolUse { id, .. } => Some(id.clone()),
                _ => None,
            })
            .collect();
        if !calls.is_empty() {
            self.open = Some(OpenCalls { calls, ..OpenCalls::default() });
        }
        if self.recent.is_empty() {
            self.push(Message::user(OPERATOR));
        }
        match self.recent.last_mut() {
            Some(last) if last.role == Role::Assistant => last.content.extend(content),
            _ => self.push(Message { role: Role::Assistant, content }),
        }
    }

    /// Starts a new message. The messages before it do not change any more.
    fn push(&mut self, message: Message) {
        self.recent.push(message);
        if self.recent.len() > self.max_recent {
            self.history.push(&self.recent.remove(0));
        }
    }

    fn close(&mut self) {
        if let Some(open) = self.open.take() {
            self.push(open.close());
        }
    }
}

impl OpenCalls {
    /// The results in the order of the calls; every call has one.
    fn close(mut self) -> Message {
        let mut content: Vec<Block> = self
            .calls
            .into_iter()
            .map(|id| match self.results.remove(&id) {
                Some((content, is_error)) => {
                    Block::ToolResult { tool_use_id: id, content, is_error }
                }
                None => Block::result(&id, NOT_RUN, true),
            })
            .collect();
        content.extend(self.after);
        Message { role: Role::User, content }
    }
}

/// The result of a tool; `None` if it is not text.
fn result(content: &RawValue) -> Option<Part> {
    if let Some(text) = JsonText::new(content) {
        return Some(Part::Json(text));
    }
    serde_json::from_str(content.get()).ok().map(Part::Text)
}

fn block(block: ContentBlock) -> Option<Block> {
    Some(match block {
        ContentBlock::Text { text } => Block::Text(text),
        ContentBlock::ToolUse { id, name, input } => {
            let Value::Object(input) = input else { return None };
            Block::ToolUse { id, name, input: ToolInput::Json(input) }
        }
        ContentBlock::ToolResult { tool_use_id, content, is_error } => {
            Block::result(&tool_use_id, content, is_error)
        }
    })
}

#[cfg(test)]
mod tests {
    use ona_types::Entry;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn read(context: &mut ModelContext, entry: &Entry) {
        context.read(EntryView {
            sequence: context.next(),
            entry_type: entry.entry_type.as_str(),
            payload_json: &entry.payload.to_string(),
            tool_use_id: entry.tool_use_id.as_ref().map(ToolUseId::as_str),
        });
    }

    const PROVIDER: ProviderKind = ProviderKind::ClaudeCodeSubscription;

    /// A context that moves nothing to the history, so that tests see all of it.
    fn context(entries: &[Entry]) -> ModelContext {
        let mut context = ModelContext { max_recent: usize::MAX, ..ModelContext::new(PROVIDER) };
        for entry in entries {
            read(&mut context, entry);
        }
        context
    }

    fn messages(context: &ModelContext) -> Vec<Message> {
        context.messages().1.iter().cloned().chain(context.results()).collect()
    }

    /// All of it in the wire format.
    fn written(context: &ModelContext) -> History {
        let mut history = context.history.clone();
        messages(context).iter().for_each(|message| history.push(message));
        history
    }

    fn messages_of(entries: &[Entry]) -> Vec<Message> {
        messages(&context(entries))
    }

    fn id(name: &str) -> ToolUseId {
        ToolUseId::from_existing(name)
    }

    fn user(text: &str) -> Entry {
        Entry::message(EntryType::User, "u", &[ContentBlock::Text { text: text.into() }])
    }

    fn answer(text: &str, calls: &[&str]) -> Entry {
        let mut content = vec![ContentBlock::Text { text: text.into() }];
        content.extend(calls.iter().map(|call| ContentBlock::ToolUse {
            id: id(call),
            name: "Read".into(),
            input: json!({}),
        }));
        Entry::message(EntryType::Assistant, "a", &content)
    }

    fn used(call: &str) -> [Entry; 2] {
        [
            Entry::tool_use(&id(call), "Read", &json!({})),
            Entry::tool_result(&id(call), &format!("result of {call}"), false),
        ]
    }

    fn result(call: &str, json: &str) -> Block {
        let part = super::result(serde_json::from_str(json).unwrap()).unwrap();
        Block::ToolResult { tool_use_id: id(call), content: vec![part], is_error: false }
    }

    fn roles(messages: &[Message]) -> String {
        messages.iter().map(|m| if m.role == Role::User { 'u' } else { 'a' }).collect()
    }

    #[test]
    fn results_follow_their_calls_in_the_order_they_were_asked_for() {
        let mut entries = vec![user("go"), answer("", &["one", "two", "three"])];
        entries.extend(used("two"));
        entries.push(Entry::hook_context(&id("two"), "mind this"));
        entries.extend(used("one"));
        entries.push(user("and now?"));
        let messages = messages_of(&entries);
        assert_eq!(roles(&messages), "uau");
        let results = &messages[2].content;
        assert_eq!(results[0], result("one", "\"result of one\""));
        assert_eq!(results[1], result("two", "\"result of two\""));
        assert_eq!(results[2], Block::result(&id("three"), NOT_RUN, true));
        assert_eq!(results[3], Block::Text("<hook>\nmind this\n</hook>".into()));
        assert_eq!(results[4], Block::Text("and now?".into()));
    }

    #[test]
    fn attachments_belong_to_their_result() {
        let picture = Attachment::Image { media_type: "image/png".into(), data: "AA==".into() };
        let mut entries = vec![user("look"), answer("ok", &["one"])];
        entries.extend(used("one"));
        entries.push(Entry::attachment(&id("one"), &picture));
        let messages = messages_of(&entries);
        let Block::ToolResult { content, .. } = &messages[2].content[0] else { panic!() };
        assert_eq!(content[1], Part::Attachment(picture));
    }

    #[test]
    fn calls_of_the_operator_are_in_the_context() {
        let messages = messages_of(&used("direct"));
        assert_eq!(roles(&messages), "uau");
        assert_eq!(messages[0], Message::user(OPERATOR));
        // Between an answer's own calls, they come after those.
        let mut entries = vec![user("go"), answer("", &["one"])];
        entries.extend(used("direct"));
        entries.push(Entry::tool_result(&id("one"), "late", false));
        assert_eq!(roles(&messages_of(&entries)), "uauau");
    }

    #[test]
    fn provider_blocks_keep_their_position() {
        let thinking = json!({"type": "thinking", "thinking": "hm", "signature": "s"});
        let note = SystemNote::ProviderBlocks {
            provider: "claude_code_subscription".into(),
            blocks: vec![(0, thinking.clone())],
        };
        let messages = messages_of(&[user("go"), Entry::system(&note), answer("done", &[])]);
        let opaque =
            Block::Opaque { provider: ProviderKind::ClaudeCodeSubscription, value: thinking };
        assert_eq!(messages[1].content, [opaque, Block::Text("done".into())]);
    }

    #[test]
    fn a_compaction_starts_the_context_with_its_summary() {
        let collapse = Collapse {
            trigger: "auto".into(),
            summary: "what was".into(),
            restored: "the goal".into(),
            pre_tokens: 0,
        };
        let prompt = Entry::system(&SystemNote::Prompt { blocks: vec!["be good".into()] });
        let entries =
            [prompt, user("go"), answer("x", &["one"]), Entry::collapse(&collapse), user("on")];
        let context = context(&entries);
        let texts = ["what was", "the goal", "on"].map(|text| Block::Text(text.into()));
        assert_eq!(messages(&context), [Message { role: Role::User, content: texts.to_vec() }]);
        assert_eq!(context.system(), ["be good"]);
    }

    #[test]
    fn the_context_is_cut_before_a_user_message() {
        let mut entries = Vec::new();
        for (prompt, call) in ["one", "two", "three"].into_iter().zip(["a", "b", "c"]) {
            entries.extend([user(prompt), answer("", &[call])]);
            entries.extend(used(call));
            entries.push(answer("done", &[]));
        }
        let mut context = ModelContext::new(PROVIDER);
        entries.iter().for_each(|entry| read(&mut context, entry));
        assert_eq!((context.len(), context.recent.len()), (12, RECENT_MESSAGES));
        let (number, part, recent) = context.suffix_from(3).unwrap();
        assert_eq!((number, recent.len()), (4, RECENT_MESSAGES));
        assert_ne!(part, context.messages().0);
        let (number, part, recent) = context.suffix_from(6).unwrap();
        assert_eq!((number, part, recent.len()), (8, Written::default(), 4));
        assert_eq!(context.suffix_from(9), None, "the context cannot start with results");
    }

    #[test]
    fn empty_or_unreadable_rows_are_skipped() {
        let empty = Entry::message(EntryType::Assistant, "a", &[]);
        let messages = messages_of(&[user("a"), empty, user(" "), answer("", &[]), user("b")]);
        assert_eq!(roles(&messages), "u");
        let mut context = ModelContext::new(PROVIDER);
        let (sequence, entry_type, payload_json) = (0, "user", "no json");
        context.read(EntryView { sequence, entry_type, payload_json, tool_use_id: None });
        assert!(context.is_empty());
        assert_eq!(context.next(), 1);
    }

    #[test]
    fn a_structured_answer_counts_only_alone_and_without_remarks() {
        let call = |name: &str, tool: &str| ContentBlock::ToolUse {
            id: id(name),
            name: tool.into(),
            input: json!({"of": name}),
        };
        let result = |name: &str, is_error| Entry::tool_result(&id(name), "", is_error);
        let answer_of = |calls: &[ContentBlock], rest: &[Entry]| {
            let mut entries = vec![user("go"), Entry::message(EntryType::Assistant, "a", calls)];
            entries.extend_from_slice(rest);
            let context = context(&entries);
            (context.shaped_answer().map(|answer| answer["of"].clone()), context.awaits_answer())
        };
        let one = call("one", STRUCTURED_OUTPUT);
        let two = call("two", STRUCTURED_OUTPUT);
        let read = call("read", "Read");
        let fits = [result("one", false)];
        assert_eq!(answer_of(std::slice::from_ref(&one), &fits), (Some(json!("one")), false));
        assert_eq!(answer_of(std::slice::from_ref(&one), &[result("one", true)]), (None, true));
        assert_eq!(answer_of(std::slice::from_ref(&one), &[]), (None, true));
        let both = [result("one", false), result("two", true)];
        assert_eq!(answer_of(&[one.clone(), two], &both), (Some(json!("one")), false));
        let others = [result("one", false), result("read", false)];
        assert_eq!(answer_of(&[one.clone(), read], &others), (None, true));
        let remarked = [result("one", false), Entry::hook_context(&id("one"), "look again")];
        assert_eq!(answer_of(&[one], &remarked), (None, true));
    }

    fn entry() -> impl Strategy<Value = Entry> {
        let call = prop::sample::select(vec!["one", "two", "three"]);
        prop_oneof![
            "[a-z ]{0,5}".prop_map(|text| user(&text)),
            ("[a-z]{0,3}", prop::collection::vec(call.clone(), 0..3)).prop_map(
                |(text, mut calls)| {
                    calls.dedup();
                    answer(&text, &calls)
                }
            ),
            call.clone().prop_map(|call| used(call)[0].clone()),
            call.clone().prop_map(|call| used(call)[1].clone()),
            call.prop_map(|call| Entry::hook_context(&id(call), "said")),
            Just(Entry::system(&SystemNote::Interrupted)),
        ]
    }

    proptest! {
        /// Any rows give valid messages: roles alternate, the first is the user's, and every call has one result in the
        /// next message.
        #[test]
        fn messages_are_always_valid(entries in prop::collection::vec(entry(), 0..12)) {
            let messages = messages_of(&entries);
            if let Some(first) = messages.first() {
                prop_assert_eq!(first.role, Role::User);
            }
            for pair in messages.windows(2) {
                prop_assert_ne!(pair[0].role, pair[1].role);
            }
            for (at, message) in messages.iter().enumerate() {
                prop_assert!(!message.content.is_empty());
                let calls: Vec<_> = message.content.iter().filter_map(|block| match block {
                    Block::ToolUse { id, .. } => Some(id),
                    _ => None,
                }).collect();
                let results: Vec<_> = messages.get(at + 1).into_iter().flat_map(|next| &next.content).filter_map(|block| match block {
                    Block::ToolResult { tool_use_id, .. } => Some(tool_use_id),
                    _ => None,
                }).collect();
                prop_assert_eq!(calls, results);
            }
        }

        #[test]
        fn rows_read_one_by_one_give_the_same_context(entries in prop::collection::vec(entry(), 0..12)) {
            let mut one_by_one = ModelContext::new(PROVIDER);
            for entry in &entries {
                let _ = written(&one_by_one);
                read(&mut one_by_one, entry);
            }
            let mut at_once = ModelContext::new(PROVIDER);
            entries.iter().for_each(|entry| read(&mut at_once, entry));
            prop_assert_eq!(&one_by_one, &at_once);
            // The history has the same content as the messages had.
            prop_assert_eq!(written(&at_once), written(&context(&entries)));
        }
    }
}
