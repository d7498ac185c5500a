import assert from "node:assert/strict";
import { test } from "node:test";
import { modelChoices, preferredModel } from "./models.js";

test("models are choices with their cost and facts", () => {
  const details = { a: { name: "Model A", multiplier: 0.33, vision: true, context_window: 128_000 }, b: { name: "b", multiplier: 0, vision: false } };
  assert.deepEqual(modelChoices({ models: ["a", "b", "c"], details }), [
    { value: "a", name: "Model A", note: "×0.33", text: "a, 128k tokens, supports images" },
    { value: "b", name: "b", note: "×0", text: "" },
    { value: "c", name: "c", note: "×?", text: "" },
  ]);
});

test("models of other agents have a group, and they and those of providers no cost", () => {
  const details = { a: { name: "A", multiplier: 1, vision: false }, "p/c": { name: "C", multiplier: 0, vision: false }, "x/b": { name: "B", multiplier: 1, vision: false, agent: "x" } };
  assert.deepEqual(modelChoices({ models: ["a", "p/c", "x/b"], details }).map(({ group, note }) => [group, note]), [[undefined, "×1"], [undefined, ""], ["x", ""]]);
});

test("the previous model is preferred, then the current one, then the first", () => {
  assert.equal(preferredModel({ models: ["a", "b"], current: "b" }, "a"), "a");
  assert.equal(preferredModel({ models: ["a", "b"], current: "b" }, "gone"), "b");
  assert.equal(preferredModel({ models: ["a", "b"], current: "gone" }, ""), "a");
  assert.equal(preferredModel({ models: [] }, "a"), "");
});
