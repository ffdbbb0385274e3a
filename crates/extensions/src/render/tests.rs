//! What a skill's text is rendered to, and that no argument becomes a command.

use std::path::PathBuf;

use proptest::prelude::*;

use super::*;
use crate::skill::PluginPlace;

fn skill(kind: SkillKind, body: &str) -> SkillDefinition {
    SkillDefinition {
        name: "s".into(),
        namespace: Vec::new(),
        kind,
        description: String::new(),
        argument_hint: None,
        model_invocable: true,
        user_invocable: true,
        allowed_tools: Vec::new(),
        model: None,
        effort: None,
        forks: false,
        agent: None,
        hooks: None,
        paths: None,
        shell: Shell::Bash,
        body: body.to_owned(),
        origin: Origin::User,
        path: PathBuf::from("/u/.claude/skills/s/SKILL.md"),
        plugin: Some(PluginPlace { root: "/plug in".into(), data: "/data".into() }),
        held_back: Vec::new(),
    }
}

const CONTEXT: RenderContext<'static> = RenderContext { session_id: "sess_1", commands_off: false };

fn rendered(body: &str, arguments: &str) -> Vec<Piece> {
    render(&skill(SkillKind::Command, body), arguments, &CONTEXT).unwrap().pieces
}

fn text(text: &str) -> Piece {
    Piece::Text(text.to_owned())
}

fn run(command: &str) -> Piece {
    Piece::Command { command: command.to_owned(), shell: Shell::Bash }
}

#[test]
fn arguments_are_put_in() {
    for (body, arguments, expected) in [
        ("Fix $ARGUMENTS now", "a 'b c'", "Fix a 'b c' now"),
        ("$0 and $1 and $2.", "a 'b c'", "a and b c and ."),
        ("$ARGUMENTS[1]-$ARGUMENTS[0]", "a b", "b-a"),
        ("${CLAUDE_SESSION_ID} ${CLAUDE_SKILL_DIR}", "", "sess_1 /u/.claude/skills/s"),
        ("${CLAUDE_PLUGIN_ROOT} ${CLAUDE_PLUGIN_DATA}", "", "/plug in /data"),
        // Other text stays.
        (
            "$5.00 $1,000 $ARGUMENTSX $HOME $ ${X} $123",
            "",
            "$5.00 $1,000 $ARGUMENTSX $HOME $ ${X} $123",
        ),
        ("\\$0 \\$ARGUMENTS \\$x", "a", "$0 $ARGUMENTS \\$x\n\nARGUMENTS: a"),
        // Without a placeholder, arguments come last.
        ("Do it.", "now", "Do it.\n\nARGUMENTS: now"),
        ("Do it.\n", " now ", "Do it.\n\nARGUMENTS: now"),
        ("Do it.", " ", "Do it."),
        // Inserted text is not expanded again.
        ("$0", "'$1 ${CLAUDE_SESSION_ID}' x", "$1 ${CLAUDE_SESSION_ID}"),
        ("```\n$0\n```", "a", "```\na\n```"),
    ] {
        assert_eq!(rendered(body, arguments), [text(expected)], "{body}");
    }
}

#[test]
fn commands_and_files_are_pieces_of_their_own() {
    assert_eq!(
        rendered("Status: !`git status`, see @src/a.rs.\n!`ls`\n", ""),
        [
            text("Status: "),
            run("git status"),
            text(", see "),
            Piece::File("src/a.rs".into()),
            text(".\n"),
            run("ls"),
            text("\n"),
        ]
    );
    assert_eq!(
        rendered("a\n```!\ngit log\ngit diff\n```\nb", ""),
        [text("a\n"), run("git log\ngit diff"), text("\nb")]
    );
    assert_eq!(rendered("Look at @$0", "a.rs"), [text("Look at "), Piece::File("a.rs".into())]);
    // Examples, exclamations, names and addresses.
    for body in [
        "wow!`ls`",
        "`` !`ls` `` shows it",
        "```\n!`ls` @a/b\n```",
        "````\n```!\nls\n```\n````\n",
        "```!\nls",
        "!`ls\n`",
        "!`` !` `",
        "mail me@example.com or @someone, `@a/b`",
    ] {
        assert_eq!(rendered(body, ""), [text(body)], "{body}");
    }
    // In a skill `@` has no meaning.
    let plain = render(&skill(SkillKind::Skill, "see @src/a.rs"), "", &CONTEXT).unwrap();
    assert_eq!(plain.pieces, [text("see @src/a.rs")]);
}

