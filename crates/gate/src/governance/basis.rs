//! Merges the settings layers of a session into its mode, its rules and its working directories.

use std::path::{Path, PathBuf};

use ona_effects::Surroundings;
use ona_policy::{Permissions, Rule, Scope};
use ona_repo::Disk;
use ona_tools::Place;
use ona_types::{Behavior, PermissionMode};

use ona_config::settings::{self, Layer, Roots, Settings};

/// What the permissions are built from, and rebuilt from when a part changes.
#[derive(Clone, Debug)]
pub struct Basis {
    /// Where settings are.
    pub roots: Roots,
    /// The settings, by where they come from.
    pub layers: Vec<Layer>,
    /// The mode that the command line or somebody in this session chose.
    pub mode: Option<PermissionMode>,
    /// Where the output of this session's tools is stored.
    pub outputs: PathBuf,
    /// The conversation, as a name of a file.
    pub conversation: String,
    /// Protected paths: ona's own settings and the record.
    pub protected: Vec<PathBuf>,
    /// Where credentials are stored.
    pub stores: Vec<PathBuf>,
    /// Worktrees elsewhere; the same rules apply to the same paths in them.
    pub worktrees: Vec<PathBuf>,
    /// Secrets besides those of the process and the settings.
    pub secrets: Vec<String>,
}

/// The mode chosen earlier in this session.
pub fn session_mode(layers: &[Layer]) -> Option<PermissionMode> {
    let session = layers.iter().find(|layer| layer.source.scope == Scope::Session)?;
    mode_in(&session.settings())
}

fn mode_in(settings: &Settings) -> Option<PermissionMode> {
    settings.permissions.as_ref()?.default_mode
}

/// Where worktrees of agents are, below the root of the checkout.
pub const WORKTREES: &str = ".claude/worktrees";
/// How many of them rules are checked against.
const MAX_WORKTREES: usize = 64;

/// From the strictest to the most permissive.
const PERMISSIVENESS: [PermissionMode; 5] = [
    PermissionMode::Plan,
    PermissionMode::DontAsk,
    PermissionMode::Default,
    PermissionMode::AcceptEdits,
    PermissionMode::BypassPermissions,
];

fn permissiveness(mode: PermissionMode) -> Option<usize> {
    PERMISSIVENESS.iter().position(|known| *known == mode)
}

/// The stricter of two modes.
pub fn stricter(one: PermissionMode, other: PermissionMode) -> PermissionMode {
    if permissiveness(other) < permissiveness(one) { other } else { one }
}

/// The merged layers of a session.
pub struct Derived {
    /// The rules and the mode.
    pub permissions: Permissions,
    /// The place, with the additional working directories of the settings.
    pub place: Place,
    /// Warnings about the settings.
    pub warnings: Vec<String>,
}

impl Basis {
    /// The mode the organisation sets.
    fn managed_mode(&self) -> Option<PermissionMode> {
        let managed = self.layers.iter().rev().filter(|layer| settings::is_managed(layer));
        managed.filter_map(|layer| mode_in(&layer.settings())).next()
    }

    /// Why a mode is not allowed: it may be stricter than the organisation's, not laxer.
    pub fn refuses(&self, mode: PermissionMode) -> Option<String> {
        if let Some(most) = self.managed_mode()
            && permissiveness(mode) > permissiveness(most)
        {
            return Some(format!("{mode} permits more than the organisation's {most}"));
        }
        let switched_off = mode == PermissionMode::BypassPermissions
            && Settings::merged(&self.layers)
                .permissions
                .is_some_and(|p| p.disable_bypass_permissions_mode.is_some());
        switched_off.then(|| format!("{mode} is disabled by the settings"))
    }

    fn additional_dirs(&self) -> Vec<PathBuf> {
        additional_dirs(&self.layers, &self.roots)
    }

    /// The project directory that hooks are told: the one that defines them, because their scripts are there. With hooks
    /// of several directories it is the deepest, with a warning about those that expect another one.
    pub fn hooks_dir(&self) -> (PathBuf, Vec<String>) {
        let acting = settings::hooks_layers(&self.layers).into_iter().filter(|(_, acts)| *acts);
        let layers: Vec<&Layer> =
            acting.map(|(layer, _)| layer).filter(|layer| settings::is_projects(layer)).collect();
        let bases = layers.iter().map(|layer| &layer.base);
        let Some(deepest) = bases.max_by_key(|base| base.components().count()) else {
            return (self.roots.project_dir.clone(), Vec::new());
        };
        let uses_it = |layer: &&&Layer| {
            layer.hooks().is_some_and(|hooks| hooks.to_string().contains("CLAUDE_PROJECT_DIR"))
        };
        let others = layers.iter().filter(|layer| layer.base != *deepest).filter(uses_it);
        let warnings = others.map(|layer| {
            format!(
                "{}: CLAUDE_PROJECT_DIR in its hooks is {}, which has active hooks too",
                layer.source,
                deepest.display()
            )
        });
        (deepest.clone(), warnings.collect())
    }

