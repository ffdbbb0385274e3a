//! Which extensions are found, which win, and the warnings about the rest.

use std::fs;

use ona_config::settings::Roots;
use ona_config::trust::{Agreement, RunTrust};
use tempfile::TempDir;

use super::*;
use crate::{Piece, RenderContext, SkillKind, added_effects, render, tools_for, trust_request};

struct World {
    dir: TempDir,
}

impl World {
    fn new(files: &[(&str, &str)]) -> Self {
        let world = Self { dir: tempfile::tempdir().unwrap() };
        fs::create_dir_all(world.at("repo/.git")).unwrap();
        fs::create_dir_all(world.at("repo/sub")).unwrap();
        for (path, text) in files {
            world.put(path, text);
        }
        world
    }

    fn at(&self, path: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(path)
    }

    fn put(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn roots(&self) -> Roots {
        Roots {
            project_dir: self.at("repo/sub"),
            home: self.at("home"),
            claude_dir: self.at("home/.claude"),
            ona_config: self.at("home/.config/ona"),
            managed_dirs: vec![self.at("managed")],
            cwd: self.at("repo/sub"),
        }
    }

    /// Trust for a run that begins now.
    fn trust_now(&self) -> RunTrust {
        let (run, roots) = (RunTrust::given(), self.roots());
        let added = added_effects(&[self.at("added")]);
        run.begin(&trust_request(&roots, &[], true), &added, &roots);
        run
    }

    fn agreement(&self, run: &RunTrust) -> Agreement {
        Agreement::to(&self.roots(), Vec::new(), run)
    }

    fn load_with(
        &self,
        agents: Option<&str>,
        plugins: Vec<Plugin>,
        agreed: Agreement,
    ) -> Extensions {
        let roots = self.roots();
        let additional_dirs = &[self.at("added")];
        Extensions::load(Sources {
            project: true,
            skills: true,
            roots: &roots,
            additional_dirs,
            agents,
            plugins,
            files: true,
            agreed,
        })
    }

    fn load(&self) -> Extensions {
        self.load_with(None, Vec::new(), self.agreement(&self.trust_now()))
    }
}

fn agent(name: &str, whose: &str) -> String {
    format!("---\nname: {name}\ndescription: {whose}\n---\n{whose}")
}

fn said(extensions: &Extensions) -> Vec<String> {
    extensions.warnings.iter().map(ToString::to_string).collect()
}

#[test]
fn agents_win_in_their_order() {
    let places = [
        ("managed", "managed/.claude/agents/x.md"),
        ("near", "repo/sub/.claude/agents/deep/er/x.md"),
        ("root", "repo/.claude/agents/x.md"),
        ("user", "home/.claude/agents/x.md"),
    ];
    let world = World::new(&[]);
    for (whose, place) in places {
        world.put(place, agent("same", whose));
        world.put(&place.replace("x.md", "y.md"), agent(&format!("of-{whose}"), whose));
    }
    let given = r#"{"same": {"description": "given", "prompt": "p"},
                    "Explore": {"description": "mine", "prompt": "p", "tools": ["Read"]}}"#;
    let extensions = world.load_with(Some(given), Vec::new(), world.agreement(&world.trust_now()));
    assert_eq!(said(&extensions), [""; 0]);
    assert_eq!(extensions.agent("same").unwrap().description, "managed");
    for whose in ["near", "root", "user"] {
        assert_eq!(extensions.agent(&format!("of-{whose}")).unwrap().prompt, whose);
    }
    let shadowed: Vec<_> =
        extensions.shadowed.iter().map(|s| (s.name.as_str(), &s.origin, &s.by)).collect();
    assert_eq!(
        shadowed,
        [
            ("same", &Origin::Given, &Origin::Managed),
            ("same", &Origin::Project, &Origin::Managed),
            ("same", &Origin::Project, &Origin::Managed),
            ("same", &Origin::User, &Origin::Managed),
            ("Explore", &Origin::BuiltIn, &Origin::Given),
        ]
    );
    assert_eq!(extensions.agent("Explore").unwrap().description, "mine");
    assert_eq!(extensions.agent("general-purpose").unwrap().tools, None);
    let plan = extensions.agent("Plan").unwrap();
    assert!(
        !tools_for(plan, &["Write".into(), "Edit".into(), "Bash".into(), "Read".into()])
            .contains(&"Write".into())
    );
    let unknown = extensions.agent("explore").unwrap_err().to_string();
    assert_eq!(unknown, "unknown agent `explore`: did you mean `Explore`?");
}

