#!/usr/bin/env bash
# S0 §7, the tools that are about the session itself and those of MCP servers. The argument says which.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib/common.sh"
. "$here/lib/model.sh"

done_() { has "$1" '"is_error":false'; }
refused() { has "$1" '"is_error":true'; }
# result ID: what a call answered.
result() {
  sql "SELECT json_extract(payload_json, '\$.content') FROM transcript_entries
       WHERE tool_use_id = '$1' AND entry_type = 'tool_result'"
}
# turn ARGS…: one turn on the scripted model.
turn() {
  ANTHROPIC_API_KEY=sk-row ANTHROPIC_BASE_URL=$anthropic_url ona -p go "$@"
}
replies() { printf '%s\n' "$@" > replies.jsonl; }
# calls ID TOOL INPUT: an answer that calls one tool.
calls() { printf '{"calls":[{"id":"%s","tool":"%s","input":%s}]}' "$1" "$2" "$3"; }
says() { printf '{"text":"%s"}' "$1"; }
small_server() {
  cat > "$ACCEPT_TMP/mcp.json" <<JSON
{"mcpServers":{"Small":{"command":"$here/lib/mcp-server.sh"}}}
JSON
}

case $1 in
  TodoWrite)
    done_ "$(call TodoWrite '{"todos":[{"content":"Read","status":"completed","activeForm":"Reading"},{"content":"Write","status":"pending","activeForm":"Writing"}]}')"
    same "$(sql "SELECT json_extract(value, '\$[0].status') || json_array_length(value) FROM state WHERE key LIKE 'todos/%'")" completed2
    refused "$(call TodoWrite '{"todos":[{"content":"x","status":"begun","activeForm":"x"}]}')"
    ;;
  AskUserQuestion)
    question='"questions":[{"question":"Which?","header":"One","options":[{"label":"A","description":""},{"label":"B","description":""}]}]'
    done_ "$(call AskUserQuestion "{$question,\"answers\":{\"Which?\":\"B\"}}")"
    refused "$(call AskUserQuestion "{$question}")"
    replies "$(calls q AskUserQuestion "{$question}")" "$(says 'Nobody answered.')"
    serve_model
    same "$(turn --allowedTools AskUserQuestion)" 'Nobody answered.'
    has "$(result q)" 'no user is available'
    ;;
  Brief)
    replies "$(calls b Brief '{"message":"Half way"}')" "$(says Done.)"
    serve_model
    same "$(turn | tr '\n' ' ')" 'Half way Done. '
    refused "$(call Brief '{"message":""}')"
    ;;
  EnterPlanMode)
    done_ "$(call EnterPlanMode '{}')"
    same "$(sql 'SELECT phase FROM conversations')" planning
    refused "$(call Write '{"file_path":"x","content":"x"}')"
    same "$(sql "SELECT count(*) FROM events WHERE event_type = 'phase.changed'")" 1
    ;;
  ExitPlanMode)
    plan='Write x\n## Success criteria\n- `cat x` prints x'
    replies "$(calls e EnterPlanMode '{}')" "$(calls x ExitPlanMode "{\"plan\":\"$plan\"}")" "$(says 'Nobody approved.')"
    serve_model
    same "$(turn --permission-mode bypassPermissions)" 'Nobody approved.'
    same "$(sql 'SELECT phase, status, substr(content, 1, 7) FROM conversations, plans')" 'planning|draft|Write x'
    code=0
    told=$(ona plan approve 2>&1 < /dev/null) || code=$?
    same "$code" 1
    has "$told" 'run `ona plan approve` in a terminal'
    has "$(at_terminal y ona plan approve)" 'approved plan'
    same "$(sql 'SELECT phase, status FROM conversations, plans')" 'implement|approved'
    done_ "$(call EnterPlanMode '{}')"
    has "$(call ExitPlanMode '{"plan":"Write y"}')" 'the plan has no success criteria'
    same "$(sql 'SELECT phase FROM conversations')" planning
    ;;
  TaskOutput)
    done_ "$(call Bash '{"command":"echo printed; exit 4","run_in_background":true}')"
    id=$(sql 'SELECT task_id FROM background_tasks')
    said=$(call TaskOutput "{\"task_id\":\"$id\",\"timeout\":60000}")
    has "$said" 'exited with code 4'
    has "$said" printed
    refused "$(call TaskOutput '{"task_id":"nobody"}')"
    ;;
  TaskStop)
    done_ "$(call Bash '{"command":"sleep 600","run_in_background":true}')"
    id=$(sql 'SELECT task_id FROM background_tasks')
    done_ "$(call TaskStop "{\"task_id\":\"$id\"}")"
    same "$(sql 'SELECT end_reason FROM background_tasks')" stopped
    refused "$(call TaskStop "{\"task_id\":\"$id\"}")"
    ;;
  Agent)
    echo 'one line' > notes.txt
    replies "$(calls a Agent '{"description":"look","prompt":"what is there?","subagent_type":"Explore"}')" \
      "$(calls r Read '{"file_path":"notes.txt"}')" "$(says 'One line.')" "$(says 'It says: one line.')"
    serve_model
    same "$(turn)" 'It says: one line.'
    has "$(result a)" 'One line.'
    same "$(sql 'SELECT count(*), count(DISTINCT conversation_id) FROM sessions')" '2|1'
    same "$(sql "SELECT s.session_id = a.session_id FROM agent_runs a, transcript_entries s WHERE s.tool_use_id = 'r' LIMIT 1")" 1
    same "$(sql 'SELECT agent_type, ending FROM agent_runs')" 'Explore|completed'
    ;;
  Skill)
    mkdir -p .claude/skills/greet
    printf -- '---\ndescription: greets\n---\nGreet $ARGUMENTS and !`echo nobody` else.\n' > .claude/skills/greet/SKILL.md
    replies "$(calls s Skill '{"skill":"greet","args":"the world"}')" "$(says 'Hello, world.')"
    serve_model
    same "$(turn)" 'Hello, world.'
    has "$(sql "SELECT payload_json FROM transcript_entries WHERE payload_json LIKE '%\"skill\"%' AND entry_type = 'system'")" 'Greet the world and nobody'
    same "$(sql "SELECT count(*) FROM transcript_entries WHERE entry_type = 'tool_use' AND payload_json LIKE '%echo nobody%'")" 1
    refused "$(call Skill '{"skill":"nothing"}')"
    ;;
  ToolSearch)
    small_server
    replies "$(calls t ToolSearch '{"query":"greet somebody"}')" "$(calls g mcp__small__greet '{"name":"Ada"}')" "$(says Greeted.)"
    serve_model
    same "$(ENABLE_TOOL_SEARCH=true turn --mcp-config "$ACCEPT_TMP/mcp.json" --allowedTools 'mcp__small')" Greeted.
    has "$(result t)" mcp__small__greet
    same "$(result g)" 'Hello, Ada'
    ;;
  ListMcpResources | ReadMcpResource)
    small_server
    replies "$(calls l ListMcpResources '{}')" "$(calls r ReadMcpResource '{"server":"Small","uri":"small://motd"}')" "$(says Read.)"
    serve_model
    same "$(turn --mcp-config "$ACCEPT_TMP/mcp.json")" Read.
    has "$(result l)" small://motd
    has "$(result r)" 'the message of the day'
    ;;
  mcp)
    small_server
    replies "$(calls g mcp__small__greet '{"name":"Ada"}')" "$(calls f mcp__small__fail '{}')" "$(says Done.)"
    serve_model
    same "$(turn --mcp-config "$ACCEPT_TMP/mcp.json" --allowedTools mcp__small__greet)" Done.
    same "$(result g)" 'Hello, Ada'
    has "$(result f)" 'no user is available'
    replies "$(calls f2 mcp__small__fail '{}')" "$(says Done.)"
    kill "$model_pid"
    serve_model
    same "$(turn --mcp-config "$ACCEPT_TMP/mcp.json" --allowedTools mcp__small)" Done.
    same "$(sql "SELECT json_extract(payload_json, '\$.is_error') FROM transcript_entries WHERE tool_use_id = 'f2' AND entry_type = 'tool_result'")" 1
    ;;
  *) fail "there is no row $1" ;;
esac
