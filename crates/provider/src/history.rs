//! The part of a conversation that no longer changes, in the provider's wire format. Each message is encoded
//! once, however often it is sent; a long conversation is kept in that form only.

use crate::message::Message;
use crate::model::ProviderKind;
use crate::{anthropic, openai};

/// Messages on the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    provider: ProviderKind,
    json: Vec<u8>,
    /// How many messages there are.
    length: usize,
    /// Where a conversation can begin: the number of the message, and its place in `json`.
    begins: Vec<(usize, usize)>,
}

/// The later part of a [`History`], or all of it, or nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written<'a>(pub(crate) &'a [u8]);

impl History {
    /// Nothing yet.
    pub fn new(provider: ProviderKind) -> Self {
        Self { provider, json: Vec::new(), length: 0, begins: Vec::new() }
    }

    /// Adds a message that will not change.
    pub fn push(&mut self, message: &Message) {
        let at = self.json.len();
        let written = match self.provider {
            ProviderKind::ClaudeCodeSubscription => anthropic::write(message, &mut self.json),
            ProviderKind::OpenAiCompatible | ProviderKind::LmStudioLocal => {
                openai::write(message, &mut self.json)
            }
        };
        // Strings written into memory cannot fail; half a message would spoil the rest.
        if written.is_err() {
            self.json.truncate(at);
        }
        if message.can_begin() {
            self.begins.push((self.length, at));
        }
        self.length += 1;
    }

    /// How many messages there are.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// All of it.
    pub fn whole(&self) -> Written<'_> {
        Written(&self.json)
    }

    /// Its part from the first message on, not before `wish`, that a conversation can begin with; and that
    /// message's number.
    pub fn later(&self, wish: usize) -> Option<(usize, Written<'_>)> {
        let (number, at) = *self.begins.iter().find(|(number, _)| *number >= wish)?;
        let part = &self.json[at..];
        Some((number, Written(part.strip_prefix(b",").unwrap_or(part))))
    }
}

#[cfg(test)]
mod tests {
    use ona_types::ToolUseId;

    use super::*;
    use crate::message::{Block, Request, Role, ToolInput};

    fn messages() -> Vec<Message> {
        let id = ToolUseId::from_existing("t");
        let call =
            Block::ToolUse { id: id.clone(), name: "Read".into(), input: ToolInput::parse("") };
        vec![
            Message::user("one"),
            Message { role: Role::Assistant, content: vec![call] },
            Message::results(vec![Block::result(&id, "result", false)]),
            Message { role: Role::Assistant, content: vec![Block::Text("two".into())] },
            Message::user("three"),
            Message { role: Role::Assistant, content: vec![Block::Text("four".into())] },
            Message::user("five"),
        ]
    }

    fn encoded(provider: ProviderKind, request: &Request<'_>) -> String {
        let body = match provider {
            ProviderKind::ClaudeCodeSubscription => anthropic::encode(request, true),
            _ => openai::encode(request, true, true),
        };
        String::from_utf8(body.unwrap()).unwrap()
    }

    /// However much of a conversation is history, the body is the same; but for the last messages of the user,
    /// which the cache's marks are put on.
    #[test]
    fn what_is_history_changes_no_byte() {
        let messages = messages();
        for (provider, _) in ProviderKind::ALL {
            let sent = |history: &History, recent: &[Message]| {
                let mut request = Request::new("m", 10);
                request.system = vec!["be good".into()];
                (request.earlier, request.recent) = (history.whole(), recent);
                encoded(provider, &request)
            };
            let mut history = History::new(provider);
            let expected = sent(&history, &messages);
            for at in 0..4 {
                history.push(&messages[at]);
                assert_eq!(sent(&history, &messages[at + 1..]), expected, "{at} of {provider}");
            }
        }
    }

    #[test]
    fn it_is_cut_where_the_user_begins() {
        let messages = messages();
        let mut history = History::new(ProviderKind::ClaudeCodeSubscription);
        messages.iter().for_each(|message| history.push(message));
        assert_eq!(history.len(), 7);
        let mut from_four = History::new(ProviderKind::ClaudeCodeSubscription);
        messages[4..].iter().for_each(|message| from_four.push(message));
        for wish in 1..=4 {
            assert_eq!(history.later(wish), Some((4, from_four.whole())), "{wish}");
        }
        assert_eq!(history.later(0), Some((0, history.whole())));
        assert_eq!(history.later(7), None);
    }
}