#[test]
fn a_bad_file_costs_only_itself() {
    let world = World::new(&[
        ("repo/.claude/agents/a.md", "no keys"),
        ("repo/.claude/agents/b.md", "---\nname: b\n"),
        ("repo/.claude/agents/c.md", "---\nname: c\ndescription: x\ntools: [Read\n---\n"),
        ("repo/.claude/agents/d.md", "---\nname: d\n---\n"),
        ("repo/.claude/agents/e.md", "---\nname: E e\ndescription: x\n---\n"),
        ("repo/.claude/agents/f.md", "---\nname: f\ndescription: x\npermissionMode: all\n---\n"),
        ("repo/.claude/agents/good.md", "---\nname: good\ndescription: x\n---\n"),
        // What a broken file hides may have more rights than meant.
        ("home/.claude/agents/f.md", "---\nname: f\ndescription: the user's\n---\n"),
        ("repo/.claude/skills/s/SKILL.md", "---\nshell: fish\n---\n"),
        ("repo/.claude/commands/s.md", "x"),
    ]);
    world.put("repo/.claude/agents/g.md", b"---\nname: g\xff\n---\n");
    world.put("repo/.claude/agents/h.md", "x".repeat(2 << 20));
    let extensions = world.load();
    let said = said(&extensions);
    let said_of =
        |name: &str| -> Vec<&String> { said.iter().filter(|text| text.contains(name)).collect() };
    for (file, why) in [
        ("a.md:1: ", "an agent must start with front matter"),
        ("b.md:1: ", "is not closed"),
        ("c.md", "not valid YAML"),
        ("d.md: ", "`description` is missing"),
        ("e.md:2: ", "`name` must be"),
        ("f.md:4: ", "unknown permission mode `all`"),
        ("g.md: ", "it is not UTF-8"),
        ("h.md: ", "it is larger than 1 MiB"),
        ("SKILL.md:2: ", "`shell` must be one of"),
    ] {
        let found = said_of(file);
        assert_eq!(found.len(), 1, "{file}: {said:#?}");
        assert!(found[0].contains(why) && found[0].contains("; "), "{file}: {found:?}");
    }
    assert_eq!(said.len(), 9, "{said:#?}");
    assert!(extensions.agent("good").is_ok());
    let unusable = extensions.agent("f").unwrap_err().to_string();
    assert_eq!(
        unusable,
        "the agent `f` cannot be used: unknown permission mode `all` (expected default, acceptEdits, plan, dontAsk or \
         bypassPermissions)"
    );
    assert!(extensions.skill("s").unwrap_err().to_string().contains("cannot be used"));
}

#[test]
fn agents_that_are_given_are_checked() {
    assert!(check_given("{").unwrap_err().to_string().contains("invalid JSON"));
    assert!(check_given("[]").unwrap_err().to_string().contains("must be an object"));
    assert!(check_given("{}").is_ok());
    let given = r#"{"a": {"description": "x"}, "b": 1, "c": {"description": "x", "prompt": "p", "tools": 5},
                    "D d": {}, "e": {"description": "x", "prompt": "p", "disallowedTools": ["Bash"], "maxTurns": 2}}"#;
    let world = World::new(&[]);
    let extensions = world.load_with(Some(given), Vec::new(), world.agreement(&world.trust_now()));
    let said = said(&extensions);
    assert_eq!(said.len(), 4, "{said:?}");
    for (text, begins) in said.iter().zip([
        "--agents: a: `prompt` is missing",
        "--agents: b: it must be an object",
        "--agents: c: `tools` must be a list",
        "--agents: D d: invalid name: use lowercase letters",
    ]) {
        assert!(text.starts_with(begins), "{said:?}");
    }
    let e = extensions.agent("e").unwrap();
    assert_eq!((e.disallowed_tools.as_slice(), e.path.as_ref()), (&["Bash".to_owned()][..], None));
    let broken = world.load_with(Some("x"), Vec::new(), world.agreement(&world.trust_now()));
    assert_eq!(broken.warnings.len(), 1);
}

#[test]
fn skills_win_in_their_order_and_commands_lose() {
    let world = World::new(&[
        ("managed/.claude/skills/one/SKILL.md", "managed"),
        ("home/.claude/skills/one/SKILL.md", "user"),
        ("home/.claude/skills/two/SKILL.md", "user"),
        ("repo/sub/.claude/skills/two/SKILL.md", "near"),
        ("repo/sub/.claude/skills/three/SKILL.md", "near"),
        ("repo/.claude/skills/three/SKILL.md", "root"),
        ("added/.claude/skills/four/SKILL.md", "added"),
        ("repo/.claude/commands/one.md", "command"),
        ("repo/.claude/commands/front/card.md", "project's"),
        ("home/.claude/commands/back/card.md", "user's"),
        ("home/.claude/commands/plain.md", "user's"),
    ]);
    let extensions = world.load();
    assert_eq!(said(&extensions), [""; 0]);
    for (name, whose) in [
        ("one", "managed"),
        ("two", "user"),
        ("three", "near"),
        ("four", "added"),
        ("plain", "user's"),
        ("card", "user's"),
        ("back:card", "user's"),
        ("front:card", "project's"),
    ] {
        assert_eq!(extensions.skill(name).unwrap().body, whose, "{name}");
    }
    assert_eq!(extensions.skill("front:card").unwrap().label(), "project:front");
    assert_eq!(
        extensions.skill("thre").unwrap_err().to_string(),
        "unknown skill `thre`: did you mean `three`?"
    );
    assert_eq!(extensions.shadowed.len(), 5, "{:#?}", extensions.shadowed);
}

