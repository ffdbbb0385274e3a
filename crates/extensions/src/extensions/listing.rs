//! What the model is told of skills: their names and what they are for, in as much room as there is.

use crate::skill::SkillDefinition;

/// As much of a description is shown.
const LONGEST: usize = 250;
/// The room where nobody says how much there is.
const USUAL: usize = 8_000;
/// Less of a description than this tells nothing.
const SHORTEST: usize = 20;

/// The room for the listing, in characters: what the operator says, else a hundredth of the context.
pub fn listing_room(context_tokens: Option<u64>, operators: Option<usize>) -> usize {
    let share =
        context_tokens.map(|tokens| usize::try_from(tokens / 100 * 4).unwrap_or(usize::MAX));
    operators.or(share).unwrap_or(USUAL)
}

/// A line for each skill that the model may call. Where there is not room for everything, descriptions become
/// shorter, then go; names stay longest.
pub(super) fn listing<'s>(
    skills: impl Iterator<Item = &'s SkillDefinition>,
    room: usize,
) -> String {
    let skills: Vec<(&str, String)> =
        skills.map(|skill| (skill.name.as_str(), one_line(&skill.description))).collect();
    let full = |limit: usize| -> Vec<String> {
        skills.iter().map(|(name, description)| line(name, description, limit)).collect()
    };
    let fits =
        |lines: &[String]| lines.iter().map(|line| line.chars().count() + 1).sum::<usize>() <= room;
    let (mut low, mut high) = (0, LONGEST);
    while low < high {
        let middle = (low + high).div_ceil(2);
        match fits(&full(middle)) {
            true => low = middle,
            false => high = middle - 1,
        }
    }
    let lines = full(if low < SHORTEST { 0 } else { low });
    if fits(&lines) {
        return lines.join("\n");
    }
    let mut kept = String::new();
    let mut shown = 0;
    for line in &lines {
        let more = format!("\n… and {} more", lines.len() - shown);
        if kept.chars().count() + line.chars().count() + 1 + more.chars().count() > room {
            break;
        }
        if shown > 0 {
            kept.push('\n');
        }
        kept.push_str(line);
        shown += 1;
    }
    kept.push_str(&format!("\n… and {} more", lines.len() - shown));
    kept.trim_start().to_owned()
}

fn line(name: &str, description: &str, limit: usize) -> String {
    let length = description.chars().count();
    match (limit, length) {
        (0, _) | (_, 0) => format!("- {name}"),
        (limit, length) if length <= limit => format!("- {name}: {description}"),
        (limit, _) => {
            let cut: String = description.chars().take(limit - 1).collect();
            format!("- {name}: {}…", cut.trim_end())
        }
    }
}

fn one_line(text: &str) -> String {
    // More than is ever shown need not be looked at.
    let start: String = text.chars().take(LONGEST * 4).collect();
    start.split_whitespace().collect::<Vec<_>>().join(" ")
}
