//! Commands about the phases of the conversation: phase, plan, tests, report.

use ona_files::{ReplaceOptions, replace};
use ona_front::{Event, Reply};
use ona_phases::machine::Work;
use ona_phases::plans;
use ona_phases::report::Report;
use ona_store::PlanRow;
use ona_tools::names;
use ona_types::{PermissionMode, Phase};
use serde_json::json;

use super::confirm::{YES, confirm, confirmed};
use super::first_word;
use crate::act::Act;
use crate::desk::{CommandError, Desk};
use crate::outside::Outside;
use crate::testing::Testing;

/// The ways out of planning (S0 §8.2).
pub(crate) const OUT_OF_PLANNING: &str = "planning ends when you approve a plan: ask the agent for one; /clear starts a new \
                                          conversation outside planning";

/// `/phase`.
pub(super) async fn phase<O: Outside>(
    desk: &Desk<O>,
    arguments: &str,
) -> Result<Act, CommandError> {
    let conversation = desk.session.seat().conversation.to_string();
    let mut words = vec!["phase"];
    words.extend(Some(arguments).filter(|arguments| !arguments.is_empty()));
    words.extend(["--conversation", &conversation]);
    let done = desk.printed(&words).await;
    let text = done.text.trim_end();
    let standing = desk.session.gate.record.standing()?;
    Ok(match (done.ok, standing.phase) {
        (true, _) if arguments.is_empty() => Act::plain(text),
        (true, Phase::Test) => Act::plain(
            "the phase is test now; /test generate has tests written, /test run runs them",
        ),
        (true, Phase::Verify) => Act::plain(
            "the phase is verify now; /report shows what was tested, /report approve ends the work",
        ),
        (true, phase) => Act::plain(format!("the phase is {phase} now")),
        (false, Phase::Planning) => Act::error(format!("{text}\n{OUT_OF_PLANNING}")),
        (false, _) => Act::error(text),
    })
}

/// `/plan`.
pub(super) async fn plan<O: Outside>(desk: &Desk<O>, arguments: &str) -> Result<Act, CommandError> {
    let conversation = desk.session.seat().conversation.to_string();
    let (word, rest) = first_word(arguments);
    match word {
        "edit" if rest.split_whitespace().all(is_argument) && !rest.contains('-') => {
            return edit_plan(desk, rest);
        }
        "edited" => {
            let (id, file) = first_word(rest);
            let done = desk
                .print(&["plan", "edit", id, "--file", file, "--conversation", &conversation])
                .await;
            let _ = std::fs::remove_file(file);
            return Ok(done);
        }
        "list" | "show" | "diff" | "edit" | "reject" | "supersede"
            if rest.split_whitespace().all(is_argument) =>
        {
            return Ok(desk
                .print_typed(&["plan", "--conversation", &conversation, word], rest)
                .await);
        }
        "approve" if rest.split_whitespace().all(is_argument) => {
            return approve_plan(desk, rest).await;
        }
        YES => {
            let (_, rest) = confirmed(arguments);
            let words: Vec<&str> = rest.split_whitespace().collect();
            let [id, hash] = words[..] else { return Ok(Act::error("which plan? /plan approve")) };
            return Ok(desk.print(&["plan", "approve", id, "--hash", hash]).await);
        }
        _ => {}
    }
    let (is_new, task) = match confirmed(rest) {
        (true, task) if word == NEW => (true, task),
        _ => (false, arguments),
    };
    let then = Some(task.to_owned()).filter(|task| !task.is_empty());
    let plans = desk.store().conversation_plans(&desk.session.seat().conversation)?;
    let standing = desk.session.gate.record.standing()?;
    let enter = |then, said: &str| {
        let said = said.to_owned();
        Ok(Act::Call { tool: names::ENTER_PLAN_MODE, input: json!({}), then, said })
    };
    match (standing.phase, then) {
        // The mode was changed meanwhile.
        (Phase::Planning, then)
            if desk.session.mode() != PermissionMode::Plan
                && (then.is_some() || plans.is_empty()) =>
        {
            enter(then, "plan mode is on again; the conversation is in planning")
        }
        (Phase::Planning, Some(task)) => Ok(Act::Prompt(task)),
        (Phase::Planning, None) if plans.is_empty() => {
            Ok(Act::plain("the conversation is in planning; there is no plan yet"))
        }
        (Phase::Planning, None) => shown(desk, &plans),
        (_, None) if standing.approved_plan => shown(desk, &plans),
        (_, Some(task)) if standing.approved_plan && !is_new => Ok(confirm(
            "Begin a new round of planning? The approved plan is withdrawn.",
            format!("> {task}"),
            format!("/plan {NEW} {YES} {task}"),
        )),
        (_, then) => enter(
            then,
            "the conversation is in planning: nothing is changed until you approve a plan; say what to plan",
        ),
    }
}

