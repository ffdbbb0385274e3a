//! Scripts for `awk`: whether they run programs, and which files they read or write.

use super::ScriptEffects;

/// A piece of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    /// The text of a string, unless it has escapes in it.
    Text(Option<String>),
    Pattern,
    Word(String),
    Number,
    /// `||`, `>>`, `|&` and the like, or one character.
    Sign(&'static str),
    Other(char),
    Newline,
}

const SIGNS: &[&str] = &[
    "||", "|&", "&&", ">>", ">=", "<=", "==", "!=", "++", "--", "|", ">", "<", "(", ")", "{", "}",
    ";", "@",
];

/// Words behind which an expression begins, so that a `/` opens a pattern.
const OPENERS: &[&str] = &[
    "print", "printf", "return", "if", "while", "for", "else", "do", "case", "delete", "exit",
    "BEGIN", "END",
];

/// What a script does; nothing if it cannot be read with certainty.
pub(super) fn effects(script: &str) -> Option<ScriptEffects> {
    let tokens = tokens(script)?;
    let mut found = ScriptEffects::default();
    // In a print statement, and outside parentheses, `>` writes; elsewhere it compares. So with `getline` and `<`.
    let (mut prints, mut gets, mut depth) = (false, false, 0_usize);
    for (at, token) in tokens.iter().enumerate() {
        let next = tokens.get(at + 1);
        match token {
            Token::Newline if goes_on(&tokens[..at]) => {}
            Token::Newline | Token::Sign(";" | "{" | "}") => {
                (prints, gets, depth) = (false, false, 0);
            }
            Token::Word(word) if word == "getline" => gets = true,
            Token::Word(word) if word == "print" || word == "printf" => (prints, depth) = (true, 0),
            Token::Word(word) if word == "system" => found.runs = true,
            // Its files are whatever the script puts there.
            Token::Word(word) if word == "ARGV" => found.reads_more = true,
            Token::Sign("(") => depth += 1,
            Token::Sign(")") => depth = depth.saturating_sub(1),
            // Extensions, other scripts, and calls of functions by their names.
            Token::Sign("@" | "|" | "|&") => found.runs = true,
            Token::Sign(">" | ">>") if prints && depth == 0 => match file(next, tokens.get(at + 2))
            {
                Some(file) => found.writes.push(file),
                None => found.writes_more = true,
            },
            Token::Sign("<") if gets => match file(next, tokens.get(at + 2)) {
                Some(file) => found.reads.push(file),
                None => found.reads_more = true,
            },
            _ => {}
        }
    }
    // A name of a network connection is no file.
    found.runs |= found.reads.iter().chain(&found.writes).any(|file| file.starts_with("/inet"));
    Some(found)
}

/// The file that a text names, if nothing is joined to it.
fn file(text: Option<&Token>, behind: Option<&Token>) -> Option<String> {
    let ends = matches!(behind, None | Some(Token::Newline | Token::Sign(";" | "}" | ")")));
    match text {
        Some(Token::Text(Some(text))) if ends => Some(text.clone()),
        _ => None,
    }
}

/// Whether a statement goes on behind a line end: what stands before it cannot be the end of one.
fn goes_on(before: &[Token]) -> bool {
    let last = before.iter().rev().find(|token| **token != Token::Newline);
    match last {
        Some(Token::Sign(sign)) => !matches!(*sign, ")" | "++" | "--" | "{" | "}" | ";"),
        Some(Token::Other(sign)) => *sign != ']',
        _ => false,
    }
}

fn tokens(script: &str) -> Option<Vec<Token>> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut rest = script;
    while let Some(next) = rest.chars().next() {
        let token = match next {
            '\n' => Token::Newline,
            ' ' | '\t' | '\r' => {
                rest = &rest[1..];
                continue;
            }
            '\\' => {
                rest = rest.strip_prefix("\\\n").or_else(|| rest.strip_prefix("\\\r\n"))?;
                continue;
            }
            '#' => {
                rest = rest.find('\n').map_or("", |at| &rest[at..]);
                continue;
            }
            '"' => {
                let length = closed(&rest[1..], '"')?;
                let text = &rest[1..=length];
                rest = &rest[length + 2..];
                tokens.push(Token::Text((!text.contains('\\')).then(|| text.to_owned())));
                continue;
            }
            '/' if begins_pattern(tokens.last())? => {
                let length = closed(&rest[1..], '/')?;
                rest = &rest[length + 2..];
                tokens.push(Token::Pattern);
                continue;
            }
            c if c.is_alphabetic() || c == '_' => {
                let end =
                    rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
                tokens.push(Token::Word(rest[..end].to_owned()));
                rest = &rest[end..];
                continue;
            }
            c if c.is_ascii_digit() => {
                let end = rest
                    .find(|c: char| !c.is_ascii_alphanumeric() && c != '.')
                    .unwrap_or(rest.len());
                tokens.push(Token::Number);
                rest = &rest[end..];
                continue;
            }
            other => match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
                Some(sign) => {
                    tokens.push(Token::Sign(sign));
                    rest = &rest[sign.len()..];
                    continue;
                }
                None => Token::Other(other),
            },
        };
        tokens.push(token);
        rest = &rest[next.len_utf8()..];
    }
    Some(tokens)
}

