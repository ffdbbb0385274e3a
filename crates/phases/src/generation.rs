//! Having tests written: what the author is asked, what becomes of the answers, and when it is enough.
//!
//! Whoever asks a model sends what [`Generation::take`] says and brings the answer back, until it is done.

use ona_store::NewTest;

use crate::answer::{self, BehavioralTest};
use crate::criteria::Criterion;
use crate::lint::lint;

/// How often the author is asked.
pub const MAX_ATTEMPTS: usize = 4;

/// The limit for refusals that are told in one reply.
const MAX_TOLD: usize = 60;

/// A generation that is under way.
#[derive(Debug)]
pub struct Generation<'c> {
    criteria: &'c [Criterion],
    attempts: usize,
    accepted: Vec<BehavioralTest>,
    /// Why tests of the last answer were refused.
    refused: Vec<String>,
    /// All that the author has answered.
    answers: String,
}

/// What comes next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// The author is asked again, with this.
    Ask(String),
    /// It is over.
    Done(Outcome),
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The tests that can be used.
    pub tests: Vec<NewTest>,
    /// Criteria without a test.
    pub uncovered: Vec<String>,
    /// Why tests were refused to the last.
    pub refused: Vec<String>,
    /// How often the author was asked.
    pub attempts: usize,
}

/// How many tests and answers, in words.
pub fn counted(tests: usize, answers: usize) -> String {
    let tests = if tests == 1 { "1 test".to_owned() } else { format!("{tests} tests") };
    let answers = if answers == 1 { "1 answer".to_owned() } else { format!("{answers} answers") };
    format!("{tests} in {answers}")
}

/// Why a name cannot be used: it stands in one line of a report.
pub fn name_fault(name: &str) -> Option<&'static str> {
    const MAX_NAME: usize = 120;
    match name.trim() {
        "" => Some("its name is empty"),
        name if name.chars().any(|c| c.is_control() || is_hidden(c)) => {
            Some("its name has control characters")
        }
        name if name.chars().count() > MAX_NAME => Some("its name is longer than 120 characters"),
        _ => None,
    }
}

/// Characters that change the direction of what follows, or are not seen.
fn is_hidden(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

impl<'c> Generation<'c> {
    /// Begins one for these criteria.
    pub fn new(criteria: &'c [Criterion]) -> Self {
        Self {
            criteria,
            attempts: 0,
            accepted: Vec::new(),
            refused: Vec::new(),
            answers: String::new(),
        }
    }

    /// How often the author has answered.
    pub fn attempts(&self) -> usize {
        self.attempts
    }

    /// How many tests can be used so far.
    pub fn accepted(&self) -> usize {
        self.accepted.len()
    }

    /// Why tests of the last answer were refused.
    pub fn refused(&self) -> &[String] {
        &self.refused
    }

    /// All that the author has answered: what a reply may repeat.
    pub fn answers(&self) -> &str {
        &self.answers
    }

    /// Takes an answer.
    pub fn take(&mut self, answer: &str) -> Next {
        self.attempts += 1;
        self.answers.push_str(answer);
        self.answers.push('\n');
        self.refused.clear();
        match answer::read(answer) {
            Ok(tests) => tests.into_iter().for_each(|test| self.judge(test)),
            Err(fault) => self.refused.push(fault.to_string()),
        }
        let uncovered = self.uncovered();
        let is_over = uncovered.is_empty() && self.refused.is_empty();
        if is_over || self.attempts >= MAX_ATTEMPTS {
            return Next::Done(self.outcome(uncovered));
        }
        Next::Ask(self.reply(&uncovered))
    }

    /// Accepts a test, or says why not.
    fn judge(&mut self, test: BehavioralTest) {
        let mut faults: Vec<String> = Vec::new();
        let linted = lint(&test.script, Some(self.criteria));
        if let Some(header) = &linted.header {
            if header.criterion != test.criterion {
                faults.push(format!(
                    "its header names {}, its entry {}",
                    header.criterion, test.criterion
                ));
            }
            if header.surface != test.surface {
                faults.push(format!(
                    "its header names {}, its entry {}",
                    header.surface, test.surface
                ));
            }
        }
        faults.extend(name_fault(&test.name).map(str::to_owned));
        faults.extend(linted.faults.iter().map(ToString::to_string));
        let is_there =
            |one: &BehavioralTest| one.criterion == test.criterion && one.script == test.script;
        match faults.is_empty() {
            true if self.accepted.iter().any(is_there) => {}
            true => self.accepted.push(test),
            false => {
                let name = ona_types::shown(&test.name);
                let criterion = ona_types::shown(&test.criterion);
                let faults = faults.iter().map(|fault| format!("{criterion}, \"{name}\": {fault}"));
                self.refused.extend(faults);
            }
        }
    }

    fn uncovered(&self) -> Vec<String> {
        let has_test = |id: &str| self.accepted.iter().any(|test| test.criterion == id);
        let without = self.criteria.iter().filter(|one| !has_test(&one.id));
        without.map(|one| one.id.clone()).collect()
    }

    fn outcome(&self, uncovered: Vec<String>) -> Outcome {
        let tests = self.accepted.iter().map(|test| NewTest {
            criterion: test.criterion.clone(),
            surface: test.surface.to_string(),
            name: test.name.trim().to_owned(),
            script: test.script.clone(),
        });
        Outcome {
            tests: tests.collect(),
            uncovered,
            refused: self.refused.clone(),
            attempts: self.attempts,
        }
    }

    fn reply(&self, uncovered: &[String]) -> String {
        let mut text = String::new();
        if !self.accepted.is_empty() {
            text.push_str(&format!(
                "{} tests are accepted. Do not send them again.\n",
                self.accepted.len()
            ));
        }
        if !self.refused.is_empty() {
            text.push_str("These are refused:\n");
            for fault in self.refused.iter().take(MAX_TOLD) {
                text.push_str(&format!("- {fault}\n"));
            }
            if self.refused.len() > MAX_TOLD {
                text.push_str(&format!("- and {} more\n", self.refused.len() - MAX_TOLD));
            }
        }
        if !uncovered.is_empty() {
            text.push_str(&format!("These criteria have no test yet: {}.\n", uncovered.join(", ")));
        }
        text.push_str(
            "Answer with one JSON object {\"tests\": […]} again, with what is missing or was refused, mended.\n",
        );
        text
    }
}
