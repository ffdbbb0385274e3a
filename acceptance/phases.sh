#!/usr/bin/env bash
# S0 §8.5 to §8.7 and F.2.7, in a project with a small program.
# Usage: phases.sh isolation|leak|observable|anti-mock|traceability|gate|no-bypass|report
here=$(cd "$(dirname "$0")" && pwd -P)
. "$here/lib/common.sh"
. "$here/lib/model.sh"

mkdir -p docs
echo 'Items are kept in todo.txt, one on each line.' > docs/usage.md
cat > "$HOME/plan.md" <<'EOF'
# A list of things to do

`todo.sh` keeps a list. docs/usage.md describes it.

## Success criteria

- [id: ADD] [surface: file_state] `sh todo.sh add TEXT` adds a line with TEXT to `todo.txt`
- [id: LIST] `sh todo.sh list` prints every item with its number, from 1
EOF
cat > "$HOME/adds.sh" <<'EOF'
# CRITERION: ADD
# SURFACE: file_state
# SETUP
# EXERCISE
sh "$PROJECT/todo.sh" add milk
# ASSERT
[ "$(cat todo.txt)" = milk ] || exit 1
EOF
cat > "$HOME/lists.sh" <<'EOF'
# CRITERION: LIST
# SURFACE: process_output
# SETUP
printf 'milk\nbread\n' > todo.txt
# EXERCISE
OUT=$(sh "$PROJECT/todo.sh" list)
echo "$OUT"
# ASSERT
[ "$OUT" = "$(printf '1. milk\n2. bread')" ] || exit 1
EOF

# planned: a human has approved the plan.
planned() {
  ona --transition planning > /dev/null
  json=$(sqlite3 :memory: "SELECT json_object('tool', 'ExitPlanMode', 'input', json_object('plan', readfile('$HOME/plan.md') || ''))")
  ona --eval "$json" > /dev/null
  has "$(at_terminal y ona plan approve)" 'approved plan'
}

# implemented SEPARATOR: the program, which is right with a full stop.
implemented() {
  cat > todo.sh <<EOF
remember_one_item() { printf '%s\\n' "\$*" >> todo.txt; }
number_every_item() { awk '{ printf "%d$1 %s\\n", NR, \$0 }' todo.txt; }
case \$1 in add) shift; remember_one_item "\$@" ;; list) number_every_item ;; esac
EOF
}

# refused COMMAND…: exit 1; prints what it says.
refused() {
  code=0
  "$@" > refused.txt 2>&1 || code=$?
  same "$code" 1
  cat refused.txt
  rm refused.txt
}

# author FILE…: a model that answers with these tests.
author() {
  tests=''
  for file in "$@"; do
    id=$(sed -n 's/^# CRITERION: //p' "$file")
    surface=$(sed -n 's/^# SURFACE: //p' "$file")
    tests="$tests, json_object('criterion', '$id', 'surface', '$surface', 'name', '$(basename "$file" .sh)', 'script', readfile('$file') || '')"
  done
  answer="json_object('tests', json_array(${tests#, }))"
  for _ in 1 2 3 4; do sqlite3 :memory: "SELECT json_object('aside', $answer || '')"; done > "$HOME/replies.jsonl"
  cp "$HOME/replies.jsonl" replies.jsonl
  serve_model
  rm replies.jsonl
  export ANTHROPIC_BASE_URL=$anthropic_url ANTHROPIC_API_KEY=key-of-this-test
}

# at_test SEPARATOR: the work is done, the phase is test.
at_test() {
  planned
  implemented "$1"
  ona --transition test > /dev/null
}

phase() {
  sql 'SELECT phase FROM conversations'
}

# refuses FILE WHY: this test is not added.
refuses() {
  has "$(refused ona test add "$1")" "$2"
}

