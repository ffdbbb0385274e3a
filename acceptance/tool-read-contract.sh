#!/usr/bin/env bash
# S0 §8.8.1, verbatim.

# Setup: create a known file
echo -e "line1\nline2\nline3" > /tmp/sdlc_test_read_input.txt

# Exercise: invoke Read through the product's public CLI interface
ona --eval '{"tool": "Read", "input": {"file_path": "/tmp/sdlc_test_read_input.txt"}}'

# Assert against observable outcomes:
# 1. transcript_entries row exists with entry_type='tool_result', is_error=false
RESULT=$(sqlite3 "$AGENT_SDLC_DB" \
  "SELECT payload_json FROM transcript_entries
   WHERE entry_type='tool_result' ORDER BY sequence DESC LIMIT 1")
echo "$RESULT" | grep '"is_error":false' || exit 1

# 2. Tool content references the file content
echo "$RESULT" | grep 'line1' || exit 1
echo "$RESULT" | grep '3 lines' || exit 1
