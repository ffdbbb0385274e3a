#!/usr/bin/env bash
# S0 §2.10: with valid environment one whole turn on a provider: user, model, a tool, persisted transcript.
# Usage: provider.sh A1|A2|O1|L1
here=$(cd "$(dirname "$0")" && pwd -P)
. "$here/lib/common.sh"
. "$here/lib/model.sh"

echo 'the answer is 42' > a.txt
cat > replies.jsonl <<'JSON'
{"text": "I look.", "calls": [{"id": "call_1", "tool": "Read", "input": {"file_path": "a.txt"}}]}
{"text": "It is 42."}
JSON
serve_model
case $1 in
  A1)
    provider=claude_code_subscription model=claude_sonnet_4 sent='x-api-key key-of-this-test'
    export ANTHROPIC_API_KEY=key-of-this-test ANTHROPIC_BASE_URL=$anthropic_url
    ;;
  A2)
    provider=claude_code_subscription model=claude_opus_4 sent='authorization Bearer token-of-this-test'
    export ANTHROPIC_AUTH_TOKEN=token-of-this-test ANTHROPIC_BASE_URL=$anthropic_url
    ;;
  O1)
    provider=openai_compatible model=gpt_4o_mini sent='authorization Bearer key-of-this-test'
    export OPENAI_API_KEY=key-of-this-test OPENAI_BASE_URL=$openai_url
    ;;
  L1)
    provider=lm_studio_local model=lm_studio_server_routed sent='authorization Bearer lm-studio'
    export LM_STUDIO_BASE_URL=$openai_url LM_STUDIO_MODEL=local
    ;;
esac
same "$(ona -p 'what is the answer?' --provider "$provider" --model "$model")" 'It is 42.'
asked_with "$sent"
same "$(sql "SELECT group_concat(entry_type) FROM (SELECT entry_type FROM transcript_entries ORDER BY sequence)")" \
  system,user,assistant,tool_use,tool_result,assistant
has "$(sql "SELECT payload_json FROM transcript_entries WHERE entry_type = 'tool_result'")" 'the answer is 42'
same "$(sql "SELECT count(*) FROM model_calls WHERE provider = '$provider'")" 2
sqlite3 "$AGENT_SDLC_DB" .dump | grep 'of-this-test' > /dev/null && fail 'the record holds the credential'
ona -p x --provider "$provider" --model nonsense > out 2>&1 && fail 'a model that there is not was asked'
has "$(cat out)" "for $provider (available"