#[test]
fn skills_near_a_file_are_found_once() {
    let world = World::new(&[
        ("repo/pkg/a/.claude/skills/here/SKILL.md", "here"),
        ("repo/pkg/.claude/skills/above/SKILL.md", "above"),
        ("repo/.claude/skills/top/SKILL.md", "top"),
        ("repo/.claude/skills/ts/SKILL.md", "---\npaths: '**/*.ts'\n---\nx"),
        ("outside/.claude/skills/no/SKILL.md", "no"),
    ]);
    let mut extensions = world.load();
    let listing = extensions.listing(8000);
    assert!(listing.contains("- top: top") && !listing.contains("- ts"), "{listing}");
    let mut near = |file: &str| -> Vec<String> {
        extensions.near(&world.at(file)).iter().map(|skill| skill.name.clone()).collect()
    };
    assert_eq!(near("outside/x.rs"), [""; 0]);
    assert_eq!(near("repo/pkg/a/src/x.rs"), ["here", "above"]);
    assert_eq!(near("repo/pkg/a/src/y.rs"), [""; 0]);
    assert_eq!(near("repo/sub/x.ts"), ["ts"]);
    assert_eq!(near("repo/sub/y.ts"), [""; 0]);
    assert!(extensions.listing(8000).contains("- ts: x"));
    assert!(extensions.skill("above").is_ok());
}

#[test]
fn what_a_repository_would_do_is_held_back() {
    let world = World::new(&[
        (
            "repo/.claude/agents/a.md",
            "---\nname: a\ndescription: x\nhooks: {Stop: []}\nmcpServers: [db]\npermissionMode: bypassPermissions\n---\n",
        ),
        ("repo/.claude/agents/b.md", "---\nname: b\ndescription: x\npermissionMode: plan\n---\n"),
        ("repo/.claude/skills/s/SKILL.md", "---\nallowed-tools: Bash\nhooks: {Stop: []}\n---\nx"),
        ("home/.claude/skills/u/SKILL.md", "---\nallowed-tools: Bash\n---\nx"),
        ("added/.claude/skills/d/SKILL.md", "---\nallowed-tools: Bash\n---\nx"),
    ]);
    let held = world.load_with(None, Vec::new(), Agreement::default());
    let a = held.agent("a").unwrap();
    assert_eq!(a.held_back, ["hooks", "mcpServers", "permissionMode"]);
    assert!(a.hooks.is_none() && a.mcp_servers.is_empty() && a.permission_mode.is_none());
    let b = held.agent("b").unwrap();
    assert!(b.held_back.is_empty() && b.permission_mode.is_some(), "what forbids always acts");
    let s = held.skill("s").unwrap();
    assert!(s.allowed_tools.is_empty() && s.hooks.is_none());
    assert_eq!(held.skill("u").unwrap().allowed_tools, ["Bash"]);
    assert_eq!(held.skill("d").unwrap().held_back, ["allowed-tools"]);
    let run = world.trust_now();
    let agreed = world.load_with(None, Vec::new(), world.agreement(&run));
    assert!(agreed.agent("a").unwrap().held_back.is_empty());
    assert_eq!(agreed.skill("s").unwrap().allowed_tools, ["Bash"]);
    assert_eq!(agreed.skill("d").unwrap().allowed_tools, ["Bash"]);
    // What is written while the run goes on is not covered.
    world
        .put("repo/.claude/agents/a.md", "---\nname: a\ndescription: x\nhooks: {Stop: [1]}\n---\n");
    world.put("added/.claude/skills/d/SKILL.md", "---\nallowed-tools: Bash, Write\n---\nx");
    world.put("repo/.claude/skills/n/SKILL.md", "---\nallowed-tools: Bash\n---\nx");
    let later = world.load_with(None, Vec::new(), world.agreement(&run));
    assert_eq!(later.agent("a").unwrap().held_back, ["hooks"]);
    assert_eq!(later.skill("d").unwrap().held_back, ["allowed-tools"]);
    assert_eq!(later.skill("n").unwrap().held_back, ["allowed-tools"]);
    assert_eq!(later.skill("s").unwrap().allowed_tools, ["Bash"]);
}

