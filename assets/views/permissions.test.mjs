import assert from "node:assert/strict";
import { test } from "node:test";
import { decide, permissionChoices, presetOf, PRESETS, rulesText } from "./permissions.js";

test("the most specific rule wins", () => {
  const rules = { "*": "allow", git: "ask", "Git.Push": "deny" };
  for (const [name, want] of [["git.push", "deny"], ["git.commit", "ask"], ["fs.write", "allow"], ["*", "allow"]]) assert.equal(decide(rules, name), want);
  assert.equal(decide({}, "fs.write"), "ask");
});

test("presets are recognized by their rules", () => {
  for (const { id, rules } of PRESETS) assert.equal(presetOf(rules), id);
  assert.equal(presetOf({}), "ask", "as a session begins");
  assert.equal(presetOf({ "*": "allow" }), "all");
  assert.equal(presetOf({ fs: "allow" }), "edits");
  assert.equal(presetOf({ "*": "deny", "git.push": "allow" }), "deny");
  assert.equal(presetOf({ "exec.run": "allow" }), "", "rules of its own");
});

test("rules are formatted as text", () => assert.equal(rulesText({ "fs.write": "allow", "*": "ask" }), "everything else: ask\nfs.write: allow"));

test("each preset is a choice that says what it does", () => {
  assert.deepEqual(permissionChoices().map(({ value }) => value), PRESETS.map(({ id }) => id));
  assert.ok(permissionChoices().every(({ name, text }) => name && text));
});
