//! Settings that change while a session goes on. Whoever changed a file may be the agent, so what was in force stays:
//! what is new takes effect if it only forbids, or if the operator has agreed to it.

use std::collections::HashSet;

use ona_types::trust::TrustedContent;
use serde_json::{Map, Value};

use super::{TrustItem, TrustRequest, Trusted, kept};
use crate::settings::{Layer, Roots, is_projects, merge_objects};

/// Lists in `permissions` that allow something. What is no longer in the file is no longer allowed.
const ALLOWING: [&str; 2] = ["allow", "additionalDirectories"];

/// Settings in force after a change.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changed {
    /// All of them.
    pub layers: Vec<Layer>,
    /// The files of which something does not take effect yet, or something that was removed stays.
    pub partly: Vec<std::path::PathBuf>,
}

impl TrustRequest {
    /// Which settings are in force after files have changed. `before` were in force until now, `now` is what the files
    /// say; `unread` tells of which files a part cannot be read.
    pub fn changed(
        &self,
        before: &[Layer],
        now: &[Layer],
        roots: &Roots,
        trusted: &[TrustedContent],
        unread: impl Fn(&Layer) -> bool,
    ) -> Changed {
        let (root, checkout) = (self.name(), roots.checkout());
        let agreed = |layer: &Layer| {
            let item = TrustItem::of(layer, &checkout);
            item.is_some_and(|item| item.trusted(&root, trusted) == Trusted::Everything)
        };
        let keeps = |layer: &Layer| is_projects(layer) || unread(layer);
        let same = |one: &Layer, other: &Layer| one.source == other.source;
        let mut changed = Changed::default();
        for layer in now {
            if !keeps(layer) {
                changed.layers.push(layer.clone());
                continue;
            }
            let earlier = before.iter().find(|earlier| same(earlier, layer));
            let in_force = match agreed(layer) {
                true => with_restrictions(layer.clone(), earlier),
                false => with_restrictions(still_there(earlier, layer), Some(layer)),
            };
            changed.add(in_force, layer);
        }
        let gone = before.iter().filter(|layer| keeps(layer));
        for earlier in gone.filter(|earlier| !now.iter().any(|layer| same(layer, earlier))) {
            let empty = Layer { json: Map::new(), ..earlier.clone() };
            let scope = earlier.source.scope;
            let at = changed.layers.iter().take_while(|l| l.source.scope <= scope).count();
            changed.layers.insert(at, still_there(Some(earlier), &empty));
            changed.partly.extend(earlier.source.file.clone());
        }
        changed
    }
}

impl Changed {
    fn add(&mut self, in_force: Layer, file: &Layer) {
        if in_force.json != file.json {
            self.partly.extend(file.source.file.clone());
        }
        self.layers.push(in_force);
    }
}

/// A layer with what another version of it forbids.
fn with_restrictions(mut layer: Layer, other: Option<&Layer>) -> Layer {
    if let Some(other) = other {
        merge_objects(&mut layer.json, kept(other, Trusted::Nothing).json);
    }
    layer
}

/// What was in force of a file, without what it no longer allows.
fn still_there(earlier: Option<&Layer>, now: &Layer) -> Layer {
    let Some(earlier) = earlier else { return Layer { json: Map::new(), ..now.clone() } };
    let mut layer = earlier.clone();
    let list = |key: &str| now.json.get("permissions")?.get(key)?.as_array();
    if let Some(Value::Object(permissions)) = layer.json.get_mut("permissions") {
        for key in ALLOWING {
            let left: HashSet<&Value> = list(key).into_iter().flatten().collect();
            if let Some(Value::Array(rules)) = permissions.get_mut(key) {
                rules.retain(|rule| left.contains(rule));
            }
        }
    }
    layer
}
