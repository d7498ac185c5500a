import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { inlines, parse, parseWithOffsets, webAddress } from "./markdown.js";

/** The tree in short: p(a strong(b)). Text is itself, a mark in it stays visible. */
const short = (node) => {
  if (Array.isArray(node)) return node.map(short).join(" ");
  const inline = (children) => children.map(short).join("");
  switch (node.type) {
    case "text": return node.text;
    case "code": return node.language === undefined ? `code(${node.text})` : `pre[${node.language}](${node.text})`;
    case "break": return "<br>";
    case "rule": return "hr";
    case "link": return `a[${node.href}](${inline(node.children)})`;
    case "heading": return `h${node.level}(${inline(node.children)})`;
    case "paragraph": return `p(${inline(node.children)})`;
    case "quote": return `quote(${short(node.children)})`;
    case "list": return `${node.ordered ? `ol${node.first}` : "ul"}(${node.items.map((item) => `li(${short(item)})`).join("")})`;
    case "table": return `table[${node.align}](${[node.head, ...node.rows].map((row) => row.map(inline).join(" | ")).join(" / ")})`;
    default: return `${node.type}(${inline(node.children)})`;
  }
};

describe("inline Markdown", () => {
  const cases = [
    ["plain text stays", "a < b & c", "a < b & c"],
    ["two stars are strong", "a **b** c", "a strong(b) c"],
    ["one star is emphasis", "a *b* c", "a em(b) c"],
    ["underscores are emphasis", "_a_ __b__", "em(a) strong(b)"],
    ["underscores inside of words are text", "snake_case_name", "snake_case_name"],
    ["three stars are both", "***a***", "strong(em(a))"],
    ["emphasis nests", "**a *b* c**", "strong(a em(b) c)"],
    ["emphasis may end with its parent", "*a **b***", "em(a strong(b))"],
    ["a star between blanks is text", "2 * 3 * 4", "2 * 3 * 4"],
    ["an open mark is text", "**a", "**a"],
    ["a lonely closing mark is text", "a**", "a**"],
    ["many stars are text", "*****a", "*****a"],
    ["code keeps its marks", "`**a** [b](c)`", "code(**a** [b](c))"],
    ["code with a backtick inside", "`` a`b ``", "code(a`b)"],
    ["an open backtick is text", "a `b", "a `b"],
    ["a link to the web", "[a *b*](https://x.example/y)", "a[https://x.example/y](a em(b))"],
    ["a link with parentheses and a title", '[a](https://x.example/y_(z) "t")', "a[https://x.example/y_(z)](a)"],
    ["a bare address", "see https://x.example/a_b.", "see a[https://x.example/a_b](https://x.example/a_b)."],
    ["an address in angle brackets", "<https://x.example>", "a[https://x.example](https://x.example)"],
    ["an address inside of a word is text", "xhttps://x.example", "xhttps://x.example"],
    ["a script is no link", "[a](javascript:alert(1))", "[a](javascript:alert(1))"],
    ["data is no link", "[a](data:text/html,x)", "[a](data:text/html,x)"],
    ["a relative link is text", "[a](../b)", "[a](../b)"],
    ["an address that is none is text", "[a](http://[)", "[a](http://[)"],
    ["a picture is a link to it", "![a](https://x.example/p.png)", "a[https://x.example/p.png](a)"],
    ["a link in a link is text", "[https://a.example](https://b.example)", "a[https://b.example](https://a.example)"],
    ["HTML is text", "<img src=x onerror=alert(1)>", "<img src=x onerror=alert(1)>"],
    ["a backslash takes the meaning away", "\\*a\\* \\`b\\`", "*a* `b`"],
    ["a backslash before a letter stays", "C:\\dir", "C:\\dir"],
    ["two blanks break the line", "a  \nb", "a<br>b"],
    ["a newline is a newline", "a\nb", "a\nb"],
  ];
  for (const [name, source, want] of cases) {
    test(name, () => assert.equal(inlines(source).map(short).join(""), want));
  }
});

