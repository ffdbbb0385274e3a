//! Which servers of a `.mcp.json` the settings approve or reject.

use ona_policy::Scope;
use serde_json::Value;

use crate::settings::{Layer, REJECTED_SERVERS};

/// Servers of a `.mcp.json` that settings approve or reject by name, whatever their definition is.
#[derive(Debug, Default)]
pub(crate) struct Approvals {
    names: Vec<String>,
    all: bool,
    /// Each with the settings that reject it.
    rejected: Vec<(String, String)>,
}

impl Approvals {
    /// Those of these settings, lowest rank first.
    pub(crate) fn of<'a>(layers: impl DoubleEndedIterator<Item = &'a Layer> + Clone) -> Self {
        // The operator agreed to the project's settings as they are, not to what its `.mcp.json` may contain later.
        let agreeing = layers.clone().filter(|layer| layer.source.scope != Scope::Project);
        let mut ranked = agreeing.clone().rev();
        let all = ranked.find_map(|l| l.json.get("enableAllProjectMcpServers")?.as_bool());
        let names = agreeing.flat_map(|layer| texts(layer, "enabledMcpjsonServers")).collect();
        let rejected = layers.flat_map(|layer| {
            let names = texts(layer, REJECTED_SERVERS).into_iter();
            names.map(|name| (name, layer.source.to_string()))
        });
        Self { names, all: all == Some(true), rejected: rejected.collect() }
    }

    /// Whether a server of this name is approved.
    pub(crate) fn approves(&self, name: &str) -> bool {
        self.all || self.names.iter().any(|known| known == name)
    }

    /// The settings that reject a server of this name. Case is ignored: its tools have the name in lowercase.
    pub(crate) fn rejects(&self, name: &str) -> Option<&str> {
        let known = self.rejected.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        known.map(|(_, source)| source.as_str())
    }
}

fn texts(layer: &Layer, key: &str) -> Vec<String> {
    let list = layer.json.get(key).and_then(Value::as_array).into_iter().flatten();
    list.filter_map(|text| text.as_str().map(str::to_owned)).collect()
}
