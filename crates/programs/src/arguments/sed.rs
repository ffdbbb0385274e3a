//! Scripts for `sed`: which of their commands run programs, and which read or write files.

use super::ScriptEffects;

/// What a script does; nothing if it cannot be read with certainty.
pub(super) fn effects(script: &str) -> Option<ScriptEffects> {
    // Whether a delimiter in brackets ends a pattern, and what ends a label, is not the same for every `sed`. One that
    // cannot read a script runs nothing of it.
    let readings = BRACKETS.iter().flat_map(|brackets| {
        LABEL_ENDS.iter().map(move |label_ends| read(script, *brackets, label_ends))
    });
    readings.flatten().reduce(|mut all, other| {
        all.runs |= other.runs;
        all.reads.extend(other.reads);
        all.writes.extend(other.writes);
        all
    })
}

/// What ends a label, with the end of the line.
const LABEL_ENDS: &[&str] = &[" \t\r\x0b\x0c;}", " \t\r\x0b\x0c;", ";", ""];

/// How a delimiter in brackets is read.
#[derive(Clone, Copy)]
struct Brackets {
    /// It is an ordinary character.
    count: bool,
    /// A backslash in them quotes the next character.
    escapes: bool,
    /// `[:alpha:]` and the like in them end with their own sign.
    classes: bool,
}

const fn brackets(count: bool, escapes: bool, classes: bool) -> Brackets {
    Brackets { count, escapes, classes }
}

const BRACKETS: &[Brackets] = &[
    brackets(false, true, false),
    brackets(true, true, false),
    brackets(true, false, false),
    brackets(true, true, true),
    brackets(true, false, true),
];

fn read(script: &str, brackets: Brackets, label_ends: &'static str) -> Option<ScriptEffects> {
    let found = ScriptEffects::default();
    let mut reader = Reader { rest: script, brackets, label_ends, found };
    while reader.command()? {}
    Some(reader.found)
}

struct Reader<'s> {
    rest: &'s str,
    brackets: Brackets,
    label_ends: &'static str,
    found: ScriptEffects,
}

impl<'s> Reader<'s> {
    fn next(&mut self) -> Option<char> {
        let next = self.rest.chars().next()?;
        self.rest = &self.rest[next.len_utf8()..];
        Some(next)
    }

    fn skip(&mut self, which: impl Fn(char) -> bool) {
        self.rest = self.rest.trim_start_matches(which);
    }

