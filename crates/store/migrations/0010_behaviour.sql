-- Plans that a human approved (S0 §8.2), bound to their hash, with what was there at that moment: the work tree, and the
-- public contracts that the author of the tests may see (S0 §8.5.1).
CREATE TABLE plan_approvals (
    plan_id     INTEGER PRIMARY KEY REFERENCES plans(id),
    plan_hash   TEXT NOT NULL,
    approved_by TEXT NOT NULL,
    criteria    TEXT NOT NULL,
    contracts   TEXT NOT NULL,
    commit_id   TEXT,
    tree_hash   TEXT NOT NULL,
    tree        BLOB NOT NULL,
    seal        TEXT NOT NULL,
    created_at  TEXT NOT NULL DEFAULT (datetime('now'))
);

-- Each time tests were asked for: all that their author was given, and what came of it.
CREATE TABLE test_generations (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    plan_id     INTEGER NOT NULL REFERENCES plans(id),
    author      TEXT NOT NULL,
    input       TEXT NOT NULL,
    input_hash  TEXT NOT NULL,
    checked     INTEGER NOT NULL,
    outcome     TEXT NOT NULL DEFAULT 'running',
    detail      TEXT,
    created_at  TEXT NOT NULL DEFAULT (datetime('now'))
);

-- Behavioural tests (S0 §8.6.1): each for one criterion of one plan. A test that was replaced stays on the record.
CREATE TABLE behavioral_tests (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    plan_id       INTEGER NOT NULL REFERENCES plans(id),
    plan_hash     TEXT NOT NULL,
    criterion     TEXT NOT NULL,
    surface       TEXT NOT NULL,
    name          TEXT NOT NULL,
    script        TEXT NOT NULL,
    script_hash   TEXT NOT NULL,
    origin        TEXT NOT NULL,
    generation_id INTEGER REFERENCES test_generations(id),
    created_at    TEXT NOT NULL DEFAULT (datetime('now')),
    retired_at    TEXT
);
CREATE INDEX idx_behavioral_tests ON behavioral_tests(plan_id, id);

-- What came of running one (S0 §8.6.2): on which work tree, how it ended each time, and all that it printed.
CREATE TABLE behavioral_runs (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    test_id     INTEGER NOT NULL REFERENCES behavioral_tests(id),
    plan_hash   TEXT NOT NULL,
    tree_hash   TEXT NOT NULL,
    script_hash TEXT NOT NULL,
    status      TEXT NOT NULL,
    reason      TEXT,
    exit_code   INTEGER,
    stdout      TEXT NOT NULL,
    stderr      TEXT NOT NULL,
    second      TEXT,
    level       TEXT NOT NULL,
    duration_ms INTEGER NOT NULL,
    started_at  TEXT NOT NULL DEFAULT (datetime('now'))
);
CREATE INDEX idx_behavioral_runs ON behavioral_runs(test_id, id);

-- Reports that were approved (S0 §8.7), bound to their hash.
CREATE TABLE test_reports (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    plan_id         INTEGER NOT NULL REFERENCES plans(id),
    conversation_id TEXT NOT NULL,
    report_hash     TEXT NOT NULL,
    tree_hash       TEXT NOT NULL,
    body            TEXT NOT NULL,
    approved_by     TEXT NOT NULL,
    approved_at     TEXT NOT NULL DEFAULT (datetime('now'))
);
CREATE INDEX idx_test_reports ON test_reports(conversation_id, id);

-- Whether a call waits for an answer of a human: it has not begun.
ALTER TABLE running_calls ADD COLUMN waits INTEGER NOT NULL DEFAULT 0;
