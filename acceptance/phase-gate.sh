#!/usr/bin/env bash
# S0 §8.3: in planning without an approved plan Write, Edit, Bash and NotebookEdit are denied, others run.
. "$(dirname "$0")/lib/common.sh"
ona --init-db > /dev/null
sql "INSERT INTO conversations(id, project_dir, phase) VALUES ('c', '$PWD', 'planning')"
echo x > f
plan() { ona --eval "{\"tool\":\"$1\",\"input\":$2}" --conversation c; }
has "$(plan Read '{"file_path":"f"}')" '"is_error":false'
for denied in 'Write {"file_path":"n","content":""}' 'Edit {"file_path":"f","old_string":"x","new_string":"y"}' \
  'Bash {"command":"touch ran"}' 'NotebookEdit {"notebook_path":"f","new_source":""}'; do
  has "$(plan "${denied%% *}" "${denied#* }")" 'in planning and no plan is approved'
done
[ ! -e n ] && [ ! -e ran ] || fail 'a denied tool ran'
code=0
said=$(ona --transition implement --conversation c 2>&1) || code=$?
same "$code" 1
has "$said" 'no approved plan'
sql "INSERT INTO plans(conversation_id, content, hash, status) VALUES ('c', 'p', 'h', 'approved')"
has "$(plan Bash '{"command":"touch ran"}')" '"is_error":false'
ona --transition implement --conversation c > /dev/null
same "$(sql "SELECT phase FROM conversations")" implement
same "$(sql "SELECT count(*) FROM events WHERE event_type = 'phase.changed'")" 1
