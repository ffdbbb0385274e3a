use super::*;

fn memory(id: &str, title: &str, content: &str) -> Memory {
    Memory {
        id: id.into(),
        kind: "lesson".into(),
        title: title.into(),
        content: Some(content.into()),
        ..Memory::default()
    }
}

fn store() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&dir.path().join("agent.db")).unwrap();
    (dir, store)
}

fn agent() -> Author<'static> {
    Author { by: WrittenBy::Agent, started_by: Some("the call toolu_1"), seat: None }
}

fn found(store: &Store, query: &str) -> Vec<String> {
    let hits = store.search_memories(query, Within::All, 10, 0).unwrap();
    hits.into_iter().map(|hit| hit.row.memory.id).collect()
}

#[test]
fn what_is_saved_is_found_and_what_is_forgotten_is_not() {
    let (_dir, store) = store();
    let human = Author::human();
    for one in [
        memory("a", "Login", "the token expires"),
        memory("b", "Build", "needs cmake"),
        memory("c", "Tokens", "are counted"),
    ] {
        assert_eq!(store.save_memory(&one, &human).unwrap(), Saved::Added);
    }
    assert_eq!(store.forget_memory("b", &human).unwrap(), Changed::Done);
    assert_eq!(store.forget_memory("b", &human).unwrap(), Changed::Missing);
    assert_eq!(found(&store, "token"), ["c", "a"], "by word stem, a title before a text");
    assert_eq!(found(&store, "token expires"), ["a"]);
    assert!(found(&store, "cmake").is_empty());

    let corrected = memory("a", "Login", "the cookie expires");
    assert_eq!(store.save_memory(&corrected, &human).unwrap(), Saved::Corrected);
    assert_eq!(found(&store, "cookie"), ["a"]);
    let row = store.memory("a").unwrap().unwrap();
    assert_eq!(
        (row.memory.content.as_deref(), row.correction_count),
        (Some("the cookie expires"), 2)
    );
    let rows =
        |sql: &str| -> i64 { store.read(|c| Ok(c.query_row(sql, [], |row| row.get(0))?)).unwrap() };
    assert_eq!(rows("SELECT count(*) FROM memory_origins"), 2);
    assert_eq!(rows("SELECT count(*) FROM events WHERE event_type LIKE 'memory.%'"), 5);
}

#[test]
fn an_agent_changes_only_what_agents_wrote() {
    let (_dir, store) = store();
    store.save_memory(&memory("h", "Human", "x"), &Author::human()).unwrap();
    store.save_memory(&memory("a", "Agent", "x"), &agent()).unwrap();
    let change = MemoryChange { title: Some("Other".into()), ..MemoryChange::default() };
    assert_eq!(store.change_memory("h", &change, &agent()).unwrap(), Changed::NotTheirs);
    assert_eq!(store.forget_memory("h", &agent()).unwrap(), Changed::NotTheirs);
    assert_eq!(store.change_memory("a", &change, &agent()).unwrap(), Changed::Done);
    assert_eq!(store.memory("h").unwrap().unwrap().memory.title, "Human");
    // Once the operator has put it right it is the operator's.
    let change = MemoryChange { content: Some(None), ..MemoryChange::default() };
    assert_eq!(store.change_memory("a", &change, &Author::human()).unwrap(), Changed::Done);
    let row = store.memory("a").unwrap().unwrap();
    assert_eq!((row.memory.title.as_str(), row.memory.content), ("Other", None));
    assert_eq!(row.written_by, WrittenBy::Human);
    assert_eq!(store.forget_memory("a", &agent()).unwrap(), Changed::NotTheirs);
}

#[test]
fn a_change_to_what_was_changed_meanwhile_is_not_made() {
    let (_dir, store) = store();
    let human = Author::human();
    store.save_memory(&memory("a", "One", "x"), &human).unwrap();
    let to = |title: &str| MemoryChange {
        title: Some(title.into()),
        read_at: Some(1),
        ..MemoryChange::default()
    };
    assert_eq!(store.change_memory("a", &to("Two"), &human).unwrap(), Changed::Done);
    assert_eq!(store.change_memory("a", &to("Three"), &human).unwrap(), Changed::Meanwhile);
    assert_eq!(store.change_memory("b", &to("Three"), &human).unwrap(), Changed::Missing);
    let row = store.memory("a").unwrap().unwrap();
    assert_eq!((row.memory.title.as_str(), row.correction_count), ("Two", 2));
    // Nothing to change is no correction.
    let same = MemoryChange { title: Some("Two".into()), ..MemoryChange::default() };
    assert_eq!(store.change_memory("a", &same, &human).unwrap(), Changed::Done);
    assert_eq!(store.memory("a").unwrap().unwrap().correction_count, 2);
}

