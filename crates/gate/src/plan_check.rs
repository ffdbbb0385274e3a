//! What a machine can say about a plan before a human reads it: whether it says how success is seen.

use std::fmt;

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Criteria {
    /// There is no such section.
    NoSection,
    /// The section has no items.
    Empty,
    /// So many criteria.
    Found(usize),
}

impl fmt::Display for Criteria {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSection => f.write_str("success criteria: not found (no such section)"),
            Self::Empty => f.write_str("success criteria: not found (the section has no items)"),
            Self::Found(number) => write!(f, "success criteria: {number} found"),
        }
    }
}

/// Looks for a section with the success criteria, and counts its items.
pub(crate) fn success_criteria(plan: &str) -> Criteria {
    let mut found = Criteria::NoSection;
    for line in plan.lines().map(str::trim) {
        let title = line.trim_start_matches(['#', '*', ' ']);
        let is_heading = line.starts_with('#') || (line.starts_with("**") && line.len() > 4);
        if is_heading || title.ends_with(':') {
            match (names_criteria(title), found) {
                (true, Criteria::NoSection) => found = Criteria::Empty,
                (false, Criteria::Empty | Criteria::Found(_)) if is_heading => break,
                _ => {}
            }
            continue;
        }
        found = match found {
            Criteria::Empty if is_item(line) => Criteria::Found(1),
            Criteria::Found(number) if is_item(line) => Criteria::Found(number + 1),
            found => found,
        };
    }
    found
}

fn names_criteria(title: &str) -> bool {
    let title = title.to_lowercase();
    ["success criteria", "acceptance criteria"].iter().any(|name| title.starts_with(name))
}

/// Whether a line is an item of a list that says something.
fn is_item(line: &str) -> bool {
    let text = match line.strip_prefix(['-', '*', '+']) {
        Some(text) => text,
        None => {
            let text = line.trim_start_matches(|c: char| c.is_ascii_digit());
            if text.len() == line.len() {
                return false;
            }
            text.strip_prefix(['.', ')']).unwrap_or_default()
        }
    };
    text.starts_with(' ') && !text.trim().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn criteria_are_the_items_of_their_section() {
        for (plan, found) in [
            ("# Plan\n\nDo it.", Criteria::NoSection),
            ("# Plan\n## Success criteria\n\nlater", Criteria::Empty),
            ("## Success Criteria\n- a\n- b\n\n## Risks\n- c", Criteria::Found(2)),
            ("**Success criteria**\n1. a\n2) b", Criteria::Found(2)),
            ("Acceptance criteria:\n* a\n*\n", Criteria::Found(1)),
            ("## Steps\n- success criteria are met\n", Criteria::NoSection),
        ] {
            assert_eq!(success_criteria(plan), found, "{plan}");
        }
    }
}
