//! `cargo xtask licences`: are all dependencies allowed?
//!
//! deny.toml is the only list of rules. cargo-deny reads it if it is
//! installed; otherwise this module applies the same three checks (licences,
//! banned crates, sources) to the output of `cargo metadata`. It does not read
//! licence texts: a crate without a licence expression is refused.

use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::metadata::{self, Package};
use crate::process;
use crate::spdx::Expression;

pub fn run(root: &Path) -> Result<()> {
    if process::has_cargo_subcommand("deny") {
        return process::run(
            process::cargo()
                .args(["deny", "--locked", "check", "licenses", "bans", "sources"])
                .current_dir(root),
        );
    }
    let path = root.join("deny.toml");
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("cannot read {}", path.display()))?;
    let rules = Rules::parse(&text)?;
    let packages = metadata::used_packages(root)?;
    let broken: Vec<String> =
        packages.iter().flat_map(|package| rules.broken_by(package)).collect();
    if !broken.is_empty() {
        bail!("deny.toml does not allow\n  {}", broken.join("\n  "));
    }
    let foreign = packages.iter().filter(|package| !package.is_private()).count();
    println!("deny.toml allows the licences, bans and sources of all {foreign} crates");
    Ok(())
}

/// The part of deny.toml that is checked here.
#[derive(Debug, Deserialize)]
struct Rules {
    licenses: Licences,
    bans: Bans,
    sources: Sources,
}

#[derive(Debug, Deserialize)]
struct Licences {
    allow: Vec<String>,
    #[serde(default)]
    exceptions: Vec<Exception>,
}

