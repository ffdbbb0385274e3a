//! Command lines: nothing they would run, read or write goes unseen, or the line is opaque.
//!
//! Input: a command line, and one last byte for the place where something is put into it.

#![no_main]

mod plain;
mod shapes;

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use ona_policy::Effects;
use ona_policy::path::Target;
use ona_policy::shell::{self, Command, Direction, Script};
use ona_repo::Disk;

/// What must never be overlooked.
const RM: &str = "rm -rf /x";

fuzz_target!(|data: &[u8]| {
    let Some((place, text)) = data.split_last() else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    // The tool refuses these before anyone looks at them.
    if text.contains('\0') {
        return;
    }
    shapes::show(text);

    let script = shell::parse(text);
    assert_eq!(script, shell::parse(text), "the same text, the same commands");
    nothing_is_lost_on_the_way(text, &script);

    let (before, after) = split(text, *place);
    if let Some(commands) = plain::read(text) {
        plain_lines_are_read_as_the_shell_reads_them(&script, &commands);
    }
    // A line that is complete ends with the newline, whatever stands after it.
    if plain::read(before).is_some() {
        match place % 3 {
            0 => must_see_rm(&format!("{before}\n{RM}\n{after}")),
            _ if plain::has_comment(before) => {}
            1 => must_see_rm(&format!("{before};{RM};{after}")),
            _ => must_see_rm(&format!("{before}&&{RM}\n{after}")),
        }
    }
    // Where nothing is quoted singly, escaped, a comment or a here-document, a substitution is one.
    if !text.contains(['\'', '\\', '#']) && !text.contains("<<") {
        match place % 2 {
            // `$$` is a number.
            0 if before.ends_with('$') => {}
            0 => must_see_rm(&format!("{before}$({RM}){after}")),
            _ if text.contains('`') => {}
            _ => must_see_rm(&format!("{before}`{RM}`{after}")),
        }
    }
    whatever_is_quoted_ends(before, after, *place);
    // A command line in a command line is the same command line.
    if script.opaque.is_none() {
        let outer = effects(&format!("bash -c {}", quoted(text)));
        // What it sets there, it sets for itself.
        let seen = |command: &Command| {
            let mut command = command.clone();
            command.assignments.iter_mut().for_each(|assignment| assignment.sure = false);
            outer.commands.contains(&command)
        };
        assert!(outer.opaque.is_some() || script.commands.iter().all(seen), "{outer:?}");
    }
});

/// Cut near the given 256th of the text.
fn split(text: &str, place: u8) -> (&str, &str) {
    let at = (0..=text.len() * usize::from(place) / 255).rev().find(|at| text.is_char_boundary(*at));
    text.split_at(at.unwrap_or_default())
}

fn effects(text: &str) -> Effects {
    // A path that names nothing: the tool refuses the call.
    Effects::of_shell(&Disk, text, Path::new("/no/such"))
        .unwrap_or_else(|error| Effects { opaque: Some(error.to_string()), ..Effects::default() })
}

fn must_see_rm(text: &str) {
    let effects = effects(text);
    if effects.opaque.is_some() {
        return;
    }
    let is_rm = |command: &Command| command.text() == RM && command.name() == Some("rm");
    assert!(effects.commands.iter().any(is_rm), "no rm in {text:?}: {effects:?}");
    assert!(effects.writes.contains(&Target::real("/x".into())), "no /x in {text:?}");
}

/// Quotes, comments and here-documents hide what is in them and nothing behind them.
fn whatever_is_quoted_ends(quoted: &str, after: &str, place: u8) {
    const END: &str = "E_O_F";
    let ends_early = quoted.split('\n').any(|line| line == END);
    match place % 5 {
        0 if !quoted.contains('\'') => must_see_rm(&format!(": '{quoted}'\n{RM}\n{after}")),
        1 if !quoted.contains(['"', '\\', '$', '`']) => {
            must_see_rm(&format!(": \"{quoted}\"\n{RM}\n{after}"));
        }
        2 if !quoted.contains('\n') => must_see_rm(&format!(": #{quoted}\n{RM}\n{after}")),
        3 if !ends_early => {
            must_see_rm(&format!("cat <<'{END}'\n{quoted}\n{END}\n{RM}\n{after}"));
        }
        // There the shell looks for what it has to expand.
        4 if !ends_early && !quoted.contains('\\') => {
            must_see_rm(&format!("cat <<{END}\n{quoted}\n{END}\n{RM}\n{after}"));
            if !quoted.ends_with('$') && !quoted.contains(['$', '`']) {
                must_see_rm(&format!("cat <<{END}\n{quoted}$({RM})\n{END}\n{after}"));
                must_see_rm(&format!("cat <<{END}\n{quoted}`{RM}`\n{END}\n{after}"));
            }
        }
        _ => {}
    }
}

/// The effects have all that the grammar found, and are no surer than it.
fn nothing_is_lost_on_the_way(text: &str, script: &Script) {
    let effects = effects(text);
    if effects.opaque.is_some() {
        return;
    }
    assert_eq!(script.opaque, None, "the effects are surer than the grammar");
    assert!(script.commands.iter().all(|command| effects.commands.contains(command)));
    for redirect in &script.redirects {
        let Some(file) = &redirect.target.literal else { panic!("a target that is not fixed") };
        let Ok(target) = Target::of(&Disk, Path::new("/no/such"), file) else { panic!("{file}") };
        let listed = match redirect.direction {
            Direction::Read => effects.reads.contains(&target),
            Direction::Write => effects.writes.contains(&target),
            Direction::ReadWrite => {
                effects.reads.contains(&target) && effects.writes.contains(&target)
            }
        };
        assert!(listed || file == "/dev/null", "{redirect:?}");
    }
}

/// Held against a reader that knows only simple commands, and those from the manual.
fn plain_lines_are_read_as_the_shell_reads_them(script: &Script, expected: &[plain::Command]) {
    if script.opaque.is_some() {
        return;
    }
    let found: Vec<&Command> =
        script.commands.iter().filter(|command| !command.words.is_empty()).collect();
    let expected_words: Vec<_> =
        expected.iter().map(|command| &command.words).filter(|words| !words.is_empty()).collect();
    assert_eq!(found.len(), expected_words.len(), "{script:?} {expected:?}");
    for (found, expected) in found.iter().zip(expected_words) {
        // The grammar makes one word of what is compared in brackets.
        if found.name() == Some("[") && expected[0].as_ref().is_none_or(|name| name == "[") {
            continue;
        }
        assert_eq!(found.words.len(), expected.len(), "{found:?} {expected:?}");
        for (found, expected) in found.words.iter().zip(expected) {
            // What a reader does not claim to know cannot be wrong.
            if let (Some(found), Some(expected)) = (&found.literal, expected) {
                assert_eq!(found, expected);
            }
        }
    }
    for (direction, expected) in expected.iter().flat_map(|command| &command.redirects) {
        let is_it = |redirect: &shell::Redirect| {
            redirect.direction == *direction
                && (expected.is_none() || redirect.target.literal.as_ref() == expected.as_ref()
                    || redirect.target.literal.is_none())
        };
        assert!(script.redirects.iter().any(is_it), "no {direction:?} {expected:?}: {script:?}");
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
