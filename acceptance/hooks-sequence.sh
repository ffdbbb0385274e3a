#!/usr/bin/env bash
# S0 §5.2 to §5.6: one at a time by ordinal, a block skips the rest with its reason, Post hooks never skip.
. "$(dirname "$0")/lib/common.sh"
ona --init-db > /dev/null
put() { sql "INSERT OR REPLACE INTO settings_snapshot(scope, json, updated_at) VALUES ('effective', '$1', datetime('now'))"; }
put '{"hooks":[
 {"hook_event_name":"PreToolUse","matcher":"Bash","command":"echo a >> order"},
 {"hook_event_name":"PreToolUse","matcher":"Bash","command":"echo b >> order; echo stop >&2; exit 2"},
 {"hook_event_name":"PreToolUse","matcher":"Bash","command":"echo c >> order"}]}'
has "$(call Bash '{"command":"touch ran"}')" '[1] stop'
[ ! -e ran ] || fail 'a blocked tool ran'
same "$(tr '\n' ' ' < order)" 'a b '
same "$(sql 'SELECT group_concat(hook_ordinal || ":" || coalesce(exit_code, skipped_reason)) FROM hook_invocations')" \
  '0:0,1:2,2:prior_block_or_deny'
put '{"hooks":[
 {"hook_event_name":"PostToolUse","matcher":"Bash","command":"echo first >&2; exit 2"},
 {"hook_event_name":"PostToolUse","matcher":"Bash","command":"cat > post.json"},
 {"hook_event_name":"PostToolUseFailure","matcher":"Bash","command":"cat > failure.json"}]}'
has "$(call Bash '{"command":"echo fine"}')" '"is_error":false'
has "$(cat post.json)" '"tool_response":"fine\n"'
[ ! -e failure.json ] || fail 'both Post events fired'
has "$(sql "SELECT payload_json FROM transcript_entries WHERE entry_type = 'internal_hook'")" '[0] first'
call Bash '{"command":"exit 4"}' > /dev/null
has "$(cat failure.json)" '"hook_event_name":"PostToolUseFailure"'
put '{"hooks":[{"hook_event_name":"PreToolUse","matcher":"","command":"echo {\"async\":true}"}]}'
has "$(call Bash '{"command":"echo on"}')" '"is_error":false'
