#!/usr/bin/env bash
# S0 §2.9: the commands of an interactive session, in line mode, on a terminal of its own.
# Usage: repl.sh help|model|login|logout|status|config|clear|closed
here=$(cd "$(dirname "$0")" && pwd -P)
. "$here/lib/common.sh"
. "$here/lib/model.sh"

printf '{"text": "first answer"}\n{"text": "second answer"}\n{"text": "third answer"}\n' > replies.jsonl
serve_model
export ANTHROPIC_BASE_URL=$anthropic_url TERM=dumb

# typed LINE…: what a session says to these lines, without the carriage returns of the terminal.
typed() {
  code=0
  printf '%s\n' "$@" /exit | timeout 60 script -qec 'ona --plain' /dev/null | tr -d '\r' > session.out || code=$?
  same "$code" 0
  if LC_ALL=C grep -q "$(printf '\033')" session.out; then fail 'line mode wrote an escape sequence'; fi
  cat session.out
}

# sign_in: starts an authorization server, and the browser that goes there.
authorize() {
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
}

case $1 in
  help)
    export ANTHROPIC_API_KEY=key-of-this-test
    said=$(typed /help '/help model')
    for command in model login logout status config clear resume rewind permissions; do
      has "$said" "/$command"
    done
    has "$said" 'Switch the model, and the provider with it'
    ;;
  model)
    export ANTHROPIC_API_KEY=key-of-this-test OPENAI_API_KEY=other-key-of-this-test OPENAI_BASE_URL=$openai_url
    said=$(typed 'say one' '/model opus' 'say two' '/model openai_compatible/gpt_4o_mini' 'say three')
    has "$said" 'the model is claude-opus-4-20250514 (claude_code_subscription) from the next request on'
    has "$said" 'the model is gpt-4o-mini (openai_compatible) from the next request on'
    has "$said" 'third answer'
    same "$(sql "SELECT group_concat(provider || ' ' || model, ', ') FROM (SELECT * FROM model_calls ORDER BY id)")" \
      'claude_code_subscription claude-sonnet-4-20250514, claude_code_subscription claude-opus-4-20250514, openai_compatible gpt-4o-mini'
    same "$(sql 'SELECT count(DISTINCT session_id) FROM model_calls')" 1
    ;;
  login)
    authorize
    said=$(typed 'say one' /login 'say two')
    has "$said" '/login signs in'
    has "$said" 'signed in as who@x.example'
    has "$said" 'first answer'
    asked_with 'authorization Bearer access-1-of-this-test'
    case $said in *access-1-of-this-test* | *refresh-1-of-this-test*) fail 'a token was printed' ;; esac
    if sqlite3 "$AGENT_SDLC_DB" .dump | grep 'of-this-test' > /dev/null; then fail 'the record holds a token'; fi
    ;;
  logout)
    authorize
    said=$(typed /login 'say one' /logout 'say two' /status)
    has "$said" 'signed out'
    has "$said" 'source    none'
    has "$(cat "$office")" '/revoke token=refresh-1-of-this-test'
    same "$(grep -c 'authorization Bearer' "$ACCEPT_TMP/model.log")" 1
    ;;
  status)
    export ANTHROPIC_API_KEY=key-of-this-test
    said=$(typed /status)
    has "$said" 'claude-sonnet-4-20250514 (claude_code_subscription)'
    has "$said" 'ANTHROPIC_API_KEY'
    case $said in *key-of-this-test*) fail 'the key was printed' ;; esac
    ;;
  config)
    export ANTHROPIC_API_KEY=key-of-this-test
    said=$(typed '/config permissions.defaultMode=acceptEdits' '/settings permissions.defaultMode' /status)
    has "$said" 'permissions.defaultMode = "acceptEdits"'
    has "$said" 'mode      acceptEdits'
    has "$(cat .claude/settings.local.json)" '"defaultMode": "acceptEdits"'
    ;;
  clear)
    export ANTHROPIC_API_KEY=key-of-this-test ONA_TRUST=1
    mkdir -p .claude
    printf '{"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "true"}]}], "SessionEnd": [{"hooks": [{"type": "command", "command": "true"}]}]}}\n' > .claude/settings.json
    said=$(typed 'say one' /clear 'say two' /reset /new)
    has "$said" 'a new conversation'
    same "$(sql "SELECT group_concat(what, ' ') FROM (SELECT hook_event || '(' || coalesce(json_extract(input_json, '\$.source'), json_extract(input_json, '\$.reason')) || ')' AS what FROM hook_invocations ORDER BY id)")" \
      'SessionStart(startup) SessionEnd(clear) SessionStart(clear) SessionEnd(clear) SessionStart(clear) SessionEnd(clear) SessionStart(clear) SessionEnd(prompt_input_exit)'
    same "$(sql 'SELECT count(DISTINCT conversation_id) FROM sessions')" 4
    # The old conversation is not part of the new one's context, and stays on the record.
    same "$(sql "SELECT count(*) FROM transcript_entries WHERE entry_type = 'user'")" 2
    ;;
  closed)
    export ANTHROPIC_API_KEY=key-of-this-test
    said=$(typed /voice /feedback /bug /nonsense /bead)
    has "$said" '/voice: omitted'
    has "$said" '/feedback: replaced'
    has "$said" 'Unknown command: /nonsense'
    has "$said" 'There is nothing yet'
    ;;
  *) fail "unknown row: $1" ;;
esac
