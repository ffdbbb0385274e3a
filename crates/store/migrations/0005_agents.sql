-- Agents go on in the background as commands do, and the model is told once how each ended.
ALTER TABLE background_tasks ADD COLUMN kind TEXT NOT NULL DEFAULT 'shell';
ALTER TABLE background_tasks ADD COLUMN told_at TEXT;
-- What ended before is old news.
UPDATE background_tasks SET told_at = ended_at WHERE ended_at IS NOT NULL;
CREATE INDEX idx_background_tasks_session ON background_tasks(session_id);

-- Agents that calls have started, each in a session of its own: who started it, and how its last turn ended.
CREATE TABLE agent_runs (
    session_id     TEXT PRIMARY KEY REFERENCES sessions(session_id),
    parent_session TEXT NOT NULL,
    tool_use_id    TEXT NOT NULL,
    agent_type     TEXT NOT NULL,
    name           TEXT,
    worktree       TEXT,
    started_at     TEXT NOT NULL DEFAULT (datetime('now')),
    ended_at       TEXT,
    ending         TEXT
);

CREATE INDEX idx_agent_runs_parent ON agent_runs(parent_session);
