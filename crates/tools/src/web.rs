//! The two tools for the web, WebFetch and WebSearch. How the web is reached is in `ona-web`.

mod fetch;
mod page;
mod search;

use ona_policy::secrets::Redactor;
use ona_types::TRUNCATED_SUFFIX;

pub(crate) use fetch::WebFetch;
pub(crate) use search::WebSearch;

/// S0 §7.1: the limit for a page or a list of hits, in bytes.
const MAX_CONTENT: usize = 1_048_576;

/// The text, cut where S0 §7.1 says.
fn capped(mut content: String, redactor: &Redactor) -> String {
    if content.len() > MAX_CONTENT {
        content = redactor.cut_after(&content[..content.floor_char_boundary(MAX_CONTENT)]);
        content.push_str(TRUNCATED_SUFFIX);
    }
    content
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_is_cut_and_says_so() {
        assert_eq!(capped("a".repeat(MAX_CONTENT), &Redactor::default()).len(), MAX_CONTENT);
        let cut = capped("é".repeat(MAX_CONTENT), &Redactor::default());
        assert_eq!(cut.len(), MAX_CONTENT + TRUNCATED_SUFFIX.len());
        assert!(cut.ends_with("é[SDLC_TRUNCATED]"));
    }
}
