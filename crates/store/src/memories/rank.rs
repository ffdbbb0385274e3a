//! Ranks memories: by how well the words match, and by how useful a memory has been.

use std::collections::BTreeMap;

use crate::rows::Connection;
use serde::Serialize;

use super::{MemoryRow, ROW, Within, from_row, index};
use crate::error::StoreError;
use crate::store::{Failure, Store};

/// How much a word counts by where it stands, for bm25; in the order of the index's columns.
const COLUMN_WEIGHTS: [(&str, f64); 4] =
    [("title", 4.0), ("content", 1.0), ("keywords", 3.0), ("anticipated_queries", 3.0)];

/// What the score is made of. Each part lies between 0 and 1, and so does the sum.
struct Weights {
    /// bm25, against that of the memory that fits best; 0 where nothing is looked for.
    relevance: f64,
    /// `attention_score`.
    attention: f64,
    /// 1 for what was written now, half of it every [`HALF_LIFE_DAYS`].
    recency: f64,
    /// How often it was found: n / (n + [`HALF_USED`]).
    used: f64,
}

const WEIGHTS: Weights = Weights { relevance: 0.60, attention: 0.20, recency: 0.15, used: 0.05 };
const HALF_LIFE_DAYS: f64 = 30.0;
const HALF_USED: f64 = 10.0;

/// How much nearer to 1 a memory's attention moves each time it is found.
const ATTENTION_STEP: f64 = 0.05;

/// How many memories are ranked for a query at least, those with the highest row numbers: a word
/// that occurs in more says little, and ranking all of them would get slower with their number.
const MAX_RANKED: usize = 300;

/// The limit for the words of a query.
const MAX_WORDS: usize = 32;

/// A memory that was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MemoryHit {
    /// What was found.
    #[serde(flatten)]
    pub row: MemoryRow,
    /// How well it fits, from 0 to 1.
    pub score: f64,
}

/// What decides about one memory.
struct Candidate {
    number: i64,
    relevance: f64,
    worth: Worth,
}

/// The part of a memory's score that does not depend on the query.
#[derive(Clone, Copy)]
struct Worth {
    attention: f64,
    updated_at: i64,
    used: i64,
}

impl Worth {
    /// The part of the score that no query changes.
    fn score(self, now: i64) -> f64 {
        let days = now.saturating_sub(self.updated_at).max(0) as f64 / 86_400.0;
        let recency = 0.5_f64.powf(days / HALF_LIFE_DAYS);
        let used = self.used.max(0) as f64;
        // Rows made by hand may hold anything.
        let attention = if self.attention.is_nan() { 0.0 } else { self.attention.clamp(0.0, 1.0) };
        WEIGHTS.attention * attention
            + WEIGHTS.recency * recency
            + WEIGHTS.used * used / (used + HALF_USED)
    }
}

impl Store {
    /// The memories that hold all words of a query, best first; those that hold any of them, if none holds all.
    /// Words are stemmed, and no sign means anything but itself.
    pub fn search_memories(
        &self,
        query: &str,
        within: Within<'_>,
        most: usize,
        now: i64,
    ) -> Result<Vec<MemoryHit>, StoreError> {
        let words = words(query);
        if words.is_empty() {
            return Ok(Vec::new());
        }
        if let Some(found) = self.read(|c| search(c, &words, within, most, now))? {
            return Ok(found);
        }
        // The tables were changed by hand without the index.
        self.write(index::rebuild)?;
        Ok(self.read(|c| search(c, &words, within, most, now))?.unwrap_or_default())
    }

    /// The memories of most worth, best first, whatever is looked for.
    pub fn best_memories(
        &self,
        within: Within<'_>,
        most: usize,
        now: i64,
    ) -> Result<Vec<MemoryRow>, StoreError> {
        self.read(|c| {
            let sql = within.select(&format!("m.rowid, {WORTH}"));
            let mut statement = c.prepare_cached(&sql)?;
            let rows = statement.query_map([within.project()], |row| {
                Ok(Candidate { number: row.get(0)?, relevance: 0.0, worth: worth(row, 1)? })
            })?;
            let best = ranked(rows.collect::<Result<_, _>>()?, most, now);
            best.iter().map(|(candidate, _)| fetch(c, candidate.number)).collect()
        })
    }

    /// Remembers that memories were found: when, how often, and that they got attention.
    pub fn touch_memories(&self, ids: &[&str], now: i64) -> Result<(), StoreError> {
        if ids.is_empty() {
            return Ok(());
        }
        // Not flushed: a power cut may lose this, which is better than a slow search. The next write
        // flushes it.
        self.leave_log()?;
        self.outside_transactions(|c| Ok(c.pragma_update(None, "synchronous", "NORMAL")?))?;
        // No word of theirs changes: the index is as S0's rebuild would leave it.
        let touched = self.write(|tx| {
            let mut touch = tx.prepare_cached(
                "UPDATE memories SET last_accessed = ?2, access_count = coalesce(access_count, 0) + 1,
                     attention_score = min(1.0, max(0.0, coalesce(attention_score, 0.5)))
                         + ?3 * (1.0 - min(1.0, max(0.0, coalesce(attention_score, 0.5))))
                 WHERE id = ?1",
            )?;
            for id in ids {
                touch.execute((id, now, ATTENTION_STEP))?;
            }
            Ok(())
        });
        self.outside_transactions(|c| Ok(c.pragma_update(None, "synchronous", "FULL")?))?;
        touched
    }
}

/// The columns of [`Worth`].
const WORTH: &str = "coalesce(CAST(m.attention_score AS REAL), 0.0), CAST(m.updated_at AS INTEGER),
    coalesce(CAST(m.access_count AS INTEGER), 0)";