describe("Markdown blocks", () => {
  const cases = [
    ["nothing is nothing", "\n \n", ""],
    ["a blank line parts paragraphs", "a\nb\n\nc", "p(a\nb) p(c)"],
    ["Windows line ends are no text", "a\r\nb\r\n\r\n# c\r\n", "p(a\nb) h1(c)"],
    ["headings", "# a\n### b ###\n####### c", "h1(a) h3(b) p(####### c)"],
    ["a number sign without a blank is text", "#a", "p(#a)"],
    ["a code block keeps everything", "```go\n# a\n\n  **b**\n```\nc", "pre[go](# a\n\n  **b**) p(c)"],
    ["a code block that is not closed goes to the end", "```\na\n\nb", "pre[](a\n\nb)"],
    ["a longer fence holds a shorter one", "````\n```\n````", "pre[](```)"],
    ["tildes fence too", "~~~ sh x\na\n~~~", "pre[sh](a)"],
    ["a bullet list", "- a\n- b\n* c", "ul(li(p(a))li(p(b))) ul(li(p(c)))"],
    ["a numbered list keeps its first number", "3. a\n4. b", "ol3(li(p(a))li(p(b)))"],
    ["a list with blank lines is one list", "- a\n\n- b", "ul(li(p(a))li(p(b)))"],
    ["two blanks are enough to nest", "1. a\n  - b\n  - c\n2. d", "ol1(li(p(a) ul(li(p(b))li(p(c))))li(p(d)))"],
    ["a tab nests", "- a\n\t- b", "ul(li(p(a) ul(li(p(b)))))"],
    ["an item goes on in the next line", "- a\nb\n\nc", "ul(li(p(a\nb))) p(c)"],
    ["an item holds code", "1. a\n   ```\n   b\n     c\n   ```", "ol1(li(p(a) pre[](b\n  c)))"],
    ["a list interrupts a paragraph", "a\n- b", "p(a) ul(li(p(b)))"],
    ["a number in a text is no list", "in\n2024. It", "p(in\n2024. It)"],
    ["a quote holds blocks", "> a\n> - b\n\nc", "quote(p(a) ul(li(p(b)))) p(c)"],
    ["rules", "---\n* * *\n- - -", "hr hr hr"],
    ["a table", "| a | b | c |\n|---|:-:|--:|\n| 1 | `2` | **3** |\n\nd", "table[left,center,right](a | b | c / 1 | code(2) | strong(3)) p(d)"],
    ["a table without outer bars", "a | b\n--|--\n1 | 2", "table[left,left](a | b / 1 | 2)"],
    ["a table with an escaped bar", "a | b\n--|--\n1\\|2 | 3", "table[left,left](a | b / 1|2 | 3)"],
    ["short rows of a table are filled, long ones cut", "a | b\n-|-\n1 |\n1 | 2 | 3", "table[left,left](a | b / 1 |  / 1 | 2)"],
    ["a bar alone is no table", "a | b\nc", "p(a | b\nc)"],
    ["a rule with another number of columns is no table", "a | b\n---|---|---", "p(a | b\n---|---|---)"],
    ["HTML is text", "<div>\n<script>x</script>", "p(<div>\n<script>x</script>)"],
  ];
  for (const [name, source, want] of cases) {
    test(name, () => assert.equal(short(parse(source)), want));
  }
});

const SAMPLE = "# A\n\ntext **b** `c`\nmore\n- x\n  1. y\n\n     z\n- w\n\n> q\n\n| a | b |\n|--|--|\n| 1 | 2 |\n\n```sh\nls\n\n```\n\n---\nend *e*\n***f***\n\n1. g\n2. h\nlast\n";

test("text that is added later changes only the last two blocks", () => {
  const whole = parse(SAMPLE).map((block) => JSON.stringify(block));
  for (let length = 0; length <= SAMPLE.length; length++) {
    const known = parse(SAMPLE.slice(0, length)).map((block) => JSON.stringify(block));
    assert.deepEqual(known.slice(0, -2), whole.slice(0, Math.max(0, known.length - 2)), `after ${length} characters`);
  }
});

test("a text can be parsed again from any of its blocks", () => {
  const { blocks, offsets } = parseWithOffsets(SAMPLE);
  offsets.forEach((offset, i) => assert.deepEqual(parse(SAMPLE.slice(offset)), blocks.slice(i)));
});

describe("hostile text takes no long time", () => {
  const n = 20_000;
  const cases = [
    ["stars", "*a ".repeat(n)], ["underscores and stars", "_a *b ".repeat(n)], ["backticks", "`a``b".repeat(n)],
    ["brackets", "[".repeat(n)], ["links", "[a](".repeat(n)], ["addresses", "http://".repeat(n)], ["angles", "<http://".repeat(n)],
    ["quotes", ">".repeat(n)], ["lists", "- ".repeat(n)], ["dashes", `a|b\n${"-".repeat(n)}x`], ["blanks", `a${" ".repeat(n)}b`.repeat(3)],
    ["number signs", `# a${" #".repeat(n)}b`], ["newlines", "a\n".repeat(n)], ["bars", "|".repeat(n)], ["fences", `\`\`\`${"a".repeat(n)}\``],
  ];
  for (const [name, source] of cases) {
    test(name, { timeout: 2000 }, () => {
      const begun = performance.now();
      parse(source);
      assert.ok(performance.now() - begun < 1000, `${Math.round(performance.now() - begun)} ms`);
    });
  }
});

describe("an address of the web", () => {
  const cases = [
    ["is one", "https://example.com/login", "https://example.com/login"],
    ["is shown as the browser reads it", "HTTPS://exAmple.com/\u202egol", "https://example.com/%E2%80%AEgol"],
    ["is no script", "javascript:alert(1)", ""],
    ["is no data", "data:text/html,x", ""],
    ["is no file", "file:///etc/passwd", ""],
    ["is no nonsense", "https://", ""],
    ["is not empty", "", ""],
  ];
  for (const [name, href, want] of cases) {
    test(name, () => assert.equal(webAddress(href), want));
  }
});
