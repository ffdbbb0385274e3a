#!/usr/bin/env bash
# S0 §4.3: one database holds every table.
. "$(dirname "$0")/lib/common.sh"
same "$(ona --init-db)" "$AGENT_SDLC_DB"
for table in schema_meta conversations sessions state plans summaries events task_ratings memories \
  memories_fts transcript_entries hook_invocations tool_permission_log settings_snapshot; do
  same "$(sql "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = '$table'")" 1
done
same "$(sql "SELECT value FROM schema_meta WHERE key = 'schema_version'")" 1
same "$(sql 'PRAGMA journal_mode')" wal
