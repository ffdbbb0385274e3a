-- The intent a session works for (S2 §2.1). The row without a session is the workspace's default; a row without
-- an intent says that the session has none, whatever the default.
CREATE TABLE selected_intents (
    workspace   TEXT NOT NULL,
    session_id  TEXT NOT NULL DEFAULT '',
    intent_id   TEXT,
    selected_by TEXT NOT NULL,
    selected_at TEXT NOT NULL DEFAULT (datetime('now')),
    PRIMARY KEY (workspace, session_id)
) WITHOUT ROWID;

-- Calls of other agents between their PreToolUse and their PostToolUse, which are two processes of ona: what the
-- first found, for the second.
CREATE TABLE foreign_calls (
    session_id  TEXT NOT NULL,
    tool_use_id TEXT NOT NULL,
    tool_name   TEXT NOT NULL,
    found       TEXT NOT NULL,
    began_at    TEXT NOT NULL DEFAULT (datetime('now')),
    PRIMARY KEY (session_id, tool_use_id)
) WITHOUT ROWID;
