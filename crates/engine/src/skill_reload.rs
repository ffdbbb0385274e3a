//! Skills and commands that change during a session: reloaded between turns, never within one.

use std::path::Path;

use ona_store::{Step, StoreError};
use ona_types::hook::{ConfigSource, HookDetail};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;

impl Agent {
    /// Reloads skills that changed since the last turn, unless a ConfigChange hook refuses. Parts of them that are not
    /// trusted do not take effect.
    pub(crate) async fn reload_skills(
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
            self.commit(&Step { hooks: &fired.rows, event, ..Step::default() })?;
        }
        if let Some(why) = refused {
            self.warn(format!("skills have changed; the change was refused: {why}"));
            return Ok(());
        }
        let before = self.skill_listing();
        let new = self.session.read_extensions()?;
        let warnings = {
            let mut now = self.session.side.extensions();
            let new = new.after(&now);
            let mut warnings: Vec<String> = new.warnings.iter().map(ToString::to_string).collect();
            warnings.retain(|warning| now.warnings.iter().all(|old| old.to_string() != *warning));
            let known = |path: &Path| now.skills.iter().find(|skill| skill.path == path);
            for skill in new.skills.iter().filter(|skill| !skill.held_back.is_empty()) {
                if known(&skill.path).is_none_or(|old| old.held_back != skill.held_back) {
                    warnings.push(format!(
                        "{} has changed; held back until `ona trust`: {}",
                        skill.path.display(),
                        skill.held_back.join(", ")
                    ));
                }
            }
            *now = new;
            warnings
        };
        for warning in warnings {
            self.warn(warning);
        }
        if self.skill_listing() != before {
            let entries: Vec<_> = self.skill_listing_entry().into_iter().collect();
            self.commit(&Step { entries: &entries, ..Step::default() })?;
        }
        Ok(())
    }
}
