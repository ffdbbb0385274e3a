//! Trust: what a repository's files would run or permit takes effect only after the operator has agreed to exactly
//! that. What they forbid always takes effect: it can only make things stricter.
//!
//! Trust is given per file. A file is known by its repository and its path in the checkout, so settings of a nested
//! directory are separate, and a worktree shares those of the main checkout. Two hashes are kept of each version: of
//! what would run, and of everything. If only permissions have changed, what runs stays trusted.

mod commands;
mod during;
mod extension;
mod request;
mod this_run;

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use ona_hooks::own_gate;
use ona_types::trust::{TrustRecord, TrustedContent, TrustedFile};
use ona_types::{ContentHash, canonical};
use serde_json::{Map, Value};

use crate::approvals::Approvals;
use crate::own_server;
use crate::settings::{self, Layer, Repository, Roots, Saved, is_projects};
pub use during::Changed;
pub use extension::{ExtensionEffects, Origin};
pub use this_run::RunTrust;

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

/// Settings that can only make things stricter.
const RESTRICTS: &[&str] = &["deniedMcpServers", "disabledMcpjsonServers"];
/// The same in `permissions`.
const RESTRICTS_PERMISSIONS: &[&str] = &["deny", "ask", "disableBypassPermissionsMode"];

/// Settings without any effect.
const INERT: &[&str] = &["$schema"];

/// One file of a repository that needs trust.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustItem {
    /// The file, from the root of the checkout.
    pub place: String,
    /// What would run, with the file.
    pub runs: Vec<String>,
    /// What else would take effect, with the file.
    pub permits: Vec<String>,
    /// The command lines and addresses among what would run.
    commands: Vec<String>,
    /// The rules and values among what else would take effect.
    permitted: Vec<String>,
    hash: ContentHash,
    runs_hash: ContentHash,
    /// The servers of a `.mcp.json`, if settings can approve or reject each of them by name.
    servers: Option<Vec<String>>,
}

/// What needs trust in a repository, seen from the project's directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustRequest {
    /// The repository's root.
    pub root: PathBuf,
    /// Its files that need trust.
    pub files: Vec<TrustItem>,
}

/// What takes effect.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judged {
    /// The settings that take effect.
    pub layers: Vec<Layer>,
    /// What would run and is not trusted.
    pub unagreed: Vec<String>,
    /// What else has no effect until it is trusted.
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

/// The root of the repository that a directory is in: for a linked worktree the main checkout, without a repository the
/// directory itself.
pub fn repository_root(dir: &Path) -> PathBuf {
    Repository::of(dir).root
}

/// The name of a path in the record. It is unique, even for a path that is not UTF-8.
pub fn name_of(path: &Path) -> String {
    match path.to_str() {
        Some(text) => text.to_owned(),
        // A resolved path never starts with two slashes.
        None => format!("//bytes:{}", path.as_os_str().as_bytes().escape_ascii()),
    }
}

fn place_of(file: &Path, checkout: &Path) -> String {
    name_of(file.strip_prefix(checkout).unwrap_or(file))
}

impl TrustItem {
    /// Whether settings approve or reject every server of the file by name.
    pub(crate) fn settled(&self, approvals: &Approvals) -> bool {
        let settled = |name: &String| approvals.approves(name) || approvals.rejects(name).is_some();
        self.servers.as_ref().is_some_and(|servers| servers.iter().all(settled))
    }

    /// What needs trust in a layer; `None` if it only forbids.
    pub(crate) fn of(layer: &Layer, checkout: &Path) -> Option<Self> {
        let (runs, permits) = (what_runs(layer), what_permits(layer));
        if runs.is_empty() && permits.is_empty() {
            return None;
        }
        Some(Self::new(place(layer, checkout), runs, permits))
    }

    /// What needs trust in an agent, a skill or a command. Their text needs none.
    pub(crate) fn of_extension(brings: &ExtensionEffects, checkout: &Path) -> Self {
        let ExtensionEffects { file, runs, permits } = brings.clone();
        Self::new(place_of(&file, checkout), runs, permits)
    }

