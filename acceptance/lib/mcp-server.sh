#!/usr/bin/env bash
# A small MCP server on standard input and output, in the words of protocol 2025-06-18: two tools, one resource, one
# prompt. It parses with the sqlite3 shell, which every row needs anyway.
of() { sqlite3 :memory: "SELECT json_extract('${line//\'/\'\'}', '\$$1')"; }
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
while IFS= read -r line; do
  id=$(of .id)
  case $(of .method) in
    initialize) answer '{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"resources":{},"prompts":{}},"serverInfo":{"name":"small","version":"1"}}' ;;
    tools/list) answer '{"tools":[{"name":"greet","description":"Greets somebody by name","inputSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}},{"name":"fail","description":"Always fails","inputSchema":{"type":"object"}}]}' ;;
    resources/list) answer '{"resources":[{"uri":"small://motd","name":"motd","mimeType":"text/plain"}]}' ;;
    resources/templates/list) answer '{"resourceTemplates":[]}' ;;
    resources/read) answer '{"contents":[{"uri":"small://motd","mimeType":"text/plain","text":"the message of the day"}]}' ;;
    prompts/list) answer '{"prompts":[{"name":"review","arguments":[{"name":"what","required":true}]}]}' ;;
    prompts/get) answer "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"Review $(of .params.arguments.what) now\"}}]}" ;;
    tools/call)
      case $(of .params.name) in
        greet) answer "{\"content\":[{\"type\":\"text\",\"text\":\"Hello, $(of .params.arguments.name)\"}]}" ;;
        *) answer '{"content":[{"type":"text","text":"as always"}],"isError":true}' ;;
      esac
      ;;
    ping) answer '{}' ;;
    notifications/*) ;;
    *) [ -z "$id" ] || printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}\n' "$id" ;;
  esac
done
