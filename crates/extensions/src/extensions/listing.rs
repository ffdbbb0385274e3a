//! The listing of skills for the model: their names and descriptions, in limited room.

use crate::skill::SkillDefinition;

/// The maximum length of a description.
const MAX_DESCRIPTION: usize = 250;
/// The room if nothing is configured.
const DEFAULT_ROOM: usize = 8_000;
/// The minimum useful length of a description.
const MIN_DESCRIPTION: usize = 20;

/// The room for the listing, in characters: as the operator sets it, otherwise 1 % of the context.
pub fn listing_room(context_tokens: Option<u64>, operators: Option<usize>) -> usize {
    let share =
        context_tokens.map(|tokens| usize::try_from(tokens / 100 * 4).unwrap_or(usize::MAX));
    operators.or(share).unwrap_or(DEFAULT_ROOM)
}

/// A line for each skill that the model may call. If the room is too small, descriptions are shortened, then left out,
/// before names are.
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
    let (mut low, mut high) = (0, MAX_DESCRIPTION);
    while low < high {
        let middle = (low + high).div_ceil(2);
        match fits(&full(middle)) {
            true => low = middle,
            false => high = middle - 1,
        }
    }
    let lines = full(if low < MIN_DESCRIPTION { 0 } else { low });
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
            // No part of a secret is left at the cut.
            let cut = ona_types::whole_words(description, limit - 1);
            format!("- {name}: {}…", cut.trim_end())
        }
    }
}

fn one_line(text: &str) -> String {
    // More than this is never shown.
    let start: String = text.chars().take(MAX_DESCRIPTION * 4).collect();
    start.split_whitespace().collect::<Vec<_>>().join(" ")
}
