//! Trust for one run: `--trust` and `ONA_TRUST=1`.

use std::sync::{Arc, OnceLock};

use ona_types::trust::TrustedContent;

use super::{ExtensionEffects, TrustItem, TrustRequest};
use crate::settings::Roots;

/// Trust for this run. It covers what is there when the run begins; what is written later waits until the operator has
/// agreed. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct RunTrust(Option<Arc<OnceLock<Covered>>>);

/// What was there when the run began.
#[derive(Debug)]
struct Covered {
    root: String,
    project: Vec<TrustedContent>,
    /// In further working directories.
    added: Vec<TrustedContent>,
}

impl RunTrust {
    /// Trust that was given.
    pub fn given() -> Self {
        Self(Some(Arc::default()))
    }

    /// Whether it was given.
    pub fn is_given(&self) -> bool {
        self.0.is_some()
    }

    /// The run begins with this: what is requested, and what further working directories bring. Only the first call
    /// counts, also if the project belongs to another repository later.
    pub fn begin(&self, request: &TrustRequest, added: &[ExtensionEffects], roots: &Roots) {
        let Some(covered) = &self.0 else { return };
        covered.get_or_init(|| {
            let (root, checkout) = (request.name(), roots.checkout());
            let of = |item: &TrustItem| item.content(&root);
            let added = added.iter().map(|one| TrustItem::of_extension(one, &checkout));
            Covered {
                project: request.files.iter().map(of).collect(),
                added: added.map(|item| of(&item)).collect(),
                root,
            }
        });
    }

    /// What it covers in a repository.
    pub fn covers(&self, root: &str) -> Vec<TrustedContent> {
        self.covered(root).map(|covered| covered.project.clone()).unwrap_or_default()
    }

    /// What it covers in further working directories.
    pub(super) fn covers_added(&self, root: &str) -> Vec<TrustedContent> {
        self.covered(root).map(|covered| covered.added.clone()).unwrap_or_default()
    }

    fn covered(&self, root: &str) -> Option<&Covered> {
        self.0.as_ref()?.get().filter(|covered| covered.root == root)
    }
}

impl TrustItem {
    /// The item as it is trusted now.
    fn content(&self, root: &str) -> TrustedContent {
        TrustedContent {
            root: root.to_owned(),
            place: self.place.clone(),
            hash: self.hash.clone(),
            runs_hash: self.runs_hash.clone(),
            trusted_at: String::new(),
        }
    }
}
