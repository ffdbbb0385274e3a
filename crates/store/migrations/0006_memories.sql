-- Who wrote a memory, and of an imported one where it came from: S0's table has no column for it. A memory without
-- a row is the operator's.
CREATE TABLE memory_origins (
    memory_id   TEXT PRIMARY KEY,
    written_by  TEXT NOT NULL,
    written_in  TEXT,
    source      TEXT,
    source_hash TEXT
) WITHOUT ROWID;

-- The memories of one project, and what ranks them, without reading their texts.
CREATE INDEX idx_memories_project
    ON memories(project_scope, updated_at, attention_score, access_count);
