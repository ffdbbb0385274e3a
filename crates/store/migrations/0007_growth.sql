-- A start, a call and its story must not cost more as the record grows: nothing of it may read a table of S0 from end
-- to end.
CREATE INDEX idx_conversations_project ON conversations(project_dir);
CREATE INDEX idx_sessions_conversation ON sessions(conversation_id);
CREATE INDEX idx_session_info_name ON session_info(name) WHERE name IS NOT NULL;
CREATE INDEX idx_plans_conversation ON plans(conversation_id, status);
CREATE INDEX idx_task_ratings_conversation ON task_ratings(conversation_id);
CREATE INDEX idx_background_tasks_running ON background_tasks(session_id) WHERE ended_at IS NULL;
CREATE INDEX idx_agent_runs_worktree ON agent_runs(worktree) WHERE worktree IS NOT NULL;
CREATE INDEX idx_gate_answers_session ON gate_answers(session_id);
CREATE INDEX idx_permission_log_call ON tool_permission_log(session_id, tool_use_id);
CREATE INDEX idx_hook_inv_call ON hook_invocations(session_id, tool_use_id);
CREATE INDEX idx_selected_intents_session ON selected_intents(session_id);
-- SQLite looks here for every entry that is deleted.
CREATE INDEX idx_transcript_parent ON transcript_entries(parent_entry_id);
-- What somebody wrote by hand need not be JSON.
CREATE INDEX idx_events_call ON events(session_id, event_type,
    CASE WHEN json_valid(detail) THEN json_extract(detail, '$.tool_use_id') END);
CREATE INDEX idx_events_conversation ON events(conversation_id)
    WHERE session_id IS NULL OR event_type = 'session.deleted';
CREATE INDEX idx_events_trace ON events(
    CASE WHEN json_valid(detail) THEN json_extract(detail, '$.what.workspace') END)
    WHERE event_type = 'trace.appended';
CREATE INDEX idx_events_scope ON events(
    CASE WHEN json_valid(detail) THEN json_extract(detail, '$.workspace') END)
    WHERE event_type = 'intent.scope_requested';

-- Orders that no index can have, because what they leave out stands in another table. Triggers keep them, so that rows
-- made by hand count as well.

-- The conversations of a directory that ona can join: none that another agent has a session in.
CREATE TABLE joinable_conversations (
    number          INTEGER PRIMARY KEY,
    conversation_id TEXT NOT NULL UNIQUE,
    project_dir     TEXT NOT NULL,
    last_active     TEXT NOT NULL
);
CREATE INDEX idx_joinable_latest ON joinable_conversations(project_dir, last_active);

-- The sessions of a conversation without those of agents that calls have started.
CREATE TABLE main_sessions (
    number          INTEGER PRIMARY KEY,
    session_id      TEXT NOT NULL UNIQUE,
    conversation_id TEXT NOT NULL,
    started_at      TEXT NOT NULL
);
CREATE INDEX idx_main_sessions_latest ON main_sessions(conversation_id, started_at);

