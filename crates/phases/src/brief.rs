//! What the author of the tests is given, and nothing else (S0 §8.5.1): the plan, its criteria, the public contracts, and how
//! a test is written. [`Brief::text`] is the one place where it is put together.

use crate::contracts::{Contract, Kind};
use crate::criteria::Criterion;
use crate::surface::Surface;

/// What the author is.
pub const SYSTEM: &str = "\
You write behavioural tests for software that you have never seen. You know its plan, its success criteria and its public \
interface, and nothing of how it is built. Test what the criteria promise, through the public interface alone, and look only \
at what can be seen from outside. Answer with JSON alone.";

/// How a test is written, for every project.
const RULES: &str = r#"## How to write a test

Answer with one JSON object, bare or in a fenced block:

{"tests": [{"criterion": "SC-1", "surface": "process_output", "name": "a short name", "script": "the script"}]}

Write at least one test for each criterion. Each test is a bash script that passes if it exits with 0, and needs no other test:

# CRITERION: SC-1
# SURFACE: process_output
# SETUP
printf 'milk\n' > list.txt
# EXERCISE
OUT=$("$PROJECT/todo" show list.txt 2>&1)
CODE=$?
# ASSERT
grep -q '^1. milk$' <<< "$OUT" || exit 1
[ "$CODE" -eq 0 ] || exit 1

- The first two lines name the criterion and the surface: the one that the criterion has in the list above.
- The parts SETUP, EXERCISE and ASSERT come in this order. EXERCISE runs the product through its public interface. ASSERT looks at
  the surface and ends the script with another exit code than 0 if it is not what the criterion says. An exit code alone shows
  nothing; assert what was printed, written or recorded.
- The project is in the directory "$PROJECT", which can only be read. The script starts in an empty directory of its own, which can be written, as
  can $HOME and $TMPDIR. There is no network but this machine's own loopback. Files are gone after the test.
- "$AGENT_SDLC_DB" is an empty database of its own, for products that use ona's record.
- Never import, source, read or change the product's own source files, and use none of its tests or test frameworks. Never replace
  a program or function by another one: no mocks, no changed PATH, no variables that load code.
- Every run must give the same result: no dates of today, no random values, no sleeps longer than a second.
"#;

/// The contracts of ona itself, for criteria about tools and hooks.
const OWN: &str = r#"## The interface of ona

- `ona --eval '{"tool": NAME, "input": {…}}'` runs one tool and prints {"tool_use_id", "content", "is_error", …}.
- `ona --transition PHASE --conversation ID` changes the phase of a conversation: idle, planning, implement, test, verify, done.
- Tools: Read, Write, Edit, NotebookEdit, Bash, Glob, Grep, WebFetch, WebSearch, AskUserQuestion, TodoWrite, TaskOutput, Agent, Skill,
  EnterPlanMode, ExitPlanMode, ListMcpResources, ReadMcpResource, ToolSearch, Brief, TaskStop. A result is {content, is_error}.
- The record is the SQLite file "$AGENT_SDLC_DB": conversations(id, project_dir, phase), sessions(session_id, conversation_id),
  plans(id, conversation_id, content, hash, status), transcript_entries(session_id, sequence, entry_type, payload_json,
  tool_use_id), hook_invocations(hook_event, matcher, command, tool_name, exit_code, skipped_reason), tool_permission_log(tool_name,
  decision, reason_json), settings_snapshot(scope, json, updated_at), events(event_type, detail).
"#;

/// What every author is told, whatever the project.
pub fn fixed_text() -> String {
    [SYSTEM, RULES, OWN].join("\n")
}

/// What the author is given.
#[derive(Clone, Copy, Debug)]
pub struct Brief<'a> {
    /// The text of the approved plan.
    pub plan: &'a str,
    /// Its criteria.
    pub criteria: &'a [Criterion],
    /// The public contracts, as they were when the plan was approved.
    pub contracts: &'a [Contract],
}

impl Brief<'_> {
    /// The whole input. It depends on nothing else, so what is not in a brief cannot be in it.
    pub fn text(&self) -> String {
        let mut text =
            format!("# The plan\n\n{}\n\n# Its success criteria\n\n", self.plan.trim_end());
        for Criterion { id, text: what, surface, .. } in self.criteria {
            text.push_str(&format!("- {id} [surface: {surface}] {what}\n"));
        }
        if !self.contracts.is_empty() {
            text.push_str("\n# Public contracts, as they were before the work began\n");
        }
        for Contract { name, kind, text: content } in self.contracts {
            let title = match kind {
                Kind::Help => format!("What `{name}` prints"),
                kind => format!("The {kind} {name}"),
            };
            match content {
                Ok(content) => {
                    // A fence that the content cannot close.
                    let fence = "`".repeat(longest_run_of_ticks(content).max(2) + 1);
                    text.push_str(&format!(
                        "\n## {title}\n\n{fence}\n{}\n{fence}\n",
                        content.trim_end()
                    ));
                }
                Err(why) => text.push_str(&format!("\n## {title}\n\nNot available: {why}.\n")),
            }
        }
        let about_ona = |surface| matches!(surface, Surface::ToolResult | Surface::HookRecord);
        if self.criteria.iter().any(|one| about_ona(one.surface)) {
            text.push_str(&format!("\n{OWN}"));
        }
        format!("{text}\n{RULES}")
    }
}

fn longest_run_of_ticks(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_the_plan_the_criteria_and_the_contracts() {
        let criterion = |id: &str, surface| Criterion {
            id: id.into(),
            text: "it prints the sum".into(),
            surface,
            inferred: false,
        };
        let contracts = [
            Contract {
                name: "docs/use.md".into(),
                kind: Kind::Page,
                text: Ok("Use ```it```".into()),
            },
            Contract {
                name: "./sum --help".into(),
                kind: Kind::Help,
                text: Err(crate::contracts::Absent::Missing),
            },
        ];
        let criteria = [criterion("SC-1", Surface::ProcessOutput)];
        let brief = Brief { plan: "# Plan\nAdd up.", criteria: &criteria, contracts: &contracts };
        let text = brief.text();
        for part in [
            "# Plan\nAdd up.",
            "- SC-1 [surface: process_output] it prints the sum",
            "````\nUse ```it```\n````",
            "## What `./sum --help` prints\n\nNot available: it did not exist",
            "# ASSERT",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        assert!(!text.contains("The interface of ona"));
        let criteria = [criterion("SC-1", Surface::HookRecord)];
        assert!(Brief { criteria: &criteria, ..brief }.text().contains("hook_invocations"));
    }
}
