//! Colours: as many as the terminal has, and none where none are wanted.

use super::*;
use crate::project;

/// All parameters of SGR sequences in the output.
fn styles(pty: &Pty) -> Vec<String> {
    let raw = String::from_utf8_lossy(&pty.raw()).into_owned();
    let parts = raw.split("\x1b[").skip(1);
    parts
        .filter_map(|part| {
            let end = part.find(|c: char| c.is_ascii_alphabetic() || c == '@')?;
            let params = &part[..end];
            (part[end..].starts_with('m') && !params.starts_with(['?', '>', '<']))
                .then(|| params.to_owned())
        })
        .collect()
}

/// A session that shows code, a diff, an error and a dialog.
fn colourful(options: impl FnOnce(PtyOptions) -> PtyOptions) -> Vec<String> {
    let project = project();
    let server = model([
        Reply::say("# Look\n\n```rust\nfn main() { let x = \"y\"; }\n```\n"),
        Reply::new().call(
            "toolu_w",
            "Write",
            json!({"file_path": "a.rs", "content": "fn a() {}\n"}),
        ),
        bash("toolu_f", "false"),
        Reply::say("Done."),
    ]);
    let pty = start_in(&project, &["--allowedTools", "Bash"], options(with(&server)));
    pty.line("show me");
    pty.wait_whole("fn main()");
    ready(&pty);
    pty.line("go");
    pty.wait_for("Allow Write?");
    pty.send("y");
    pty.wait_for("Done.");
    ready(&pty);
    pty.key(Key::BackTab);
    pty.wait_for("accept edits on");
    pty.line("/theme");
    pty.wait_for("Esc closes");
    close(&pty);
    styles(&pty)
}

/// Whether a list of parameters sets a colour.
fn is_colour(params: &str) -> bool {
    params
        .split(';')
        .any(|number| matches!(number.parse::<u32>(), Ok(30..=38 | 40..=48 | 90..=97 | 100..=107)))
}

#[test]
fn true_colours_are_used_where_the_terminal_has_them() {
    let styles = colourful(|options| options.env("COLORTERM", "truecolor"));
    assert!(styles.iter().any(|params| params.contains("38;2;")), "{styles:?}");
}

#[test]
fn without_colorterm_there_are_no_true_colours() {
    let styles = colourful(|options| options);
    assert!(styles.iter().any(|params| params.contains("38;5;")), "{styles:?}");
    assert!(!styles.iter().any(|params| params.contains("8;2;")), "{styles:?}");
}

#[test]
fn on_the_linux_console_there_are_16_colours() {
    let styles = colourful(|options| options.term("linux").env("COLORTERM", "truecolor"));
    assert!(styles.iter().any(|params| is_colour(params)), "{styles:?}");
    let more = |params: &String| params.split(';').any(|number| number == "38" || number == "48");
    assert!(!styles.iter().any(more), "{styles:?}");
}

#[test]
fn no_color_means_no_colour() {
    let styles = colourful(|options| options.env("NO_COLOR", "1").env("COLORTERM", "truecolor"));
    assert!(!styles.iter().any(|params| is_colour(params)), "{styles:?}");
}

#[test]
fn the_background_of_the_terminal_chooses_the_theme() {
    use ona_testkit::pty::Background;
    let colour = |background: Background| {
        let project = project();
        let pty = start_in(
            &project,
            &[],
            PtyOptions::default().env("ANTHROPIC_API_KEY", KEY).background(background),
        );
        pty.settled();
        let row = pty.screen().lines().position(|line| line.starts_with('>')).unwrap();
        pty.fg_at(u16::try_from(row).unwrap(), 0)
    };
    assert_ne!(colour(Background::Light), colour(Background::Dark));
}
