#!/usr/bin/env bash
# Bash run_in_background: answers at once, the output goes to a file, the end is on the record.
. "$(dirname "$0")/lib/common.sh"
mkfifo gate
has "$(call Bash '{"command":"echo begun; cat gate; exit 5","run_in_background":true}')" 'Started background task'
echo go > gate
for _ in $(seq 600); do
  end=$(sql 'SELECT exit_code, end_reason FROM background_tasks WHERE ended_at IS NOT NULL')
  [ -z "$end" ] || break
  sleep 0.05
done
same "$end" '5|exited'
same "$(cat "$(sql 'SELECT output_path FROM background_tasks')" | tr '\n' ' ')" 'begun go '