    /// What is left of the line.
    fn line(&mut self) -> &'s str {
        let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
        self.rest = rest;
        line
    }

    /// Reads one command with its addresses; whether there was one.
    fn command(&mut self) -> Option<bool> {
        self.skip(|c| c.is_whitespace() || c == ';');
        if self.rest.is_empty() {
            return Some(false);
        }
        self.address()?;
        self.skip(char::is_whitespace);
        if self.rest.starts_with(',') {
            self.next();
            self.skip(char::is_whitespace);
            self.address()?;
        }
        self.skip(|c| c.is_whitespace() || c == '!');
        match self.next()? {
            '{' | '}' | '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x'
            | 'z' | 'F' => {}
            '#' => drop(self.line()),
            'l' | 'L' | 'q' | 'Q' => self.skip(|c| c == ' ' || c.is_ascii_digit()),
            ':' | 'b' | 't' | 'T' | 'v' => {
                self.skip(|c| c == ' ' || c == '\t');
                let ends = self.label_ends;
                self.skip(|c| c != '\n' && !ends.contains(c));
            }
            'a' | 'i' | 'c' => self.text()?,
            'r' | 'R' => {
                let file = self.line().trim().to_owned();
                self.found.reads.push(file);
            }
            'w' | 'W' => {
                let file = self.line().trim().to_owned();
                self.found.writes.push(file);
            }
            'e' => {
                self.found.runs = true;
                self.line();
            }
            's' => self.substitution()?,
            'y' => {
                let delimiter = self.delimiter()?;
                self.delimited(delimiter, false)?;
                self.delimited(delimiter, false)?;
            }
            _ => return None,
        }
        Some(true)
    }

    fn address(&mut self) -> Option<()> {
        match self.rest.chars().next()? {
            '/' => {
                self.next();
                self.delimited('/', true)?;
                self.skip(|c| c == 'I' || c == 'M');
            }
            '\\' => {
                self.next();
                let delimiter = self.delimiter()?;
                self.delimited(delimiter, true)?;
                self.skip(|c| c == 'I' || c == 'M');
            }
            '$' => drop(self.next()),
            '0'..='9' | '+' | '~' => self.skip(|c| c.is_ascii_digit() || c == '~' || c == '+'),
            _ => {}
        }
        Some(())
    }

    fn delimiter(&mut self) -> Option<char> {
        self.next().filter(|c| *c != '\n' && *c != '\\')
    }

    fn delimited(&mut self, delimiter: char, is_pattern: bool) -> Option<()> {
        let mut in_brackets = false;
        while let Some(next) = self.next() {
            match next {
                '\\' if !in_brackets || self.brackets.escapes => drop(self.next()?),
                // It has to be escaped.
                '\n' => return None,
                '[' if in_brackets && self.brackets.classes => self.class(),
                '[' if self.brackets.count && is_pattern && !in_brackets => {
                    in_brackets = true;
                    self.skip_once('^');
                    self.skip_once(']');
                }
                ']' if in_brackets => in_brackets = false,
                _ if next == delimiter && !in_brackets => return Some(()),
                _ => {}
            }
        }
        None
    }

    /// The rest of `[:alpha:]`, `[=a=]` or `[.x.]`, if it is one.
    fn class(&mut self) {
        let Some(sign) = self.rest.chars().next().filter(|c| ":=.".contains(*c)) else { return };
        if let Some(end) = self.rest[1..].find(&format!("{sign}]")) {
            self.rest = &self.rest[1 + end + 2..];
        }
    }

    fn skip_once(&mut self, wanted: char) {
        self.rest = self.rest.strip_prefix(wanted).unwrap_or(self.rest);
    }

    fn substitution(&mut self) -> Option<()> {
        let delimiter = self.delimiter()?;
        self.delimited(delimiter, true)?;
        self.delimited(delimiter, false)?;
        while let Some(flag) = self.rest.chars().next() {
            match flag {
                'g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9' => drop(self.next()),
                'e' => {
                    self.found.runs = true;
                    self.next();
                }
                'w' => {
                    self.next();
                    let file = self.line().trim().to_owned();
                    self.found.writes.push(file);
                }
                _ => break,
            }
        }
        Some(())
    }

    /// The text of `a`, `i` and `c`: to the end of the line, and on where a backslash ends it.
    fn text(&mut self) -> Option<()> {
        // Whether the text begins on the next line if only blanks are behind the backslash is not certain.
        let first = self.rest.split('\n').next()?.trim_start();
        if first.len() > 1 && first.starts_with('\\') && first[1..].trim().is_empty() {
            return None;
        }
        loop {
            let line = self.line();
            let dashes = line.len() - line.trim_end_matches('\\').len();
            if dashes.is_multiple_of(2) || self.rest.is_empty() {
                return Some(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_something_is_found() {
        for script in [
            "e",
            "1e",
            "1e id",
            "$e id",
            "/x/e id",
            "s/a/b/e",
            "s/[[:alpha:]/]*/touch p/e",
            "s/[/a\\]*/touch p/e",
            "s/[[=a=]/]/id/e",
            "s:.*:id:e",
            "s,a,b,ge",
            "s|a|b|pe",
            "s#a#b#2e",
            "sxaxbxe",
            "p;s/a/b/e",
            "{e\n}",
            "1{s/a/b/e}",
            "/a/,/b/ s/x/y/e",
            "s/a/b/;e id",
            "\\,x,e",
            "1!e id",
            "s/[/]/b/e",
            "y/a/b/;s/a/b/e",
            "a x\ne id",
            "1~2e",
            "s/a\\/b/c/e",
            "$!N;e",
            "s/\\n/x/e",
            ":a e id",
            ":a\te id",
            ":a;e id",
            "v 4.2 e id",
            "ba e id\n:a",
            "tx e id",
            "b;e id",
            "b}e id",
            "/x/{ba e id\n}\n:a",
            "s/x/y/ e",
            "a\\ \ny/a\ne id\n/b/p",
        ] {
            assert!(effects(script).is_none_or(|found| found.runs), "{script}");
        }
        for script in [
            "1,5p",
            "s/e/f/g",
            "s/a/e/",
            "/e/d",
            "$!N",
            "s/[/]/e/",
            "a e\\\ne",
            "y/abc/def/",
            "s/a/b/;s/c/d/",
            "/x/{p;q}",
            "1d;$d",
            "s,/usr/e,/e,g",
            "# e",
            "n;d",
            ":a;N;$!ba;s/\\n/ /g",
            ":a; N; $!ba; s/\\n/ /g",
            "/x/{bend}\n:end",
            "a\\\n  text e",
            "/a/,+3p",
            "5q",
            "s/\\(e\\)/\\1/p",
        ] {
            let found = effects(script).unwrap_or_else(|| panic!("{script} is not read"));
            assert_eq!(found, ScriptEffects::default(), "{script}");
        }
    }

    #[test]
    fn files_in_scripts_are_found() {
        let writes = |script: &str| effects(script).unwrap().writes;
        for script in [
            "w out",
            "wout",
            "1,3w out",
            "s/a/b/w out",
            "s/a/b/gwout",
            "/x/W out",
            "p\nw out",
            "{w out\n}",
            ":a w out",
            "v 4.2 w out",
        ] {
            assert!(writes(script).contains(&"out".to_owned()), "{script}");
        }
        let reads = |script: &str| effects(script).unwrap().reads;
        for script in ["r in", "rin", "$r in", "/x/R in", "1!r in"] {
            assert!(reads(script).contains(&"in".to_owned()), "{script}");
        }
    }
}
