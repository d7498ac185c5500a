import assert from "node:assert/strict";
import { test } from "node:test";
import { fileSize } from "./dom.js";

test("a size has three digits at most before its unit", () => {
  for (const [bytes, text] of /** @type {[number, string][]} */ ([[1, "1 B"], [999, "999 B"], [1000, "1.0 kB"], [2048, "2.0 kB"], [1_500_000, "1.5 MB"]])) assert.equal(fileSize(bytes), text);
});
