//! Streamed pieces of an answer, as front-ends get them: without secrets. A secret that is split across pieces is still masked.

use std::collections::BTreeMap;

use ona_front::Event;
use ona_policy::secrets::Redactor;
use ona_provider::Live;
use serde_json::{Value, json};

/// The text fields of a delta, by its type.
const TEXTS: [&str; 3] = ["text", "partial_json", "thinking"];

/// The event for an attempt that failed and is made again.
pub(crate) fn retry(live: &Live<'_>) -> Option<Event> {
    let Live::Retry { attempt, max_retries, delay, status, error } = live else { return None };
    Some(Event::Retry {
        attempt: *attempt,
        max_retries: *max_retries,
        delay_ms: u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
        status: *status,
        error: (*error).to_owned(),
    })
}

/// The text held back in each block, because a secret could start with it.
#[derive(Debug, Default)]
pub(crate) struct StreamMask {
    held: BTreeMap<u64, (&'static str, Value, String)>,
}

impl StreamMask {
    /// The events to pass on for one received event.
    pub(crate) fn pass(&mut self, raw: &Value, redactor: &Redactor) -> Vec<Value> {
        let index = raw["index"].as_u64().unwrap_or_default();
        let mut raw = raw.clone();
        let key = TEXTS.into_iter().find(|key| raw["delta"][key].is_string());
        match (raw["type"].as_str(), key) {
            (Some("content_block_delta"), Some(key)) => {
                let held = self.held.remove(&index).map(|(.., text)| text).unwrap_or_default();
                let text = held + raw["delta"][key].as_str().unwrap_or_default();
                let certain = redactor.certain(text.as_bytes());
                let (now, later) = text.split_at(text.floor_char_boundary(certain));
                if !later.is_empty() {
                    let kind = raw["delta"]["type"].clone();
                    self.held.insert(index, (key, kind, later.to_owned()));
                }
                raw["delta"][key] = Value::from(now);
                redactor.mask_live_value(&mut raw);
                vec![raw]
            }
            (Some("content_block_stop"), _) => {
                let held = self.held.remove(&index).map(|(key, kind, text)| {
                    // It may hold a secret, but is not the start of one.
                    let text = redactor.mask_live(&text);
                    json!({"type": "content_block_delta", "index": index, "delta": {"type": kind, key: text}})
                });
                held.into_iter().chain([raw]).collect()
            }
            _ => {
                redactor.mask_live_value(&mut raw);
                vec![raw]
            }
        }
    }

    /// Starts a new answer.
    pub(crate) fn reset(&mut self) {
        self.held.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_in_pieces_is_masked_and_nothing_else_is_lost() {
        // It ends as it begins.
        let redactor = Redactor::knowing(["sk-the-live-keys".to_owned()]);
        for pieces in [
            &["say sk-the-", "live-keys", " now"][..],
            &["say s", "k", "-the-live-keys now"],
            &["say sk-the-live-keys now"],
            &["say sk-the-live-key", "s", " ", "now"],
        ] {
            let mut mask = StreamMask::default();
            let mut output = String::new();
            let stop = json!({"type": "content_block_stop", "index": 0});
            let deltas = pieces.iter().map(|piece| {
                json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}})
            });
            for event in deltas.chain([stop]) {
                for passed in mask.pass(&event, &redactor) {
                    output.push_str(passed["delta"]["text"].as_str().unwrap_or_default());
                }
            }
            assert_eq!(output, "say [REDACTED:live] now", "{pieces:?}");
        }
        let mut mask = StreamMask::default();
        let event = json!({"type": "content_block_delta", "index": 1,
            "delta": {"type": "input_json_delta", "partial_json": "{\"a\": \"sk-the"}});
        let passed = mask.pass(&event, &redactor);
        assert_eq!(passed[0]["delta"]["partial_json"], "{\"a\": \"");
        let passed = mask.pass(&json!({"type": "content_block_stop", "index": 1}), &redactor);
        assert_eq!(
            passed[0]["delta"],
            json!({"type": "input_json_delta", "partial_json": "sk-the"})
        );
        assert_eq!(passed.len(), 2);
    }
}
