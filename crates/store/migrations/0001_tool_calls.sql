-- What a session has seen of files, so that a write to a file that moved since is refused, also
-- after a restart and from another process.
CREATE TABLE file_views (
    session_id   TEXT NOT NULL REFERENCES sessions(session_id),
    path         TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    seen         TEXT NOT NULL,
    seen_at      TEXT NOT NULL DEFAULT (datetime('now')),
    PRIMARY KEY (session_id, path)
);

-- Calls between their tool.started event and their outcome. A row whose owner is no longer alive is
-- an interrupted call. The table stays as small as the number of calls in flight.
CREATE TABLE running_calls (
    tool_use_id  TEXT PRIMARY KEY,
    session_id   TEXT NOT NULL REFERENCES sessions(session_id),
    tool_name    TEXT NOT NULL,
    entry_id     INTEGER NOT NULL REFERENCES transcript_entries(id),
    owner        TEXT NOT NULL,
    started_at   TEXT NOT NULL DEFAULT (datetime('now'))
);

-- Commands that go on in the background after their call has answered.
CREATE TABLE background_tasks (
    task_id      TEXT PRIMARY KEY,
    session_id   TEXT NOT NULL,
    tool_use_id  TEXT NOT NULL,
    command      TEXT NOT NULL,
    output_path  TEXT NOT NULL,
    owner        TEXT,
    started_at   TEXT NOT NULL DEFAULT (datetime('now')),
    ended_at     TEXT,
    exit_code    INTEGER,
    end_reason   TEXT
);
