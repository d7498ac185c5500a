import assert from "node:assert/strict";
import { test } from "node:test";
import { getDefault, initialChoice, saveChoices, setDefault } from "./preferences.js";

/** A storage in memory. */
function storage() {
  /** @type {Map<string, string>} */
  const values = new Map();
  return {
    getItem: (/** @type {string} */ key) => values.get(key) ?? null,
    setItem: (/** @type {string} */ key, /** @type {string} */ value) => void values.set(key, value),
    removeItem: (/** @type {string} */ key) => void values.delete(key),
  };
}

test("a new session starts with the default, else with the last choice", () => {
  const store = storage();
  assert.equal(initialChoice(store, "model"), "");
  saveChoices(store, { model: "last", permissions: "edits" });
  assert.equal(initialChoice(store, "model"), "last");
  assert.equal(initialChoice(store, "permissions"), "edits");
  assert.equal(initialChoice(store, "mode"), "");
  setDefault(store, "model", "mine");
  setDefault(store, "mode", "plan");
  saveChoices(store, { model: "other", permissions: "ask" });
  assert.equal(initialChoice(store, "model"), "mine");
  assert.equal(initialChoice(store, "mode"), "plan");
  setDefault(store, "model", "");
  assert.equal(getDefault(store, "model"), "");
  assert.equal(initialChoice(store, "model"), "other");
});
