//! Which elements of two sequences correspond. The algorithm is generic and large, so it runs on one type: numbers.

use std::collections::HashMap;
use std::time::Instant;

use similar::DiffOp;
use similar::algorithms::{Capture, Compact, Replace, histogram};

/// The steps from one sequence to another. What is not compared at the deadline counts as replaced.
pub(crate) fn aligned(old: &[u32], new: &[u32], deadline: Instant) -> Vec<DiffOp> {
    let mut steps = Compact::new(Replace::new(Capture::new()), old, new);
    let (whole_old, whole_new) = (0..old.len(), 0..new.len());
    let Ok(()) =
        histogram::diff_deadline(&mut steps, old, whole_old, new, whole_new, Some(deadline));
    steps.into_inner().into_inner().into_ops()
}

/// Lines as numbers: equal lines have equal numbers.
pub(crate) fn numbered<'l>(old: &[&'l [u8]], new: &[&'l [u8]]) -> (Vec<u32>, Vec<u32>) {
    let mut numbers: HashMap<&'l [u8], u32> = HashMap::new();
    let mut number = |line: &&'l [u8]| {
        let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
        *numbers.entry(line).or_insert(next)
    };
    (old.iter().map(&mut number).collect(), new.iter().map(&mut number).collect())
}
