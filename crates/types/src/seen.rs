//! How much of a file a session has seen: windows add up.

use std::fmt;
use std::str::FromStr;

/// How much of a file's content has been seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// All of it.
    Whole,
    /// Some of its lines.
    Lines {
        /// Ranges of lines, both ends included, in order and apart from each other.
        ranges: Vec<(u64, u64)>,
        /// How many lines it has; 0 if unknown.
        total: u64,
    },
}

impl Seen {
    /// An unknown part of it.
    pub fn part() -> Self {
        Self::Lines { ranges: Vec::new(), total: 0 }
    }

    /// The lines from `first` to `last` of `total`.
    pub fn lines(first: u64, last: u64, total: u64) -> Self {
        Self::Lines { ranges: vec![(first, last)], total }.settled()
    }

    /// Both together, for the same content.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Whole, _) | (_, Self::Whole) => Self::Whole,
            (Self::Lines { ranges: a, total: x }, Self::Lines { ranges: b, total: y }) => {
                let ranges = a.iter().chain(b).copied().collect();
                Self::Lines { ranges, total: *x.max(y) }.settled()
            }
        }
    }

    /// Ranges in order and joined; all lines are the whole.
    fn settled(self) -> Self {
        let Self::Lines { mut ranges, total } = self else { return self };
        ranges.retain(|(first, last)| first <= last);
        ranges.sort_unstable();
        let mut joined: Vec<(u64, u64)> = Vec::new();
        for (first, last) in ranges {
            match joined.last_mut() {
                Some((_, end)) if first <= end.saturating_add(1) => *end = last.max(*end),
                _ => joined.push((first, last)),
            }
        }
        if total > 0 && joined.first().is_some_and(|(first, last)| *first <= 1 && *last >= total) {
            return Self::Whole;
        }
        Self::Lines { ranges: joined, total }
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Lines { ranges, total } = self else { return f.write_str("whole") };
        let ranges: Vec<String> =
            ranges.iter().map(|(first, last)| format!("{first}-{last}")).collect();
        write!(f, "lines {} of {total}", ranges.join(","))
    }
}

/// A text that does not parse as [`Seen`].
#[derive(Debug, PartialEq, Eq)]
pub struct NotSeen;

impl FromStr for Seen {
    type Err = NotSeen;

    fn from_str(text: &str) -> Result<Self, NotSeen> {
        if text == "whole" {
            return Ok(Self::Whole);
        }
        let (ranges, total) =
            text.strip_prefix("lines ").and_then(|rest| rest.split_once(" of ")).ok_or(NotSeen)?;
        let number = |text: &str| text.parse().map_err(|_| NotSeen);
        let range = |text: &str| {
            let (first, last) = text.split_once('-').ok_or(NotSeen)?;
            Ok((number(first)?, number(last)?))
        };
        let ranges = ranges
            .split(',')
            .filter(|range| !range.is_empty())
            .map(range)
            .collect::<Result<_, _>>()?;
        Ok(Self::Lines { ranges, total: number(total)? }.settled())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn windows_add_up_to_the_whole() {
        let first = Seen::lines(1, 2500, 5000);
        let second = Seen::lines(2501, 5000, 5000);
        assert_eq!(first.and(&second), Seen::Whole);
        assert_eq!(second.and(&first), Seen::Whole);
        assert_eq!(
            Seen::lines(1, 3, 9).and(&Seen::lines(5, 9, 9)).to_string(),
            "lines 1-3,5-9 of 9"
        );
        assert_eq!(Seen::part().and(&Seen::lines(1, 3, 9)), Seen::lines(1, 3, 9));
        assert_eq!(Seen::lines(1, 9, 9), Seen::Whole);
    }

    proptest! {
        #[test]
        fn text_round_trips_and_joining_counts_every_line(
            windows in prop::collection::vec((1u64..30, 0u64..10), 0..6), total in 1u64..30,
        ) {
            let mut seen = Seen::part();
            let mut lines = std::collections::BTreeSet::new();
            for (first, more) in windows {
                let last = (first + more).min(total);
                seen = seen.and(&Seen::lines(first, last, total));
                lines.extend(first..=last);
            }
            prop_assert_eq!(seen == Seen::Whole, lines.len() as u64 == total);
            prop_assert_eq!(seen.to_string().parse(), Ok(seen));
        }
    }
}
