//! Commands about what the model sees and what it costs.

use ona_front::{Choice, Menu, MenuItem};
use ona_store::{DayUse, Spent};
use ona_types::SessionId;

use super::{beginning, counted};
use crate::act::Act;
use crate::desk::{CommandError, Desk};
use crate::outside::Outside;

/// Characters of a token, about.
const CHARS_PER_TOKEN: u64 = 4;
/// The window of a model that does not say.
const USUAL_WINDOW: u64 = 200_000;
/// Cells of the grid.
const CELLS: u64 = 100;

/// `/context`.
pub(super) fn context<O: Outside>(desk: &Desk<O>) -> Result<Act, CommandError> {
    let model = desk.model().model;
    let window = model.context_window.map_or(USUAL_WINDOW, u64::from);
    // What the model counted, as the status line shows it; before its first answer there are only estimates.
    let counted = desk.store().context_tokens(desk.session_id())?;
    let estimates: Vec<u64> =
        desk.context_parts.iter().map(|(_, bytes)| *bytes as u64 / CHARS_PER_TOKEN).collect();
    let fixed: u64 = estimates.iter().sum();
    let total = if counted == 0 { fixed } else { counted };
    // An estimate can be too high.
    let fitted = |tokens: u64| if fixed > total { tokens * total / fixed } else { tokens };
    let names = desk.context_parts.iter().map(|(name, _)| *name);
    let mut parts: Vec<(&str, u64)> =
        names.zip(estimates.iter().map(|tokens| fitted(*tokens))).collect();
    let known: u64 = parts.iter().map(|(_, tokens)| tokens).sum();
    parts.push(("Messages", total.saturating_sub(known)));
    parts.push(("Free", window.saturating_sub(total)));
    let signs = ['■', '▣', '▤', '·'];
    let mut grid = String::new();
    for (at, (_, tokens)) in parts.iter().enumerate() {
        let cells = (tokens * CELLS).div_ceil(window.max(1));
        let left = (CELLS as usize).saturating_sub(grid.chars().count());
        let cells = usize::try_from(cells).unwrap_or(left).min(left);
        grid.extend(std::iter::repeat_n(signs[at.min(3)], cells));
    }
    let rows: Vec<String> = grid
        .chars()
        .collect::<Vec<_>>()
        .chunks(20)
        .map(|row| row.iter().map(|cell| format!("{cell} ")).collect::<String>())
        .collect();
    let about = if counted == 0 { "about " } else { "" };
    let assumed = if model.context_window.is_none() { ", assumed" } else { "" };
    let mut text = format!(
        "**Context**: {about}{} of {} tokens{assumed} ({} %), {}\n\n```text\n{}\n```\n\n",
        thousands(total),
        thousands(window),
        total * 100 / window.max(1),
        model.wire,
        rows.join("\n")
    );
    if counted == 0 {
        text.push_str(
            "The model counts with its first answer; until then these are estimates.\n\n",
        );
    }
    for (at, (name, tokens)) in parts.iter().enumerate() {
        let about = if at < 2 { "about " } else { "" };
        text.push_str(&format!(
            "- {} {name}: {about}{} tokens\n",
            signs[at.min(3)],
            thousands(*tokens)
        ));
    }
    let servers = desk.session.gate.pool().is_some_and(|pool| !pool.statuses().is_empty());
    let part = |wanted: &str| {
        parts.iter().find(|(name, _)| *name == wanted).map_or(0, |(_, tokens)| *tokens)
    };
    let filled = Filled {
        system: part("System prompt"),
        tools: part("Tools"),
        messages: part("Messages"),
        window,
    };
    for suggestion in suggestions(&filled, servers) {
        text.push_str(&format!("\n{suggestion}\n"));
    }
    Ok(Act::text(text))
}

/// What fills a context, in tokens.
struct Filled {
    system: u64,
    tools: u64,
    messages: u64,
    window: u64,
}

/// What can be done about a context, the most useful first.
fn suggestions(filled: &Filled, has_servers: bool) -> Vec<&'static str> {
    let share = |tokens: u64| tokens.saturating_mul(100) / filled.window.max(1);
    let used = share(filled.system + filled.tools + filled.messages);
    let all = [
        (
            used > 70,
            "The context is filling up: `/compact` summarises the conversation, `/clear` starts a new one.",
        ),
        (
            used <= 70 && share(filled.messages) > 40,
            "The conversation takes most of it: `/compact WORDS` keeps what you name, `/rewind` goes back to an earlier prompt.",
        ),
        (
            share(filled.tools) > 10 && has_servers,
            "Tools take more than a tenth: `/mcp` lists the servers; one that you do not need can be disabled.",
        ),
        (
            share(filled.system) > 10,
            "The system prompt takes more than a tenth: `/memory` lists the instructions that it holds.",
        ),
    ];
    let wanted: Vec<&str> = all.into_iter().filter(|(is, _)| *is).map(|(_, text)| text).collect();
    if wanted.is_empty() { vec!["There is room: nothing needs to be done."] } else { wanted }
}

