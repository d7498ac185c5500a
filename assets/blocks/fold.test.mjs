import assert from "node:assert/strict";
import { test } from "node:test";
import { chunkStart, isFull, isHidden, joinsGroup } from "./fold.js";

const read = (more) => ({ kind: "tool", tool: "view", state: "completed", run: "r", ...more });
const text = { kind: "text", run: "r" };

test("reads of the same one in the same run join", () => {
  assert.ok(joinsGroup(read(), read()));
  assert.ok(!joinsGroup(undefined, read()));
  assert.ok(!joinsGroup(read(), text));
  assert.ok(!joinsGroup(text, read()));
  assert.ok(!joinsGroup(read(), read({ agent: "a" })));
  assert.ok(!joinsGroup(read(), read({ run: "s" })));
});

test("a chunk has sixty items, if nothing is folded there", () => {
  const items = Array.from({ length: 200 }, () => text);
  assert.equal(chunkStart(items, 200), 140);
  assert.equal(chunkStart(items, 20), 0);
});

test("a chunk begins where a fold does", () => {
  const items = [...Array.from({ length: 100 }, () => text), ...Array.from({ length: 100 }, () => read())];
  assert.equal(chunkStart(items, 200), 100);
});

test("a fold that is very long is divided after all", () => {
  const items = Array.from({ length: 1000 }, () => read());
  assert.equal(chunkStart(items, 1000), 760);
});

test("a chunk is full only where it can be divided", () => {
  assert.ok(isFull(60, false));
  assert.ok(!isFull(60, true));
  assert.ok(!isFull(59, false));
});

test("a notice that is for nobody is silent", () => {
  assert.ok(isHidden({ kind: "notice", notice: "session.info", raw: { id: 1 } }));
  assert.ok(isHidden({ kind: "notice", notice: "session.indexed_search", raw: { message: "3 files" } }));
  assert.ok(!isHidden({ kind: "notice", notice: "session.warning", raw: { message: "Slow down." } }));
  assert.ok(!isHidden(text));
});
