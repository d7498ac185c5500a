import assert from "node:assert/strict";
import { test } from "node:test";

import { startKeys } from "./start-key.js";

test("a repeated request keeps its key until it is done", () => {
  const keys = startKeys();
  const first = keys.with({ name: "a" });
  assert.equal(first.name, "a");
  assert.match(first.key, /^\w+(-\w+){3}$/);
  assert.deepEqual(keys.with({ name: "a" }), first);
  const other = keys.with({ name: "b" });
  assert.notEqual(other.key, first.key);
  keys.done();
  assert.notEqual(keys.with({ name: "b" }).key, other.key);
});
