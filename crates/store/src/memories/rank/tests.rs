use super::*;
use crate::memories::{Author, Memory};

const DAY: i64 = 86_400;
const NOW: i64 = 1_000 * DAY;

/// Memories with what ranks them: id, words, days since it was written, attention, how often found.
fn store(rows: &[(&str, &str, i64, f64, i64)]) -> Store {
    let store = Store::in_memory().unwrap();
    for (id, words, ..) in rows {
        let memory = Memory {
            id: (*id).into(),
            kind: "lesson".into(),
            title: (*words).into(),
            ..Memory::default()
        };
        store.save_memory(&memory, &Author::human()).unwrap();
    }
    store
        .write(|tx| {
            for (id, _, days, attention, used) in rows {
                tx.execute(
                    "UPDATE memories SET updated_at = ?2, attention_score = ?3, access_count = ?4
                     WHERE id = ?1",
                    (id, NOW - days * DAY, attention, used),
                )?;
            }
            Ok(())
        })
        .unwrap();
    store
}

fn found(store: &Store, query: &str) -> Vec<String> {
    let hits = store.search_memories(query, Within::All, 10, NOW).unwrap();
    hits.into_iter().map(|hit| hit.row.memory.id).collect()
}

#[test]
fn of_what_fits_alike_attention_recency_and_use_decide() {
    for (rows, first) in [
        ([("a", "login", 9, 0.5, 0), ("b", "login", 9, 0.9, 0)], "b"),
        ([("a", "login", 9, 0.5, 0), ("b", "login", 1, 0.5, 0)], "b"),
        ([("a", "login", 9, 0.5, 0), ("b", "login", 9, 0.5, 20)], "b"),
        ([("a", "login", 9, 0.5, 0), ("b", "login", 9, 0.5, 0)], "b"),
        // The words weigh more than a little of everything else.
        (
            [
                ("a", "login login", 20, 0.4, 0),
                ("b", "login and other words besides it", 9, 0.5, 2),
            ],
            "a",
        ),
    ] {
        let store = store(&rows);
        assert_eq!(found(&store, "login")[0], first, "{rows:?}");
        assert_eq!(
            found(&store, "login"),
            found(&store, "login"),
            "the same question, the same order"
        );
    }
}

#[test]
fn scores_lie_between_nothing_and_one() {
    let store = store(&[("a", "login", -50, 7.0, 5), ("b", "logins of old", 5000, -3.0, -1)]);
    for hit in store.search_memories("login", Within::All, 10, NOW).unwrap() {
        assert!((0.0..=1.0).contains(&hit.score), "{hit:?}");
    }
    let sum = WEIGHTS.relevance + WEIGHTS.attention + WEIGHTS.recency + WEIGHTS.used;
    assert!((sum - 1.0).abs() < 1e-9);
    let columns: Vec<&str> = COLUMN_WEIGHTS.iter().map(|(name, _)| *name).collect();
    assert!(
        crate::schema::S0
            .contains(&format!("memories_fts USING fts5(\n    {},", columns.join(", ")))
    );
}

#[test]
fn where_nothing_holds_all_words_any_will_do() {
    let store = store(&[
        ("a", "the token expires", 0, 0.5, 0),
        ("b", "the build needs cmake", 0, 0.5, 0),
        ("c", "the end", 0, 0.5, 0),
    ]);
    assert_eq!(found(&store, "token expires"), ["a"]);
    assert_eq!(found(&store, "token cmake xylophone"), ["a", "b"]);
    assert_eq!(found(&store, "the xylophone").len(), 3);
    assert!(found(&store, "xylophone").is_empty());
}

