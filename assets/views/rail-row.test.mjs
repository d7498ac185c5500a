import assert from "node:assert/strict";
import { test } from "node:test";
import { snippetStart } from "./rail-row.js";

test("a snippet in the list starts shortly before its first hit", () => {
  const shown = (snippet, word) => snippet.slice(snippetStart({ snippet, hits: [[snippet.indexOf(word), snippet.indexOf(word) + word.length]] }));
  assert.equal(shown("the weather is fine", "weather"), "the weather is fine");
  assert.equal(shown("…Three things to try: think about the weather, then markdown", "weather"), "about the weather, then markdown");
  assert.equal(shown("averyveryverylongwordbefore", "before"), "before");
  assert.equal(snippetStart({ snippet: "nothing is marked", hits: [] }), 0);
});
