//! Answers of the model, as they arrive and when they are complete.

use ona_front::{Ending, Event};
use std::time::Duration;

use crate::scenes::{answered, text, turn_ended};
use crate::stage::{Stage, at_work_at_three_sizes};

const MARKDOWN: &str = "\
# The parser

It reads **tokens** and builds a *tree*. The function `next` skips the first one, so every list that begins with a comment loses it.

## What to change

1. Read the token *before* the place moves on.
2. Add a test:
   - an empty file
   - a file that begins with a comment
3. ~~Rewrite everything~~

| Case | Before | After |
|:-----|-------:|:-----:|
| empty file | 0 tokens | 0 tokens |
| a comment first | 3 tokens | 4 tokens |

```rust
fn next(&mut self) -> Option<Token> {
    self.tokens.get(self.at).inspect(|_| self.at += 1).cloned()
}
```

> A quotation, which is here only to see what it looks like.

More is in [the book](https://example.org/book).
";

#[test]
fn markdown_in_the_middle_of_a_sentence() {
    let end = MARKDOWN.find("so every list").unwrap();
    insta::assert_snapshot!(at_work_at_three_sizes(|stage| stage.hears(text(&MARKDOWN[..end]))));
}

#[test]
fn markdown_in_the_middle_of_a_list() {
    let end = MARKDOWN.find("a file that begins").unwrap();
    insta::assert_snapshot!(at_work_at_three_sizes(|stage| stage.hears(text(&MARKDOWN[..end]))));
}

#[test]
fn markdown_in_the_middle_of_a_table() {
    let end = MARKDOWN.find(" 3 tokens | 4").unwrap();
    insta::assert_snapshot!(at_work_at_three_sizes(|stage| stage.hears(text(&MARKDOWN[..end]))));
}

#[test]
fn markdown_in_the_middle_of_code() {
    let end = MARKDOWN.find("self.at).inspect").unwrap();
    insta::assert_snapshot!(at_work_at_three_sizes(|stage| stage.hears(text(&MARKDOWN[..end]))));
}

#[test]
fn markdown_at_the_end() {
    insta::assert_snapshot!(at_work_at_three_sizes(|stage| {
        stage.hears(text(MARKDOWN));
        stage.hears(answered(MARKDOWN));
        stage.hears_all([turn_ended(Ending::Done), Event::Ready]);
    }));
}

#[test]
fn an_answer_with_wide_characters() {
    let answer = "構文解析器は**最初の字句**を読み飛ばします。そのため、注釈で始まる一覧はすべて注釈を失います。🦀🎉\n\n| 場合 | 前 |\n|---|---|\n| 空 | 〇 |\n";
    insta::assert_snapshot!(at_work_at_three_sizes(|stage| {
        stage.hears(text(answer));
        stage.hears(answered(answer));
        stage.hears_all([turn_ended(Ending::Done), Event::Ready]);
    }));
}

#[test]
fn an_answer_that_was_not_streamed() {
    let mut stage = Stage::at_work(80, 24);
    stage.hears(answered("All **done**."));
    assert!(stage.text().contains("● All done."), "{}", stage.text());
}

#[test]
fn an_answer_that_breaks_off_starts_again() {
    let mut stage = Stage::at_work(80, 24);
    stage.hears(text("A first try\n\nthat breaks"));
    stage.hears(Event::Void);
    stage.hears(text("A second try"));
    stage.hears(answered("A second try"));
    let shown = stage.text();
    let place = |words: &str| shown.find(words).unwrap_or_else(|| panic!("{words} in {shown}"));
    assert!(place("A first try") < place("the answer broke off; it starts again"));
    assert!(place("the answer broke off") < place("● A second try"));
}

#[test]
fn thinking() {
    insta::assert_snapshot!(at_work_at_three_sizes(|stage| {
        stage.hears(Event::Thinking {
            text: "The user wants the bug found. I look at the parser first.".to_owned(),
        });
        stage.waits(Duration::from_secs(3));
    }));
}

#[test]
fn thinking_is_shown_whole_to_whoever_wants_all() {
    insta::assert_snapshot!(at_work_at_three_sizes(|stage| {
        stage.prefers(|preferences| preferences.verbose = true);
        stage.hears(Event::Thinking {
            text: "The user wants the bug found.\n\nI look at the parser first, then at the place where its tokens come from, and last at the tests.".to_owned(),
        });
        stage.waits(Duration::from_secs(3));
    }));
}

#[test]
fn what_was_thought_before_an_answer() {
    insta::assert_snapshot!(at_work_at_three_sizes(|stage| {
        stage.hears(Event::Thinking { text: "I look at the parser first.".to_owned() });
        stage.hears(answered("It is the parser."));
        stage.hears_all([turn_ended(Ending::Done), Event::Ready]);
    }));
}
