#!/usr/bin/env bash
# S0 §7.1 Bash: streams joined to the letter, non-zero exit is an error, the directory carries over.
. "$(dirname "$0")/lib/common.sh"
has "$(call Bash '{"command":"echo out; echo err >&2"}')" '"content":"out\n\n--- stderr ---\nerr\n","is_error":false'
has "$(call Bash '{"command":"echo out; exit 1"}')" '"content":"out\n","is_error":true'
has "$(call Bash '{"command":"grep nothing /dev/null"}')" '"is_error":true'
mkdir sub
call Bash '{"command":"cd sub"}' > /dev/null
has "$(call Bash '{"command":"pwd"}')" "$PWD/sub"
has "$(call Bash '{"command":"sleep 60","timeout":300}')" '"content":"[SDLC_INTERNAL] '
