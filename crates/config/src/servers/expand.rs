//! `${VAR}` and `${VAR:-default}` in the definition of a server.

/// A variable that is not set and has no default.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the variable {0} is not set: set it, or write ${{{0}:-a default}}")]
pub struct Missing(pub String);

/// The text with variables replaced by their values. Values are not expanded again; anything else stays as it is.
pub(super) fn expand(
    text: &str,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<String, Missing> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, inside)) = rest.split_once("${") {
        // Without an end it is not a variable.
        let Some((reference, behind)) = inside.split_once('}') else { break };
        expanded.push_str(before);
        let (name, default) = match reference.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (reference, None),
        };
        if !is_name(name) {
            expanded.push_str("${");
            rest = inside;
            continue;
        }
        match (variable(name), default) {
            // As in a shell, the default also replaces an empty value.
            (Some(value), default) if !value.is_empty() || default.is_none() => {
                expanded.push_str(&value);
            }
            (_, Some(default)) => expanded.push_str(default),
            (_, None) => return Err(Missing(name.to_owned())),
        }
        rest = behind;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

fn is_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn expanded(text: &str) -> Result<String, String> {
        let variable = |name: &str| match name {
            "HOST" => Some("h".to_owned()),
            "EMPTY" => Some(String::new()),
            "ODD" => Some("${HOST}".to_owned()),
            _ => None,
        };
        expand(text, &variable).map_err(|missing| missing.0)
    }

    #[test]
    fn variables_are_put_in() {
        for (text, expected) in [
            ("", ""),
            ("plain $HOST {HOST} $", "plain $HOST {HOST} $"),
            ("${HOST}", "h"),
            ("a${HOST}b${HOST}", "ahbh"),
            ("${HOST:-x}${NONE:-x}${EMPTY:-x}", "hxx"),
            ("${EMPTY}|${NONE:-}", "|"),
            ("${NONE:-http://a/?b=c}", "http://a/?b=c"),
            ("${ODD}", "${HOST}"),
            ("${}${1a}${a b}${HOST", "${}${1a}${a b}${HOST"),
            ("${${HOST}}", "${h}"),
            ("x${HOST} ${open", "xh ${open"),
        ] {
            assert_eq!(expanded(text).as_deref(), Ok(expected), "{text}");
        }
        assert_eq!(expanded("a ${NONE}"), Err("NONE".to_owned()));
        let said = Missing("TOKEN".to_owned()).to_string();
        assert_eq!(said, "the variable TOKEN is not set: set it, or write ${TOKEN:-a default}");
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_nothing_panics(text in r"([${}:\-AB ä]|\$\{|\$\{A\}){0,20}") {
            let same = expand(&text, &|name| Some(format!("${{{name}}}"))).unwrap();
            // A default goes, and nothing else.
            prop_assert!(text.contains(":-") || same == text, "{} {}", text, same);
        }
    }
}