    /// Merges the layers.
    pub fn derive(&self, mut place: Place) -> Derived {
        let mut warnings = Vec::new();
        let in_settings = || mode_in(&Settings::merged(&self.layers));
        let mut mode = self.mode.or_else(in_settings).unwrap_or_default();
        if let Some(why) = self.refuses(mode) {
            mode = match self.managed_mode() {
                Some(most) if most != PermissionMode::BypassPermissions => most,
                _ => PermissionMode::Default,
            };
            warnings.push(format!("{why}: {mode} is used"));
        }
        place.additional_dirs = self.additional_dirs();
        place.home = Some(self.roots.home.clone());
        let around = Surroundings {
            cwd: place.cwd.clone(),
            project_dir: place.project_dir.clone(),
            home: self.roots.home.clone(),
            working_dirs: std::iter::once(&place.project_dir)
                .chain(&place.additional_dirs)
                .cloned()
                .collect(),
            outputs: Some(self.outputs.clone()),
            protected: self.protected.clone(),
            stores: self.stores.clone(),
            world: &Disk,
        };
        let home = &self.roots.home;
        let (mut rules, wrong) = rules(&self.layers, &place.project_dir, home);
        warnings.extend(wrong);
        for worktree in self.worktrees() {
            rules.extend(self.mirrored(&worktree));
        }
        Derived { permissions: Permissions::new(rules, mode, around), place, warnings }
    }
}

impl Basis {
    /// The worktrees of agents: copies of the checkout, with the same limits on reading and writing.
    fn worktrees(&self) -> Vec<PathBuf> {
        let checkout = self.roots.checkout();
        let below = std::fs::read_dir(checkout.join(WORKTREES)).into_iter().flatten().flatten();
        let below = below.take(MAX_WORKTREES).map(|entry| entry.path());
        below.chain(self.worktrees.iter().cloned()).collect()
    }

    /// The deny and ask rules for the same paths in a worktree.
    fn mirrored(&self, worktree: &Path) -> Vec<Rule> {
        let checkout = self.roots.checkout();
        let moved = |path: &Path| match path.strip_prefix(&checkout) {
            Ok(below) => worktree.join(below),
            Err(_) => path.to_owned(),
        };
        let (from, to) = (checkout.to_string_lossy(), worktree.to_string_lossy());
        let renamed = |texts: &Option<Vec<String>>| {
            let texts = texts.as_ref()?.iter().map(|text| text.replace(&*from, &to));
            Some(texts.collect())
        };
        let (cwd, home) = (moved(&self.roots.project_dir), &self.roots.home);
        let mut rules = Vec::new();
        for layer in settings::rules_layers(&self.layers) {
            let own = layer.settings().permissions.unwrap_or_default();
            let mirrored = settings::Permissions {
                deny: renamed(&own.deny),
                ask: renamed(&own.ask),
                ..settings::Permissions::default()
            };
            let layer = Layer { base: moved(&layer.base), ..layer.clone() };
            // What is wrong with a rule was said of the rule itself.
            rules.extend(rules_of(&layer, &mirrored, &cwd, home).0);
        }
        rules
    }
}

/// Additional working directories. Paths in a project's file are relative to its directory, all others to the
/// project.
pub(super) fn additional_dirs(layers: &[Layer], roots: &Roots) -> Vec<PathBuf> {
    let mut dirs = Vec::new();
    for layer in layers {
        let base = if settings::is_projects(layer) { &layer.base } else { &roots.project_dir };
        let permissions = layer.settings().permissions.unwrap_or_default();
        for dir in permissions.additional_directories.iter().flatten() {
            dirs.extend(ona_files::resolve(base, dir).ok().filter(|d| !dirs.contains(d)));
        }
    }
    dirs
}

/// The rules of all layers that act, and what is wrong with the others.
fn rules(layers: &[Layer], cwd: &Path, home: &Path) -> (Vec<Rule>, Vec<String>) {
    let (mut rules, mut warnings) = (Vec::new(), Vec::new());
    for layer in settings::rules_layers(layers) {
        let permissions = layer.settings().permissions.unwrap_or_default();
        let (more, wrong) = rules_of(layer, &permissions, cwd, home);
        rules.extend(more);
        warnings.extend(wrong);
    }
    (rules, warnings)
}

