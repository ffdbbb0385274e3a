//! Hostile repositories, and paths that are not text files.

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use super::*;

#[test]
fn links_out_of_the_project_are_not_followed() {
    let secret = "SECRET";
    for (link, target) in [
        ("./CLAUDE.md", "key"),
        ("./AGENTS.md", "key"),
        ("./.claude/CLAUDE.md", "key"),
        ("./CLAUDE.local.md", "key"),
        ("./.claude/rules/r.md", "key"),
        ("./.claude/rules", "dir"),
        ("./.claude/rules/all", "dir"),
        ("./.claude", "dir"),
        ("./a/b/c/CLAUDE.md", "key"),
    ] {
        let mut world = World::new(&[
            ("~/.ssh/key", secret),
            ("~/.ssh/dir/CLAUDE.md", secret),
            ("~/.ssh/dir/r.md", secret),
        ]);
        world.link(link, world.path("~/.ssh").join(target));
        let (loaded, mut later) = world.load();
        let more = later.on_read(&world.path("./a/b/c/x"));
        let all = [&loaded, &more];
        assert!(all.iter().all(|loaded| loaded.instructions.is_empty()), "{link}");
        let external =
            |warning: &&Diagnostic| warning.problem.starts_with("it leads out of the project");
        let warnings = all.iter().flat_map(|loaded| &loaded.warnings).filter(external).count();
        assert!(warnings > 0, "{link}");
        let again = later.on_read(&world.path("./a/b/c/y"));
        assert!(again.warnings.is_empty(), "{link}: it is said once");
        world.roots.additional_dirs = vec![world.path("~/.ssh")];
        let (loaded, mut later) = world.load();
        let more = later.on_read(&world.path("./a/b/c/x"));
        let all = [told(&loaded), told(&more)].concat();
        assert!(all.iter().any(|told| told.ends_with(secret)), "{link}");
    }
}

#[test]
fn imports_out_of_the_project_are_not_read() {
    for import in ["@~/.ssh/key", "@../../.ssh/key", "@TOP/home/.ssh/key", "@inner", "@dir/key."] {
        let world = World::new(&[("~/.ssh/key", "SECRET")]);
        world.link("./inner", world.path("~/.ssh/key"));
        world.link("./dir", world.path("~/.ssh"));
        let top = world.path("").display().to_string();
        world.write(
            "./CLAUDE.md",
            import.replace("TOP/", &format!("{}/", top.trim_end_matches('/'))),
        );
        let (loaded, _) = world.load();
        assert_eq!(loaded.instructions.len(), 1, "{import}");
        let problem = Problem::External(world.path("~/.ssh/key")).to_string();
        let said: Vec<&str> = loaded.warnings.iter().map(|w| w.problem.as_str()).collect();
        assert_eq!(said, [problem], "{import}");
    }
}

#[test]
fn stored_credentials_are_nobodys_instructions() {
    for store in ["~/.local/state/ona/vault/vault.key", "~/.local/share/keyrings/login.keyring"] {
        let mut world = World::new(&[(store, "SECRET")]);
        // Even where all of the home is a working directory.
        world.roots.additional_dirs = vec![world.roots.home.clone()];
        world.link("./inner", world.path(store));
        let problem = Problem::Stored(world.path(store)).to_string();
        for file in ["~/.claude/CLAUDE.md", "./CLAUDE.md"] {
            for import in [format!("@{store}"), format!("@{}", world.path("./inner").display())] {
                world.write(file, import.clone());
                let (loaded, _) = world.load();
                assert!(!told(&loaded).concat().contains("SECRET"), "{file}: {import}");
                let said: Vec<&str> = loaded.warnings.iter().map(|w| w.problem.as_str()).collect();
                assert_eq!(said, [problem.as_str()], "{file}: {import}");
            }
            world.write(file, String::new());
        }
    }
}

#[test]
fn links_within_the_project_are_followed() {
    let world =
        World::new(&[("./docs/x.md", "text @y.md"), ("./y.md", "y"), ("./r/one.md", "one")]);
    world.link("./CLAUDE.md", "docs/x.md");
    world.link("./.claude/rules/shared", world.path("./r"));
    world.link("./r/back", world.path("./.claude/rules"));
    world.link("./r/self", ".");
    assert_eq!(world.contents(), ["text @y.md", "y", "one"], "and relative to the link");
}

