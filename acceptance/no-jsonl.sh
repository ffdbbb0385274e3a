#!/usr/bin/env bash
# S0 §10: no authoritative session .jsonl and no plan directory: all there is after a call is the database.
. "$(dirname "$0")/lib/common.sh"
call Write '{"file_path":"made.txt","content":"x"}' > /dev/null
left=$(cd "$ACCEPT_TMP" && find . -type f ! -name 'agent.db*' ! -name made.txt)
same "$left" ''
