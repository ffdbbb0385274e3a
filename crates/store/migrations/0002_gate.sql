-- What every stage of the gate said of a call, so that the story can be told afterwards.
CREATE TABLE gate_answers (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id   TEXT NOT NULL,
    tool_use_id  TEXT NOT NULL,
    stage        TEXT NOT NULL,
    verdict      TEXT NOT NULL,
    reason       TEXT NOT NULL,
    detail       TEXT
);

CREATE INDEX idx_gate_answers_call ON gate_answers(tool_use_id);

-- Repositories whose hooks, helpers and servers the operator has agreed to, as they were then.
CREATE TABLE trusted_roots (
    root         TEXT PRIMARY KEY,
    hash         TEXT NOT NULL,
    trusted_at   TEXT NOT NULL DEFAULT (datetime('now'))
);
