import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { heightOf, windowOf } from "./visible-rows.js";

const rows = [30, 50, 50, 30, 50].map((height) => ({ height }));

describe("the rows in the page", () => {
  const cases = [
    ["at the top are the first", 0, 60, [0, 2]],
    ["above the top are the first", -400, 10, [0, 1]],
    ["in the middle are those in part in sight", 40, 140, [1, 4]],
    ["that end where it begins are left out", 30, 80, [1, 2]],
    ["at the end are the last", 170, 900, [4, 5]],
    ["behind the end are none", 1000, 2000, [5, 5]],
  ];
  for (const [name, top, bottom, want] of cases) test(name, () => assert.deepEqual(windowOf(rows, top, bottom), want));
  test("and those above and below make up the whole height", () => {
    const [from, to] = windowOf(rows, 40, 100);
    assert.equal(heightOf(rows.slice(0, from)) + heightOf(rows.slice(from, to)) + heightOf(rows.slice(to)), 210);
  });
});
