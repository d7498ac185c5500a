import assert from "node:assert/strict";
import { test } from "node:test";
import { chunkStart, isFull, isHidden, joinsGroup } from "./fold.js";

const read = (more) => ({ kind: "tool", tool: "view", state: "completed", run: "r", ...more });
const text = { kind: "text", run: "r" };

test("reads of the same agent and run join a group", () => {
  assert.ok(joinsGroup(read(), read()));
  assert.ok(!joinsGroup(undefined, read()));
  assert.ok(!joinsGroup(read(), text));
  assert.ok(!joinsGroup(text, read()));
  assert.ok(!joinsGroup(read(), read({ agent: "a" })));
  assert.ok(!joinsGroup(read(), read({ run: "s" })));
});

test("a chunk has sixty items unless a group crosses its start", () => {
  const items = Array.from({ length: 200 }, () => text);
  assert.equal(chunkStart(items, 200), 140);
  assert.equal(chunkStart(items, 20), 0);
});

test("a chunk starts where a group does", () => {
  const items = [...Array.from({ length: 100 }, () => text), ...Array.from({ length: 100 }, () => read())];
  assert.equal(chunkStart(items, 200), 100);
});

test("a very long group is divided", () => {
  const items = Array.from({ length: 1000 }, () => read());
  assert.equal(chunkStart(items, 1000), 760);
});

test("a chunk is full only at the end of a group", () => {
  assert.ok(isFull(60, false));
  assert.ok(!isFull(60, true));
  assert.ok(!isFull(59, false));
});

test("a notice without a text is hidden", () => {
  assert.ok(isHidden({ kind: "notice", notice: "session.info", raw: { id: 1 } }));
  assert.ok(isHidden({ kind: "notice", notice: "session.indexed_search", raw: { message: "3 files" } }));
  assert.ok(!isHidden({ kind: "notice", notice: "session.warning", raw: { message: "Slow down." } }));
  assert.ok(!isHidden(text));
});
