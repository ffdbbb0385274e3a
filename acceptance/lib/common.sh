# What acceptance scripts share: a project to stand in, one call, and ways to say what is wrong.
set -euo pipefail
mkdir -p "$ACCEPT_TMP/project"
cd "$ACCEPT_TMP/project"

fail() {
  printf 'FAIL: %s\n' "$*" >&2
  exit 1
}

# call TOOL INPUT_JSON: runs one tool call and prints its report.
call() {
  ona --eval "{\"tool\":\"$1\",\"input\":$2}"
}

# Another process may be closing the file just then: wait for it, as ona does.
sql() {
  sqlite3 -cmd '.timeout 30000' "$AGENT_SDLC_DB" "$1"
}

# at_terminal LINE COMMAND…: runs a command in a terminal, where somebody types LINE. Prints what is shown.
at_terminal() {
  local line=$1
  shift
  printf '%s\n' "$line" | script -qec "$(printf '%q ' "$@")" /dev/null
}

# has TEXT PART: fails unless PART stands in TEXT.
has() {
  case $1 in *"$2"*) ;; *) fail "expected «$2» in: $1" ;; esac
}

# same GOT WANTED
same() {
  [ "$1" = "$2" ] || fail "expected «$2», got «$1»"
}
