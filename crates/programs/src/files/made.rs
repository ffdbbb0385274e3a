//! Files that programs write without being told their names, or by options of programs that are not in the table.

use ona_shell::Word;

use super::{Access, Operand, Touched, address, files_named};
use crate::arguments::{Arguments, Kind};

/// What a program calls the files that it makes, where the command line does not say.
pub(super) fn unnamed(name: &str, arguments: &Arguments, touched: &mut Touched) {
    let made = match name {
        "split" if arguments.operands.len() < 2 => "xaa",
        "csplit" if !arguments.has(Kind::Write) => "xx00",
        _ => return,
    };
    touched.files.push((Access::Writes, Operand::Fixed(made.to_owned())));
}

/// Programs that write what an option names, or their operands.
pub(super) fn outputs(name: &str, words: &[Word], touched: &mut Touched) {
    match name {
        "gpg" | "gpg2" => {
            for (at, word) in words.iter().enumerate() {
                let text = word.literal.as_deref().unwrap_or(&word.source);
                let is_output = match text.strip_prefix("--") {
                    Some(long) => long.len() > 1 && "output".starts_with(long),
                    None => text.starts_with('-') && text.ends_with('o'),
                };
                let joined = text.strip_prefix("--output=").or_else(|| text.strip_prefix("-o"));
                let joined = joined.filter(|value| !value.is_empty()).map(|value| Word {
                    source: value.to_owned(),
                    literal: word.literal.is_some().then(|| value.to_owned()),
                });
                let next = words.get(at + 1).filter(|_| is_output).cloned();
                let named: Vec<Word> = joined.into_iter().chain(next).collect();
                files_named(&named, Access::Writes, touched);
            }
        }
        // It writes down what happens on the terminal.
        "script" => {
            let names: Vec<Word> =
                words.iter().filter(|word| !word.source.starts_with('-')).cloned().collect();
            files_named(&names, Access::Writes, touched);
            if names.is_empty() {
                touched.files.push((Access::Writes, Operand::Fixed("typescript".to_owned())));
            }
        }
        _ => {}
    }
}

/// Editors that take commands of their own: those may read and write any file.
const EDITORS: &[&str] = &["ed", "emacs", "ex", "joe", "kak", "nvim", "red", "vi", "view", "vim"];

/// Programs that are told by their own language, or by an address, which files they read.
pub(super) fn orders(name: &str, words: &[Word], touched: &mut Touched) {
    let shown = |word: &Word| word.literal.clone().unwrap_or_else(|| word.source.clone());
    if EDITORS.contains(&name) {
        let is_order = |word: &Word| {
            let text = shown(word);
            text.starts_with(['+', '-']) && text.len() > 1 && !matches!(&*text, "--" | "-R" | "-n")
        };
        if matches!(name, "ed" | "ex" | "red") || words.iter().any(is_order) {
            let why = format!("`{name}` has commands of its own, which may be about other files");
            touched.unsure.get_or_insert(why);
        }
    }
    if name == "curl" {
        for text in words.iter().map(shown) {
            // It has patterns of its own, and a format that writes files.
            let form =
                text.contains(['{', '[']) && !text.contains("://") && !text.contains(['"', ' ']);
            if let Some((_, file)) = text.split_once("%output{") {
                let file = file.trim_start_matches(">>").split('}').next().unwrap_or_default();
                touched.files.push((Access::Writes, Operand::Fixed(file.to_owned())));
            } else if form {
                let why = "`curl` has patterns for files of its own";
                touched.unsure.get_or_insert(why.to_owned());
            }
            let Some(path) = address::file(&text) else { continue };
            if path.contains(['{', '[', '$', '`', '\\']) {
                let why = "which file `curl` reads is only known at run time";
                touched.unsure.get_or_insert(why.to_owned());
            }
            let parts = super::fixed_parts(&path);
            touched.patterns.extend(parts.iter().filter_map(|part| address::pattern(part)));
            let parts = parts.into_iter().map(|part| (Access::Reads, Operand::Fixed(part)));
            touched.files.extend(parts);
        }
    }
}
