//! Trust: what a repository's own files would run or permit acts only after the operator has agreed to it,
//! as it is. What in them forbids always acts: it can only make things stricter.
//!
//! Trust is given file by file. A file is known by its repository and its place in the checkout, so that a
//! nested directory's settings are a thing of their own, and a worktree's are the main checkout's. Of each
//! version two hashes are kept: of what would run, and of everything. So where only permissions have
//! changed, what runs need not be asked about again.

mod extension;
mod request;

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use ona_hooks::own_gate;
use ona_policy::{Scope, Source};
use ona_types::trust::{TrustRecord, TrustedContent, TrustedFile};
use ona_types::{ContentHash, canonical};
use serde_json::{Map, Value};

use crate::approvals::Approvals;
use crate::own_server;
use crate::settings::{self, Layer, Repository, Roots, Saved, is_projects};
pub use extension::{ExtensionEffects, Origin};

/// Settings that make something run.
const RUNS: &[&str] = &[
    "hooks",
    "apiKeyHelper",
    "statusLine",
    "fileSuggestion",
    "otelHeadersHelper",
    "mcpServers",
    "env",
];

/// Settings that only ever make things stricter.
const RESTRICTS: &[&str] = &["deniedMcpServers", "disabledMcpjsonServers"];
/// The same in `permissions`.
const RESTRICTS_PERMISSIONS: &[&str] = &["deny", "ask", "disableBypassPermissionsMode"];

/// Settings that change nothing at all.
const INERT: &[&str] = &["$schema"];

/// What one file of a repository brings along.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustItem {
    /// The file, from the root of the checkout.
    pub place: String,
    /// What would run, with the file.
    pub runs: Vec<String>,
    /// What else would act, with the file.
    pub permits: Vec<String>,
    hash: ContentHash,
    runs_hash: ContentHash,
    /// The servers of a `.mcp.json`, where settings can settle each of them by its name.
    servers: Option<Vec<String>>,
}

/// What a repository brings along, seen from the project's directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustRequest {
    /// The repository's root.
    pub root: PathBuf,
    /// Its files that bring something.
    pub files: Vec<TrustItem>,
}

/// What of it acts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judged {
    /// The settings that act.
    pub layers: Vec<Layer>,
    /// What would run, and nobody has agreed to.
    pub unagreed: Vec<String>,
    /// What else does not act.
    pub held_back: Vec<String>,
}

/// How far a file is trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trusted {
    /// Nothing of it.
    Nothing,
    /// What it runs, but not what it permits.
    WhatRuns,
    /// All of it.
    Everything,
}

/// The root of the repository a directory is in; of a linked worktree, the main checkout's; without a
/// repository, the directory itself.
pub fn repository_root(dir: &Path) -> PathBuf {
    Repository::of(dir).root
}

/// A path as the record names it. Two paths never have one name, even where they are no text.
pub fn name_of(path: &Path) -> String {
    match path.to_str() {
        Some(text) => text.to_owned(),
        // No path that was resolved begins with two slashes.
        None => format!("//bytes:{}", path.as_os_str().as_bytes().escape_ascii()),
    }
}

fn place_of(file: &Path, checkout: &Path) -> String {
    name_of(file.strip_prefix(checkout).unwrap_or(file))
}

impl TrustItem {
    /// Whether settings agree to or reject by name every server that it brings.
    pub(crate) fn settled(&self, approvals: &Approvals) -> bool {
        let settled = |name: &String| approvals.name(name) || approvals.rejects(name).is_some();
        self.servers.as_ref().is_some_and(|servers| servers.iter().all(settled))
    }

    /// What a layer brings; nothing if all it does is forbid.
    pub(crate) fn of(layer: &Layer, checkout: &Path) -> Option<Self> {
        let (runs, permits) = (what_runs(layer), what_permits(layer));
        if runs.is_empty() && permits.is_empty() {
            return None;
        }
        Some(Self::new(place(layer, checkout), &layer.source, runs, permits))
    }

    /// What an agent, a skill or a command brings. Their text needs nobody's consent.
    pub(crate) fn of_extension(brings: &ExtensionEffects, checkout: &Path) -> Self {
        let ExtensionEffects { file, runs, permits } = brings.clone();
        let place = place_of(&file, checkout);
        let source = Source { scope: Scope::Project, file: Some(file) };
        Self::new(place, &source, runs, permits)
    }

    fn new(
        place: String,
        source: &Source,
        runs: Map<String, Value>,
        permits: Map<String, Value>,
    ) -> Self {
        let named = |what: &Map<String, Value>| -> Vec<String> {
            what.keys().map(|key| format!("{key} in {source}")).collect()
        };
        Self {
            place,
            runs: named(&runs),
            permits: named(&permits),
            runs_hash: hash(&Value::Object(runs.clone())),
            hash: hash(&Value::from(vec![runs, permits])),
            servers: None,
        }
    }

