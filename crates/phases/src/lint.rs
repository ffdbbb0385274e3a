//! Refuses behavioural tests that show nothing (S0 §8.5.2, §8.5.3).
//!
//! A script is parsed with the bash grammar and followed from its first line to its last: what each variable, file and pipe
//! holds ([`facts`]), which commands run the product, and which conditions end the script with a failure. A test has to
//! fail because of something that the product did, seen on the surface of its criterion.
//!
//! It is a check of honest authors, not a proof: whoever wants to write a test that shows nothing still can.

mod code;
mod facts;
mod layout;
mod rules;
mod tables;
mod walk;

use crate::criteria::Criterion;
use crate::surface::{Surface, UnknownSurface};

/// The limit for a script, in bytes.
pub const MAX_SCRIPT: usize = 64 << 10;

/// What a script says that it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The id of the criterion.
    pub criterion: String,
    /// The surface it looks at.
    pub surface: Surface,
}

/// What was found in a script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Linted {
    /// Its header, if it has one.
    pub header: Option<Header>,
    /// Why it cannot be used. Empty if it can.
    pub faults: Vec<LintFault>,
}

/// Why a test is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LintFault {
    /// There is too much of it.
    #[error("the script has {0} bytes (limit: 64 KB)")]
    TooLong(usize),
    /// A line of the header.
    #[error("the header line `# {0}: …` is missing: it stands before the part SETUP")]
    NoHeader(&'static str),
    /// It stands there more than once.
    #[error("line {line}: a second header line `# {name}:`")]
    SecondHeader {
        /// Its line.
        line: usize,
        /// Which one.
        name: &'static str,
    },
    /// The surface does not exist.
    #[error(transparent)]
    Surface(#[from] UnknownSurface),
    /// The plan has no such criterion.
    #[error("the plan has no criterion {}; it has {known}", ona_types::shown(id))]
    UnknownCriterion {
        /// Its id.
        id: String,
        /// Those it has.
        known: String,
    },
    /// The criterion has another surface.
    #[error("criterion {id} is about {expected}, but the script names {found}")]
    OtherSurface {
        /// The criterion.
        id: String,
        /// Its surface.
        expected: Surface,
        /// That of the script.
        found: Surface,
    },
    /// A part of the script.
    #[error("the part `# {0}` is missing")]
    NoPart(&'static str),
    /// The parts stand in another order.
    #[error("line {line}: `# {part}` is out of order (expected SETUP, EXERCISE, ASSERT)")]
    Order {
        /// Its line.
        line: usize,
        /// Which one.
        part: &'static str,
    },
    /// The grammar does not know it.
    #[error("line {line}: bash cannot parse this: {}", ona_types::shown(text))]
    Syntax {
        /// Where.
        line: usize,
        /// It.
        text: String,
    },
    /// Nothing runs the product.
    #[error(
        "the part EXERCISE runs nothing of the product: start it through its public interface, such as \"$PROJECT/…\""
    )]
    NoExercise,
    /// Nothing can fail.
    #[error("there is no assertion: compare what the product did, and end with `|| exit 1`")]
    NoAssertion,
    /// An assertion that compares nothing.
    #[error("line {0}: this condition does not depend on what the product did")]
    Constant(usize),
    /// Only `$?`.
    #[error("only the exit status is asserted: assert what was printed, written or recorded")]
    OnlyExitStatus,
    /// Something else is asserted.
    #[error("nothing is asserted about {surface} ({}): {}", surface.words(), tables::how_to_assert(*surface))]
    OtherAssertions {
        /// The surface that the header names.
        surface: Surface,
    },
    /// The assertions are never reached.
    #[error("line {0}: the script ends here, before its last assertion")]
    EndsEarly(usize),
    /// A trap that ends the script.
    #[error("line {0}: a trap that exits hides the result of the script")]
    Trap(usize),
    /// `source`.
    #[error(
        "line {line}: {} reads another script: a test stands for itself",
        ona_types::shown(text)
    )]
    Sources {
        /// Where.
        line: usize,
        /// It.
        text: String,
    },
    /// Modules of the product.
    #[error(
        "line {line}: `{}` imports a module that is not of the language itself: use the public interface",
        ona_types::shown(module)
    )]
    Imports {
        /// Where.
        line: usize,
        /// The module.
        module: String,
    },
    /// Its source.
    #[error("line {line}: reads the product's own source ({})", ona_types::shown(text))]
    ReadsSource {
        /// Where.
        line: usize,
        /// Which.
        text: String,
    },
    /// Its files.
    #[error("line {line}: changes the product's own files ({})", ona_types::shown(text))]
    ChangesProduct {
        /// Where.
        line: usize,
        /// Which.
        text: String,
    },
    /// A framework or tests of the product.
    #[error(
        "line {line}: `{}` runs a test framework, or tests of the product",
        ona_types::shown(text)
    )]
    Framework {
        /// Where.
        line: usize,
        /// It.
        text: String,
    },
    /// Something else runs in place of a program.
    #[error(
        "line {line}: {} puts something else in place of a program: no mocks",
        ona_types::shown(text)
    )]
    Mocks {
        /// Where.
        line: usize,
        /// It.
        text: String,
    },
    /// A variable that loads code.
    #[error("line {line}: {name} changes which code runs: leave it as it is")]
    Loads {
        /// Where.
        line: usize,
        /// The variable.
        name: String,
    },
}

/// Checks a script. With criteria, it has to be for one of them.
pub fn lint(script: &str, known: Option<&[Criterion]>) -> Linted {
    if script.len() > MAX_SCRIPT {
        return Linted { header: None, faults: vec![LintFault::TooLong(script.len())] };
    }
    let mut linted = Linted::default();
    let Some((script, tree)) = ona_shell::tree(script) else {
        linted.faults.push(LintFault::Syntax { line: 1, text: String::new() });
        return linted;
    };
    let script = script.as_ref();
    let root = tree.root_node();
    let (header, faults) = layout::header(root, script);
    linted.faults.extend(faults);
    if let (Some(header), Some(known)) = (&header, known) {
        linted.faults.extend(traced(header, known));
    }
    if let Some(fault) = layout::syntax_error(root, script) {
        linted.faults.push(fault);
        return Linted { header, ..linted };
    }
    match layout::parts(root, script) {
        Ok(parts) => {
            let surface = header.as_ref().map(|header| header.surface);
            linted.faults.extend(walk::Walk::new(script, &parts).faults(root, surface));
        }
        Err(faults) => linted.faults.extend(faults),
    }
    Linted { header, ..linted }
}

/// Whether the header names a criterion of the plan, and its surface.
fn traced(header: &Header, known: &[Criterion]) -> Option<LintFault> {
    let Header { criterion: id, surface } = header;
    match known.iter().find(|one| one.id == *id) {
        None => {
            let mut names: Vec<&str> = known.iter().map(|one| one.id.as_str()).take(20).collect();
            if known.len() > names.len() {
                names.push("…");
            }
            Some(LintFault::UnknownCriterion { id: id.clone(), known: names.join(", ") })
        }
        Some(one) if one.surface != *surface => {
            Some(LintFault::OtherSurface { id: id.clone(), expected: one.surface, found: *surface })
        }
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests;
