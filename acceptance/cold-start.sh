#!/usr/bin/env bash
# S0 §F.3: docs/OPERATOR_COLD_START.md has at most 12 numbered steps, and following them ends in a persisted turn.
here=$(cd "$(dirname "$0")" && pwd -P)
. "$here/lib/common.sh"
. "$here/lib/model.sh"

page=$here/../docs/OPERATOR_COLD_START.md
steps=$(grep -c '^[0-9]\+\. ' "$page")
[ "$steps" -ge 3 ] && [ "$steps" -le 12 ] || fail "$steps steps"
echo '{"text": "Hello from the model."}' > replies.jsonl
serve_model
# Each step's one command, the build left out: the binary under test is on the PATH already. The real model's
# address is the scripted one's.
grep '^[0-9]\+\. ' "$page" | sed 's/^[0-9]*\. [^`]*`//; s/`[^`]*$//' | grep -v '^cargo \|target/release' > commands
[ "$(wc -l < commands)" -ge 3 ] || fail "only these commands: $(cat commands)"
export ANTHROPIC_BASE_URL=$anthropic_url
bash -euo pipefail ./commands > out 2>&1 || fail "$(cat out)"
has "$(cat out)" 'Hello from the model.'
has "$(cat out)" 'assistant'
