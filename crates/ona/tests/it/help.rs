//! `ona help`: the pages inside the binary, and the help of commands.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Stdio;

use ona_testkit::{Project, run};
use serde_json::Value;

use crate::project;

/// Every page, in the order in which they are listed.
const TOPICS: [&str; 15] = [
    "cold-start",
    "interactive",
    "headless",
    "credentials",
    "environment",
    "hooks",
    "phases",
    "intents",
    "hosts",
    "extensions",
    "servers",
    "web",
    "memories",
    "sandboxing",
    "security",
];

fn help(project: &Project, words: &[&str]) -> String {
    let ran = run(&mut project.ona([&["help"], words].concat()));
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{words:?}");
    ran.stdout
}

#[test]
fn commands_and_topics_are_listed() {
    let project = project();
    let said = help(&project, &[]);
    let usual = run(&mut project.ona(["--help"])).stdout;
    let (commands, topics) =
        said.split_once("\nTopics (`ona help TOPIC` shows the page):\n").unwrap();
    assert_eq!(commands, usual);
    let listed: Vec<&str> =
        topics.lines().map(|line| line.split_whitespace().next().unwrap()).collect();
    assert_eq!(listed, TOPICS);

    let json: Value = serde_json::from_str(&help(&project, &["--json"])).unwrap();
    let names = json["topics"].as_array().unwrap().iter().map(|topic| topic["topic"].as_str());
    assert_eq!(names.collect::<Vec<_>>(), TOPICS.map(Some));
    assert_eq!(json["topics"][5]["title"], "Hooks");
}

#[test]
fn every_page_is_readable_text() {
    let project = project();
    for topic in TOPICS {
        let page = help(&project, &[topic]);
        assert!(page.lines().nth(1).is_some_and(|line| line.starts_with("===")), "{page}");
        for mark in ["```sh", "](", "|---", "**"] {
            let line = page.lines().find(|line| line.contains(mark) && !line.starts_with("    "));
            // A code span may show any of them.
            let line = line.filter(|line| !line.contains('`'));
            assert_eq!(line, None, "{topic}: {mark}");
        }
        assert!(!page.contains("docs/"), "{topic} leads to a file that is not installed");
    }
    let hooks = help(&project, &["hooks"]);
    assert!(hooks.contains("PreToolUse\n    Fires: before every tool call"), "{hooks}");
    assert!(hooks.contains("`ona help extensions`"), "{hooks}");
    let code = "\n    ona memory search database tests";
    assert!(help(&project, &["memories"]).contains(code));

    let json: Value = serde_json::from_str(&help(&project, &["web", "--json"])).unwrap();
    assert_eq!(json["page"], include_str!("../../../../docs/WEB.md"));
}

#[test]
fn a_command_has_its_own_help() {
    let project = project();
    for words in [&["memory"][..], &["mcp", "add"], &["help"]] {
        let usual = run(&mut project.ona([words, &["--help"]].concat())).stdout;
        assert!(usual.contains("Usage: ona"), "{usual}");
        assert_eq!(help(&project, words), usual);
    }
    let ran = run(&mut project.ona(["help", "memory", "--json"]));
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.starts_with("error: the help of a command is not available as JSON\n"));
}

#[test]
fn an_unknown_name_is_told_with_the_closest_ones() {
    let project = project();
    for (words, expected) in [
        (&["hoks"][..], "error: unknown topic or command `hoks`\nhint: did you mean `hooks`?\n"),
        (
            &["environ"],
            "error: unknown topic or command `environ`\nhint: did you mean `environment`?\n",
        ),
        (&["mcp", "ad"], "error: unknown command `mcp ad`\nhint: did you mean `add`"),
        (&["zzz"], "error: unknown topic or command `zzz`\nhint: `ona help` lists"),
        (&["hooks", "more"], "error: unknown topic or command `hooks`"),
    ] {
        let ran = run(&mut project.ona([&["help"], words].concat()));
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{words:?}");
        assert!(ran.stderr.starts_with(expected), "{words:?}: {}", ran.stderr);
        assert!(ran.stderr.ends_with("hint: `ona help` lists commands and topics\n"));
    }
}

/// The commands that a help page lists.
fn commands(page: &str) -> Vec<String> {
    let part = page.split_once("\nCommands:\n").map_or("", |(_, part)| part);
    let lines = part.lines().take_while(|line| line.starts_with("  "));
    let names = lines.filter(|line| !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next().map(str::to_owned)).collect()
}

/// Every help page of the commands that are listed, with the words that show it. Lines are as long as the longest
/// that ona prints.
fn all_pages() -> BTreeMap<Vec<String>, String> {
    let project = project();
    let mut pages = BTreeMap::new();
    let mut open = vec![Vec::new()];
    while let Some(words) = open.pop() {
        let mut command = project.ona([&words[..], &["--help".to_owned()]].concat());
        let ran = run(command.env("COLUMNS", "100").stdin(Stdio::null()));
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{words:?}");
        for name in commands(&ran.stdout) {
            open.push([&words[..], &[name]].concat());
        }
        pages.insert(words, ran.stdout);
    }
    pages
}

#[test]
fn no_help_leads_to_a_file_that_is_not_installed() {
    let files = ["docs/ENV", "docs/HO", "ARCHITECTURE", "DECISIONS", "CONTRIBUTING", ".md has"];
    let pages = all_pages();
    for (words, page) in &pages {
        for found in files {
            assert!(!page.contains(found), "{words:?}: {page}");
        }
    }
    for words in [["mcp", "add"], ["memory", "import"]] {
        assert!(pages.contains_key(&words.map(str::to_owned)[..]), "{words:?}");
    }
}

/// One snapshot for each command, with the pages of its subcommands. `INSTA_UPDATE=always cargo test -p ona --test it
/// help` writes them.
#[test]
fn every_page_is_reviewed() {
    let mut by_command: BTreeMap<String, String> = BTreeMap::new();
    for (words, page) in all_pages() {
        let name = words.first().map_or("ona", String::as_str).to_owned();
        let line = [&["ona".to_owned()], &words[..], &["--help".to_owned()]].concat().join(" ");
        // Editors and git complain about blanks at the end of a line.
        let page: Vec<&str> = page.lines().map(str::trim_end).collect();
        let part = format!("$ {line}\n\n{}\n\n", page.join("\n"));
        by_command.entry(name).or_default().push_str(&part);
    }
    for (name, pages) in &by_command {
        insta::assert_snapshot!(name.as_str(), pages);
    }
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/snapshots");
    let files = fs::read_dir(dir).unwrap().map(|file| file.unwrap().file_name());
    let files = files.map(|name| name.into_string().unwrap());
    let kept: BTreeSet<String> = files
        .filter_map(|name| Some(name.strip_prefix("it__help__")?.strip_suffix(".snap")?.to_owned()))
        .collect();
    assert_eq!(kept, by_command.into_keys().collect(), "a snapshot without its command");
}