/// A new round, after a question.
const NEW: &str = "new";

/// Opens a copy of a plan in the editor. What it is then becomes a new version.
fn edit_plan<O: Outside>(desk: &Desk<O>, id: &str) -> Result<Act, CommandError> {
    let plans = desk.store().conversation_plans(&desk.session.seat().conversation)?;
    let plan = match id.parse::<i64>() {
        Ok(id) => plans.iter().find(|plan| plan.id == id),
        Err(_) => plans.iter().rev().find(|plan| plan.status == "draft").or(plans.last()),
    };
    let Some(plan) = plan else {
        return Ok(Act::error("no such plan in this conversation; /plan list lists the plans"));
    };
    // Where the session's own tools do not look.
    let dir = desk.session.gate.record.core.host.pre_images_of(desk.session_id());
    let file = dir.join(format!("plan-{}.md", plan.id));
    replace(&file, plan.content.as_bytes(), &ReplaceOptions::default())
        .map_err(|error| CommandError::Said(format!("{}: {error}", file.display())))?;
    let file = file.display().to_string();
    let event =
        Event::Edit { file: file.clone(), then: format!("/plan edited {} {file}", plan.id) };
    let text = format!("plan {} in your editor", plan.id);
    Ok(Act::Tell(Box::new(event), Reply::Plain { text }))
}

/// What may stand behind a word of `/plan`: anything else is a task that begins with the word.
fn is_argument(word: &str) -> bool {
    word.starts_with('-') || word.bytes().all(|byte| byte.is_ascii_digit())
}

/// The plan that counts: the newest draft, else the approved one, else the newest.
fn shown<O: Outside>(desk: &Desk<O>, plans: &[PlanRow]) -> Result<Act, CommandError> {
    let with = |status: &str| plans.iter().rev().find(|plan| plan.status == status);
    let Some(plan) = with("draft").or_else(|| with("approved")).or(plans.last()) else {
        return Ok(Act::plain("there is no plan yet"));
    };
    let next = match plan.status.as_str() {
        "draft" => "\n\n/plan approve approves it, /plan edit changes it",
        _ => "",
    };
    Ok(Act::text(format!(
        "Plan {} ({}):\n\n{}\n\n{}{next}",
        plan.id,
        plan.status,
        plan.content,
        checked(desk, plan)?
    )))
}

/// What a check says of a plan, and its hash, in Markdown.
fn checked<O: Outside>(desk: &Desk<O>, plan: &PlanRow) -> Result<String, CommandError> {
    let checked = plans::check(desk.store(), plan)?;
    let mut text = format!("{}\n\n", checked.summary());
    for one in &checked.criteria {
        let guessed = if one.inferred { ", inferred" } else { "" };
        text.push_str(&format!("- {} [{}{guessed}] {}\n", one.id, one.surface, one.text));
    }
    text.push_str(&format!("\nhash: {}", plan.hash));
    Ok(text)
}

