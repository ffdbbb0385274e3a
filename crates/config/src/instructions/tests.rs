//! Whole trees of files, as a session finds them.

mod hostile;
mod later;

use std::fs;

use super::*;

/// A machine with a home, an organisation and a project, whose session is in `a/b`.
struct World {
    dir: tempfile::TempDir,
    roots: Roots,
}

impl World {
    fn new(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let roots = Roots {
            cwd: top.join("home/code/project/a/b"),
            project_root: top.join("home/code/project"),
            home: top.join("home"),
            claude_dir: top.join("home/.claude"),
            managed_dirs: vec![top.join("etc")],
            ..Roots::default()
        };
        fs::create_dir_all(&roots.cwd).unwrap();
        let world = Self { dir, roots };
        for (path, text) in files {
            world.write(path, text);
        }
        world
    }

    /// `~` is the home, `.` the project; anything else is at the top.
    fn path(&self, path: &str) -> PathBuf {
        match path.split_once('/') {
            Some(("~", rest)) => self.roots.home.join(rest),
            Some((".", rest)) => self.roots.project_root.join(rest),
            _ => self.dir.path().canonicalize().unwrap().join(path),
        }
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn link(&self, path: &str, target: impl AsRef<Path>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, path).unwrap();
    }

    /// What is loaded from this world, without instructions of the machine that runs the test.
    fn load(&self) -> (Loaded, Conditional) {
        let (mut loaded, later) = load(&self.roots);
        loaded.instructions.retain(|one| one.path.starts_with(self.path("")));
        (loaded, later)
    }

    fn contents(&self) -> Vec<String> {
        self.load().0.instructions.into_iter().map(|one| one.content).collect()
    }

    /// The warnings, with paths relative to the world.
    fn warnings(&self, loaded: &Loaded) -> Vec<String> {
        let top = format!("{}/", self.path("").display().to_string().trim_end_matches('/'));
        loaded.warnings.iter().map(|warning| warning.to_string().replace(&top, "")).collect()
    }
}

/// The contents in order, with their type and why they were read.
fn told(loaded: &Loaded) -> Vec<String> {
    let told = loaded.instructions.iter().map(|one| {
        format!("{} {} {}", one.memory_type.as_str(), one.load_reason.as_str(), one.content)
    });
    told.collect()
}

const FAMILY: &[(&str, &str)] = &[
    ("etc/CLAUDE.md", "organisation"),
    ("~/.claude/CLAUDE.md", "user"),
    ("~/.claude/rules/z.md", "user rule"),
    ("~/code/CLAUDE.md", "above"),
    ("./CLAUDE.md", "project"),
    ("./.claude/rules/b/a.md", "second rule"),
    ("./.claude/rules/a.md", "---\ndescription: x\n---\nfirst rule"),
    ("./.claude/rules/typed.md", "---\npaths: '**/*.ts'\n---\nfor ts"),
    ("./.claude/rules/no.txt", "no rule"),
    ("./CLAUDE.local.md", "local"),
    ("./a/b/.claude/CLAUDE.md", "here"),
    ("./a/b/c/CLAUDE.md", "below"),
];

#[test]
fn the_broadest_come_first() {
    let world = World::new(FAMILY);
    let (loaded, _) = world.load();
    let expected = [
        "Managed session_start organisation",
        "User session_start user",
        "User session_start user rule",
        "Project session_start above",
        "Project session_start project",
        "Project session_start first rule",
        "Project session_start second rule",
        "Local session_start local",
        "Project session_start here",
    ];
    assert_eq!(told(&loaded), expected);
    assert_eq!(world.warnings(&loaded), [""; 0]);
    let again = reload(&world.roots).0.instructions;
    assert!(again.iter().all(|one| one.load_reason == LoadReason::Compact));
    assert!(loaded.instructions.iter().all(|one| again.iter().any(|two| one.path == two.path)));
}

#[test]
fn agents_md_stands_in_where_there_is_no_claude_md() {
    for (files, expected) in [
        (&["./AGENTS.md"][..], &["./AGENTS.md"][..]),
        (&["./AGENTS.md", "./CLAUDE.md"], &["./CLAUDE.md"]),
        (&["./AGENT.md"], &["./AGENT.md"]),
        (&["./AGENT.md", "./AGENTS.md"], &["./AGENTS.md"]),
        (&["./AGENT.md", "./CLAUDE.md"], &["./CLAUDE.md"]),
        (&["./AGENTS.md", "./.claude/CLAUDE.md"], &["./.claude/CLAUDE.md"]),
        (&["./AGENTS.md", "./CLAUDE.local.md"], &["./AGENTS.md", "./CLAUDE.local.md"]),
        (&["./CLAUDE.md", "./.claude/CLAUDE.md"], &["./CLAUDE.md", "./.claude/CLAUDE.md"]),
        (&["./AGENTS.md", "./a/CLAUDE.md"], &["./AGENTS.md", "./a/CLAUDE.md"]),
        (&["./.ona/CLAUDE.md", "./.claude/AGENTS.md"], &[]),
    ] {
        let files: Vec<_> = files.iter().map(|file| (*file, *file)).collect();
        assert_eq!(World::new(&files).contents(), expected, "{files:?}");
    }
}

