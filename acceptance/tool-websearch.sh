#!/usr/bin/env bash
# S0 §7 WebSearch: the provider's own search, else the backend of the settings, else a clear error.
here=$(cd "$(dirname "$0")" && pwd -P)
. "$here/lib/common.sh"
. "$here/lib/model.sh"

said=$(call WebSearch '{"query":"rust"}' 2> /dev/null)
has "$said" 'webSearch.backend is not set'
has "$said" '"is_error":true'
has "$(call WebSearch '{"query":"rust","allowed_domains":["a.b"],"blocked_domains":["c.d"]}' 2> /dev/null)" 'not both'

# A backend, as SearXNG answers.
cat > replies.jsonl <<'JSON'
{"page": {"type": "application/json", "body": "{\"results\": [{\"title\": \"Rust\", \"url\": \"https://www.rust-lang.org/\", \"content\": \"A language\"}, {\"title\": \"Other\", \"url\": \"https://other.example/\", \"content\": \"\"}]}"}}
{"calls": [{"id": "s1", "tool": "WebSearch", "input": {"query": "rust"}}]}
{"search": {"query": "rust", "pages": [{"title": "Book", "url": "https://doc.rust-lang.org/book/"}]}, "text": "A language."}
{"text": "Done."}
JSON
serve_model
ona config set --scope user webSearch.backend searxng > /dev/null
ona config set --scope user webSearch.url "$anthropic_url" > /dev/null
said=$(call WebSearch '{"query":"rust","allowed_domains":["rust-lang.org"]}' 2> /dev/null)
has "$said" '1. Rust\n   https://www.rust-lang.org/\n   A language\n","is_error":false'

# Anthropic searches by itself.
export ANTHROPIC_API_KEY=key-of-this-test ANTHROPIC_BASE_URL=$anthropic_url
same "$(ona -p go --allowedTools WebSearch)" 'Done.'
has "$(sql "SELECT json_extract(payload_json, '\$.content') FROM transcript_entries WHERE entry_type = 'tool_result' ORDER BY rowid DESC LIMIT 1")" \
  'https://doc.rust-lang.org/book/'
same "$(sql 'SELECT group_concat(purpose) FROM (SELECT purpose FROM model_calls ORDER BY id)')" turn,web,turn