/// A number with spaces between thousands.
pub(super) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// `/cost` and `/usage`.
pub(super) fn cost<O: Outside>(desk: &Desk<O>) -> Result<Act, CommandError> {
    let spent = desk.store().spent(desk.session_id())?;
    let before = before_copy(desk)?;
    if spent.is_empty() {
        let none = "no model calls in this session yet: cost $0.0000";
        return Ok(Act::plain(format!(
            "{none}{}",
            before.map(|b| format!("\n{b}")).unwrap_or_default()
        )));
    }
    let mut text = "| Model | Calls | Input | Cached | Output | Time | Cost |\n|---|--:|--:|--:|--:|--:|--:|\n".to_owned();
    for Spent { model, calls, duration_ms, used, cost_usd } in &spent {
        let cached = used.cache_read_input_tokens + used.cache_creation_input_tokens;
        text.push_str(&format!(
            "| {model} | {calls} | {} | {} | {} | {:.1} s | ${cost_usd:.4} |\n",
            thousands(used.input_tokens),
            thousands(cached),
            thousands(used.output_tokens),
            *duration_ms as f64 / 1e3,
        ));
    }
    let total: f64 = spent.iter().map(|one| one.cost_usd).fold(0.0, |sum, cost| sum + cost);
    text.push_str(&format!(
        "\nTotal cost: **${total:.4}** at list prices. Only the provider knows the limits of a plan.\n"
    ));
    if let Some(before) = before {
        text.push_str(&format!("\n{before}\n"));
    }
    Ok(Act::text(text))
}

/// What the sessions have cost that this one is a copy of.
fn before_copy<O: Outside>(desk: &Desk<O>) -> Result<Option<String>, CommandError> {
    let (mut cost, mut first) = (0.0, None);
    let mut next = desk.store().session(desk.session_id())?.and_then(|row| row.forked_from);
    while let Some(id) = next {
        let id = SessionId::from_existing(&id);
        cost += desk.store().spent(&id)?.iter().map(|one| one.cost_usd).sum::<f64>();
        first.get_or_insert_with(|| id.to_string());
        next = desk.store().session(&id)?.and_then(|row| row.forked_from);
    }
    Ok(first.map(|id| format!("it is a copy of session {id}; before that: ${cost:.4}")))
}

/// `/stats`.
pub(super) fn stats<O: Outside>(desk: &Desk<O>, range: &str) -> Result<Act, CommandError> {
    let days: Option<i64> = match range {
        "" | "30d" => Some(30),
        "7d" => Some(7),
        "all" => None,
        other => return Ok(Act::error(format!("unknown range `{other}`: 7d, 30d or all"))),
    };
    let today = ona_engine::memory::now() / 86_400;
    let since =
        days.map_or_else(|| "0000-01-01".to_owned(), |days| ona_types::date(today - days + 1));
    let rows = desk.store().use_by_day(None, &since)?;
    if rows.is_empty() {
        return Ok(Act::plain("no model calls in this period"));
    }
    let mut by_day: Vec<(String, i64, i64, f64)> = Vec::new();
    for row in &rows {
        match by_day.last_mut() {
            Some((day, calls, tokens, cost)) if *day == row.day => {
                (*calls, *tokens, *cost) =
                    (*calls + row.calls, *tokens + row.tokens, *cost + row.cost_usd);
            }
            _ => by_day.push((row.day.clone(), row.calls, row.tokens, row.cost_usd)),
        }
    }
    let most = by_day.iter().map(|(_, _, tokens, _)| *tokens).max().unwrap_or(1).max(1);
    let mut text =
        format!("**Use by day** ({})\n\n```text\n", if range.is_empty() { "30d" } else { range });
    for (day, calls, tokens, cost) in by_day.iter().take(31) {
        let bar = "█".repeat(usize::try_from(tokens * 20 / most).unwrap_or_default().max(1));
        let tokens = thousands(u64::try_from(*tokens).unwrap_or_default());
        let word = if *calls == 1 { "call " } else { "calls" };
        text.push_str(&format!(
            "{day} {bar:<20} {calls:>5} {word} {tokens:>12} tokens ${cost:.4}\n"
        ));
    }
    text.push_str(&format!("```\n\n{}\n", summary(&rows, &by_day, today)));
    let item = |label: &str, range: &str| MenuItem {
        label: label.to_owned(),
        choice: Choice::Command { line: format!("/stats {range}") },
        ..MenuItem::default()
    };
    Ok(Act::menu(Menu {
        title: "Statistics".to_owned(),
        text,
        items: vec![
            MenuItem { label: "Close".to_owned(), ..MenuItem::default() },
            item("Last 7 days", "7d"),
            item("Last 30 days", "30d"),
            item("All", "all"),
        ],
        keys: vec![ona_front::MenuKey {
            key: 'r',
            label: "other range".to_owned(),
            choice: Choice::Command {
                line: format!(
                    "/stats {}",
                    match range {
                        "7d" => "30d",
                        "" | "30d" => "all",
                        _ => "7d",
                    }
                ),
            },
        }],
        ..Menu::default()
    }))
}

