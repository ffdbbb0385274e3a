#!/usr/bin/env bash
# S0 §10: the hook input union stands in the order of Appendix A; with Node where it is, and without.
set -euo pipefail
ona schema hooks --order | grep -q '^stdin: PreToolUse, PostToolUse, '
ona schema hooks | diff - schemas/hooks/input.json
ona schema hooks --output | diff - schemas/hooks/output.json
if command -v node > /dev/null; then
  node scripts/verify-sdlc-hook-order.mjs
fi
