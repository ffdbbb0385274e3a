-- What S0's table `sessions` has no column for.
CREATE TABLE session_info (
    session_id     TEXT PRIMARY KEY REFERENCES sessions(session_id),
    name           TEXT,
    origin         TEXT NOT NULL,
    forked_from    TEXT,
    forked_at      INTEGER,
    last_active_ms INTEGER NOT NULL
);

-- Who drives a session: of two terminals only one can. A row whose owner is no longer alive binds nobody.
CREATE TABLE session_leases (
    session_id     TEXT PRIMARY KEY REFERENCES sessions(session_id),
    owner          TEXT NOT NULL,
    taken_at       TEXT NOT NULL DEFAULT (datetime('now'))
);

-- Every question to a model that was answered, and what it used by the provider's own figures.
CREATE TABLE model_calls (
    id                          INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id                  TEXT NOT NULL,
    turn                        INTEGER NOT NULL,
    purpose                     TEXT NOT NULL,
    provider                    TEXT NOT NULL,
    model                       TEXT NOT NULL,
    answered_at                 TEXT NOT NULL DEFAULT (datetime('now')),
    duration_ms                 INTEGER NOT NULL,
    input_tokens                INTEGER NOT NULL,
    output_tokens               INTEGER NOT NULL,
    cache_creation_input_tokens INTEGER NOT NULL,
    cache_read_input_tokens     INTEGER NOT NULL,
    cost_usd                    REAL,
    stop_reason                 TEXT NOT NULL,
    response_id                 TEXT
);

CREATE INDEX idx_model_calls_session ON model_calls(session_id);

-- The story of a call must not cost more as the record grows.
CREATE INDEX idx_transcript_call ON transcript_entries(tool_use_id) WHERE tool_use_id IS NOT NULL;

-- What the operator has agreed to, file by file, as it was then. Every version stays agreed to, since the
-- worktrees of a repository need not be at the same one. `trusted_roots` is no longer read.
CREATE TABLE trusted_content (
    root         TEXT NOT NULL,
    place        TEXT NOT NULL,
    hash         TEXT NOT NULL,
    runs_hash    TEXT NOT NULL,
    trusted_at   TEXT NOT NULL DEFAULT (datetime('now')),
    PRIMARY KEY (root, place, hash)
) WITHOUT ROWID;

-- A long session is opened as fast as a short one: where it was compacted, and its prompts.
CREATE INDEX idx_transcript_boundary ON transcript_entries(session_id, sequence)
    WHERE entry_type = 'collapse_commit';
CREATE INDEX idx_transcript_prompts ON transcript_entries(session_id, sequence)
    WHERE entry_type = 'user';
