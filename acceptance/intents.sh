#!/usr/bin/env bash
# S2 and S4: no change without an intent, no line without a trace. The argument says which obligation.
. "$(dirname "$0")/lib/common.sh"

mkdir -p .orchestration src lib
cat > .orchestration/active_intents.yaml <<'YAML'
active_intents:
  - id: INT-001 # the first
    name: Greet
    status: PLANNED
    owned_scope: ["src/**"]
    constraints: ["No new dependency"]
    acceptance_criteria: ["It greets"]
    related_requirements: [REQ-1]
  - id: INT-002
    status: IN_PROGRESS
    owned_scope: ["lib/**"]
  - id: INT-003
    status: COMPLETED
    owned_scope: ["**"]
YAML
trace=.orchestration/agent_trace.jsonl

policy() { printf '%s\n' "$@" > .orchestration/hook_policy.yaml; }
select_intent() { has "$(call SelectActiveIntent "{\"intent_id\":\"$1\"}")" '"is_error":false'; }
write() { call Write "{\"file_path\":\"$1\",\"content\":\"$2\"}" 2> "$ACCEPT_TMP/stderr"; }
done_() { has "$1" '"is_error":false'; }
refused() { has "$1" "\\\"type\\\":\\\"$2\\\""; }

# of JSON PATH: a part of a JSON text, as the sqlite3 shell prints it.
of() { sqlite3 :memory: "SELECT json_extract('${1//\'/\'\'}', '\$$2')"; }
last() { of "$(tail -n 1 "$trace")" "$1"; }

case $1 in
  intercepts) # AC-1
    echo '{"cells":[],"metadata":{},"nbformat":4,"nbformat_minor":5}' > src/n.ipynb
    for one in 'Write {"file_path":"src/a","content":"x"}' \
      'Edit {"file_path":"src/n.ipynb","old_string":"cells","new_string":"x"}' \
      'NotebookEdit {"notebook_path":"src/n.ipynb","new_source":"x","edit_mode":"insert"}' \
      'Bash {"command":"touch src/a"}'; do
      refused "$(call "${one%% *}" "${one#* }")" intent_required
    done
    [ ! -e src/a ] || fail 'a refused tool ran'
    same "$(wc -l < "$trace")" 4
    done_ "$(call Read '{"file_path":"src/n.ipynb"}')"
    done_ "$(call Glob '{"pattern":"**"}')"
    done_ "$(call Grep '{"pattern":"cells"}')"
    done_ "$(call Bash '{"command":"ls"}')"
    same "$(wc -l < "$trace")" 4
    same "$(sql "SELECT count(*) FROM gate_answers WHERE stage = 'intent'")" 8
    code=0
    printf '{"session_id":"s","cwd":"%s","hook_event_name":"PreToolUse","tool_name":"Write","tool_input":{"file_path":"%s/src/a"},"tool_use_id":"t"}' \
      "$PWD" "$PWD" | ona hook claude_code > "$ACCEPT_TMP/said" 2>&1 || code=$?
    same "$code" 2
    has "$(cat "$ACCEPT_TMP/said")" '"permissionDecision":"deny"'
    ;;
  select) # AC-2
    context=$(call select_active_intent '{"intent_id":"INT-001"}' )
    context=$(of "$context" .content)
    for part in '<intent_context>' 'src/**' 'No new dependency' 'It greets'; do has "$context" "$part"; done
    case $context in *INT-002*) fail 'another intent is told of' ;; esac
    same "$(sql 'SELECT intent_id FROM selected_intents')" INT-001
    has "$(cat .orchestration/active_intents.yaml)" 'id: INT-001 # the first'
    has "$(cat .orchestration/active_intents.yaml)" 'status: IN_PROGRESS'
    refused "$(call SelectActiveIntent '{"intent_id":"INT-003"}')" intent_inactive
    refused "$(call SelectActiveIntent '{"intent_id":"INT-009"}')" invalid_intent
    done_ "$(write src/a x)"
    ;;
  trace) # AC-3
    select_intent INT-001
    done_ "$(write src/a.rs 'fn a() {}')"
    same "$(wc -l < "$trace")" 1
    same "$(last .intent_id)" INT-001
    same "$(last .tool_name)" Write
    same "$(last .mutation_class)" FILE_CREATION
    same "$(last .scope_validation)" PASS
    same "$(last .success)" 1
    same "$(last .file.relative_path)" src/a.rs
    same "$(last .file.pre_hash)" ""
    same "$(last .file.post_hash)" "sha256:$(sha256sum < src/a.rs | cut -d' ' -f1)"
    same "$(last '.modified_ranges[0].ast_nodes[0].symbol')" a
    same "$(last '.related_requirements[0]')" REQ-1
    same "$(last .session_id)" "$(sql 'SELECT session_id FROM sessions')"
    has "$(last .id)" -4
    has "$(cat .orchestration/intent_map.md)" '| src/a.rs | a | FILE_CREATION |'
    ona trace verify
    ;;
  scope) # AC-4
    select_intent INT-001
    for path in lib/a ../out /etc/ona-accept src/../lib/a .orchestration/active_intents.yaml; do
      refused "$(write "$path" x)" scope_violation
    done
    ln -s ../lib src/link
    refused "$(write src/link/a x)" scope_violation
    refused "$(call Bash '{"command":"echo x > lib/a"}')" scope_violation
    [ -z "$(ls lib)" ] || fail 'something was written'
    same "$(last .scope_validation)" FAIL
    done_ "$(write src/.hidden x)"
    ;;
  parallel) # AC-5
    sql_seat() { sql "INSERT INTO conversations(id, project_dir) VALUES ('$1', '$PWD')"; }
    ona --init-db > /dev/null
    sql_seat a
    sql_seat b
    in_session() { ona --eval "{\"tool\":\"$2\",\"input\":$3}" --conversation "$1"; }
    echo one > src/shared
    for who in a b; do
      done_ "$(in_session "$who" SelectActiveIntent '{"intent_id":"INT-001"}')"
      done_ "$(in_session "$who" Read '{"file_path":"src/shared"}')"
    done
    done_ "$(in_session b Edit '{"file_path":"src/shared","old_string":"one","new_string":"two"}')"
    refused "$(in_session a Edit '{"file_path":"src/shared","old_string":"one","new_string":"three"}')" stale_file
    same "$(cat src/shared)" two
    for n in $(seq 8); do (in_session a Write "{\"file_path\":\"src/$n\",\"content\":\"x\"}" > /dev/null) & done
    wait
    same "$(grep -c '"success":true' "$trace")" 9
    ona trace verify
    ;;
  absent) # §3.2
    rm -r .orchestration
    done_ "$(write lib/a x)"
    has "$(call SelectActiveIntent '{"intent_id":"INT-001"}')" 'unknown tool'
    [ ! -e .orchestration ] || fail 'it was made'
    ;;
  fails-parse) # §3.3, first row; DESIGN §3
    printf 'active_intents: [\n' > .orchestration/active_intents.yaml
    done_ "$(write anywhere x)"
    has "$(cat "$ACCEPT_TMP/stderr")" warning
    same "$(sql "SELECT count(*) FROM events WHERE event_type = 'governance_degraded'")" 1
    policy 'failure_mode: closed'
    refused "$(write elsewhere x)" intent_parse_failed
    ;;
  fails-gate) # §3.3, second row
    mkdir .orchestration/.intentignore
    select_intent INT-001
    done_ "$(write anywhere x)"
    has "$(cat "$ACCEPT_TMP/stderr")" warning
    same "$(sql "SELECT count(*) FROM events WHERE event_type = 'governance_degraded'")" 1
    ;;
  fails-append) # §3.3, third row
    select_intent INT-001
    mkdir "$trace"
    done_ "$(write src/a x)"
    has "$(cat "$ACCEPT_TMP/stderr")" 'the trace has a gap'
    same "$(sql "SELECT count(*) FROM events WHERE event_type = 'trace.gap'")" 1
    ;;
  fails-locked) # §3.3, fourth row
    select_intent INT-001
    exec 9> .orchestration/agent_trace.lock
    flock 9
    done_ "$(write src/a x)"
    has "$(cat "$ACCEPT_TMP/stderr")" 'holds the lock'
    flock -u 9
    done_ "$(write src/b x)"
    same "$(wc -l < "$trace")" 1
    ;;
  fails-hash) # §3.3, fifth row: too large to be kept, so nobody knows what it was
    select_intent INT-001
    truncate -s 5M src/large
    done_ "$(call Bash '{"command":"truncate -s 0 src/large"}')"
    same "$(last .success)" 1
    same "$(last '.modified_ranges[0].before_hash')" ''
    same "$(last '.warnings[0]')" before_unknown
    ;;
  ignore) # S4
    select_intent INT-001
    printf '# frozen\nINT-002\nsrc/secret*\n' > .intentignore
    refused "$(call SelectActiveIntent '{"intent_id":"INT-002"}')" intent_blocked
    refused "$(write src/secret x)" path_blocked
    done_ "$(write src/open x)"
    ;;
  metadata) # S4, DESIGN §5 no. 16
    policy 'write_metadata: required' 'mutation_classes: [AST_REFACTOR, INTENT_EVOLUTION]'
    select_intent INT-001
    refused "$(write src/a x)" missing_intent_metadata
    say() { call Write "{\"file_path\":\"src/a\",\"content\":\"x\",\"intent_id\":\"$1\",\"mutation_class\":\"$2\"}"; }
    refused "$(say INT-001 BUG_FIX)" missing_mutation_class
    refused "$(say INT-002 INTENT_EVOLUTION)" intent_mismatch
    done_ "$(say INT-001 INTENT_EVOLUTION)"
    same "$(last .mutation_class_source)" claimed
    ;;
  destructive) # S4: default-destructive, and a human's yes
    select_intent INT-001
    echo 'touch src/made' > src/make.sh
    has "$(ona explain --bash 'sh src/make.sh' --json)" '"verdict":"ask"'
    has "$(ona explain --bash 'ls; cat src/make.sh' --json)" '"verdict":"allow"'
    done_ "$(call Bash '{"command":"sh src/make.sh"}')"
    same "$(sql "SELECT decision FROM tool_permission_log")" allow
    same "$(last '.modified_ranges[0].file')" src/made
    same "$(last .approver)" operator
    ;;
  outside) # work-tree comparison, reported and put back
    select_intent INT-001
    echo was > lib/kept
    echo 'echo x > src/in; echo x > lib/kept; echo x > lib/new' > src/run.sh
    has "$(call Bash '{"command":"sh src/run.sh"}')" 'outside the scope of INT-001'
    same "$(last .scope_validation)" FAIL
    echo was > lib/kept
    rm lib/new
    policy 'on_out_of_scope_write: revert'
    has "$(call Bash '{"command":"sh src/run.sh"}')" 'Restored: lib/kept, lib/new'
    same "$(cat lib/kept)" was
    [ ! -e lib/new ] || fail 'it is still there'
    ;;
  lessons) # S4
    select_intent INT-001
    printf 'echo "error: no"\nexit 3\n' > src/test.sh
    for _ in 1 2; do call Bash '{"command":"sh ./src/test.sh"}' > /dev/null; done
    same "$(grep -c 'exit 3. error: no' AGENT.md)" 1
    has "$(cat AGENT.md)" '## Lessons Learned'
    ;;
  *) fail "there is no part «$1»" ;;
esac
