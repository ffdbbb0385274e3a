#!/usr/bin/env bash
#
# Runs the rows of docs/ACCEPTANCE_MATRIX.md, in order, against the real binary.
#
# The matrix is itself the list: every table there with four columns holds rows
#
#   | <id> | <obligation> | `<command>` | <expected> |
#
# A command runs from the root of the repository by `bash -c`; `\|` in it is a
# pipe. What is expected is `exit N`, then, as often as wanted, "; stdout" and a
# text in backticks that standard output must contain.
#
# A row knows nothing of this machine's user. It gets
#
#   HOME, TMPDIR, AGENT_SDLC_DB   fresh, inside
#   ACCEPT_TMP                    a fresh directory that is removed afterwards
#   PATH                          with the `ona` under test first
#
# no input, and no variable that names a model, a key or a setting of ona.

set -euo pipefail

usage() {
  cat <<'HELP'
Usage: scripts/sdlc-acceptance.sh [--list] [--only ID]... [--keep]

Runs the rows of docs/ACCEPTANCE_MATRIX.md and stops at the first that fails.

  --list     print id, obligation, command and expected of each row, tab-separated
  --only ID  run this row alone; may be given more than once
  --keep     keep the temporary directories and say where they are
  --help     print this text

ONA_BIN names the binary to test, else it is target/debug/ona, built if missing.
ACCEPT_TIMEOUT is what one row may take, in seconds (900).

Exit codes: 0 all rows passed, 1 a row failed or the matrix is not sound, 2 wrong usage.
HELP
}

fail() {
  printf 'error: %s\n' "$1" >&2
  exit "${2:-1}"
}

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
matrix=docs/ACCEPTANCE_MATRIX.md
list=false
keep=false
only=()
while [ $# -gt 0 ]; do
  case $1 in
    --list) list=true ;;
    --keep) keep=true ;;
    --only)
      [ $# -ge 2 ] || fail '--only needs the id of a row' 2
      only+=("$2")
      shift
      ;;
    --help | -h)
      usage
      exit 0
      ;;
    *)
      usage >&2
      fail "unknown argument: $1" 2
      ;;
  esac
  shift
done

