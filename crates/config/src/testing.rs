//! A configuration for tests: nothing but what the test gives.

use std::path::Path;

use ona_hooks::Timeouts;
use serde_json::Value;

use crate::Config;
use crate::servers::GivenServers;
use crate::settings::Given;

/// The configuration of a process whose user lives in `home`, with settings given on the command line.
pub fn config(home: &Path, settings: &Value) -> Config {
    Config {
        claude_dir: home.join(".claude"),
        ona_config: home.join(".config/ona"),
        home: home.to_owned(),
        managed_dirs: Vec::new(),
        given: Given { settings: vec![settings.to_string()], sources: None },
        servers: GivenServers::default(),
        started_by: None,
        plugin_dirs: Vec::new(),
        agents: None,
        skills_off: false,
        skill_listing_room: None,
        mode: None,
        trust: Default::default(),
        hooks_disabled: false,
        hook_timeouts: Timeouts::default(),
        has_locale: true,
        secrets: Vec::new(),
        learned_secrets: Default::default(),
        variable: |_| None,
    }
}
