//! A gate in a temporary world, for tests.
#![allow(clippy::unwrap_used, reason = "a test that cannot make its world fails")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ona_sandbox::confine::Machine;
use ona_store::{Join, Store};
use ona_tools::{Host, Place, ToolSettings};
use serde_json::Value;
use tempfile::TempDir;

use crate::core::Core;
use crate::governance::{Governance, LoadOptions, Remember, Unread, Untrusted};
use crate::services::NoEngine;
use crate::{Gate, Record};

/// A project, a home and a record; the settings are given on the command line.
pub struct World {
    core: Arc<Core>,
    project: PathBuf,
    _dir: TempDir,
}

impl World {
    /// A world with these settings.
    pub fn new(settings: &Value) -> Self {
        let dir = TempDir::new().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let (project, home) = (root.join("project"), root.join("home"));
        fs::create_dir(&project).unwrap();
        fs::create_dir(&home).unwrap();
        let core = Arc::new(Core {
            store: Store::open(&root.join("agent.db")).unwrap(),
            settings: ToolSettings::default(),
            host: Host {
                program: PathBuf::from("/bin/false"),
                child_env: Vec::new(),
                outputs: root.join("outputs"),
                stores: Vec::new(),
                web: Arc::default(),
            },
            config: ona_config::testing::config(&home, settings),
            moved: Default::default(),
            machine: Machine::new(root.clone(), Default::default(), root.clone()),
        });
        Self { core, project, _dir: dir }
    }

    /// What every session in it shares.
    pub fn core(&self) -> &Arc<Core> {
        &self.core
    }

    /// The project's directory.
    pub fn project(&self) -> &Path {
        &self.project
    }

    /// A gate in the project, without an engine.
    pub fn gate(&self) -> Gate {
        let project_dir = self.project.to_string_lossy();
        let join = Join { project_dir: &project_dir, conversation: None };
        let seat = self.core.store.join(&join).unwrap();
        let place = Place {
            cwd: self.project.clone(),
            project_dir: self.project.clone(),
            additional_dirs: Vec::new(),
            home: None,
        };
        let options = LoadOptions {
            remember: Remember::Settings,
            untrusted: Untrusted::Stops,
            unread: Unread::IsTold,
        };
        let governance = Governance::load(&self.core, &seat, place, options).unwrap();
        let record = Record { core: Arc::clone(&self.core), seat };
        Gate::new(record, governance, Arc::new(NoEngine))
    }
}
