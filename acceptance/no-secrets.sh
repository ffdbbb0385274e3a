#!/usr/bin/env bash
# S0 §2.8: no credential in any table, nor on a hook's standard input.
. "$(dirname "$0")/lib/common.sh"

export ANTHROPIC_API_KEY=very-secret-value-of-this-test
export DEPLOY_TOKEN=deploy-secret-of-this-test
mkdir -p "$HOME/.claude"
cat > "$HOME/.claude/settings.json" <<'JSON'
{"env": {"OPENAI_API_KEY": "another-secret-of-this-test"},
 "hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "cat >> stdin; printenv ANTHROPIC_API_KEY"}]}],
           "PostToolUse": [{"hooks": [{"type": "command", "command": "cat >> stdin; printenv ANTHROPIC_API_KEY >&2; exit 2"}]}]}}
JSON
# The call's own text holds one secret, its output two, one of which only looks like one.
token=ghp_$(printf 'aB3dE6%.0s' 1 2 3 4 5 6)
printf '%s\n' "$token" > token.txt
said=$(call Bash '{"command":"printenv DEPLOY_TOKEN; printenv DEPLOY_TOKEN | base64; printenv ANTHROPIC_API_KEY OPENAI_API_KEY; cat token.txt; : another-secret-of-this-test"}')
has "$said" '[REDACTED:live]'
has "$said" '[REDACTED:github_token]'

for secret in very-secret-value-of-this-test deploy-secret-of-this-test ZGVwbG95LXNlY3JldC1vZi10aGlz another-secret-of-this-test "$token"; do
  case $said in *"$secret"*) fail "the result shows $secret" ;; esac
  grep -q "$secret" stdin && fail "a hook has read $secret"
  sqlite3 "$AGENT_SDLC_DB" .dump | grep "$secret" > /dev/null && fail "the record holds $secret"
done
same "$(sql "SELECT count(*) FROM hook_invocations WHERE stdout_text LIKE '%[REDACTED:live]%' OR stderr_text LIKE '%[REDACTED:live]%'")" 2