/// Asks before a plan is approved: the hash that is approved stands in the question.
async fn approve_plan<O: Outside>(desk: &Desk<O>, id: &str) -> Result<Act, CommandError> {
    let plans = desk.store().conversation_plans(&desk.session.seat().conversation)?;
    let plan = match id.parse::<i64>() {
        Ok(id) => plans.iter().find(|plan| plan.id == id),
        Err(_) => plans.iter().rev().find(|plan| plan.status == "draft"),
    };
    let Some(plan) = plan else {
        return Ok(Act::error("no draft of a plan; /plan list lists the plans"));
    };
    // A plan that cannot be approved is not asked about.
    let faults = plans::check(desk.store(), plan)?.faults;
    if !faults.is_empty() {
        return Ok(desk
            .print(&["plan", "approve", &plan.id.to_string(), "--hash", &plan.hash])
            .await);
    }
    Ok(confirm(
        format!("Approve plan {}?", plan.id),
        checked(desk, plan)?,
        format!("/plan {YES} {} {}", plan.id, plan.hash),
    ))
}

/// `/test`.
pub(super) async fn test<O: Outside>(desk: &Desk<O>, arguments: &str) -> Result<Act, CommandError> {
    let conversation = desk.session.seat().conversation.to_string();
    let (word, rest) = first_word(arguments);
    Ok(match word {
        "" => desk.print(&["test", "list", "--conversation", &conversation]).await,
        "generate" if rest.is_empty() => Act::Tests(Testing::Generate),
        "run" => match rest.split_whitespace().map(str::parse).collect::<Result<Vec<i64>, _>>() {
            Ok(ids) => Act::Tests(Testing::Run(ids)),
            Err(_) => Act::error("which tests? /test run runs all, /test run 4 5 these"),
        },
        "list" | "show" | "lint" | "add" | "remove" => {
            desk.print_typed(&["test", "--conversation", &conversation, word], rest).await
        }
        _ => Act::error("/test generate, run, list, show ID, lint FILE, add FILE or remove ID"),
    })
}

/// `/report`.
pub(super) async fn report<O: Outside>(
    desk: &Desk<O>,
    arguments: &str,
) -> Result<Act, CommandError> {
    let seat = desk.session.seat();
    let conversation = seat.conversation.to_string();
    let (is_confirmed, rest) = confirmed(arguments);
    if is_confirmed {
        let words = ["report", "approve", "--hash", rest.trim(), "--conversation", &conversation];
        return Ok(desk.print(&words).await);
    }
    let (word, rest) = first_word(arguments);
    match (word, rest) {
        ("approve", "") => {}
        ("html" | "json" | "text", file) if !file.is_empty() => {
            let words = ["report", "--conversation", &conversation, "--format", word, "--output"];
            return Ok(desk.print_typed(&words, file).await);
        }
        ("", _) => return Ok(desk.print(&["report", "--conversation", &conversation]).await),
        _ => return Ok(Act::error("/report, /report approve, or /report html FILE")),
    }
    let work = Work {
        store: desk.store(),
        conversation: seat.conversation.clone(),
        project: seat.project_dir.clone().into(),
    };
    let state = work.state()?;
    let report = state
        .approved()
        .ok()
        .map(|(plan, approved)| Report::of(plan, &approved.criteria, &state.facts, &state.tree));
    match report {
        Some(report) if report.uncovered.is_empty() && state.standing.phase == Phase::Verify => {
            let hash = report.hash();
            Ok(confirm(
                format!("Approve the report on plan {}? The work is done then.", report.plan.id),
                format!("{}\n\nhash: {hash}\n\n/report shows all of it", report.summary()),
                format!("/report {YES} {hash}"),
            ))
        }
        // The command says what is missing.
        _ => {
            let hash = report.map(|report| report.hash().to_string()).unwrap_or_default();
            let words = ["report", "approve", "--hash", &hash, "--conversation", &conversation];
            Ok(desk.print(&words).await)
        }
    }
}