#[test]
fn paths_that_are_not_text_files_are_reported() {
    let world = World::new(&[("./a/CLAUDE.md", "a @big.md @data @pipe @/dev/zero")]);
    fs::create_dir_all(world.path("./CLAUDE.md")).unwrap();
    world.link("./CLAUDE.local.md", "CLAUDE.local.md");
    world.link("./.claude/rules/gone.md", "nowhere.md");
    world.write("./a/big.md", vec![b'x'; (4 << 20) + 1]);
    world.write("./a/data", b"\x7fELF\0");
    fifo(&world.path("./a/pipe"));
    fifo(&world.path("./a/b/CLAUDE.md"));
    world.write("./a/b/CLAUDE.local.md", b"caf\xe9");
    let (loaded, _) = world.load();
    assert_eq!(
        told(&loaded)[1..],
        ["Local session_start caf\u{fffd}"],
        "{:?}",
        world.warnings(&loaded)
    );
    assert_eq!(
        world.warnings(&loaded),
        [
            "home/code/project/CLAUDE.md: it is a directory",
            "home/code/project/.claude/rules/gone.md: broken link",
            "home/code/project/CLAUDE.local.md: symlinks form a loop at \
             home/code/project/CLAUDE.local.md",
            "home/code/project/a/big.md: it is larger than 4 MiB",
            "home/code/project/a/data: it is not a text file",
            "home/code/project/a/pipe: it is not a regular file",
            "/dev/zero: it leads out of the project, to /dev/zero: it is not read unless that is in a working \
             directory (--add-dir /dev, or permissions.additionalDirectories in your own settings)",
            "home/code/project/a/b/CLAUDE.md: it is not a regular file",
            "home/code/project/a/b/CLAUDE.local.md: it is not UTF-8: invalid bytes were replaced",
        ]
        .map(str::to_owned)
    );
}

/// Makes a pipe without a writer.
fn fifo(path: &Path) {
    nix::unistd::mkfifo(path, nix::sys::stat::Mode::S_IRWXU).unwrap();
}

#[test]
fn an_unreadable_file_is_named() {
    let world = World::new(&[("./CLAUDE.md", "x"), ("./a/CLAUDE.md", "a")]);
    fs::set_permissions(world.path("./CLAUDE.md"), fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read(world.path("./CLAUDE.md")).is_ok() {
        return; // Root reads everything.
    }
    let (loaded, _) = world.load();
    assert_eq!(told(&loaded), ["Project session_start a"]);
    assert!(loaded.warnings[0].problem.contains("ermission denied"), "{:?}", loaded.warnings);
}

#[test]
fn a_bomb_of_imports_goes_off_once() {
    let world = World::new(&[("./CLAUDE.md", "@0.md")]);
    let all: Vec<String> = (0..200).map(|n| format!("@{n}.md")).collect();
    for n in 0..200 {
        world.write(&format!("./{n}.md"), all.join(" "));
    }
    let started = Instant::now();
    let (loaded, _) = world.load();
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    assert!(loaded.instructions.len() <= 201);
    let too_many = |warning: &Diagnostic| warning.problem == Problem::TooMany.to_string();
    assert!(loaded.warnings.iter().any(too_many), "40,000 imports are not all looked at");
}

#[test]
fn all_together_is_capped() {
    let world = World::new(&[("./CLAUDE.md", "last")]);
    let big = vec![b'x'; 4 << 20];
    for n in 10..22 {
        world.write(&format!("~/.claude/rules/{n}.md"), &big);
    }
    let (loaded, _) = world.load();
    assert_eq!(loaded.instructions.len(), 10);
    let capped = |warning: &Diagnostic| warning.problem == Problem::TotalTooLarge.to_string();
    assert!(loaded.warnings.iter().all(capped));
    assert_eq!(loaded.warnings.len(), 3);
}

#[test]
fn nothing_is_read_twice_under_two_names() {
    let mut world = World::new(&[
        ("~/.claude/CLAUDE.md", "user"),
        ("~/.claude/rules/r.md", "rule"),
        ("~/.claude/rules/p.md", "---\npaths: '*'\n---\npath"),
    ]);
    // The walk from the root to the session passes the home.
    assert_eq!(world.contents(), ["user", "rule"]);
    let link = world.path("alias");
    world.link("alias", world.path("./a/b"));
    world.write("./a/b/c/CLAUDE.md", "below");
    world.roots.cwd = link.clone();
    let (_, mut later) = world.load();
    assert_eq!(told(&later.on_read(&link.join("c/x"))), ["Project nested_traversal below"]);
    assert_eq!(told(&later.on_read(&world.path("./a/b/c/x"))), [""; 0]);
    assert_eq!(told(&later.on_read(&world.path("./x"))), ["User path_glob_match path"]);
}
