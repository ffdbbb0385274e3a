//! The secrets of settings, known before anything is stored.

use std::path::Path;

use ona_config::Config;
use ona_config::settings::{self, Loaded};
use ona_extensions::trust_request;
use ona_store::{Store, StoreError};
use ona_types::trust::TrustRecord as _;

/// Learns the secrets of the settings that apply in a directory. Those of a repository count as far as it is trusted:
/// otherwise it could choose what the record does not show.
pub fn learn_secrets(config: &Config, store: &Store, dir: &Path) -> Result<(), StoreError> {
    let roots = config.roots(dir, dir);
    let operators = store.operators_snapshot()?;
    let operators =
        operators.and_then(|snapshot| settings::operators(&snapshot, &roots, &config.given).ok());
    let layers = match operators {
        Some(Loaded { layers, .. }) => layers,
        None => {
            let Loaded { layers, .. } = settings::load(&roots, &config.given);
            // Most settings have none, and trust need not be looked up.
            if settings::secrets(&layers).next().is_none() || config.trust.is_given() {
                layers
            } else {
                let request = trust_request(&roots, &layers, !config.skills_off);
                let trusted = store.trusted(&request.name())?;
                request.judge(&layers, &roots, &trusted).layers
            }
        }
    };
    config.learned_secrets.learn(settings::secrets(&layers));
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;
    use crate::testing::World;

    #[test]
    fn an_untrusted_repository_does_not_choose_what_is_masked() {
        let world = World::new(&json!({"env": {"DEPLOY_TOKEN": "value-of-the-user"}}));
        let (config, store) = (&world.core().config, &world.core().store);
        let own = json!({"env": {"OTHER_TOKEN": "value-of-the-project"}});
        fs::create_dir_all(world.project().join(".claude")).unwrap();
        fs::write(world.project().join(".claude/settings.json"), own.to_string()).unwrap();
        let masked = || {
            learn_secrets(config, store, world.project()).unwrap();
            config.redactor().mask("value-of-the-user value-of-the-project").into_owned()
        };
        assert_eq!(masked(), "[REDACTED:live] value-of-the-project");
        let roots = config.roots(world.project(), world.project());
        let layers = settings::load(&roots, &config.given).layers;
        trust_request(&roots, &layers, true).trust(store).unwrap();
        assert_eq!(masked(), "[REDACTED:live] [REDACTED:live]");
    }
}
