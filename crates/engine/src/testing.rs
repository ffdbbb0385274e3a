//! An engine in a temporary world, for tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ona_hooks::Timeouts;
use ona_store::Store;
use ona_tools::{Host, ToolSettings};
use serde_json::Value;
use tempfile::TempDir;

use crate::config::Config;
use crate::gate::core::Core;
use crate::servers::GivenServers;
use crate::session::{Engine, JoinRequest, Session};
use crate::settings::Given;

/// A project, a home and a record; the settings are given on the command line.
pub(crate) struct World {
    pub(crate) engine: Engine,
    project: PathBuf,
    _dir: TempDir,
}

impl World {
    pub(crate) fn new(settings: &Value) -> Self {
        let dir = TempDir::new().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let (project, home) = (root.join("project"), root.join("home"));
        fs::create_dir(&project).unwrap();
        fs::create_dir(&home).unwrap();
        let config = Config {
            claude_dir: home.join(".claude"),
            ona_config: home.join(".config/ona"),
            home,
            managed_dirs: Vec::new(),
            given: Given { settings: vec![settings.to_string()], sources: None },
            servers: GivenServers::default(),
            started_by: None,
            plugin_dirs: Vec::new(),
            agents: None,
            skills_off: false,
            skill_listing_room: None,
            mode: None,
            trust: false,
            hooks_disabled: false,
            hook_timeouts: Timeouts::default(),
            has_locale: true,
            secrets: Vec::new(),
            late: Default::default(),
            variable: |_| None,
        };
        let engine = Engine::new(Core {
            store: Store::open(&root.join("agent.db")).unwrap(),
            settings: ToolSettings::default(),
            host: Host {
                program: PathBuf::from("/bin/false"),
                child_env: Vec::new(),
                outputs: root.join("outputs"),
                web: Arc::default(),
            },
            config,
        });
        Self { engine, project, _dir: dir }
    }

    pub(crate) fn core(&self) -> &Core {
        &self.engine.core
    }

    pub(crate) fn project(&self) -> &Path {
        &self.project
    }

    pub(crate) fn session(&self) -> Session {
        let request = JoinRequest { cwd: self.project.clone(), conversation: None };
        Session::join(&self.engine, &request).unwrap()
    }
}
