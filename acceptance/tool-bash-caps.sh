#!/usr/bin/env bash
# S0 §7.1: each stream is capped at 1048576 bytes and ends in [SDLC_TRUNCATED] when cut.
. "$(dirname "$0")/lib/common.sh"
call Bash '{"command":"head -c 2000000 /dev/zero | tr \"\\0\" a; head -c 5 /dev/zero | tr \"\\0\" b >&2"}' > /dev/null
content="SELECT json_extract(payload_json, '\$.content') AS c FROM transcript_entries WHERE entry_type = 'tool_result'"
same "$(sql "SELECT length(c), substr(c, 1048577, 16), substr(c, 1048593) FROM ($content)" | tr '\n' '~')" \
  '1048613|[SDLC_TRUNCATED]|~--- stderr ---~bbbbb~'