    fn trusted(&self, root: &str, trusted: &[TrustedContent]) -> Trusted {
        let here = || {
            let here =
                |content: &&TrustedContent| content.root == root && content.place == self.place;
            trusted.iter().filter(here)
        };
        if here().any(|content| content.hash == self.hash) {
            Trusted::Everything
        } else if here().any(|content| content.runs_hash == self.runs_hash) {
            Trusted::WhatRuns
        } else {
            Trusted::Nothing
        }
    }
}

fn place(layer: &Layer, checkout: &Path) -> String {
    layer
        .source
        .file
        .as_deref()
        .map_or_else(|| layer.source.to_string(), |file| place_of(file, checkout))
}

/// The layer's settings that do more than forbid, by their names.
pub fn brings(layer: &Layer) -> Vec<String> {
    what_runs(layer).into_iter().chain(what_permits(layer)).map(|(key, _)| key).collect()
}

/// The layer's settings that make something run. ona's own gate for another agent is never run by ona.
fn what_runs(layer: &Layer) -> Map<String, Value> {
    let runs = layer.json.iter().filter(|(key, _)| RUNS.contains(&key.as_str()));
    let runs = runs.map(|(key, value)| match key.as_str() {
        "hooks" => (key.clone(), own_gate::without_own(value)),
        _ => (key.clone(), value.clone()),
    });
    runs.filter(|(_, value)| !is_empty(value)).collect()
}

/// The layer's settings that do something else than run or forbid something, by their full names. Whatever
/// is not known to be harmless counts: a key that is forgotten here is asked about once too often.
fn what_permits(layer: &Layer) -> Map<String, Value> {
    let mut permits = Map::new();
    for (key, value) in &layer.json {
        let harmless = [RUNS, RESTRICTS, INERT].iter().any(|keys| keys.contains(&key.as_str()));
        if harmless || is_empty(value) || !settings::is_setting(key) {
            continue;
        }
        let Some(permissions) = value.as_object().filter(|_| key == "permissions") else {
            permits.insert(key.clone(), value.clone());
            continue;
        };
        for (key, value) in permissions {
            let harmless = RESTRICTS_PERMISSIONS.contains(&key.as_str());
            if !harmless && !is_empty(value) && settings::is_permission(key) {
                permits.insert(format!("permissions.{key}"), value.clone());
            }
        }
    }
    permits
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.values().all(is_empty),
        _ => false,
    }
}

fn hash(value: &Value) -> ContentHash {
    // A number that has no canonical form still has a text.
    canonical::hash(value).unwrap_or_else(|_| ContentHash::of(value.to_string().as_bytes()))
}

/// The names of the servers that stand there. What is put together from two is neither of them.
fn server_names(bytes: &[u8]) -> Option<Vec<String>> {
    let (file, twice) = settings::object_in(str::from_utf8(bytes).ok()?).ok()?;
    let servers = file.get("mcpServers").and_then(Value::as_object).filter(|_| twice.is_empty())?;
    let others = servers.iter().filter(|(_, entry)| !own_server::is_plain(entry));
    Some(others.map(|(name, _)| name.clone()).collect())
}

/// What a file of servers brings that holds this.
fn servers_in(bytes: Vec<u8>, file: &Path, checkout: &Path) -> Option<TrustItem> {
    let servers = server_names(&bytes).filter(|names| !names.is_empty());
    let hash = ContentHash::of(&without_own_server(bytes)?);
    Some(TrustItem { servers, ..bringing_servers(file, checkout, hash, "") })
}

fn bringing_servers(file: &Path, checkout: &Path, hash: ContentHash, why: &str) -> TrustItem {
    TrustItem {
        place: place_of(file, checkout),
        runs: vec![format!("MCP servers in {}{why}", file.display())],
        permits: Vec::new(),
        runs_hash: hash.clone(),
        hash,
        servers: None,
    }
}

/// Whether somebody has agreed to a project's file of servers that holds this; nothing but ona's own needs no agreement.
pub(crate) fn agrees_to_servers(
    file: &Path,
    bytes: &[u8],
    roots: &Roots,
    trusted: &[TrustedContent],
) -> bool {
    let Repository { checkout, root } = Repository::of(&roots.project_dir);
    servers_in(bytes.to_vec(), file, &checkout)
        .is_none_or(|brings| brings.trusted(&name_of(&root), trusted) == Trusted::Everything)
}

/// Lets trust go on where the operator has changed a project's file of servers by ona's own hand: if what stood in it
/// was agreed to, or needed no agreement, so is what stands in it now. Says whether it will act.
pub(crate) fn carry_over_servers<R: TrustRecord>(
    file: &Path,
    (before, after): (&str, &str),
    roots: &Roots,
    record: &R,
) -> Result<bool, R::Error> {
    let Repository { checkout, root } = Repository::of(&roots.project_dir);
    let name = name_of(&root);
    let was_new = before.is_empty();
    if !was_new && !agrees_to_servers(file, before.as_bytes(), roots, &record.trusted(&name)?) {
        return Ok(false);
    }
    let files = servers_in(after.as_bytes().to_vec(), file, &checkout);
    TrustRequest { root, files: files.into_iter().collect() }.trust(record)?;
    Ok(true)
}

