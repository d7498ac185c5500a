import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { keep, loadKept } from "./kept.js";

const store = () => {
  const kept = new Map();
  return { kept, getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => void kept.set(key, value), removeItem: (key) => void kept.delete(key) };
};

describe("a kept value", () => {
  test("has a name", () => {
    const s = store();
    keep(s, "a", { mode: "plan" });
    assert.deepEqual(loadKept(s, "a"), { mode: "plan" });
    assert.equal(loadKept(s, "b"), undefined);
  });
  test("is removed by undefined", () => {
    const s = store();
    keep(s, "a", "x");
    keep(s, "a", undefined);
    assert.equal(s.kept.size, 0);
  });
  test("is nothing if it cannot be read", () => {
    for (const value of ["{", "null"]) assert.equal(loadKept({ ...store(), getItem: () => value }, "a"), undefined);
    assert.equal(loadKept({ ...store(), getItem: () => { throw new Error("forbidden"); } }, "a"), undefined);
  });
  test("is not kept if the store is full", () => {
    const full = { ...store(), setItem: () => { throw new Error("full"); } };
    assert.doesNotThrow(() => keep(full, "a", "x"));
  });
});
