//! What a repository contains that the operator has to agree to.

use std::path::Path;

use ona_types::ContentHash;

use super::{ExtensionEffects, TrustItem, TrustRequest, bringing_servers, servers_in};
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

/// What a directory's `.mcp.json` defines besides ona's own server. A file that cannot be read counts too: it may be
/// readable later.
fn servers(dir: &Path, checkout: &Path, approvals: &Approvals) -> Option<TrustItem> {
    let file = dir.join(".mcp.json");
    file.symlink_metadata().ok()?;
    let read = settings::within(checkout, &file).and_then(|real| settings::read_bytes(&real));
    let (hash, why) = match read {
        Ok(Some(bytes)) => {
            let brings = servers_in(bytes, &file, checkout)?;
            return (!brings.settled(approvals)).then_some(brings);
        }
        Ok(None) => (ContentHash::of(b"it leads nowhere"), ": broken link".to_owned()),
        Err(bad) => (ContentHash::of(bad.to_string().as_bytes()), format!(": {bad}")),
    };
    Some(bringing_servers(&file, checkout, hash, &why))
}
