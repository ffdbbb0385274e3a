//! SPDX licence expressions: the part of the language needed to check a crate's
//! `license` field against a list of allowed licences.
//!
//! `OR` needs one side, `AND` both, `AND` binds tighter. An exception is part
//! of the licence it follows: allowing `Apache-2.0` does not allow
//! `Apache-2.0 WITH LLVM-exception`, and vice versa. A slash, as in old
//! manifests (`MIT/Apache-2.0`), means `OR`.

use anyhow::{Result, bail};

/// A parsed licence expression.
#[derive(Debug, PartialEq)]
pub enum Expression {
    /// One licence with its exception, as in `Apache-2.0 WITH LLVM-exception`.
    Licence(String),
    Both(Box<Expression>, Box<Expression>),
    Either(Box<Expression>, Box<Expression>),
}

impl Expression {
    pub fn parse(text: &str) -> Result<Self> {
        let spaced = text.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
        let mut words = Words { words: spaced.split_whitespace().collect(), next: 0 };
        let expression = words.either()?;
        match words.peek() {
            None => Ok(expression),
            Some(word) => bail!("unexpected `{word}` in the licence expression `{text}`"),
        }
    }

    /// Whether the licences that `allowed` accepts are enough to use the crate.
    pub fn is_met_by(&self, allowed: &dyn Fn(&str) -> bool) -> bool {
        match self {
            // `X+` is "version X or later", so X is enough.
            Self::Licence(name) => allowed(name) || name.strip_suffix('+').is_some_and(allowed),
            Self::Both(left, right) => left.is_met_by(allowed) && right.is_met_by(allowed),
            Self::Either(left, right) => left.is_met_by(allowed) || right.is_met_by(allowed),
        }
    }
}

/// A recursive descent parser, one function per precedence.
struct Words<'a> {
    words: Vec<&'a str>,
    next: usize,
}

impl<'a> Words<'a> {
    fn either(&mut self) -> Result<Expression> {
        let mut left = self.both()?;
        while self.take("OR") {
            left = Expression::Either(Box::new(left), Box::new(self.both()?));
        }
        Ok(left)
    }

    fn both(&mut self) -> Result<Expression> {
        let mut left = self.licence()?;
        while self.take("AND") {
            left = Expression::Both(Box::new(left), Box::new(self.licence()?));
        }
        Ok(left)
    }

    fn licence(&mut self) -> Result<Expression> {
        if self.take("(") {
            let inner = self.either()?;
            if !self.take(")") {
                bail!("missing closing parenthesis");
            }
            return Ok(inner);
        }
        let name = self.name()?;
        if self.take("WITH") {
            return Ok(Expression::Licence(format!("{name} WITH {}", self.name()?)));
        }
        Ok(Expression::Licence(name.to_owned()))
    }

    fn name(&mut self) -> Result<&'a str> {
        match self.peek() {
            Some(word) if !["AND", "OR", "WITH", "(", ")"].contains(&word) => {
                self.next += 1;
                Ok(word)
            }
            Some(word) => bail!("expected a licence, found `{word}`"),
            None => bail!("expected a licence, found the end"),
        }
    }

    fn peek(&self) -> Option<&'a str> {
        self.words.get(self.next).copied()
    }

    fn take(&mut self, word: &str) -> bool {
        let found = self.peek() == Some(word);
        self.next += usize::from(found);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn met(expression: &str, allowed: &[&str]) -> bool {
        Expression::parse(expression)
            .is_ok_and(|parsed| parsed.is_met_by(&|name| allowed.contains(&name)))
    }

    #[test]
    fn or_needs_one_and_needs_both() {
        assert!(met("MIT", &["MIT"]));
        assert!(!met("GPL-3.0-only", &["MIT"]));
        assert!(met("GPL-3.0-only OR MIT", &["MIT"]));
        assert!(!met("GPL-3.0-only AND MIT", &["MIT"]));
        assert!(met("MIT OR Apache-2.0 OR LGPL-2.1-or-later", &["MIT"]));
    }

    #[test]
    fn and_binds_tighter_than_or() {
        assert!(met("MIT OR ISC AND GPL-3.0-only", &["MIT"]));
        assert!(!met("(MIT OR ISC) AND GPL-3.0-only", &["MIT"]));
        assert!(met("(Apache-2.0 OR MIT) AND BSD-3-Clause", &["MIT", "BSD-3-Clause"]));
        assert!(!met("(Apache-2.0 OR MIT) AND BSD-3-Clause", &["MIT"]));
    }

    #[test]
    fn an_exception_belongs_to_its_licence() {
        let llvm = "Apache-2.0 WITH LLVM-exception";
        assert!(met(llvm, &[llvm]));
        assert!(!met(llvm, &["Apache-2.0"]));
        assert!(!met("Apache-2.0", &[llvm]));
        assert!(met("Apache-2.0 WITH LLVM-exception OR MIT", &["MIT"]));
    }

    #[test]
    fn old_slashes_and_later_versions() {
        assert!(met("MIT/Apache-2.0", &["Apache-2.0"]));
        assert!(met("MIT / Apache-2.0", &["MIT"]));
        assert!(met("Apache-2.0+", &["Apache-2.0"]));
        assert!(!met("Apache-2.0", &["Apache-2.0+"]));
    }

    #[test]
    fn nonsense_is_an_error_and_never_met() {
        for text in ["", "MIT OR", "AND MIT", "(MIT", "MIT)", "MIT Apache-2.0", "MIT WITH", "()"] {
            assert!(Expression::parse(text).is_err(), "{text}");
        }
    }
}
