//! The fields of a memory: checked, and with secrets masked.

use ona_policy::secrets::Redactor;
use ona_types::fresh_uuid;

/// What the ids of memories begin with.
pub const ID_PREFIX: &str = "mem_";

/// The longest content, in bytes.
pub const MAX_CONTENT: usize = 64 * 1024;

/// The longest title, in characters.
pub(super) const MAX_TITLE: usize = 200;
const MAX_KIND: usize = 40;
const MAX_WORDS: usize = 2000;

/// A new id. Later ones come later in the alphabet.
pub fn fresh_id() -> String {
    format!("{ID_PREFIX}{}", fresh_uuid().replace('-', ""))
}

/// What is wrong with a field.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FieldError {
    /// The type is not one word.
    #[error("invalid type `{0}`")]
    Kind(String),
    /// The title is empty, or has several lines.
    #[error("the title must be one line of text")]
    Title,
    /// The title is too long.
    #[error("the title has {0} characters, limit: {MAX_TITLE}")]
    TitleTooLong(usize),
    /// The content is too long.
    #[error("the content is too long, limit: 64 KiB")]
    ContentTooLong,
    /// The keywords or the questions are too long.
    #[error("the {0} are too long, limit: {MAX_WORDS} bytes together")]
    WordsTooLong(&'static str),
}

impl FieldError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Kind(_) => "a type is one word, such as lesson, fact, preference or reference",
            Self::Title | Self::TitleTooLong(_) => "put longer text into --content",
            Self::ContentTooLong => "save a summary, and name the file with the rest",
            Self::WordsTooLong(_) => "the words of the title and the text are searched too",
        }
    }
}

/// Checks fields and masks secrets in them.
#[derive(Debug)]
pub struct Fields {
    redactor: Redactor,
    masked: bool,
}

impl Fields {
    /// Masks what the redactor knows.
    pub fn new(redactor: Redactor) -> Self {
        Self { redactor, masked: false }
    }

    /// The beginning of a text, masked before it is cut.
    pub fn first_chars(&mut self, text: &str, most: usize) -> String {
        self.mask(text).chars().take(most).collect()
    }

    /// Whether something was masked.
    pub fn masked(&self) -> bool {
        self.masked
    }

    fn mask(&mut self, text: &str) -> String {
        let mut text = text.trim().to_owned();
        self.masked |= self.redactor.mask_string(&mut text);
        text
    }

    /// One word in lower case.
    pub fn kind(&mut self, kind: &str) -> Result<String, FieldError> {
        let kind = self.mask(kind).to_lowercase();
        let plain = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
        if kind.is_empty() || kind.chars().count() > MAX_KIND || !kind.chars().all(plain) {
            return Err(FieldError::Kind(kind));
        }
        Ok(kind)
    }

    /// One line.
    pub fn title(&mut self, title: &str) -> Result<String, FieldError> {
        let title = self.mask(title);
        let breaks = |c: char| c.is_control() || "\u{2028}\u{2029}".contains(c);
        if title.is_empty() || title.chars().any(breaks) {
            return Err(FieldError::Title);
        }
        match title.chars().count() {
            length if length > MAX_TITLE => Err(FieldError::TitleTooLong(length)),
            _ => Ok(title),
        }
    }

    /// The text; none if it is empty.
    pub fn content(&mut self, content: &str) -> Result<Option<String>, FieldError> {
        if content.len() > MAX_CONTENT {
            return Err(FieldError::ContentTooLong);
        }
        Ok(Some(self.mask(content)).filter(|text| !text.is_empty()))
    }

    /// Words with commas between them; none if there are none.
    pub fn keywords<'w>(
        &mut self,
        words: impl IntoIterator<Item = &'w str>,
    ) -> Result<Option<String>, FieldError> {
        let mut kept: Vec<String> = Vec::new();
        for word in words {
            let word = self.mask(word).replace(char::is_control, " ");
            if !word.is_empty() && !kept.contains(&word) {
                kept.push(word);
            }
        }
        joined(&kept, ", ", "keywords")
    }

    /// One question per line; none if there are none.
    pub fn questions<'q>(
        &mut self,
        questions: impl IntoIterator<Item = &'q str>,
    ) -> Result<Option<String>, FieldError> {
        let kept: Vec<String> = questions
            .into_iter()
            .map(|question| self.mask(question))
            .filter(|question| !question.is_empty())
            .collect();
        joined(&kept, "\n", "questions")
    }
}

fn joined(
    kept: &[String],
    between: &str,
    what: &'static str,
) -> Result<Option<String>, FieldError> {
    let text = kept.join(between);
    if text.len() > MAX_WORDS {
        return Err(FieldError::WordsTooLong(what));
    }
    Ok(Some(text).filter(|text| !text.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_checked_and_tidied() {
        let mut fields = Fields::new(Redactor::default());
        assert_eq!(fields.kind(" Lesson ").as_deref(), Ok("lesson"));
        assert_eq!(fields.kind("two words"), Err(FieldError::Kind("two words".to_owned())));
        assert_eq!(fields.title("  a title ").as_deref(), Ok("a title"));
        for title in ["", "  ", "two\nlines", "two\u{2028}lines"] {
            assert_eq!(fields.title(title), Err(FieldError::Title), "{title:?}");
        }
        assert_eq!(fields.title(&"x".repeat(201)), Err(FieldError::TitleTooLong(201)));
        assert_eq!(fields.content(" "), Ok(None));
        assert_eq!(fields.content(&"x".repeat(MAX_CONTENT + 1)), Err(FieldError::ContentTooLong));
        assert_eq!(fields.keywords(["a", " b ", "a", ""]), Ok(Some("a, b".to_owned())));
        assert_eq!(fields.questions([""]), Ok(None));
        let long = "x".repeat(MAX_WORDS + 1);
        assert_eq!(fields.questions([long.as_str()]), Err(FieldError::WordsTooLong("questions")));
        assert!(!fields.masked());
    }
}
