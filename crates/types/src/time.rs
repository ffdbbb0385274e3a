//! Dates from day counts, without a calendar library. The caller reads the clock.

/// The date `days` days after 1970-01-01, in the Gregorian calendar.
pub fn date(days: i64) -> String {
    // Counted from 0000-03-01, so that a leap day is a year's last.
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

/// A point in time, in seconds since 1970, as RFC 3339 writes it; nothing beyond the year 9999.
pub fn rfc3339(seconds: u64) -> Option<String> {
    const END: u64 = 253_402_300_800;
    let (days, rest) = (i64::try_from(seconds / 86_400).ok()?, seconds % 86_400);
    let (hours, minutes, seconds) = (rest / 3600, rest / 60 % 60, rest % 60);
    (days < i64::try_from(END / 86_400).ok()?)
        .then(|| format!("{}T{hours:02}:{minutes:02}:{seconds:02}Z", date(days)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_days() {
        for (days, expected) in [
            (0, "1970-01-01"),
            (59, "1970-03-01"),
            (11_016, "2000-02-29"),
            (20_772, "2026-11-15"),
            (47_541, "2100-03-01"),
            (-1, "1969-12-31"),
        ] {
            assert_eq!(date(days), expected);
        }
        assert_eq!(rfc3339(0).as_deref(), Some("1970-01-01T00:00:00Z"));
        assert_eq!(rfc3339(1_794_957_899).as_deref(), Some("2026-11-17T23:24:59Z"));
        assert_eq!(rfc3339(253_402_300_799).as_deref(), Some("9999-12-31T23:59:59Z"));
        assert_eq!(rfc3339(253_402_300_800), None);
    }
}
