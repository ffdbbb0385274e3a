//! Help, version, and what the command line refuses.

use ona_testkit::run;

use crate::project;

#[test]
fn version_and_help() {
    let project = project();
    let version = run(&mut project.ona(["--version"]));
    assert_eq!(version.stdout, format!("ona {}\n", env!("CARGO_PKG_VERSION")));
    let help = run(&mut project.ona(["--help"])).stdout;
    for part in
        ["--eval", "--conversation", "--cwd", "--init-db", "doctor", "Examples:", "Exit codes:"]
    {
        assert!(help.contains(part), "{part}: {help}");
    }
    assert!(!help.contains("task-host"), "what is for ona itself is not shown");
}

#[test]
fn wrong_usage_exits_2() {
    let project = project();
    for args in [&[][..], &["--nonsense"], &["doctor", "--eval", "{}"], &["--eval"]] {
        let ran = run(&mut project.ona(args));
        assert_eq!(ran.code, Some(2), "{args:?}: {}", ran.stdout);
        assert!(!ran.stderr.is_empty());
    }
}