#[test]
fn in_a_command_arguments_are_quoted() {
    for (body, arguments, expected) in [
        ("!`git log $ARGUMENTS`", "--oneline -5", "git log --oneline -5"),
        ("!`git log $ARGUMENTS`", "'; rm -rf ~'", "git log '; rm -rf ~'"),
        ("!`git log $ARGUMENTS`", "; rm -rf ~", "git log ';' rm -rf '~'"),
        ("!`grep \"$0\" x`", "$(id)", "grep \"\\$(id)\" x"),
        ("!`grep '$0' x`", "it's", "grep 'it'\\''s' x"),
        ("!`cat $1`", "a", "cat "),
        ("!`${CLAUDE_PLUGIN_ROOT}/x`", "", "'/plug in'/x"),
        ("```!\nls $0\n```", "`id`", "ls '`id`'"),
    ] {
        let pieces = rendered(body, arguments);
        assert!(pieces.contains(&run(expected)), "{body}: {pieces:?}");
    }
    for body in ["!`echo $(ls $0)`", "```!\ncat <<E\n$0\nE\n```", "!`echo ${X:-$0}`"] {
        let pieces = rendered(body, "';id'");
        let [Piece::Text(said), ..] = pieces.as_slice() else { panic!("{pieces:?}") };
        assert!(said.starts_with("[command not run: `") && said.contains("$0"), "{said}");
        assert!(!said.contains("ARGUMENTS:"), "{said}");
    }
}

#[test]
fn commands_can_be_switched_off() {
    let off = RenderContext { commands_off: true, ..CONTEXT };
    let mut skill = skill(SkillKind::Skill, "a !`ls`\n```!\nls\n```\nb");
    let pieces = render(&skill, "", &off).unwrap().pieces;
    assert_eq!(pieces, [text(&format!("a {SWITCHED_OFF}\n{SWITCHED_OFF}\nb"))]);
    skill.origin = Origin::Managed;
    assert_eq!(render(&skill, "", &off).unwrap().pieces.len(), 5);
}

#[test]
fn what_grows_without_end_is_refused() {
    let body = "$ARGUMENTS ".repeat(10_000);
    let long = "x".repeat(10_000);
    assert!(render(&skill(SkillKind::Skill, &body), &long, &CONTEXT).is_err());
    let command = format!("!`echo {body}`");
    assert!(render(&skill(SkillKind::Skill, &command), &long, &CONTEXT).is_err());
}

fn commands(pieces: &[Piece]) -> usize {
    pieces.iter().filter(|piece| matches!(piece, Piece::Command { .. })).count()
}

/// Text made of special characters.
fn tricky() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        prop::sample::select(vec![
            "!`",
            "`",
            "```!\n",
            "```\n",
            "\n",
            "$ARGUMENTS",
            "$0",
            "$1",
            "$ARGUMENTS[0]",
            "@",
            "a/b",
            " ",
            "'",
            "\"",
            "\\",
            "$(",
            ")",
            "${",
            "}",
            "<<",
            "#",
            "((",
            "[[",
            ";",
            "ls",
            "${CLAUDE_SKILL_DIR}",
            "é",
            "\u{0}",
        ])
        .prop_map(str::to_owned),
        ".{0,3}",
    ];
    prop::collection::vec(part, 0..24).prop_map(|parts| parts.concat())
}

/// Commands that take the argument as one word.
const TAKING: [&str; 6] = [
    "!`echo $0 end`",
    "!`echo \"$0\" end`",
    "!`echo '$0' end`",
    "!`echo a$0b \\\\ end`",
    "!`x=1 echo -- $0 | cat`",
    "!`echo \"a $ARGUMENTS\" end`",
];

proptest! {
    #[test]
    fn rendering_never_fails_badly(body in tricky(), arguments in tricky(), skill_kind in any::<bool>()) {
        let kind = if skill_kind { SkillKind::Skill } else { SkillKind::Command };
        let _ = render(&skill(kind, &body), &arguments, &CONTEXT);
        let _ = render(&skill(kind, &body), &arguments, &RenderContext { commands_off: true, ..CONTEXT });
    }

    #[test]
    fn no_argument_makes_a_command_or_a_file(body in tricky(), arguments in tricky()) {
        let of = |arguments: &str| rendered(&body, arguments);
        // As many as with plain words, or fewer.
        let (plain, said) = (of("x y"), of(&arguments));
        prop_assert!(commands(&said) <= commands(&plain), "{said:?}");
        let files = |pieces: &[Piece]| pieces.iter().filter(|piece| matches!(piece, Piece::File(_))).count();
        prop_assert!(files(&said) == files(&plain));
        let off = RenderContext { commands_off: true, ..CONTEXT };
        let off = render(&skill(SkillKind::Command, &body), &arguments, &off).unwrap();
        prop_assert_eq!(commands(&off.pieces), 0);
    }

    #[test]
    fn a_quoted_argument_stays_one_word(word in ".{0,12}", tricky in tricky(), at in 0..TAKING.len()) {
        for said in [word, tricky] {
            let quoted = format!("'{}'", said.replace('\'', "\u{2019}"));
            let pieces = rendered(TAKING[at], &quoted);
            let plain = rendered(TAKING[at], "x");
            let (Some(Piece::Command { command, .. }), Some(Piece::Command { command: plain, .. })) =
                (pieces.first(), plain.first()) else { continue };
            let (script, plain) = (ona_effects::shell::parse(command), ona_effects::shell::parse(plain));
            let words = |script: &ona_effects::shell::Script| -> Vec<usize> {
                script.commands.iter().map(|command| command.words.len()).collect()
            };
            prop_assert_eq!(words(&script), words(&plain), "{}", command);
            prop_assert!(script.redirects.is_empty(), "{}", command);
        }
    }
}
