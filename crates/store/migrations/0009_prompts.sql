-- What people have typed, by directory, so that the next session there can offer it again.
CREATE TABLE typed_prompts (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    project_dir  TEXT NOT NULL,
    text         TEXT NOT NULL,
    typed_at     TEXT NOT NULL DEFAULT (datetime('now'))
);
CREATE INDEX idx_typed_prompts ON typed_prompts(project_dir, id);

-- What a session has done to files is found without going through its transcript.
CREATE INDEX idx_transcript_files ON transcript_entries(session_id, id)
    WHERE entry_type = 'file_history_snapshot';