/// The rules of one layer, and what is wrong with the others.
fn rules_of(
    layer: &Layer,
    permissions: &settings::Permissions,
    cwd: &Path,
    home: &Path,
) -> (Vec<Rule>, Vec<String>) {
    // Even in a subdirectory, `.env` in the repository's settings is relative to the repository.
    let cwd = if settings::is_projects(layer) { &layer.base } else { cwd };
    let anchors = layer.anchors(cwd, home);
    let (mut rules, mut warnings) = (Vec::new(), Vec::new());
    for (list, texts, behavior) in [
        ("allow", &permissions.allow, Behavior::Allow),
        ("deny", &permissions.deny, Behavior::Deny),
        ("ask", &permissions.ask, Behavior::Ask),
    ] {
        for text in texts.iter().flatten() {
            match Rule::parse_or_mend(text, behavior, layer.source.clone(), &anchors) {
                Ok((rule, _)) => rules.push(rule),
                // Files and snapshots were checked when they were loaded; the session's own settings were not.
                Err(why) => {
                    warnings.push(format!("{}: permissions.{list}: {text}: {why}", layer.source));
                }
            }
        }
    }
    (rules, warnings)
}

#[cfg(test)]
mod tests {
    use ona_policy::Source;
    use serde_json::{Value, json};

    use super::*;

    fn basis(layers: &[(Scope, Value)]) -> Basis {
        let none = PathBuf::from("/none");
        let layer = |(scope, json): &(Scope, Value)| Layer {
            source: Source::of(*scope),
            base: none.clone(),
            json: json.as_object().unwrap().clone(),
        };
        let roots = Roots {
            project_dir: none.clone(),
            home: none.clone(),
            claude_dir: none.clone(),
            ona_config: none.clone(),
            managed_dirs: Vec::new(),
            cwd: none.clone(),
        };
        let layers = layers.iter().map(layer).collect();
        Basis {
            roots,
            layers,
            mode: None,
            outputs: none,
            conversation: "c".to_owned(),
            protected: Vec::new(),
            stores: Vec::new(),
            worktrees: Vec::new(),
            secrets: Vec::new(),
        }
    }

    fn starting_in(mode: &str) -> Value {
        json!({"permissions": {"defaultMode": mode}})
    }

    #[test]
    fn nobody_chooses_more_than_the_organisation_permits() {
        for (most, at_most) in PERMISSIVENESS.iter().enumerate() {
            for (chosen, mode) in PERMISSIVENESS.iter().enumerate() {
                let mut basis = basis(&[
                    (Scope::User, starting_in("bypassPermissions")),
                    (Scope::Managed, starting_in(at_most.as_str())),
                    // Where it was chosen in the session, it is also in the session's own layer.
                    (Scope::Session, starting_in(mode.as_str())),
                ]);
                basis.mode = Some(*mode);
                let Derived { permissions, warnings, .. } = basis.derive(Place::at("/none"));
                assert_eq!(permissions.mode(), PERMISSIVENESS[chosen.min(most)]);
                let said: &[String] = if chosen > most {
                    &[format!(
                        "{mode} permits more than the organisation's {at_most}: {at_most} is used"
                    )]
                } else {
                    &[]
                };
                assert_eq!(warnings, said);
            }
        }
        assert_eq!(PERMISSIVENESS.len(), PermissionMode::ALL.len());
    }

    #[test]
    fn what_a_projects_file_names_is_meant_from_its_own_directory() {
        let mut basis = basis(&[
            (Scope::User, json!({"permissions": {"additionalDirectories": ["shared"]}})),
            (
                Scope::Project,
                json!({
                    "permissions": {"additionalDirectories": ["../docs", "/none/sub/shared"]},
                    "hooks": {"Stop": [{"hooks": [{"command": "$CLAUDE_PROJECT_DIR/x"}]}]},
                }),
            ),
            (Scope::Local, json!({"permissions": {"additionalDirectories": ["."]}})),
        ]);
        basis.roots.project_dir = "/none/sub".into();
        basis.layers[2].base = "/none/sub".into();
        let dirs = ["/none/sub/shared", "/docs", "/none/sub"].map(PathBuf::from);
        assert_eq!(basis.additional_dirs(), dirs);
        assert_eq!(basis.hooks_dir(), ("/none".into(), vec![]), "the directory of the hooks");
        basis.layers[2].json = basis.layers[1].json.clone();
        let warning =
            "project: CLAUDE_PROJECT_DIR in its hooks is /none/sub, which has active hooks too";
        assert_eq!(basis.hooks_dir(), ("/none/sub".into(), vec![warning.to_owned()]));
        basis.layers.truncate(1);
        assert_eq!(basis.hooks_dir(), ("/none/sub".into(), vec![]), "the project's own");
    }

    #[test]
    fn bypass_can_be_switched_off() {
        let off = json!({"permissions": {"disableBypassPermissionsMode": "disable"}});
        for scope in [Scope::User, Scope::Managed] {
            let refused = basis(&[(scope, off.clone())]).refuses(PermissionMode::BypassPermissions);
            assert_eq!(refused.unwrap(), "bypassPermissions is disabled by the settings");
        }
        assert_eq!(basis(&[(Scope::Managed, off)]).refuses(PermissionMode::AcceptEdits), None);
        assert_eq!(basis(&[]).refuses(PermissionMode::BypassPermissions), None);
    }
}
