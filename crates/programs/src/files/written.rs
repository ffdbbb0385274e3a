//! Which files a command certainly writes, if it does what its words say.
//!
//! [`super::touched`] holds every file a command may touch, which is right where a rule forbids files. Who has to know what
//! is really written would take the source of a copy for written. Both read the same table of programs.

mod git;

use ona_shell::Word;

use super::{
    Access, Operand, Touched, archives, derived, downloads, files_named, in_place, is_glob,
    is_sink, only_reads, trees,
};
use crate::arguments::{self, Arguments, Kind, Operands, Program};
use crate::commands::{self, base_name, is_finder, suffixes, unwrapped};

/// What a command is seen to write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// These files.
    pub sure: Vec<Output>,
    /// These files, or files in these directories, if its words are what they seem to be.
    pub maybe: Vec<Operand>,
    /// Links it makes.
    pub links: Vec<Link>,
    /// Directories it goes to before it does anything, one after the other.
    pub dirs: Vec<Word>,
    /// Other directories it works in, without taking its words from there.
    pub works_in: Vec<Word>,
    /// Why it writes files that the text does not name.
    pub unnamed: Option<String>,
    /// What it does is not known.
    pub unknown: bool,
}

/// A file that is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// This one.
    File(String),
    /// Those that fit.
    Glob(String),
    /// This one, or what is in it if it is a directory.
    Below(String),
    /// The one of this name in the directory; the directory's own name stands for it if it is none and may be none.
    Into {
        /// The directory.
        dir: String,
        /// The name.
        name: String,
        /// It has to be a directory.
        always: bool,
    },
}

/// A link that is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its name.
    pub at: Output,
    /// Where it leads, if the text says so.
    pub to: Option<String>,
    /// As a text, which is taken from where the link is.
    pub symbolic: bool,
}

/// What a command is seen to write, whatever it is wrapped in.
pub fn written(words: &[Word]) -> Written {
    let mut out = Written::default();
    let mut words = words;
    while let Some((inner, dirs)) = inner(words) {
        if commands::name(words) == Some("xargs") {
            out.takes_names(inner);
        }
        out.dirs.extend(dirs);
        words = inner;
    }
    let Some(name) = commands::name(words) else {
        out.unknown = !words.is_empty();
        return out;
    };
    out.of_command(name, &words[1..]);
    // A wrapper whose own words are not known: what it runs stands somewhere behind it.
    for words in suffixes(words) {
        if let Some(name) = commands::name(words) {
            let mut deeper = Written::default();
            deeper.of_command(name, &words[1..]);
            out.maybe.extend(deeper.maybe);
            out.maybe.extend(deeper.sure.into_iter().map(Output::place));
            out.unnamed = out.unnamed.take().or(deeper.unnamed);
        }
    }
    out
}

/// What a wrapper runs, where that is certain, and the directories it goes to before.
fn inner(words: &[Word]) -> Option<(&[Word], Vec<Word>)> {
    let name = commands::name(words)?;
    if name != "xargs"
        && let Some(inner) = unwrapped(words)
    {
        return Some((inner, Vec::new()));
    }
    let rest = &words[1..];
    if !matches!(name, "env" | "sudo" | "doas" | "xargs") {
        let next = rest.first()?.literal.as_deref().map(base_name)?;
        let plain = !is_finder(name) && !matches!(name, "parallel" | "watch");
        let runs = plain && commands::runs_others(words) && arguments::known(next).is_some();
        return runs.then_some((rest, Vec::new()));
    }
    let program = arguments::known(name)?;
    // Its own options end at the first operand.
    let is_operand = |at: &usize| !program.read(&rest[..=*at]).operands.is_empty();
    let first = (0..rest.len().min(MAX_OPTIONS)).find(is_operand)?;
    let sets = |word: &&Word| name != "xargs" && word.source.contains('=');
    let start = first + rest[first..].iter().take_while(sets).count();
    let dirs = program.read(&rest[..first]).values(Kind::Chdir).cloned().collect();
    rest.get(start..).filter(|inner| !inner.is_empty()).map(|inner| (inner, dirs))
}

/// The limit for the options of a wrapper.
const MAX_OPTIONS: usize = 64;

impl Output {
    /// The file, or the directory that it is in.
    fn place(self) -> Operand {
        match self {
            Self::File(file) | Self::Below(file) | Self::Into { dir: file, .. } => {
                Operand::Fixed(file)
            }
            Self::Glob(pattern) => Operand::Glob(pattern),
        }
    }
}

