#!/usr/bin/env bash
# S0 §7 Glob: matching files newest first, none is no error.
. "$(dirname "$0")/lib/common.sh"
mkdir -p src/deep
touch -d '2020-01-01' src/old.rs
touch -d '2021-01-01' src/deep/new.rs
touch src/other.md
has "$(call Glob '{"pattern":"src/**/*.rs"}')" "\"content\":\"$PWD/src/deep/new.rs\\n$PWD/src/old.rs\",\"is_error\":false"
has "$(call Glob '{"pattern":"**/*.py"}')" '"content":"No files found","is_error":false'
