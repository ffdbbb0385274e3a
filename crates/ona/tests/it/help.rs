//! `ona help`: the pages inside the binary, and the help of commands.

use std::collections::BTreeSet;

use ona_testkit::{Project, run};
use serde_json::Value;

use crate::project;

/// Every page, in the order in which they are listed.
const TOPICS: [&str; 11] = [
    "cold-start",
    "headless",
    "environment",
    "hooks",
    "phases",
    "intents",
    "hosts",
    "extensions",
    "servers",
    "web",
    "memories",
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
    assert_eq!(json["topics"][3]["title"], "Hooks");
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
    assert!(ran.stderr.starts_with("error: the help of a command has no JSON form\n"));
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

#[test]
fn no_help_leads_to_a_file_that_is_not_installed() {
    let project = project();
    let pages = ["docs/ENV", "docs/HO", "ARCHITECTURE", "DECISIONS", "CONTRIBUTING", ".md has"];
    let mut seen = BTreeSet::new();
    let mut open = vec![Vec::new()];
    while let Some(words) = open.pop() {
        let page = run(&mut project.ona([&words[..], &["--help".to_owned()]].concat())).stdout;
        for found in pages {
            assert!(!page.contains(found), "{words:?}: {page}");
        }
        for name in commands(&page).into_iter().filter(|name| name != "help") {
            open.push([&words[..], &[name]].concat());
        }
        seen.insert(words.join(" "));
    }
    assert!(seen.contains("mcp add") && seen.contains("memory import"), "{seen:?}");
}
