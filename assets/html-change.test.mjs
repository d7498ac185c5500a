import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { additionTo } from "./html-change.js";

describe("additionTo", () => {
  for (const [name, before, after, want] of [
    ["text in a paragraph", "<p>a</p>\n", "<p>a b</p>\n", { path: ["p"], html: " b" }],
    ["a repeated letter", "<p>aa</p>\n", "<p>aaaa</p>\n", { path: ["p"], html: "aa" }],
    ["text in code", "<pre><code>x</code></pre>\n", "<pre><code>x\ny</code></pre>\n", { path: ["pre", "code"], html: "\ny" }],
    ["an element in a paragraph", "<p>a</p>\n", "<p>a<em>b</em></p>\n", { path: ["p"], html: "<em>b</em>" }],
    ["an element that begins like its end", "<p>a</p>", "<p>a<br>b</p>", { path: ["p"], html: "<br>b" }],
    ["another paragraph", "<p>a</p>\n", "<p>a</p>\n<p>b</p>\n", { path: [], html: "<p>b</p>\n" }],
    ["an item", "<ul>\n<li>a</li>\n</ul>\n", "<ul>\n<li>a</li>\n<li>b</li>\n</ul>\n", { path: ["ul"], html: "<li>b</li>\n" }],
    ["an entity", "<p>a</p>", "<p>a&amp;</p>", { path: ["p"], html: "&amp;" }],
    ["nothing", "<p>a</p>", "<p>a</p>", { path: [], html: "" }],
    ["the first text", "", "<p>a</p>", { path: [], html: "<p>a</p>" }],
    ["a changed entity", "<p>&lt;</p>", "<p>&le;</p>", null],
    ["text that becomes an element", "<p>a *b</p>", "<p>a <em>b</em></p>", null],
    ["text that was taken back", "<p>a b</p>", "<p>a</p>", null],
    ["the end of a paragraph and another", "<p>a</p>\n", "<p>a b</p>\n<p>c</p>\n", null],
    ["text before the last newline of code", "<pre><code>x\n</code></pre>", "<pre><code>xy\n</code></pre>", null],
    ["another kind of block", "<p>a</p>\n", "<pre>a</pre>\n", null],
    ["an attribute", '<a href="b">c</a>', '<a href="bc">c</a>', null],
  ]) {
    test(name, () => assert.deepEqual(additionTo(before, after), want));
  }

  test("an addition makes the HTML after from that before", () => {
    const words = ["a ", "<em>b</em>", "&lt;", "<br>", "c", "\n"];
    let before = "<p></p>\n";
    for (let i = 0; i < 500; i++) {
      const word = words[(i * 7 + (i >> 3)) % words.length];
      const after = `${before.slice(0, -5)}${word}</p>\n`;
      const found = additionTo(before, after);
      assert.ok(found, after);
      assert.equal(before.slice(0, -5).length + found.html.length + 5, after.length);
      before = after;
    }
  });
});
