# What rows with a model share: a scripted one on loopback.

# serve_model: serves the answers in replies.jsonl; sets anthropic_url and openai_url.
serve_model() {
  ona scripted-model replies.jsonl > "$ACCEPT_TMP/model.log" &
  model_pid=$!
  trap 'kill "$model_pid" 2> /dev/null || true' EXIT
  for _ in $(seq 200); do
    [ "$(wc -l < "$ACCEPT_TMP/model.log")" -ge 2 ] && break
    sleep 0.05
  done
  anthropic_url=$(sed -n 1p "$ACCEPT_TMP/model.log")
  openai_url=$(sed -n 2p "$ACCEPT_TMP/model.log")
  [ -n "$openai_url" ] || fail 'the scripted model did not start'
}

# asked_with TEXT: fails unless a question came with this credential.
asked_with() {
  for _ in $(seq 200); do
    grep -qF "$1" "$ACCEPT_TMP/model.log" && return
    sleep 0.05
  done
  fail "expected «$1» in: $(cat "$ACCEPT_TMP/model.log")"
}
