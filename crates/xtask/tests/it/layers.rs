//! Crates may use each other only as the table in docs/ARCHITECTURE.md allows.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::markdown::{Table, code, tables};
use crate::{capture, none_of, read};

/// A dependency between two workspace crates, by their short names.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Edge {
    from: String,
    to: String,
    dev: bool,
}

/// A row of the table.
#[derive(Debug)]
struct Layer {
    /// `None` for crates outside the layers, such as `testkit`.
    number: Option<u32>,
    name: String,
    may_use: BTreeSet<String>,
}

/// The table with the columns Layer, Crate, Holds, May use.
fn layers(page: &str) -> Result<Vec<Layer>> {
    let table = tables(page)
        .into_iter()
        .find(|table| matches!(&table.header[..], [a, .., d] if a == "Layer" && d == "May use"))
        .context("missing table with the columns Layer, Crate, Holds, May use")?;
    let numbers = numbers(&table)?;
    let layers = table.rows.iter().zip(&numbers).map(|(row, (name, number))| {
        let may_use = may_use(&row[3], *number, &numbers)
            .with_context(|| format!("in the row of `{name}`"))?;
        Ok(Layer { number: *number, name: name.clone(), may_use })
    });
    layers.collect()
}

/// Name and layer of each row.
fn numbers(table: &Table) -> Result<Vec<(String, Option<u32>)>> {
    let rows = table.rows.iter().map(|row| {
        let [layer, name, _, _] = &row[..] else { bail!("not four cells: {row:?}") };
        let name = code(name).with_context(|| format!("no crate in backticks: {row:?}"))?;
        let number = if is_nothing(layer) { None } else { Some(layer.parse()?) };
        Ok((name.to_owned(), number))
    });
    rows.collect()
}

/// The crates named in a cell of "May use". Text after a semicolon is a remark.
fn may_use(
    cell: &str,
    number: Option<u32>,
    all: &[(String, Option<u32>)],
) -> Result<BTreeSet<String>> {
    let list = cell.split(';').next().unwrap_or_default().trim();
    if is_nothing(list) {
        return Ok(BTreeSet::new());
    }
    let is_below = |other: Option<u32>| match (number, other) {
        (_, None) => false,
        (None, Some(_)) => true,
        (Some(own), Some(other)) => other < own,
    };
    if list == "all" || list == "all above" {
        let below = all.iter().filter(|(_, other)| is_below(*other));
        return Ok(below.map(|(name, _)| name.clone()).collect());
    }
    let names = list.split(',').map(|name| {
        let name = name.trim().trim_matches('`');
        let Some((_, other)) = all.iter().find(|(listed, _)| listed == name) else {
            bail!("unknown crate `{name}` in the table");
        };
        ensure!(is_below(*other), "`{name}` is not in a lower layer");
        Ok(name.to_owned())
    });
    names.collect()
}

fn is_nothing(cell: &str) -> bool {
    ["", "–", "—", "-"].contains(&cell)
}

/// The crates of the workspace and the edges between them, from `cargo metadata --no-deps`.
fn workspace(metadata: &Value) -> Result<(BTreeSet<String>, BTreeSet<Edge>)> {
    let packages = metadata["packages"].as_array().context("no packages")?;
    let names: BTreeSet<String> = packages.iter().map(|package| short(&package["name"])).collect();
    let mut edges = BTreeSet::new();
    for package in packages {
        for dependency in package["dependencies"].as_array().context("no dependencies")? {
            // Only our own crates have a path.
            let to = short(&dependency["name"]);
            if dependency["path"].is_string() && names.contains(&to) {
                let dev = dependency["kind"] == "dev";
                edges.insert(Edge { from: short(&package["name"]), to, dev });
            }
        }
    }
    Ok((names, edges))
}

/// `ona-store` is `store`; `ona` stays.
fn short(package: &Value) -> String {
    let name = package.as_str().unwrap_or_default();
    name.strip_prefix("ona-").unwrap_or(name).to_owned()
}

