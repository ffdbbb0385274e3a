-- What people have typed, by directory, so that the next session there can offer it again.
CREATE TABLE typed_prompts (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    project_dir  TEXT NOT NULL,
    text         TEXT NOT NULL,
    typed_at     TEXT NOT NULL DEFAULT (datetime('now'))
);
CREATE INDEX idx_typed_prompts ON typed_prompts(project_dir, id);
