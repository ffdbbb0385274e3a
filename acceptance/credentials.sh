#!/usr/bin/env bash
# S0 §2.7: where a credential comes from. Usage: credentials.sh A5|A6|A7
here=$(cd "$(dirname "$0")" && pwd -P)
. "$here/lib/common.sh"
. "$here/lib/model.sh"

printf '{"text": "done"}\n' > replies.jsonl
serve_model
export ANTHROPIC_BASE_URL=$anthropic_url
mkdir -p "$HOME/.claude"
case $1 in
  A5)
    # Which class is used, and never the secret.
    ona auth status > out 2>&1 && fail 'there is no credential, and status says there is'
    has "$(cat out)" 'source    none'
    export ANTHROPIC_API_KEY=key-of-this-test
    has "$(ona auth status)" 'source    ANTHROPIC_API_KEY (a key)'
    said=$(ona auth status --json)
    has "$said" '"class":"api_key"'
    export ANTHROPIC_AUTH_TOKEN=token-of-this-test
    said=$said$(ona auth status --json)
    has "$said" '"source":"ANTHROPIC_AUTH_TOKEN"'
    case $said in *of-this-test*) fail 'status shows a secret' ;; esac
    ;;
  A6)
    # A helper's key is used and not kept; its failure is no turn.
    echo '{"apiKeyHelper": "echo key-of-this-test"}' > "$HOME/.claude/settings.json"
    same "$(ona -p x)" done
    asked_with 'x-api-key key-of-this-test'
    sqlite3 "$AGENT_SDLC_DB" .dump | grep -q 'of-this-test' && fail 'the record holds the key'
    echo '{"apiKeyHelper": "echo text-of-this-test >&2; exit 3"}' > "$HOME/.claude/settings.json"
    code=0
    ona -p x > out 2>&1 || code=$?
    same "$code" 1
    has "$(cat out)" 'no credential from apiKeyHelper: it failed with exit code 3'
    grep -q 'of-this-test' out && fail 'what the helper printed is shown'
    has "$(sql "SELECT group_concat(detail) FROM events")" authentication_failed
    # Not before the project is trusted.
    echo '{}' > "$HOME/.claude/settings.json"
    mkdir -p .claude
    echo '{"apiKeyHelper": "touch ran; echo k"}' > .claude/settings.json
    ona -p x > out 2>&1 && fail 'a helper of an untrusted project was used'
    [ ! -e ran ] || fail 'a helper of an untrusted project ran'
    ;;
  A7)
    # Only the key and the helper of the command line count.
    export ANTHROPIC_AUTH_TOKEN=token-of-this-test CLAUDE_CODE_OAUTH_TOKEN=token-of-this-test
    echo '{"apiKeyHelper": "echo wrong"}' > "$HOME/.claude/settings.json"
    code=0
    ona -p x --bare > out 2>&1 || code=$?
    same "$code" 2
    same "$(ona -p x --bare --settings '{"apiKeyHelper": "echo key-of-this-test"}')" done
    asked_with 'x-api-key key-of-this-test'
    ;;
esac
