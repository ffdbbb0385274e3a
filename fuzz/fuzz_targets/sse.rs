//! An event stream, whatever the server sends, and what is made of it. Models and MCP servers are read alike.
//!
//! Input: a byte for the provider and for how the stream is cut into chunks, then the stream.

#![no_main]

use std::collections::HashSet;

use libfuzzer_sys::fuzz_target;
use ona_http::sse::{Event, Parser, TooLarge};
use ona_provider::{Block, ProviderKind, ToolInput, read_stream};

fuzz_target!(|data: &[u8]| {
    let [how, stream @ ..] = data else { return };
    let whole = events(&[stream], usize::MAX).unwrap();
    assert_eq!(whole, by_the_book(stream), "as the standard has it");
    let size = usize::from(*how >> 2) + 1;
    let chunks: Vec<&[u8]> = stream.chunks(size).collect();
    assert_eq!(events(&chunks, usize::MAX).unwrap(), whole, "however it is cut");
    if let Ok(few) = events(&chunks, 64) {
        assert_eq!(few, whole, "a cap changes nothing but what is too large");
    }

    let provider = match how & 3 {
        0 | 1 => ProviderKind::ClaudeCodeSubscription,
        2 => ProviderKind::OpenAiCompatible,
        _ => ProviderKind::LmStudioLocal,
    };
    let answer = read_stream(provider, &[stream]);
    let again = read_stream(provider, &chunks);
    assert_eq!(answer.is_some(), again.is_some(), "however it is cut");
    let Some(answer) = answer else { return };
    let mut ids = HashSet::new();
    for block in &answer.content {
        if let Block::ToolUse { id, input, .. } = block {
            assert!(ids.insert(id.clone()), "a result must lead to one call");
            assert!(!id.as_str().is_empty());
            match input {
                ToolInput::Json(_) => {}
                ToolInput::Invalid { .. } => assert!(input.to_object().is_object()),
            }
        }
    }
    assert!(answer.to_json().is_object());
});

fn events(chunks: &[&[u8]], cap: usize) -> Result<Vec<Event>, TooLarge> {
    let mut parser = Parser::with_cap(cap);
    let mut events = Vec::new();
    for chunk in chunks {
        parser.push(chunk, &mut events)?;
    }
    Ok(events)
}

/// The HTML standard's rules, one after the other, on the whole text at once.
fn by_the_book(stream: &[u8]) -> Vec<Event> {
    let stream = stream.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(stream);
    let mut lines: Vec<Vec<u8>> = vec![Vec::new()];
    let mut bytes = stream.iter().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\r' => {
                bytes.next_if(|next| **next == b'\n');
                lines.push(Vec::new());
            }
            b'\n' => lines.push(Vec::new()),
            other => lines.last_mut().unwrap().push(*other),
        }
    }
    // What no line end closes is no line.
    lines.pop();
    let (mut events, mut event, mut data) = (Vec::new(), Event::default(), Vec::<String>::new());
    for line in lines {
        let line = line.as_slice();
        if line.is_empty() {
            let mut event = std::mem::take(&mut event);
            let data = std::mem::take(&mut data);
            event.data = (!data.is_empty()).then(|| data.join("\n"));
            if event.data.is_some() || event.id.is_some() || event.retry.is_some() {
                events.push(event);
            }
            continue;
        }
        let mut parts = line.splitn(2, |byte| *byte == b':');
        let (field, value) = (parts.next().unwrap(), parts.next().unwrap_or_default());
        let value = value.strip_prefix(b" ").unwrap_or(value);
        let value = String::from_utf8_lossy(value).into_owned();
        match field {
            b"data" => data.push(value),
            b"event" => event.name = value,
            b"id" if !value.contains('\0') => event.id = Some(value),
            b"retry" if value.chars().all(|digit| digit.is_ascii_digit()) => {
                // What is no number of milliseconds that fits changes nothing.
                event.retry = value.parse().ok().or(event.retry);
            }
            _ => {}
        }
    }
    events
}