    fn new(place: String, runs: Map<String, Value>, permits: Map<String, Value>) -> Self {
        let named = |what: &Map<String, Value>| -> Vec<String> {
            what.keys().map(|key| format!("{key} in {place}")).collect()
        };
        Self {
            runs: named(&runs),
            permits: named(&permits),
            commands: commands::commands(&runs),
            permitted: commands::permitted(&permits),
            runs_hash: hash(&Value::Object(runs.clone())),
            hash: hash(&Value::from(vec![runs, permits])),
            servers: None,
            place,
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

/// The names of the layer's settings that do more than forbid.
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

/// The layer's settings that neither run nor forbid something, by their full names. Every setting that is not known
/// to be harmless counts.
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
    // A number without a canonical form is hashed as text.
    canonical::hash(value).unwrap_or_else(|_| ContentHash::of(value.to_string().as_bytes()))
}

/// The names of the servers in the file; `None` if keys occur twice, since a merged entry is neither of the two.
fn server_names(bytes: &[u8]) -> Option<Vec<String>> {
    let (file, twice) = settings::object_in(str::from_utf8(bytes).ok()?).ok()?;
    let servers = file.get("mcpServers").and_then(Value::as_object).filter(|_| twice.is_empty())?;
    let others = servers.iter().filter(|(_, entry)| !own_server::is_plain(entry));
    Some(others.map(|(name, _)| name.clone()).collect())
}

/// What needs trust in a file of servers with these contents.
fn servers_in(bytes: Vec<u8>, file: &Path, checkout: &Path) -> Option<TrustItem> {
    let servers = server_names(&bytes).filter(|names| !names.is_empty());
    let json = serde_json::from_slice::<Value>(&bytes).ok();
    let commands =
        json.as_ref().and_then(Value::as_object).map_or_else(Vec::new, commands::commands);
    let hash = ContentHash::of(&without_own_server(bytes)?);
    Some(TrustItem {
        place: place_of(file, checkout),
        runs: vec![format!("MCP servers in {}", file.display())],
        permits: Vec::new(),
        commands,
        permitted: Vec::new(),
        runs_hash: hash.clone(),
        hash,
        servers,
    })
}

/// Whether a `.mcp.json` with these contents is trusted; one with nothing but ona's own server needs no trust.
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

/// Keeps trust when the operator changes a `.mcp.json` through ona: if the old contents were trusted or needed no trust,
/// the new contents are trusted. Returns whether they are.
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

/// A file of servers without ona's own; `None` if nothing is left.
fn without_own_server(bytes: Vec<u8>) -> Option<Vec<u8>> {
    match str::from_utf8(&bytes).map(own_server::without) {
        Ok(Ok(left)) => left.map(String::into_bytes),
        _ => Some(bytes),
    }
}

impl TrustRequest {
    /// The name of the repository in the record.
    pub fn name(&self) -> String {
        name_of(&self.root)
    }

    /// What would run, of this, each file's followed by its command lines.
    pub fn told(&self, what: &[String]) -> Vec<String> {
        told(what, self.files.iter().map(|file| (&file.runs[..], &file.commands[..])))
    }

    /// What else would take effect, of this, each file's followed by its rules and values.
    pub fn told_also(&self, what: &[String]) -> Vec<String> {
        told(what, self.files.iter().map(|file| (&file.permits[..], &file.permitted[..])))
    }

    /// Each file with how far this makes it trusted.
    pub fn files_with_trust(
        &self,
        trusted: &[TrustedContent],
    ) -> impl Iterator<Item = (&TrustItem, Trusted)> {
        let root = self.name();
        self.files.iter().map(move |file| (file, file.trusted(&root, trusted)))
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

    /// Which settings take effect, given what is trusted.
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
        // The project's own settings count as far as they are trusted.
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

/// What of this is in files, each file's followed by its details; then the rest of it.
fn told<'a>(
    what: &[String],
    files: impl Iterator<Item = (&'a [String], &'a [String])>,
) -> Vec<String> {
    let mut told: Vec<String> = Vec::new();
    for (names, details) in files {
        let asked: Vec<&String> = names.iter().filter(|name| what.contains(name)).collect();
        if !asked.is_empty() {
            told.extend(asked.into_iter().cloned());
            told.extend(details.iter().map(|detail| format!("  {detail}")));
        }
    }
    let others: Vec<String> = what.iter().filter(|one| !told.contains(one)).cloned().collect();
    told.extend(others);
    told
}

/// Which of a repository's agents, skills and commands are trusted.
#[derive(Clone, Debug, Default)]
pub struct Agreement {
    root: String,
    checkout: PathBuf,
    trusted: Vec<TrustedContent>,
    /// In further working directories.
    added: Vec<TrustedContent>,
}

impl Agreement {
    /// What the record says, and what is trusted for this run.
    pub fn find<R: TrustRecord>(
        roots: &Roots,
        record: &R,
        this_run: &RunTrust,
    ) -> Result<Self, R::Error> {
        let root = name_of(&Repository::of(&roots.project_dir).root);
        Ok(Self::to(roots, record.trusted(&root)?, this_run))
    }

    /// Agreement to this content, and to what is trusted for this run.
    pub fn to(roots: &Roots, mut trusted: Vec<TrustedContent>, this_run: &RunTrust) -> Self {
        let Repository { checkout, root } = Repository::of(&roots.project_dir);
        let root = name_of(&root);
        trusted.extend(this_run.covers(&root));
        let added = this_run.covers_added(&root);
        Self { root, checkout, trusted, added }
    }

    /// How far a file is trusted, given its origin. The record never trusts a further working directory.
    pub fn of(&self, origin: &Origin, brings: &ExtensionEffects) -> Trusted {
        let within = |trusted: &[TrustedContent]| {
            TrustItem::of_extension(brings, &self.checkout).trusted(&self.root, trusted)
        };
        match origin {
            _ if brings.is_nothing() => Trusted::Everything,
            Origin::Project => within(&self.trusted),
            Origin::Additional => within(&self.added),
            _ => Trusted::Everything,
        }
    }
}

/// The part of a layer that takes effect at this level of trust.
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

/// Keeps trust when ona changes a file on the operator's answer: if the old contents were trusted or needed no trust, the
/// new contents are trusted. Returns whether they are.
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
