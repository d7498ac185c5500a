import assert from "node:assert/strict";
import { test } from "node:test";
import { describeFile, isOutside, parsePlace } from "./paths.js";

test("a path may have a line", () => {
  assert.deepEqual(parsePlace("server/guard.go"), { path: "server/guard.go", line: 0 });
  assert.deepEqual(parsePlace(" server/guard.go:12 "), { path: "server/guard.go", line: 12 });
  assert.deepEqual(parsePlace("a.go:12:3"), { path: "a.go", line: 12 });
  assert.deepEqual(parsePlace("a.go:12-20"), { path: "a.go", line: 12 });
  assert.deepEqual(parsePlace("a.go#L7-L9"), { path: "a.go", line: 7 });
  assert.deepEqual(parsePlace("app/[id]/page x.tsx"), { path: "app/[id]/page x.tsx", line: 0 });
  assert.deepEqual(parsePlace("C:\\a.go:4"), { path: "C:\\a.go", line: 4 });
});

test("other texts are no paths", () => {
  for (const text of ["", " ", "--flag", "https://example.org/a.go", "src/", "a\nb", "x".repeat(400)]) assert.equal(parsePlace(text), null, text);
});

test("a path may lead out of the directory", () => {
  for (const path of ["/etc/hosts", "~/x", "..", "../x", "C:\\x"]) assert.ok(isOutside(path), path);
  for (const path of ["a", "..x", "a/../b", ".github/x"]) assert.ok(!isOutside(path), path);
});

test("a file is described", () => {
  assert.deepEqual(describeFile({ size: 1, count: 1, encoding: "utf-8", line_ends: "lf" }), ["1 line", "1 B"]);
  assert.deepEqual(describeFile({ size: 2048, count: 1200, encoding: "unknown", line_ends: "crlf" }), ["1,200 lines", "2.0 kB", "Not UTF-8", "CRLF"]);
  assert.deepEqual(describeFile({ size: 3 << 20, count: 0, binary: true }), ["Binary", "3.1 MB"]);
});
