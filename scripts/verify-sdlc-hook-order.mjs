// Proves that the committed hook schemas list their events in the union order of S0's appendices A and B.
// `ona schema hooks --order` is the same check for machines without Node.
//
//   node scripts/verify-sdlc-hook-order.mjs

import { readFileSync } from "node:fs";

const EXPECTED = {
  "input.json": {
    key: "hook_event_name",
    order: [
      "PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionDenied", "Notification",
      "UserPromptSubmit", "SessionStart", "SessionEnd", "Stop", "StopFailure", "SubagentStart",
      "SubagentStop", "PreCompact", "PostCompact", "PermissionRequest", "Setup", "TeammateIdle",
      "TaskCreated", "TaskCompleted", "Elicitation", "ElicitationResult", "ConfigChange",
      "InstructionsLoaded", "WorktreeCreate", "WorktreeRemove", "CwdChanged", "FileChanged",
    ],
  },
  "output.json": {
    key: "hookEventName",
    order: [
      "PreToolUse", "UserPromptSubmit", "SessionStart", "Setup", "SubagentStart", "PostToolUse",
      "PostToolUseFailure", "PermissionDenied", "Notification", "PermissionRequest", "Elicitation",
      "ElicitationResult", "CwdChanged", "FileChanged", "WorktreeCreate",
    ],
  },
};

// The first union whose arms all carry the key, wherever it stands.
function arms(schema, key) {
  if (schema === null || typeof schema !== "object") return undefined;
  if (Array.isArray(schema.oneOf)) {
    const names = schema.oneOf.map((arm) => arm?.properties?.[key]?.const);
    if (names.every((name) => typeof name === "string")) return names;
  }
  for (const value of Object.values(schema)) {
    const found = arms(value, key);
    if (found) return found;
  }
  return undefined;
}

let failed = false;
for (const [file, { key, order }] of Object.entries(EXPECTED)) {
  const schema = JSON.parse(readFileSync(new URL(`../schemas/hooks/${file}`, import.meta.url), "utf8"));
  const found = arms(schema, key) ?? [];
  if (JSON.stringify(found) === JSON.stringify(order)) {
    console.log(`ok ${file}: ${found.length} events in order`);
  } else {
    console.error(`FAIL ${file}: ${found.join(", ")}`);
    failed = true;
  }
}
process.exit(failed ? 1 : 0);
