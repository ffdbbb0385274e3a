//! Wall times of commands, as medians.

use std::process::{Command, Output};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::process;

/// Medians of two alternating contestants.
pub struct Race {
    pub ours: Duration,
    pub theirs: Duration,
}

/// Runs `command` to its end and keeps its output, for a check outside the measured time.
pub fn timed(command: &mut Command) -> Result<(Duration, Output)> {
    let start = Instant::now();
    let output = process::output(command)?;
    Ok((start.elapsed(), output))
}

/// The median of `runs` measurements, after one warm-up.
pub fn median_of(runs: usize, mut measure: impl FnMut() -> Result<Duration>) -> Result<Duration> {
    measure()?;
    median((0..runs).map(|_| measure()).collect::<Result<_>>()?)
}

/// Measures both alternately, so that other load affects both.
pub fn race(
    runs: usize,
    mut ours: impl FnMut() -> Result<Duration>,
    mut theirs: impl FnMut() -> Result<Duration>,
) -> Result<Race> {
    ours()?;
    theirs()?;
    let (mut our_times, mut their_times) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        our_times.push(ours()?);
        their_times.push(theirs()?);
    }
    Ok(Race { ours: median(our_times)?, theirs: median(their_times)? })
}

/// The median.
pub fn median(mut times: Vec<Duration>) -> Result<Duration> {
    times.sort_unstable();
    times.get(times.len() / 2).copied().context("nothing was measured")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_ignores_outliers() -> Result<()> {
        let times = [3, 1000, 1, 2, 4].map(Duration::from_millis).to_vec();
        assert_eq!(median(times)?, Duration::from_millis(3));
        assert!(median(Vec::new()).is_err());
        Ok(())
    }

    #[test]
    fn contestants_take_turns() -> Result<()> {
        let order = std::cell::RefCell::new(String::new());
        let step = |name, time| {
            order.borrow_mut().push(name);
            Ok(Duration::from_millis(time))
        };
        let race = race(2, || step('a', 5), || step('b', 7))?;
        assert_eq!(order.into_inner(), "ababab");
        assert_eq!((race.ours.as_millis(), race.theirs.as_millis()), (5, 7));
        Ok(())
    }
}
