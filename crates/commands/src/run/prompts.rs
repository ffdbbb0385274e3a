//! Commands that are prompts for the model.

use crate::act::Act;
use crate::desk::Desk;
use crate::outside::Outside;

use super::first_word;

const INIT: &str = include_str!("../texts/init.md");
const REVIEW: &str = include_str!("../texts/review.md");
const SECURITY_REVIEW: &str = include_str!("../texts/security-review.md");
const SIMPLIFY: &str = include_str!("../texts/simplify.md");
const BATCH: &str = include_str!("../texts/batch.md");
const DEBUG: &str = include_str!("../texts/debug.md");

/// The shortest interval of `/loop`, in seconds, and the usual one.
const SHORTEST: u64 = 10;
const USUAL: u64 = 600;

fn with(text: &str, label: &str, arguments: &str) -> Act {
    let more = match arguments {
        "" => String::new(),
        arguments => format!("\n\n{label}: {arguments}"),
    };
    Act::Prompt(format!("{}{more}", text.trim_end()))
}

/// `/init`.
pub(super) fn init() -> Act {
    with(INIT, "", "")
}

/// `/review`.
pub(super) fn review(what: &str) -> Act {
    with(REVIEW, "What to review", what)
}

/// `/security-review`.
pub(super) fn security_review() -> Act {
    with(SECURITY_REVIEW, "", "")
}

/// `/simplify`.
pub(super) fn simplify(focus: &str) -> Act {
    with(SIMPLIFY, "Focus on", focus)
}

/// `/batch`.
pub(super) fn batch(instruction: &str) -> Act {
    match instruction {
        "" => Act::error("what should be done? /batch INSTRUCTION"),
        instruction => with(BATCH, "The instruction", instruction),
    }
}

/// `/debug`.
pub(super) fn debug<O: Outside>(desk: &Desk<O>, description: &str) -> Act {
    let text = DEBUG
        .replace("{record}", &desk.store().path().display().to_string())
        .replace("{session}", desk.session_id().as_str());
    with(&text, "The problem", description)
}

/// `/loop [interval] <prompt>`.
pub(super) fn repeat(arguments: &str) -> Act {
    if arguments.is_empty() {
        return Act::error("which prompt should be repeated? /loop 5m PROMPT; /loop stop ends it");
    }
    if arguments == "stop" {
        return Act::Loop { every: 0, prompt: String::new() };
    }
    let (first, rest) = first_word(arguments);
    let (every, prompt) = match seconds(first) {
        Some(every) => (every, rest),
        None if first.starts_with(|c: char| c.is_ascii_digit()) => {
            return Act::error(format!("`{first}` is not an interval: 30s, 5m or 2h"));
        }
        None => (USUAL, arguments),
    };
    if prompt.is_empty() {
        return Act::error("which prompt should be repeated? /loop 5m PROMPT");
    }
    if every < SHORTEST {
        return Act::error(format!("the shortest interval is {SHORTEST} s"));
    }
    Act::Loop { every, prompt: prompt.to_owned() }
}

/// `30s`, `5m`, `2h`.
fn seconds(word: &str) -> Option<u64> {
    let unit = match word.chars().next_back()? {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        _ => return None,
    };
    word[..word.len() - 1].parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_a_number_with_a_unit() {
        assert_eq!(seconds("30s"), Some(30));
        assert_eq!(seconds("5m"), Some(300));
        assert_eq!(seconds("2h"), Some(7_200));
        assert_eq!(seconds("soon"), None);
        assert_eq!(seconds("m"), None);
        let Act::Loop { every, prompt } = repeat("check the build") else { panic!() };
        assert_eq!((every, prompt.as_str()), (USUAL, "check the build"));
        assert!(matches!(repeat("1s x"), Act::Reply(_)));
        assert!(matches!(repeat("5x x"), Act::Reply(_)));
    }
}
