#!/usr/bin/env bash
# S0 §4.8: many processes on one file; no failure, no hole in the sequence, every call paired.
. "$(dirname "$0")/lib/common.sh"
call Bash '{"command":"true"}' > /dev/null
pids=()
for n in 1 2 3 4; do
  (for k in 1 2 3 4 5; do call Write "{\"file_path\":\"$n-$k.txt\",\"content\":\"x\"}"; done) > "$ACCEPT_TMP/out-$n" &
  pids+=($!)
done
for pid in "${pids[@]}"; do wait "$pid" || fail "a writer failed"; done
same "$(cat "$ACCEPT_TMP"/out-* | grep -c '"is_error":false')" 20
same "$(sql 'SELECT count(*), count(DISTINCT sequence), min(sequence), max(sequence) FROM transcript_entries')" '42|42|0|41'
has "$(ona doctor)" 'no orphans, no gaps'
