-- The session in which a call runs. Several processes write at once, and servers reuse ids: who inserts an id here first
-- has it. Forks have copies of calls, which are not entered. `started` is 0 while the call waits for its turn.
CREATE TABLE call_ids (
    tool_use_id  TEXT PRIMARY KEY,
    session_id   TEXT NOT NULL,
    started      INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX idx_call_ids_session ON call_ids(session_id);

INSERT OR IGNORE INTO call_ids(tool_use_id, session_id, started)
    SELECT tool_use_id, session_id, 1 FROM transcript_entries
    WHERE entry_type = 'tool_use' AND typeof(tool_use_id) = 'text' ORDER BY id;
