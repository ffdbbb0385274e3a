#!/usr/bin/env bash
# S0 §4.3, §4.7: memories are rows of the record, found by their words; the index changes with them. The argument says
# which obligation.
here=$(cd "$(dirname "$0")" && pwd -P)
. "$here/lib/common.sh"
. "$here/lib/model.sh"

add() { ona memory add --type lesson --title "$1" --content "$2" > /dev/null; }
# The index, and what S0's own rebuild makes of the table.
index() { sql 'SELECT rowid, * FROM memories_fts ORDER BY rowid'; }
rebuilt() {
  sqlite3 -cmd '.timeout 30000' "$AGENT_SDLC_DB" "BEGIN; DELETE FROM memories_fts;
    INSERT INTO memories_fts(title, content, keywords, anticipated_queries)
    SELECT title, content, keywords, anticipated_queries FROM memories;
    SELECT rowid, * FROM memories_fts ORDER BY rowid; ROLLBACK;"
}

case $1 in
  index) # §4.3
    for n in 1 2 3 4 5; do add "Title $n" "the token $n expires"; done
    same "$(index)" "$(rebuilt)"
    ona memory forget "$(sql "SELECT id FROM memories WHERE title = 'Title 2'")" > /dev/null
    same "$(index)" "$(rebuilt)"
    ona memory edit "$(sql "SELECT id FROM memories WHERE title = 'Title 4'")" --content 'a cookie' > /dev/null
    same "$(index)" "$(rebuilt)"
    has "$(ona memory search cookies)" 'Title 4'
    same "$(ona memory search tokens --json | grep -o '"id":' | wc -l)" 3
    for n in $(seq 8); do (add "Parallel $n" x) & done
    wait
    same "$(sql 'SELECT count(*) FROM memories_fts')" 12
    same "$(index)" "$(rebuilt)"
    same "$(sql "SELECT count(*) FROM events WHERE event_type LIKE 'memory.%'")" 15
    ;;
  import) # §4.7
    mkdir notes
    printf '# Login\nThe token expires.\n' > notes/login.md
    has "$(ona memory import notes)" '1 memory added'
    has "$(ona memory import notes)" '0 memories added, 0 corrected, 1 unchanged'
    rm -r notes
    has "$(ona memory search token)" Login
    ;;
  offered) # DESIGN §2: the record is what the next session begins with
    add 'Tests need a database' 'make db'
    printf '{"text": "one"}\n{"text": "two"}\n' > replies.jsonl
    serve_model
    export ANTHROPIC_API_KEY=key-of-this-test ANTHROPIC_BASE_URL=$anthropic_url
    notes() { sql "SELECT payload_json FROM transcript_entries WHERE payload_json LIKE '%earlier work%'"; }
    same "$(ona -p go)" one
    has "$(notes)" 'Tests need a database'
    same "$(notes | wc -l)" 1
    same "$(ona -p go --settings '{"memory": {"budgetTokens": 0}}')" two
    same "$(notes | wc -l)" 1
    ;;
  *) fail "no such obligation: $1" ;;
esac
