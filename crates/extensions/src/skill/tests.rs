//! What a skill's keys amount to.

use super::*;
use crate::keys;

fn of(kind: SkillKind, text: &str) -> (Result<SkillDefinition, KeyError>, Vec<String>) {
    let document = keys::read(text).unwrap();
    let keys = document.keys.unwrap_or_default();
    let mut notes = Notes::about(Path::new("/p/.claude/skills/deploy/SKILL.md"));
    let found = Found {
        kind,
        name: "deploy".to_owned(),
        namespace: Vec::new(),
        origin: &Origin::Project,
        base: Path::new("/p"),
        plugin: None,
    };
    let skill = name(&found, &keys, &mut notes)
        .and_then(|name| read(name, found, &keys, document.body, &mut notes));
    (skill, notes.found.iter().map(ToString::to_string).collect())
}

fn skill(keys: &str) -> (Result<SkillDefinition, KeyError>, Vec<String>) {
    of(SkillKind::Skill, &format!("---\n{keys}\n---\n# Deploy\n\nDo it.\n"))
}

fn good(keys: &str) -> SkillDefinition {
    let (skill, said) = skill(keys);
    assert_eq!(said, [""; 0], "{keys}");
    skill.unwrap()
}

#[test]
fn every_key_counts() {
    let skill = good(
        "name: ship\ndescription: ships\nargument-hint: '[target]'\ndisable-model-invocation: true\n\
         user-invocable: false\nallowed-tools: Bash(git push *), Read\nmodel: opus\neffort: max\n\
         context: fork\nagent: Explore\nhooks: {Stop: []}\npaths: src/**/*.{ts,tsx}, lib/*\nshell: sh",
    );
    assert_eq!((skill.name.as_str(), skill.description.as_str()), ("ship", "ships"));
    assert_eq!(skill.argument_hint.as_deref(), Some("[target]"));
    assert!(!skill.model_invocable && !skill.user_invocable && skill.forks);
    assert_eq!(skill.allowed_tools, ["Bash(git push *)", "Read"]);
    assert_eq!((skill.model.as_deref(), skill.effort), (Some("opus"), Some(Effort::Max)));
    assert_eq!(skill.agent.as_deref(), Some("Explore"));
    assert!(skill.hooks.is_some());
    assert_eq!(skill.shell, Shell::Sh);
    let paths = skill.paths.unwrap();
    assert!(paths.fits(Path::new("/p/src/a/b.tsx")) && paths.fits(Path::new("/p/lib/x")));
    assert!(!paths.fits(Path::new("/p/src/a.rs")) && !paths.fits(Path::new("/q/lib/x")));
}

#[test]
fn missing_keys_have_defaults() {
    for text in ["# Deploy\nall of it\n\nDo it.\n", "---\n---\n\n\n## Deploy\nall of it\n\nmore"] {
        let (skill, said) = of(SkillKind::Skill, text);
        let skill = skill.unwrap();
        assert_eq!(
            (skill.name.as_str(), skill.description.as_str()),
            ("deploy", "Deploy all of it")
        );
        assert!(skill.model_invocable && skill.user_invocable && !skill.forks);
        assert_eq!((skill.shell, said.len()), (Shell::Bash, 0));
    }
    assert_eq!(good("argument-hint: [file] [line]").argument_hint.unwrap(), "[file] [line]");
    assert_eq!(good("argument-hint: [message]").argument_hint.unwrap(), "[message]");
    assert_eq!(good("allowed-tools: [Read, 'Bash(ls)']").allowed_tools, ["Read", "Bash(ls)"]);
    // A command has the name of its file.
    let (command, _) = of(SkillKind::Command, "---\nname: other\n---\nx");
    assert_eq!(command.unwrap().name, "deploy");
}

#[test]
fn an_invalid_key_never_gives_more_rights() {
    for key in ["disable-model-invocation: yes", "paths: {a: b}", "paths: '{a'"] {
        let (skill, said) = skill(key);
        assert!(!skill.unwrap().model_invocable, "{key}");
        assert!(said[0].ends_with("only the user can call it until it is fixed"), "{said:?}");
    }
    for key in ["hooks: none", "shell: fish"] {
        assert!(skill(key).0.is_err(), "{key}");
    }
    let (found, said) = skill("allowed-tools: Read, Write(x)");
    assert_eq!(found.unwrap().allowed_tools, ["Read"]);
    assert!(!said.is_empty() && said[0].contains("SKILL.md:2: `allowed-tools`"), "{said:?}");
    let (found, said) = skill("name: Not This");
    assert_eq!(found.unwrap().name, "deploy");
    assert!(said[0].contains("using `deploy`"), "{said:?}");
    let (found, _) = skill("context: spoon\nuser-invocable: 3\nmodel: {}\neffort: x");
    let found = found.unwrap();
    assert!(!found.forks && found.user_invocable && found.model.is_none());
}