impl Written {
    /// `xargs` adds names to the words of a command.
    fn takes_names(&mut self, words: &[Word]) {
        if !commands::name(words).is_some_and(only_reads) {
            self.unnamed.get_or_insert("`xargs` takes names from its input".to_owned());
        }
    }

    fn is_unnamed(&mut self, word: &Word) {
        self.unnamed
            .get_or_insert(format!("which file {} is is only known at run time", word.source));
    }

    /// These words name files that are written.
    fn writes<'w>(&mut self, words: impl IntoIterator<Item = &'w Word>) {
        for word in words {
            match &word.literal {
                Some(text) if text.is_empty() || is_sink(text) => {}
                Some(text) => self.sure.push(Output::File(text.clone())),
                None if is_glob(&word.source) => self.sure.push(Output::Glob(word.source.clone())),
                // What is done there is looked at by itself.
                None if word.source.starts_with(['<', '>']) => {}
                // What `find` puts there is in the directories it goes through.
                None if word.source == "{}" => {}
                None => {
                    self.may_write([word]);
                    self.is_unnamed(word);
                }
            }
        }
    }

    /// These words name files that are written, or directories in which something is.
    fn writes_below<'w>(&mut self, words: impl IntoIterator<Item = &'w Word>) {
        let before = self.sure.len();
        self.writes(words);
        for output in &mut self.sure[before..] {
            if let Output::File(file) = output {
                *output = Output::Below(std::mem::take(file));
            }
        }
    }

    /// These words may name such files.
    fn may_write<'w>(&mut self, words: impl IntoIterator<Item = &'w Word>) {
        let mut named = Touched::default();
        let words: Vec<Word> = words.into_iter().cloned().collect();
        files_named(&words, Access::Writes, &mut named);
        self.maybe.extend(named.files.into_iter().map(|(_, operand)| operand));
    }

    /// It writes something where it is.
    fn writes_here(&mut self) {
        self.maybe.push(Operand::Fixed(".".to_owned()));
    }

    fn of_command(&mut self, name: &str, words: &[Word]) {
        match name {
            "git" => self.of_git(words),
            "dd" => {
                for word in words {
                    let text = word.literal.as_ref().unwrap_or(&word.source);
                    let Some(file) = text.strip_prefix("of=") else { continue };
                    let literal = word.literal.is_some().then(|| file.to_owned());
                    self.writes([&Word { source: file.to_owned(), literal }]);
                }
            }
            "perl" | "ruby" if in_place(words) => {
                // The script stands behind an option that ends with its letter.
                let mut is_script = false;
                for word in words {
                    let option = word.literal.as_deref().filter(|text| text.starts_with('-'));
                    if option.is_none() && !is_script {
                        self.may_write([word]);
                    }
                    is_script = option.is_some_and(|option| option.ends_with(['e', 'E']));
                }
            }
            _ if is_finder(name) => self.of_finder(name, words),
            _ => match arguments::known(name) {
                Some(program) => self.of_program(name, program, words),
                None => self.unknown = true,
            },
        }
    }

    fn of_finder(&mut self, name: &str, words: &[Word]) {
        let to = |word: &Word| word.source.starts_with("-fprint") || word.source == "-fls";
        for (at, _) in words.iter().enumerate().filter(|(_, word)| to(word)) {
            self.writes(words.get(at + 1));
        }
        let mut found = Touched::default();
        trees::found(name, words, &mut found);
        let runs = words.iter().position(|word| trees::is_run(&word.source));
        let run = runs.map(|at| &words[at + 1..]).unwrap_or_default();
        let writes = match commands::name(run) {
            Some(run_name) => super::writes(run_name, &run[1..]),
            None => words.iter().any(|word| word.source == "-delete"),
        };
        self.unknown |= runs.is_some() && !writes && !commands::name(run).is_some_and(only_reads);
        let roots = found.trees.into_iter().filter(|tree| writes && tree.access == Access::Writes);
        let here = Operand::Fixed(".".to_owned());
        self.maybe.extend(roots.map(|tree| tree.root.unwrap_or_else(|| here.clone())));
    }

    fn of_program(&mut self, name: &str, program: &Program, words: &[Word]) {
        let arguments = program.read(words);
        self.of_options(name, &arguments);
        let operands = arguments.operands.as_slice();
        let files = arguments.files(program.operands);
        match program.operands {
            _ if derived::only_looks(name, &arguments) => {}
            Operands::Write => self.of_changed(name, &arguments),
            Operands::LastWritten | Operands::Moved => self.of_placed(name, &arguments),
            Operands::SecondWritten if name == "split" => {
                let prefix = operands.get(1).cloned();
                self.numbered(prefix.as_ref(), "x", "aa");
            }
            Operands::SecondWritten => self.writes(operands.get(1)),
            Operands::ReadAfterText => match name {
                "sed" if arguments.letters.contains('i') || arguments.has_long("in-place") => {
                    self.writes(files);
                }
                "yq" if in_place(words) => self.writes(operands.iter().skip(1)),
                _ if program.is_script_taker() && loads_inplace(&arguments) => self.writes(files),
                _ => {}
            },
            Operands::Read if name == "csplit" && !arguments.has(Kind::Write) => {
                self.numbered(None, "xx", "00");
            }
            Operands::Unknown => self.of_other(name, words, &arguments),
            Operands::Nothing | Operands::Read => {}
        }
        if program.is_script_taker() {
            match program.script(&arguments) {
                Some(script) => {
                    let files = script.writes.into_iter().filter(|file| !is_sink(file));
                    self.sure.extend(files.map(Output::File));
                    if script.writes_more {
                        self.unnamed.get_or_insert(format!(
                            "which files the script for `{name}` writes is not fixed"
                        ));
                    }
                    self.unknown |= script.runs;
                }
                None => self.unknown = true,
            }
        }
        self.unknown |= !program.runs(words).is_empty();
    }

    fn of_options(&mut self, name: &str, arguments: &Arguments) {
        let into = arguments.values(Kind::Into).next();
        for (kind, value) in &arguments.options {
            match (kind, into, &value.literal) {
                // `curl` takes the name from its directory.
                (Kind::Write, Some(into), Some(file)) if name == "curl" && !is_sink(file) => {
                    match &into.literal {
                        Some(dir) => self.sure.push(Output::Into {
                            dir: dir.clone(),
                            name: file.clone(),
                            always: true,
                        }),
                        None => self.is_unnamed(into),
                    }
                }
                (Kind::Write, ..) if name == "csplit" => self.numbered(Some(value), "", "00"),
                (Kind::Write | Kind::OptionalWrite, ..) => self.writes([value]),
                // Looked at with what is put there; and what `sort` puts there goes away again.
                (Kind::Into, ..)
                    if matches!(name, "cp" | "install" | "mv" | "ln" | "link" | "sort") => {}
                (Kind::Into, ..) => self.may_write([value]),
                _ => {}
            }
        }
    }

    /// Files with a beginning and then a number.
    fn numbered(&mut self, prefix: Option<&Word>, usual: &str, number: &str) {
        match prefix.map(|word| (word, &word.literal)) {
            None => self.sure.push(Output::File(format!("{usual}{number}"))),
            Some((_, Some(prefix))) => self.sure.push(Output::File(format!("{prefix}{number}"))),
            Some((word, None)) => self.writes([word]),
        }
    }

    /// What a program does that changes its operands: some of them only now and then.
    fn of_changed(&mut self, name: &str, arguments: &Arguments) {
        let operands = arguments.operands.as_slice();
        let told = |letters: &[char], long: &[&str]| {
            arguments.letters.contains(letters) || long.iter().any(|long| arguments.has_long(long))
        };
        match name {
            // The first operand is the mode or the owner, unless an option gives it.
            "chmod" | "chown" | "chgrp" => {
                let given = arguments.has(Kind::Read)
                    || name == "chmod"
                        && arguments.letters.contains(['r', 'w', 'x', 'X', 's', 't']);
                self.writes_below(operands.iter().skip(usize::from(!given)));
            }
            "chattr" => {
                self.writes(operands.iter().filter(|word| !word.source.starts_with(['+', '='])))
            }
            "zip" => {
                self.writes(operands.first());
                if told(&['m'], &["move"]) {
                    self.writes(operands.iter().skip(1));
                }
            }
            // Nothing happens where there is one.
            "mkdir" => self.writes_below(operands),
            "mknod" => self.writes(operands.first()),
            "patch" => {
                if arguments.has(Kind::Chdir) {
                    self.may_write(arguments.values(Kind::Chdir));
                } else if operands.is_empty() {
                    self.writes_here();
                } else {
                    self.writes(operands.first());
                }
            }
            "gzip" | "gunzip" | "bzip2" | "bunzip2" | "xz" | "unxz" | "lzma" | "zstd" => {
                match name == "zstd" || told(&['k'], &["keep"]) {
                    true => self.may_write(operands),
                    false => self.writes(operands),
                }
            }
            "ed" | "emacs" | "ex" | "nano" | "nvim" | "rename" | "vi" | "view" | "vim" => {
                self.may_write(operands);
            }
            _ => self.writes(operands),
        }
    }

    /// What a program puts somewhere: `cp a b dir` writes `dir/a` and `dir/b`.
    fn of_placed(&mut self, name: &str, arguments: &Arguments) {
        let told = |letter: char, long: &str| {
            arguments.letters.contains(letter) || arguments.has_long(long)
        };
        let operands = arguments.operands.as_slice();
        let across = matches!(name, "rsync" | "scp");
        if name == "install" && told('d', "directory") {
            return self.writes(operands);
        }
        let into = arguments.values(Kind::Into).next().filter(|_| !across);
        let (sources, to) = match (into, operands.split_last()) {
            (Some(into), _) => (operands, into),
            (None, Some((last, sources))) => (sources, last),
            (None, None) => return,
        };
        if across && is_remote(&to.source) || to.literal.as_deref().is_some_and(is_sink) {
            return;
        }
        if name == "mv" {
            self.writes(sources);
        }
        let Some(dir) = to.literal.clone() else {
            self.may_write([to]);
            return self.is_unnamed(to);
        };
        let links = matches!(name, "ln" | "link")
            || name == "cp"
                && (arguments.letters.contains(['s', 'l']) || arguments.has_long("link"))
            || name == "cp" && arguments.has_long("symbolic-link");
        let symbolic = links && (told('s', "symbolic") || arguments.has_long("symbolic-link"));
        // `ln -s a/b` makes `b` here.
        if sources.is_empty() && into.is_none() && name == "ln" {
            let at = Output::File(base_name(&dir).to_owned());
            self.sure.push(at.clone());
            self.links.push(Link { at, to: Some(dir), symbolic });
            return;
        }
        let itself = told('T', "no-target-directory") && name != "rsync";
        let whole = arguments.has_long("parents");
        for source in sources {
            let at = match (itself, &source.literal) {
                (true, _) => Output::File(dir.clone()),
                (false, Some(source)) => {
                    let source = source.trim_end_matches('/');
                    Output::Into {
                        dir: dir.clone(),
                        name: if whole { source } else { base_name(source) }.to_owned(),
                        always: into.is_some() || sources.len() > 1,
                    }
                }
                (false, None) => {
                    self.maybe.push(Operand::Fixed(dir.clone()));
                    if !is_glob(&source.source) {
                        self.is_unnamed(source);
                    }
                    continue;
                }
            };
            if links {
                let to = source.literal.clone();
                self.links.push(Link { at: at.clone(), to, symbolic });
            }
            self.sure.push(at);
        }
    }

    /// What archivers and programs that fetch files write.
    fn of_other(&mut self, name: &str, words: &[Word], arguments: &Arguments) {
        let mut touched = Touched::default();
        archives::unpacks(name, words, arguments, &mut touched);
        let unpacks = !touched.unpacked.is_empty() || touched.scatters.is_some();
        let is_archiver = unpacks || !touched.files.is_empty();
        if unpacks {
            self.unnamed = self.unnamed.take().or(touched.scatters.take());
            match arguments.has(Kind::Chdir) || arguments.has(Kind::Into) {
                true => self.may_write(arguments.values(Kind::Chdir)),
                false => self.writes_here(),
            }
        }
        let into = arguments.values(Kind::Into).find_map(|word| word.literal.clone());
        let before = touched.files.len();
        downloads(name, words, arguments, &mut touched);
        let fetched: Vec<(Access, Operand)> = touched.files.drain(before..).collect();
        for (_, operand) in fetched {
            // They stand there with and without the directory.
            let Operand::Fixed(file) = operand else { continue };
            let below = |dir: &String| file.starts_with(&format!("{dir}/"));
            if into.as_ref().is_none_or(below) {
                self.sure.push(Output::File(file));
            }
        }
        self.unnamed = self.unnamed.take().or(touched.scatters);
        for (access, operand) in touched.files {
            match operand {
                _ if access == Access::Reads => {}
                Operand::Fixed(file) if !unpacks => self.sure.push(Output::File(file)),
                operand => self.maybe.push(operand),
            }
        }
        if arguments.has(Kind::Chdir) && !is_archiver {
            self.works_in.extend(arguments.values(Kind::Chdir).cloned());
        }
        let fetches = matches!(name, "curl" | "wget");
        self.unknown |= !is_archiver && !fetches;
    }
}

/// `host:path`.
fn is_remote(text: &str) -> bool {
    text.split_once(':').is_some_and(|(host, _)| !host.contains('/'))
}

/// `gawk -i inplace`.
fn loads_inplace(arguments: &Arguments) -> bool {
    arguments.values(Kind::Script).any(|word| word.literal.as_deref() == Some("inplace"))
}