// Unknown keys that would change a rule are refused, not ignored.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Exception {
    #[serde(rename = "crate")]
    name: String,
    allow: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Bans {
    deny: Vec<Ban>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ban {
    #[serde(rename = "crate")]
    name: String,
    reason: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[expect(dead_code, reason = "parsing both levels is the check")]
struct Sources {
    unknown_registry: Deny,
    unknown_git: Deny,
    allow_registry: Vec<String>,
}

/// The only supported level for a source that is not listed.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Deny {
    Deny,
}

impl Rules {
    fn parse(text: &str) -> Result<Self> {
        let rules: Self = toml::from_str(text).context("cannot parse deny.toml")?;
        let names = rules.licenses.exceptions.iter().map(|exception| &exception.name);
        for name in names.chain(rules.bans.deny.iter().map(|ban| &ban.name)) {
            if name.contains(['@', ':', ' ']) {
                bail!("deny.toml: `{name}` must be a crate's name alone, without a version");
            }
        }
        Ok(rules)
    }

    /// The rules that `package` breaks, one line each.
    fn broken_by(&self, package: &Package) -> Vec<String> {
        let Package { name, version, .. } = package;
        [self.licence(package), self.ban(package), self.source(package)]
            .into_iter()
            .flatten()
            .map(|problem| format!("{name} {version}: {problem}"))
            .collect()
    }

    fn licence(&self, package: &Package) -> Option<String> {
        if package.is_private() {
            return None;
        }
        let Some(expression) = &package.license else {
            return Some("it has no licence expression".to_owned());
        };
        let allowed = |licence: &str| {
            let exceptions = self.licenses.exceptions.iter();
            let own = exceptions.filter(|exception| exception.name == package.name);
            let lists = own.map(|exception| &exception.allow).chain([&self.licenses.allow]);
            lists.flatten().any(|allowed| allowed == licence)
        };
        match Expression::parse(expression) {
            Ok(parsed) if parsed.is_met_by(&allowed) => None,
            Ok(_) => Some(format!("licence `{expression}`")),
            Err(error) => Some(format!("licence `{expression}`: {error}")),
        }
    }

    fn ban(&self, package: &Package) -> Option<String> {
        let ban = self.bans.deny.iter().find(|ban| ban.name == package.name)?;
        Some(format!("banned: {}", ban.reason))
    }

    fn source(&self, package: &Package) -> Option<String> {
        let source = package.source.as_deref()?;
        let allowed = source
            .strip_prefix("registry+")
            .is_some_and(|registry| self.sources.allow_registry.iter().any(|one| one == registry));
        (!allowed).then(|| format!("source `{source}`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

    const RULES: &str = r#"
        [licenses]
        allow = ["MIT", "Apache-2.0"]
        exceptions = [{ crate = "matcher", allow = ["MPL-2.0"] }]
        unused-allowed-license = "allow"
        [bans]
        multiple-versions = "allow"
        deny = [{ crate = "ring", reason = "one crypto provider is enough" }]
        [sources]
        unknown-registry = "deny"
        unknown-git = "deny"
        allow-registry = ["https://github.com/rust-lang/crates.io-index"]
    "#;

    fn package(name: &str, license: Option<&str>, source: Option<&str>) -> Package {
        Package {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            license: license.map(str::to_owned),
            source: source.map(str::to_owned),
            publish: None,
        }
    }

    fn broken(package: &Package) -> Result<String> {
        Ok(Rules::parse(RULES)?.broken_by(package).join("; "))
    }

    #[test]
    fn licences_are_held_against_the_list() -> Result<()> {
        assert_eq!(broken(&package("a", Some("MIT OR GPL-3.0-only"), Some(CRATES_IO)))?, "");
        assert_eq!(
            broken(&package("a", Some("GPL-3.0-only"), Some(CRATES_IO)))?,
            "a 1.0.0: licence `GPL-3.0-only`"
        );
        assert_eq!(
            broken(&package("a", None, Some(CRATES_IO)))?,
            "a 1.0.0: it has no licence expression"
        );
        Ok(())
    }

    #[test]
    fn an_exception_is_for_one_crate() -> Result<()> {
        assert_eq!(broken(&package("matcher", Some("MPL-2.0"), Some(CRATES_IO)))?, "");
        assert_eq!(broken(&package("matcher", Some("MPL-2.0 AND MIT"), Some(CRATES_IO)))?, "");
        assert_ne!(broken(&package("other", Some("MPL-2.0"), Some(CRATES_IO)))?, "");
        Ok(())
    }

    #[test]
    fn bans_give_their_reason() -> Result<()> {
        assert_eq!(
            broken(&package("ring", Some("MIT"), Some(CRATES_IO)))?,
            "ring 1.0.0: banned: one crypto provider is enough"
        );
        Ok(())
    }

    #[test]
    fn only_listed_registries_are_sources() -> Result<()> {
        for source in [
            "git+https://github.com/someone/a#0123456",
            "registry+https://example.org/index",
            "sparse+https://example.org/index/",
        ] {
            assert_eq!(
                broken(&package("a", Some("MIT"), Some(source)))?,
                format!("a 1.0.0: source `{source}`")
            );
        }
        Ok(())
    }

    #[test]
    fn private_crates_of_the_workspace_are_skipped() -> Result<()> {
        let mut own = package("ona", None, None);
        assert_ne!(broken(&own)?, "", "a path dependency that is published needs a licence");
        own.publish = Some(Vec::new());
        assert_eq!(broken(&own)?, "");
        Ok(())
    }

    #[test]
    fn rules_that_would_be_overlooked_are_refused() {
        for (from, to) in [
            ("crate = \"ring\"", "crate = \"ring@0.17\""),
            ("crate = \"ring\"", "crate = \"ring\", wrappers = [\"a\"]"),
            ("unknown-git = \"deny\"", "unknown-git = \"allow\""),
            ("unknown-git = \"deny\"", "unknown-git = \"deny\"\nallow-git = [\"x\"]"),
        ] {
            assert!(Rules::parse(&RULES.replace(from, to)).is_err(), "{to}");
        }
    }

    #[test]
    fn the_rules_of_the_repository_are_understood() -> Result<()> {
        let rules = Rules::parse(&std::fs::read_to_string(crate::root().join("deny.toml"))?)?;
        assert!(rules.licenses.allow.iter().all(|licence| !licence.contains("GPL")));
        assert!(rules.bans.deny.iter().all(|ban| !ban.reason.is_empty()));
        Ok(())
    }
}