fn summary(rows: &[DayUse], by_day: &[(String, i64, i64, f64)], today: i64) -> String {
    let mut models: Vec<(&str, i64)> = Vec::new();
    for row in rows {
        match models.iter_mut().find(|(model, _)| *model == row.model) {
            Some((_, calls)) => *calls += row.calls,
            None => models.push((&row.model, row.calls)),
        }
    }
    models.sort_by_key(|(_, calls)| -calls);
    let favourite = models.first().map_or("none", |(model, _)| *model);
    let total: f64 = by_day.iter().map(|(.., cost)| cost).fold(0.0, |sum, cost| sum + cost);
    let sessions: i64 = rows.iter().map(|row| row.sessions).sum();
    format!(
        "{} with ona, {} in total, ${total:.4}; most used model: {favourite}; longest streak of days: {}",
        counted(by_day.len(), "day"),
        counted(usize::try_from(sessions).unwrap_or_default(), "session"),
        longest_run(by_day, today)
    )
}

/// The longest run of consecutive days up to today.
fn longest_run(by_day: &[(String, i64, i64, f64)], today: i64) -> usize {
    /// Ten years.
    const BACK: i64 = 3_653;
    let (mut longest, mut run) = (0, 0);
    for day in today - BACK..=today {
        let date = ona_types::date(day);
        run = if by_day.iter().any(|(used, ..)| *used == date) { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

/// `/insights`.
pub(super) fn insights<O: Outside>(desk: &Desk<O>) -> Result<Act, CommandError> {
    let sessions = desk.store().sessions(Some(desk.project_dir()), Some(200))?;
    let own: Vec<_> = sessions.iter().filter(|row| row.turns > 0).collect();
    let prompts: i64 = own.iter().map(|row| row.turns).sum();
    let cost: f64 = own.iter().map(|row| row.cost_usd).fold(0.0, |sum, cost| sum + cost);
    let denials = desk.store().denials(desk.session_id(), 1_000)?;
    let mut text = format!(
        "**Sessions of this directory**: {}, {}, ${cost:.4} at list prices.\n\n",
        counted(own.len(), "session"),
        counted(usize::try_from(prompts).unwrap_or_default(), "prompt"),
    );
    let mut longest: Vec<_> = own.clone();
    longest.sort_by_key(|row| -row.turns);
    for row in longest.iter().take(5) {
        let what = row.name.clone().or_else(|| row.first_prompt.clone()).unwrap_or_default();
        text.push_str(&format!(
            "- {}, ${:.4}: {}\n",
            counted(usize::try_from(row.turns).unwrap_or_default(), "prompt"),
            row.cost_usd,
            beginning(&what, 60)
        ));
    }
    let mut stages: Vec<(String, usize)> = Vec::new();
    for denial in &denials {
        match stages.iter_mut().find(|(stage, _)| *stage == denial.stage) {
            Some((_, number)) => *number += 1,
            None => stages.push((denial.stage.clone(), 1)),
        }
    }
    if !stages.is_empty() {
        text.push_str("\nRefused calls of this session, by stage:\n\n");
        for (stage, number) in stages {
            text.push_str(&format!("- {stage}: {number}\n"));
        }
    }
    Ok(Act::text(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(thousands(0), "0");
        assert_eq!(thousands(1_234_567), "1 234 567");
    }

    #[test]
    fn what_fills_the_context_is_what_is_suggested_about() {
        let told = |system, tools, messages, has_servers| {
            let filled = Filled { system, tools, messages, window: 100 };
            suggestions(&filled, has_servers).join(" ")
        };
        assert!(told(1, 1, 1, true).starts_with("There is room"));
        assert!(told(1, 1, 50, false).contains("/compact WORDS"));
        let full = told(20, 20, 40, true);
        assert!(full.starts_with("The context is filling up"), "{full}");
        assert!(full.contains("/mcp") && full.contains("/memory"), "{full}");
        assert!(!told(1, 20, 1, false).contains("/mcp"));
    }

    #[test]
    fn a_run_ends_where_a_day_is_missing() {
        let day = |day: &str| (day.to_owned(), 0, 0, 0.0);
        let days = ["2026-03-02", "2026-03-01", "2026-02-28", "2026-02-25"].map(day);
        // 20 772 is 2026-11-15.
        assert_eq!(longest_run(&days, 20_772), 3);
        assert_eq!(longest_run(&[], 20_772), 0);
    }
}
