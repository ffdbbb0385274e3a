#!/usr/bin/env bash
# S0 §7 WebFetch: a page as text, capped; HTTP errors are errors; other hosts are told, private ones are closed.
here=$(cd "$(dirname "$0")" && pwd -P)
. "$here/lib/common.sh"
. "$here/lib/model.sh"

{
  echo '{"page": {"type": "text/html", "body": "<h1>News</h1><p>It is <b>so</b>.</p>"}}'
  echo '{"page": {"status": 404, "type": "text/plain", "body": "gone"}}'
  echo '{"page": {"status": 302, "headers": {"location": "https://elsewhere.example/new"}}}'
  printf '{"page": {"type": "text/plain", "body": "%s"}}\n' "$(head -c 1100000 /dev/zero | tr '\0' a)"
  echo '{"page": {"type": "text/html", "body": "<p>The price is 7.</p>"}}'
} > replies.jsonl
serve_model
site_pid=$model_pid
url=$anthropic_url/page
port=${anthropic_url##*:}
fetch() {
  call WebFetch "{\"url\":\"$1\",\"prompt\":\"What does it say?\"}"
}

# Closed until the operator opens it, however it is written.
for host in 127.0.0.1 2130706433 0x7f000001 localhost '[::1]' 169.254.169.254; do
  said=$(fetch "http://$host:$port/" 2> /dev/null)
  has "$said" 'only public addresses are fetched'
  has "$said" '"is_error":true'
done
has "$(fetch 'https://me:pass-of-this-test@example.com/' 2> /dev/null)" 'credentials do not belong in URLs'

mkdir -p "$HOME/.config/ona"
echo '{"webFetch": {"summarize": false, "allowPrivateHosts": ["127.0.0.1"]}}' > "$HOME/.config/ona/settings.json"
has "$(fetch "$url")" '# News\n\nIt is **so**.","is_error":false'
said=$(fetch "$url")
has "$said" '404 Not Found'
has "$said" '"is_error":true'
same "$(sql "SELECT json_extract(detail, '\$.class') FROM events WHERE event_type = 'tool.finished' ORDER BY id DESC LIMIT 1")" tool_rejected
has "$(fetch "$url")" 'https://elsewhere.example/new'
has "$(fetch "$url")" 'aaa[SDLC_TRUNCATED]","is_error":false'
same "$(sql "SELECT length(json_extract(payload_json, '\$.content')) FROM transcript_entries WHERE entry_type = 'tool_result' ORDER BY rowid DESC LIMIT 1")" 1048592

# The small model answers the prompt, and the model sees that answer alone.
echo '{"webFetch": {"allowPrivateHosts": ["127.0.0.1"]}}' > "$HOME/.config/ona/settings.json"
cat > replies.jsonl <<JSON
{"calls": [{"id": "w1", "tool": "WebFetch", "input": {"url": "$url", "prompt": "The price?"}}]}
{"text": "Done."}
JSON
serve_model
trap 'kill "$model_pid" "$site_pid" 2> /dev/null || true' EXIT
export ANTHROPIC_API_KEY=key-of-this-test ANTHROPIC_BASE_URL=$anthropic_url
same "$(ona -p go --allowedTools 'WebFetch(domain:127.0.0.1)')" 'Done.'
same "$(sql 'SELECT group_concat(purpose) FROM (SELECT purpose FROM model_calls ORDER BY id)')" turn,web,turn
same "$(sql "SELECT json_extract(payload_json, '\$.content') FROM transcript_entries WHERE entry_type = 'tool_result' ORDER BY rowid DESC LIMIT 1")" ok
