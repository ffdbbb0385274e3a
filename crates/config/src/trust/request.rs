//! What a repository contains that the operator has to agree to.

use std::path::Path;

use super::{ExtensionEffects, TrustItem, TrustRequest, servers_in};
use crate::approvals::Approvals;
use crate::settings::{self, Layer, Repository, Roots, is_projects};

impl TrustRequest {
    /// What the project's settings and its `.mcp.json` would do, with what its extensions would do.
    pub fn new(roots: &Roots, layers: &[Layer], extensions: &[ExtensionEffects]) -> Self {
        let Repository { checkout, root } = Repository::of(&roots.project_dir);
        let projects = layers.iter().filter(|layer| is_projects(layer));
        let mut files: Vec<TrustItem> =
            projects.filter_map(|layer| TrustItem::of(layer, &checkout)).collect();
        // Servers that the operator's own settings approve or reject by name need no further agreement.
        let approvals = Approvals::of(layers.iter().filter(|layer| !is_projects(layer)));
        let dirs = roots.project_dirs();
        files.extend(dirs.iter().filter_map(|dir| servers(dir, &checkout, &approvals)));
        files.extend(extensions.iter().map(|effects| TrustItem::of_extension(effects, &checkout)));
        Self { root, files }
    }
}

/// What a directory's `.mcp.json` defines besides ona's own server. One that cannot be read starts nothing, so there is
/// nothing to agree to; once it can be read, it is a file that nobody has agreed to.
fn servers(dir: &Path, checkout: &Path, approvals: &Approvals) -> Option<TrustItem> {
    let file = dir.join(".mcp.json");
    let real = settings::within(checkout, &file).ok()?;
    let text = settings::read(&real).ok()??;
    settings::object_in(&text).ok()?;
    let brings = servers_in(text.into_bytes(), &file, checkout)?;
    (!brings.settled(approvals)).then_some(brings)
}
