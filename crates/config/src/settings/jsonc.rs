//! Settings as people write them: JSON with comments and trailing commas.

pub use ona_files::jsonc::ParseError as NotSettings;
use ona_files::jsonc::to_json;
use serde_json::{Map, Value};

use super::duplicates;

/// The settings in a text, and its duplicate keys.
pub(super) fn parse(text: &str) -> Result<(Map<String, Value>, Vec<String>), NotSettings> {
    match duplicates::read(&to_json(text))? {
        (Value::Object(settings), twice) => Ok((settings, twice)),
        _ => Err(NotSettings::NotAnObject),
    }
}

#[cfg(test)]
mod tests {
    use ona_testkit::jsonc::{json_object, strategy, written};
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn noise_does_not_matter(object in json_object(), noise in strategy()) {
            let text = written(&object, &noise);
            prop_assert_eq!(Value::Object(parse(&text).unwrap().0), object);
        }
    }
}
