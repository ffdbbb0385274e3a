//! The full-text index of memories, kept as S0 §4.3's rebuild would leave it, at the cost of what changed.
//!
//! S0 empties the index after every write and fills it anew, so the n-th row of the one table is the n-th of the
//! other. Rows of `memories` are therefore numbered 1, 2, … without a gap: then both have the same number, a search
//! joins by it, and one write touches one row of the index. Where a memory is forgotten the last one takes its number.
//! What others did to the tables by hand is noticed by counting, and put right by the rebuild itself.

use crate::rows::{Connection, Transaction};

use crate::store::Failure;

/// The rebuild, as S0 §4.3 writes it.
const REBUILD: &str = "
    DELETE FROM memories_fts;
    INSERT INTO memories_fts(title, content, keywords, anticipated_queries)
    SELECT title, content, keywords, anticipated_queries FROM memories;";

/// How many memories there are, if both tables hold as many rows, numbered from 1 without a gap. It counts and reads
/// no text.
pub(super) fn aligned(c: &Connection) -> rusqlite::Result<Option<i64>> {
    let dense = |table: &str, number: &str| -> rusqlite::Result<(i64, bool)> {
        let sql = format!(
            "SELECT (SELECT count(*) FROM {table}), (SELECT min({number}) FROM {table}),
                 (SELECT max({number}) FROM {table})"
        );
        c.prepare_cached(&sql)?.query_row([], |row| {
            let rows: i64 = row.get(0)?;
            let (first, last): (Option<i64>, Option<i64>) = (row.get(1)?, row.get(2)?);
            Ok((rows, first.unwrap_or(1) == 1 && last.unwrap_or(0) == rows))
        })
    };
    let memories = dense("memories", "rowid")?;
    // One row for each in the index: counting there reads none of its text.
    let indexed = dense("memories_fts_docsize", "id")?;
    Ok((memories == indexed && memories.1).then_some(memories.0))
}

/// Numbers the memories without a gap and rebuilds the index, if it is not as it should be.
pub(super) fn align(tx: &Transaction<'_>) -> Result<(), Failure> {
    if aligned(tx)?.is_some() { Ok(()) } else { rebuild(tx) }
}

/// Numbers the memories without a gap and rebuilds the index.
pub(super) fn rebuild(tx: &Transaction<'_>) -> Result<(), Failure> {
    let numbers: Vec<i64> = tx
        .prepare("SELECT rowid FROM memories ORDER BY rowid")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let mut renumber = tx.prepare("UPDATE memories SET rowid = ?2 WHERE rowid = ?1")?;
    // A number below 1 would move up into one that is taken: those go behind the last first.
    let mut behind = numbers.last().copied().unwrap_or(0).max(0);
    let mut numbers = numbers;
    for number in numbers.iter_mut().filter(|number| **number < 1) {
        behind += 1;
        renumber.execute((*number, behind))?;
        *number = behind;
    }
    numbers.sort_unstable();
    for (number, dense) in numbers.into_iter().zip(1_i64..) {
        if number != dense {
            renumber.execute((number, dense))?;
        }
    }
    drop(renumber);
    Ok(tx.execute_batch(REBUILD)?)
}

/// Takes a new memory into the index.
pub(super) fn add(tx: &Transaction<'_>, number: i64) -> Result<(), Failure> {
    tx.prepare_cached(
        "INSERT INTO memories_fts(rowid, title, content, keywords, anticipated_queries)
         SELECT rowid, title, content, keywords, anticipated_queries FROM memories WHERE rowid = ?1",
    )?
    .execute([number])?;
    Ok(())
}

/// Takes a memory's new words into the index.
pub(super) fn change(tx: &Transaction<'_>, number: i64) -> Result<(), Failure> {
    tx.prepare_cached("DELETE FROM memories_fts WHERE rowid = ?1")?.execute([number])?;
    add(tx, number)
}

