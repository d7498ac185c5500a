import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { totalHeight, visibleRange } from "./visible-rows.js";

const rows = [30, 50, 50, 30, 50].map((height) => ({ height }));

describe("visible rows", () => {
  const cases = [
    ["at the top", 0, 60, [0, 2]],
    ["above the top", -400, 10, [0, 1]],
    ["in the middle, partly visible ones included", 40, 140, [1, 4]],
    ["rows that end at the start are excluded", 30, 80, [1, 2]],
    ["at the end", 170, 900, [4, 5]],
    ["after the end", 1000, 2000, [5, 5]],
  ];
  for (const [name, top, bottom, want] of cases) test(name, () => assert.deepEqual(visibleRange(rows, top, bottom), want));
  test("all parts add up to the total height", () => {
    const [from, to] = visibleRange(rows, 40, 100);
    assert.equal(totalHeight(rows.slice(0, from)) + totalHeight(rows.slice(from, to)) + totalHeight(rows.slice(to)), 210);
  });
});
