//! Parses `/name arguments`.

/// The name that a prompt calls, and the arguments; `None` if it calls nothing. The slash must be the first character,
/// and a path such as `/usr/bin` is not a call.
pub fn slash(prompt: &str) -> Option<(&str, &str)> {
    let rest = prompt.strip_prefix('/')?;
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
    let end = rest.find(|c| !fits(c)).unwrap_or(rest.len());
    let (name, arguments) = rest.split_at(end);
    let parted = arguments.chars().next().is_none_or(char::is_whitespace);
    (parted && name.starts_with(char::is_alphanumeric)).then(|| (name, arguments.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_name_at_the_beginning_calls() {
        for (prompt, called) in [
            ("/review", Some(("review", ""))),
            ("/review  a 'b c' \n", Some(("review", "a 'b c'"))),
            ("/plugin:deploy now", Some(("plugin:deploy", "now"))),
            ("/mcp__server__prompt x", Some(("mcp__server__prompt", "x"))),
            ("/review\nmore", Some(("review", "more"))),
            ("/usr/bin/env is broken", None),
            (" /review", None),
            ("/", None),
            ("/ x", None),
            ("//x", None),
            ("/-x", None),
            ("review", None),
            ("", None),
        ] {
            assert_eq!(slash(prompt), called, "{prompt}");
        }
    }
}
