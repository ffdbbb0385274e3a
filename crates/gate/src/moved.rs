//! A permit is for the place that was judged: targets are resolved again right before the call runs.

use std::path::Path;

use ona_effects::Effects;
use ona_effects::path::Target;
use ona_types::gate::{Answer, StageName, Verdict};

use super::judgement::Judgement;

impl Judgement<'_> {
    /// A refusal if the call would touch something else by now: somebody may have put a link in the place of a file while
    /// a hook ran or the human was asked.
    pub(super) fn moved(&self) -> Option<Answer> {
        let why = match self.prepare() {
            Ok(now) if now == self.effects => return None,
            Ok(now) => difference(&self.effects, &now),
            Err(error) => error.to_string(),
        };
        let reason = format!("not run, because it is not what was judged: {why}; call it again");
        Some(Answer::new(StageName::Rules, Verdict::Deny, reason))
    }
}

/// What has changed, in words.
fn difference(judged: &Effects, now: &Effects) -> String {
    let elsewhere = targets(judged).find_map(|was| {
        let is = targets(now).find(|is| is.named == was.named && is.real != was.real)?;
        Some((was, is))
    });
    let shown = Path::display;
    match elsewhere {
        Some((was, is)) => {
            let (named, now, then) = (shown(&was.named), shown(&is.real), shown(&was.real));
            format!("{named} now leads to {now}, not to {then}")
        }
        None => "what the call would touch has changed meanwhile".to_owned(),
    }
}

pub(super) fn targets(effects: &Effects) -> impl Iterator<Item = &Target> {
    let lists =
        [&effects.writes, &effects.reads, &effects.redirected, &effects.fed, &effects.named];
    let trees = effects.trees.iter().map(|tree| &tree.root);
    let given = effects.given.iter().map(|given| &given.target);
    let tracked = effects.tracked.iter().flat_map(|tracked| &tracked.below);
    lists.into_iter().flatten().chain(&effects.start).chain(trees).chain(given).chain(tracked)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use ona_types::gate::StageName;
    use serde_json::json;
    use tokio_util::sync::CancellationToken;

    use crate::testing::World;

    /// A hook swaps a directory for a link while the call is judged.
    #[tokio::test]
    async fn a_target_that_leads_elsewhere_when_it_runs_is_refused() {
        let elsewhere = tempfile::tempdir().unwrap();
        let swap = format!("rm -rf sub && ln -s {} sub", elsewhere.path().display());
        let hook = json!([{"matcher": "", "hooks": [{"type": "command", "command": swap}]}]);
        for (tool, input) in [
            ("Write", json!({"file_path": "sub/x", "content": "x"})),
            ("Bash", json!({"command": "sub/program"})),
            ("Bash", json!({"command": "echo x > sub/x"})),
        ] {
            let world = World::new(&json!({
                "permissions": {"defaultMode": "bypassPermissions"}, "hooks": {"PreToolUse": hook},
            }));
            fs::create_dir(world.project().join("sub")).unwrap();
            let mut gate = world.gate();
            let report = gate.call(tool, &input, &CancellationToken::new()).await.unwrap();
            assert_eq!(report.denied_by, Some(StageName::Rules), "{tool}: {}", report.content);
            assert!(report.content.contains("not what was judged"), "{}", report.content);
            assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0, "{tool}");
        }
    }

    #[tokio::test]
    async fn a_link_that_stays_as_it_was_judged_is_followed() {
        let world = World::new(&json!({"permissions": {"defaultMode": "bypassPermissions"}}));
        fs::create_dir(world.project().join("real")).unwrap();
        symlink("real", world.project().join("link")).unwrap();
        let input = json!({"file_path": "link/x", "content": "x"});
        let report = world.gate().call("Write", &input, &CancellationToken::new()).await.unwrap();
        assert!(!report.is_error, "{}", report.content);
        assert!(world.project().join("real/x").exists());
    }
}
