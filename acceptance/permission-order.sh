#!/usr/bin/env bash
# S0 §5.12: deny, then ask, then allow, then the mode; from the snapshot only, recorded with its rule.
. "$(dirname "$0")/lib/common.sh"
mkdir -p .claude
cat > .claude/settings.json <<'JSON'
{"permissions": {"deny": ["Bash(rm *)"], "ask": ["Bash(git push *)"], "allow": ["Bash"]}}
JSON
ona trust > /dev/null
has "$(call Bash '{"command":"ls; rm -rf x"}')" 'denied by the rule Bash(rm *)'
has "$(call Bash '{"command":"sudo rm x"}')" '"is_error":true'
has "$(ona explain --bash 'rm x' --json)" '"verdict":"deny"'
has "$(ona explain --bash 'git push')" 'ask'
has "$(ona explain --bash 'make all')" 'allow'
has "$(ona explain --bash 'rm x')" 'remove the deny rule Bash(rm *)'
has "$(ona why)" 'rules    deny'
call Bash '{"command":"git push --dry-run"}' > /dev/null
same "$(sql 'SELECT decision FROM tool_permission_log')" allow
has "$(ona --permission-mode dontAsk explain '{"tool":"Write","input":{"file_path":"x","content":""}}')" deny
has "$(sql "SELECT json FROM settings_snapshot WHERE scope = 'effective'")" 'Bash(rm *)'
