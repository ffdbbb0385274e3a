//! Texts that stand in a list, one item below the other.

/// The rows of an item. Its own line breaks are marked and its further rows are indented, so that none of them looks like
/// another item; blank lines say nothing.
pub fn listed(item: &str) -> Vec<String> {
    let indent = item.len() - item.trim_start().len();
    let lines: Vec<&str> = item.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines.len().saturating_sub(1);
    let row = |(number, line): (usize, &&str)| {
        let before = if number == 0 { 0 } else { indent + 4 };
        let mark = if number == last { "" } else { " ⏎" };
        format!("{}{}{mark}", " ".repeat(before), line.trim_end())
    };
    lines.iter().enumerate().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_breaks_are_seen() {
        assert_eq!(listed("  Stop: date"), ["  Stop: date"]);
        assert_eq!(listed("  Stop: date\n\n\nrm -rf ~\n"), ["  Stop: date ⏎", "      rm -rf ~"]);
    }
}
