//! `/login` and `/logout`, with an authorization server on loopback.

use ona_testkit::authority::{Authority, browse};

use super::*;
use crate::login::first_line;
use crate::project;

/// A terminal that knows the server.
fn known(authority: &Authority, project: &Project, server: &Server) -> PtyOptions {
    let command = authority.known_to(project.ona([""; 0]));
    let own = command.get_envs().filter(|(name, _)| {
        let name = name.to_string_lossy();
        name.starts_with("ONA_") || name == "BROWSER"
    });
    own.fold(
        PtyOptions::default().size(40, 400).env("ANTHROPIC_BASE_URL", server.base_url()),
        |options, (name, value)| options.env(name, value.unwrap()),
    )
}

#[test]
fn login_signs_in_and_the_next_prompt_uses_it() {
    let (project, authority) = (project(), Authority::start(3600));
    let server = model([Reply::say("Welcome.")]);
    let pty = start_in(&project, &[], known(&authority, &project, &server));
    answers(&pty, "hello", "/login");
    ready(&pty);
    pty.line("/login");
    let shown = pty.wait_for("/authorize?");
    assert!(shown.contains("❯ Code:"), "{shown}");
    let page = shown.split_whitespace().find(|word| word.contains("/authorize?")).unwrap();
    browse(&url::Url::parse(page).unwrap());
    pty.wait_whole("signed in as who@x.example");
    ready(&pty);
    answers(&pty, "hello again", "Welcome.");
    let asked = server.requests();
    assert_eq!(asked[0].header("authorization"), Some("Bearer access-secret-0"));
}

#[test]
fn logout_forgets_the_login() {
    let (project, authority) = (project(), Authority::start(3600));
    let (mut child, page) = first_line(authority.known_to(project.ona(["auth", "login"])));
    browse(&page);
    assert!(child.wait().unwrap().success());
    let server = model([Reply::say("Welcome.")]);
    let pty = start_in(&project, &[], known(&authority, &project, &server));
    answers(&pty, "hello", "Welcome.");
    assert_eq!(server.requests()[0].header("authorization"), Some("Bearer access-secret-0"));
    ready(&pty);
    let shown = answers(&pty, "/status", "who@x.example");
    assert!(!shown.contains("access-secret"), "{shown}");
    ready(&pty);
    pty.line("/logout");
    until("the revocation", || !authority.office().revoked.is_empty());
    pty.wait_whole("signed out");
    ready(&pty);
    pty.line("and now?");
    pty.wait_until(|_| pty.whole().rsplit("> and now?").next().unwrap().contains("/login"));
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn esc_ends_a_sign_in() {
    let (project, authority) = (project(), Authority::start(3600));
    let server = model([]);
    let pty = start_in(&project, &[], known(&authority, &project, &server));
    pty.line("/login");
    pty.wait_for("❯ Code:");
    pty.key(Key::Esc);
    ready(&pty);
    assert!(authority.office().asked.is_empty());
    assert!(!pty.whole().contains("signed in as"), "{}", pty.whole());
}

#[test]
fn logout_without_a_login_says_so() {
    let project = project();
    let pty = start_alone(&project);
    answers(&pty, "/logout", "nobody is signed in");
}