#[test]
fn a_plugin_has_a_namespace_of_its_own() {
    let world = World::new(&[
        ("kit/.claude-plugin/plugin.json", r#"{"name": "kit"}"#),
        ("kit/agents/a.md", &agent("a", "at ${CLAUDE_PLUGIN_ROOT}")),
        ("kit/skills/s/SKILL.md", "skill in ${CLAUDE_PLUGIN_ROOT}"),
        ("kit/commands/c.md", "command"),
        ("kit/commands/s.md", "loses"),
        ("home/.claude/skills/s/SKILL.md", "user's"),
    ]);
    let plugin = Plugin::read(&world.at("kit"), &world.at("data")).unwrap();
    let extensions = world.load_with(None, vec![plugin], Agreement::default());
    let root = world.at("kit");
    assert_eq!(extensions.agent("kit:a").unwrap().prompt, format!("at {}", root.display()));
    assert_eq!(extensions.skill("s").unwrap().body, "user's");
    assert_eq!(extensions.skill("kit:c").unwrap().kind, SkillKind::Command);
    let skill = extensions.skill("kit:s").unwrap();
    let context = RenderContext { session_id: "x", commands_off: false };
    let rendered = render(skill, "", &context).unwrap();
    assert_eq!(rendered.pieces, [Piece::Text(format!("skill in {}", root.display()))]);
    assert_eq!(extensions.plugins.len(), 1);
}

#[test]
fn the_listing_keeps_names_longest() {
    let world = World::new(&[]);
    for at in 0..20 {
        let text = format!("---\ndescription: {}\n---\n", "word ".repeat(100));
        world.put(&format!("home/.claude/skills/skill-{at:02}/SKILL.md"), text);
    }
    let hidden = "---\ndisable-model-invocation: true\n---\nhidden";
    world.put("home/.claude/skills/hidden/SKILL.md", hidden);
    let extensions = world.load();
    for room in [0, 10, 100, 260, 300, 500, 1000, 3000, 8000] {
        let listing = extensions.listing(room);
        assert!(!listing.contains("hidden"));
        assert!(listing.chars().count() <= room.max(16), "{room}: {}", listing.len());
        if room >= 300 {
            assert_eq!(listing.lines().count(), 20, "{room}: {listing}");
        }
    }
    let full = extensions.listing(8000);
    assert!(full.lines().all(|line| line.chars().count() <= 250 + "- skill-00: ".len()));
    assert!(extensions.listing(100).ends_with(" more"));
    assert_eq!(listing_room(Some(200_000), None), 8000);
    assert_eq!(listing_room(Some(200_000), Some(5)), 5);
    assert_eq!(listing_room(None, None), 8000);
}

#[test]
fn styles_are_found_and_the_nearest_wins() {
    let world = World::new(&[
        ("home/.claude/output-styles/terse.md", "---\ndescription: mine\n---\nBe terse.\n"),
        ("repo/.claude/output-styles/t.md", "---\nname: Terse\ndescription: ours\n---\nBriefly.\n"),
        ("repo/.claude/output-styles/empty.md", "---\nname: empty\n---\n"),
        (
            "repo/.claude/output-styles/odd.md",
            "---\ndescriptoin: x\nkeep-coding-instructions: true\n---\nOdd.\n",
        ),
        ("kit/.claude-plugin/plugin.json", r#"{"name": "kit"}"#),
        ("kit/output-styles/formal.md", "Formally."),
    ]);
    let plugin = Plugin::read(&world.at("kit"), &world.at("data")).unwrap();
    let extensions = world.load_with(None, vec![plugin], Agreement::default());
    let names: Vec<&str> = extensions.styles.iter().map(|style| style.name.as_str()).collect();
    assert_eq!(names, ["odd", "Terse", "kit:formal", "default", "Explanatory", "Learning"]);
    let terse = extensions.style("TERSE").unwrap();
    assert_eq!((terse.description.as_str(), terse.body.as_str()), ("ours", "Briefly."));
    assert!(!terse.keeps_coding && extensions.style("odd").unwrap().keeps_coding);
    let said: Vec<String> = extensions.warnings.iter().map(ToString::to_string).collect();
    assert!(said.iter().any(|said| said.contains("needs a text")), "{said:?}");
    assert!(said.iter().any(|said| said.contains("did you mean `description`?")), "{said:?}");
    assert_eq!(
        extensions.style("learnin").unwrap_err().to_string(),
        "unknown output style `learnin`: did you mean `Learning`?"
    );
}