#[test]
fn no_sign_means_anything_and_no_query_is_an_error() {
    let store =
        store(&[("a", "a-b c++ \"quoted\" 日本語", 0, 0.5, 0), ("b", "NOT here", 0, 0.5, 0)]);
    for query in [
        "",
        "  ",
        "\"",
        "\" OR *",
        "((((",
        "a:b",
        "title:a",
        "-x",
        "^a",
        "NEAR(a b, 2)",
        "a AND",
        "*",
        "'",
        ";",
        "\0",
        "a\0b",
        "{a}",
        "\u{feff}",
        "\u{301}",
        "AND OR NOT",
    ] {
        let _ = found(&store, query);
    }
    assert_eq!(found(&store, "a-b"), ["a"]);
    assert_eq!(found(&store, "c++"), ["a"]);
    assert_eq!(found(&store, "\"quoted\""), ["a"]);
    assert_eq!(found(&store, "日本語"), ["a"]);
    assert_eq!(found(&store, "not"), ["b"]);
    assert_eq!(found(&store, &"quoted ".repeat(5_000)), ["a"]);
    let many: Vec<String> = (0..5_000).map(|n| format!("word{n}")).collect();
    assert!(found(&store, &many.join(" ")).is_empty());
}

#[test]
fn another_projects_memories_are_not_found_unless_all_are_asked_for() {
    let store = Store::in_memory().unwrap();
    for (id, project) in [("mine", Some("/p")), ("theirs", Some("/q")), ("everywhere", None)] {
        let memory = Memory {
            id: id.into(),
            title: "login".into(),
            project_scope: project.map(str::to_owned),
            ..Memory::default()
        };
        store.save_memory(&memory, &Author::human()).unwrap();
    }
    let ids = |within| -> Vec<String> {
        let mut ids: Vec<String> = store
            .search_memories("login", within, 10, NOW)
            .unwrap()
            .into_iter()
            .map(|hit| hit.row.memory.id)
            .collect();
        ids.sort();
        ids
    };
    assert_eq!(ids(Within::Project("/p")), ["everywhere", "mine"]);
    assert_eq!(ids(Within::Project("/other")), ["everywhere"]);
    assert_eq!(ids(Within::All).len(), 3);
    assert_eq!(store.best_memories(Within::Project("/p"), 10, NOW).unwrap().len(), 2);
}

#[test]
fn what_is_found_gets_attention_but_never_all_of_it() {
    let store = store(&[("a", "login", 0, 0.5, 0), ("b", "other", 0, 0.5, 0)]);
    for _ in 0..200 {
        store.touch_memories(&["a", "nobody"], NOW).unwrap();
    }
    let row = store.memory("a").unwrap().unwrap();
    assert_eq!((row.access_count, row.last_accessed), (200, Some(NOW)));
    assert!(row.attention_score > 0.99 && row.attention_score <= 1.0, "{}", row.attention_score);
    assert_eq!(row.correction_count, 1, "to be found is no correction");
    let synchronous: i64 =
        store.read(|c| Ok(c.pragma_query_value(None, "synchronous", |row| row.get(0))?)).unwrap();
    assert_eq!(synchronous, 2, "what comes after is durable again");
    assert_eq!(store.memory("b").unwrap().unwrap().attention_score, 0.5);
}

#[test]
fn a_common_word_does_not_hide_a_rare_one() {
    let store = Store::in_memory().unwrap();
    let memories: Vec<_> = (0..MAX_RANKED + 500)
        .map(|n| crate::ImportedMemory {
            memory: Memory {
                id: format!("{n}"),
                title: if n == 3 { "common needle".into() } else { "common".into() },
                ..Memory::default()
            },
            source: "/x".into(),
            source_hash: "1".into(),
        })
        .collect();
    store.import_memories(&memories, &Author::human()).unwrap();
    assert_eq!(found(&store, "common needle"), ["3"]);
    assert_eq!(found(&store, "common needle nowhere")[0], "3");
    assert_eq!(found(&store, "common").len(), 10);
    let all = store.search_memories("common", Within::All, 10_000, NOW).unwrap();
    assert_eq!(all.len(), MAX_RANKED + 500, "a larger limit returns more");
}

#[test]
fn what_others_wrote_by_hand_is_found_as_it_stands() {
    let store = store(&[("a", "login", 0, 0.5, 0), ("b", "other", 0, 0.5, 0)]);
    store
        .write(|tx| {
            tx.execute("UPDATE memories SET title = 'changed' WHERE id = 'a'", [])?;
            Ok(())
        })
        .unwrap();
    // The index still says "login" of it, and that shows when it is found.
    assert!(found(&store, "login").is_empty());
    assert_eq!(found(&store, "changed"), ["a"]);
}
