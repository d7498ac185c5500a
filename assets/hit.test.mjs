import assert from "node:assert/strict";
import { test } from "node:test";
import { findWords, wordsOf } from "./views/hit.js";

test("everything but letters and digits separates words", () => assert.deepEqual(wordsOf("  Go-Test ./störe, 12 "), ["go", "test", "störe", "12"]));
for (const [text, search, want] of [
  ["The heron and the HERONS", "heron", ["heron", "HERON"]],
  ["a wherever b", "here", []],
  ["go test ./store", "test go", ["go", "test"]],
  ["storm stormy", "storm stormy", ["storm", "stormy"]],
  ["İstanbul and a heron", "heron", []],
  ["anything", "", []],
]) {
  test(`${JSON.stringify(search)} in ${JSON.stringify(text)}`, () => assert.deepEqual(findWords(text, wordsOf(search)).map(([from, to]) => text.slice(from, to)), want));
}
