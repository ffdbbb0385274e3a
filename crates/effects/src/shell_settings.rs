//! Settings of the shell that change how it reads the rest of a line.

use crate::shell::{Command, Script};

/// Words that make patterns match more names than usual: hidden ones, deeper ones, in other capitals; and shells with
/// patterns of their own.
#[rustfmt::skip]
const LOOSENING: &[&str] = &[
    "shopt", "dotglob", "globstar", "nocaseglob", "extglob", "BASHOPTS", "GLOBIGNORE", "globdots", "zsh", "fish",
];

/// Whether patterns of the line may match more names than usual.
pub(crate) fn loosens_patterns(script: &Script) -> bool {
    let loosens = |text: &str| {
        let bare = text.replace(['"', '\'', '\\'], "");
        LOOSENING.iter().any(|word| bare.contains(word))
    };
    script.commands.iter().any(|command| {
        command.words.iter().any(|word| loosens(&word.source))
            || command.assignments.iter().any(|one| loosens(&one.name) || loosens(&one.value))
    })
}

/// Whether values are split into words at other places from here on. `IFS= read` is about that line alone.
pub(crate) fn changes_splitting(command: &Command) -> bool {
    let reads = matches!(command.name(), Some("read" | "mapfile" | "readarray"));
    let assigned = command.assignments.iter().any(|one| one.name == "IFS") && !reads;
    let looped = command.loops.iter().any(|one| one.name == "IFS");
    // `read IFS`, `export IFS=:`, `printf -v IFS …`.
    let named = command.words.iter().skip(1).any(|word| {
        let bare = word.source.replace(['"', '\'', '\\'], "");
        bare == "IFS" || bare.starts_with("IFS=") || bare.starts_with("IFS+=")
    });
    assigned || looped || named
}
