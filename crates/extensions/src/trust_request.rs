//! What a repository contains that the operator has to agree to.

use std::path::PathBuf;

use ona_config::settings::{Layer, Roots};
use ona_config::trust::{ExtensionEffects, TrustRequest};

use crate::effects;

/// What the project's settings, its `.mcp.json` and its agents would do; also its skills and commands, if those are read.
pub fn trust_request(roots: &Roots, layers: &[Layer], skills: bool) -> TrustRequest {
    TrustRequest::new(roots, layers, &effects::of_project(roots, skills))
}

/// What the skills of further working directories would do.
pub fn added_effects(dirs: &[PathBuf]) -> Vec<ExtensionEffects> {
    dirs.iter().flat_map(|dir| effects::of_added(dir)).collect()
}