-- The sessions of a directory that ona can go on with: its own in which a user has said something. The place of the
-- latest is the greatest: a session gets a new one with an entry, unless it is the latest already.
CREATE TABLE resumable_sessions (
    session_id      TEXT PRIMARY KEY,
    project_dir     TEXT NOT NULL,
    place           INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX idx_resumable_latest ON resumable_sessions(project_dir, place);

INSERT INTO joinable_conversations(conversation_id, project_dir, last_active)
    SELECT id, project_dir, last_active FROM conversations c
    WHERE typeof(id) = 'text' AND NOT EXISTS (
        SELECT 1 FROM sessions s JOIN session_info i ON i.session_id = s.session_id
        WHERE s.conversation_id = c.id AND i.origin IN ('claude_code', 'codex', 'mcp'))
    ORDER BY rowid;
INSERT INTO main_sessions(session_id, conversation_id, started_at)
    SELECT session_id, conversation_id, started_at FROM sessions s
    WHERE typeof(session_id) = 'text' AND NOT EXISTS (
        SELECT 1 FROM session_info i WHERE i.session_id = s.session_id AND i.origin = 'subagent')
    ORDER BY rowid;
INSERT INTO resumable_sessions(session_id, project_dir, place)
    SELECT s.session_id, c.project_dir,
        (SELECT t.id FROM transcript_entries t WHERE t.session_id = s.session_id ORDER BY t.sequence DESC LIMIT 1)
    FROM sessions s JOIN conversations c ON c.id = s.conversation_id
    LEFT JOIN session_info i ON i.session_id = s.session_id
    WHERE typeof(s.session_id) = 'text'
      AND coalesce(i.origin, 'eval') NOT IN ('subagent', 'claude_code', 'codex', 'mcp')
      AND EXISTS (SELECT 1 FROM transcript_entries t WHERE t.session_id = s.session_id AND t.entry_type = 'user');

CREATE TRIGGER conversation_made AFTER INSERT ON conversations WHEN typeof(NEW.id) = 'text' BEGIN
    INSERT INTO joinable_conversations(conversation_id, project_dir, last_active)
        VALUES (NEW.id, NEW.project_dir, NEW.last_active);
END;
CREATE TRIGGER conversation_touched AFTER UPDATE OF last_active, project_dir ON conversations
    WHEN NEW.last_active <> OLD.last_active OR NEW.project_dir <> OLD.project_dir BEGIN
    UPDATE joinable_conversations SET last_active = NEW.last_active, project_dir = NEW.project_dir
        WHERE conversation_id = NEW.id;
END;
CREATE TRIGGER conversation_deleted AFTER DELETE ON conversations BEGIN
    DELETE FROM joinable_conversations WHERE conversation_id = OLD.id;
END;
CREATE TRIGGER session_made AFTER INSERT ON sessions WHEN typeof(NEW.session_id) = 'text' BEGIN
    INSERT INTO main_sessions(session_id, conversation_id, started_at)
        VALUES (NEW.session_id, NEW.conversation_id, NEW.started_at);
END;
CREATE TRIGGER session_deleted AFTER DELETE ON sessions BEGIN
    DELETE FROM main_sessions WHERE session_id = OLD.session_id;
    DELETE FROM resumable_sessions WHERE session_id = OLD.session_id;
END;
CREATE TRIGGER agent_session_made AFTER INSERT ON session_info WHEN NEW.origin = 'subagent' BEGIN
    DELETE FROM main_sessions WHERE session_id = NEW.session_id;
    DELETE FROM resumable_sessions WHERE session_id = NEW.session_id;
END;
CREATE TRIGGER foreign_session_made AFTER INSERT ON session_info
    WHEN NEW.origin IN ('claude_code', 'codex', 'mcp') BEGIN
    DELETE FROM joinable_conversations
        WHERE conversation_id = (SELECT conversation_id FROM sessions WHERE session_id = NEW.session_id);
    DELETE FROM resumable_sessions WHERE session_id = NEW.session_id;
END;
CREATE TRIGGER prompt_heard AFTER INSERT ON transcript_entries WHEN NEW.entry_type = 'user' BEGIN
    INSERT OR IGNORE INTO resumable_sessions(session_id, project_dir, place)
        SELECT s.session_id, c.project_dir, NEW.id
        FROM sessions s JOIN conversations c ON c.id = s.conversation_id
        LEFT JOIN session_info i ON i.session_id = s.session_id
        WHERE s.session_id = NEW.session_id
          AND coalesce(i.origin, 'eval') NOT IN ('subagent', 'claude_code', 'codex', 'mcp');
END;
CREATE TRIGGER entry_kept AFTER INSERT ON transcript_entries BEGIN
    UPDATE resumable_sessions SET place = NEW.id
        WHERE session_id = NEW.session_id AND EXISTS (
            SELECT 1 FROM resumable_sessions later
            WHERE later.project_dir = resumable_sessions.project_dir AND later.place > resumable_sessions.place);
END;
