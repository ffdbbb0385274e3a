#!/usr/bin/env bash
# S0 §7.1: what fails is an error result on the record, in one of the closed classes.
. "$(dirname "$0")/lib/common.sh"
for bad in \
  '{"tool":"Nope","input":{}}' \
  '{"tool":"Read","input":{}}' \
  '{"tool":"Read","input":{"file_path":"x","unknown":1}}' \
  '{"tool":"Read","input":{"file_path":1}}' \
  '{"tool":"Read","input":{"file_path":"missing"}}' \
  '{"tool":"Read","input":{"file_path":"."}}' \
  '{"tool":"Read","input":{"file_path":"a\u0000b"}}'; do
  has "$(ona --eval "$bad")" '"is_error":true'
done
same "$(sql "SELECT count(*) FROM transcript_entries WHERE entry_type = 'tool_result'")" 7
same "$(sql "SELECT DISTINCT json_extract(detail, '\$.class') FROM events WHERE event_type = 'tool.finished'")" tool_rejected
code=0
said=$(ona --eval '{"tool"' 2>&1) || code=$?
same "$code" 2
has "$said" 'hint:'
