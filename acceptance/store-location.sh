#!/usr/bin/env bash
# S0 §4.1 and DESIGN §2: AGENT_SDLC_DB is an absolute path; unset means the state directory.
. "$(dirname "$0")/lib/common.sh"
code=0
said=$(AGENT_SDLC_DB=relative.db ona --init-db 2>&1) || code=$?
same "$code" 2
has "$said" 'AGENT_SDLC_DB must be an absolute path'
[ ! -e relative.db ] || fail 'a relative database was made'
unset AGENT_SDLC_DB
same "$(ona --init-db)" "$HOME/.local/state/ona/agent.db"
same "$(XDG_STATE_HOME=$ACCEPT_TMP/state ona --init-db)" "$ACCEPT_TMP/state/ona/agent.db"
has "$(ona --eval '{"tool":"Bash","input":{"command":"echo $AGENT_SDLC_DB"}}')" "$HOME/.local/state/ona/agent.db"
