#!/usr/bin/env bash
# S0 §7 Grep: files, lines and counts; no match is no error; what .gitignore excludes is left out.
. "$(dirname "$0")/lib/common.sh"
printf 'fn main() {}\nfn other() {}\n' > a.rs
echo 'fn ignored() {}' > b.rs
echo b.rs > .gitignore
has "$(call Grep '{"pattern":"^fn"}')" "Found 1 file\\n$PWD/a.rs"
has "$(call Grep '{"pattern":"^fn","output_mode":"content"}')" "$PWD/a.rs:1:fn main() {}\\n$PWD/a.rs:2:fn other() {}"
has "$(call Grep '{"pattern":"^FN","-i":true,"output_mode":"count"}')" "$PWD/a.rs:2"
has "$(call Grep '{"pattern":"absent"}')" '"is_error":false'
has "$(call Grep '{"pattern":"("}')" '"is_error":true'
