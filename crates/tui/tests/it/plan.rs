//! The approval of a plan.

use ona_front::{AskRequest, HumanAnswer, Op};
use ona_types::gate::StageName;
use ona_types::{PermissionMode, PermissionUpdate, UpdateDestination};
use serde_json::json;

use crate::scenes::{ask, permission};
use crate::stage::{Stage, at_work_at_three_sizes};

const PLAN: &str = "\
# Fix the parser

1. Read the token before the place moves on
2. Add a test for a file that begins with a comment

## Success criteria

- The new test passes
- No other test fails
";

fn plan(text: &str, check: &str) -> AskRequest {
    AskRequest {
        checks: vec![check.to_owned(), "plan hash: 5d41402abc4b2a76b9719d911017c592".to_owned()],
        criteria: match text.contains("Success criteria") {
            true => vec![
                "SC-1 [process_output, inferred] The new test passes".to_owned(),
                "SC-2 [process_output] No other test fails".to_owned(),
            ],
            false => Vec::new(),
        },
        stage: Some(StageName::Phase),
        reason: "a plan needs your approval".to_owned(),
        ..permission("ExitPlanMode", json!({"plan": text}))
    }
}

#[test]
fn a_plan_with_success_criteria() {
    insta::assert_snapshot!(at_work_at_three_sizes(|stage| {
        stage.hears(ask(plan(PLAN, "success criteria: 2 found")));
    }));
}

#[test]
fn a_plan_can_be_approved_with_its_edits() {
    let mut stage = Stage::at_work(80, 24);
    stage.hears(ask(plan(PLAN, "success criteria: 2 found")));
    stage.take_sent();
    stage.press("e");
    let mode = PermissionUpdate::SetMode {
        mode: PermissionMode::AcceptEdits,
        destination: UpdateDestination::Session,
    };
    let answer = HumanAnswer::Allow { always: vec![mode], input: None };
    assert_eq!(stage.take_sent(), [Op::Answer { ask: 1, answer }]);
}

#[test]
fn every_step_of_a_plan_can_be_read() {
    for (columns, height) in [(40, 15), (80, 24), (160, 50)] {
        let mut stage = Stage::at_work(columns, height);
        let steps: String =
            (1..=99).map(|number| format!("{number}. do part {number}\n")).collect();
        stage.hears(ask(plan(&steps, "success criteria: 1 found")));
        let mut seen = stage.text();
        for _ in 0..120 {
            stage.press("pagedown");
            seen.push_str(&stage.text());
        }
        for number in 1..=99 {
            let step = format!("do part {number}\n");
            assert!(seen.contains(&step), "step {number} at {columns}×{height}");
        }
    }
}
