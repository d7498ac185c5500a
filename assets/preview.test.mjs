import assert from "node:assert/strict";
import { test } from "node:test";

import { previewOf } from "./preview.js";

const session = (...items) => ({ directory: "/d", items: items.map((item, i) => ({ key: `${i}`, ...item })) });

test("a preview has the last texts and tool calls", () => {
  const lines = previewOf(session(
    { kind: "prompt", text: "go" }, { kind: "text", content: "old" }, { kind: "tool", tool: "bash", args: { command: "ls" }, state: "completed" },
    { kind: "reasoning", content: "hm" }, { kind: "text", content: " new \n" }, { kind: "error", message: "broken" }, { kind: "end" }));
  assert.deepEqual(lines.map(({ kind, text }) => [kind, text]), [["tool", "Ran ls"], ["reasoning", "hm"], ["text", "new"], ["error", "broken"]]);
});

test("a long text is truncated at its start", () => {
  const [{ text }] = previewOf(session({ kind: "text", content: `${"x".repeat(5000)}end` }));
  assert.ok(text.length <= 400 && text.startsWith("…") && text.endsWith("end"));
});

test("items without text have no preview", () => assert.deepEqual(previewOf(session({ kind: "text", content: " " }, { kind: "end" })), []));
