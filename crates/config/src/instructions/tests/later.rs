//! Instructions that apply when a file is read.

use super::*;

#[test]
fn reading_a_file_brings_in_what_is_on_the_way_to_it() {
    let world = World::new(&[
        ("./CLAUDE.md", "project"),
        ("./sibling/CLAUDE.md", "not below the session"),
        ("./a/b/c/AGENTS.md", "c @more.md"),
        ("./a/b/c/more.md", "more"),
        ("./a/b/c/d/CLAUDE.md", "d"),
        ("./a/b/c/d/CLAUDE.local.md", "d local"),
        ("./a/b/c/d/.claude/rules/all.md", "d rule"),
        ("./a/b/c/d/.claude/rules/some.md", "---\npaths: '*.rs'\n---\nd rust"),
        ("./a/b/e/CLAUDE.md", "e"),
    ]);
    let (_, mut later) = world.load();
    let mut read = |file: &str| {
        let more = later.on_read(&world.path(file));
        assert!(more.instructions.iter().all(|one| one.trigger == Some(world.path(file))));
        told(&more)
    };
    assert_eq!(read("./a/b/x.rs"), [""; 0]);
    assert_eq!(read("./sibling/x.rs"), [""; 0]);
    assert_eq!(
        read("./a/b/c/x.rs"),
        ["Project nested_traversal c @more.md", "Project include more"]
    );
    assert_eq!(
        read("./a/b/c/d/x.py"),
        [
            "Project nested_traversal d",
            "Project nested_traversal d rule",
            "Local nested_traversal d local"
        ]
    );
    assert_eq!(read("./a/b/c/d/x.rs"), ["Project path_glob_match d rust"]);
    assert_eq!(read("./a/b/c/d/x.rs"), [""; 0], "once");
    world.write("./a/b/new/CLAUDE.md", "written in the meantime");
    assert_eq!(read("./a/b/new/x"), ["Project nested_traversal written in the meantime"]);
}

#[test]
fn rules_for_paths_wait_for_such_a_path() {
    let world = World::new(&[
        ("~/.claude/rules/user.md", "---\npaths: src/*.ts\n---\nuser"),
        (
            "./.claude/rules/ts.md",
            "---\npaths: ['src/**/*.{ts,tsx}', 'lib/*']\n---\nts @ts-more.md",
        ),
        ("./.claude/rules/ts-more.md", "---\npaths: never\n---\nmore"),
        ("./.claude/rules/bad.md", "---\npaths: ['{a', '*.md']\n---\nmd"),
        ("./a/.claude/rules/a.md", "---\npaths: '*.ts'\n---\na"),
    ]);
    let (loaded, mut later) = world.load();
    assert!(loaded.instructions.is_empty());
    assert_eq!(loaded.warnings.len(), 1, "{:?}", world.warnings(&loaded));
    let mut read = |file: &str| told(&later.on_read(&world.path(file)));
    assert_eq!(read("./x.ts"), [""; 0]);
    assert_eq!(read("~/src/x.ts"), [""; 0], "another project's");
    assert_eq!(
        read("./src/x.ts"),
        [
            "User path_glob_match user",
            "Project path_glob_match ts @ts-more.md",
            "Project include ---\npaths: never\n---\nmore"
        ]
    );
    assert_eq!(read("./README.md"), ["Project path_glob_match md"]);
    assert_eq!(read("./a/x.ts"), ["Project path_glob_match a"]);
    let (_, mut later) = world.load();
    let rule = &later.on_read(&world.path("./lib/x")).instructions[0];
    assert_eq!(rule.globs.as_deref().unwrap(), ["src/**/*.{ts,tsx}", "lib/*"]);
}

#[test]
fn a_resumed_session_does_not_read_again() {
    let world = World::new(FAMILY);
    let (start, mut later) = world.load();
    let file = world.path("./a/b/c/x.ts");
    let more = later.on_read(&file);
    assert_eq!(told(&more), ["Project nested_traversal below", "Project path_glob_match for ts"]);
    let mut paths: Vec<_> = start.instructions.iter().map(|one| one.path.clone()).collect();
    let (mut resumed, warnings) = Conditional::resume(&world.roots, &paths);
    assert!(warnings.is_empty());
    assert_eq!(resumed.on_read(&file).instructions, more.instructions);
    paths.extend(more.instructions.iter().map(|one| one.path.clone()));
    let (mut resumed, _) = Conditional::resume(&world.roots, &paths);
    assert!(resumed.on_read(&file).instructions.is_empty());
    let (_, mut after_compaction) = reload(&world.roots);
    assert_eq!(after_compaction.on_read(&file).instructions, more.instructions);
}