/// What is left of a file of servers without ona's own, if anything is.
fn without_own_server(bytes: Vec<u8>) -> Option<Vec<u8>> {
    match str::from_utf8(&bytes).map(own_server::without) {
        Ok(Ok(left)) => left.map(String::into_bytes),
        _ => Some(bytes),
    }
}

impl TrustRequest {
    /// What the record calls the repository.
    pub fn name(&self) -> String {
        name_of(&self.root)
    }

    /// Agrees to all of it, as it is.
    pub fn trust<R: TrustRecord>(&self, record: &R) -> Result<(), R::Error> {
        let files: Vec<TrustedFile<'_>> = self
            .files
            .iter()
            .map(|file| TrustedFile {
                place: &file.place,
                hash: &file.hash,
                runs_hash: &file.runs_hash,
            })
            .collect();
        record.trust(&self.name(), &files)
    }

    /// What of the settings acts, given what is trusted.
    pub fn judge(&self, layers: &[Layer], roots: &Roots, trusted: &[TrustedContent]) -> Judged {
        let (root, checkout) = (self.name(), roots.checkout());
        let acts = |layer: &Layer| {
            let own = Some(layer).filter(|layer| is_projects(layer));
            match own.and_then(|layer| TrustItem::of(layer, &checkout)) {
                Some(file) => kept(layer, file.trusted(&root, trusted)),
                None => layer.clone(),
            }
        };
        let mut judged = Judged { layers: layers.iter().map(acts).collect(), ..Judged::default() };
        // Of the project's own settings, those count that were agreed to.
        let approvals = Approvals::of(judged.layers.iter());
        for file in self.files.iter().filter(|file| !file.settled(&approvals)) {
            match file.trusted(&root, trusted) {
                Trusted::Everything => continue,
                Trusted::WhatRuns => {}
                Trusted::Nothing => judged.unagreed.extend(file.runs.iter().cloned()),
            }
            judged.held_back.extend(file.permits.iter().cloned());
        }
        judged
    }
}

/// What of a repository's agents, skills and commands the operator has agreed to.
#[derive(Clone, Debug, Default)]
pub struct Agreement {
    everything: bool,
    root: String,
    checkout: PathBuf,
    trusted: Vec<TrustedContent>,
}

impl Agreement {
    /// To all of it, for this run.
    pub fn to_everything() -> Self {
        Self { everything: true, ..Self::default() }
    }

    /// What the record knows.
    pub fn find<R: TrustRecord>(roots: &Roots, record: &R) -> Result<Self, R::Error> {
        let Repository { checkout, root } = Repository::of(&roots.project_dir);
        let root = name_of(&root);
        let trusted = record.trusted(&root)?;
        Ok(Self { everything: false, root, checkout, trusted })
    }

    /// How far a file is trusted, given whose it is. A directory that was added is a place to work in: what it brings
    /// was not agreed to.
    pub fn of(&self, origin: &Origin, brings: &ExtensionEffects) -> Trusted {
        match origin {
            _ if self.everything || brings.is_nothing() => Trusted::Everything,
            Origin::Project => {
                let file = TrustItem::of_extension(brings, &self.checkout);
                file.trusted(&self.root, &self.trusted)
            }
            Origin::Additional => Trusted::Nothing,
            _ => Trusted::Everything,
        }
    }
}

/// What acts of a layer that is trusted so far.
fn kept(layer: &Layer, trusted: Trusted) -> Layer {
    let mut json = match trusted {
        Trusted::Everything => return layer.clone(),
        Trusted::WhatRuns => what_runs(layer),
        Trusted::Nothing => Map::new(),
    };
    for key in RESTRICTS {
        json.extend(layer.json.get(*key).map(|value| ((*key).to_owned(), value.clone())));
    }
    if let Some(Value::Object(permissions)) = layer.json.get("permissions") {
        let mut permissions = permissions.clone();
        permissions.retain(|key, _| RESTRICTS_PERMISSIONS.contains(&key.as_str()));
        json.insert("permissions".to_owned(), Value::Object(permissions));
    }
    Layer { json, ..layer.clone() }
}

/// Lets trust go on where ona itself has changed a file on the operator's answer: if all that stood in it
/// before was agreed to, or needed no agreement, so is what stands in it now. Says whether it will act.
pub fn carry_over<R: TrustRecord>(
    saved: &Saved,
    roots: &Roots,
    record: &R,
) -> Result<bool, R::Error> {
    let Repository { checkout, root } = Repository::of(&roots.project_dir);
    let bringing = |layer: &Option<Layer>| {
        layer.as_ref().filter(|layer| is_projects(layer)).and_then(|l| TrustItem::of(l, &checkout))
    };
    let Some(after) = bringing(&saved.after) else { return Ok(true) };
    let name = name_of(&root);
    if let Some(before) = bringing(&saved.before)
        && before.trusted(&name, &record.trusted(&name)?) != Trusted::Everything
    {
        return Ok(false);
    }
    TrustRequest { root, files: vec![after] }.trust(record)?;
    Ok(true)
}

#[cfg(test)]
mod tests;
