#!/usr/bin/env bash
# S0 §4.5 and Appendix C: one row a record, sequence from 0 step 1, compact payloads with their _t.
. "$(dirname "$0")/lib/common.sh"
call Bash '{"command":"echo 1"}' > /dev/null
call Bash '{"command":"exit 1"}' > /dev/null
same "$(sql 'SELECT group_concat(sequence) FROM (SELECT sequence FROM transcript_entries ORDER BY id)')" 0,1,2,3
same "$(sql 'SELECT count(*) FROM transcript_entries WHERE json_extract(payload_json, "$._t") = entry_type')" 4
has "$(sql 'SELECT payload_json FROM transcript_entries WHERE sequence = 0')" '"name":"Bash","input":{"command":"echo 1"}'
has "$(sql 'SELECT payload_json FROM transcript_entries WHERE sequence = 1')" '"content":"1\n","is_error":false'
has "$(sql 'SELECT payload_json FROM transcript_entries WHERE sequence = 3')" '"is_error":true'
same "$(sql "SELECT count(*) FROM events WHERE event_type = 'tool.started'")" 2
