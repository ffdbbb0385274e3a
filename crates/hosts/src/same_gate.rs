//! The stages that judge every call give a call of another agent the same answers as a call of ona's own.

use std::fs;

use ona_gate::foreign::ForeignCall;
use ona_gate::testing::World;
use ona_types::ToolUseId;
use ona_types::gate::StageName;
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::tools::HostTool;

/// The stages that judge every call.
const SHARED: [StageName; 3] = [StageName::Phase, StageName::Intent, StageName::Rules];

const RULES: [&str; 8] = [
    "Bash",
    "Bash(echo *)",
    "Read",
    "Edit",
    "Edit(/src/**)",
    "Read(/secret.txt)",
    "Bash(touch *)",
    "WebFetch",
];

/// Calls that look the same for both.
fn calls() -> Vec<(&'static str, Value)> {
    vec![
        ("Bash", json!({"command": "echo a > src/b"})),
        ("Bash", json!({"command": "touch lib/c"})),
        ("Bash", json!({"command": "ls"})),
        ("Read", json!({"file_path": "secret.txt"})),
        ("Write", json!({"file_path": "src/new.txt", "content": "x"})),
        ("Write", json!({"file_path": "lib/new.txt", "content": "x"})),
        ("Edit", json!({"file_path": "src/b", "old_string": "a", "new_string": "b"})),
        ("TodoWrite", json!({"todos": []})),
    ]
}

fn list() -> impl Strategy<Value = Vec<&'static str>> {
    prop::sample::subsequence(RULES.to_vec(), 0..3)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn what_the_shared_stages_say_is_the_same(
        (allow, ask, deny) in (list(), list(), list()),
        mode in prop::sample::select(vec!["default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"]),
        with_intents in any::<bool>(),
    ) {
        let world = World::new(&json!({"permissions":
            {"allow": allow, "ask": ask, "deny": deny, "defaultMode": mode}}));
        fs::write(world.project().join("secret.txt"), "s").unwrap();
        if with_intents {
            let intents = "- {id: INT-1, status: IN_PROGRESS, owned_scope: ['src/**']}\n";
            fs::create_dir(world.project().join(".orchestration")).unwrap();
            fs::write(world.project().join(ona_intents::file::INTENTS_FILE), intents).unwrap();
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        for (tool, input) in calls() {
            let id = ToolUseId::generate();
            let foreign = ForeignCall {
                id: &id, tool: &HostTool::named(tool), input: input.clone(), rules: true,
                host_asks: true,
            };
            let theirs = runtime.block_on(world.gate().judge_foreign(foreign)).unwrap();
            let cancel = CancellationToken::new();
            let mut gate = world.gate();
            let own = runtime.block_on(gate.call(tool, &input, &cancel)).unwrap();
            let own = gate.store().story(own.tool_use_id.as_str()).unwrap().unwrap();
            for stage in SHARED {
                let theirs = theirs.answers.iter().find(|answer| answer.stage == stage);
                let own = own.answers.iter().find(|row| row.stage == stage.as_str());
                let theirs = theirs.map(|answer| (answer.verdict.as_str(), answer.reason.as_str()));
                let own = own.map(|row| (row.verdict.as_str(), row.reason.as_str()));
                prop_assert_eq!(theirs, own, "{} {} {:?}", tool, input, stage);
            }
        }
    }
}
