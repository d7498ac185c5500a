import assert from "node:assert/strict";
import { test } from "node:test";

import { startKeys } from "./start-key.js";

test("a repeated request keeps its key until it is done", () => {
  const kept = new Map();
  const store = { getItem: (name) => kept.get(name) ?? null, setItem: (name, text) => void kept.set(name, text), removeItem: (name) => void kept.delete(name) };
  const keys = startKeys(store, "start");
  const first = keys.with({ name: "a" });
  assert.equal(first.name, "a");
  assert.match(first.key, /^\w+(-\w+){3}$/);
  assert.deepEqual(keys.with({ name: "a" }), first);
  assert.deepEqual(startKeys(store, "start").with({ name: "a" }), first, "after a reload");
  const other = keys.with({ name: "b" });
  assert.notEqual(other.key, first.key);
  keys.done();
  assert.equal(kept.size, 0);
  assert.notEqual(keys.with({ name: "b" }).key, other.key);
  const long = keys.with({ text: "x".repeat(300_000) });
  assert.equal(kept.size, 0, "it is too long to be kept");
  assert.deepEqual(keys.with({ text: "x".repeat(300_000) }), long);
});
