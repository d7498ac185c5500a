import assert from "node:assert/strict";
import { test } from "node:test";
import { matchCommands } from "./commands.js";

const run = () => {};
const commands = [
  { name: "compact", label: "", run }, { name: "rename", label: "", argument: "title", run },
  { name: "permissions ask", label: "", run }, { name: "permissions all", label: "", run },
];

for (const [text, want] of [
  ["/", ["compact", "rename", "permissions ask", "permissions all"]],
  ["/c", ["compact"]],
  ["/Compact", ["compact"]],
  ["/compact the rest", []],
  ["/compact\n", []],
  ["/rename", ["rename"]],
  ["/rename Of herons ", ["rename=Of herons"]],
  ["/permissions", ["permissions ask", "permissions all"]],
  ["/permissions a", ["permissions ask", "permissions all"]],
  ["/permissions al", ["permissions all"]],
  ["/usr/bin/env is what?", []],
  ["/nothing", []],
  [" /compact", []],
  ["see /compact", []],
  ["", []],
]) {
  test(`${JSON.stringify(text)} means ${want.join(" or ") || "a prompt"}`, () => {
    const found = matchCommands(text, commands).map(({ command, argument }) => command.name + (argument && `=${argument}`));
    assert.deepEqual(found, want);
  });
}