fn worth(row: &rusqlite::Row<'_>, at: usize) -> rusqlite::Result<Worth> {
    Ok(Worth { attention: row.get(at)?, updated_at: row.get(at + 1)?, used: row.get(at + 2)? })
}

/// The words of a query, each quoted: users type words, not FTS5's query language.
fn words(query: &str) -> Vec<String> {
    let split = query.split(|c: char| c.is_whitespace() || c.is_control());
    // Text without a letter or digit is not a word for the index either.
    let said = split.filter(|word| word.chars().any(char::is_alphanumeric));
    let mut words: Vec<String> = Vec::new();
    for word in said.map(|word| format!("\"{}\"", word.replace('"', "\"\""))) {
        if words.len() == MAX_WORDS {
            break;
        }
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words
}

/// The best; nothing if the index is not that of the table.
fn search(
    c: &Connection,
    words: &[String],
    within: Within<'_>,
    most: usize,
    now: i64,
) -> Result<Option<Vec<MemoryHit>>, Failure> {
    let Some(rows) = index::aligned(c)? else { return Ok(None) };
    let find = Find { c, within, condition: condition(c, within, rows)? };
    let ranked_of = most.max(MAX_RANKED);
    let mut candidates = find.all(&words.join(" "), ranked_of)?;
    if candidates.is_empty() && words.len() > 1 {
        candidates = find.any(words, ranked_of)?;
    }
    let best = candidates.iter().map(|one| one.relevance).fold(0.0, f64::max);
    for candidate in &mut candidates {
        candidate.relevance = if best > 0.0 { candidate.relevance / best } else { 1.0 };
    }
    let mut hits = Vec::new();
    for (candidate, score) in ranked(candidates, most, now) {
        if !fits(c, candidate.number)? {
            return Ok(None);
        }
        hits.push(MemoryHit { row: fetch(c, candidate.number)?, score });
    }
    Ok(Some(hits))
}

/// The condition that a match is one of those meant. Of a project that has many of the memories each match is looked
/// at; of a small one it is found out beforehand which they are, and no others are read.
fn condition(c: &Connection, within: Within<'_>, rows: i64) -> rusqlite::Result<String> {
    if within == Within::All {
        return Ok(within.holds().to_owned());
    }
    let few = rows / 4;
    let sql = format!("SELECT count(*) FROM ({} LIMIT ?2)", within.select("1"));
    let own: i64 = c.prepare_cached(&sql)?.query_row((within.project(), few), |row| row.get(0))?;
    // The `+` keeps SQLite from asking the index once for each memory of the project.
    Ok(match own < few {
        true => format!("+f.rowid IN ({})", within.select("m.rowid")),
        false => within.holds().to_owned(),
    })
}

/// A search.
struct Find<'a> {
    c: &'a Connection,
    within: Within<'a>,
    condition: String,
}

impl Find<'_> {
    /// What an FTS5 query matches.
    fn all(&self, query: &str, most: usize) -> Result<Vec<Candidate>, Failure> {
        let weights = COLUMN_WEIGHTS.map(|(_, weight)| weight.to_string()).join(", ");
        let sql = format!(
            "SELECT f.rowid, -bm25(memories_fts, {weights}), {WORTH}
             FROM memories_fts f JOIN memories m ON m.rowid = f.rowid
             WHERE memories_fts MATCH ?2 AND {} ORDER BY f.rowid DESC LIMIT ?3",
            self.condition
        );
        let mut statement = self.c.prepare_cached(&sql)?;
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let rows = statement.query_map((self.within.project(), query, most), |row| {
            Ok(Candidate { number: row.get(0)?, relevance: row.get(1)?, worth: worth(row, 2)? })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// What holds any of the words. bm25 is a sum over words, so each is looked for alone: a rare one brings what
    /// holds it, however much a common one brings.
    fn any(&self, words: &[String], most: usize) -> Result<Vec<Candidate>, Failure> {
        let mut found: BTreeMap<i64, Candidate> = BTreeMap::new();
        for word in words {
            for one in self.all(word, most / words.len())? {
                let relevance = one.relevance;
                found
                    .entry(one.number)
                    .and_modify(|known| known.relevance += relevance)
                    .or_insert(one);
            }
        }
        Ok(found.into_values().collect())
    }
}

/// The first of them with their scores. What scores the same goes by when it was written, then by its number.
fn ranked(candidates: Vec<Candidate>, most: usize, now: i64) -> Vec<(Candidate, f64)> {
    let score = |one: &Candidate| WEIGHTS.relevance * one.relevance + one.worth.score(now);
    let mut ranked: Vec<(Candidate, f64)> = candidates
        .into_iter()
        .map(|one| (score(&one), one))
        .map(|(score, one)| (one, score))
        .collect();
    ranked.sort_by(|(a, left), (b, right)| {
        right
            .total_cmp(left)
            .then(b.worth.updated_at.cmp(&a.worth.updated_at))
            .then(b.number.cmp(&a.number))
    });
    ranked.truncate(most);
    ranked
}

fn fetch(c: &Connection, number: i64) -> Result<MemoryRow, Failure> {
    let sql = format!("{ROW} WHERE m.rowid = ?1");
    Ok(c.prepare_cached(&sql)?.query_row([number], from_row)?)
}

/// Whether the index says of a memory what the memory says.
fn fits(c: &Connection, number: i64) -> Result<bool, Failure> {
    let sql = "SELECT f.title IS m.title AND f.content IS m.content AND f.keywords IS m.keywords
                  AND f.anticipated_queries IS m.anticipated_queries
               FROM memories_fts f JOIN memories m ON m.rowid = f.rowid WHERE f.rowid = ?1";
    Ok(c.prepare_cached(sql)?.query_row([number], |row| row.get(0))?)
}

#[cfg(test)]
mod tests;
