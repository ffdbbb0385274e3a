//! The fields of a memory: checked, and with secrets masked.

use std::io::Read as _;

use ona_cli::output::complain;
use ona_cli::{CliError, env};
use ona_policy::secrets::Redactor;
use ona_types::fresh_uuid;

/// What the ids of memories begin with.
pub const ID: &str = "mem_";

/// Length limits.
const MAX_KIND: usize = 40;
const MAX_TITLE: usize = 200;
const MAX_WORDS: usize = 2000;
const MAX_CONTENT: usize = 64 * 1024;

/// A new id. Later ones come later in the alphabet.
pub fn fresh_id() -> String {
    format!("{ID}{}", fresh_uuid().replace('-', ""))
}

/// Takes what is given as it is to be kept.
pub struct Fields {
    redactor: Redactor,
    masked: bool,
}

impl Fields {
    pub fn new() -> Self {
        Self { redactor: Redactor::knowing(env::secrets()), masked: false }
    }

    fn masked(&mut self, text: &str) -> String {
        let mut text = text.trim().to_owned();
        self.masked |= self.redactor.mask_string(&mut text);
        text
    }

    /// Says that something was masked, if it was.
    pub fn warn(&self) {
        if self.masked {
            complain("warning: masked what looks like a secret as [REDACTED:…]\n");
        }
    }

    /// One word in small letters.
    pub fn kind(&mut self, kind: &str) -> Result<String, CliError> {
        let kind = self.masked(kind).to_lowercase();
        let plain = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
        if kind.is_empty() || kind.chars().count() > MAX_KIND || !kind.chars().all(plain) {
            return Err(CliError::usage(format!("invalid type `{kind}`"))
                .hint("a type is one word, such as lesson, fact, preference or reference"));
        }
        Ok(kind)
    }

    /// One line.
    pub fn title(&mut self, title: &str) -> Result<String, CliError> {
        let title = self.masked(title);
        let long = title.chars().count();
        if title.is_empty()
            || title.chars().any(|c| c.is_control() || "\u{2028}\u{2029}".contains(c))
        {
            return Err(CliError::usage("the title must be one line of text")
                .hint("put longer text into --content"));
        }
        if long > MAX_TITLE {
            return Err(CliError::usage(format!(
                "the title has {long} characters, limit: {MAX_TITLE}"
            ))
            .hint("put longer text into --content"));
        }
        Ok(title)
    }

    /// The text; nothing if it is empty.
    pub fn content(&mut self, content: &str) -> Result<Option<String>, CliError> {
        if content.len() > MAX_CONTENT {
            return Err(too_long());
        }
        Ok(Some(self.masked(content)).filter(|text| !text.is_empty()))
    }

    /// The text that an option gives: itself, or standard input for `-`.
    pub fn given_content(&mut self, given: &str) -> Result<Option<String>, CliError> {
        if given != "-" {
            return self.content(given);
        }
        let unreadable = |why: String| {
            CliError::usage(format!("cannot read standard input: {why}"))
                .hint("`--content -` expects UTF-8 text")
        };
        let mut bytes = Vec::new();
        std::io::stdin()
            .lock()
            .take(MAX_CONTENT as u64 + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| unreadable(error.to_string()))?;
        if bytes.len() > MAX_CONTENT {
            return Err(too_long());
        }
        let text = String::from_utf8(bytes).map_err(|error| {
            unreadable(format!("byte {} is not UTF-8", error.utf8_error().valid_up_to() + 1))
        })?;
        self.content(&text)
    }

    /// Words with commas between them; nothing if there are none.
    pub fn keywords<'w>(
        &mut self,
        words: impl IntoIterator<Item = &'w str>,
    ) -> Result<Option<String>, CliError> {
        let mut kept: Vec<String> = Vec::new();
        for word in words {
            let word = self.masked(word).replace(char::is_control, " ");
            if !word.is_empty() && !kept.contains(&word) {
                kept.push(word);
            }
        }
        self.joined(&kept, ", ", "keywords")
    }

    /// One question a line; nothing if there are none.
    pub fn questions<'q>(
        &mut self,
        questions: impl IntoIterator<Item = &'q str>,
    ) -> Result<Option<String>, CliError> {
        let kept: Vec<String> = questions
            .into_iter()
            .map(|question| self.masked(question))
            .filter(|question| !question.is_empty())
            .collect();
        self.joined(&kept, "\n", "questions")
    }

    fn joined(&self, kept: &[String], by: &str, what: &str) -> Result<Option<String>, CliError> {
        let text = kept.join(by);
        if text.len() > MAX_WORDS {
            return Err(CliError::usage(format!(
                "the {what} are too long, limit: {MAX_WORDS} bytes together"
            ))
            .hint("the words of the title and the text are searched too"));
        }
        Ok(Some(text).filter(|text| !text.is_empty()))
    }
}

fn too_long() -> CliError {
    CliError::usage("the content is too long, limit: 64 KiB")
        .hint("save a summary, and name the file with the rest")
}