/// How long the text is that this sign closes; nothing if it does not end on its line, or in brackets, where
/// readings differ.
fn closed(text: &str, sign: char) -> Option<usize> {
    let mut characters = text.char_indices();
    let mut brackets = false;
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => drop(characters.next()?),
            '\n' => return None,
            '[' if sign == '/' => brackets = true,
            ']' => brackets = false,
            _ if character == sign => return (!brackets).then_some(at),
            _ => {}
        }
    }
    None
}

/// Whether a `/` behind this token opens a pattern and does not divide; nothing if that is not certain.
fn begins_pattern(before: Option<&Token>) -> Option<bool> {
    match before {
        None | Some(Token::Newline) => Some(true),
        Some(Token::Sign("++" | "--" | "@")) => None,
        Some(Token::Sign(sign)) => Some(*sign != ")"),
        Some(Token::Word(word)) if word == "in" || word == "getline" => None,
        Some(Token::Word(word)) => Some(OPENERS.contains(&word.as_str())),
        Some(Token::Text(_) | Token::Pattern | Token::Number) => Some(false),
        Some(Token::Other(sign)) => Some(*sign != ']' && *sign != '$'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_something_is_found() {
        for script in [
            "BEGIN{system(\"id\")}",
            "BEGIN { system (\"id\") }",
            "{ \"id\" | getline x }",
            "{ print | \"sh\" }",
            "{ print |& \"sh\" }",
            "@load \"x\"",
            "@include \"x\"",
            "BEGIN { c = \"id\"; i++ / (c | getline) / 1 }",
            "/a/ { print | \"sh\" } /b/",
            "{ x = 1 / 2; \"id\" | getline; y = 1 / 2 }",
            "{ print \"/\" | \"sh\" ; print \"/\" }",
            "BEGIN { f = \"system\"; @f(\"id\") }",
            "BEGIN { print \"x\" > \"/inet/tcp/0/h/1\" }",
        ] {
            assert!(effects(script).is_none_or(|found| found.runs), "{script}");
        }
        for script in [
            "{ print $1 }",
            "/a|b/",
            "$1 > 5",
            "$1 > 5 || $2 < 3 { print $2, $3 }",
            "BEGIN { FS = \"|\" } { print $2 }",
            "{ s += $1 } END { print s / NR }",
            "/systemd/ { print }",
            "NR == 1 || /x/",
            "{ print (a > b) }",
            "!seen[$0]++",
            "{ n = split($0, a, /[,;]/); print a[1] }",
            "# system(1)\n{ print }",
            "{ print $1\n}\n$1 > 5",
            "{ print a[1]\n if (x > 1) print (b)\n}\nx > 3",
        ] {
            let found = effects(script).unwrap_or_else(|| panic!("{script} is not read"));
            assert_eq!(found, ScriptEffects::default(), "{script}");
        }
    }

    #[test]
    fn files_in_scripts_are_found() {
        for script in [
            "{ print > \"out\" }",
            "{ printf \"%s\", $1 >> \"out\" }",
            "{print>\"out\"}",
            "{ if (x) print \"a\" > \"out\"; }",
            "BEGIN{print \"x\" ||\n\"y\" > \"out\"}",
            "BEGIN{print \"x\" &&  # and\n\n\"y\" > \"out\"}",
            "{ print x ?\n1 :\n2 > \"out\" }",
            "{ print $1,\n$2 > \"out\" }",
            "{ print $1 \\\n > \"out\" }",
        ] {
            assert_eq!(effects(script).unwrap().writes, ["out"], "{script}");
        }
        assert_eq!(effects("{ while ((getline line < \"in\") > 0) n++ }").unwrap().reads, ["in"]);
        for script in
            ["{ print > $1 }", "{ print > \"a\" $1 }", "{ print > f }", "{ print > \"\\x2e\" }"]
        {
            assert!(effects(script).unwrap().writes_more, "{script}");
        }
        let far = "{ while ((getline a[i, j, k, l] < f) > 0) n++ }";
        for script in [far, "{ getline x < f }", "BEGIN { ARGV[1] = \".\" \"env\"; ARGC = 2 }"] {
            assert!(effects(script).unwrap().reads_more, "{script}");
        }
    }
}
