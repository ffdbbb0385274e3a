//! What a repository brings along that somebody has to agree to.

use std::path::Path;

use ona_types::ContentHash;

use crate::approvals::Approvals;
use crate::extensions;
use crate::settings::{self, Layer, Repository, Roots, is_projects};
use crate::trust::{TrustItem, TrustRequest, bringing_servers, servers_in};

/// Looks at what the project's settings, its `.mcp.json`, its agents, and where they are read skills and commands, would do.
pub fn trust_request(roots: &Roots, layers: &[Layer], skills: bool) -> TrustRequest {
    let Repository { checkout, root } = Repository::of(&roots.project_dir);
    let projects = layers.iter().filter(|layer| is_projects(layer));
    let mut files: Vec<TrustItem> =
        projects.filter_map(|layer| TrustItem::of(layer, &checkout)).collect();
    // What the operator's own settings settle by name needs no further agreement.
    let approvals = Approvals::of(layers.iter().filter(|layer| !is_projects(layer)));
    let dirs = roots.project_dirs();
    files.extend(dirs.iter().filter_map(|dir| servers(dir, &checkout, &approvals)));
    let brings = extensions::of_project(roots, skills);
    files.extend(brings.iter().map(|brings| TrustItem::of_extension(brings, &checkout)));
    TrustRequest { root, files }
}

/// What a directory's `.mcp.json` brings besides ona's own server. One that cannot be read may be readable
/// tomorrow, or to others: it counts as well.
fn servers(dir: &Path, checkout: &Path, approvals: &Approvals) -> Option<TrustItem> {
    let file = dir.join(".mcp.json");
    file.symlink_metadata().ok()?;
    let read = settings::within(checkout, &file).and_then(|real| settings::read_bytes(&real));
    let (hash, why) = match read {
        Ok(Some(bytes)) => {
            let brings = servers_in(bytes, &file, checkout)?;
            return (!brings.settled(approvals)).then_some(brings);
        }
        Ok(None) => (ContentHash::of(b"it leads nowhere"), ": it leads nowhere".to_owned()),
        Err(bad) => (ContentHash::of(bad.to_string().as_bytes()), format!(": {bad}")),
    };
    Some(bringing_servers(&file, checkout, hash, &why))
}