/// Removes a memory from both tables; the last one takes its number.
pub(super) fn remove(tx: &Transaction<'_>, number: i64) -> Result<(), Failure> {
    let last: i64 = tx.query_row("SELECT max(rowid) FROM memories", [], |row| row.get(0))?;
    tx.prepare_cached("DELETE FROM memories WHERE rowid = ?1")?.execute([number])?;
    tx.prepare_cached("DELETE FROM memories_fts WHERE rowid = ?1")?.execute([last])?;
    if number != last {
        tx.prepare_cached("UPDATE memories SET rowid = ?1 WHERE rowid = ?2")?
            .execute([number, last])?;
        change(tx, number)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::memories::{Author, Memory, Within};
    use crate::store::Store;

    type Row = (i64, Option<String>, Option<String>, Option<String>, Option<String>);

    fn indexed(c: &Connection) -> Vec<Row> {
        c.prepare("SELECT rowid, * FROM memories_fts ORDER BY rowid")
            .unwrap()
            .query_map([], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
            })
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap()
    }

    fn found(c: &Connection, word: &str) -> Vec<(i64, f64)> {
        let sql = "SELECT rowid, bm25(memories_fts) FROM memories_fts WHERE memories_fts MATCH ?1 ORDER BY rowid";
        c.prepare(sql)
            .unwrap()
            .query_map([word], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap()
    }

    #[derive(Clone, Debug)]
    enum Op {
        Save(u8, String),
        Forget(u8),
        Touch(u8),
        /// Another program's write that keeps to S0: a change, then the rebuild.
        ByHand(u8),
        /// One that does not.
        Careless(u8),
    }

    fn ops() -> impl Strategy<Value = Vec<Op>> {
        let words = proptest::collection::vec(
            prop_oneof!["alpha", "beta", "gamma", "running", "runs"],
            0..4,
        );
        let op = prop_oneof![
            4 => (0..8_u8, words).prop_map(|(id, words)| Op::Save(id, words.join(" "))),
            3 => (0..8_u8).prop_map(Op::Forget),
            1 => (0..8_u8).prop_map(Op::Touch),
            1 => (0..8_u8).prop_map(Op::ByHand),
            1 => (0..8_u8).prop_map(Op::Careless),
        ];
        proptest::collection::vec(op, 1..30)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// After every write the index is, row by row and score by score, what S0's own rebuild makes of the table.
        #[test]
        fn the_index_is_what_the_rebuild_would_make_it(ops in ops()) {
            let store = Store::in_memory().unwrap();
            for op in ops {
                match op {
                    Op::Save(id, words) => {
                        let memory = Memory {
                            id: id.to_string(),
                            kind: "lesson".into(),
                            title: format!("Title {id} {words}"),
                            content: (!words.is_empty()).then_some(words),
                            ..Memory::default()
                        };
                        store.save_memory(&memory, &Author::human()).unwrap();
                    }
                    Op::Forget(id) => {
                        store.forget_memory(&id.to_string(), &Author::human()).unwrap();
                    }
                    Op::Touch(id) => store.touch_memories(&[&id.to_string()], 7).unwrap(),
                    Op::ByHand(id) => store
                        .write(|tx| {
                            tx.execute("DELETE FROM memories WHERE id = ?1", [id.to_string()])?;
                            Ok(tx.execute_batch(REBUILD)?)
                        })
                        .unwrap(),
                    Op::Careless(id) => store
                        .write(|tx| {
                            tx.execute(
                                "INSERT OR IGNORE INTO memories(rowid, id, type, title, created_at, updated_at)
                                 VALUES (?1, ?2, 'x', 'alpha', 0, 0)",
                                (i64::from(id) - 4, format!("careless {id}")),
                            )?;
                            Ok(())
                        })
                        .unwrap(),
                }
                // The next search repairs it.
                store.search_memories("alpha", Within::All, 3, 7).unwrap();
                store
                    .read(|c| {
                        let is = (indexed(c), found(c, "alpha"), found(c, "run"));
                        c.execute_batch("SAVEPOINT literally")?;
                        c.execute_batch(REBUILD)?;
                        let should = (indexed(c), found(c, "alpha"), found(c, "run"));
                        c.execute_batch("ROLLBACK TO literally; RELEASE literally")?;
                        assert_eq!(is, should);
                        c.execute_batch("INSERT INTO memories_fts(memories_fts) VALUES ('integrity-check')")?;
                        Ok(())
                    })
                    .unwrap();
            }
        }
    }
}
