//! How often a request is retried, and how long to wait before.

use std::time::{Duration, SystemTime};

use reqwest::header::HeaderMap;

/// Waits that double, with jitter, unless the server names one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// The first wait.
    pub base: Duration,
    /// The longest wait.
    pub longest: Duration,
    /// The longest wait that a server may ask for. If it asks for more, the request fails: the user
    /// should know instead of waiting.
    pub longest_asked: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self {
            base: Duration::from_millis(500),
            longest: Duration::from_secs(32),
            longest_asked: Duration::from_secs(60),
        }
    }
}

impl Backoff {
    /// The wait before the given retry, from 1: somewhere in the last quarter of what doubling gives, so
    /// that many who failed together do not come back together.
    pub(crate) fn delay(&self, retry: u32) -> Duration {
        let doubled = self.base.saturating_mul(2_u32.saturating_pow(retry.saturating_sub(1)));
        doubled.min(self.longest).mul_f64(1.0 - fastrand::f64() / 4.0)
    }
}

/// How often, and with which waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// How many times after the first.
    pub max_retries: u32,
    /// The waits between.
    pub backoff: Backoff,
}

impl Default for Retry {
    fn default() -> Self {
        Self { max_retries: 10, backoff: Backoff::default() }
    }
}

/// The wait a server asks for: `retry-after-ms`, or `retry-after` in seconds or as a date. A date is meant by the
/// server's clock, which its answer names; ours may be wrong, or be set meanwhile.
pub(crate) fn asked_wait(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| *number >= 0.0);
    let wait = |seconds: f64| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
    if let Some(millis) = header("retry-after-ms").and_then(number) {
        return Some(wait(millis / 1e3));
    }
    let text = header("retry-after")?;
    if let Some(seconds) = number(text) {
        return Some(wait(seconds));
    }
    let date = httpdate::parse_http_date(text.trim()).ok()?;
    let now =
        header("date").and_then(|date| httpdate::parse_http_date(date.trim()).ok()).unwrap_or(now);
    Some(date.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest() {
        let backoff = Backoff::default();
        for (retry, millis) in [(1, 500), (2, 1000), (4, 4000), (7, 32_000), (40, 32_000)] {
            let delay = backoff.delay(retry).as_millis();
            assert!((millis * 3 / 4..=millis).contains(&delay), "{retry}: {delay}");
        }
        assert_eq!(Backoff { base: Duration::ZERO, ..backoff }.delay(5), Duration::ZERO);
    }

    #[test]
    fn servers_ask_in_three_ways() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777 - 30);
        let asked = |pairs: &[(&'static str, &'static str)]| {
            let headers =
                pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
            asked_wait(&headers.collect(), now)
        };
        let date = "Sun, 06 Nov 1994 08:49:37 GMT";
        assert_eq!(asked(&[("retry-after", "5")]), Some(Duration::from_secs(5)));
        assert_eq!(asked(&[("retry-after", "0.5")]), Some(Duration::from_millis(500)));
        assert_eq!(
            asked(&[("retry-after", "5"), ("retry-after-ms", "20")]),
            Some(Duration::from_millis(20))
        );
        assert_eq!(asked(&[("retry-after", date)]), Some(Duration::from_secs(30)));
        // By a clock that is years off, here or there, it is the same wait.
        let sent = ("date", "Sun, 06 Nov 1994 08:49:30 GMT");
        for now in [SystemTime::UNIX_EPOCH, SystemTime::now()] {
            let headers = [("retry-after", date), sent]
                .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
            let wait = asked_wait(&headers.into_iter().collect(), now);
            assert_eq!(wait, Some(Duration::from_secs(7)));
        }
        let past = "Sun, 06 Nov 1994 08:00:00 GMT";
        assert_eq!(asked(&[("retry-after", past)]), Some(Duration::ZERO));
        assert_eq!(asked(&[("retry-after", "1e300")]), Some(Duration::MAX));
        for nonsense in ["soon", "-1", "NaN", ""] {
            assert_eq!(asked(&[("retry-after", nonsense)]), None, "{nonsense}");
        }
        assert_eq!(asked(&[]), None);
    }
}
