//! Skills and commands that change while a session goes on: read anew between turns, never in one.

use std::path::Path;

use ona_store::{Step, StoreError};
use ona_types::hook::{ConfigSource, HookDetail};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;

impl Agent {
    /// Skills that have changed since the last turn are read again, unless a ConfigChange hook says no. What nobody has
    /// agreed to in them does not act.
    pub(crate) async fn heed_skills(
        &mut self,
        cancel: &CancellationToken,
    ) -> Result<(), StoreError> {
        let changes = self.session.side.extensions().changes();
        if self.session.side.identity.is_some() || changes.is_empty() {
            return Ok(());
        }
        let mut refused = None;
        for (file, _) in &changes {
            let file_path = Some(file.display().to_string());
            let detail = HookDetail::ConfigChange { source: ConfigSource::Skills, file_path };
            let fired = self.fire(detail, cancel).await;
            if fired.denies() {
                refused = Some(fired.denial());
            }
            let detail = json!({"source": "skills", "file": file, "refused": fired.denies()});
            let event = Some(("settings.changed", &detail));
            self.keep(&Step { hooks: &fired.rows, event, ..Step::default() })?;
        }
        if let Some(why) = refused {
            self.warn(format!("skills have changed and stay as they were: {why}"));
            return Ok(());
        }
        let before = self.skill_listing();
        let new = self.session.read_extensions()?;
        let said = {
            let mut now = self.session.side.extensions();
            let new = new.after(&now);
            let mut said: Vec<String> = new.warnings.iter().map(ToString::to_string).collect();
            said.retain(|warning| now.warnings.iter().all(|old| old.to_string() != *warning));
            let known = |path: &Path| now.skills.iter().find(|skill| skill.path == path);
            for skill in new.skills.iter().filter(|skill| !skill.held_back.is_empty()) {
                if known(&skill.path).is_none_or(|old| old.held_back != skill.held_back) {
                    said.push(format!(
                        "{} has changed; held back until `ona trust`: {}",
                        skill.path.display(),
                        skill.held_back.join(", ")
                    ));
                }
            }
            *now = new;
            said
        };
        for warning in said {
            self.warn(warning);
        }
        if self.skill_listing() != before {
            let told: Vec<_> = self.skills_told().into_iter().collect();
            self.keep(&Step { entries: &told, ..Step::default() })?;
        }
        Ok(())
    }
}
