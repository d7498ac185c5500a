import assert from "node:assert/strict";
import { test } from "node:test";
import { parsePairs, splitWords } from "./server-config.js";

test("a command line is split as a shell does", () => {
  const cases = /** @type {[string, string[]][]} */ ([
    ["", []],
    ["  npx -y  @a/b ", ["npx", "-y", "@a/b"]],
    [`a 'b c' "d \\"e" f\\ g ''`, ["a", "b c", 'd "e', "f g", ""]],
    [`a"b c"d`, ["ab cd"]],
    ["$HOME `x` *", ["$HOME", "`x`", "*"]],
    [String.raw`"C:\x" a\\b`, [String.raw`C:\x`, String.raw`a\b`]],
  ]);
  for (const [line, words] of cases) assert.deepEqual(splitWords(line), words, line);
  assert.throws(() => splitWords("a 'b"), /Close the quote '/);
});

test("lines of names and values are parsed", () => {
  assert.deepEqual({ ...parsePairs("A=1\n\n B = x=y \r\n__proto__=z", "=") }, { A: "1", B: "x=y", ["__proto__"]: "z" });
  assert.deepEqual({ ...parsePairs("Authorization: Bearer x:y", ":") }, { Authorization: "Bearer x:y" });
  assert.throws(() => parsePairs("secret", "="), /NAME=value/);
  assert.throws(() => parsePairs("=x", "="), /NAME=value/);
});