#[test]
fn what_a_file_still_says_is_imported_once() {
    let (_dir, store) = store();
    let human = Author::human();
    let file = |hash: &str, content: &str| ImportedMemory {
        memory: memory("a", "A", content),
        source: "/p/a.md".into(),
        source_hash: hash.into(),
    };
    let import = |one: ImportedMemory| store.import_memories(&[one], &human).unwrap()[0];
    assert_eq!(import(file("1", "one")), Saved::Added);
    assert_eq!(import(file("1", "one")), Saved::Unchanged);
    let change = MemoryChange { title: Some("By hand".into()), ..MemoryChange::default() };
    store.change_memory("a", &change, &human).unwrap();
    assert_eq!(import(file("1", "one")), Saved::Unchanged);
    assert_eq!(store.memory("a").unwrap().unwrap().memory.title, "By hand");
    assert_eq!(import(file("2", "two")), Saved::Corrected);
    let row = store.memory("a").unwrap().unwrap();
    assert_eq!((row.memory.title.as_str(), row.source.as_deref()), ("A", Some("/p/a.md")));
    store.forget_memory("a", &human).unwrap();
    assert_eq!(import(file("2", "two")), Saved::Added, "who imports it again wants it again");
}

#[test]
fn memories_are_listed_and_called_by_the_beginning_of_their_ids() {
    let (_dir, store) = store();
    for (id, kind, project) in
        [("mem_1", "lesson", Some("/p")), ("mem_12", "fact", None), ("mem_2", "fact", Some("/q"))]
    {
        let one = Memory {
            kind: kind.into(),
            project_scope: project.map(str::to_owned),
            ..memory(id, "T", "x")
        };
        store.save_memory(&one, &Author::human()).unwrap();
    }
    let ids = |rows: Vec<MemoryRow>| -> Vec<String> {
        rows.into_iter().map(|row| row.memory.id).collect()
    };
    let listed = |within, kind| ids(store.memories(within, kind, 10).unwrap());
    assert_eq!(listed(Within::Project("/p"), None), ["mem_12", "mem_1"]);
    assert_eq!(listed(Within::Project("/p"), Some("fact")), ["mem_12"]);
    assert_eq!(listed(Within::All, None).len(), 3);
    assert_eq!(store.count_memories(Within::Project("/q")).unwrap(), 2);
    let called = |begin| ids(store.memories_called(begin, 10).unwrap());
    assert_eq!(called("mem_1"), ["mem_1"], "an id is itself");
    assert_eq!(called("mem_"), ["mem_1", "mem_12", "mem_2"]);
    assert_eq!(called("mem_2"), ["mem_2"]);
    assert!(called("%").is_empty());
}

#[test]
fn rows_made_by_hand_are_read_as_far_as_they_go() {
    let (_dir, store) = store();
    store.save_memory(&memory("a", "Sound", "alpha"), &Author::human()).unwrap();
    store
        .write(|tx| {
            Ok(tx.execute_batch(
                "INSERT INTO memories(id, type, title, content, created_at, updated_at, attention_score,
                                      access_count, correction_count)
                 VALUES ('odd', 7, x'ff61', 'alpha', 'yesterday', '', 'much', -5, NULL),
                        (NULL, 't', 'alpha', NULL, 0, 0, 9e99, 9223372036854775807, 1)",
            )?)
        })
        .unwrap();
    assert_eq!(store.search_memories("alpha", Within::All, 10, 0).unwrap().len(), 3);
    assert_eq!(store.best_memories(Within::All, 10, 0).unwrap().len(), 3);
    assert_eq!(
        store.memories(Within::All, None, 10).unwrap().len(),
        2,
        "one has no id to call it by"
    );
    let odd = store.memory("odd").unwrap().unwrap();
    assert_eq!((odd.memory.kind.as_str(), odd.memory.title.as_str()), ("7", "\u{fffd}a"));
    store.touch_memories(&["odd"], 5).unwrap();
    store.forget_memory("odd", &Author::human()).unwrap();
    assert_eq!(found(&store, "sound"), ["a"]);
}

#[test]
fn two_processes_lose_nothing_and_leave_one_index() {
    let (dir, store) = store();
    let path = dir.path().join("agent.db");
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let path = &path;
            scope.spawn(move || {
                let store = Store::open(path).unwrap();
                for n in 0..20 {
                    let one = memory(&format!("{worker}-{n}"), "Word", "alpha");
                    store.save_memory(&one, &Author::human()).unwrap();
                    if n % 4 == 0 {
                        store.forget_memory(&one.id, &Author::human()).unwrap();
                    }
                    store.search_memories("alpha", Within::All, 5, 0).unwrap();
                }
            });
        }
    });
    assert_eq!(store.count_memories(Within::All).unwrap(), 60);
    assert_eq!(store.search_memories("word", Within::All, 100, 0).unwrap().len(), 60);
    assert_eq!(store.read(|c| Ok(index::aligned(c)?)).unwrap(), Some(60));
}
