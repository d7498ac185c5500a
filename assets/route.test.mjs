import assert from "node:assert/strict";
import { test } from "node:test";
import { changesAddress, fileAddress, parseRoute, sessionAddress } from "./route.js";

const cases = [
  ["", { view: "start" }],
  ["#/", { view: "start" }],
  ["#/elsewhere", { view: "start" }],
  ["#/?directory=%2Fa%20b%2Fc", { view: "start", directory: "/a b/c" }],
  ["#/?directory=", { view: "start" }],
  ["#/status", { view: "status" }],
  ["#/settings", { view: "settings" }],
  ["#/reference", { view: "reference" }],
  ["#/operations", { view: "operations" }],
  ["#/jobs", { view: "jobs" }],
  ["#/j/a%20b", { view: "job", id: "a b" }],
  ["#/j/", { view: "start" }],
  ["#/interfaces", { view: "interfaces" }],
  ["#/i/a%20b", { view: "interface", id: "a b" }],
  ["#/i/", { view: "start" }],
  ["#/o/", { view: "start" }],
  ["#/o/a-1", { view: "operation", id: "a-1" }],
  ["#/s/", { view: "start" }],
  ["#/s/a-1", { view: "session", id: "a-1", run: "" }],
  ["#/s/a-1/r-2", { view: "session", id: "a-1", run: "r-2" }],
  ["#/s/a-1?changes", { view: "session", id: "a-1", run: "", changes: true }],
  ["#/s/a-1/r-2?changes", { view: "session", id: "a-1", run: "r-2", changes: true }],
  ["#/s/a-1/r-2?other", { view: "session", id: "a-1", run: "r-2" }],
  ["#/s/a-1?file=b%2Fc%20d.go&line=12", { view: "session", id: "a-1", run: "", file: { path: "b/c d.go", line: 12 } }],
  ["#/s/a-1?file=b&line=x", { view: "session", id: "a-1", run: "", file: { path: "b", line: 0 } }],
  ["#/s/a-1?terminal", { view: "session", id: "a-1", run: "", terminal: true }],
  ["#/s/a-1?file=", { view: "session", id: "a-1", run: "" }],
  ["#/s/a%3Fchanges", { view: "session", id: "a?changes", run: "" }],
  ["#/session/a-1", { view: "session", id: "a-1", run: "" }],
  ["#/s/a%2Fb", { view: "session", id: "a/b", run: "" }],
  ["#/s/100%", { view: "session", id: "100%", run: "" }],
];
for (const [hash, want] of cases) test(`${hash || "no address"} is parsed`, () => assert.deepEqual(parseRoute(hash), want));

test("an address parses to its parts", () => {
  assert.deepEqual(parseRoute(sessionAddress("a/b", "r 1")), { view: "session", id: "a/b", run: "r 1" });
  assert.deepEqual(parseRoute(sessionAddress("a/b", "r 1", "50 % / half")), { view: "session", id: "a/b", run: "r 1", find: "50 % / half" });
  assert.equal(sessionAddress("a", "", "words need a run"), "#/s/a");
  assert.deepEqual(parseRoute(changesAddress("a?b", "r 1")), { view: "session", id: "a?b", run: "r 1", changes: true });
});

test("the address of a file is parsed again", () => {
  const place = { path: "a b/ü?&#.go", line: 3 };
  assert.deepEqual(parseRoute(fileAddress("s", place.path, place.line)), { view: "session", id: "s", run: "", file: place });
  assert.equal(fileAddress("s", "a.go"), "#/s/s?file=a.go");
});
