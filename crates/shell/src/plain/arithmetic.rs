//! What is calculated: `(( ))`, `$(( ))`, the head of a counting loop, and some tests in `[[ ]]`.

use super::{Plain, Reader, is_private_variable};

/// Operators of `[[ ]]` whose operands are evaluated as arithmetic or as names.
const EVALUATING: &[&str] = &["-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R"];

impl Reader<'_> {
    pub(super) fn double_brackets(&mut self) -> Plain<()> {
        let mut words = vec!["[["];
        loop {
            self.blanks();
            match self.peek() {
                Some(b'\n') => self.newline()?,
                Some(b'&' | b'|' | b'<' | b'>' | b'(' | b')' | b';') => {
                    let from = self.at;
                    self.at += 1;
                    words.push(&self.source[from..self.at]);
                }
                _ => words.push(self.word()?),
            }
            if words.last() == Some(&"]]") {
                break;
            }
        }
        if words.iter().any(|word| EVALUATING.contains(word)) {
            self.reading.arithmetic = true;
            for word in &words[1..words.len() - 1] {
                self.operand(word)?;
            }
        }
        self.reading.commands.push(words);
        Ok(())
    }

    /// An operand of `[[ ]]` that is calculated: a number, a variable, or an operator.
    fn operand(&mut self, word: &str) -> Plain<()> {
        let bare = word.trim_matches('"');
        let name = bare.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
        let name = name.map(|name| name.trim_start_matches('#')).or(bare.strip_prefix('$'));
        match name {
            Some("?" | "#") => Ok(()),
            Some(name) => self.number(name.strip_suffix("[@]").unwrap_or(name)),
            None if bare.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') => {
                self.number(bare)
            }
            None if bare
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"-+!=<>&|(). ".contains(&b)) =>
            {
                Ok(())
            }
            None => Err("it calculates with more than plain variables"),
        }
    }

    /// `(( ))` with numbers, operators and plain names; with three parts if it is the head of a loop.
    pub(super) fn arithmetic(&mut self, in_parts: bool) -> Plain<()> {
        self.at += 2;
        let mut open = 0;
        loop {
            match self.peek() {
                Some(b')') if open == 0 => {
                    return if self.skip("))") {
                        Ok(())
                    } else {
                        Err("it is not plain arithmetic")
                    };
                }
                Some(b')') => open -= 1,
                Some(b'(') => open += 1,
                Some(b'$') if self.next_is("${") => {
                    let inner = &self.source[self.at + 2..];
                    let length = inner.find('}').ok_or("a brace is not closed")?;
                    let name = inner[..length].trim_start_matches('#');
                    let name =
                        name.strip_suffix("[@]").or(name.strip_suffix("[*]")).unwrap_or(name);
                    self.number(name)?;
                    self.at += length + 3;
                    continue;
                }
                Some(b'$') if self.next_is("$#") || self.next_is("$?") => {
                    self.at += 2;
                    continue;
                }
                // A variable with or without its sign; a number may have letters too.
                Some(b'$' | b'_' | b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9') => {
                    let rest = self.source[self.at..].strip_prefix('$');
                    let rest = rest.unwrap_or(&self.source[self.at..]);
                    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                    let name = &rest[..end.unwrap_or(rest.len())];
                    let signed = self.peek() == Some(b'$');
                    if signed || !name.starts_with(|c: char| c.is_ascii_digit()) {
                        self.number(name)?;
                    }
                    self.at += name.len() + usize::from(signed);
                    continue;
                }
                Some(b';') if in_parts => {}
                Some(byte) if b" \t\n+-*/%<>=!&|^~?:,.".contains(&byte) => {}
                _ => return Err("arithmetic that may run something"),
            }
            self.at += 1;
        }
    }

    /// A variable in a calculation: one that neither bash nor the caller of a function sets by itself.
    fn number(&mut self, name: &str) -> Plain<()> {
        self.reading.arithmetic = true;
        let own = name.starts_with(|c: char| c.is_ascii_lowercase()) && is_private_variable(name);
        if own { Ok(()) } else { Err("it calculates with a variable that others set") }
    }
}