/// What the table does not allow.
fn not_allowed(layers: &[Layer], crates: &BTreeSet<String>, edges: &BTreeSet<Edge>) -> Vec<String> {
    let row = |name: &str| layers.iter().find(|layer| layer.name == name);
    let unlisted =
        crates.iter().filter(|name| row(name).is_none()).map(|name| format!("`{name}` has no row"));
    let forbidden = edges
        .iter()
        // Tests of any crate may use the test kit.
        .filter(|edge| !(edge.dev && edge.to == "testkit"))
        .filter(|edge| row(&edge.from).is_some_and(|layer| !layer.may_use.contains(&edge.to)))
        .map(|Edge { from, to, dev }| {
            let kind = if *dev { " in its tests" } else { "" };
            format!("`{from}` uses `{to}`{kind}")
        });
    unlisted.chain(forbidden).collect()
}

#[test]
fn crates_use_only_what_the_architecture_lists() -> Result<()> {
    let metadata =
        capture(env!("CARGO"), &["metadata", "--no-deps", "--locked", "--format-version", "1"])?;
    let (crates, edges) = workspace(&serde_json::from_str(&metadata)?)?;
    ensure!(crates.contains("xtask"), "cargo metadata lists no crates");
    let layers = layers(&read("docs/ARCHITECTURE.md")?).context("docs/ARCHITECTURE.md")?;
    none_of("docs/ARCHITECTURE.md does not allow", &not_allowed(&layers, &crates, &edges))
}

#[cfg(test)]
mod samples {
    use super::*;
    use serde_json::json;

    const PAGE: &str = "
| Layer | Crate (`crates/<name>`) | Holds | May use |
|---|---|---|---|
| 0 | `types` | ids | – |
| 1 | `store` | SQLite | types |
| 1 | `mcp` | later | types |
| 2 | `tools` | a \\| b | types, `mcp`; the engine through a trait |
| 3 | `engine` | turns | all above |
| 5 | `ona` | the binary | all |
| – | `testkit` | fixtures | types, store |
| – | `xtask` | chores | – |
";

    fn used(name: &str) -> Result<String> {
        let layers = layers(PAGE)?;
        let layer = layers.iter().find(|layer| layer.name == name).context("no such row")?;
        Ok(layer.may_use.iter().cloned().collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn rows_say_what_may_be_used() -> Result<()> {
        assert_eq!(used("types")?, "");
        assert_eq!(used("tools")?, "mcp types");
        assert_eq!(used("engine")?, "mcp store tools types");
        assert_eq!(used("ona")?, "engine mcp store tools types");
        assert_eq!(used("testkit")?, "store types");
        assert_eq!(layers(PAGE)?[3].number, Some(2));
        assert_eq!(layers(PAGE)?[7].number, None);
        Ok(())
    }

    #[test]
    fn arrows_point_down_and_name_crates() {
        for (from, to) in [
            ("| SQLite | types", "| SQLite | engine"),
            ("| SQLite | types", "| SQLite | mcp"),
            ("| SQLite | types", "| SQLite | stypes"),
            ("| `store` |", "| store |"),
            ("| Layer |", "| Level |"),
        ] {
            assert!(layers(&PAGE.replace(from, to)).is_err(), "{to}");
        }
    }

    #[test]
    fn edges_outside_the_table_are_named() -> Result<()> {
        let local =
            |name: &str, kind: Option<&str>| json!({"name": name, "path": "/x", "kind": kind});
        let metadata = json!({"packages": [
            {"name": "ona-types", "dependencies": [{"name": "serde", "kind": null}]},
            {"name": "ona-store", "dependencies": [
                local("ona-types", None), local("ona-testkit", Some("dev")),
            ]},
            {"name": "ona-testkit", "dependencies": [local("ona-store", None)]},
            {"name": "ona-tools", "dependencies": [
                local("ona-store", None), local("ona-store", Some("dev")),
            ]},
            {"name": "ona-extra", "dependencies": []},
            {"name": "ona", "dependencies": [local("ona-tools", None), local("ona-testkit", None)]},
        ]});
        let (crates, edges) = workspace(&metadata)?;
        assert_eq!(
            not_allowed(&layers(PAGE)?, &crates, &edges),
            [
                "`extra` has no row",
                "`ona` uses `testkit`",
                "`tools` uses `store`",
                "`tools` uses `store` in its tests",
            ]
        );
        Ok(())
    }
}
