#!/usr/bin/env bash
# S0 §2.7: where a credential comes from. Usage: credentials.sh A3|A4|A5|A6|A7
here=$(cd "$(dirname "$0")" && pwd -P)
. "$here/lib/common.sh"
. "$here/lib/model.sh"

printf '{"text": "done"}\n' > replies.jsonl
serve_model
export ANTHROPIC_BASE_URL=$anthropic_url
mkdir -p "$HOME/.claude"

# sign_in: starts an authorization server, and signs in with a browser.
sign_in() {
  office=$ACCEPT_TMP/office
  node "$here/lib/authority.mjs" serve "$office" &
  trap 'kill "$model_pid" $! 2> /dev/null || true' EXIT
  for _ in $(seq 200); do
    [ -s "$office" ] && break
    sleep 0.05
  done
  address=$(sed -n 1p "$office")
  [ -n "$address" ] || fail 'the authorization server did not start'
  export ONA_OAUTH_CLIENT_ID=the-client ONA_OAUTH_AUTHORIZE_URL=$address/authorize
  export ONA_OAUTH_TOKEN_URL=$address/token ONA_OAUTH_REVOKE_URL=$address/revoke
  export BROWSER="node $here/lib/authority.mjs visit %s"
  has "$(ona auth login 2>&1)" 'signed in as who@x.example'
}

# Nothing of the login in the record, nor as text in any file of the operator's.
kept_secret() {
  sqlite3 "$AGENT_SDLC_DB" .dump | grep 'of-this-test' > /dev/null && fail 'the record holds a token'
  if grep -rq 'of-this-test' "$AGENT_SDLC_DB"* "$HOME"; then fail 'a file holds a token'; fi
}

case $1 in
  A3)
    # A browser signs in, the model gets the token, and nothing of it is stored as text.
    sign_in
    same "$(ona -p x)" done
    asked_with 'authorization Bearer access-1-of-this-test'
    has "$(ona auth status --json)" '"class":"oauth","source":"login"'
    kept_secret
    ;;
  A4)
    # Signed out: revoked, forgotten, and the next run asks again.
    sign_in
    same "$(ona auth logout)" 'signed out'
    has "$(cat "$office")" '/revoke token=refresh-1-of-this-test'
    has "$(ona auth status 2>&1 || true)" 'source    none'
    code=0
    ona -p x > out 2>&1 || code=$?
    same "$code" 2
    has "$(cat out)" 'ona auth login'
    same "$(ona auth logout)" 'nobody is signed in'
    ;;
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
    echo key-of-this-test > helpers-key
    echo "{\"apiKeyHelper\": \"cat $PWD/helpers-key\"}" > "$HOME/.claude/settings.json"
    same "$(ona -p x)" done
    asked_with 'x-api-key key-of-this-test'
    # The whole dump is read: a pipe that is cut short would count as nothing found.
    sqlite3 "$AGENT_SDLC_DB" .dump | grep 'of-this-test' > /dev/null && fail 'the record holds the key'
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