case $1 in
  isolation)
    # All that the author is given is on the record, and nothing of the work is in it.
    at_test .
    author "$HOME/adds.sh" "$HOME/lists.sh"
    ona test generate > /dev/null 2>&1
    input=$(sql 'SELECT input FROM test_generations')
    has "$input" 'A list of things to do'
    has "$input" 'Items are kept in todo.txt'
    case $input in *remember_one_item* | *number_every_item* | *awk*) fail 'the author saw the work' ;; esac
    same "$(sql "SELECT count(*) FROM transcript_entries t JOIN test_generations g ON t.session_id = g.author
      WHERE t.entry_type IN ('tool_use', 'tool_result')")" 0
    same "$(sql "SELECT outcome FROM test_generations")" done
    ;;
  leak)
    # A later plan quotes the work: generation stops, and nothing is sent.
    at_test .
    { cat "$HOME/plan.md"; printf '\n## Notes\n\n'; base64 < todo.sh; } > "$HOME/quoted.md"
    mv "$HOME/quoted.md" "$HOME/plan.md"
    planned
    ona --transition test > /dev/null
    author "$HOME/adds.sh" "$HOME/lists.sh"
    has "$(refused ona test generate)" "the tests' author would see the work: todo.sh is in their input"
    same "$(sql 'SELECT outcome FROM test_generations')" stopped
    same "$(sql 'SELECT count(*) FROM model_calls')" 0
    ;;
  observable)
    # A test asserts on the surface of its criterion, and more than an exit status.
    at_test .
    sed 's/^\[ .*/exit 0/' "$HOME/lists.sh" > t.sh
    refuses t.sh 'there is no assertion'
    sed -e '/^echo/d' -e 's/^\[ .*/test $? -eq 0/' "$HOME/lists.sh" > t.sh
    refuses t.sh 'only the exit status is asserted'
    sed 's/^\[ .*/[ -f todo.txt ] || exit 1/' "$HOME/lists.sh" > t.sh
    refuses t.sh 'nothing is asserted about process_output'
    sed 's/file_state/screen/' "$HOME/adds.sh" > t.sh
    refuses t.sh 'unknown surface `screen`'
    ona test add "$HOME/lists.sh" > /dev/null
    ;;
  anti-mock)
    # Nothing of the product is replaced, imported or read.
    at_test .
    for line in 'sh() { echo "1. milk"; }' 'alias sh=true' 'PATH="$PWD:$PATH"' '. "$PROJECT/todo.sh"' \
      'export BASH_ENV="$PWD/x"' 'cat "$PROJECT/todo.sh" > copy' 'echo x > "$PROJECT/todo.sh"'; do
      awk -v line="$line" '{ print } /^# SETUP/ { print line }' "$HOME/lists.sh" > t.sh
      refused ona test add t.sh > /dev/null
    done
    same "$(sql 'SELECT count(*) FROM behavioral_tests')" 0
    ;;
  traceability)
    # Every test belongs to a criterion of the plan, which keeps its id.
    at_test .
    author "$HOME/adds.sh" "$HOME/lists.sh"
    ona test generate > /dev/null 2>&1
    same "$(sql "SELECT group_concat(criterion || ':' || origin, ' ') FROM behavioral_tests")" 'ADD:generated LIST:generated'
    sed 's/ADD/OTHER/' "$HOME/adds.sh" > t.sh
    refuses t.sh 'the plan has no criterion OTHER; it has ADD, LIST'
    same "$(sql 'SELECT count(*) FROM behavioral_tests t JOIN plans p ON p.id = t.plan_id AND p.hash = t.plan_hash')" 2
    ;;
  gate)
    # test → verify waits for a passing test of every criterion, on the code as it is.
    at_test :
    has "$(refused ona --transition verify)" 'ADD has no test; LIST has no test'
    ona test add "$HOME/adds.sh" > /dev/null
    ona test add "$HOME/lists.sh" > /dev/null
    has "$(refused ona --transition verify)" 'not run'
    has "$(refused ona test run)" 'failed'
    has "$(refused ona --transition verify)" 'test 2 of LIST (lists): failed'
    implemented .
    has "$(refused ona --transition verify)" 'stale'
    ona test run > /dev/null 2>&1
    same "$(phase)" test
    ona --transition verify > /dev/null
    same "$(phase)" verify
    same "$(sql "SELECT count(*) FROM events WHERE event_type = 'phase.refused'")" 4
    ;;
  no-bypass)
    # implement → verify and implement → done do not exist.
    planned
    has "$(refused ona --transition verify)" 'cannot move from implement to verify'
    has "$(refused ona --transition done)" 'cannot move from implement to done'
    same "$(phase)" implement
    ;;
  report)
    # Matrix, whole output, gaps and totals; a human approves them, and no one else.
    at_test .
    ona test add "$HOME/adds.sh" > /dev/null
    has "$(ona report)" 'LIST'
    ona report --format json --output "$HOME/report.json" > /dev/null
    same "$(sqlite3 :memory: "SELECT json_extract(readfile('$HOME/report.json') || '', '\$.uncovered')")" '["ADD","LIST"]'
    ona test add "$HOME/lists.sh" > /dev/null
    ona test run > /dev/null 2>&1
    ona --transition verify > /dev/null
    report=$(ona report)
    for part in ADD LIST adds lists '1. milk' '2. bread' 'hash: '; do has "$report" "$part"; done
    has "$(ona report --format html)" '<!doctype html>'
    has "$(refused ona report approve < /dev/null)" 'needs a human at a terminal'
    same "$(phase)" verify
    at_terminal y ona report approve > /dev/null
    same "$(phase)" done
    same "$(sql 'SELECT approved_by, length(report_hash) FROM test_reports')" 'human|64'
    same "$(sql 'SELECT status FROM plans')" completed
    ;;
  *) fail "unknown part: $1" ;;
esac
