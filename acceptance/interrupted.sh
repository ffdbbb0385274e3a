#!/usr/bin/env bash
# DESIGN §3: a crash between start and outcome shows as an interrupted call, and is settled by the next.
. "$(dirname "$0")/lib/common.sh"
mkfifo ready
ona --eval '{"tool":"Bash","input":{"command":"echo $$ > ready; sleep 60"}}' > /dev/null &
shell=$(cat ready)
kill -9 $!
wait || true
same "$(sql 'SELECT group_concat(event_type) FROM events')" tool.started
has "$(ona doctor)" '1 interrupted'
call Bash '{"command":"true"}' > /dev/null
has "$(sql "SELECT payload_json FROM transcript_entries WHERE sequence = 1")" '[SDLC_INTERNAL] interrupted'
has "$(ona doctor)" 'no orphans, no gaps'
# What the dead call had left running is gone too.
state=$(sed -n 's/^State:\t\(.\).*/\1/p' "/proc/$shell/status" 2> /dev/null || true)
case $state in '' | Z | X) ;; *) fail "its shell $shell still runs ($state)" ;; esac
