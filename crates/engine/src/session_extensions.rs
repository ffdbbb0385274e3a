//! The extensions of a session.

use std::path::Path;

use ona_mcp::slug;
use ona_policy::server_tool_name;
use ona_store::StoreError;
use ona_tools::{PREFIX, UnconnectedTool};
use ona_types::Diagnostic;
use serde_json::Value;

use crate::session::{Engine, Session, SessionRef};
use ona_config::settings::{self, Settings, is_projects};
use ona_config::trust::Agreement;
use ona_extensions::{
    DEFAULT_STYLE, Extensions, NotFound, OutputStyle, RenderContext, RenderError, Rendered,
    SkillDefinition, Sources, active_plugins, listing_room, render,
};
use ona_gate::explain::Explanation;

impl Session {
    /// Loads the session's agents, skills, commands and plugins.
    pub fn read_extensions(&self) -> Result<Extensions, StoreError> {
        self.view().read_extensions()
    }

    /// The extensions of a directory without those of its repository, which are not trusted.
    pub fn extensions_without_project(
        engine: &Engine,
        dir: &Path,
    ) -> (Extensions, Vec<Diagnostic>) {
        let config = &engine.core.config;
        let roots = config.roots(dir, dir);
        let mut layers = settings::load(&roots, &config.given).layers;
        layers.retain(|layer| !is_projects(layer));
        let active = active_plugins(config, dir, &Settings::merged(&layers));
        let warnings = active.problems().cloned().collect();
        let found = Extensions::load(Sources {
            roots: &roots,
            additional_dirs: &[],
            agents: config.agents.as_deref(),
            plugins: active.plugins,
            files: !config.is_bare(),
            project: false,
            skills: true,
            agreed: Agreement::default(),
        });
        (found, warnings)
    }
}

impl Session {
    /// The output style of the settings.
    pub fn output_style(&self) -> Result<OutputStyle, NotFound> {
        let name = self.gate.settings().output_style;
        let name = name.filter(|name| !name.trim().is_empty());
        self.side.extensions().style(name.as_deref().unwrap_or(DEFAULT_STYLE)).cloned()
    }

    /// The output styles that can be chosen.
    pub fn output_styles(&self) -> Vec<OutputStyle> {
        self.side.extensions().styles.clone()
    }

    /// What the gate would decide about a call. A tool of a server that is configured but not connected is judged by its
    /// name; whether the server has it is not known.
    pub async fn explain(&mut self, tool: &str, input: &Value) -> Result<Explanation, StoreError> {
        let written = tool;
        let tool = &*server_tool_name(tool);
        let is_of = |server: &String| tool.starts_with(&format!("{PREFIX}{}__", slug(server)));
        let servers = self.servers()?.specs.into_iter();
        self.gate.unconnected = servers.map(|server| server.name).collect();
        let unconnected = tool.starts_with(PREFIX)
            && self.gate.toolbox.find(tool).is_none()
            && self.gate.unconnected.iter().any(is_of);
        if !unconnected {
            return self.gate.explain(written, input).await;
        }
        let mut found = self.gate.explain_tool(&UnconnectedTool::new(tool), input).await?;
        found.because.push("the server was not asked whether it has this tool".to_owned());
        Ok(found)
    }
}

impl SessionRef<'_> {
    /// Loads the session's agents, skills, commands and plugins.
    pub(crate) fn read_extensions(self) -> Result<Extensions, StoreError> {
        let (config, place) = (&self.gate.record.core.config, self.gate.place());
        let roots = config.roots(&place.project_dir, &place.cwd);
        let agreed = Agreement::find(&roots, self.gate.store(), &config.trust)?;
        Ok(Extensions::load(Sources {
            roots: &roots,
            additional_dirs: &place.additional_dirs,
            agents: config.agents.as_deref(),
            plugins: self.gate.governance.plugins.clone(),
            files: !config.is_bare(),
            project: true,
            skills: !config.skills_off,
            agreed,
        }))
    }

    /// The size limit of the skill listing, for the model's context window.
    pub(crate) fn skill_listing_room(self, context_tokens: Option<u64>) -> usize {
        listing_room(context_tokens, self.gate.record.core.config.skill_listing_room)
    }

    /// Renders a skill with its arguments.
    pub(crate) fn render_skill(
        self,
        skill: &SkillDefinition,
        arguments: &str,
    ) -> Result<Rendered, RenderError> {
        let commands_off = self.gate.settings().disable_skill_shell_execution == Some(true);
        let context = RenderContext { session_id: self.gate.seat().session.as_str(), commands_off };
        render(skill, arguments, &context)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use ona_hooks::Shell;
    use serde_json::{Value, json};

    use crate::session::{Engine, Session};
    use crate::which_session::Which;
    use ona_extensions::{Piece, SWITCHED_OFF};
    use ona_gate::governance::Unread;
    use ona_gate::testing::World;

    fn session(world: &World) -> Session {
        let (core, background) = (std::sync::Arc::clone(world.core()), Default::default());
        let engine = Engine { core, background };
        let (seat, _) = Which::Join(None).seat(&engine.core.store, world.project()).unwrap();
        Session::open(&engine, seat, world.project(), Unread::IsTold).unwrap()
    }

    fn rendered(settings: &Value) -> (Vec<Piece>, Vec<String>) {
        let world = World::new(settings);
        let dir = world.project().join(".claude/skills/s");
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("SKILL.md"), "!`ls` in ${CLAUDE_SESSION_ID}").unwrap();
        let session = session(&world);
        let extensions = session.read_extensions().unwrap();
        let pieces =
            session.view().render_skill(extensions.skill("s").unwrap(), "").unwrap().pieces;
        let id = session.seat().session.to_string();
        let masked = pieces.into_iter().map(|piece| match piece {
            Piece::Text(text) => Piece::Text(text.replace(&id, "ID")),
            piece => piece,
        });
        (masked.collect(), session.warnings().to_vec())
    }

    #[test]
    fn a_setting_switches_commands_in_skills_off() {
        let ran = || Piece::Command { command: "ls".to_owned(), shell: Shell::Bash };
        let text = |text: &str| Piece::Text(text.to_owned());
        assert_eq!(rendered(&json!({})), (vec![ran(), text(" in ID")], vec![]));
        let off = rendered(&json!({"disableSkillShellExecution": true}));
        assert_eq!(off, (vec![text(&format!("{SWITCHED_OFF} in ID"))], vec![]));
        let (pieces, warnings) = rendered(&json!({"disableSkillShellExecution": "yes"}));
        assert_eq!(pieces, [ran(), text(" in ID")]);
        assert!(warnings[0].contains("disableSkillShellExecution"), "{warnings:?}");
    }

    #[test]
    fn the_operators_room_for_the_listing_counts() {
        let world = World::new(&json!({}));
        let session = session(&world);
        assert_eq!(session.view().skill_listing_room(Some(100_000)), 4000);
    }
}
