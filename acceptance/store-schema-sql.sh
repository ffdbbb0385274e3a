#!/usr/bin/env bash
# schema.sql makes a database that ona takes as its own, and the tables of S0 are the same in both.
root=$PWD
. "$(dirname "$0")/lib/common.sh"
sqlite3 "$AGENT_SDLC_DB" < "$root/schema.sql" > /dev/null
before=$(sql 'SELECT name, sql FROM sqlite_schema ORDER BY name')
has "$(call Bash '{"command":"echo joined"}')" joined
names=$(sqlite3 :memory: ".read $root/schema.sql" "SELECT group_concat(quote(name)) FROM sqlite_schema" | tail -n 1)
same "$(sql "SELECT name, sql FROM sqlite_schema WHERE name IN ($names) ORDER BY name")" "$before"
has "$(ona doctor)" 'ok    schema'