# The binary is named from where the caller stands, the rows run at the root.
case ${ONA_BIN:-} in
  '' | /*) ;;
  *) ONA_BIN=$PWD/$ONA_BIN ;;
esac
cd "$root"

# --- The matrix -------------------------------------------------------------

ids=()
obligations=()
commands=()
expectations=()

# Leaves its argument without space around it in `trimmed`: a subshell per cell would be slow.
trim() {
  trimmed=${1#"${1%%[![:space:]]*}"}
  trimmed=${trimmed%"${trimmed##*[![:space:]]}"}
}

# Splits a line of a table into `cells`; `\|` is a pipe inside a cell.
split_cells() {
  local bar=$'\x01' line=$1 cell
  line=${line//\\|/$bar}
  line=${line#|}
  line=${line%|}
  cells=()
  while :; do
    cell=${line%%|*}
    trim "${cell//$bar/|}"
    cells+=("$trimmed")
    [ "$cell" != "$line" ] || break
    line=${line#*|}
  done
}

add_row() {
  local number=$1 known
  [ ${#cells[@]} -eq 4 ] ||
    fail "$matrix:$number: ${#cells[@]} cells instead of 4 (a pipe inside a cell is written \\|)"
  local id=${cells[0]} command=${cells[2]} expected=${cells[3]}
  local id_form='^[A-Z0-9][A-Za-z0-9._-]*$'
  local code_form='^`([^`]+)`$'
  local expected_form='^exit [0-9]+(; stdout `[^`]+`)*$'
  [[ $id =~ $id_form ]] || fail "$matrix:$number: not an id: $id"
  for known in ${ids[@]+"${ids[@]}"}; do
    [ "$known" != "$id" ] || fail "$matrix:$number: the id $id is used twice"
  done
  [[ $expected =~ $expected_form ]] ||
    fail "$matrix:$number: $id: expected is \`exit N\`, then perhaps \`; stdout\` and a text in backticks"
  [[ $command =~ $code_form ]] || fail "$matrix:$number: $id: the command must be in backticks"
  ids+=("$id")
  obligations+=("${cells[1]}")
  commands+=("${BASH_REMATCH[1]}")
  expectations+=("$expected")
}

# A table is a header, a separator, then rows. Only tables of four columns are lists of rows.
read_matrix() {
  [ -f "$matrix" ] || fail "there is no $matrix"
  local line number=0 columns=0 in_table=false fenced=false
  local separator='^\|[[:space:]]*:?-+:?[[:space:]]*(\|[[:space:]]*:?-+:?[[:space:]]*)*\|?$'
  while IFS= read -r line || [ -n "$line" ]; do
    number=$((number + 1))
    trim "$line"
    line=$trimmed
    case $line in
      '```'*) $fenced && fenced=false || fenced=true ;;
    esac
    if $fenced || [ "${line#|}" = "$line" ]; then
      columns=0
      in_table=false
    elif $in_table; then
      [ "$columns" -ne 4 ] || {
        split_cells "$line"
        add_row "$number"
      }
    elif [ "$columns" -gt 0 ] && [[ $line =~ $separator ]]; then
      in_table=true
    else
      split_cells "$line"
      columns=${#cells[@]}
    fi
  done <"$matrix"
  [ ${#ids[@]} -gt 0 ] || fail "$matrix has no rows"
}

# The index of the row with an id.
find_row() {
  local index
  for index in "${!ids[@]}"; do
    if [ "${ids[$index]}" = "$1" ]; then
      printf '%s' "$index"
      return
    fi
  done
  fail "$matrix has no row $1" 2
}

# --- Running ----------------------------------------------------------------

# Makes a directory with `ona` alone in it, to be put first in PATH.
provide_binary() {
  local binary=${ONA_BIN:-}
  if [ -z "$binary" ]; then
    binary=${CARGO_TARGET_DIR:-target}/debug/ona
    [ -x "$binary" ] || cargo build --locked -p ona
    case $binary in
      /*) ;;
      *) binary=$root/$binary ;;
    esac
  fi
  [ -x "$binary" ] || fail "there is no program $binary"
  mkdir "$base/bin"
  ln -s "$binary" "$base/bin/ona"
}

# Replaces this (sub)shell by a row's command in the world that a row gets.
enter_row() {
  local command=$1 tmp=$2 name
  # A row may call cargo, which would else look for its toolchain in the fresh home.
  export CARGO_HOME="${CARGO_HOME:-$HOME/.cargo}" RUSTUP_HOME="${RUSTUP_HOME:-$HOME/.rustup}"
  for name in $(compgen -e); do
    case $name in
      AGENT_SDLC_* | SDLC_* | ONA_* | CLAUDE_* | CLAUDECODE | XDG_* | ACCEPT_* | \
        ANTHROPIC_* | OPENAI_* | LM_STUDIO_* | AWS_* | AZURE_* | GOOGLE_* | GEMINI_* | \
        VERTEX_* | CLOUD_ML_* | OPENROUTER_* | GIT_*)
        unset "$name"
        ;;
    esac
  done
  mkdir -p "$tmp/home" "$tmp/tmp"
  export HOME="$tmp/home" TMPDIR="$tmp/tmp" AGENT_SDLC_DB="$tmp/agent.db" ACCEPT_TMP="$tmp"
  export PATH="$base/bin:$PATH"
  # A row that hangs is a row that fails. Not every system has timeout(1).
  if command -v timeout >/dev/null; then
    exec timeout --kill-after=10 "$limit" bash -c "$command" </dev/null
  fi
  exec bash -c "$command" </dev/null
}

# Checks exit code and standard output; prints what is wrong, or nothing.
check() {
  local expected=$1 code=$2 output=$3 wanted text
  wanted=${expected#exit }
  wanted=${wanted%%;*}
  if [ "$code" -ne "$wanted" ]; then
    printf 'exit %s' "$code"
    [ "$code" -ne 124 ] || printf ' (perhaps stopped after %s s)' "$limit"
    return
  fi
  while [[ $expected == *'; stdout `'* ]]; do
    expected=${expected#*'; stdout `'}
    text=${expected%%'`'*}
    expected=${expected#*'`'}
    if ! grep -qF -e "$text" "$output"; then
      printf 'exit %s, but stdout lacks: %s' "$code" "$text"
      return
    fi
  done
}

report() {
  local index=$1 got=$2 stream
  {
    printf 'FAILED %s: %s\n' "${ids[$index]}" "${obligations[$index]}"
    printf '  command:  %s\n' "${commands[$index]}"
    printf '  expected: %s\n' "${expectations[$index]}"
    printf '  got:      %s\n' "$got"
    for stream in stdout stderr; do
      if [ -s "$base/$stream" ]; then
        printf -- '--- last lines of %s\n' "$stream"
        tail -n 20 "$base/$stream"
      fi
    done
    printf -- '---\n%s passed, 1 failed\n' "$passed"
    $keep || printf 'To look at its files: scripts/sdlc-acceptance.sh --keep --only %s\n' "${ids[$index]}"
  } >&2
}

# The clock in tenths of a second; an old bash has whole seconds only.
tenths() {
  local now=${EPOCHREALTIME:-$SECONDS.000000}
  now=${now/[.,]/}
  printf '%s' "${now%?????}"
}

run_row() {
  local index=$1 code=0 start tenths got
  local id=${ids[$index]}
  local tmp=$base/$id
  mkdir "$tmp"
  start=$(tenths)
  (enter_row "${commands[$index]}" "$tmp") >"$base/stdout" 2>"$base/stderr" || code=$?
  tenths=$(($(tenths) - start))
  got=$(check "${expectations[$index]}" "$code" "$base/stdout")
  if [ -n "$got" ]; then
    report "$index" "$got"
    exit 1
  fi
  passed=$((passed + 1))
  printf 'ok %s (%s.%s s)\n' "$id" $((tenths / 10)) $((tenths % 10))
  $keep || remove "$tmp"
}

# A row may leave directories behind that it made read-only.
remove() {
  rm -rf "$1" 2>/dev/null || { chmod -R u+rwX "$1" && rm -rf "$1"; }
}

read_matrix

if $list; then
  for index in "${!ids[@]}"; do
    printf '%s\t%s\t%s\t%s\n' \
      "${ids[$index]}" "${obligations[$index]}" "${commands[$index]}" "${expectations[$index]}"
  done
  exit 0
fi

selected=()
for id in ${only[@]+"${only[@]}"}; do
  index=$(find_row "$id") || exit
  selected+=("$index")
done
[ ${#only[@]} -gt 0 ] || selected=("${!ids[@]}")

limit=${ACCEPT_TIMEOUT:-900}
base=$(mktemp -d "${TMPDIR:-/tmp}/ona-acceptance.XXXXXX")
base=$(cd "$base" && pwd -P)
if $keep; then
  printf 'keeping %s\n' "$base"
else
  trap 'remove "$base"' EXIT
fi
provide_binary

passed=0
for index in "${selected[@]}"; do
  run_row "$index"
done
printf '%s passed, 0 failed\n' "$passed"
