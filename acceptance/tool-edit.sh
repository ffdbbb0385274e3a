#!/usr/bin/env bash
# S0 §7 Edit: an exact, unique string, in a file that was read and is unchanged.
. "$(dirname "$0")/lib/common.sh"
printf 'x\nx\ny\r\n' > f
chmod 750 f
call Read '{"file_path":"f"}' > /dev/null
has "$(call Edit '{"file_path":"f","old_string":"x","new_string":"z"}')" 'occurs 2 times'
has "$(call Edit '{"file_path":"f","old_string":"q","new_string":"z"}')" 'was not found'
has "$(call Edit '{"file_path":"f","old_string":"x","new_string":"z","replace_all":true}')" '2 replacements'
same "$(od -c f | head -n 1)" "$(printf 'z\nz\ny\r\n' | od -c | head -n 1)"
same "$(stat -c %a f)" 750
echo more >> f
has "$(call Edit '{"file_path":"f","old_string":"y","new_string":"z"}')" 'Stale File'
