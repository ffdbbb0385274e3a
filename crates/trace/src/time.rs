//! UTC time stamps with milliseconds, as S2 §2.5 writes them.

use std::time::{SystemTime, UNIX_EPOCH};

/// The time now, `2026-05-02T09:14:03.120Z`.
pub fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    stamp(since.as_secs(), since.subsec_millis())
}

/// A time stamp without its fraction of a second, where it has one.
pub fn whole_seconds(timestamp: &str) -> String {
    match timestamp.split_once('.') {
        Some((whole, rest)) => {
            format!("{whole}{}", rest.trim_start_matches(|c: char| c.is_ascii_digit()))
        }
        None => timestamp.to_owned(),
    }
}

fn stamp(since_epoch: u64, milliseconds: u32) -> String {
    let (days, rest) = (since_epoch / 86_400, since_epoch % 86_400);
    let day = ona_types::date(i64::try_from(days).unwrap_or_default());
    let (hour, minute, second) = (rest / 3_600, rest / 60 % 60, rest % 60);
    format!("{day}T{hour:02}:{minute:02}:{second:02}.{milliseconds:03}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_moments() {
        for (since, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399, "2000-02-28T23:59:59.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (1_777_713_243, "2026-05-02T09:14:03.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(stamp(since, 0), text);
        }
        assert_eq!(whole_seconds("2026-05-02T09:14:03.120Z"), "2026-05-02T09:14:03Z");
        assert_eq!(whole_seconds("2026-05-02T09:14:03.120+02:00"), "2026-05-02T09:14:03+02:00");
        assert_eq!(whole_seconds("2026-05-02T09:14:03Z"), "2026-05-02T09:14:03Z");
    }
}
