#!/usr/bin/env bash
# S0 §7 Write: creates with parents, overwrites only what was read and is unchanged.
. "$(dirname "$0")/lib/common.sh"
has "$(call Write '{"file_path":"a/b.txt","content":"one\n"}')" '(1 line)","is_error":false'
same "$(cat a/b.txt)" one
echo theirs > a/b.txt
has "$(call Write '{"file_path":"a/b.txt","content":"two\n"}')" 'Stale File'
same "$(cat a/b.txt)" theirs
echo new > c.txt
has "$(call Write '{"file_path":"c.txt","content":"two\n"}')" 'has not been read in this session'
call Read '{"file_path":"c.txt"}' > /dev/null
has "$(call Write '{"file_path":"c.txt","content":"two\n"}')" '"is_error":false'
same "$(cat c.txt)" two