#[test]
fn an_import_follows_its_importer() {
    let world = World::new(&[
        (
            "./CLAUDE.md",
            "See @docs/one.md, @docs/two.md, @docs/one.md; `@docs/code.md` me@docs/x.md.",
        ),
        ("./docs/one.md", "one @deeper/three.md"),
        ("./docs/two.md", "two @../CLAUDE.md @none.md @deeper @types/node"),
        ("./docs/deeper/three.md", "three"),
        ("./docs/code.md", "code"),
        ("./docs/x.md", "mail"),
        ("./a/CLAUDE.md", "a"),
    ]);
    let (loaded, _) = world.load();
    let told: Vec<_> =
        loaded.instructions.iter().map(|one| (&one.path, one.parent.as_ref())).collect();
    let path = |name: &str| world.path(name);
    assert_eq!(
        told,
        [
            (&path("./CLAUDE.md"), None),
            (&path("./docs/one.md"), Some(&path("./CLAUDE.md"))),
            (&path("./docs/deeper/three.md"), Some(&path("./docs/one.md"))),
            (&path("./docs/two.md"), Some(&path("./CLAUDE.md"))),
            (&path("./a/CLAUDE.md"), None),
        ]
    );
    assert_eq!(loaded.instructions[1].load_reason, LoadReason::Include);
    assert_eq!(loaded.instructions[1].memory_type, MemoryType::Project);
    assert!(loaded.warnings.is_empty());
    let event = serde_json::to_value(loaded.instructions[1].event()).unwrap();
    assert_eq!(
        event,
        serde_json::json!({
            "hook_event_name": "InstructionsLoaded",
            "file_path": path("./docs/one.md"),
            "memory_type": "Project",
            "load_reason": "include",
            "parent_file_path": path("./CLAUDE.md"),
        })
    );
}

#[test]
fn imports_end_after_five_hops() {
    let world = World::new(&[("./CLAUDE.md", "0 @1.md")]);
    for hop in 1..9 {
        world.write(&format!("./{hop}.md"), format!("{hop} @{}.md", hop + 1));
    }
    let (loaded, _) = world.load();
    let last = loaded.instructions.last().unwrap();
    assert_eq!((loaded.instructions.len(), last.content.as_str()), (6, "5 @6.md"));
    let warning =
        "home/code/project/6.md: imported by home/code/project/5.md: more than 5 levels of imports";
    assert_eq!(world.warnings(&loaded), [warning]);
}

#[test]
fn who_imports_decides_what_may_be_imported() {
    let mut world = World::new(&[
        ("~/.claude/CLAUDE.md", "user @~/notes.md"),
        ("~/notes.md", "notes"),
        ("~/more.md", "more"),
        ("~/code/CLAUDE.md", "above @shared/x.md @../more.md"),
        ("~/code/shared/x.md", "beside"),
        ("./CLAUDE.md", "project @~/more.md"),
    ]);
    let (loaded, _) = world.load();
    let expected = [
        "User session_start user @~/notes.md",
        "User include notes",
        "Project session_start above @shared/x.md @../more.md",
        "Project include beside",
        "Project session_start project @~/more.md",
    ];
    assert_eq!(told(&loaded), expected);
    let warning = "home/more.md: it leads out of the project, to home/more.md: it is not read unless \
        that is in a working directory (--add-dir home, or permissions.additionalDirectories in your own settings)";
    assert_eq!(world.warnings(&loaded), [warning], "once, though two import it");
    world.roots.additional_dirs = vec![world.roots.home.clone()];
    let (loaded, _) = world.load();
    assert_eq!(told(&loaded)[4], "Project include more");
    assert!(loaded.warnings.is_empty());
}

#[test]
fn excluded_files_are_not_read() {
    let project = "**/code/project/CLAUDE.md";
    for (exclude, gone) in [
        ("**/CLAUDE.md", &["user", "above", "project", "here"][..]),
        (project, &["project"]),
        ("**/.claude/rules/**", &["user rule", "first rule", "second rule"]),
        ("~/code/CLAUDE.md", &["above"]),
        ("/nowhere/**", &[]),
    ] {
        let mut world = World::new(FAMILY);
        let all = world.contents();
        world.roots.excludes = vec![exclude.to_owned()];
        let kept: Vec<_> = all.into_iter().filter(|one| !gone.contains(&one.as_str())).collect();
        assert_eq!(world.contents(), kept, "{exclude}");
    }
    let mut world = World::new(&[("./CLAUDE.md", "project"), ("./AGENTS.md", "agents")]);
    world.roots.excludes = vec![project.to_owned(), "CLAUDE.md".to_owned(), "/{a".to_owned()];
    let (loaded, _) = world.load();
    assert!(loaded.instructions.is_empty(), "what is left out is not replaced");
    let warnings = world.warnings(&loaded);
    assert!(warnings[0].starts_with("claudeMdExcludes: the glob `CLAUDE.md` is skipped:"));
    assert!(warnings[1].starts_with("claudeMdExcludes: the glob `/{a` is skipped:"));
}

#[test]
fn further_working_directories_count_if_asked_for() {
    let mut world = World::new(&[
        ("./CLAUDE.md", "project"),
        ("~/other/CLAUDE.md", "other"),
        ("~/other/CLAUDE.local.md", "never"),
        ("~/other/.claude/rules/r.md", "rule"),
        ("~/other/sub/AGENTS.md", "sub"),
    ]);
    world.roots.additional_dirs = vec![world.path("~/other")];
    assert_eq!(world.contents(), ["project"]);
    let (_, mut later) = world.load();
    assert!(later.on_read(&world.path("~/other/sub/x")).instructions.is_empty());
    world.roots.read_additional = true;
    let (loaded, mut later) = world.load();
    assert_eq!(told(&loaded)[1..], ["Project session_start other", "Project session_start rule"]);
    let more = later.on_read(&world.path("~/other/sub/x"));
    assert_eq!(told(&more), ["Project nested_traversal sub"]);
}
