#!/usr/bin/env bash
# S0 §5.10 and DESIGN §5 no. 29: a folder's own hooks do not run before somebody agreed to them as they are.
. "$(dirname "$0")/lib/common.sh"
mkdir -p .claude
hook() { echo "{\"hooks\":{\"PreToolUse\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"$1\"}]}]}}" > .claude/settings.json; }
hook 'touch hook-ran'
code=0
said=$(call Bash '{"command":"touch tool-ran"}' 2>&1) || code=$?
same "$code" 2
has "$said" 'is not trusted'
has "$said" 'ona trust'
[ ! -e hook-ran ] && [ ! -e tool-ran ] || fail 'something ran untrusted'
call Bash '{"command":"true"}' --trust > /dev/null 2>&1 || true
ONA_TRUST=1 call Bash '{"command":"true"}' > /dev/null
[ -e hook-ran ] || fail 'the hook did not run'
has "$(ona trust)" 'hooks in .claude/settings.json'
call Bash '{"command":"true"}' > /dev/null
hook 'touch other'
code=0
call Bash '{"command":"true"}' > /dev/null 2>&1 || code=$?
same "$code" 2
ona trust > /dev/null
has "$(ona trust --list)" "$PWD"
ona untrust > /dev/null
code=0
call Bash '{"command":"true"}' > /dev/null 2>&1 || code=$?
same "$code" 2
